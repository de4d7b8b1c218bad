//! Whether a tile within a bound may take fewer bytes bit for bit, by some of its elements: multiples of a power of two
//! or of ten that are as far apart as bins, few distinct numbers, or rows that repeat. Other tiles take the more bytes
//! bit for bit the finer their elements are than bins, and are not tried.

use crate::codec::interp::plan::Plan;
use crate::codec::interp::quantize::multiples::Bits;
use crate::codec::interp::quantize::{decimals, ranks};
use crate::codec::predict::rules::{MOST_SETS, RUN, SET_ELEMENTS, STEP_BITS};
use crate::primitives::quantize::{Element, mantissa_and_bias};
use crate::simd::word::Word;

/// Elements that tell whether a whole tile repeats.
const PROBES: usize = 32;
/// Multiples of a power of ten are tried from a part of a bin on.
const PARTS: f64 = 2.0;

/// How far from a whole number a product of one with a power of ten is, as a part of it, and numbers nearly all of
/// which are whole: of f32 and f64.
const NEAR32: f64 = 1.0625 / (1u64 << 24) as f64;
const FAR32: f64 = (1u64 << 22) as f64;
const NEAR64: f64 = 1.0 / (1u64 << 51) as f64;
const FAR64: f64 = (1u64 << 51) as f64;

/// The samples of a set, in their order.
struct Set<W> {
    places: [usize; SET_ELEMENTS],
    values: [W; SET_ELEMENTS],
    len: usize,
}

impl<W: Word> Set<W> {
    /// Set `s` of `sets`, of a tile of `n` elements: one in each of as many parts of the tile, which sets take in
    /// turns.
    fn take(s: usize, sets: usize, n: usize, element: impl Fn(usize) -> W) -> Set<W> {
        let mut set = Set { places: [0; SET_ELEMENTS], values: [W::ZERO; SET_ELEMENTS], len: 0 };
        let part = n / (SET_ELEMENTS * sets);
        for k in 0..SET_ELEMENTS {
            let place =
                if part == 0 { s * SET_ELEMENTS + k } else { (k * sets + s) * part + mixed(k * sets + s, part) };
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

/// Which samples of a set are alike.
struct Alike {
    /// The first one that is like each.
    first: [u8; SET_ELEMENTS],
    /// How many are like one that is the first, itself included; 0 for the others.
    counts: [u8; SET_ELEMENTS],
}

impl Alike {
    fn of<W: Word>(values: &[W]) -> Alike {
        let mut alike = Alike { first: [0; SET_ELEMENTS], counts: [0; SET_ELEMENTS] };
        // The first one of each kind, at the place of its hash or behind it.
        let mut firsts = [u8::MAX; 2 * SET_ELEMENTS];
        for (k, value) in values.iter().enumerate() {
            let mut place = (value.to_u64().wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize % firsts.len();
            while firsts[place] != u8::MAX && values[usize::from(firsts[place])] != *value {
                place = (place + 1) % firsts.len();
            }
            if firsts[place] == u8::MAX {
                firsts[place] = k as u8;
            }
            alike.first[k] = firsts[place];
            alike.counts[usize::from(firsts[place])] += 1;
        }
        alike
    }
}

/// A number below `part`, another one for each `i`.
fn mixed(i: usize, part: usize) -> usize {
    let x = (i as u32).wrapping_mul(0x9E37_79B1);
    let x = (x ^ x >> 15).wrapping_mul(0x85EB_CA77);
    ((x >> 16) as usize * part) >> 16
}

/// 256 times the logarithm of a number, between powers of two as if it were straight.
fn logarithm(x: usize) -> usize {
    let octave = x.ilog2();
    (octave as usize) << 8 | ((x << 8 >> octave) & 255)
}

/// Whether the forms of mode lossless are tried on the elements `data` of a tile, in rows of so many, that takes so
/// many bytes within the bound.
#[inline(never)]
pub fn may_be_smaller<E: Element>(plan: &Plan, seen: &Bits<E::Word>, row: usize, data: &[u8], bytes: usize) -> bool {
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
        if s == 0 && (are_as_far_apart_as_bins::<E>(plan, seen, set.values()) || are_multiples::<E>(plan, set.values()))
        {
            return true;
        }
        set.values.iter_mut().for_each(|v| *v = *v >> noise);
        let Alike { first, counts } = Alike::of(set.values());
        let lag = (0..set.len).find_map(|k| {
            let (a, b) = (set.places[usize::from(first[k])], set.places[k]);
            // What is alike above each other has no differences along an axis.
            let is_above = row < n && (b - a).is_multiple_of(row);
            (a < b && !is_above && is_run(n, a, b, key)).then_some(b - a)
        });
        if lag.is_some_and(|lag| repeats_cost_less(n, lag, bytes, element)) {
            return true;
        }
        let (mut kinds, mut most) = (0, 1);
        for count in counts.into_iter().map(usize::from).filter(|count| *count > 0) {
            cost += count * (logarithm(set.len) - logarithm(count));
            most = most.max(count);
            kinds += 1;
        }
        samples += set.len;
        repeats += (set.len + 1).saturating_sub(kinds + most);
    }
    // Numbers of which few are distinct take no less than what their frequencies tell.
    let of_body = (8 * 256 * 4) * bytes as u64 * samples as u64;
    repeats > sets / 4 && of_body >= 3 * n as u64 * cost as u64 && ranks::list_is_short(n, element)
}

/// Whether elements go on alike, and differ, from two places on.
fn is_run<W: Word>(n: usize, a: usize, b: usize, key: impl Fn(usize) -> W) -> bool {
    b + RUN <= n && (1..RUN).all(|i| key(a + i) == key(b + i)) && (1..RUN).any(|i| key(a + i) != key(a))
}

/// Whether the bits in which elements differ from those so far before are fewer than those of so many bytes.
fn repeats_cost_less<W: Word>(n: usize, lag: usize, bytes: usize, element: impl Fn(usize) -> W) -> bool {
    let places = (0..PROBES).map(|k| k * (n - lag) / PROBES);
    let bits: u32 = places.map(|i| (element(i) ^ element(i + lag)).width()).sum();
    bits as usize * n <= 8 * bytes * PROBES
}

/// Whether elements are multiples of a power of two, or neighbouring numbers, that are as far apart as bins: the
/// largest ones by what is `seen` of all, and others on average, each as a multiple of the largest power that it is one
/// of, which is twice the one of all or of its neighbours.
fn are_as_far_apart_as_bins<E: Element>(plan: &Plan, seen: &Bits<E::Word>, elements: &[E::Word]) -> bool {
    let Some(q) = plan.bins.map(|bins| bins.quantizer) else { return false };
    let (mantissa, bias) = mantissa_and_bias(plan.layout.dtype);
    let exponent = |bits: E::Word| ((bits & !E::Word::SIGN) >> mantissa).to_u64() as i32;
    let zeros = |bits: E::Word| bits.trailing_zeros().min(mantissa) as i32;
    let none = -bias - mantissa as i32 - i32::from(q.step.j);
    if exponent(seen.largest).max(1) + zeros(seen.any) + none <= 0 {
        return false;
    }
    // Zeros, infinities and NaN tell nothing of the others.
    let tells = |bits: &&E::Word| **bits & !E::Word::SIGN != E::Word::ZERO && exponent(**bits) <= 2 * bias;
    let above = |bits: E::Word| (exponent(bits).max(1) + zeros(bits) + none).clamp(-8, 8);
    let (all, count) = elements.iter().filter(tells).fold((0, 0), |(all, count), bits| (all + above(*bits), count + 1));
    count > 0 && all >= count * (STEP_BITS + 1)
}

/// Whether elements are multiples of a power of two, where these are rounded off, or of ten, that are as far apart as
/// what comes back.
fn are_multiples<E: Element>(plan: &Plan, elements: &[E::Word]) -> bool {
    let (mantissa, bias) = mantissa_and_bias(plan.layout.dtype);
    let grain = match (&plan.bins, plan.keep_bits) {
        (Some(bins), _) => bins.quantizer.step.value(),
        (_, keep) => {
            let drop = mantissa - keep.unwrap_or(mantissa).min(mantissa);
            let any = elements.iter().fold(E::Word::ZERO, |any, w| any | *w);
            // Most of what is rounded off: of small numbers that is more than what is between them.
            if any != E::Word::ZERO && 4 * any.trailing_zeros() >= 3 * drop {
                return true;
            }
            // What one of the bits that are left stands for, on average.
            let others = elements.iter().map(|w| *w & !E::Word::SIGN).filter(|w| *w != E::Word::ZERO);
            let (sum, count) =
                others.fold((0, 0), |(sum, count), w| (sum + (w >> mantissa).to_u64() as i32, count + 1));
            let exponent = sum / count.max(1) - bias - (mantissa - drop) as i32;
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
