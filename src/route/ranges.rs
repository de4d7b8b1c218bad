//! What lies in each chunk of a stream: its ends, its sum, and what is missing. They are those of the values that come
//! back, chunk after chunk decoded where the caches have it.

use std::sync::Mutex;

use super::cpu::Stream;
use crate::container::Header;
use crate::dtype::{DType, with_numbers};
use crate::error::Result;
use crate::exec::ExecOptions;
use crate::host::memory::filled;
use crate::simd::word::Word;

/// What elements that come back hold: numbers, infinities among them, and others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChunkRange {
    /// The smallest number, infinite above all where there is none. Integers beyond 2^53 are rounded away from the
    /// others.
    pub least: f64,
    /// The largest one, the same.
    pub most: f64,
    /// The sum of all numbers, rounded in f64 on the way.
    pub sum: f64,
    /// How many numbers there are.
    pub count: u64,
    /// How many elements are a missing value of the stream.
    pub missing: u64,
    /// How many others are NaN.
    pub nan: u64,
}

/// Sums and ends that are kept apart, so that none waits for another.
const LANES: usize = 16;

impl ChunkRange {
    /// Of nothing.
    pub const NONE: ChunkRange =
        ChunkRange { least: f64::INFINITY, most: f64::NEG_INFINITY, sum: 0.0, count: 0, missing: 0, nan: 0 };

    /// Of the bytes of elements, where `missing` are the bits of those that are no data.
    pub fn of(dtype: DType, big_endian: bool, missing: &[u64], bytes: &[u8]) -> ChunkRange {
        let range = with_numbers!(dtype, |number: W| tally::<W>(bytes, big_endian, missing, number));
        if matches!(dtype, DType::I64 | DType::U64) { range.outward() } else { range }
    }

    /// With ends that no integer lies beyond, though numbers were rounded.
    fn outward(self) -> ChunkRange {
        let exact = |end: f64| end.abs() < (1u64 << 53) as f64 || end.is_infinite();
        ChunkRange {
            least: if exact(self.least) { self.least } else { self.least.next_down() },
            most: if exact(self.most) { self.most } else { self.most.next_up() },
            ..self
        }
    }

    /// With what others hold.
    pub fn add(&mut self, other: &ChunkRange) {
        (self.least, self.most) = (self.least.min(other.least), self.most.max(other.most));
        self.sum += other.sum;
        self.count += other.count;
        self.missing += other.missing;
        self.nan += other.nan;
    }

    /// The mean of the numbers, and how far that of the values before compression may be from it, where none of them
    /// changed by more than `bound`; what is rounded on the way counts.
    pub fn mean(&self, bound: f64) -> (f64, f64) {
        let (mean, largest) = (self.sum / self.count as f64, self.least.abs().max(self.most.abs()));
        (mean, (bound + largest * (self.count as f64 + 8.0) * f64::EPSILON).next_up())
    }
}

/// What elements hold whose numbers `number` makes of words.
fn tally<W: Word>(bytes: &[u8], big_endian: bool, missing: &[u64], number: impl Fn(W) -> f64) -> ChunkRange {
    let (mut least, mut most, mut sum) = ([f64::INFINITY; LANES], [f64::NEG_INFINITY; LANES], [0.0; LANES]);
    let mut range = ChunkRange::NONE;
    for elements in bytes.chunks(LANES * size_of::<W>()) {
        for (lane, element) in elements.chunks_exact(size_of::<W>()).enumerate() {
            let word = if big_endian { W::load(element).swap() } else { W::load(element) };
            let is_missing = missing.iter().any(|bits| word.to_u64() == *bits);
            let v = number(word);
            let counts = !is_missing & !v.is_nan();
            range.missing += u64::from(is_missing);
            range.count += u64::from(counts);
            least[lane] = if counts && v < least[lane] { v } else { least[lane] };
            most[lane] = if counts && v > most[lane] { v } else { most[lane] };
            sum[lane] += if counts { v } else { 0.0 };
        }
    }
    range.nan = (bytes.len() / size_of::<W>()) as u64 - range.count - range.missing;
    range.least = least.into_iter().fold(f64::INFINITY, f64::min);
    range.most = most.into_iter().fold(f64::NEG_INFINITY, f64::max);
    range.sum = sum.into_iter().sum();
    range
}

/// What each chunk of a stream holds: exactly the smallest and the largest of the values that come back, and how many
/// are numbers, missing or NaN. Their sum is rounded in f64 on the way. Chunk after chunk is decoded, and the array is
/// never held. Chunks are in their order; `container::Layout` tells which elements one has.
pub fn chunk_ranges(src: &[u8]) -> Result<Vec<ChunkRange>> {
    let stream = Stream::open(src)?;
    let Header { layout, big_endian, .. } = stream.header();
    let missing = layout.shape.missing.bits();
    let ranges = Mutex::new(filled(layout.chunks, ChunkRange::NONE)?);
    stream.each_chunk(ExecOptions::threads(0), &|c, bytes| {
        let range = ChunkRange::of(layout.dtype, *big_endian, missing, bytes);
        ranges.lock().unwrap_or_else(|e| e.into_inner())[c] = range;
    })?;
    Ok(ranges.into_inner().unwrap_or_else(|e| e.into_inner()))
}
