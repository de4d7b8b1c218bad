//! Chunks by all threads. HDF5 lets one thread in at a time, so one alone talks to it: it reads chunks as they are
//! stored, where their filters are known here, and the others undo the filters and do what is to be done.

use std::io::Read;

use sleek::hdf5::bytes_of_chunk;

use super::chunk::Chunk;
use super::dataset::{Block, Field};
use super::filters::{DEFLATE, FLETCHER32, Filter, SHUFFLE, filter_name, pipeline};
use super::rim::Rim;
use crate::io::{reserve, zeroed};
use crate::pipeline::in_order;

/// Said of filters that hide a stream.
pub const HIDDEN: &str = "which this command cannot undo";
/// Bytes that are made room for at least.
const LEAST_ROOM: usize = 64 << 10;

/// How chunks come from what is stored.
pub struct Decoder {
    filters: Vec<Filter>,
    /// Whether all of them can be undone here. Without filters HDF5 reads straight into place.
    is_known: bool,
    rim: Rim,
}

/// A part of a dataset on its way.
pub enum Reading {
    /// The bytes of the elements.
    Plain(Vec<u8>),
    /// As it is stored, and the filters that it did not pass.
    Stored(Vec<u8>, u32),
}

impl Decoder {
    pub fn of(field: &Field) -> Result<Decoder, String> {
        let filters = if field.is_chunked { pipeline(&field.properties)? } else { Vec::new() };
        let is_known = |filter: &Filter| {
            filter.is_sleek() || filter.id == DEFLATE || filter.id == SHUFFLE && filter.words.first() > Some(&0)
        };
        Ok(Decoder { is_known: !filters.is_empty() && filters.iter().all(is_known), filters, rim: Rim::of(field) })
    }

    /// Reads a part: as it is stored if it is one chunk, so that any thread can undo its filters.
    pub fn read(&self, field: &Field, part: &Block) -> Result<Reading, String> {
        if self.is_known
            && field.is_chunk(part)
            && let Some(stored) = field.chunk(part)?
        {
            return Ok(Reading::Stored(stored.bytes, stored.skipped));
        }
        Ok(Reading::Plain(field.bytes_of(part)?))
    }

    /// The bytes of a part's elements.
    pub fn bytes(&self, part: &Block, read: Reading) -> Result<Vec<u8>, String> {
        match read {
            Reading::Plain(bytes) => Ok(bytes),
            Reading::Stored(bytes, skipped) => {
                let bytes = self.decode(bytes, skipped).map_err(|e| format!("{e}, at {:?}", part.start))?;
                Ok(self.rim.cut_out(part, bytes))
            }
        }
    }

    /// A whole chunk of what is stored.
    fn decode(&self, mut bytes: Vec<u8>, skipped: u32) -> Result<Vec<u8>, String> {
        let right = self.rim.bytes();
        // What a filter before this one gave may be longer than the chunk: deflate and SLEEK add to what gets no
        // smaller.
        let longest = |most: usize, filter: &Filter| match filter.id {
            SHUFFLE => most,
            _ => most.saturating_add(most / 8).saturating_add(64 << 10),
        };
        for (i, filter) in self.filters.iter().enumerate().rev().filter(|(i, _)| skipped >> i & 1 == 0) {
            let most = self.filters[..i].iter().fold(right, longest);
            bytes = undone(filter, &bytes, most).ok_or("a filter that is not known")??;
        }
        match bytes.len() == right {
            true => Ok(bytes),
            false => Err(format!("a chunk of {} bytes, where {right} are right", bytes.len())),
        }
    }
}

/// What a filter was given, of `most` bytes at most; `None` where only HDF5 can undo it.
fn undone(filter: &Filter, bytes: &[u8], most: usize) -> Option<Result<Vec<u8>, String>> {
    match (filter.id, filter.words.first()) {
        _ if filter.is_sleek() => Some(restored(&filter.words, bytes, most)),
        (DEFLATE, _) => Some(inflate(bytes, most)),
        (SHUFFLE, Some(size)) if *size > 0 => Some(unshuffled(bytes, *size as usize)),
        (FLETCHER32, _) => Some(checked(bytes)),
        _ => None,
    }
}

fn inflate(bytes: &[u8], most: usize) -> Result<Vec<u8>, String> {
    let (mut plain, mut reader) = (Vec::new(), flate2::read::ZlibDecoder::new(bytes));
    loop {
        // Damage may say that any number of bytes follow: room grows with what came.
        let room = plain.len().max(bytes.len()).max(LEAST_ROOM).min(most.saturating_add(1) - plain.len());
        reserve(&mut plain, room)?;
        let came = (&mut reader).take(room as u64).read_to_end(&mut plain).map_err(|e| format!("deflate: {e}"))?;
        match () {
            () if plain.len() > most => return Err(format!("deflate: more than {most} bytes")),
            () if came < room => return Ok(plain),
            () => {}
        }
    }
}

/// All first bytes come first, then all second ones; what is no whole element stays at the end.
fn unshuffled(bytes: &[u8], size: usize) -> Result<Vec<u8>, String> {
    let count = bytes.len() / size;
    let mut plain = zeroed(bytes.len())?;
    plain[count * size..].copy_from_slice(&bytes[count * size..]);
    for (i, plane) in bytes.chunks_exact(count.max(1)).take(size).enumerate() {
        for (element, byte) in plain.chunks_exact_mut(size).zip(plane) {
            element[i] = *byte;
        }
    }
    Ok(plain)
}

/// What stands before its checksum.
fn checked(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let (plain, stored) = bytes.split_last_chunk::<4>().ok_or("fletcher32: no checksum")?;
    // HDF5 before 1.6.3 wrote the halves the other way round.
    let [a, b, c, d] = fletcher32(plain).to_le_bytes();
    match *stored == [a, b, c, d] || *stored == [b, a, d, c] {
        true => Ok(plain.to_vec()),
        false => Err("fletcher32: the checksum does not match".into()),
    }
}

/// By words of 16 bits, the high byte first. No sum of 360 words is too long for 32 bits.
fn fletcher32(bytes: &[u8]) -> u32 {
    let folded = |sum: u32| (sum & 0xffff) + (sum >> 16);
    let (mut first, mut second) = (0, 0);
    for block in bytes.chunks(2 * 360) {
        for word in block.chunks(2) {
            first += u32::from(word[0]) << 8 | word.get(1).map_or(0, |low| u32::from(*low));
            second += first;
        }
        (first, second) = (folded(first), folded(second));
    }
    folded(second) << 16 | folded(first)
}

fn restored(words: &[u32], stream: &[u8], most: usize) -> Result<Vec<u8>, String> {
    let bytes = bytes_of_chunk(words, stream).map_err(|e| e.to_string())?;
    if bytes > most {
        return Err(format!("a stream of {bytes} bytes, where {most} are right"));
    }
    let mut plain = zeroed(bytes)?;
    sleek::decompress_into(stream, &mut plain).map_err(|e| e.to_string())?;
    Ok(plain)
}

/// What the filter at a place of the pipeline made of a chunk; `None` if it was passed over.
pub fn made_by(filters: &[Filter], place: usize, stored: Chunk) -> Result<Option<Vec<u8>>, String> {
    let has_passed = |i: usize| stored.skipped >> i & 1 == 0;
    if !has_passed(place) {
        return Ok(None);
    }
    let mut bytes = stored.bytes;
    for (_, filter) in filters.iter().enumerate().skip(place + 1).rev().filter(|(i, _)| has_passed(*i)) {
        let unknown = || format!("behind SLEEK stands {}, {HIDDEN}", filter_name(filter.id));
        bytes = undone(filter, &bytes, usize::MAX).ok_or_else(unknown)??;
    }
    Ok(Some(bytes))
}

/// Whether a stored chunk is whole, as the checksums of its filters tell; `None` where a filter is in the way that is
/// not known here, or where there are no filters. Nothing need be known of the type of the dataset.
pub fn is_chunk_whole(filters: &[Filter], mut bytes: Vec<u8>, skipped: u32) -> Option<Result<(), String>> {
    let mut is_tested = None;
    for (_, filter) in filters.iter().enumerate().rev().filter(|(i, _)| skipped >> i & 1 == 0) {
        match undone(filter, &bytes, usize::MAX) {
            None => break,
            Some(Ok(undone)) => bytes = undone,
            Some(Err(e)) => return Some(Err(e)),
        }
        is_tested = Some(Ok(()));
    }
    is_tested
}

impl Field<'_> {
    /// Threads for so many of its chunks.
    pub fn threads(chunks: usize) -> usize {
        sleek::exec::threads(0).min(chunks).max(1)
    }

    /// Whether its filters are undone by all threads.
    pub fn is_decoded_here(&self) -> Result<bool, String> {
        Ok(Decoder::of(self)?.is_known)
    }

    /// Has threads do `work` on the bytes of each of these chunks, and `take`s what comes of it in their order.
    pub fn each_chunk<T: Send>(
        &self,
        chunks: &[Block],
        work: impl Fn(&Block, Vec<u8>) -> Result<T, String> + Sync,
        mut take: impl FnMut(&Block, T) -> Result<(), String>,
    ) -> Result<(), String> {
        let decoder = Decoder::of(self)?;
        let blame = |e: String| match e.starts_with(&self.name) {
            true => e,
            false => format!("{}: {e}", self.name),
        };
        in_order(
            chunks.iter().cloned(),
            |chunk| decoder.read(self, chunk).map_err(blame),
            |chunk, read| work(chunk, decoder.bytes(chunk, read)?),
            |chunk, done| take(chunk, done.map_err(blame)?),
        )
    }
}
