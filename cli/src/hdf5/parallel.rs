//! Chunks by all threads. HDF5 lets one thread in at a time, so one alone talks to it: it reads chunks as they are
//! stored, where their filters are known here, and the others undo the filters and do what is to be done. HDF5 itself
//! takes a whole chunk from what its filters give, without a look at the length: so all that is read goes this way.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::{Mutex, PoisonError};

use sleek::hdf5::bytes_of_chunk;

use super::chunk::Chunk;
use super::dataset::{Block, Field};
use super::filters::{DEFLATE, FLETCHER32, Filter, SHUFFLE, filter_name, pipeline};
use super::rim::Rim;
use crate::grid::{cut_out, put_in};
use crate::io::{reserve, zeroed};
use crate::pipeline::in_order;

/// Said of filters that hide a stream.
pub const HIDDEN: &str = "which this command cannot undo";
/// Bytes that are made room for at least.
const LEAST_ROOM: usize = 64 << 10;
/// Bytes of whole chunks that are kept for other parts that have something of them.
const KEPT_BYTES: usize = 64 << 20;

/// How chunks come from what is stored.
pub struct Decoder {
    filters: Vec<Filter>,
    /// Whether chunks are looked at as they are stored. Without filters HDF5 reads straight into place.
    looks: bool,
    rim: Rim,
    /// Bytes of a chunk, where they are as many as in memory.
    right: Option<usize>,
    /// By where they start.
    kept: Mutex<BTreeMap<Vec<u64>, Vec<u8>>>,
}

/// A part of a dataset on its way.
pub enum Reading {
    /// The bytes of the elements.
    Plain(Vec<u8>),
    /// A chunk as it is stored, whose filters can be undone here.
    Stored(Chunk),
}

impl Decoder {
    pub fn of(field: &Field) -> Result<Decoder, String> {
        let filters = if field.is_chunked { pipeline(&field.properties)? } else { Vec::new() };
        // Which filters a chunk passed is known only when it was read: what HDF5 must decode is not read twice for that
        // unless there are such as passed not all.
        let looks = !filters.is_empty() && (filters.iter().all(is_known) || field.has_passed_over()?);
        let (rim, right) = (Rim::of(field), if filters.is_empty() { None } else { field.chunk_bytes()? });
        Ok(Decoder { filters, looks, rim, right, kept: Mutex::default() })
    }

    /// Reads a part: as it is stored if it is one chunk, so that any thread can undo its filters.
    pub fn read(&self, field: &Field, part: &Block) -> Result<Reading, String> {
        if self.looks && field.is_chunk(part) {
            return Ok(match self.stored(field, part)? {
                Some(stored) => Reading::Stored(stored),
                None => Reading::Plain(field.bytes_of(part)?),
            });
        }
        if !self.looks {
            return Ok(Reading::Plain(field.bytes_of(part)?));
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bytes = zeroed(field.block_bytes(part))?;
        for start in field.starts_over(part) {
            let chunk = field.block_at(&start);
            if !kept.contains_key(&start) {
                while kept.len() > KEPT_BYTES / self.rim.bytes().max(1) {
                    kept.pop_first();
                }
                kept.insert(start.clone(), self.bytes(&chunk, self.read(field, &chunk)?)?);
            }
            let (common, size) = (chunk.common(part), field.size as usize);
            let some = cut_out(&kept[&start], &chunk.count, &common.place_in(&chunk), &common.count, size);
            put_in(&mut bytes, &part.count, &common.place_in(part), &common.count, size, &some);
        }
        Ok(Reading::Plain(bytes))
    }

    /// A chunk as it is stored, if it is in the file and all its filters can be undone here.
    pub fn stored(&self, field: &Field, chunk: &Block) -> Result<Option<Chunk>, String> {
        let stored = if self.looks { field.chunk(chunk)? } else { None };
        Ok(stored.filter(|stored| self.passed(stored.skipped).all(|(_, filter)| is_known(filter))))
    }

    /// The bytes of a part's elements.
    pub fn bytes(&self, part: &Block, read: Reading) -> Result<Vec<u8>, String> {
        match read {
            Reading::Plain(bytes) => Ok(bytes),
            Reading::Stored(chunk) => Ok(self.rim.cut_out(part, self.decode(chunk)?)),
        }
    }

    /// A whole chunk of what is stored.
    pub fn decode(&self, chunk: Chunk) -> Result<Vec<u8>, String> {
        self.undo(chunk).map(|(bytes, _)| bytes)
    }

    /// Whether a stored chunk is whole, as checksums and lengths tell; `None` where a filter that is not known here
    /// hides both. Nothing need be known of the type of the dataset.
    pub fn is_whole(&self, chunk: Chunk) -> Option<Result<(), String>> {
        self.undo(chunk).map(|(_, is_tested)| is_tested.then_some(())).transpose()
    }

    /// The filters that a chunk passed, the last one first, with their places.
    fn passed(&self, skipped: u32) -> impl Iterator<Item = (usize, &Filter)> {
        self.filters.iter().enumerate().rev().filter(move |(i, _)| skipped >> i & 1 == 0)
    }

    /// Undoes the filters of a chunk as far as they are known, and tells whether that tests anything: a filter, or the
    /// length after all of them.
    fn undo(&self, Chunk { mut bytes, skipped }: Chunk) -> Result<(Vec<u8>, bool), String> {
        // What a filter before this one gave may be longer than the chunk: deflate and SLEEK add to what gets no
        // smaller.
        let longest = |most: usize, filter: &Filter| match filter.id {
            SHUFFLE => most,
            _ if !is_known(filter) => usize::MAX,
            _ => most.saturating_add(most / 8).saturating_add(64 << 10),
        };
        let mut is_tested = false;
        for (i, filter) in self.passed(skipped) {
            let most = self.filters[..i].iter().fold(self.right.unwrap_or(usize::MAX), longest);
            let Some(undone) = undone(filter, &bytes, most) else { return Ok((bytes, is_tested)) };
            (bytes, is_tested) = (undone?, true);
        }
        match self.right {
            Some(right) if bytes.len() != right => {
                Err(format!("a chunk of {} bytes, where {right} are right", bytes.len()))
            }
            right => Ok((bytes, is_tested || right.is_some())),
        }
    }
}

/// Whether a filter can be undone here.
fn is_known(filter: &Filter) -> bool {
    match filter.id {
        DEFLATE | FLETCHER32 => true,
        SHUFFLE => filter.words.first() > Some(&0),
        _ => filter.is_sleek(),
    }
}

/// What a filter was given, of `most` bytes at most; `None` where only HDF5 can undo it.
fn undone(filter: &Filter, bytes: &[u8], most: usize) -> Option<Result<Vec<u8>, String>> {
    is_known(filter).then(|| match filter.id {
        DEFLATE => inflate(bytes, most),
        SHUFFLE => unshuffled(bytes, filter.words[0] as usize),
        FLETCHER32 => checked(bytes),
        _ => restored(&filter.words, bytes, most),
    })
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

/// Whether what the filter at a place of the pipeline made may lie behind a filter that cannot be undone here.
pub fn hides(filters: &[Filter], place: usize) -> bool {
    !filters.iter().skip(place + 1).all(is_known)
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

impl Field<'_> {
    /// Threads for so many of its chunks.
    pub fn threads(chunks: usize) -> usize {
        sleek::exec::threads(0).min(chunks).max(1)
    }

    /// Whether its filters are undone by all threads.
    pub fn is_decoded_here(&self) -> Result<bool, String> {
        Ok(self.is_chunked && pipeline(&self.properties)?.iter().all(is_known))
    }

    /// Has threads do `work` on the bytes of each of these chunks, and `take`s what comes of it in their order.
    pub fn each_chunk<T: Send>(
        &self,
        chunks: &[Block],
        work: impl Fn(&Block, Vec<u8>) -> Result<T, String> + Sync,
        mut take: impl FnMut(&Block, T) -> Result<(), String>,
    ) -> Result<(), String> {
        let blame = |chunk: &Block, e: String| format!("{}: {e}, at {:?}", self.name, chunk.start);
        self.each_chunk_or_why(chunks, work, |chunk, done| take(chunk, done.map_err(|e| blame(chunk, e))?))
    }

    /// The same, where a chunk that cannot be read need not end it.
    pub fn each_chunk_or_why<T: Send>(
        &self,
        chunks: &[Block],
        work: impl Fn(&Block, Vec<u8>) -> Result<T, String> + Sync,
        take: impl FnMut(&Block, Result<T, String>) -> Result<(), String>,
    ) -> Result<(), String> {
        let decoder = Decoder::of(self)?;
        in_order(
            chunks.iter().cloned(),
            |chunk| Ok(decoder.read(self, chunk)),
            |chunk, read| work(chunk, decoder.bytes(chunk, read?)?),
            take,
        )
    }

    /// Tests every chunk that is in the file as far as can be without its elements: how many of how many that was, and
    /// what is damaged.
    pub fn test_chunks(&self, mut damaged: impl FnMut(&Block, String)) -> Result<(usize, usize), String> {
        let (decoder, chunks) = (Decoder::of(self)?, self.blocks_in_chunks()?);
        let mut tested = 0;
        for chunk in &chunks {
            let stored = self.chunk(chunk);
            let why = stored.as_ref().err().cloned();
            let whole = match self.dataset.hdf5.forgive(stored) {
                Some(stored) => stored.and_then(|stored| decoder.is_whole(stored)),
                None => why.map(Err),
            };
            tested += usize::from(whole.is_some());
            if let Some(Err(damage)) = whole {
                damaged(chunk, damage);
            }
        }
        Ok((tested, chunks.len()))
    }

    /// An error if a chunk is lost or damaged, as far as can be told: for what HDF5 alone can read.
    pub fn expect_whole(&self) -> Result<(), String> {
        let mut found = None;
        if self.is_chunked {
            self.test_chunks(|chunk, damage| found = Some(format!("{damage}, at {:?}", chunk.start)))?;
        }
        found.map_or(Ok(()), Err)
    }
}
