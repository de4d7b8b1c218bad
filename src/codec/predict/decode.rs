//! One body to its tile. Everything is checked before it is used: a body that passed its checksum may still be hostile.

use super::encode::from_bits;
use super::format::*;
use super::lossless::decode::{self as lossless, Own, Side};
use super::lossless::{Form, Prediction, take, take16};
use super::own_table::OWN;
use super::plan::Plan;
use super::simd::Level;
use super::simd::short::{Coded, Codes, Packed, STEP, Sums};
use super::tables::{CODES, SLOTS_OF, TABLES, TOKENS};
use crate::container::Kind;
use crate::error::{Result, fail};
use crate::host::memory::filled;
use crate::primitives::lorenzo::{self, AXES};
use crate::primitives::quantize::{self, Element, Plain, Quantizer};
use crate::primitives::rans::{LANES, LOW, RAW_BITS, STATE_BITS, Source};
use crate::primitives::word::Word;

/// Buffers that a decoder reuses from tile to tile.
pub struct Buffers<W> {
    /// The codes in their places.
    codes: Vec<W>,
    words: Vec<W>,
    present: Vec<u32>,
    /// Of the tile that is wanted, and of the next one.
    short: [Codes; 2],
    sums: Sums<W>,
    lossless: [lossless::Buffers; 2],
    next: Option<Next<W>>,
}

/// A tile whose differences have been decoded with those of the one before.
#[derive(Clone, Copy)]
struct Next<W> {
    number: usize,
    set: u8,
    base: W,
}

/// A body, and the tile that it is of.
#[derive(Clone, Copy)]
pub struct Tile<'a> {
    /// Its number in the stream.
    pub number: usize,
    /// Its lengths.
    pub lens: [usize; AXES],
    /// The kind of the body.
    pub kind: Kind,
    /// The body.
    pub body: &'a [u8],
}

impl<W: Word> Buffers<W> {
    /// Allocates them for the tiles of a grid.
    pub fn new(grid: &Grid) -> Result<Buffers<W>> {
        Ok(Buffers {
            codes: filled(grid.groups() * GROUP, W::ZERO)?,
            words: filled(grid.capacity(), W::ZERO)?,
            present: filled(GROUPS * GROUP / RUN, 0)?,
            short: [Codes::new()?, Codes::new()?],
            sums: Sums::new(grid)?,
            lossless: [lossless::Buffers::new()?, lossless::Buffers::new()?],
            next: None,
        })
    }
}

/// Decodes a body into `out`, the bytes of its tile. If it is known which one comes `next` its differences may be
/// decoded meanwhile, which takes less time than one after the other; errors in it are those of its own call.
pub fn tile<E: Element>(
    p: impl Level,
    plan: &Plan,
    buffers: &mut Buffers<E::Word>,
    tile: Tile,
    next: Option<Tile>,
    out: &mut [u8],
) -> Result<()> {
    let Tile { number, lens, kind, body } = tile;
    if let (Some(tile), Some(q)) = (buffers.next.take(), &plan.quantizer)
        && tile.number == number
    {
        let places = &buffers.short[1].places;
        bins::<E, _>(p, plan, q, (tile.set, tile.base), lens, places, &mut buffers.sums, out);
        return Ok(());
    }
    let size = size_of::<E::Word>();
    let words = &mut buffers.words[..out.len() / size];
    match kind {
        Kind::Packed => return packed::<E, _>(p, plan, tile, next, buffers, out),
        Kind::Raw => {
            zero(&body[out.len()..])?;
            words.iter_mut().zip(body.chunks_exact(size)).for_each(|(w, bytes)| *w = E::Word::load(bytes));
        }
        Kind::Constant => {
            zero(&body[size..])?;
            words.fill(E::Word::load(body));
        }
        Kind::Masked => return fail!(Internal, "a masked body was given to codec predict"),
    }
    store(plan.big_endian, words, out, |w| w);
    Ok(())
}

fn zero(padding: &[u8]) -> Result<()> {
    match padding.iter().fold(0, |all, b| all | b) {
        0 => Ok(()),
        _ => fail!(Corrupt, "padding bytes are not zero"),
    }
}

/// Writes the elements of words.
#[inline(always)]
fn store<W: Word>(big_endian: bool, words: &[W], out: &mut [u8], element: impl Fn(W) -> W) {
    for (w, bytes) in words.iter().zip(out.chunks_exact_mut(size_of::<W>())) {
        let bits = element(*w);
        (if big_endian { bits.swap() } else { bits }).store(bytes);
    }
}

/// Writes the elements of the first `count` words, from element `at` on, and anything into elements behind them.
#[inline(always)]
fn store_step<W: Word>(
    big_endian: bool,
    words: &[W; STEP],
    count: usize,
    at: usize,
    out: &mut [u8],
    element: impl Fn(W) -> W,
) {
    let mut elements = *words;
    elements.iter_mut().for_each(|w| *w = element(*w));
    if big_endian {
        elements.iter_mut().for_each(|w| *w = w.swap());
    }
    let size = size_of::<W>();
    let out = &mut out[at * size..];
    if out.len() >= STEP * size {
        for i in 0..STEP {
            elements[i].store(&mut out[i * size..(i + 1) * size]);
        }
    } else {
        store_last(elements, count, out);
    }
}

/// Stores the first `count` elements.
#[cold]
#[inline(never)]
fn store_last<W: Word>(elements: [W; STEP], count: usize, out: &mut [u8]) {
    elements[..count].iter().zip(out.chunks_exact_mut(size_of::<W>())).for_each(|(w, bytes)| w.store(bytes));
}

/// Writes the elements of the bins that differences lead to.
#[inline(always)]
#[allow(clippy::too_many_arguments)] // What a tile has at hand.
fn bins<E: Element, P: Level>(
    p: P,
    plan: &Plan,
    q: &Quantizer,
    (set, base): (u8, E::Word),
    lens: [usize; AXES],
    places: &[u32],
    sums: &mut Sums<E::Word>,
    out: &mut [u8],
) {
    p.restore(set, lens, plan.grid.sides, places, sums, |at, words, count| {
        // Read before anyone asks: else a vectorised loop gathers the same constants for each of its lanes.
        let q = *q;
        store_step(plan.big_endian, words, count, at, out, |w| quantize::decode::<E, P>(&q, w.add(base)));
    });
}

fn packed<E: Element, P: Level>(
    p: P,
    plan: &Plan,
    Tile { lens, body, .. }: Tile,
    next: Option<Tile>,
    buffers: &mut Buffers<E::Word>,
    out: &mut [u8],
) -> Result<()> {
    let n = out.len() / size_of::<E::Word>();
    let last = token((u64::MAX >> (64 - E::Word::BITS)) & u64::from(u32::MAX)).0;
    let [own, own_of_next] = &mut buffers.lossless;
    // Of a single tile nobody needs room for the next one.
    buffers.short[0].make_room(&plan.grid)?;
    if next.is_some() {
        buffers.short[1].make_room(&plan.grid)?;
    }
    let prefix = Prefix::read::<E>(plan, body, n, own)?;
    let (base, set) = (prefix.base, prefix.head.set);
    let codes = prefix.packed();
    let coded = Coded { lens, packed: &codes, last };
    if let (Meaning::Bins(q), Some(next)) = (&prefix.meaning, next.filter(|next| next.kind == Kind::Packed))
        && let Ok(second) = Prefix::read::<E>(plan, next.body, next.lens.iter().product(), own_of_next)
        && let Meaning::Bins(_) = second.meaning
        && p.decode_two(
            &plan.grid,
            [coded, Coded { lens: next.lens, packed: &second.packed(), last }],
            &mut buffers.short,
        )
    {
        buffers.next = Some(Next { number: next.number, set: second.head.set, base: second.base });
        bins::<E, _>(p, plan, q, (set, base), lens, &buffers.short[0].places, &mut buffers.sums, out);
        return Ok(());
    }
    let (short, sums) = (&mut buffers.short[0], &mut buffers.sums);
    match &prefix.meaning {
        Meaning::Bins(q) => {
            if p.decode_short(&plan.grid, coded, short)? {
                bins::<E, _>(p, plan, q, (set, base), lens, &short.places, sums, out);
                return Ok(());
            }
        }
        Meaning::Bits(side) => {
            if p.decode_short(&plan.grid, coded, short)? {
                if let Some(shift) = side.plain_shift() {
                    p.restore(set, lens, plan.grid.sides, &short.places, sums, |at, words, count| {
                        store_step(plan.big_endian, words, count, at, out, |w| from_bits::<E>(w.add(base), shift));
                    });
                    return Ok(());
                }
                let words = &mut buffers.words[..n];
                plan.grid.rows(lens, |at, place| {
                    let differences = &short.places[place..place + lens[0]];
                    let codes = words[at..at + lens[0]].iter_mut().zip(differences);
                    codes.for_each(|(w, d)| *w = E::Word::from_u64(d.zigzag().into()));
                });
                side.elements::<E>(set, base, lens, words)?;
                store(plan.big_endian, words, out, |w| w);
                return Ok(());
            }
        }
    }
    let (words, places) = (&mut buffers.words[..n], &mut buffers.codes[..plan.grid.groups() * GROUP]);
    by_portable_code::<E>(plan, &prefix, lens, words, places, &mut buffers.present, out)
}

/// The elements of a packed tile without a level's instructions. Never inlined: it is one for all levels.
#[inline(never)]
fn by_portable_code<E: Element>(
    plan: &Plan,
    prefix: &Prefix<E::Word>,
    lens: [usize; AXES],
    words: &mut [E::Word],
    places: &mut [E::Word],
    present: &mut [u32],
    out: &mut [u8],
) -> Result<()> {
    let (n, base) = (words.len(), prefix.base);
    let whole = n == plan.grid.capacity() && n.is_multiple_of(BATCH);
    if whole {
        prefix.codes::<true>(&[], places)?;
    } else {
        plan.grid.present(lens, present);
        prefix.codes::<false>(present, places)?;
    }
    let gather = |words: &mut [E::Word], word: fn(E::Word) -> E::Word| {
        if whole {
            words.iter_mut().zip(&*places).for_each(|(w, code)| *w = word(*code));
        } else {
            plan.grid.rows(lens, |at, place| {
                words[at..at + lens[0]].iter_mut().zip(&places[place..]).for_each(|(w, code)| *w = word(*code));
            });
        }
    };
    match &prefix.meaning {
        Meaning::Bins(q) => {
            gather(words, Word::unzigzag);
            lorenzo::inverse(prefix.head.set, lens, words);
            store(plan.big_endian, words, out, |w| quantize::decode::<E, Plain>(q, w.add(base)));
        }
        Meaning::Bits(side) => {
            gather(words, |code| code);
            side.elements::<E>(prefix.head.set, base, lens, words)?;
            store(plan.big_endian, words, out, |w| w);
        }
    }
    Ok(())
}

/// What the words of a tile stand for.
enum Meaning<'a> {
    Bins(&'a Quantizer),
    /// Elements' bits.
    Bits(Side<'a>),
}

/// What stands before the words of a packed body, and these.
struct Prefix<'a, W> {
    head: Head,
    meaning: Meaning<'a>,
    base: W,
    own: Option<Own<'a>>,
    lanes: [u32; LANES],
    words: &'a [u8],
}

impl<'a, W: Word> Prefix<'a, W> {
    fn read<E: Element<Word = W>>(
        plan: &'a Plan,
        mut rest: &'a [u8],
        n: usize,
        buffers: &'a mut lossless::Buffers,
    ) -> Result<Prefix<'a, W>> {
        let rest = &mut rest;
        let mut bytes = [0; HEAD_BYTES];
        bytes.copy_from_slice(take(rest, HEAD_BYTES)?);
        let head = Head::read(bytes, plan.grid.groups())?;
        if head.exact && plan.quantizer.is_none() || head.set & !plan.grid.set() != 0 {
            return fail!(Corrupt, "head {head:?} does not go with the stream's header");
        }
        let form = match &plan.quantizer {
            Some(_) if !head.exact => None,
            _ => Some(Form::read::<E>(take16(rest)?, head.has_table)?),
        };
        if form.is_some_and(|form| form.prediction != Prediction::Axes) && head.set != 0 {
            return fail!(Corrupt, "{form:?} has differences along axes {}", head.set);
        }
        let mut high = [0; 8];
        high[..2 * head.base_words].copy_from_slice(take(rest, 2 * head.base_words)?);
        let unused = 64 - (BASE_BITS + 16 * head.base_words as u32).min(64);
        let base = u64::from_le_bytes(high) << BASE_BITS | u64::from(head.base);
        let base = W::from_u64(((base << unused) as i64 >> unused) as u64);
        let (meaning, own) = match (&plan.quantizer, form) {
            (_, Some(form)) => {
                let side = Side::read::<E>(form, head.has_table, rest, n, buffers)?;
                let own = side.own();
                (Meaning::Bits(side), own)
            }
            (Some(q), None) if head.has_table => {
                buffers.read_table(rest, TOKENS)?;
                (Meaning::Bins(q), Some(buffers.own()))
            }
            (Some(q), None) => (Meaning::Bins(q), None),
            (None, None) => return fail!(Internal, "a tile has neither bins nor bits"),
        };
        let lanes = read_states(&head, rest)?;
        Ok(Prefix { head, meaning, base, own, lanes, words: rest })
    }
}

/// Bytes of lengths and states, and those that are read with the last of them.
const STATE_ROOM: usize = LANES * (LENGTH_BITS + STATE_BITS) as usize / 8 + 8;

/// The final states of the encoder.
fn read_states(head: &Head, rest: &mut &[u8]) -> Result<[u32; LANES]> {
    let mut lanes = [1; LANES];
    if head.longest == 0 {
        return Ok(lanes);
    }
    let mask = if head.masked {
        let bytes = take(rest, 4)?;
        u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    } else {
        u32::MAX
    };
    let mut room = [0; STATE_ROOM];
    let there = rest.len().min(STATE_ROOM);
    room[..there].copy_from_slice(&rest[..there]);
    let number = |at: u32, n: u32| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&room[at as usize / 8..][..8]);
        (u64::from_le_bytes(bytes) >> (at % 8)) as u32 & ((1 << n) - 1)
    };
    let floor = floor(head.longest);
    let (mut length, mut at) = (0, LENGTH_BITS * mask.count_ones());
    for (l, state) in lanes.iter_mut().enumerate() {
        if mask >> l & 1 == 1 {
            let above = number(length, LENGTH_BITS);
            let n = bits_of_state(floor, above);
            *state = (u32::from(above > 0) << n | number(at, n)).max(1);
            length += LENGTH_BITS;
            at += n;
        }
    }
    let bytes = at.div_ceil(16) as usize * 2;
    if number(at, bytes as u32 * 8 - at) != 0 {
        return fail!(Corrupt, "bits behind the last state are not zero");
    }
    take(rest, bytes)?;
    Ok(lanes)
}

impl<W: Word> Prefix<'_, W> {
    /// What it says of codes.
    fn packed(&self) -> Packed<'_> {
        let own = self.own.map(|own| own.slots);
        let direct = self.own.is_some_and(|own| own.direct);
        Packed { switch: self.head.switch, lanes: self.lanes, own, direct, bytes: self.words }
    }

    /// Decodes all codes into their places; what has no element is left as it is.
    fn codes<const WHOLE: bool>(&self, present: &[u32], places: &mut [W]) -> Result<()> {
        let groups = places.len() / GROUP;
        let switch = self.head.switch;
        let mut lanes = self.lanes;
        let mut source = Source::new(self.words, if switch == NEVER { 0 } else { LOW });
        let classes = read_classes::<WHOLE>(present, groups, &mut lanes, &mut source);
        for (g, class) in classes[..groups].iter().enumerate() {
            if g == switch {
                change(&mut lanes, &mut source)?;
            }
            group::<W, WHOLE>(g, (*class).into(), self.own, present, &mut lanes, &mut source, places);
        }
        if switch == groups {
            change(&mut lanes, &mut source)?;
        }
        check_end(&lanes, source.rest())
    }
}

/// Checks the states at the end, and the words behind the last one that was taken, if there are as many.
pub fn check_end(lanes: &[u32; LANES], rest: Option<&[[u8; 2]]>) -> Result<()> {
    if *lanes != [1; LANES] {
        return fail!(Corrupt, "states of a tile end as {lanes:?}, not as 1");
    }
    match rest {
        Some([] | [[0, 0]]) => Ok(()),
        Some(rest) => fail!(Corrupt, "{} words behind a tile's last", rest.len()),
        None => fail!(Corrupt, "a tile's words end early"),
    }
}

/// From here on states take no words.
fn change(lanes: &mut [u32; LANES], source: &mut Source) -> Result<()> {
    lower(lanes)?;
    source.threshold = 0;
    Ok(())
}

/// Makes states as small as those are that take no words.
pub fn lower(lanes: &mut [u32; LANES]) -> Result<()> {
    if lanes.iter().any(|x| *x <= LOW) {
        return fail!(Corrupt, "states {lanes:?} are to become smaller by {LOW}");
    }
    lanes.iter_mut().for_each(|x| *x -= LOW);
    Ok(())
}

/// Which values of a group the lanes have, four bits for each lane of a quarter.
#[inline(always)]
pub fn present_in(present: &[u32], g: usize) -> [u32; BATCH_GROUPS] {
    std::array::from_fn(|r| present[place(g, r) / RUN])
}

/// How many of its places have no element.
#[inline(always)]
pub fn absent(present: &[u32], g: usize) -> u32 {
    present_in(present, g).iter().map(|run| run.count_zeros()).sum()
}

/// The class of each group.
pub fn read_classes<const WHOLE: bool>(
    present: &[u32],
    groups: usize,
    lanes: &mut [u32; LANES],
    source: &mut Source,
) -> [u8; GROUPS] {
    let mut classes = [0; GROUPS];
    for s in 0..BATCH_GROUPS {
        for lane in 0..groups / BATCH_GROUPS {
            let g = lane * BATCH_GROUPS + s;
            if WHOLE || present_in(present, g) != [0; BATCH_GROUPS] {
                let entry = SLOTS_OF[0][Source::slot(lanes[lane])];
                source.pass(&mut lanes[lane], entry >> 10 & 1023, entry & 1023);
                classes[g] = (entry >> 20) as u8;
            }
        }
    }
    let mut class = 0;
    for difference in &mut classes[..groups] {
        class = (class + *difference) % TABLES as u8;
        *difference = class;
    }
    classes
}

/// Decodes group `g` of this class.
#[inline(always)]
fn group<W: Word, const WHOLE: bool>(
    g: usize,
    class: usize,
    own: Option<Own>,
    present: &[u32],
    lanes: &mut [u32; LANES],
    source: &mut Source,
    places: &mut [W],
) {
    let mut tokens = [[0u8; QUAD]; LANES];
    let has = if WHOLE { [u32::MAX; BATCH_GROUPS] } else { present_in(present, g) };
    let mut most = 0;
    if class > 0 {
        let slots = own.filter(|_| class == OWN).map_or(&SLOTS_OF[class], |own| own.slots);
        for j in 0..QUAD {
            for ((lane, state), tokens) in lanes.iter_mut().enumerate().zip(&mut tokens) {
                if WHOLE || has[lane / 8] >> (lane % 8 * QUAD + j) & 1 == 1 {
                    let entry = slots[Source::slot(*state)];
                    source.pass(state, entry >> 10 & 1023, entry & 1023);
                    tokens[j] = (entry >> 20) as u8;
                    most = most.max(entry >> 20);
                }
            }
        }
    }
    let mut codes = tokens.map(|quad| quad.map(u64::from));
    if most >= DIRECT && !own.is_some_and(|own| own.direct) {
        raw_bits(&tokens, lanes, source, &mut codes);
    }
    for r in 0..BATCH_GROUPS {
        let run = &mut places[place(g, r)..][..RUN];
        let quads = run.as_chunks_mut::<QUAD>().0.iter_mut().zip(&codes[r * (RUN / QUAD)..]);
        quads.for_each(|(quad, codes)| *quad = codes.map(W::from_u64));
    }
}

/// Completes the codes of tokens by their raw bits.
#[inline(never)]
fn raw_bits(
    tokens: &[[u8; QUAD]; LANES],
    lanes: &mut [u32; LANES],
    source: &mut Source,
    codes: &mut [[u64; QUAD]; LANES],
) {
    let lens = tokens.map(|quad| quad.map(|token| CODES[usize::from(token)].0));
    *codes = tokens.map(|quad| quad.map(|token| CODES[usize::from(token)].1));
    let longest = lens.as_flattened().iter().fold(0, |m, len| m.max(*len));
    let together = lens.iter().map(|quad| quad.iter().sum()).fold(0, u32::max);
    if together <= RAW_BITS {
        for (lane, state) in lanes.iter_mut().enumerate() {
            let mut bits = source.raw(state, lens[lane].iter().sum());
            for j in 0..QUAD {
                codes[lane][j] |= u64::from(bits & ((1 << lens[lane][j]) - 1));
                bits >>= lens[lane][j];
            }
        }
        return;
    }
    for round in 0..longest.div_ceil(RAW_BITS) {
        let from = round * RAW_BITS;
        for j in 0..QUAD {
            for (lane, state) in lanes.iter_mut().enumerate() {
                let bits = source.raw(state, lens[lane][j].saturating_sub(from).min(RAW_BITS));
                codes[lane][j] |= u64::from(bits) << from;
            }
        }
    }
}
