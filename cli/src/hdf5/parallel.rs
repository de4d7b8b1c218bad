//! Chunks by all threads. HDF5 lets one thread in at a time, so one alone talks to it: it reads chunks as they are
//! stored, where their filters are known here, and the others undo the filters and do what is to be done.

use std::io::Read;

use sleek::hdf5::bytes_of_chunk;

use super::dataset::{Block, Field};
use super::filters::{Filter, pipeline};
use super::rim::Rim;
use crate::io::{reserve, zeroed};
use crate::pipeline::in_order;

/// Filters that are undone here.
const DEFLATE: i32 = 1;
const SHUFFLE: i32 = 2;
/// Bytes that deflate makes of one, at most.
const MOST_INFLATED: usize = 1032;
/// How chunks come from what is stored.
struct Decoder {
    steps: Vec<Step>,
    words: Vec<u32>,
    rim: Rim,
}

#[derive(Clone, Copy)]
enum Step {
    Inflate,
    /// Of elements of so many bytes.
    Unshuffle(usize),
    Sleek,
}

/// A part of a dataset on its way.
pub enum Reading {
    /// The bytes of the elements.
    Plain(Vec<u8>),
    /// As it is stored, and the filters that it did not pass.
    Stored(Vec<u8>, u32),
}

impl Decoder {
    /// `None` where only HDF5 can undo a filter.
    fn of(field: &Field) -> Result<Option<Decoder>, String> {
        if !field.is_chunked {
            return Ok(None);
        }
        let (mut steps, mut words) = (Vec::new(), Vec::new());
        for filter in pipeline(&field.properties)? {
            steps.push(match (filter.id, filter.words.first()) {
                (DEFLATE, _) => Step::Inflate,
                (SHUFFLE, Some(size)) if *size > 0 => Step::Unshuffle(*size as usize),
                _ if filter.is_sleek() => {
                    words = filter.words;
                    Step::Sleek
                }
                _ => return Ok(None),
            });
        }
        // Without filters HDF5 reads straight into place.
        Ok((!steps.is_empty()).then(|| Decoder { steps, words, rim: Rim::of(field) }))
    }

    /// A whole chunk of what is stored.
    fn decode(&self, mut bytes: Vec<u8>, skipped: u32) -> Result<Vec<u8>, String> {
        let right = self.rim.bytes();
        // Another filter may have come before this one; what it gave may be longer than the chunk.
        let most = |i: usize| self.steps[..i].iter().fold(right, |most, step| step.longest(most));
        for (i, step) in self.steps.iter().enumerate().rev().filter(|(i, _)| skipped >> i & 1 == 0) {
            bytes = match step {
                Step::Inflate => inflate(&bytes, most(i))?,
                Step::Unshuffle(size) => unshuffled(&bytes, *size)?,
                Step::Sleek => restored(&self.words, &bytes, most(i))?,
            };
        }
        match bytes.len() == right {
            true => Ok(bytes),
            false => Err(format!("a chunk of {} bytes, where {right} are right", bytes.len())),
        }
    }
}

impl Step {
    /// The most bytes that its filter makes of so many: deflate and SLEEK add some where nothing gets smaller.
    fn longest(self, bytes: usize) -> usize {
        match self {
            Step::Unshuffle(_) => bytes,
            Step::Inflate | Step::Sleek => bytes.saturating_add(bytes / 8).saturating_add(64 << 10),
        }
    }
}

fn inflate(bytes: &[u8], most: usize) -> Result<Vec<u8>, String> {
    let mut plain = Vec::new();
    reserve(&mut plain, most.saturating_add(1))?;
    let mut reader = flate2::read::ZlibDecoder::new(bytes).take((most as u64).saturating_add(1));
    reader.read_to_end(&mut plain).map_err(|e| format!("deflate: {e}"))?;
    match plain.len() > most {
        true => Err(format!("deflate: more than {most} bytes")),
        false => Ok(plain),
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

fn restored(words: &[u32], stream: &[u8], most: usize) -> Result<Vec<u8>, String> {
    let bytes = bytes_of_chunk(words, stream).map_err(|e| e.to_string())?;
    if bytes > most {
        return Err(format!("a stream of {bytes} bytes, where {most} are right"));
    }
    let mut plain = zeroed(bytes)?;
    sleek::decompress_into(stream, &mut plain).map_err(|e| e.to_string())?;
    Ok(plain)
}

/// Reads parts of a dataset, of which other threads undo the filters where these are known here.
pub struct Reader<'a> {
    field: &'a Field<'a>,
    decoder: Option<Decoder>,
}

impl<'a> Reader<'a> {
    pub fn of(field: &'a Field<'a>) -> Result<Reader<'a>, String> {
        Ok(Reader { field, decoder: Decoder::of(field)? })
    }

    /// Reads a part: as it is stored if it is one chunk.
    pub fn read(&self, part: &Block) -> Result<Reading, String> {
        if self.decoder.is_some()
            && self.field.is_chunk(part)
            && let Some(stored) = self.field.chunk(part)?
        {
            return Ok(Reading::Stored(stored.bytes, stored.skipped));
        }
        Ok(Reading::Plain(self.field.bytes_of(part)?))
    }

    /// What undoes the filters, for any thread.
    pub fn undo(&self) -> Undo<'_> {
        Undo(self.decoder.as_ref())
    }
}

/// Undoes the filters of what a `Reader` read.
#[derive(Clone, Copy)]
pub struct Undo<'a>(Option<&'a Decoder>);

impl Undo<'_> {
    /// The bytes of a part's elements.
    pub fn bytes(&self, part: &Block, read: Reading) -> Result<Vec<u8>, String> {
        match (read, self.0) {
            (Reading::Stored(bytes, skipped), Some(decoder)) => {
                let bytes = decoder.decode(bytes, skipped).map_err(|e| format!("{e}, at {:?}", part.start))?;
                Ok(decoder.rim.cut_out(part, bytes))
            }
            (Reading::Plain(bytes) | Reading::Stored(bytes, _), _) => Ok(bytes),
        }
    }
}

/// Whether a stored chunk is whole, as the checksums of its filters tell; `None` where a filter is in the way that is
/// not known here, or where there are no filters. Nothing need be known of the type of the dataset.
pub fn is_chunk_whole(filters: &[Filter], mut bytes: Vec<u8>, skipped: u32) -> Option<Result<(), String>> {
    let passed = filters.iter().enumerate().filter(|(i, _)| skipped >> i & 1 == 0);
    let mut is_tested = None;
    for (_, filter) in passed.rev() {
        let undone = match (filter.id, filter.words.first()) {
            _ if filter.is_sleek() => restored(&filter.words, &bytes, usize::MAX),
            (DEFLATE, _) => inflate(&bytes, bytes.len().saturating_mul(MOST_INFLATED)),
            (SHUFFLE, Some(size)) if *size > 0 => unshuffled(&bytes, *size as usize),
            _ => return is_tested,
        };
        match undone {
            Ok(undone) => bytes = undone,
            Err(e) => return Some(Err(e)),
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
        Ok(Reader::of(self)?.decoder.is_some())
    }

    /// Has threads do `work` on the bytes of each of these chunks, and `take`s what comes of it in their order.
    pub fn each_chunk<T: Send>(
        &self,
        chunks: &[Block],
        work: impl Fn(&Block, Vec<u8>) -> Result<T, String> + Sync,
        mut take: impl FnMut(&Block, T) -> Result<(), String>,
    ) -> Result<(), String> {
        let reader = Reader::of(self)?;
        let undo = reader.undo();
        let blame = |e: String| match e.starts_with(&self.name) {
            true => e,
            false => format!("{}: {e}", self.name),
        };
        in_order(
            chunks.iter().cloned(),
            |chunk| reader.read(chunk).map_err(blame),
            |chunk, read| work(chunk, undo.bytes(chunk, read)?),
            |chunk, done| take(chunk, done.map_err(blame)?),
        )
    }
}
