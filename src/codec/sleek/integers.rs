//! The integers of a chunk, and how its words become them.

use super::buffers::view;
use super::choose::{Extremes, Words};
use super::constants::*;
use super::plan::Plan;
use crate::codec::sleek::format::Special;
use crate::codec::sleek::simd::Simd;
use crate::dtype::DType;
use crate::params::Profile;
use crate::primitives::quantize::{self, Element, Quantizer, largest_of, mantissa_and_bias};
use crate::primitives::range::Ends;
use crate::primitives::round;
use crate::runtime::cpu::Data;
use crate::simd::Scalar;
use crate::simd::stream::{Line, PrefetchQueue};
use crate::simd::word::{Word, words};

/// Chunks behind one with too wide integers that are taken to be like it.
const LIKE_THE_LAST: u8 = 15;

/// Bits of small integers. A second difference can be four times as large, and its code twice that: 16 bits.
const SMALL_BITS: u32 = 14;

/// The integers of a chunk. They have the element's width, or are small ones.
pub struct Integers<'a, W, const S: usize> {
    pub words: &'a Words<W, S>,
    /// For the adaptive profile.
    pub extremes: Option<Extremes<W>>,
}

/// How the words of a chunk become integers, the same for all its subchunks.
pub struct Domain<W> {
    pub shift: u32,
    pub special: Special,
    /// Small integers are distances from this one.
    pub reference: W,
}

impl<W: Word> Domain<W> {
    /// Of words without so many low bits, which are all zero.
    #[inline(always)]
    pub fn lossless<E: Element<Word = W>>(plan: &Plan, shift: u32) -> Self {
        let special = match plan.profile {
            _ if shift > 0 || E::EXPONENT_BITS == 0 || !plan.dtype.is_float() => Special::Delta2,
            Profile::Fast => Special::Exponent,
            _ => Special::Countdown,
        };
        Domain { shift, special, reference: W::ZERO }
    }

    /// An integer of the encoder's as the format has it.
    #[inline(always)]
    pub fn word<X: Word>(&self, x: X) -> W {
        self.reference.add(W::from_u64(x.extend()))
    }
}

/// The data of subchunk `s`, if they do not end within it.
#[inline(always)]
fn whole(src: &[u8], s: usize) -> Option<&[u8; SUBCHUNK_BYTES]> {
    src.get(s * SUBCHUNK_BYTES..)?.first_chunk()
}

/// Reads the words of subchunk `s`; behind the end of the data its last word again.
#[inline(always)]
pub fn load<W: Word, const S: usize>(plan: &Plan, src: &[u8], s: usize, words: &mut [W; S]) {
    let size = size_of::<W>();
    match whole(src, s) {
        Some(data) => (0..S).for_each(|i| words[i] = W::load(&data[i * size..(i + 1) * size])),
        None => {
            let rest = &src[src.len().min(s * SUBCHUNK_BYTES)..];
            let (own, behind) = words.split_at_mut(rest.len() / size);
            own.iter_mut().zip(rest.chunks_exact(size)).for_each(|(word, element)| *word = W::load(element));
            behind.fill(W::load(&src[src.len() - size..]));
        }
    }
    if plan.big_endian {
        words.iter_mut().for_each(|w| *w = w.swap());
    }
}

/// The chunk's integers where they are in memory, if they are the words of the data as they are and others are before
/// them, which a window of the first subchunk reaches to. Not inlined: where it is, data with a bound take 10 % longer
/// past the caches.
#[inline(never)]
pub fn integers_in_place<'a, E: Element, const S: usize>(plan: &Plan, data: Data<'a>) -> Option<&'a Words<E::Word, S>> {
    let as_they_are = plan.quantizer.is_none() && plan.keep_bits.is_none() && !plan.big_endian;
    if !as_they_are || cfg!(target_endian = "big") {
        return None;
    }
    let (subchunks, []) = words::<E::Word>(data.behind(SUBCHUNK_BYTES)?)?.as_chunks::<S>() else { return None };
    let words: &Words<E::Word, S> = subchunks.try_into().ok()?;
    // One odd word says that there is no shift; where the first subchunk has none, `to_integers` looks at all.
    let unshifted = !plan.drops_zeros() || words[1].iter().any(|w| *w & E::Word::ONE == E::Word::ONE);
    unshifted.then_some(words)
}

/// The chunk's integers x of docs/reference/codecs/sleek.md §3.
#[inline(always)]
pub fn to_integers<E: Element, const S: usize>(
    plan: &Plan,
    src: &[u8],
    words: &mut Words<E::Word, S>,
    ends: Option<&mut Ends>,
    prefetch: &mut PrefetchQueue,
) -> Domain<E::Word> {
    let mut span = Span::new();
    for (s, subchunk) in words[1..].iter_mut().enumerate() {
        prefetch.fetch(1);
        load::<E::Word, S>(plan, src, s, subchunk);
        if let Some(q) = &plan.quantizer {
            let largest = if ends.is_some() { span.see(subchunk) } else { largest_of(subchunk) };
            quantize::encode::<E, S>(q, largest, subchunk);
        }
    }
    if let Some(ends) = ends {
        let [low, high] = if plan.quantizer.is_some() { span.ends(plan.dtype) } else { [f64::NAN; 2] };
        ends.add(low, high);
    }
    if plan.quantizer.is_some() {
        return Domain { shift: 0, special: Special::Delta2, reference: E::Word::ZERO };
    }
    let words = &mut words[1..];
    if let Some(keep) = plan.keep_bits {
        round::encode(words.as_flattened_mut(), mantissa_and_bias(plan.dtype).0, keep);
    }
    let shift = if plan.drops_zeros() { common_zeros(words) } else { 0 };
    if shift > 0 {
        words.as_flattened_mut().iter_mut().for_each(|w| *w = w.sar(shift));
    }
    Domain::lossless::<E>(plan, shift)
}

/// What is seen of a chunk's elements while they become bins. Floats are in the order of their bits, negative ones the
/// other way round and above all others.
struct Span<W> {
    /// The smallest word, the largest one, and the largest as a signed number, biased.
    least: W,
    most: W,
    most_signed: W,
}

impl<W: Word> Span<W> {
    /// Of nothing.
    #[inline(always)]
    fn new() -> Self {
        Span { least: !W::ZERO, most: W::ZERO, most_signed: W::ZERO }
    }

    /// With the words of a subchunk; their largest magnitude.
    #[inline(always)]
    fn see<const S: usize>(&mut self, words: &[W; S]) -> W {
        let Span { mut least, mut most, mut most_signed } = Span::<W>::new();
        for word in words {
            least = least.min(*word);
            most = most.max(*word);
            most_signed = most_signed.max(word.biased());
        }
        self.least = self.least.min(least);
        self.most = self.most.max(most);
        self.most_signed = self.most_signed.max(most_signed);
        // Of the lowest number, and of the highest one if it is not negative.
        let highest = most_signed.biased();
        (most & !W::SIGN).max(if highest & W::SIGN == W::ZERO { highest } else { W::ZERO })
    }

    /// The smallest and the largest number; NaN where there is one.
    #[inline(always)]
    fn ends(&self, dtype: DType) -> [f64; 2] {
        let highest = self.most_signed.biased();
        let low = if self.most & W::SIGN == W::SIGN { self.most } else { self.least };
        let high = if highest & W::SIGN == W::ZERO { highest } else { self.least };
        [low, high].map(|bits| dtype.number(bits.to_u64()))
    }
}

/// Widens `ends` to the bounds of a chunk's elements, from the extremes of its integers.
#[inline(always)]
pub fn widen_ends<E: Element, W: Word, const S: usize>(
    plan: &Plan,
    domain: &Domain<E::Word>,
    integers: &Integers<W, S>,
    ends: &mut Ends,
) {
    let (Some(quantizer), Some(extremes)) = (&plan.quantizer, &integers.extremes) else {
        return *ends = Ends::UNKNOWN;
    };
    let (least, most) = extremes.of_all();
    let number = |x: W| plan.dtype.number(to_element::<E>(plan, domain, domain.word(x)).to_u64());
    let reach = quantizer.reach();
    ends.add((number(least) - reach).next_down(), (number(most) + reach).next_up());
}

/// The chunk's integers as 16-bit distances from the first one, with their extremes, where that pays, all are
/// quantized, and none is too far from it.
#[inline(always)]
pub fn to_small_integers<E: Element, const S: usize, P: Simd<u16, S>>(
    p: P,
    plan: &Plan,
    src: &[u8],
    words: &mut [Line],
    too_wide: &mut u8,
    prefetch: &mut PrefetchQueue,
) -> Option<(E::Word, Extremes<u16>)> {
    let q = plan.quantizer.as_ref()?;
    if !P::PREFERS_SMALL || E::Word::BITS <= 16 || plan.profile == Profile::Fast {
        return None;
    }
    if *too_wide > 0 {
        *too_wide -= 1;
        return None;
    }
    let reference = first_bin::<E>(plan, q, src)?;
    let words: &mut Words<u16, S> = view(words);
    // What is beyond the quantizer's range is far from the reference, since bins go on with the bits of larger numbers.
    if reference.magnitude().to_u64() + (1 << SMALL_BITS) < q.certain {
        small_integers::<E, S>(plan, src, words, prefetch, |bits| E::certain_small::<P>(q, bits, reference));
    } else {
        small_integers::<E, S>(plan, src, words, prefetch, |bits| E::bin(q, bits).sub(reference).saturate16());
    }
    let extremes = Extremes::of::<S, P>(p, words, prefetch);
    if !extremes.fit(SMALL_BITS) {
        *too_wide = LIKE_THE_LAST;
        return None;
    }
    Some((reference, extremes))
}

/// The integers of all elements, saturated.
#[inline(always)]
fn small_integers<E: Element, const S: usize>(
    plan: &Plan,
    src: &[u8],
    words: &mut Words<u16, S>,
    prefetch: &mut PrefetchQueue,
    integer: impl Fn(E::Word) -> u16,
) {
    let size = size_of::<E::Word>();
    let mut loaded = [E::Word::ZERO; S];
    for (s, small) in words[1..].iter_mut().enumerate() {
        prefetch.fetch(1);
        // What need not be put together first is read from where it is.
        match whole(src, s).filter(|_| !plan.big_endian) {
            Some(data) => {
                (0..S).for_each(|i| small[i] = integer(E::Word::load(&data[i * size..][..size])));
            }
            None => {
                load::<E::Word, S>(plan, src, s, &mut loaded);
                (0..S).for_each(|i| small[i] = integer(loaded[i]));
            }
        }
    }
}

/// The bits of the first element.
#[inline(always)]
pub fn first_of<W: Word>(plan: &Plan, src: &[u8]) -> W {
    let first = W::load(src);
    if plan.big_endian { first.swap() } else { first }
}

/// The bin of the first element, if those of small integers around it are bins as well.
#[inline(always)]
fn first_bin<E: Element>(plan: &Plan, q: &Quantizer, src: &[u8]) -> Option<E::Word> {
    let first: E::Word = first_of(plan, src);
    let bin = E::bin(q, first);
    let is_near =
        first & !E::Word::SIGN < E::Word::from_u64(q.threshold) && bin.magnitude() < E::Word::from_u64(q.k / 2);
    is_near.then_some(bin)
}

/// Zero bits at the low end of every word; 0 if all words are zero. Most data have an odd word soon.
#[inline(always)]
fn common_zeros<W: Word, const S: usize>(words: &[[W; S]]) -> u32 {
    let mut any = W::ZERO;
    for subchunk in words {
        any = subchunk.iter().fold(any, |a, w| a | *w);
        if any & W::ONE == W::ONE {
            return 0;
        }
    }
    if any == W::ZERO { 0 } else { any.trailing_zeros() }
}

#[inline(always)]
pub fn is_constant<W: Word, const S: usize>(words: &Words<W, S>) -> bool {
    let first = words[1][0];
    words[1..].iter().all(|s| s.iter().fold(W::ZERO, |d, w| d | (*w ^ first)) == W::ZERO)
}

/// The element's bits for its integer.
#[inline(always)]
pub fn to_element<E: Element>(plan: &Plan, domain: &Domain<E::Word>, x: E::Word) -> E::Word {
    match &plan.quantizer {
        Some(q) => quantize::decode::<E, Scalar>(q, x),
        None => x << domain.shift,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_has_the_ends_of_all_signs() {
        let of = |values: [f32; 4]| {
            let mut span = Span::new();
            let largest = values.map(|v| f32::from_bits(span.see(&[v.to_bits()]))).into_iter().fold(0.0, f32::max);
            assert_eq!(Span::new().see(&values.map(f32::to_bits)), largest.to_bits());
            (span.ends(DType::F32), largest)
        };
        assert_eq!(of([3.0, 1.0, 2.0, 7.5]), ([1.0, 7.5], 7.5));
        assert_eq!(of([-3.0, -1.0, -2.0, -7.5]), ([-7.5, -1.0], 7.5));
        assert_eq!(of([-3.0, 1.0, 2.0, -7.5]), ([-7.5, 2.0], 7.5));
        assert_eq!(of([-0.0, 0.0, 0.0, 8.0]), ([0.0, 8.0], 8.0));
        assert_eq!(of([f32::NEG_INFINITY, 0.0, 1.0, 8.0]), ([f64::NEG_INFINITY, 8.0], f32::INFINITY));
        for nan in [f32::NAN, -f32::NAN] {
            for others in [[1.0, 2.0, 3.0], [-1.0, 2.0, -3.0], [-1.0, -2.0, -3.0]] {
                let mut span = Span::new();
                span.see(&[others[0], nan, others[1], others[2]].map(f32::to_bits));
                assert!(span.ends(DType::F32).iter().any(|end| end.is_nan()), "{others:?}");
            }
        }
    }
}
