//! One chunk to its body.

use super::choose::{self, Choices, Extremes, Lists, Words};
use super::constants::*;
use super::ends::{Ends, number_of};
use super::plan::{Collision, Exponents, Plan};
use crate::codec::sleek::format::{ChunkHeader, Special, Subchunks};
use crate::codec::sleek::simd::portable::BitWriter;
use crate::codec::sleek::simd::scalar::Scalar;
use crate::codec::sleek::simd::{HIGHS, HIGHS_SLACK, MASK_BYTES, Masks, Simd};
use crate::container::Kind;
use crate::container::constants::*;
use crate::error::Result;
use crate::host::memory::filled;
use crate::params::Profile;
use crate::primitives::quantize::{self, Element, Int, Quantizer, largest_of, mantissa_and_bias};
use crate::primitives::range::by_halves;
use crate::primitives::round;
use crate::primitives::stream::{Line, MemoryQueues, PrefetchQueue, StreamingStores};
use crate::primitives::word::Word;
use crate::runtime::cpu::{Data, Span, raw};

/// Buffers that an encoder reuses from chunk to chunk.
#[derive(Default)]
pub struct Buffers {
    /// The chunk's words, after a row of padding: a subchunk's window begins two words before it.
    words: Vec<Line>,
    scratch: Scratch,
    /// Chunks to come that are not tried with small integers, after one that did not fit them.
    too_wide: u8,
    /// Smallest and largest element of the last chunk whose data were watched, if they are known.
    pub span: Option<Span>,
    /// Whether an element of a chunk so far has a bin that comes back as a missing value.
    pub beside: bool,
}

/// Where a chunk's codes are made.
#[derive(Default)]
struct Scratch {
    /// The chunk's codes.
    codes: Vec<Line>,
    /// `Lists`.
    lists: Vec<Line>,
    /// Masks and high parts of the chunk's exceptions, as they are stored.
    exceptions: Vec<u8>,
}

/// Chunks behind one with too wide integers that are taken to be like it.
const LIKE_THE_LAST: u8 = 15;
/// Bits of small integers. A second difference can be four times as large, and its code twice that: 16 bits.
const SMALL_BITS: u32 = 14;

/// The least that a body takes that is not constant: a header, and what tells elements apart.
pub const LEAST_PACKED_BYTES: usize = CHUNK_HEADER_BYTES + ALIGN;
/// The most that the exceptions of a chunk take: masks and full words, and what is written behind them.
const EXCEPTIONS_BYTES: usize = (SUBCHUNKS + 1) * MASK_BYTES + SUBCHUNKS * MAX_EXCEPTIONS * 8 + HIGHS_SLACK;
/// The most that `Lists` take: the widths of bytes, by subchunk and side by side, or masks and high parts of 64 bits.
const LISTS_BYTES: usize = SUBCHUNKS * (2 * SUBCHUNK_BYTES + size_of::<Masks>() + 8 * HIGHS);

impl Buffers {
    /// Allocates them.
    pub fn new() -> Result<Buffers> {
        let lines = |bytes: usize| filled(bytes.div_ceil(64), Line::ZERO);
        Ok(Buffers {
            words: lines(SUBCHUNK_BYTES + CHUNK_BYTES)?,
            scratch: Scratch {
                codes: lines(CHUNK_BYTES)?,
                lists: lines(LISTS_BYTES)?,
                exceptions: filled(EXCEPTIONS_BYTES, 0)?,
            },
            too_wide: 0,
            span: None,
            beside: false,
        })
    }
}

/// What is made of words of one width, or of bytes, in a buffer.
pub trait Plain {}
impl<W: Word, const S: usize, const N: usize> Plain for [[W; S]; N] {}
impl<W: Word, const S: usize> Plain for Lists<W, S> {}

/// A buffer as what it is used for.
pub fn view<T: Plain>(buffer: &mut [Line]) -> &mut T {
    const { assert!(align_of::<T>() <= align_of::<Line>()) };
    assert!(size_of_val(buffer) >= size_of::<T>());
    // SAFETY: large enough by the assertion and aligned; every bit pattern is a word, and so a T.
    unsafe { &mut *buffer.as_mut_ptr().cast() }
}

/// The integers of a chunk. They have the element's width, or are small ones.
struct Integers<'a, W, const S: usize> {
    words: &'a Words<W, S>,
    /// For the adaptive profile.
    extremes: Option<Extremes<W>>,
}

/// How the words of a chunk become integers, the same for all its subchunks.
struct Domain<W> {
    shift: u32,
    special: Special,
    /// Small integers are distances from this one.
    reference: W,
}

impl<W: Word> Domain<W> {
    /// Of words without so many low bits, which are all zero.
    #[inline(always)]
    fn lossless<E: Element<Word = W>>(plan: &Plan, shift: u32) -> Self {
        let exponent = shift == 0 && E::EXPONENT_BITS > 0 && plan.dtype.is_float();
        let special = if exponent { Special::Exponent } else { Special::Delta2 };
        Domain { shift, special, reference: W::ZERO }
    }

    /// An integer of the encoder's as the format has it.
    #[inline(always)]
    fn word<X: Word>(&self, x: X) -> W {
        self.reference.add(W::from_u64(x.extend()))
    }
}

/// What an attempt at a chunk came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The body is the chunk's.
    Fine,
    /// Elements' own bits may take fewer bytes than bins, or the exponent map alone fewer than what was chosen.
    MayBeSmaller,
    /// An element would come back as a missing value, and no number next to that is within the bound: the body must not
    /// be used.
    Collides,
}

/// Encodes the chunk of `data` into `out`, which has `cpu::SLACK` bytes to spare, while another body leaves by
/// `stores`; returns the kind and size of the body, and what to think of it.
#[inline(always)]
pub fn chunk<E: Element, const S: usize, P: Simd<E::Word, S> + Simd<u16, S>>(
    p: P,
    plan: &Plan,
    Buffers { words, scratch, too_wide, span, beside }: &mut Buffers,
    data: Data,
    stores: StreamingStores,
    out: &mut [u8],
) -> (Kind, usize, Verdict) {
    let src = data.bytes();
    let mut may_be_smaller = may_be_smaller::<E, S>(plan, src);
    if data.watched {
        *span = None;
    }
    let mut queues = MemoryQueues { prefetch: PrefetchQueue::new(data.ahead, CHUNK_BYTES / 64), stores };
    let (body, collides) = match to_small_integers::<E, S, P>(p, plan, src, words, too_wide, &mut queues.prefetch) {
        Some((reference, extremes)) => {
            let domain = Domain { shift: 0, special: Special::Delta2, reference };
            if data.watched {
                *span = span_of_bins::<E, u16>(plan, &domain, &extremes);
            }
            let integers = Integers { words: view(words), extremes: Some(extremes) };
            let collides = plan.collisions().iter().any(|c| near_collision(c.integer, &domain, &integers));
            (encode::<E, Int<u16>, S, P>(p, plan, &domain, &integers, scratch, &mut queues, out, &mut false), collides)
        }
        None => {
            let (words, domain) = match integers_in_place::<E, S>(plan, data) {
                Some(words) => (words, Domain::lossless::<E>(plan, 0)),
                None => {
                    let words = view(words);
                    let (domain, ends) =
                        to_integers::<E, S, P>(p, plan, src, words, data.watched, &mut queues.prefetch);
                    if data.watched {
                        *span = ends.as_ref().and_then(|ends| ends.span(plan.dtype));
                    }
                    (&*words, domain)
                }
            };
            let extremes =
                (plan.profile == Profile::Adaptive).then(|| Extremes::of::<S, P>(p, words, &mut queues.prefetch));
            if let Some(extremes) = extremes.as_ref().filter(|_| data.watched && plan.quantizer.is_some()) {
                *span = span_of_bins::<E, E::Word>(plan, &domain, extremes);
            }
            let integers = Integers { words, extremes };
            let collides = plan.collisions().iter().any(|c| collision(c.integer, &domain, &integers));
            let doubt = &mut may_be_smaller;
            (encode::<E, E, S, P>(p, plan, &domain, &integers, scratch, &mut queues, out, doubt), collides)
        }
    };
    let raw_bytes = src.len().next_multiple_of(ALIGN);
    match body {
        Some((kind, bytes)) if kind == Kind::Constant || bytes < raw_bytes => {
            let comes_beside = collides && all_come_beside::<E>(plan, src);
            *beside |= comes_beside;
            let verdict = match (collides && !comes_beside, may_be_smaller) {
                (true, _) => Verdict::Collides,
                // Nothing is shorter than one element.
                (_, true) if kind != Kind::Constant => Verdict::MayBeSmaller,
                _ => Verdict::Fine,
            };
            if comes_beside && kind == Kind::Constant {
                E::Word::from_u64(plan.beside_missing(E::Word::load(out).to_u64())).store(out);
            }
            (kind, bytes, verdict)
        }
        _ => {
            raw(size_of::<E::Word>(), plan.big_endian, src, &mut out[..raw_bytes]);
            // The data as they are collide with nothing.
            (Kind::Raw, raw_bytes, if may_be_smaller { Verdict::MayBeSmaller } else { Verdict::Fine })
        }
    }
}

/// Smallest and largest of elements with bins of these extremes, if all are finite.
#[inline(always)]
fn span_of_bins<E: Element, X: Word>(
    plan: &Plan,
    domain: &Domain<E::Word>,
    Extremes { least, most }: &Extremes<X>,
) -> Option<Span> {
    let q = plan.quantizer.as_ref()?;
    let low = by_halves(*least, |a, b| if a.biased() < b.biased() { a } else { b });
    let high = by_halves(*most, |a, b| if a.biased() > b.biased() { a } else { b });
    let number = |x: X| number_of(plan.dtype, quantize::decode::<E, Scalar>(q, domain.word(x)).to_u64());
    let (least, most) = (number(low), number(high));
    (least.is_finite() && most.is_finite()).then_some(Span { least, most, reach: q.reach() })
}

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
fn may_be_smaller<E: Element, const S: usize>(plan: &Plan, src: &[u8]) -> bool {
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

/// Whether an integer of the chunk is `x`, which stands for a missing value. Few chunks are asked.
#[cold]
#[inline(never)]
fn collision<W: Word, const S: usize>(x: u64, domain: &Domain<W>, integers: &Integers<W, S>) -> bool {
    let x = W::from_u64(x);
    // What is rounded (mode rel) is compared as an element, without the bits that all drop.
    let dropped = (W::ONE << domain.shift).sub(W::ONE);
    if x & dropped != W::ZERO {
        return false;
    }
    let x = x.sar(domain.shift);
    let is_within = |extremes: &Extremes<W>| {
        let within = |s: usize| extremes.least[s].biased() <= x.biased() && x.biased() <= extremes.most[s].biased();
        (0..SUBCHUNKS).any(within)
    };
    integers.extremes.as_ref().is_none_or(is_within) && integers.words[1..].iter().any(|words| contains(words, x))
}

/// Never inlined: of rows of a known length the compiler would make as many pieces of code.
#[inline(never)]
fn contains<W: Word>(words: &[W], x: W) -> bool {
    words.iter().fold(false, |any, w| any | (*w == x))
}

/// The same of small integers, which are exact distances from the domain's reference.
#[cold]
#[inline(never)]
fn near_collision<W: Word, const S: usize>(x: u64, domain: &Domain<W>, integers: &Integers<u16, S>) -> bool {
    let distance = W::from_u64(x).sub(domain.reference);
    let small = distance.saturate16();
    W::from_u64(small.extend()) == distance
        && collision(small.into(), &Domain { shift: 0, special: domain.special, reference: 0u16 }, integers)
}

/// Whether all elements with bins that come back as missing values are within the bound of the next larger numbers,
/// too, which then take their places.
#[cold]
#[inline(never)]
fn all_come_beside<E: Element>(plan: &Plan, src: &[u8]) -> bool {
    let Some(q) = &plan.quantizer else { return false };
    let threshold = E::Word::from_u64(q.threshold);
    src.chunks_exact(size_of::<E::Word>()).all(|bytes| {
        let word: E::Word = first_of(plan, bytes);
        let (bin, number) = (E::bin(q, word).to_u64(), number_of(plan.dtype, word.to_u64()));
        let is_too_far = |c: &Collision| c.integer == bin && number < c.least;
        word & !E::Word::SIGN >= threshold || !plan.collisions().iter().any(is_too_far)
    })
}

/// Encodes the integers of a chunk; `None` if the payload alone is no smaller than the data. `doubt`: whether the
/// exponent map alone may take fewer bytes.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "what a chunk is made of, and where it goes")]
fn encode<E: Element, X: Element, const S: usize, P: Simd<X::Word, S>>(
    p: P,
    plan: &Plan,
    domain: &Domain<E::Word>,
    integers: &Integers<X::Word, S>,
    scratch: &mut Scratch,
    queues: &mut MemoryQueues,
    out: &mut [u8],
    doubt: &mut bool,
) -> Option<(Kind, usize)> {
    let constant = match &integers.extremes {
        Some(extremes) => extremes.is_constant(),
        None => is_constant(integers.words),
    };
    if constant {
        out[..ALIGN].fill(0);
        to_element::<E>(plan, domain, domain.word(integers.words[1][0])).store(out);
        return Some((Kind::Constant, ALIGN));
    }
    let bytes = pack_chunk::<E, X, S, P>(p, plan, domain, integers, scratch, queues, out, doubt)?;
    Some((Kind::Packed, bytes))
}

/// The data of subchunk `s`, if they do not end within it.
#[inline(always)]
fn whole(src: &[u8], s: usize) -> Option<&[u8; SUBCHUNK_BYTES]> {
    src.get(s * SUBCHUNK_BYTES..)?.first_chunk()
}

/// Reads the words of subchunk `s`; behind the end of the data its last word again.
#[inline(always)]
fn load<W: Word, const S: usize>(plan: &Plan, src: &[u8], s: usize, words: &mut [W; S]) {
    let size = size_of::<W>();
    match whole(src, s) {
        Some(data) => (0..S).for_each(|i| words[i] = W::load(&data[i * size..(i + 1) * size])),
        None => {
            let last = src.len() / size - 1;
            (0..S).for_each(|i| words[i] = W::load(&src[(s * S + i).min(last) * size..]));
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
fn integers_in_place<'a, E: Element, const S: usize>(plan: &Plan, data: Data<'a>) -> Option<&'a Words<E::Word, S>> {
    let as_they_are = plan.quantizer.is_none() && plan.keep_bits.is_none() && !plan.big_endian;
    if !as_they_are || cfg!(target_endian = "big") {
        return None;
    }
    // SAFETY: any bytes are words.
    let ([], words, []) = (unsafe { data.behind(SUBCHUNK_BYTES)?.align_to::<[E::Word; S]>() }) else { return None };
    let words: &Words<E::Word, S> = words.try_into().ok()?;
    // One odd word says that there is no shift; where the first subchunk has none, `to_integers` looks at all.
    let unshifted = !plan.drops_zeros() || words[1].iter().any(|w| *w & E::Word::ONE == E::Word::ONE);
    unshifted.then_some(words)
}

/// The chunk's integers x of docs/reference/codecs/sleek.md §3.
#[inline(always)]
fn to_integers<E: Element, const S: usize, P: Simd<E::Word, S>>(
    p: P,
    plan: &Plan,
    src: &[u8],
    words: &mut Words<E::Word, S>,
    watched: bool,
    prefetch: &mut PrefetchQueue,
) -> (Domain<E::Word>, Option<Ends<E::Word>>) {
    let mut ends = Ends::of(first_of(plan, src));
    // The adaptive profile knows extremes of bins.
    let by_ends = watched && (plan.quantizer.is_none() || plan.profile == Profile::Fast);
    for (s, subchunk) in words[1..].iter_mut().enumerate() {
        prefetch.fetch(1);
        load::<E::Word, S>(plan, src, s, subchunk);
        match (&plan.quantizer, by_ends) {
            (Some(q), true) => quantize::encode::<E, S>(q, p.ends(subchunk, &mut ends), subchunk),
            (Some(q), false) => quantize::encode::<E, S>(q, largest_of(subchunk), subchunk),
            (None, true) => _ = p.ends(subchunk, &mut ends),
            (None, false) => {}
        }
    }
    let ends = by_ends.then_some(ends);
    if plan.quantizer.is_some() {
        return (Domain { shift: 0, special: Special::Delta2, reference: E::Word::ZERO }, ends);
    }
    let words = &mut words[1..];
    if let Some(keep) = plan.keep_bits {
        round::encode(words.as_flattened_mut(), mantissa_and_bias(plan.dtype).0, keep);
    }
    let shift = if plan.drops_zeros() { common_zeros(words) } else { 0 };
    if shift > 0 {
        words.as_flattened_mut().iter_mut().for_each(|w| *w = w.sar(shift));
    }
    (Domain::lossless::<E>(plan, shift), ends)
}

/// The same as distances from the first one, with their extremes, where that pays and all are quantized and close
/// enough to it.
#[inline(always)]
fn to_small_integers<E: Element, const S: usize, P: Simd<u16, S>>(
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
fn first_of<W: Word>(plan: &Plan, src: &[u8]) -> W {
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
fn is_constant<W: Word, const S: usize>(words: &Words<W, S>) -> bool {
    let first = words[1][0];
    words[1..].iter().all(|s| s.iter().fold(W::ZERO, |d, w| d | (*w ^ first)) == W::ZERO)
}

/// The element's bits for its integer.
#[inline(always)]
fn to_element<E: Element>(plan: &Plan, domain: &Domain<E::Word>, x: E::Word) -> E::Word {
    match &plan.quantizer {
        Some(q) => quantize::decode::<E, Scalar>(q, x),
        None => x << domain.shift,
    }
}

/// Packs the chunk; see `encode`.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "those of `encode`")]
fn pack_chunk<E: Element, X: Element, const S: usize, P: Simd<X::Word, S>>(
    p: P,
    plan: &Plan,
    domain: &Domain<E::Word>,
    Integers { words, extremes }: &Integers<X::Word, S>,
    Scratch { codes, lists, exceptions }: &mut Scratch,
    queues: &mut MemoryQueues,
    out: &mut [u8],
    doubt: &mut bool,
) -> Option<usize> {
    let (codes, lists) = (view::<[[X::Word; S]; SUBCHUNKS]>(codes), view(lists));
    let adaptive = extremes.is_some();
    let mut choices = match extremes {
        Some(extremes) => {
            let prefetch = &mut queues.prefetch;
            let choices =
                choose::adaptive::<X, S, P>(p, domain.special, plan.exponents, words, extremes, codes, lists, prefetch);
            if X::EXPONENT_BITS > 0 && domain.shift > 0 && plan.exponents == Exponents::Doubted {
                *doubt = choices.may_exceed_exponents::<X, S>(extremes, domain.shift);
            }
            choices
        }
        None => Choices::NONE,
    };
    let mut at = CHUNK_HEADER_BYTES;
    let (lines, stores) = (queues.prefetch.left() / SUBCHUNKS, queues.stores.left().div_ceil(SUBCHUNKS));
    for s in 0..SUBCHUNKS {
        queues.prefetch.fetch(lines);
        queues.stores.put(stores);
        // Without a choice to be made for the whole chunk, each subchunk's codes may take the place of the last one's.
        let codes = &mut codes[if adaptive { s } else { 0 }];
        if !adaptive {
            choose::fast::<X, S, P>(p, plan, domain.special, words, s, codes, &mut choices);
        }
        let width = u32::from(choices.widths[s]);
        let packed_bytes = S * width as usize / 8;
        if at + packed_bytes > CHUNK_BYTES {
            return None;
        }
        if width > 0 {
            p.pack(codes, width, &mut out[at..]);
        }
        at += packed_bytes;
    }
    let payload = at - CHUNK_HEADER_BYTES;
    let padded = payload.next_multiple_of(ALIGN);
    out[at..at + padded - payload].fill(0);
    let tail = Tail::new(&choices, choices.bases.map(|base| domain.word(base)));
    let exceptions = Exceptions::<S>::pack::<X::Word, P>(p, &choices, tail.patched, lists, exceptions);
    Some(tail.write(plan, domain, padded, &exceptions, out))
}

/// The exceptions of a chunk as they are stored, but for the widths of high parts: those of the patched subchunks one
/// behind the other.
struct Exceptions<'a, const S: usize> {
    /// Which mask bytes are not 0.
    flags: [[u8; 4]; SUBCHUNKS],
    /// These mask bytes.
    masks: &'a [u8],
    /// High parts.
    highs: &'a [u8],
}

impl<'a, const S: usize> Exceptions<'a, S> {
    /// Those of the subchunks `patched`, in `place`.
    #[inline(always)]
    fn pack<W: Word, P: Simd<W, S>>(
        p: P,
        choices: &Choices<W>,
        patched: u32,
        lists: &Lists<W, S>,
        place: &'a mut [u8],
    ) -> Self {
        let (masks, highs) = place.split_at_mut((SUBCHUNKS + 1) * MASK_BYTES);
        let (mut flags, mut masks_end, mut highs_end) = ([[0; 4]; SUBCHUNKS], 0, 0);
        for (s, own) in Subchunks(patched).zip(&mut flags) {
            let flags = p.flags(&lists.masks[s]);
            *own = flags.to_le_bytes();
            let place = masks[masks_end..].first_chunk_mut().expect("room for all that there may be");
            p.compress::<S>(&lists.masks[s], flags, place);
            masks_end += choices.mask_bytes[s] as usize;
            let (count, high_width) = (choices.exceptions[s] as usize, choices.fulls[s] - choices.widths[s]);
            highs_end += p.pack_highs(&lists.highs[s], count, high_width.into(), &mut highs[highs_end..]);
        }
        Exceptions { flags, masks: &masks[..masks_end], highs: &highs[..highs_end] }
    }
}

/// What the tail of a chunk is made of.
struct Tail<W> {
    active: u32,
    patched: u32,
    /// Of each subchunk, whether it is active or not.
    descriptors: [u8; SUBCHUNKS],
    /// Bases, and bit s set where subchunk s has one.
    bases: [W; SUBCHUNKS],
    based: u32,
    /// Bits of the high parts of each subchunk's exceptions.
    high_widths: [u8; SUBCHUNKS],
}

/// Of the numbers of all subchunks those of the subchunks `of`.
#[inline(always)]
fn chosen<'a>(of: u32, list: &'a [u8; SUBCHUNKS], place: &'a mut [u8; SUBCHUNKS]) -> &'a [u8; SUBCHUNKS] {
    if of == u32::MAX {
        return list;
    }
    Subchunks(of).zip(&mut *place).for_each(|(s, place)| *place = list[s]);
    place
}

impl<W: Word> Tail<W> {
    /// For these choices and bases.
    #[inline(always)]
    fn new<X>(choices: &Choices<X>, bases: [W; SUBCHUNKS]) -> Self {
        let of_each = |number: [u16; SUBCHUNKS]| number.map(|n| n as u8);
        let (mut descriptors, mut high_widths) = ([0; SUBCHUNKS], [0; SUBCHUNKS]);
        for s in 0..SUBCHUNKS {
            let width = choices.widths[s].wrapping_sub((choices.exceptions[s] == 0) as u16) & 63;
            descriptors[s] = choices.modes[s] << 6 | width;
            high_widths[s] = choices.fulls[s] - choices.widths[s];
        }
        Tail {
            active: Subchunks::which(|s| choices.fulls[s] > 0).0,
            patched: Subchunks::which(|s| choices.exceptions[s] > 0).0,
            descriptors: of_each(descriptors),
            bases,
            based: choices.based,
            high_widths: of_each(high_widths),
        }
    }

    /// Writes header and tail around the payload; returns the bytes of the body. Beyond `CHUNK_BYTES` nothing is
    /// written.
    #[inline(always)]
    fn write<const S: usize>(
        mut self,
        plan: &Plan,
        domain: &Domain<W>,
        payload: usize,
        exceptions: &Exceptions<S>,
        out: &mut [u8],
    ) -> usize {
        let (reference, width) = self.rebase();
        let header = ChunkHeader {
            active: self.active,
            patched: self.patched,
            payload_units: (payload / ALIGN) as u16,
            base_width: width as u8,
            exact: plan.exact_apart,
            shift: domain.shift as u8,
            special: domain.special,
            base_ref_low: reference.to_u64() as u32,
        };
        let (active, patched) = (self.active.count_ones() as usize, self.patched.count_ones() as usize);
        let high_bytes = if W::BITS == 64 { 4 } else { 0 };
        let flag_bytes = S / MASK_BYTE_VALUES / 8;
        let of_exceptions = patched * (1 + flag_bytes) + exceptions.masks.len() + exceptions.highs.len();
        let used = high_bytes + 4 * width as usize + active + of_exceptions;
        let start = CHUNK_HEADER_BYTES + payload;
        let end = (start + used).next_multiple_of(ALIGN);
        if end > CHUNK_BYTES {
            return end;
        }
        out[..CHUNK_HEADER_BYTES].copy_from_slice(&header.to_bytes());
        let mut rest = &mut out[start..end];
        let mut put = |bytes: &[u8]| {
            let (place, behind) = std::mem::take(&mut rest).split_at_mut(bytes.len());
            place.copy_from_slice(bytes);
            rest = behind;
        };
        put(&((reference.to_u64() >> 32) as u32).to_le_bytes()[..high_bytes]);
        put(self.pack_bases(width, &mut [0; 4 * 64]));
        for (of, list) in [(self.active, &self.descriptors), (self.patched, &self.high_widths)] {
            put(&chosen(of, list, &mut [0; SUBCHUNKS])[..of.count_ones() as usize]);
        }
        exceptions.flags[..patched].iter().for_each(|flags| put(&flags[..flag_bytes]));
        put(exceptions.masks);
        put(exceptions.highs);
        rest.fill(0);
        end
    }

    /// The offsets of the bases, packed.
    #[inline(always)]
    fn pack_bases<'b>(&self, width: u32, place: &'b mut [u8; 4 * 64]) -> &'b [u8] {
        if width > 0 {
            let mut packed = BitWriter::new(place);
            self.bases.iter().for_each(|b| packed.push(b.to_u64(), width));
            packed.finish();
        }
        &place[..4 * width as usize]
    }

    /// Turns the bases that count into offsets from the least of them, the others into 0; returns it and the width of
    /// the offsets.
    #[inline(always)]
    fn rebase(&mut self) -> (W, u32) {
        let mut least = !W::ZERO;
        for s in 0..SUBCHUNKS {
            let counts = self.based >> s & 1 == 1;
            least = least.min(if counts { self.bases[s].biased() } else { !W::ZERO });
        }
        let reference = if self.based == 0 { W::ZERO } else { least.biased() };
        let mut any = W::ZERO;
        for s in 0..SUBCHUNKS {
            let counts = self.based >> s & 1 == 1;
            self.bases[s] = if counts { self.bases[s].sub(reference) } else { W::ZERO };
            any = any | self.bases[s];
        }
        (reference, any.width())
    }
}
