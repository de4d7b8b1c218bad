//! Whether elements' own bits may take fewer bytes than their bins.

use super::constants::*;
use super::integers::load;
use super::plan::Plan;
use crate::primitives::quantize::{Element, Quantizer, largest_of, mantissa_and_bias};
use crate::simd::word::Word;

/// The exponent of the distance of neighbours of a number of this magnitude.
#[inline(always)]
fn spacing<W: Word>(plan: &Plan, magnitude: W) -> i32 {
    let (mantissa, bias) = mantissa_and_bias(plan.dtype);
    ((magnitude >> mantissa).to_u64() as i32).max(1) - bias - mantissa as i32
}

/// Whether words that have `any` bits, as multiples of what all of them have, lie no closer than a quarter of a step.
#[inline(always)]
fn is_coarse<W: Word>(plan: &Plan, q: &Quantizer, any: W, largest: W) -> bool {
    spacing(plan, largest) + any.trailing_zeros() as i32 >= i32::from(q.step.j)
}

#[inline(always)]
fn any_bits<W: Word, const S: usize>(words: &[W; S]) -> W {
    words.iter().fold(W::ZERO, |any, w| any | *w)
}

/// Whether neighbours of the least of these numbers, but 0, lie no closer than four steps.
#[inline(always)]
fn is_fine<W: Word, const S: usize>(plan: &Plan, q: &Quantizer, words: &[W; S]) -> bool {
    // Zeros, less one, are the largest.
    let less_one = |w: &W| (*w & !W::SIGN).sub(W::ONE);
    let least = words.iter().fold(!W::ZERO, |m, w| m.min(less_one(w))).add(W::ONE);
    // Where there is nothing but zeros of both signs it is 0.
    least != W::ZERO && spacing(plan, least) >= i32::from(q.step.j) + 2
}

/// Subchunks between two that are asked whether bits may take fewer bytes than bins: the first of each warp on a GPU.
const SAMPLE_EVERY: usize = SUBCHUNKS / 4;

/// Whether elements' bits may take fewer bytes than their bins. Under a bound finer than the distance of neighbouring
/// numbers they may; and where all bits have zeros at their low end, as those of whole numbers have, and lie no closer
/// than a quarter of a step, or are all as far from each other. The first subchunk of most data has an odd word, and a
/// number that lies closer to its neighbours than a step: then nobody looks further.
#[inline(always)]
pub fn may_be_smaller<E: Element, const S: usize>(plan: &Plan, src: &[u8]) -> bool {
    let Some(q) = &plan.quantizer else { return false };
    let mut words = [E::Word::ZERO; S];
    load::<E::Word, S>(plan, src, 0, &mut words);
    !is_odd_and_small(plan, q, &words) && samples_may_be_smaller::<E, S>(plan, q, &mut words, src)
}

/// Whether a word is odd, and a number but 0 lies closer to its neighbours than four steps.
#[inline(always)]
fn is_odd_and_small<W: Word, const S: usize>(plan: &Plan, q: &Quantizer, words: &[W; S]) -> bool {
    any_bits(words) & W::ONE != W::ZERO && !is_fine(plan, q, words)
}

/// The same where the first subchunk, of these `words`, does not say no. Of the samples the first one decides whose
/// words are not all equal: equal words take as much either way.
#[cold]
#[inline(never)]
fn samples_may_be_smaller<E: Element, const S: usize>(
    plan: &Plan,
    q: &Quantizer,
    words: &mut [E::Word; S],
    src: &[u8],
) -> bool {
    let mut s = 0;
    while words.iter().all(|w| *w == words[0]) {
        s += SAMPLE_EVERY;
        if s * SUBCHUNK_BYTES >= src.len() {
            return false;
        }
        load::<E::Word, S>(plan, src, s, words);
        if is_odd_and_small(plan, q, words) {
            return false;
        }
    }
    is_fine(plan, q, words) || even_words_may_be_smaller::<E, S>(plan, q, words, src)
}

/// The same where all words are to be even, and those of the sample are these.
fn even_words_may_be_smaller<E: Element, const S: usize>(
    plan: &Plan,
    q: &Quantizer,
    sample: &[E::Word; S],
    src: &[u8],
) -> bool {
    let step = sample[1].sub(sample[0]);
    let is_ramp = (1..S).all(|i| sample[i].sub(sample[i - 1]) == step);
    let (mut any, mut largest) = (any_bits(sample), largest_of(sample));
    if !is_ramp && !is_coarse(plan, q, any, largest) {
        return false;
    }
    let mut words = [E::Word::ZERO; S];
    for s in 0..src.len().div_ceil(SUBCHUNK_BYTES) {
        load::<E::Word, S>(plan, src, s, &mut words);
        any = any | any_bits(&words);
        if any & E::Word::ONE != E::Word::ZERO {
            return false;
        }
        largest = largest.max(largest_of(&words));
    }
    is_ramp || is_coarse(plan, q, any, largest)
}
