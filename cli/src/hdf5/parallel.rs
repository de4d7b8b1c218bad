//! Chunks by all threads. HDF5 lets one thread in at a time, so one alone talks to it: it reads chunks as they are
//! stored, where their filters are known here, and the others undo the filters and do what is to be done.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Builder};

use sleek::hdf5::bytes_of_chunk;

use super::dataset::{Block, Field};
use super::filters::pipeline;
use super::rim::Rim;
use crate::io::{reserve, zeroed};

/// Filters that are undone here.
const DEFLATE: i32 = 1;
const SHUFFLE: i32 = 2;
/// Chunks that may be under way for each thread.
const AHEAD: usize = 2;
/// Bytes of a thread's stack. Rust would let `RUST_MIN_STACK` decide.
const STACK_BYTES: usize = 2 << 20;

/// How chunks come from what is stored.
struct Decoder {
    steps: Vec<Step>,
    /// SLEEK's words.
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
enum Reading {
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

impl Field<'_> {
    /// Threads for so many of its chunks.
    pub fn threads(chunks: usize) -> usize {
        sleek::exec::threads(0).min(chunks).max(1)
    }

    /// Whether its filters are undone by all threads.
    pub fn is_decoded_here(&self) -> Result<bool, String> {
        Ok(Decoder::of(self)?.is_some() && self.dataset.hdf5.read_chunk.is_some())
    }

    /// Has threads do `work` on the bytes of each of these chunks, and `take`s what comes of it in their order.
    pub fn each_chunk<T: Send>(
        &self,
        chunks: &[Block],
        work: impl Fn(&Block, Vec<u8>) -> Result<T, String> + Sync,
        mut take: impl FnMut(&Block, T) -> Result<(), String>,
    ) -> Result<(), String> {
        let decoder = Decoder::of(self)?.filter(|_| self.dataset.hdf5.read_chunk.is_some());
        let blame = |e: String| format!("{}: {e}", self.name);
        let read = |chunk: &Block| {
            if decoder.is_some()
                && let Some(stored) = self.chunk(chunk).map_err(blame)?
            {
                return Ok(Reading::Stored(stored.bytes, stored.skipped));
            }
            Ok::<_, String>(Reading::Plain(self.bytes_of(chunk)?))
        };
        let whole_work = |chunk: &Block, read: Reading| match (read, &decoder) {
            (Reading::Stored(bytes, skipped), Some(decoder)) => {
                let bytes = decoder.decode(bytes, skipped).map_err(|e| format!("{e}, at {:?}", chunk.start));
                work(chunk, decoder.rim.cut_out(chunk, bytes?))
            }
            (Reading::Plain(bytes) | Reading::Stored(bytes, _), _) => work(chunk, bytes),
        };
        in_order(chunks, read, whole_work, |chunk, done| take(chunk, done.map_err(blame)?))
    }
}

/// This thread reads and takes, others work; a single one does all of it.
fn in_order<R: Send, T: Send>(
    chunks: &[Block],
    read: impl Fn(&Block) -> Result<R, String>,
    work: impl Fn(&Block, R) -> Result<T, String> + Sync,
    mut take: impl FnMut(&Block, Result<T, String>) -> Result<(), String>,
) -> Result<(), String> {
    let threads = Field::threads(chunks.len());
    if threads == 1 {
        return chunks.iter().try_for_each(|chunk| take(chunk, work(chunk, read(chunk)?)));
    }
    let (jobs, to_do) = channel::<(usize, R)>();
    let (finished, done) = channel();
    let to_do = Mutex::new(to_do);
    thread::scope(|scope| {
        for _ in 0..threads {
            let (finished, to_do, work) = (finished.clone(), &to_do, &work);
            let run = move || {
                while let Some((i, job)) = next(to_do) {
                    if finished.send((i, work(&chunks[i], job))).is_err() {
                        break;
                    }
                }
            };
            let started = Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, run);
            started.map_err(|e| format!("cannot start a thread: {e}"))?;
        }
        drop(finished);
        // Out of scope the channel is closed, by which the threads end.
        let jobs = jobs;
        let (mut asked, mut waiting) = (0, BTreeMap::new());
        for (i, chunk) in chunks.iter().enumerate() {
            while asked < chunks.len() && asked < i + AHEAD * threads {
                jobs.send((asked, read(&chunks[asked])?)).map_err(|_| "a thread ended")?;
                asked += 1;
            }
            while !waiting.contains_key(&i) {
                let (at, result) = done.recv().map_err(|_| "a thread ended")?;
                waiting.insert(at, result);
            }
            if let Some(result) = waiting.remove(&i) {
                take(chunk, result)?;
            }
        }
        Ok(())
    })
}

/// Waits for a job; `None` when there are no more.
fn next<T>(to_do: &Mutex<Receiver<T>>) -> Option<T> {
    to_do.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shuffled_bytes_come_back() {
        let unshuffled = |bytes: &[u8], size| unshuffled(bytes, size).unwrap();
        assert_eq!(unshuffled(b"adgbehcfi", 3), b"abcdefghi");
        assert_eq!(unshuffled(b"acbdX", 2), b"abcdX");
        assert_eq!((unshuffled(b"", 4), unshuffled(b"ab", 4)), (vec![], b"ab".to_vec()));
    }

    #[test]
    fn results_come_in_order_and_an_error_ends_it() {
        let chunks: Vec<Block> = (0..100).map(|i| Block { start: vec![i], count: vec![1] }).collect();
        let run = |wrong: u64| {
            let mut taken = Vec::new();
            let done = in_order(
                &chunks,
                |chunk| Ok(chunk.start[0]),
                |_, n| if n == wrong { Err(format!("no {n}")) } else { Ok(2 * n) },
                |_, result| {
                    taken.push(result?);
                    Ok(())
                },
            );
            (done, taken)
        };
        assert_eq!(run(1000), (Ok(()), (0..100).map(|i| 2 * i).collect()));
        assert_eq!(run(40), (Err("no 40".into()), (0..40).map(|i| 2 * i).collect()));
    }
}
