//! Whether a tile within a bound may take fewer bytes bit for bit, by some of its elements: multiples of a power of two or
//! of ten that are as far apart as bins, few distinct numbers, or rows that repeat. Other tiles take the more bytes bit for
//! bit the finer their elements are than bins, and are not tried.

use super::{decimals, ranks};
use crate::codec::ratio::plan::Plan;
use crate::primitives::quantize::{Element, mantissa_and_bias};
use crate::primitives::word::Word;

/// Elements that are compared with each other.
const SET: usize = 32;
/// Sets, at most: one for each bit of an element in the body.
const MOST_SETS: usize = 8;
/// Neighbours that repeated elements share.
const RUN: usize = 8;
/// Elements that tell whether a whole tile repeats.
const PROBES: usize = 32;
/// Multiples of a power of ten are tried from a part of a bin on.
const PARTS: f64 = 8.0;

/// How far from a whole number a product of one with a power of ten is, as a part of it, and numbers nearly all of which
/// are whole: of f32 and f64.
const NEAR32: f64 = 1.0625 / (1u64 << 24) as f64;
const FAR32: f64 = (1u64 << 22) as f64;
const NEAR64: f64 = 1.0 / (1u64 << 51) as f64;
const FAR64: f64 = (1u64 << 51) as f64;

/// The samples of a set, in their order.
struct Set<W> {
    places: [usize; SET],
    values: [W; SET],
    len: usize,
}

impl<W: Word> Set<W> {
    /// Set `s` of `sets`, of a tile of `n` elements: one in each of as many parts of the tile, which sets take in turns.
    fn take(s: usize, sets: usize, n: usize, element: impl Fn(usize) -> W) -> Set<W> {
        let mut set = Set { places: [0; SET], values: [W::ZERO; SET], len: 0 };
        let part = n / (SET * sets);
        for k in 0..SET {
            let place = if part == 0 { s * SET + k } else { (k * sets + s) * part + mixed(k * sets + s, part) };
            if place < n {
                (set.places[k], set.values[k], set.len) = (place, element(place), k + 1);
            }
        }
        set
    }

    fn values(&self) -> &[W] {
        &self.values[..self.len]
    }
}

/// A number below `part`, another one for each `i`.
fn mixed(i: usize, part: usize) -> usize {
    let x = (i as u32).wrapping_mul(0x9E37_79B1);
    let x = (x ^ x >> 15).wrapping_mul(0x85EB_CA77);
    (x >> 16) as usize * part >> 16
}

/// 256 times the logarithm of a number, between powers of two as if it were straight.
fn logarithm(x: usize) -> usize {
    let octave = x.ilog2();
    (octave as usize) << 8 | ((x << 8 >> octave) & 255)
}

/// Whether the forms of mode lossless are tried on the elements `data` of a tile, in rows of so many, that takes so many
/// bytes within the bound.
#[inline(never)]
pub fn may_be_smaller<E: Element>(plan: &Plan, row: usize, data: &[u8], bytes: usize) -> bool {
    let size = size_of::<E::Word>();
    let n = data.len() / size;
    if 32 * bytes < n {
        return false;
    }
    let element = |i: usize| {
        let bits = E::Word::load(&data[i * size..]);
        if plan.big_endian { bits.swap() } else { bits }
    };
    // What is told apart; the last bits may be noise.
    let noise = mantissa_and_bias(plan.layout.dtype).0 / 8;
    let key = |i: usize| element(i) >> noise;
    let sets = (8 * bytes / n).clamp(1, MOST_SETS);
    let (mut repeats, mut cost, mut samples) = (0, 0, 0);
    for s in 0..sets {
        let mut set = Set::take(s, sets, n, element);
        if s == 0 && are_multiples::<E>(plan, set.values()) {
            return true;
        }
        set.values.iter_mut().for_each(|v| *v = *v >> noise);
        let (mut first_ones, mut most, mut lag) = (0, 1, None);
        for (k, value) in set.values().iter().enumerate() {
            let count = set.values().iter().filter(|v| *v == value).count();
            cost += logarithm(set.len) - logarithm(count);
            most = most.max(count);
            let first = set.values().iter().position(|v| v == value).unwrap_or(k);
            first_ones += usize::from(first == k);
            let (a, b) = (set.places[first], set.places[k]);
            // What is alike above each other has no differences along an axis.
            let is_above = row < n && (b - a).is_multiple_of(row);
            if lag.is_none() && first < k && !is_above && is_run(n, a, b, key) {
                lag = Some(b - a);
            }
        }
        if lag.is_some_and(|lag| repeats_all_over(n, lag, key)) {
            return true;
        }
        samples += set.len;
        repeats += (set.len + 1).saturating_sub(first_ones + most);
    }
    // Numbers of which few are distinct take no less than what their frequencies tell.
    let of_body = (8 * 256 * 4) * bytes as u64 * samples as u64;
    repeats > sets / 4 && of_body >= 3 * n as u64 * cost as u64 && ranks::list_is_short(n, element)
}

/// Whether elements go on alike, and differ, from two places on.
fn is_run<W: Word>(n: usize, a: usize, b: usize, key: impl Fn(usize) -> W) -> bool {
    b + RUN <= n && (1..RUN).all(|i| key(a + i) == key(b + i)) && (1..RUN).any(|i| key(a + i) != key(a))
}

/// Whether most of a tile is what was so far before.
fn repeats_all_over<W: Word>(n: usize, lag: usize, key: impl Fn(usize) -> W) -> bool {
    let places = (0..PROBES).map(|k| k * (n - lag) / PROBES);
    4 * places.filter(|i| key(*i) == key(i + lag)).count() >= 3 * PROBES
}

/// Whether elements are multiples of a power of two, where these are rounded off, or of ten, that are as far apart as
/// what comes back.
fn are_multiples<E: Element>(plan: &Plan, elements: &[E::Word]) -> bool {
    let (mantissa, bias) = mantissa_and_bias(plan.layout.dtype);
    let grain = match (&plan.quantizer, plan.keep_bits) {
        (Some(q), _) => q.step.value(),
        (_, keep) => {
            let drop = mantissa - keep.unwrap_or(mantissa).min(mantissa);
            let any = elements.iter().fold(E::Word::ZERO, |any, w| any | *w);
            // Half of what is rounded off: of small numbers that is more than what is between them.
            if any != E::Word::ZERO && 2 * any.trailing_zeros() >= drop {
                return true;
            }
            let largest = elements.iter().fold(E::Word::ZERO, |largest, w| largest.max(*w & !E::Word::SIGN));
            let exponent = (largest >> mantissa).to_u64() as i32 - bias - mantissa as i32 + drop as i32 / 2;
            f64::from_bits(((exponent.max(-1022) + 1023) as u64) << 52)
        }
    };
    decimals::has::<E>()
        && decimals::POWERS.iter().any(|power| power * grain < PARTS && are_decimals::<E>(elements, *power))
}

/// Whether nearly all elements, and not zeros alone, are as near to whole numbers over `power` as any elements.
fn are_decimals<E: Element>(elements: &[E::Word], power: f64) -> bool {
    let (mut odd, mut good) = (0, 0);
    let (near, far) = if E::Word::BITS == 64 { (NEAR64, FAR64) } else { (NEAR32, FAR32) };
    for bits in elements {
        let product = decimals::value::<E>(*bits) * power;
        let whole = (product + decimals::ROUND) - decimals::ROUND;
        if (product - whole).abs() <= whole.abs() * near && whole.abs() < far {
            good += usize::from(whole != 0.0);
        } else {
            odd += 1;
            if odd > decimals::ODD {
                return false;
            }
        }
    }
    good > odd
}
