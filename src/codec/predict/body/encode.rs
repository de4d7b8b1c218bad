//! One tile to its body.

use std::marker::PhantomData;

use super::choice::{Ready, Way};
use super::closed_loop;
use super::lossless::bounded;
use super::lossless::encode as lossless;
use super::patches::{MOST_CORRECTIONS, MOST_EXCEPTIONS};
use super::prefix::{Meaning, Prefix};
use crate::codec::interp::plan::Plan;
use crate::codec::interp::quantize::lattice::{Bins, Multiple};
use crate::codec::interp::quantize::load::{Load, Quantize};
use crate::codec::interp::quantize::multiples::{self as survey, Bits, Survey, element_bits};
use crate::codec::interp::quantize::ordered_bits::{from_bits, ordered};
use crate::codec::predict::code::counts::TokenCounts;
use crate::codec::predict::code::encode::{Group, Tables, code};
use crate::codec::predict::code::simd::tile::{
    Buffers as CodeBuffers, EncodeCodes, EncodePlaced, EncodeWide, place_codes,
};
use crate::codec::predict::code::sparse;
use crate::codec::predict::code::states::State;
use crate::codec::predict::code::token_costs::BIT;
use crate::codec::predict::format::*;
use crate::codec::predict::predict::axes::{self, Choice};
use crate::codec::predict::predict::short::Differ;
use crate::codec::predict::short::{Shorten, ShortenBins};
use crate::container::Kind;
use crate::error::Result;
use crate::host::memory::{Aligned, Integer, boxed, filled, reserve};
use crate::primitives::lorenzo::AXES;
use crate::primitives::quantize::{Element, mantissa_and_bias};
use crate::primitives::rans::Words;
use crate::primitives::round;
use crate::runtime::cpu::raw;
use crate::simd::word::Word;
use crate::simd::{Level, Scalar};

/// Buffers that an encoder reuses from tile to tile.
pub struct Buffers<W: Integer> {
    /// The elements' bits.
    elements: Aligned<W>,
    words: Aligned<W>,
    group: Box<[Group; 1]>,
    counts: TokenCounts,
    /// The codes that 32 bits hold, and words of any.
    short: CodeBuffers,
    /// Those of multiples; ways that need none of these lend their room.
    closed: closed_loop::Buffers,
    /// Whether an element of the tile comes back as the number next to a missing value.
    pub came_beside: bool,
    /// What stands between base and states.
    side: Vec<u8>,
    /// What stands before the words of a sparse tile, and these.
    sparse: (Vec<u8>, Vec<u16>),
    /// Those of the forms, with a bound too: a tile that may take one must not want for memory, or bytes would change
    /// with what there is.
    lossless: lossless::Buffers<W>,
}

/// Bytes of patches, at most.
const MOST_PATCHES: usize = MOST_CORRECTIONS * 3 + MOST_EXCEPTIONS * 10 + 1024;

impl<W: Word> Buffers<W> {
    /// Allocates them for the tiles of a plan.
    pub fn new(plan: &Plan) -> Result<Buffers<W>> {
        let grid = &plan.grid;
        let mut side = Vec::new();
        reserve(&mut side, lossless::most_side::<W>(grid.capacity()).max(MOST_PATCHES))?;
        let mut head = Vec::new();
        reserve(&mut head, 8)?;
        Ok(Buffers {
            elements: Aligned::zeros(grid.capacity())?,
            words: Aligned::zeros(grid.groups() * GROUP)?,
            group: boxed(Group::EMPTY)?,
            counts: TokenCounts::new()?,
            short: CodeBuffers::new(grid, W::BITS as usize)?,
            closed: closed_loop::Buffers::new(plan)?,
            came_beside: false,
            side,
            sparse: (head, filled(sparse::MOST_WORDS, 0)?),
            lossless: lossless::Buffers::new(grid)?,
        })
    }
}

/// Encodes the tile of `data` with these lengths into `out`; returns the kind of its body and its bytes.
pub fn tile<E: Multiple>(
    p: impl Level,
    plan: &Plan,
    lens: [usize; AXES],
    buffers: &mut Buffers<E::Word>,
    (data, missing): (&[u8], &[u64]),
    out: &mut [u8],
) -> (Kind, usize) {
    let size = size_of::<E::Word>();
    let raw_bytes = data.len().next_multiple_of(plan.layout.unit());
    let mut seen = Bits { any: E::Word::ZERO, largest: E::Word::ZERO };
    buffers.came_beside = false;
    let within_bound = match &plan.bins {
        _ if plan.is_lossless() => lossless_tile::<E>(p, plan, lens, u64::MAX, buffers, data, out),
        Some(bins) => {
            let of_bins = quantized::<E>(p, plan, bins, lens, buffers, (data, missing), out);
            seen = of_bins.1;
            of_bins.0
        }
        None => by_bits::<E>(p, plan, plan.keep_bits, lens, buffers, data, out),
    };
    let mut body = within_bound.filter(|(_, bytes)| *bytes < raw_bytes);
    let may_be_smaller = |bytes| bounded::may_be_smaller::<E>(plan, &seen, lens[0], data, bytes);
    if !plan.is_lossless() && body.is_none_or(|(_, bytes)| may_be_smaller(bytes)) {
        // What would not be shorter is not written.
        let limit = body.map_or(raw_bytes, |(_, bytes)| bytes);
        let exact = lossless_tile::<E>(p, plan, lens, most_cost(limit), buffers, data, &mut out[..limit - 1]);
        body = exact.filter(|(_, bytes)| *bytes < limit).or(body);
    }
    body.unwrap_or_else(|| {
        raw(size, plan.big_endian, data, &mut out[..raw_bytes]);
        (Kind::Raw, raw_bytes)
    })
}

/// Encodes within the bound by bins or multiples; `None` where an element would come back as a missing value.
fn quantized<E: Multiple>(
    p: impl Level,
    plan: &Plan,
    bins: &Bins,
    lens: [usize; AXES],
    buffers: &mut Buffers<E::Word>,
    (data, missing): (&[u8], &[u64]),
    out: &mut [u8],
) -> (Option<(Kind, usize)>, Bits<E::Word>) {
    buffers.side.clear();
    let Some(lattice) = plan.lattice() else {
        return in_bins::<E>(p, plan, bins, lens, buffers, data, out);
    };
    let n = data.len() / size_of::<E::Word>();
    let (big_endian, closed, element) = (plan.big_endian, &mut buffers.closed, PhantomData::<E>);
    let (next, multiples) = (plan.next_to_missing(), &mut closed.multiples);
    let map = survey::Map { lattice, big_endian, data, missing, next, multiples, element };
    let (survey, seen) = p.run(map);
    survey::mark(n, survey, missing, &mut closed.multiples);
    closed.patches.clear();
    if !closed_loop::except::<E::Word>(big_endian, data, survey, closed) {
        return (None, seen);
    }
    if closed_loop::is_for(plan)
        && let (Way::Interpolated(rule), ready) =
            closed_loop::choose(p, lens, survey, closed, &mut buffers.short.places)
        && let Some(body) = interpolated::<E>(p, plan, (lens, n), survey, (rule, ready), buffers, out)
    {
        return (Some(body), seen);
    }
    buffers.closed.patches.corrections.clear();
    if buffers.closed.patches.is_empty() {
        return bins_of_tile::<E>(p, plan, bins, lens, buffers, (survey, seen), data, out);
    }
    let mut filled = std::mem::take(&mut buffers.elements);
    closed_loop::fill(data, &buffers.closed, &mut filled[..n]);
    let body = bins_of_tile::<E>(p, plan, bins, lens, buffers, (survey, seen), filled.bytes(n), out);
    buffers.elements = filled;
    body
}

/// Encodes by bins, with the corrections that multiples of the fine lattice need.
#[allow(clippy::too_many_arguments)] // What a tile has at hand.
fn bins_of_tile<E: Multiple>(
    p: impl Level,
    plan: &Plan,
    bins: &Bins,
    lens: [usize; AXES],
    buffers: &mut Buffers<E::Word>,
    (survey, seen): (Survey, Bits<E::Word>),
    data: &[u8],
    out: &mut [u8],
) -> (Option<(Kind, usize)>, Bits<E::Word>) {
    if !closed_loop::correct_bins::<E>(p, bins, plan.big_endian, data, survey, &mut buffers.closed) {
        return (None, seen);
    }
    buffers.closed.patches.write_if_any(size_of::<E::Word>(), &mut buffers.side);
    in_bins::<E>(p, plan, bins, lens, buffers, data, out)
}

/// Encodes multiples by interpolation; `None` where that cannot be, or an element would come back as a missing value.
fn interpolated<E: Multiple>(
    p: impl Level,
    plan: &Plan,
    (lens, n): ([usize; AXES], usize),
    survey: Survey,
    (rule, ready): (Rule, Ready),
    buffers: &mut Buffers<E::Word>,
    out: &mut [u8],
) -> Option<(Kind, usize)> {
    let Buffers { closed, short, side, .. } = &mut *buffers;
    if !closed_loop::encode(p, lens, survey, (rule, ready), closed, &mut short.places)
        || closed_loop::collides::<E>(p, plan, lens, survey, closed)
    {
        return None;
    }
    side.clear();
    closed.patches.write_if_any(size_of::<E::Word>(), side);
    let mut prefix = Prefix::new(survey.base as u32, Meaning::Multiples(rule), rule.set, true);
    if short.places[..n].iter().all(|c| *c == 0) {
        return Some((Kind::Packed, prefix.write([side, &[]], &State::new(), &[], out)));
    }
    let side = std::mem::take(&mut buffers.side);
    let body = codes_of_tile::<E>(p, &mut prefix, n, &side, buffers, out);
    buffers.side = side;
    Some(body)
}

/// Writes a tile of the codes of interpolation.
fn codes_of_tile<E: Multiple>(
    p: impl Level,
    prefix: &mut Prefix,
    n: usize,
    patches: &[u8],
    buffers: &mut Buffers<E::Word>,
    out: &mut [u8],
) -> (Kind, usize) {
    let Buffers { short, counts, words: codes, group, sparse, .. } = buffers;
    short.clear_behind(n);
    if let Some((state, at, has_table)) = p.by_vectors(EncodeCodes { n, counts, buffers: &mut *short }) {
        let table = if has_table { &counts.bytes[..] } else { &[] };
        let (all, words) = (&short.places[..n], &short.stream[at..]);
        return (Kind::Packed, prefix.write_least(patches, table, (all, sparse), &state, words, out));
    }
    let all = &short.places[..n];
    let mut words = Words::new(&mut short.stream);
    let of_words = all.iter().map(|c| E::Word::from_u64((*c).into()));
    let (state, has_table) = code(of_words, Tables::Counted(counts), codes, &mut group[0], &mut words);
    let table = if has_table { &counts.bytes[..] } else { &[] };
    (Kind::Packed, prefix.write_least(patches, table, (all, sparse), &state, words.all(), out))
}

/// Encodes by bins.
fn in_bins<E: Multiple>(
    p: impl Level,
    plan: &Plan,
    bins: &Bins,
    lens: [usize; AXES],
    buffers: &mut Buffers<E::Word>,
    data: &[u8],
    out: &mut [u8],
) -> (Option<(Kind, usize)>, Bits<E::Word>) {
    let n = data.len() / size_of::<E::Word>();
    let short = &mut buffers.closed.multiples.numbers[..];
    if let Some(short_bins) = p.by_vectors(ShortenBins::<E> { plan, bins, data, short, element: PhantomData }) {
        if short_bins.collides {
            return (None, short_bins.seen);
        }
        if short_bins.are_short
            && let Some(body) = short_numbers::<E>(p, plan, Meaning::Bins, (lens, n), short_bins.base, buffers, out)
        {
            return (Some(body), short_bins.seen);
        }
    }
    let words = &mut buffers.words[..n];
    let (any, largest) = p.run(Load { big_endian: plan.big_endian, data, elements: &mut *words });
    p.run(Quantize::<E> { bins, words: &mut *words });
    let body =
        if collides(plan, words) { None } else { Some(pack::<E>(p, plan, Meaning::Bins, lens, n, buffers, out)) };
    (body, Bits { any, largest })
}

/// Encodes by elements' bits, rounded to so many mantissa bits; `None` where they cannot be, or an element would come
/// back as a missing value.
fn by_bits<E: Multiple>(
    p: impl Level,
    plan: &Plan,
    keep_bits: Option<u32>,
    lens: [usize; AXES],
    buffers: &mut Buffers<E::Word>,
    data: &[u8],
    out: &mut [u8],
) -> Option<(Kind, usize)> {
    let n = data.len() / size_of::<E::Word>();
    let words = &mut buffers.words[..n];
    p.run(Load { big_endian: plan.big_endian, data, elements: &mut *words });
    if let Some(keep) = keep_bits {
        if !round::encode(words, mantissa_and_bias(plan.layout.dtype).0, keep) {
            return None;
        }
        if collides(plan, words) {
            if !all_come_beside::<E>(plan, words, data) {
                return None;
            }
            buffers.came_beside = true;
        }
    }
    let any = words.iter().fold(E::Word::ZERO, |any, w| any | *w);
    let shift = if any == E::Word::ZERO { 0 } else { any.trailing_zeros() };
    words.iter_mut().for_each(|w| *w = ordered::<E>(*w).sar(shift));
    Some(pack::<E>(p, plan, Meaning::Bits(shift), lens, n, buffers, out))
}

/// Parts of a bit that a form may be estimated to cost that is to take less than so many bytes: a little more.
fn most_cost(bytes: usize) -> u64 {
    8 * BIT * (bytes + bytes / 64) as u64
}

/// Encodes every bit in the form that takes least; `None` if it costs more than `most_cost` parts of a bit, or the
/// elements themselves take less. Never inlined: tables of its own would lie on the stack of tiles with a bound too.
#[inline(never)]
fn lossless_tile<E: Multiple>(
    p: impl Level,
    plan: &Plan,
    lens: [usize; AXES],
    most_cost: u64,
    buffers: &mut Buffers<E::Word>,
    data: &[u8],
    out: &mut [u8],
) -> Option<(Kind, usize)> {
    let n = data.len() / size_of::<E::Word>();
    let elements = &mut buffers.elements[..n];
    p.run(Load { big_endian: plan.big_endian, data, elements: &mut *elements });
    if elements.iter().all(|w| *w == elements[0]) {
        let mut body = [0; FLAT];
        let (kind, bytes) = by_bits::<E>(p, plan, None, lens, buffers, data, &mut body)?;
        out.get_mut(..bytes)?.copy_from_slice(&body[..bytes]);
        return Some((kind, bytes));
    }
    let Buffers { elements, words, group, short, closed, side, lossless: buffers, .. } = buffers;
    let [trial, codes, best] = closed.lend(&plan.grid);
    let words = &mut words[..];
    let mut forms = lossless::Forms { words, trial, codes, best, buffers };
    let choice = lossless::choose::<E>(p, plan, lens, &elements[..n], &mut forms);
    if choice.cost > most_cost.min(BIT * n as u64 * u64::from(E::Word::BITS)) {
        return None;
    }
    choice.write_side(n, &mut forms, side);
    let lossless::Forms { best, trial, buffers, .. } = forms;
    let (own, codes) = (buffers.own(&choice), &best[..n]);
    let mut prefix = Prefix::of_form(choice.base, choice.form, choice.set, plan.bins.is_some());
    prefix.head.has_table = choice.own_table;
    if place_codes(p, codes, short)
        && let Some((state, at)) = p.by_vectors(EncodePlaced { n, own, buffers: &mut *short })
    {
        return Some((Kind::Packed, prefix.write([&[], side], &state, &short.stream[at..], out)));
    }
    let end = groups(n) * GROUP;
    best[n..end].fill(E::Word::ZERO);
    let codes = E::Word::wide(&best[..end]);
    if let Some((state, at)) = p.by_vectors(EncodeWide { n, codes, own, buffers: &mut *short }) {
        return Some((Kind::Packed, prefix.write([&[], side], &state, &short.stream[at..], out)));
    }
    let mut stream = Words::new(&mut short.stream);
    let (state, _) = code(best[..n].iter().copied(), Tables::Given(own), trial, &mut group[0], &mut stream);
    Some((Kind::Packed, prefix.write([&[], side], &state, stream.all(), out)))
}

/// More bytes than a tile takes whose elements are all the same.
const FLAT: usize = 64;

fn collides<W: Word>(plan: &Plan, words: &[W]) -> bool {
    plan.collisions().iter().any(|x| words.iter().fold(false, |any, w| any | (w.to_u64() == *x)))
}

/// Whether all elements that are rounded to missing values are within the bound of the next larger numbers, too, which
/// then take their places.
#[cold]
#[inline(never)]
fn all_come_beside<E: Element>(plan: &Plan, rounded: &[E::Word], data: &[u8]) -> bool {
    let number = |i: usize| plan.layout.dtype.number(element_bits::<E::Word>(plan.big_endian, data, i).to_u64());
    plan.collisions().iter().all(|missing| {
        let least = plan.least_beside(*missing);
        rounded.iter().enumerate().all(|(i, word)| word.to_u64() != *missing || number(i) >= least)
    })
}

/// The patches of a tile, as they stand in its body.
fn patches(meaning: Meaning, side: &[u8]) -> &[u8] {
    if let Meaning::Bits(_) = meaning { &[] } else { side }
}

/// The element that a word stands for.
type ElementOf<W> = fn(&Plan, Meaning, W) -> W;

/// Writes a tile of short words.
fn short<W: Word>(
    plan: &Plan,
    meaning: Meaning,
    base: W,
    (choice, coded): (&Choice, Option<(State, usize, bool)>),
    (n, buffers): (usize, &mut Buffers<W>),
    element: ElementOf<W>,
    out: &mut [u8],
) -> (Kind, usize) {
    let base = base.add(W::from_u64(choice.middle));
    let mut prefix = Prefix::new(base, meaning, choice.set, plan.bins.is_some());
    let side = patches(meaning, &buffers.side);
    match &coded {
        Some((state, at, has_table)) => {
            let table = if *has_table { &buffers.counts.bytes[..] } else { &[] };
            let codes = (&buffers.short.places[..n], &mut buffers.sparse);
            let words = &buffers.short.stream[*at..];
            (Kind::Packed, prefix.write_least(side, table, codes, state, words, out))
        }
        None => flat(plan, meaning, base, &mut prefix, element, side, out),
    }
}

/// Packs the first `n` words; bins are not short ones, where a level knows these.
fn pack<E: Multiple>(
    p: impl Level,
    plan: &Plan,
    meaning: Meaning,
    lens: [usize; AXES],
    n: usize,
    buffers: &mut Buffers<E::Word>,
    out: &mut [u8],
) -> (Kind, usize) {
    let words = &mut buffers.words[..n];
    let base = words[0];
    words.iter_mut().for_each(|w| *w = w.sub(base));
    if (matches!(meaning, Meaning::Bits(_)) || !p.has_vectors())
        && p.run(Shorten { words, short: &mut buffers.closed.multiples.numbers })
        && let Some(body) = short_numbers::<E>(p, plan, meaning, (lens, n), base, buffers, out)
    {
        return body;
    }
    pack_words(plan, meaning, (lens, n), base, buffers, element::<E>, out)
}

/// Encodes `n` short numbers, from which the base was taken, by differences along axes or by interpolation.
fn short_numbers<E: Multiple>(
    p: impl Level,
    plan: &Plan,
    meaning: Meaning,
    (lens, n): ([usize; AXES], usize),
    base: E::Word,
    buffers: &mut Buffers<E::Word>,
    out: &mut [u8],
) -> Option<(Kind, usize)> {
    let Buffers { closed, short: coder, .. } = &mut *buffers;
    if closed_loop::is_for(plan)
        && let Way::Interpolated(rule) = closed_loop::choose_exact(p, lens, closed, &mut coder.places)
        && closed_loop::encode_exact(p, lens, rule, closed, &mut coder.places)
        && fit_words::<E::Word>(&coder.places[..n])
        && coder.places[..n].iter().any(|c| *c != 0)
    {
        let side = std::mem::take(&mut buffers.side);
        let mut prefix = Prefix::new(base, meaning, rule.set, plan.bins.is_some());
        prefix.head.predictor = if rule.rough { Predictor::Rough } else { Predictor::Smooth };
        let body = codes_of_tile::<E>(p, &mut prefix, n, patches(meaning, &side), buffers, out);
        buffers.side = side;
        return Some(body);
    }
    let Buffers { closed, short: coder, counts, .. } = &mut *buffers;
    let (numbers, places) = (&mut closed.multiples.numbers, &mut coder.places);
    let (choice, differ) = p.by_vectors(Differ { grid: &plan.grid, lens, short: numbers, places })?;
    let coded = if differ { Some(p.by_vectors(EncodeCodes { n, counts, buffers: coder })?) } else { None };
    Some(short(plan, meaning, base, (&choice, coded), (n, buffers), element::<E>, out))
}

/// Whether words hold all codes. Those of interpolation have up to 25 bits, whatever the type: predictions run ahead of
/// the numbers where weights are large, and differences of codes double them.
fn fit_words<W: Word>(codes: &[u32]) -> bool {
    W::BITS >= u32::BITS || codes.iter().fold(0, |all, code| all | code) >> W::BITS == 0
}

/// The same without a level's instructions, of words from which `base` was taken. Never inlined: it is one for all
/// types and levels that have such words.
#[inline(never)]
fn pack_words<W: Word>(
    plan: &Plan,
    meaning: Meaning,
    (lens, n): ([usize; AXES], usize),
    mut base: W,
    buffers: &mut Buffers<W>,
    element: ElementOf<W>,
    out: &mut [u8],
) -> (Kind, usize) {
    let Buffers { words, group, counts, short, closed, side, sparse, .. } = buffers;
    let [trial, differences, all_codes] = closed.lend(&plan.grid);
    let (words, trial, differences) = (&mut words[..n], &mut trial[..n], &mut differences[..n]);
    let choice = axes::choose_by_some(&plan.grid, lens, words, trial, differences);
    base = base.add(W::from_u64(choice.middle));
    let mut prefix = Prefix::new(base, meaning, choice.set, plan.bins.is_some());
    if differences.iter().all(|d| *d == W::ZERO) {
        return flat(plan, meaning, base, &mut prefix, element, patches(meaning, side), out);
    }
    let mut words = Words::new(&mut short.stream);
    let codes = differences.iter().map(|d| d.zigzag());
    let (state, has_table) = code(codes, Tables::Counted(counts), all_codes, &mut group[0], &mut words);
    let table = if has_table { &counts.bytes[..] } else { &[] };
    let side = patches(meaning, side);
    let most = all_codes[..n].iter().fold(W::ZERO, |m, c| m.max(*c)).to_u64();
    if most > u32::MAX.into() {
        prefix.head.has_table = has_table;
        return (Kind::Packed, prefix.write([side, table], &state, words.all(), out));
    }
    let codes = short.places[..n].iter_mut().zip(&all_codes[..n]);
    codes.for_each(|(place, code)| *place = code.to_u64() as u32);
    let codes = (&short.places[..n], sparse);
    (Kind::Packed, prefix.write_least(side, table, codes, &state, words.all(), out))
}

/// A tile of which all words are `base`: as a constant, where that is not longer than no differences.
fn flat<W: Word>(
    plan: &Plan,
    meaning: Meaning,
    base: W,
    prefix: &mut Prefix,
    element: ElementOf<W>,
    side: &[u8],
    out: &mut [u8],
) -> (Kind, usize) {
    let size = size_of::<W>().next_multiple_of(plan.layout.unit());
    if !side.is_empty() || size > prefix.len.next_multiple_of(plan.layout.unit()) {
        return (Kind::Packed, prefix.write([side, &[]], &State::new(), &[], out));
    }
    out[..size].fill(0);
    element(plan, meaning, base).store(out);
    (Kind::Constant, size)
}

/// See `ElementOf`.
fn element<E: Multiple>(plan: &Plan, meaning: Meaning, word: E::Word) -> E::Word {
    match (meaning, &plan.bins) {
        (Meaning::Bins, Some(bins)) => bins.decode::<E, Scalar>(word),
        (Meaning::Bits(shift), _) => from_bits::<E>(word, shift),
        (Meaning::Bins | Meaning::Multiples(_), _) => word,
    }
}
