//! One tile to its body.

use std::marker::PhantomData;

use super::choice::Way;
use super::closed_loop;
use super::counts::TokenCounts;
use super::format::*;
use super::interpolation::Rule;
use super::lattice::{Bins, Multiple};
use super::lossless::encode::{self as lossless, Of, Own};
use super::lossless::{Form, bounded};
use super::own_table::{self, BIT, OWN};
use super::patches::{MOST_CORRECTIONS, MOST_EXCEPTIONS};
use super::plan::Plan;
use super::predict;
use super::simd::Level;
use super::simd::short::{ShortBuffers, ShortTile, place_codes};
use super::sparse;
use super::survey::{self, Bits, Survey};
use super::tables::{CLASS_SYMBOLS, FIRST, SYMBOLS};
use crate::container::Kind;
use crate::error::Result;
use crate::host::memory::{boxed, filled, reserve};
use crate::primitives::lorenzo::AXES;
use crate::primitives::quantize::{Element, Plain, mantissa_and_bias};
use crate::primitives::rans::{LANES, LOW, RAW_BITS, STATE_BITS, Symbol, TOP, Words};
use crate::primitives::round;
use crate::primitives::word::Word;
use crate::runtime::cpu::raw;

/// Buffers that an encoder reuses from tile to tile.
pub struct Buffers<W> {
    /// The elements' bits.
    elements: Vec<W>,
    words: Vec<W>,
    trial: Vec<W>,
    differences: Vec<W>,
    /// The codes, and zeros up to the end of their last group.
    codes: Vec<W>,
    group: Box<[Group; 1]>,
    stream: Vec<u16>,
    other: Vec<u8>,
    counts: TokenCounts,
    short: ShortBuffers,
    closed: closed_loop::Buffers,
    /// The codes of an interpolated tile where the level has no use for `short`, with room for a vector.
    interpolated: Vec<u32>,
    /// What stands between base and states.
    side: Vec<u8>,
    /// What stands before the words of a sparse tile, and these.
    sparse: (Vec<u8>, Vec<u16>),
    /// Those of the forms, with a bound too: a tile that may take one must not want for memory, or bytes would change
    /// with what there is.
    lossless: lossless::Buffers<W>,
}

/// Magnitudes count no more than this.
pub const MOST: u64 = 1 << 23;

impl<W: Word> Buffers<W> {
    /// Allocates them for the tiles of a plan.
    pub fn new(plan: &Plan) -> Result<Buffers<W>> {
        let grid = &plan.grid;
        let n = grid.capacity();
        let words = || filled(n, W::ZERO);
        // Each symbol takes 10 bits at the most.
        let stream = n * (W::BITS as usize + 10) / 16 + 4 * LANES;
        Ok(Buffers {
            elements: words()?,
            words: words()?,
            trial: words()?,
            differences: words()?,
            codes: filled(grid.groups() * GROUP, W::ZERO)?,
            group: boxed(Group::EMPTY)?,
            stream: filled(stream, 0)?,
            other: filled(n * W::BITS as usize / 8 + 64, 0)?,
            counts: TokenCounts::new()?,
            short: ShortBuffers::new(grid)?,
            closed: closed_loop::Buffers::new(plan)?,
            interpolated: filled(if closed_loop::is_for(plan) { n + GROUP } else { 0 }, 0)?,
            side: {
                let mut side = Vec::new();
                reserve(&mut side, MOST_CORRECTIONS * 3 + MOST_EXCEPTIONS * 10 + 1024)?;
                side
            },
            sparse: {
                let mut head = Vec::new();
                reserve(&mut head, 8)?;
                (head, filled(sparse::MOST_WORDS, 0)?)
            },
            lossless: lossless::Buffers::new(grid)?,
        })
    }
}

/// What the words of a tile stand for.
#[derive(Clone, Copy)]
enum Meaning {
    /// Bins.
    Bins,
    /// Elements' bits without so many zero bits at their low end.
    Bits(u32),
    /// Multiples of the fine lattice, interpolated.
    Multiples(Rule),
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
        let mut other = std::mem::take(&mut buffers.other);
        let limit = body.map_or(raw_bytes, |(_, bytes)| bytes);
        let exact = lossless_tile::<E>(p, plan, lens, most_cost(limit), buffers, data, &mut other);
        if let Some((kind, bytes)) = exact.filter(|(_, bytes)| *bytes < limit) {
            out[..bytes].copy_from_slice(&other[..bytes]);
            body = Some((kind, bytes));
        }
        buffers.other = other;
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
    let map = survey::Map { lattice, big_endian, data, missing, multiples: &mut closed.multiples, element };
    let (survey, seen) = p.run(map);
    survey::mark(n, survey, missing, &mut closed.multiples);
    closed.patches.clear();
    if !closed_loop::except::<E::Word>(big_endian, data, survey, closed) {
        return (None, seen);
    }
    if closed_loop::is_for(plan)
        && let Way::Interpolated(rule) = closed_loop::choose(p, lens, survey, closed)
        && let Some(body) = interpolated::<E>(p, plan, (lens, n), survey, rule, buffers, out)
    {
        return (Some(body), seen);
    }
    buffers.closed.patches.corrections.clear();
    if buffers.closed.patches.is_empty() {
        return bins_of_tile::<E>(p, plan, bins, lens, buffers, (survey, seen), data, out);
    }
    let filled = closed_loop::fill::<E>(data, &mut buffers.closed);
    let body = bins_of_tile::<E>(p, plan, bins, lens, buffers, (survey, seen), &filled[..data.len()], out);
    buffers.closed.keep(filled);
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
    if !closed_loop::correct_bins::<E>(bins, plan.big_endian, data, survey, &mut buffers.closed) {
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
    rule: Rule,
    buffers: &mut Buffers<E::Word>,
    out: &mut [u8],
) -> Option<(Kind, usize)> {
    let Buffers { closed, interpolated, side, .. } = &mut *buffers;
    if !closed_loop::encode(p, lens, survey, rule, closed, interpolated)
        || closed_loop::collides::<E>(p, plan, lens, survey, closed)
    {
        return None;
    }
    side.clear();
    closed.patches.write_if_any(size_of::<E::Word>(), side);
    let mut prefix = Prefix::new(survey.base as u32, Meaning::Multiples(rule), rule.set, true);
    if interpolated[..n].iter().all(|c| *c == 0) {
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
    let Buffers { interpolated, short, counts, codes, group, stream, sparse, .. } = buffers;
    let all = &interpolated[..n];
    short.places[..n].copy_from_slice(all);
    if let Some((state, at, has_table)) = p.encode_codes(n, counts, short) {
        let table = if has_table { &counts.bytes[..] } else { &[] };
        let words = &short.stream[at..];
        return (Kind::Packed, prefix.write_least(patches, table, (all, sparse), &state, words, out));
    }
    let mut words = Words::new(stream);
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
    if let Some(short_bins) = p.shorten_bins::<E>(plan, bins, data, &mut buffers.short) {
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
    let (any, largest) = p.load(plan.big_endian, data, words);
    p.quantize::<E>(bins, words);
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
    p.load(plan.big_endian, data, words);
    if let Some(keep) = keep_bits {
        let is_rounded = round::encode(words, mantissa_and_bias(plan.layout.dtype).0, keep);
        if !is_rounded || collides(plan, words) {
            return None;
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
    p.load(plan.big_endian, data, elements);
    if elements.iter().all(|w| *w == elements[0]) {
        return by_bits::<E>(p, plan, None, lens, buffers, data, out);
    }
    let (elements, forms) = (&buffers.elements[..n], &mut buffers.lossless);
    let choice = lossless::choose::<E>(p, plan, lens, elements, forms);
    if choice.cost > most_cost.min(BIT * n as u64 * u64::from(E::Word::BITS)) {
        return None;
    }
    choice.write_side(n, forms);
    let (own, codes, side) = forms.written(&choice, n);
    let mut prefix = Prefix::of_form(choice.base, choice.form, choice.set, plan.bins.is_some());
    prefix.head.has_table = choice.own_table;
    if place_codes(p, codes, &mut buffers.short)
        && let Some((state, at)) = p.encode_placed(n, own, &mut buffers.short)
    {
        return Some((Kind::Packed, prefix.write([&[], side], &state, &buffers.short.stream[at..], out)));
    }
    let mut stream = Words::new(&mut buffers.stream);
    let group = &mut buffers.group[0];
    let (state, _) = code(codes.iter().copied(), Tables::Given(own), &mut buffers.codes, group, &mut stream);
    Some((Kind::Packed, prefix.write([&[], side], &state, stream.all(), out)))
}

fn collides<W: Word>(plan: &Plan, words: &[W]) -> bool {
    plan.collisions().iter().any(|x| words.iter().fold(false, |any, w| any | (w.to_u64() == *x)))
}

/// A float's bits as a number in the order of floats; its own inverse. An integer as it is.
#[inline(always)]
pub fn ordered<E: Element>(w: E::Word) -> E::Word {
    if E::EXPONENT_BITS == 0 { w } else { w ^ (w.sar(E::Word::BITS - 1) & !E::Word::SIGN) }
}

impl Meaning {
    fn form(self) -> Option<Form> {
        match self {
            Meaning::Bins | Meaning::Multiples(_) => None,
            Meaning::Bits(shift) => Some(Form::plain(shift)),
        }
    }
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
    tile: &ShortTile,
    (n, buffers): (usize, &mut Buffers<W>),
    element: ElementOf<W>,
    out: &mut [u8],
) -> (Kind, usize) {
    let base = base.add(W::from_u64(tile.choice.middle));
    let mut prefix = Prefix::new(base, meaning, tile.choice.set, plan.bins.is_some());
    let table = if tile.has_table { &buffers.counts.bytes[..] } else { &[] };
    let side = patches(meaning, &buffers.side);
    match &tile.coded {
        Some((state, at)) => {
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
        && p.shorten(words, &mut buffers.short)
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
    if closed_loop::is_for(plan) {
        let numbers = &buffers.short.numbers()[..n];
        if let Way::Interpolated(rule) = closed_loop::choose_exact(p, lens, numbers, &mut buffers.closed) {
            let Buffers { closed, interpolated, short, .. } = &mut *buffers;
            let numbers = &short.numbers()[..n];
            if closed_loop::encode_exact(p, lens, numbers, rule, closed, interpolated)
                && interpolated[..n].iter().any(|c| *c != 0)
            {
                let side = std::mem::take(&mut buffers.side);
                let mut prefix = Prefix::new(base, meaning, rule.set, plan.bins.is_some());
                prefix.head.predictor = if rule.rough { Predictor::Rough } else { Predictor::Smooth };
                let body = codes_of_tile::<E>(p, &mut prefix, n, patches(meaning, &side), buffers, out);
                buffers.side = side;
                return Some(body);
            }
        }
    }
    let tile = p.encode_short(&plan.grid, lens, n, &mut buffers.counts, &mut buffers.short)?;
    Some(short(plan, meaning, base, &tile, (n, buffers), element::<E>, out))
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
    let words = &mut buffers.words[..n];
    let (trial, differences) = (&mut buffers.trial[..n], &mut buffers.differences[..n]);
    let choice = predict::choose_by_some(&plan.grid, lens, words, trial, differences);
    base = base.add(W::from_u64(choice.middle));
    let mut prefix = Prefix::new(base, meaning, choice.set, plan.bins.is_some());
    if differences.iter().all(|d| *d == W::ZERO) {
        return flat(plan, meaning, base, &mut prefix, element, patches(meaning, &buffers.side), out);
    }
    let mut words = Words::new(&mut buffers.stream);
    let codes = differences.iter().map(|d| d.zigzag());
    let by = Tables::Counted(&mut buffers.counts);
    let (state, has_table) = code(codes, by, &mut buffers.codes, &mut buffers.group[0], &mut words);
    let table = if has_table { &buffers.counts.bytes[..] } else { &[] };
    let side = patches(meaning, &buffers.side);
    let most = buffers.codes[..n].iter().fold(W::ZERO, |m, c| m.max(*c)).to_u64();
    if most > u32::MAX.into() {
        prefix.head.has_table = has_table;
        return (Kind::Packed, prefix.write([side, table], &state, words.all(), out));
    }
    let codes = buffers.short.places[..n].iter_mut().zip(&buffers.codes[..n]);
    codes.for_each(|(place, code)| *place = code.to_u64() as u32);
    let codes = (&buffers.short.places[..n], &mut buffers.sparse);
    (Kind::Packed, prefix.write_least(side, table, codes, &state, words.all(), out))
}

/// What codes are encoded by, beside the tables that are always there.
enum Tables<'a> {
    /// This one.
    Given(Option<Own<'a>>),
    /// The one that follows from how often tokens occur, if any.
    Counted(&'a mut TokenCounts),
}

/// Encodes the codes of a tile; whether by a table of its own.
#[inline(always)]
fn code<W: Word>(
    codes: impl ExactSizeIterator<Item = W>,
    tables: Tables,
    places: &mut [W],
    group: &mut Group,
    words: &mut Words,
) -> (State, bool) {
    let n = codes.len();
    let places = &mut places[..groups(n) * GROUP];
    places.iter_mut().zip(codes).for_each(|(place, code)| *place = code);
    places[n..].fill(W::ZERO);
    Coder { codes: places, n, own: None }.encode_by(tables, group, words)
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
        (Meaning::Bins, Some(bins)) => bins.decode::<E, Plain>(word),
        (Meaning::Bits(shift), _) => from_bits::<E>(word, shift),
        (Meaning::Bins | Meaning::Multiples(_), _) => word,
    }
}

/// The element of a word of bits.
#[inline(always)]
pub fn from_bits<E: Element>(word: E::Word, shift: u32) -> E::Word {
    let bits = ordered::<E>(word);
    if E::EXPONENT_BITS == 0 { bits << shift } else { (bits << shift) & !E::Word::SIGN | bits & E::Word::SIGN }
}

/// What stands before the final states of a body.
struct Prefix {
    head: Head,
    /// Form and base.
    bytes: [u8; 2 + 8],
    len: usize,
}

impl Prefix {
    fn new<W: Word>(base: W, meaning: Meaning, set: u8, has_bins: bool) -> Prefix {
        let (map, predictor) = match meaning {
            Meaning::Bits(_) if has_bins => (Map::Exact, Predictor::Axes),
            Meaning::Bits(_) | Meaning::Bins => (Map::Plain, Predictor::Axes),
            Meaning::Multiples(rule) => {
                let map = if rule.coarse { Map::Lattice } else { Map::Multiples };
                (map, if rule.rough { Predictor::Rough } else { Predictor::Smooth })
            }
        };
        Prefix::with(base, Head { set, map, predictor, ..Head::default() }, meaning.form())
    }

    /// Of elements' bits in a form.
    fn of_form<W: Word>(base: W, form: Form, set: u8, has_bins: bool) -> Prefix {
        let map = if has_bins { Map::Exact } else { Map::Plain };
        Prefix::with(base, Head { set, map, ..Head::default() }, Some(form))
    }

    fn with<W: Word>(base: W, head: Head, form: Option<Form>) -> Prefix {
        // As a number of 64 bits, of which the low ones go into the head.
        let base = base.extend();
        let bits = 65 - (base ^ (base as i64 >> 63) as u64).leading_zeros();
        let base_words = [0, 1, 2, 4, 4][bits.saturating_sub(BASE_BITS).div_ceil(16) as usize];
        let head = Head { base_words, base: base as u32 & ((1 << BASE_BITS) - 1), ..head };
        let (mut bytes, mut len) = ([0; 10], 0);
        if let Some(form) = form {
            bytes[..2].copy_from_slice(&form.to_bits().to_le_bytes());
            len = 2;
        }
        let high = ((base as i64) >> BASE_BITS).to_le_bytes();
        bytes[len..][..2 * base_words].copy_from_slice(&high[..2 * base_words]);
        Prefix { head, bytes, len: HEAD_BYTES + len + 2 * base_words }
    }

    /// Writes the body as a sparse tile where that takes less, otherwise as [`Prefix::write`] does.
    fn write_least(
        &mut self,
        patches: &[u8],
        table: &[u8],
        (codes, (side, stream)): (&[u32], &mut (Vec<u8>, Vec<u16>)),
        state: &State,
        words: &[u16],
        out: &mut [u8],
    ) -> usize {
        side.clear();
        if let Some(sparse) = sparse::encode(codes, side, stream)
            && let with_lanes = state.bytes() + table.len() + 2 * words.len()
            && side.len() + 2 * sparse.len() < with_lanes
        {
            self.head.is_sparse = true;
            return self.write([patches, side], &State { lanes: [1; LANES], switch: 0 }, sparse, out);
        }
        self.head.has_table = !table.is_empty();
        self.write([patches, table], state, words, out)
    }

    /// Writes the body, patches and what else stands behind the base; returns its bytes. What does not fit into `out`
    /// is not written.
    fn write(&mut self, [patches, side]: [&[u8]; 2], state: &State, words: &[u16], out: &mut [u8]) -> usize {
        let mut states = [0; STATE_ROOM];
        self.head.has_patches = !patches.is_empty();
        let states = state.pack(&mut self.head, &mut states);
        let begin = self.len + patches.len();
        let behind = begin + side.len();
        let at = behind + states.len();
        let end = (at + 2 * words.len()).next_multiple_of(4);
        if end > out.len() {
            return end;
        }
        out[..HEAD_BYTES].copy_from_slice(&self.head.to_bytes());
        out[HEAD_BYTES..self.len].copy_from_slice(&self.bytes[..self.len - HEAD_BYTES]);
        out[self.len..begin].copy_from_slice(patches);
        out[begin..behind].copy_from_slice(side);
        out[behind..at].copy_from_slice(states);
        let (places, padding) = out[at..end].split_at_mut(2 * words.len());
        places.as_chunks_mut().0.iter_mut().zip(words).for_each(|(place, word)| *place = word.to_le_bytes());
        padding.fill(0);
        end
    }
}

/// How coding ended.
pub struct State {
    /// The states.
    pub lanes: [u32; LANES],
    switch: usize,
}

impl State {
    /// Bytes of the final states.
    fn bytes(&self) -> usize {
        self.pack(&mut Head::default(), &mut [0; STATE_ROOM]).len()
    }

    /// Writes the final states, the shorter way; the head tells which.
    fn pack<'a>(&self, head: &mut Head, place: &'a mut [u8; STATE_ROOM]) -> &'a [u8] {
        let lengths = self.lanes.map(|x| if x == 1 { 0 } else { 32 - x.leading_zeros() });
        head.switch = self.switch;
        head.longest = lengths.into_iter().fold(0, u32::max);
        head.masked = false;
        if head.longest == 0 {
            return &[];
        }
        let floor = floor(head.longest);
        let parts = lengths.map(|length| length.saturating_sub(floor));
        let bits = parts.map(|part| bits_of_state(floor, part));
        let mask = (0..LANES).fold(0u32, |mask, l| mask | u32::from(lengths[l] > 0) << l);
        let left_out: u32 = (0..LANES).filter(|l| mask >> l & 1 == 0).map(|l| LENGTH_BITS + bits[l]).sum();
        head.masked = 32 < left_out;
        let mut out = BitWriter { place, at: 0, next: 0, bits: 0 };
        if head.masked {
            out.put(mask, 32);
        }
        let lanes = || (0..LANES).filter(|l| !head.masked || mask >> l & 1 == 1);
        lanes().for_each(|l| out.put(parts[l], LENGTH_BITS));
        lanes().for_each(|l| out.put(self.lanes[l], bits[l]));
        let bytes = out.end();
        &place[..bytes]
    }
}

/// Room for final states, and what is written behind them.
const STATE_ROOM: usize = 4 + (LANES * STATE_BITS as usize + LANES * LENGTH_BITS as usize) / 8 + 4;

/// Numbers of bits one behind the other, from the lowest bit of each byte on.
struct BitWriter<'a> {
    place: &'a mut [u8],
    /// Where the next bytes go.
    at: usize,
    next: u64,
    bits: u32,
}

impl BitWriter<'_> {
    /// Puts the lowest `count` ≤ 32 bits.
    fn put(&mut self, number: u32, count: u32) {
        self.next |= (u64::from(number) & ((1 << count) - 1)) << self.bits;
        self.bits += count;
        if self.bits >= 32 {
            self.place[self.at..self.at + 4].copy_from_slice(&(self.next as u32).to_le_bytes());
            self.at += 4;
            self.next >>= 32;
            self.bits -= 32;
        }
    }

    /// Puts the bits that are left; how many bytes there are, a multiple of two.
    fn end(&mut self) -> usize {
        self.place[self.at..self.at + 4].copy_from_slice(&(self.next as u32).to_le_bytes());
        self.at + self.bits.div_ceil(16) as usize * 2
    }
}

/// Codes on their way into words.
struct Coder<'a, W> {
    /// The codes, and zeros up to the end of their last group.
    codes: &'a [W],
    /// How many codes there are.
    n: usize,
    /// The table of class `OWN`, where it is not the one that is always there.
    own: Option<Own<'a>>,
}

/// Never inlined: see `TokenCounts::choose`, which levels compile for themselves.
#[inline(never)]
fn choose(counts: &mut TokenCounts) -> bool {
    counts.choose()
}

/// A group taken apart: by lane and value the token, raw bits, and how many there are.
#[derive(Clone)]
struct Group {
    tokens: [[u8; QUAD]; LANES],
    lens: [[u8; QUAD]; LANES],
    bits: [[u64; QUAD]; LANES],
    /// Which values a lane has.
    has: [u8; LANES],
    class: usize,
    /// The most raw bits of a value, and of a lane.
    longest: (u32, u32),
}

impl<'a, W: Word> Coder<'a, W> {
    /// Encodes all groups; whether by a table of their own.
    fn encode_by(mut self, tables: Tables<'a>, group: &mut Group, words: &mut Words) -> (State, bool) {
        self.own = match tables {
            Tables::Given(own) => own,
            Tables::Counted(counts) => {
                self.count(group, counts);
                choose(counts).then(|| counts.for_encoding()).map(|(frequencies, symbols, classes)| Own {
                    frequencies,
                    symbols,
                    of: Of::Classes(classes),
                })
            }
        };
        (self.encode(group, words), self.own.is_some())
    }

    /// Counts the tokens of all groups.
    fn count(&self, group: &mut Group, counts: &mut TokenCounts) {
        counts.clear();
        for g in 0..groups(self.n) {
            self.take(g, group);
            if group.class > 0 {
                counts.add(group.class, &group.tokens, absent(self.n, g));
            }
        }
    }

    /// Encodes all groups. States begin at 1 and grow; where a word would be needed they are made as large as they have
    /// to be from there on.
    fn encode(&self, group: &mut Group, words: &mut Words) -> State {
        let groups = groups(self.n);
        let mut state = State::new();
        let mut classes = [0u8; GROUPS];
        for g in (0..groups).rev() {
            self.take(g, group);
            classes[g] = group.class as u8;
            if group.class > 0 {
                let symbols = self.symbols(group.class);
                state.step(words, g + 1, |lanes, words| group.encode(symbols, lanes, words));
            }
        }
        encode_classes(&mut state, &classes[..groups], words);
        state
    }

    /// The symbols of a class.
    fn symbols(&self, class: usize) -> &[Symbol] {
        match self.own {
            Some(own) if class == OWN => own.symbols,
            _ => &SYMBOLS[class],
        }
    }

    /// Takes group `g` apart.
    fn take(&self, g: usize, group: &mut Group) {
        let codes = &self.codes[g * GROUP..(g + 1) * GROUP];
        let present = present_in(self.n, g);
        for (lane, has) in group.has.iter_mut().enumerate() {
            *has = (present[lane / (LANES / RUNS)] >> (lane % (LANES / RUNS) * QUAD) & 15) as u8;
        }
        group.class = own_table::class_of(codes);
        if group.class == 0 {
            return;
        }
        let most = codes.iter().fold(W::ZERO, |m, c| m.max(*c));
        let direct = self.own.is_some_and(|own| matches!(own.of, Of::All));
        group.longest = (0, 0);
        for (i, c) in codes.iter().enumerate() {
            let (lane, j) = (i / QUAD, i % QUAD);
            let (token, len) = if direct { (c.to_u64() as u32, 0) } else { token(c.to_u64()) };
            group.tokens[lane][j] = token as u8;
            group.lens[lane][j] = len as u8;
            group.bits[lane][j] = c.to_u64() & ((1 << len) - 1);
        }
        if let Some(own) = self.own {
            let has = group.has;
            group.class = own.class(group.class, &group.tokens, |lane, j| has[lane] >> j & 1 == 1);
        }
        if most.to_u64() >= DIRECT.into() && !direct {
            for lens in &group.lens {
                let (longest, total) = group.longest;
                let own: u32 = lens.iter().map(|len| u32::from(*len)).sum();
                group.longest = (lens.iter().fold(longest, |m, len| m.max((*len).into())), total.max(own));
            }
        }
    }
}

/// Encodes the classes of all groups.
pub fn encode_classes(state: &mut State, classes: &[u8], words: &mut Words) {
    state.step(words, 0, |lanes, words| {
        for s in (0..CLASSES_OF_LANE).rev() {
            for g in (s..classes.len()).step_by(CLASSES_OF_LANE).rev() {
                let before = if s == 0 { FIRST } else { usize::from(classes[g - 1]) };
                words.symbol(&mut lanes[g / CLASSES_OF_LANE], &CLASS_SYMBOLS[before][usize::from(classes[g])]);
            }
        }
    });
}

impl State {
    /// States begin at 1.
    pub fn new() -> State {
        State { lanes: [1; LANES], switch: NEVER }
    }

    /// Encodes by `encode` what stands from group `before` − 1 on, or the classes.
    fn step(&mut self, words: &mut Words, before: usize, encode: impl Fn(&mut [u32; LANES], &mut Words)) {
        let start = (self.lanes, words.at);
        loop {
            encode(&mut self.lanes, words);
            if self.holds(start, words, before) {
                return;
            }
        }
    }

    /// Whether states are still those that take no words.
    #[inline(always)]
    pub fn is_small(&self) -> bool {
        self.switch == NEVER
    }

    /// Whether a step may stay as it was encoded. If it needs larger states and they are not yet, they are as large as
    /// they must be, and as they were before it, on return.
    #[inline(always)]
    pub fn holds(&mut self, (lanes, at): ([u32; LANES], usize), words: &mut Words, before: usize) -> bool {
        if self.switch != NEVER || words.at == at && self.lanes.iter().all(|x| *x < TOP - LOW) {
            return true;
        }
        words.at = at;
        self.switch = before;
        self.lanes = lanes.map(|x| x + LOW);
        false
    }
}

impl Group {
    /// One of no use yet.
    const EMPTY: Group = Group {
        tokens: [[0; QUAD]; LANES],
        lens: [[0; QUAD]; LANES],
        bits: [[0; QUAD]; LANES],
        has: [0; LANES],
        class: 0,
        longest: (0, 0),
    };

    /// Encodes the group: what is decoded last comes first.
    fn encode(&self, symbols: &[Symbol], lanes: &mut [u32; LANES], words: &mut Words) {
        if self.longest.0 > 0 {
            self.encode_raw(lanes, words);
        }
        for j in (0..QUAD).rev() {
            for lane in (0..LANES).rev() {
                if self.has[lane] >> j & 1 == 1 {
                    words.symbol(&mut lanes[lane], &symbols[usize::from(self.tokens[lane][j])]);
                }
            }
        }
    }

    fn encode_raw(&self, lanes: &mut [u32; LANES], words: &mut Words) {
        if self.longest.1 <= RAW_BITS {
            for lane in (0..LANES).rev() {
                let (mut bits, mut len) = (0, 0);
                for j in 0..QUAD {
                    bits |= (self.bits[lane][j] as u32) << len;
                    len += u32::from(self.lens[lane][j]);
                }
                words.raw(&mut lanes[lane], bits, len);
            }
            return;
        }
        for round in (0..self.longest.0.div_ceil(RAW_BITS)).rev() {
            let from = round * RAW_BITS;
            for j in (0..QUAD).rev() {
                for lane in (0..LANES).rev() {
                    let len = u32::from(self.lens[lane][j]).saturating_sub(from).min(RAW_BITS);
                    let bits = (self.bits[lane][j] >> from) as u32 & ((1 << len) - 1);
                    words.raw(&mut lanes[lane], bits, len);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A state so large that it could not be made larger any more has to be so already, though no word was needed.
    #[test]
    fn states_change_before_it_is_too_late() {
        let mut buffer = [0; 8];
        for (reached, switch) in [(TOP - LOW - 1, NEVER), (TOP - LOW, 7), (TOP - 1, 7)] {
            let mut words = Words::new(&mut buffer);
            let mut state = State { lanes: [1; LANES], switch: NEVER };
            state.step(&mut words, 7, |lanes, _| lanes[3] = reached);
            assert_eq!(state.switch, switch, "{reached}");
            assert_eq!(state.lanes[0], if switch == NEVER { 1 } else { 1 + LOW });
        }
    }
}
