//! What tells an undeclared fill value from data (docs/reference/format.md §5.1). The one place that has the rule.

use crate::bound::sub_down;
use crate::dtype::DType;
use crate::error::Result;
use crate::exec::Isa;
use crate::params::Bound;
use crate::primitives::range::Ends;
use crate::simd::by;

/// The most rounds of a search: what is found first may hide another.
const ROUNDS: u32 = 2;
/// The most values that are found.
const MOST_FOUND: usize = 4;
/// Where more values are declared there is no room for those of a round.
pub const MOST_KNOWN: usize = 2;

/// A conventional fill value is farther away from the others than this part of their range.
const GAP: f64 = 64.0;

/// Whether neither end is a fill value, whatever else there is: other values, from `least` to `most`, are too near or
/// too far apart. More of them change nothing, since they only come nearer and spread further.
pub fn are_cleared(dtype: DType, ends: [f64; 2], (least, most): (f64, f64)) -> bool {
    least < most && are_fills(dtype, ends, (least, most), [true; 2]) == [false; 2]
}

/// Whether nothing between `ends` can be a fill value at the end of an array that has others from `least` to `most`.
pub fn are_too_near(dtype: DType, ends: Ends, (least, most): (f64, f64)) -> bool {
    let range = most - least;
    let near = range / GAP;
    let no_usual = !may_be_usual(dtype, ends.low, least - near) && !may_be_usual(dtype, most + near, ends.high);
    least < most && least - ends.low <= range && ends.high - most <= range && no_usual
}

/// Whether a number from `low` to `high` may be one that people use to mark missing ones.
fn may_be_usual(dtype: DType, low: f64, high: f64) -> bool {
    let may_be = |least: f64, most: f64| {
        if most < USUAL[0] / 2.0 {
            return false;
        }
        let (least, most) = (least.max(0.0) * (1.0 - 1e-6), most * (1.0 + 1e-6));
        least <= most && (near_usual(dtype, least, most).next().is_some() || (least..=most).contains(&largest(dtype)))
    };
    may_be(low, high) || may_be(-high, -low)
}

/// What an array has beside the values that are declared and the two at its ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Others {
    /// Smallest and largest of them.
    pub range: Option<(f64, f64)>,
    /// Whether the smallest and the largest value of the array are there more than once.
    pub repeats: [bool; 2],
}

/// How many elements equal `value`: up to two, since more does not matter.
pub fn count(dtype: DType, big_endian: bool, value: f64, bytes: &[u8]) -> usize {
    const PIECE: usize = 4096;
    let (size, mut seen) = (dtype.size(), 0);
    let turned = |bits: u64| if big_endian { bits.swap_bytes() >> (64 - 8 * size) } else { bits };
    let bits = turned(dtype.nearest(value));
    let other = if value == 0.0 { turned(dtype.nearest(-value)) } else { bits };
    for piece in bytes.chunks(PIECE) {
        let done = by!(Avx2, Isa::best(), |size: usize, piece: &[u8], bits: u64, other: u64| -> usize {
            equal_of(size, piece, bits, other)
        });
        seen += done.unwrap_or_else(|| equal_of(size, piece, bits, other));
        if seen > 1 {
            break;
        }
    }
    seen.min(2)
}

#[inline(always)]
fn equal_of(size: usize, bytes: &[u8], a: u64, b: u64) -> usize {
    match size {
        2 => equal::<2>(bytes, a, b),
        4 => equal::<4>(bytes, a, b),
        _ => equal::<8>(bytes, a, b),
    }
}

#[inline(always)]
fn equal<const N: usize>(bytes: &[u8], a: u64, b: u64) -> usize {
    let word = |bits: u64| std::array::from_fn::<u8, N, _>(|i| bits.to_le_bytes()[i]);
    let (a, b) = (word(a), word(b));
    bytes.as_chunks::<N>().0.iter().map(|element| usize::from(*element == a || *element == b)).sum()
}

/// Values that were found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Found {
    values: [f64; MOST_FOUND],
    count: usize,
    /// Besides them and what is known there are two values at most.
    pub few: bool,
    /// Smallest and largest of all others; `None` if the array has no numbers.
    pub range: Option<(f64, f64)>,
}

impl Found {
    /// Nothing, in an array from `range.0` to `range.1` with others between.
    pub fn nothing(range: (f64, f64)) -> Found {
        Found { range: Some(range), ..Found::default() }
    }

    /// They, as numbers.
    pub fn values(&self) -> &[f64] {
        &self.values[..self.count]
    }

    fn push(&mut self, value: f64) {
        self.values[self.count] = value;
        self.count += 1;
    }
}

/// The largest number of a float type.
fn largest(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => f64::MAX,
        DType::F32 => f32::MAX.into(),
        DType::F16 => 65504.0,
        // 255 · 2^120
        _ => f64::from(f32::from_bits(0x7f7f_0000)),
    }
}

/// Conventional fill values from `least` to `most`, as f64 or f32 has them, and those that the type may have there.
fn near_usual(dtype: DType, least: f64, most: f64) -> impl Iterator<Item = f64> {
    // What a type is off by; numbers are positive.
    let off = if dtype.size() > 2 { 0.0 } else { 1.0 / 256.0 };
    let (from, to) = (least - off * least.abs(), most + off * most.abs());
    let first = SORTED.partition_point(|fill| *fill < from);
    SORTED[first..].iter().copied().take_while(move |fill| *fill <= to)
}

/// Searches an array with elements from `low` to `high` beside those that are `known`. `others` tells what there is
/// beside some values, among which are the two ends that it gets too. None is found within reach of the bound.
pub fn search(
    dtype: DType,
    bound: Bound,
    known: &[f64],
    (low, high): (f64, f64),
    others: impl Fn(&[f64], [f64; 2]) -> Result<Others>,
) -> Result<Found> {
    let mut found = Found::nothing((low, high));
    let (mut ends, mut fills, mut n) = ([low, high], [0.0; MOST_KNOWN + MOST_FOUND], known.len());
    if n > MOST_KNOWN {
        return Ok(found);
    }
    fills[..n].copy_from_slice(known);
    for _ in 0..ROUNDS {
        if ends[0] == ends[1] || n > MOST_KNOWN {
            break;
        }
        fills[n..n + 2].copy_from_slice(&ends);
        let Others { range, repeats } = others(&fills[..n + 2], ends)?;
        let Some(range) = range else {
            found.few = true;
            break;
        };
        let are = are_found(dtype, bound, ends, range, repeats);
        for end in (0..2).filter(|end| are[*end]) {
            found.push(ends[end]);
            fills[n] = ends[end];
            n += 1;
        }
        if !are[0] && !are[1] {
            break;
        }
        ends = [if are[0] { range.0 } else { ends[0] }, if are[1] { range.1 } else { ends[1] }];
    }
    found.few |= ends[0] == ends[1];
    found.range = Some(ends.into());
    Ok(found)
}

/// Whether the smallest and the largest value are fill values, where there are others between them, and the ends are
/// there more than once or not.
fn are_fills(dtype: DType, ends: [f64; 2], others: (f64, f64), repeats: [bool; 2]) -> [bool; 2] {
    let ([low, high], (least, most)) = (ends, others);
    let usual = are_usual(dtype, ends, others);
    if least == most {
        // A few classes.
        return usual;
    }
    let (apart, far) = (apart(ends, others), are_far(ends, others));
    let may_be = [0, 1].map(|end| usual[end] || repeats[end] && far[end]);
    // An end that is none is one of the others.
    let others = if may_be[1] { most } else { high } - if may_be[0] { least } else { low };
    [0, 1].map(|end| usual[end] || may_be[end] && apart[end] > others)
}

/// Whether the smallest and the largest value are fill values that no other value can come back as under the bound. One
/// that may do so comes back beside it, and would be rounded once more when it is written again without it.
pub fn are_found(dtype: DType, bound: Bound, ends: [f64; 2], others: (f64, f64), repeats: [bool; 2]) -> [bool; 2] {
    let mut are = are_fills(dtype, ends, others, repeats);
    // Without one the range of the others is larger.
    for _ in 0..2 {
        let (low, high) = (if are[0] { others.0 } else { ends[0] }, if are[1] { others.1 } else { ends[1] });
        let bound = if bound.measures() { bound.of_range(Some(sub_down(high, low))) } else { bound };
        let reach = bound.absolute().unwrap_or(0.0);
        let apart = apart(ends, others);
        are = [0, 1].map(|end| are[end] && apart[end] > reach);
    }
    are
}

/// Whether it matters for that how often the ends are there.
pub fn asks_for_repeats(dtype: DType, ends: [f64; 2], others: (f64, f64)) -> bool {
    let (usual, far) = (are_usual(dtype, ends, others), are_far(ends, others));
    others.0 < others.1 && (0..2).any(|end| far[end] && !usual[end])
}

/// How far the ends are from the others.
fn apart([low, high]: [f64; 2], (least, most): (f64, f64)) -> [f64; 2] {
    [least - low, high - most]
}

/// Whether the ends are farther from the others than these from each other.
fn are_far(ends: [f64; 2], others: (f64, f64)) -> [bool; 2] {
    apart(ends, others).map(|apart| apart > others.1 - others.0)
}

/// Whether the ends are conventional fill values. A scale from 0 to 99 has none.
fn are_usual(dtype: DType, ends: [f64; 2], others: (f64, f64)) -> [bool; 2] {
    let apart = apart(ends, others);
    [0, 1].map(|end| is_usual(dtype, ends[end]) && apart[end] > (others.1 - others.0) / GAP)
}

/// Whether a value is one that people use to mark missing ones.
fn is_usual(dtype: DType, v: f64) -> bool {
    let a = v.abs();
    if a < USUAL[0] || !a.is_finite() {
        return false;
    }
    // What is below 99 as a number of 16 bits is so as one of more.
    let is = |mark: f64| match dtype {
        DType::F64 => a == mark,
        DType::F32 => a == f64::from(mark as f32),
        _ => a == dtype.number(dtype.nearest(mark)),
    };
    near_usual(dtype, a * (1.0 - 1e-7), a * (1.0 + 1e-7)).any(is) || a == largest(dtype)
}

/// Conventional fill values by magnitude: nines, powers of ten from 1e10 on, netCDF's default, the ends of integer
/// types, and the largest floats.
#[rustfmt::skip]
const USUAL: [f64; 51] = [
    99.0, 999.0, 9999.0, 99999.0, 999999.0, 9999999.0, 99999999.0, 999999999.0, 99.9, 999.9, 9999.9, 99999.9, 99.99,
    999.99, 9999.99, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22, 1e23, 1e24, 1e25,
    1e26, 1e27, 1e28, 1e29, 1e30, 1e31, 1e32, 1e33, 1e34, 1e35, 1e36, 1e37, 9.969_209_968_386_869e36, 9.96921e36,
    32767.0, 32768.0, 2_147_483_647.0, 2_147_483_648.0, f32::MAX as f64, f64::MAX,
];
/// Those of f64 and f32, the smallest first.
static SORTED: [f64; 2 * USUAL.len()] = {
    let mut all = [0.0; 2 * USUAL.len()];
    let mut n = 0;
    while n < all.len() {
        let fill = if n % 2 == 0 { USUAL[n / 2] } else { USUAL[n / 2] as f32 as f64 };
        let mut at = n;
        while at > 0 && all[at - 1] > fill {
            all[at] = all[at - 1];
            at -= 1;
        }
        all[at] = fill;
        n += 1;
    }
    all
};
