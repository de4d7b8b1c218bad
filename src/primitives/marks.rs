//! Marks of missing values that nobody declared: what tells one from data (docs/reference/format.md §5.1). The one
//! place that has the rule; the kernels' copy is `kernels/common/marks.cuh`.

use super::range::{Ends, value_range};
use crate::dtype::DType;
use crate::exec::Isa;
use crate::simd::by;

/// The most values that are found one after the other at the ends of an array: what is found first may hide another.
pub const ROUNDS: u32 = 2;
/// Values at most that are found.
const MOST_FOUND: usize = 4;
/// There is room for those of a round where no more values than that are known.
pub const MOST_KNOWN: usize = 2;

/// A usual mark is farther away from the others than this part of their range.
pub const GAP: f64 = 64.0;

/// Whether neither end is a mark, whatever else there is: other values, from `least` to `most`, are too near or too far
/// apart. More of them change nothing, since they only come nearer and spread further.
pub fn are_none(dtype: DType, ends: [f64; 2], (least, most): (f64, f64)) -> bool {
    least < most && are_marks(dtype, ends, (least, most), [true; 2]) == [false; 2]
}

/// What an array has beside the values that are known and the two at its ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Smallest and largest of all other values.
    pub others: Option<(f64, f64)>,
    /// Whether the smallest and the largest value are there more than once.
    pub repeats: [bool; 2],
}

impl Look {
    /// Looks at elements: `fills` are those that do not count, of which the last two are the ends.
    pub fn at(dtype: DType, big_endian: bool, fills: &[f64], bytes: &[u8]) -> Look {
        let others = value_range(dtype, big_endian, fills, bytes);
        let repeats = [fills[fills.len() - 2], fills[fills.len() - 1]];
        Look { others, repeats: repeats.map(|end| count(dtype, big_endian, end, bytes) > 1) }
    }

    /// How often the ends are there in pieces of an array: up to twice, since more does not matter.
    pub fn counts(dtype: DType, big_endian: bool, ends: [f64; 2], bytes: &[u8]) -> [usize; 2] {
        ends.map(|end| count(dtype, big_endian, end, bytes))
    }
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
    /// Smallest and largest of all others.
    pub range: (f64, f64),
}

impl Found {
    /// Whether there is anything to be told of.
    pub fn is_any(&self) -> bool {
        self.count > 0 || self.few
    }

    /// They, as numbers.
    pub fn values(&self) -> &[f64] {
        &self.values[..self.count]
    }

    /// Nothing was found in an array of this range.
    pub fn none(range: (f64, f64)) -> Found {
        Found { range, ..Found::default() }
    }

    fn push(&mut self, value: f64) {
        self.values[self.count] = value;
        self.count += 1;
    }
}

/// Whether an array with these ends may have a mark, or two values at most. If not it has none: values between the ends
/// that nobody has seen yet only bring the others nearer to them.
pub fn suspects(dtype: DType, ends: &Ends) -> bool {
    are_few(ends) || may_be(dtype, ends, [true; 2]) != [false; 2]
}

/// Whether elements with these ends may be two values at most.
pub fn are_few(ends: &Ends) -> bool {
    ends.low == ends.high || ends.above_low > ends.below_high
}

/// Whether the smallest and the largest value of an array with these ends, which are there more than once or not, may
/// be marks.
pub fn may_be(dtype: DType, ends: &Ends, repeats: [bool; 2]) -> [bool; 2] {
    let Ends { low, high, above_low, below_high } = *ends;
    let others = below_high - above_low;
    // Infinite ends have distances that are no numbers.
    let beyond = |distance: f64, limit: f64| distance.partial_cmp(&limit).is_none_or(|order| order.is_gt());
    let is = |end: f64, distance: f64, repeats: bool| {
        repeats && beyond(distance, others) || beyond(distance, others / GAP) && is_usual(dtype, end)
    };
    [is(low, above_low - low, repeats[0]), is(high, high - below_high, repeats[1])]
}

/// What is known of an end beside [`Ends`].
#[derive(Clone, Copy, Debug)]
pub struct Closer {
    /// It is there once.
    pub once: bool,
    /// Between two different elements there, no farther out than the ends can be; infinite if nothing is known.
    pub gap: f64,
}

impl Closer {
    /// Nothing is known.
    pub const UNKNOWN: Closer = Closer { once: false, gap: f64::INFINITY };
}

/// Whether an array has no mark and more than two values: its smallest and largest elements are within `reach` of `low`
/// and `high`, and so are others of what lies next to these, which is farther away than twice that, or none of them.
/// Ends that are there once are marks only where they are usual.
pub fn clears(dtype: DType, ends: &Ends, reach: f64, closer: [Closer; 2]) -> bool {
    let Ends { low, high, above_low, below_high } = *ends;
    // How far apart the others are at least, and how far away from them an end is at most.
    let others = (below_high - reach) - (above_low + reach);
    // What is rounded is less than the slack.
    let slack = if reach > 0.0 { 1e-15 * low.abs().max(high.abs()) } else { 0.0 };
    let is_none = |end: f64, distance: f64, closer: Closer| {
        let usual = || has_usual(dtype, ((end - reach).next_down(), (end + reach).next_up()));
        // An element that is nearer may be the end itself.
        let distance = if distance > 2.0 * reach { distance } else { f64::INFINITY };
        let farthest = distance.min(closer.gap) + 2.0 * reach + slack;
        (farthest <= others || closer.once) && (farthest <= others / GAP || !usual())
    };
    others > 0.0 && is_none(low, above_low - low, closer[0]) && is_none(high, high - below_high, closer[1])
}

/// Whether a value that people use to mark missing ones may lie within a range.
fn has_usual(dtype: DType, (least, most): (f64, f64)) -> bool {
    if most < MARKS[0] && least > -MARKS[0] {
        return false;
    }
    let largest = largest(dtype);
    most >= largest
        || -least >= largest
        || near_usual(dtype, least, most).chain(near_usual(dtype, -most, -least)).next().is_some()
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

/// Usual marks from `least` to `most`, as f64 or f32 has them, and those that the type may have there.
fn near_usual(dtype: DType, least: f64, most: f64) -> impl Iterator<Item = f64> {
    // What a type is off by; numbers are positive.
    let off = if dtype.size() > 2 { 0.0 } else { 1.0 / 256.0 };
    let (from, to) = (least - off * least.abs(), most + off * most.abs());
    let first = SORTED.partition_point(|mark| *mark < from);
    SORTED[first..].iter().copied().take_while(move |mark| *mark <= to)
}

/// Searches an array with elements from `low` to `high` beside those that are `known`. `look` is asked what there is
/// beside some values, of which the last two are the ends.
pub fn search(dtype: DType, known: &[f64], (low, high): (f64, f64), mut look: impl FnMut(&[f64]) -> Look) -> Found {
    let mut found = Found::none((low, high));
    let (mut ends, mut fills, mut n) = ([low, high], [0.0; MOST_KNOWN + MOST_FOUND], known.len());
    if n > MOST_KNOWN {
        return found;
    }
    fills[..n].copy_from_slice(known);
    for _ in 0..ROUNDS {
        if ends[0] == ends[1] || n > MOST_KNOWN {
            break;
        }
        fills[n..n + 2].copy_from_slice(&ends);
        let seen = look(&fills[..n + 2]);
        let Some(others) = seen.others else {
            found.few = true;
            break;
        };
        let are = are_marks(dtype, ends, others, seen.repeats);
        for end in (0..2).filter(|end| are[*end]) {
            found.push(ends[end]);
            fills[n] = ends[end];
            n += 1;
        }
        if !are[0] && !are[1] {
            break;
        }
        ends = [if are[0] { others.0 } else { ends[0] }, if are[1] { others.1 } else { ends[1] }];
    }
    found.few |= ends[0] == ends[1];
    found.range = ends.into();
    found
}

/// Whether the smallest and the largest value are marks, where there are others between them, and the ends are there
/// more than once or not.
pub fn are_marks(dtype: DType, [low, high]: [f64; 2], (least, most): (f64, f64), repeats: [bool; 2]) -> [bool; 2] {
    let apart = [least - low, high - most];
    // A scale from 0 to 99 has none.
    let is = |end: usize, v: f64| is_usual(dtype, v) && apart[end] > (most - least) / GAP;
    let usual = [is(0, low), is(1, high)];
    if least == most {
        // A few classes.
        return usual;
    }
    let may_be = [0, 1].map(|end| usual[end] || repeats[end] && apart[end] > most - least);
    // An end that is none is one of the others.
    let others = if may_be[1] { most } else { high } - if may_be[0] { least } else { low };
    [0, 1].map(|end| usual[end] || may_be[end] && apart[end] > others)
}

/// Whether a value is one that people use to mark missing ones.
fn is_usual(dtype: DType, v: f64) -> bool {
    let a = v.abs();
    if a < MARKS[0] || !a.is_finite() {
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

/// Marks by magnitude: nines, powers of ten from 1e10 on, netCDF's default, the ends of integer types, and the largest
/// floats.
const MARKS: [f64; 51] = [
    99.0,
    999.0,
    9999.0,
    99999.0,
    999999.0,
    9999999.0,
    99999999.0,
    999999999.0,
    99.9,
    999.9,
    9999.9,
    99999.9,
    99.99,
    999.99,
    9999.99,
    1e10,
    1e11,
    1e12,
    1e13,
    1e14,
    1e15,
    1e16,
    1e17,
    1e18,
    1e19,
    1e20,
    1e21,
    1e22,
    1e23,
    1e24,
    1e25,
    1e26,
    1e27,
    1e28,
    1e29,
    1e30,
    1e31,
    1e32,
    1e33,
    1e34,
    1e35,
    1e36,
    1e37,
    9.969_209_968_386_869e36,
    9.96921e36,
    32767.0,
    32768.0,
    2_147_483_647.0,
    2_147_483_648.0,
    f32::MAX as f64,
    f64::MAX,
];
/// Those of f64 and f32, the smallest first.
static SORTED: [f64; 2 * MARKS.len()] = {
    let mut all = [0.0; 2 * MARKS.len()];
    let mut n = 0;
    while n < all.len() {
        let mark = if n % 2 == 0 { MARKS[n / 2] } else { MARKS[n / 2] as f32 as f64 };
        let mut at = n;
        while at > 0 && all[at - 1] > mark {
            all[at] = all[at - 1];
            at -= 1;
        }
        all[at] = mark;
        n += 1;
    }
    all
};

/// Those of a type: as near as it has them, the same of f32, and its largest number.
pub const USUAL: usize = 2 * MARKS.len() + 1;

/// Those of a type of floats. What it does not have is NaN.
pub fn usual_of(dtype: DType) -> [f64; USUAL] {
    let mut all = [f64::NAN; USUAL];
    for (place, mark) in all.chunks_exact_mut(2).zip(MARKS) {
        let near = [mark, f64::from(mark as f32)].map(|mark| dtype.number(dtype.nearest(mark)));
        place.copy_from_slice(&near.map(|mark| if mark.is_finite() { mark } else { f64::NAN }));
    }
    all[USUAL - 1] = dtype.number(dtype.nearest(f64::INFINITY) - 1);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitives::range::Watch;

    fn bytes(dtype: DType, big_endian: bool, values: &[f64]) -> Vec<u8> {
        let element = |v: &f64| {
            let mut element = dtype.nearest(*v).to_le_bytes()[..dtype.size()].to_vec();
            if big_endian {
                element.reverse();
            }
            element
        };
        values.iter().flat_map(element).collect()
    }

    /// What is found, and whether a watch suspects it.
    fn found_of(dtype: DType, big_endian: bool, values: &[f64], known: &[f64]) -> (Vec<f64>, bool) {
        let bytes = bytes(dtype, big_endian, values);
        let Some(ends) = value_range(dtype, big_endian, known, &bytes) else { return (vec![], false) };
        let found = search(dtype, known, ends, |fills| Look::at(dtype, big_endian, fills, &bytes));
        {
            let mut watch = Watch::new(Isa::best(), dtype, big_endian, known);
            bytes.chunks(16384).for_each(|piece| watch.see(piece));
            let suspected = suspects(dtype, &watch.ends().unwrap());
            assert!(suspected || found.values().is_empty() && !found.few, "{found:?} was not suspected");
        }
        (found.values().to_vec(), found.few)
    }

    fn found(values: &[f64]) -> Vec<f64> {
        found_of(DType::F64, false, values, &[]).0
    }

    /// A wave of 20 000 values from 2 to 18, with `value` in `count` places.
    fn marked(value: f64, count: usize) -> Vec<f64> {
        let mut values: Vec<f64> = (0..20_000).map(|i| 10.0 + 8.0 * (i as f64 * 0.01).sin()).collect();
        values[3000..3000 + count].fill(value);
        values
    }

    #[test]
    fn usual_marks_are_found_however_rare() {
        for dtype in [DType::F64, DType::F32, DType::F16, DType::BF16] {
            for value in [-9999.0, -999.0, -99.9, 99.0, 1e20, -1e34, 9.96921e36, f64::MAX, -32768.0, 65504.0] {
                let is_for = value != 65504.0 || dtype == DType::F16;
                let value = dtype.number(dtype.nearest(value));
                if !value.is_finite() || !is_for {
                    continue;
                }
                for (count, big_endian) in [(1, false), (40, true)] {
                    assert_eq!(found_of(dtype, big_endian, &marked(value, count), &[]), (vec![value], false));
                    assert_eq!(found_of(dtype, big_endian, &marked(value, count), &[value]), (vec![], false));
                }
            }
        }
        // 99 is one among values up to 200.
        let wide: Vec<f64> = marked(99.0, 40).iter().map(|v| if *v > 98.0 { *v } else { 11.0 * v }).collect();
        assert!(found(&wide).is_empty());
        // An f32 in a wider type, as programs write it.
        assert_eq!(found(&marked(1e20f32.into(), 1)), [f64::from(1e20f32)]);
    }

    #[test]
    fn any_other_value_must_repeat_and_be_farther_away_than_the_others_are() {
        assert_eq!(found(&marked(-500.0, 2)), [-500.0]);
        assert!(found(&marked(-500.0, 1)).is_empty(), "once");
        let (low, high) = (10.0 - 8.0, 10.0 + 8.0);
        assert!(found(&marked(low - 15.9, 2000)).is_empty(), "no farther away than the range of the others");
        assert_eq!(found(&marked(low - 16.1, 2000)), [low - 16.1]);
        assert_eq!(found(&marked(high + 16.1, 2)), [high + 16.1]);
        // Zero is one like any other.
        let far: Vec<f64> = marked(0.0, 3).iter().map(|v| if *v == 0.0 { 0.0 } else { v + 300.0 }).collect();
        assert_eq!(found(&far), [0.0]);
    }

    #[test]
    fn both_ends_and_one_behind_the_other() {
        let mut values = marked(-9999.0, 50);
        values[..7].fill(1e20);
        assert_eq!(found(&values), [-9999.0, 1e20]);
        values[100..103].fill(-321.0);
        values[200..203].fill(400.0);
        let second = [-9999.0, 1e20, -321.0, 400.0];
        assert_eq!(found(&values), second);
        assert_eq!(found_of(DType::F64, false, &values, &second[..1]).0, second[1..]);
    }

    #[test]
    fn few_values() {
        let of = |values: &[f64]| found_of(DType::F64, false, values, &[]);
        assert_eq!(of(&[7.0; 5000]), (vec![], true));
        assert_eq!(of(&[f64::NAN; 50]), (vec![], false));
        assert_eq!(of(&[]), (vec![], false));
        assert_eq!(of(&[0.0, -0.0]), (vec![], true));
        let two: Vec<f64> = (0..9000).map(|i| (i % 2) as f64).collect();
        assert_eq!(of(&two), (vec![], true));
        assert_eq!(of(&[3.0, 1.0, 1.0, 2.0, 3.0]), (vec![], false));
        assert_eq!(of(&[5.0, 5.0, -9999.0]), (vec![], true));
        assert_eq!(of(&[1e20, -9999.0, 1e20]), (vec![], true));
        assert_eq!(of(&[1e20, -9999.0, 3.0]), (vec![-9999.0, 1e20], true));
        assert_eq!(of(&[1.0, 2.0]), (vec![], true));
        let classes: Vec<f64> = (0..9000).map(|i| [1.0, 2.0, 3.0, 500.0][i % 4]).collect();
        assert_eq!(of(&classes), (vec![500.0], false));
    }

    /// Where a watch suspects nothing there is nothing, whatever the values and their order.
    #[test]
    fn nothing_is_overlooked() {
        let mut random = 1u64;
        let mut next = |n: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % n
        };
        let mut hits = 0;
        for _ in 0..4000 {
            let n = 1 + next(300) as usize;
            let wide = [1, 3, 50, 1000][next(4) as usize];
            let mut values: Vec<f64> = (0..n).map(|_| next(wide) as f64 - 20.0).collect();
            for _ in 0..next(4) {
                let mark = [-9999.0, 5000.0, 1100.0, 0.0, f64::NAN, -77.0][next(6) as usize];
                for _ in 0..next(4) {
                    values[next(n as u64) as usize] = mark;
                }
            }
            hits += usize::from(!found(&values).is_empty());
        }
        assert!(hits > 500 && hits < 3900, "{hits}");
    }
}
