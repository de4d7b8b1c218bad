//! One body to its tile. Everything is checked before it is used: a body that passed its checksum may still be hostile.

use std::marker::PhantomData;

use super::closed_loop;
use super::lossless::decode::{self as lossless, Flatten, Restore, Side};
use super::lossless::slope::{self, AsCodes};
use super::lossless::{Form, Prediction};
use super::patches::Patches;
use crate::codec::interp::plan::Plan;
use crate::codec::interp::predict::interpolation;
use crate::codec::interp::quantize::lattice::{Bins, Lattice, Multiple};
use crate::codec::interp::quantize::ordered_bits::from_bits;
use crate::codec::interp::reader::{take, take16};
use crate::codec::predict::code::decode::{self as code, Own};
use crate::codec::predict::code::simd::tile::{Coded, Codes, DecodeShort, DecodeTwo, DecodeWide, Packed};
use crate::codec::predict::code::sparse;
use crate::codec::predict::code::states::read_states;
use crate::codec::predict::code::tables::TOKENS;
use crate::codec::predict::format::*;
use crate::codec::predict::predict::short::{STEP, Sums, restore};
use crate::container::Kind;
use crate::error::{Result, fail};
use crate::host::memory::filled;
use crate::primitives::lorenzo::{self, AXES};
use crate::primitives::quantize::Element;
use crate::primitives::rans::LANES;
use crate::simd::lanes::{Lanes, Portable};
use crate::simd::word::Word;
use crate::simd::{Level, Scalar, Task};

/// Buffers that a decoder reuses from tile to tile.
pub struct Buffers<W> {
    /// The codes.
    codes: Vec<W>,
    words: Vec<W>,
    /// Of the tile that is wanted, and of the next one.
    short: [Codes; 2],
    sums: Sums<W>,
    lossless: [lossless::Buffers; 2],
    patches: [Patches; 2],
    levels: interpolation::Buffers,
    /// Multiples, row after row.
    numbers: Vec<u32>,
    /// The tile whose codes have been decoded with those of the one before.
    next: Option<usize>,
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
    /// Allocates them for the tiles of a plan.
    pub fn new(plan: &Plan) -> Result<Buffers<W>> {
        let grid = &plan.grid;
        let interpolated = if closed_loop::is_for(plan) { grid.sides } else { [0; AXES] };
        Ok(Buffers {
            codes: filled(grid.groups() * GROUP, W::ZERO)?,
            words: filled(grid.capacity(), W::ZERO)?,
            short: [Codes::new()?, Codes::new()?],
            sums: Sums::new(grid)?,
            lossless: [lossless::Buffers::new()?, lossless::Buffers::new()?],
            patches: [Patches::new()?, Patches::new()?],
            levels: interpolation::Buffers::new(interpolated, None)?,
            numbers: filled(interpolated.iter().product(), 0)?,
            next: None,
        })
    }
}

impl<W> Buffers<W> {
    /// Forgets which tile was decoded ahead: the next one is of another stream.
    pub fn forget(&mut self) {
        self.next = None;
    }
}

/// Decodes a body into `out`, the bytes of its tile. If it is known which one comes `next` its differences may be
/// decoded meanwhile, which takes less time than one after the other; errors in it are those of its own call.
pub fn tile<E: Multiple>(
    p: impl Level,
    plan: &Plan,
    buffers: &mut Buffers<E::Word>,
    tile: Tile,
    next: Option<Tile>,
    out: &mut [u8],
) -> Result<()> {
    let Tile { kind, body, .. } = tile;
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
fn bins<E: Multiple, P: Level>(
    p: P,
    plan: &Plan,
    bins: &Bins,
    (set, base): (u8, E::Word),
    lens: [usize; AXES],
    places: &[u32],
    sums: &mut Sums<E::Word>,
    out: &mut [u8],
) {
    restore(p, set, lens, places, sums, |at, words, count| {
        // Read before anyone asks: else a vectorised loop gathers the same constants for each of its lanes.
        let bins = *bins;
        store_step(plan.big_endian, words, count, at, out, |w| bins.decode::<E, P>(w.add(base)));
    });
}

/// Writes the elements of numbers that codes below 2^31 lead to, with a slope.
#[inline(always)]
#[allow(clippy::too_many_arguments)] // What a tile has at hand.
fn sloped<E: Multiple, P: Level>(
    p: P,
    plan: &Plan,
    (shift, slope): (u32, E::Word),
    (set, base): (u8, E::Word),
    lens: [usize; AXES],
    codes: &[u32],
    sums: &mut Sums<E::Word>,
    out: &mut [u8],
) {
    let mut steps = [E::Word::ZERO; STEP];
    (0..STEP).for_each(|i| steps[i] = base.add(slope::times(slope, i)));
    restore(p, set, lens, codes, sums, |at, words, count| {
        let (mut words, at_first) = (*words, slope::times(slope, at));
        for i in 0..STEP {
            words[i] = words[i].add(steps[i]).add(at_first);
        }
        store_step(plan.big_endian, &words, count, at, out, |w| from_bits::<E>(w, shift));
    });
}

fn packed<E: Multiple, P: Level>(
    p: P,
    plan: &Plan,
    Tile { number, lens, body, .. }: Tile,
    next: Option<Tile>,
    buffers: &mut Buffers<E::Word>,
    out: &mut [u8],
) -> Result<()> {
    let n = out.len() / size_of::<E::Word>();
    let Buffers { short, sums, lossless: [own, own_of_next], patches: [patches, patches_of_next], .. } = buffers;
    // Of a single tile nobody needs room for the next one.
    short[0].make_room(&plan.grid)?;
    if next.is_some() {
        short[1].make_room(&plan.grid)?;
    }
    let prefix = Prefix::read::<E>(plan, body, n, own, patches)?;
    let is_ready = buffers.next.take() == Some(number);
    let mut is_short = is_ready;
    if is_ready {
        short.swap(0, 1);
    } else if prefix.head.is_sparse {
        sparse::decode(&mut &*prefix.words, &mut short[0].places[..n])?;
        is_short = true;
    } else if prefix.is_likely_short()
        && let Some(next) = next.filter(|next| next.kind == Kind::Packed)
        && let count = next.lens.iter().product()
        && let Ok(second) = Prefix::read::<E>(plan, next.body, count, own_of_next, patches_of_next)
        && second.is_likely_short()
        && !second.head.is_sparse
    {
        let (one, other) = (&prefix.packed(), &second.packed());
        let last = last_token::<E::Word>();
        let tiles = [Coded { n, packed: one, last }, Coded { n: count, packed: other, last }];
        is_short = p.by_vectors(DecodeTwo { tiles, codes: &mut *short }).unwrap_or(false);
        buffers.next = is_short.then_some(next.number);
    }
    if !is_short {
        let packed = &prefix.packed();
        let tile = Coded { n, packed, last: last_token::<E::Word>() };
        is_short = p.by_vectors(DecodeShort { tile, codes: &mut short[0] }).unwrap_or(Ok(false))?;
    }
    let (base, set) = (prefix.base, prefix.head.set);
    if prefix.head.predictor != Predictor::Axes {
        let Buffers { levels, numbers, codes, .. } = buffers;
        if !is_short {
            prefix.wide_codes(p, n, &mut short[0], codes)?;
        }
        let signed = &mut short[0].places;
        if !is_short {
            signed.iter_mut().zip(&codes[..n]).for_each(|(signed, code)| *signed = code.unzigzag().extend() as u32);
        }
        p.run(interpolation::Decode { rule: prefix.head.rule(), lens, buffers: levels, codes: signed, numbers });
        let (meaning, big_endian) = (&prefix.meaning, plan.big_endian);
        p.run(Store::<E> { meaning, base, numbers: &numbers[..n], big_endian, out, element: PhantomData });
        return patched::<E>(plan, &prefix.head, &buffers.patches[0], out);
    }
    match &prefix.meaning {
        Meaning::Bins(of) if is_short && P::HAS_VECTORS => {
            bins::<E, _>(p, plan, of, (set, base), lens, &short[0].places, sums, out)
        }
        Meaning::Bits(side) if P::HAS_VECTORS => {
            let plain_shift = side.plain_shift().filter(|_| is_short);
            let sloped_shift = side.sloped_shift().filter(|_| is_short && side.has_slope());
            if let Some(shift) = plain_shift {
                restore(p, set, lens, &short[0].places, sums, |at, words, count| {
                    store_step(plan.big_endian, words, count, at, out, |w| from_bits::<E>(w.add(base), shift));
                });
            } else if let Some((shift, slope)) = sloped_shift
                && p.run(AsCodes { differences: &mut short[0].places[..n] })
            {
                sloped::<E, _>(p, plan, (shift, slope), (set, base), lens, &short[0].places, sums, out);
            } else {
                if is_short {
                    let (differences, is_turned) = (&short[0].places[..n], sloped_shift.is_some());
                    p.run(Widen { differences, is_turned, codes: &mut buffers.codes[..n] });
                } else {
                    prefix.wide_codes(p, n, &mut short[0], &mut buffers.codes)?;
                }
                let words = &mut buffers.codes[..n];
                if side.has_slope() {
                    let side = &p.run(Flatten { side, set, lens, words: &mut *words })?;
                    p.run(Restore::<E> { side, set: 0, base, lens, words: &mut *words })?;
                } else {
                    p.run(Restore::<E> { side, set, base, lens, words: &mut *words })?;
                }
                store(plan.big_endian, words, out, |w| w);
            }
        }
        _ => {
            let (words, codes) = (&mut buffers.words[..n], &mut buffers.codes[..]);
            if is_short {
                let signed = codes.iter_mut().zip(&short[0].places[..n]);
                signed.for_each(|(code, d)| *code = E::Word::from_u64(d.extend()).zigzag());
            } else {
                prefix.wide_codes(p, n, &mut short[0], codes)?;
            }
            by_portable_code::<E>(plan, &prefix, lens, words, codes, out)?;
        }
    }
    patched::<E>(plan, &prefix.head, &buffers.patches[0], out)
}

/// Shows the codes of a packed body, unless they are symbols of a table of its own alone. Of a sparse one the groups
/// behind the last code other than 0 are left out.
pub fn codes<E: Multiple>(plan: &Plan, tile: Tile, show: &mut dyn FnMut(&[u64])) -> Result<()> {
    let n = tile.lens.iter().product();
    let Buffers { codes, short: [short, _], lossless: [own, _], patches: [patches, _], .. } =
        &mut Buffers::<E::Word>::new(plan)?;
    let prefix = Prefix::read::<E>(plan, tile.body, n, own, patches)?;
    let mut all = filled(n, 0)?;
    let mut coded = n;
    if prefix.own.is_some_and(|own| own.direct) {
        return Ok(());
    } else if prefix.head.is_sparse {
        short.make_room(&plan.grid)?;
        sparse::decode(&mut &*prefix.words, &mut short.places[..n])?;
        all.iter_mut().zip(&short.places[..n]).for_each(|(code, d)| *code = d.zigzag().into());
        coded = all.iter().rposition(|code| *code != 0).map_or(0, |last| n.min(groups(last + 1) * GROUP));
    } else {
        prefix.codes(n, codes)?;
        all.iter_mut().zip(&codes[..]).for_each(|(code, c)| *code = c.to_u64());
    }
    show(&all[..coded]);
    Ok(())
}

/// Puts the patches of a tile over its elements, if it has any.
fn patched<E: Multiple>(plan: &Plan, head: &Head, patches: &Patches, out: &mut [u8]) -> Result<()> {
    match plan.lattice() {
        Some(lattice) if head.has_patches => patch::<E>(lattice, patches, plan.big_endian, out),
        _ => Ok(()),
    }
}

/// The greatest token whose code fits 32 bits, and a word.
fn last_token<W: Word>() -> u32 {
    token((u64::MAX >> (64 - W::BITS)) & u64::from(u32::MAX)).0
}

/// Short differences as codes of words.
struct Widen<'a, W> {
    differences: &'a [u32],
    /// They are codes already.
    is_turned: bool,
    codes: &'a mut [W],
}

impl<W: Word> Task for Widen<'_, W> {
    type Done = ();

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) {
        let n = self.codes.len().min(self.differences.len());
        if self.is_turned {
            for i in 0..n {
                self.codes[i] = W::from_u64(self.differences[i].into());
            }
            return;
        }
        for i in 0..n {
            self.codes[i] = W::from_u64(self.differences[i].zigzag().into());
        }
    }
}

/// Writes the elements of interpolated numbers.
struct Store<'a, E: Multiple> {
    meaning: &'a Meaning<'a, E::Word>,
    base: E::Word,
    numbers: &'a [u32],
    big_endian: bool,
    out: &'a mut [u8],
    element: PhantomData<E>,
}

impl<E: Multiple> Task for Store<'_, E> {
    type Done = ();

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) {
        let Store { meaning, base, numbers, big_endian, out, .. } = self;
        let size = size_of::<E::Word>();
        let shift = match meaning {
            Meaning::Bits(side) => side.plain_shift().unwrap_or(0),
            _ => 0,
        };
        let low = base.extend() as u32;
        let elements = out.chunks_exact_mut(size).zip(numbers);
        match meaning {
            Meaning::Multiples(lattice) => {
                for (place, number) in elements {
                    put(place, big_endian, E::multiple(lattice, number.wrapping_add(low) as i32));
                }
            }
            Meaning::Bins(bins) => {
                for (place, number) in elements {
                    put(place, big_endian, bins.decode::<E, Scalar>(E::Word::from_u64(number.extend()).add(base)));
                }
            }
            Meaning::Bits(_) => {
                for (place, number) in elements {
                    put(place, big_endian, from_bits::<E>(E::Word::from_u64(number.extend()).add(base), shift));
                }
            }
        }
    }
}

/// Writes an element in the order of bytes asked for.
#[inline(always)]
fn put<W: Word>(place: &mut [u8], big_endian: bool, bits: W) {
    (if big_endian { bits.swap() } else { bits }).store(place);
}

/// Puts what a predictor does not restore over what it did.
#[inline(never)]
fn patch<E: Multiple>(lattice: &Lattice, patches: &Patches, big_endian: bool, out: &mut [u8]) -> Result<()> {
    let size = size_of::<E::Word>();
    let put = |place: &mut [u8], bits: E::Word| (if big_endian { bits.swap() } else { bits }).store(place);
    for (number, by) in &patches.corrections {
        let place = &mut out[usize::from(*number) * size..][..size];
        let word = E::Word::load(place);
        let bits = if big_endian { word.swap() } else { word };
        let Some(multiple) = E::number(lattice, bits) else {
            return fail!(Corrupt, "element {number} of a tile is no multiple, and has a correction");
        };
        put(place, E::multiple(lattice, multiple.wrapping_add((*by).into())));
    }
    for (number, bits) in &patches.exceptions {
        put(&mut out[usize::from(*number) * size..][..size], E::Word::from_u64(*bits));
    }
    Ok(())
}

/// The elements of a packed tile without a level's instructions. Never inlined: it is one for all levels.
#[inline(never)]
fn by_portable_code<E: Multiple>(
    plan: &Plan,
    prefix: &Prefix<E::Word>,
    lens: [usize; AXES],
    words: &mut [E::Word],
    places: &[E::Word],
    out: &mut [u8],
) -> Result<()> {
    let base = prefix.base;
    match &prefix.meaning {
        Meaning::Bins(bins) => {
            words.iter_mut().zip(places).for_each(|(w, code)| *w = code.unzigzag());
            lorenzo::inverse(prefix.head.set, lens, words);
            store(plan.big_endian, words, out, |w| bins.decode::<E, Scalar>(w.add(base)));
        }
        Meaning::Bits(side) => {
            words.iter_mut().zip(places).for_each(|(w, code)| *w = *code);
            let set = prefix.head.set;
            if side.has_slope() {
                let side = &Flatten { side, set, lens, words: &mut *words }.run(Portable)?;
                Restore::<E> { side, set: 0, base, lens, words: &mut *words }.run(Portable)?;
            } else {
                Restore::<E> { side, set, base, lens, words: &mut *words }.run(Portable)?;
            }
            store(plan.big_endian, words, out, |w| w);
        }
        Meaning::Multiples(..) => return fail!(Internal, "multiples were given to the code of bins"),
    }
    Ok(())
}

/// What the words of a tile stand for.
enum Meaning<'a, W> {
    Bins(&'a Bins),
    /// Elements' bits.
    Bits(Side<'a, W>),
    /// Interpolated multiples of the fine lattice.
    Multiples(&'a Lattice),
}

/// What stands before the words of a packed body, and these.
struct Prefix<'a, W> {
    head: Head,
    meaning: Meaning<'a, W>,
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
        patches: &mut Patches,
    ) -> Result<Prefix<'a, W>> {
        let rest = &mut rest;
        let mut bytes = [0; HEAD_BYTES];
        bytes.copy_from_slice(take(rest, HEAD_BYTES)?);
        let head = Head::read(bytes, groups(n))?;
        check_head(plan, &head)?;
        let form = match &plan.bins {
            Some(_) if head.map != Map::Exact => None,
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
        if head.has_patches {
            patches.read::<W>(rest, n)?;
        }
        if form.is_none() && head.has_table {
            buffers.read_table(rest, TOKENS)?;
        }
        let (meaning, own) = match (&plan.bins, plan.lattice(), form) {
            (_, _, Some(form)) => {
                let side = Side::read(form, head.has_table, rest, n, buffers)?;
                let own = side.own();
                (Meaning::Bits(side), own)
            }
            (_, Some(lattice), None) if head.map != Map::Plain => {
                (Meaning::Multiples(lattice), head.has_table.then(|| buffers.own()))
            }
            (Some(bins), _, None) => (Meaning::Bins(bins), head.has_table.then(|| buffers.own())),
            _ => return fail!(Internal, "a tile has neither bins nor bits"),
        };
        let lanes = if head.is_sparse { [1; LANES] } else { read_states(&head, rest)? };
        let needs_plain = head.is_sparse || head.predictor != Predictor::Axes;
        if needs_plain && matches!(meaning, Meaning::Bits(ref side) if side.plain_shift().is_none()) {
            return fail!(Corrupt, "head {head:?} does not go with a form that is not plain");
        }
        Ok(Prefix { head, meaning, base, own, lanes, words: rest })
    }
}

/// Whether a tile may have this head.
fn check_head(plan: &Plan, head: &Head) -> Result<()> {
    let is_interpolated = head.predictor != Predictor::Axes;
    let legal = match head.map {
        Map::Plain => !head.has_patches || plan.lattice().is_some(),
        Map::Lattice | Map::Multiples => is_interpolated && plan.lattice().is_some(),
        Map::Exact => !head.has_patches && plan.bins.is_some(),
    };
    let legal = legal && (!is_interpolated || closed_loop::is_for(plan));
    if legal && head.set & !plan.grid.set() == 0 {
        return Ok(());
    }
    fail!(Corrupt, "head {head:?} does not go with the stream's header")
}

impl<W: Word> Prefix<'_, W> {
    /// Whether codes fit 32 bits, most likely: those of bins, of multiples and of short words.
    fn is_likely_short(&self) -> bool {
        W::BITS <= 32 || !matches!(self.meaning, Meaning::Bits(_))
    }

    /// What it says of codes.
    fn packed(&self) -> Packed<'_> {
        let own = self.own.map(|own| own.slots);
        let direct = self.own.is_some_and(|own| own.direct);
        Packed { switch: self.head.switch, lanes: self.lanes, own, direct, bytes: self.words }
    }

    /// The same as `codes`, by vectors where there are some for these words.
    fn wide_codes(&self, p: impl Level, n: usize, buffers: &mut Codes, codes: &mut [W]) -> Result<()> {
        let tile = Coded { n, packed: &self.packed(), last: last_token::<W>() };
        let done = W::wide_mut(codes).and_then(|codes| p.by_vectors(DecodeWide { tile, buffers, codes }));
        done.unwrap_or_else(|| self.codes(n, codes))
    }

    /// Decodes all `n` codes, and makes those behind them 0 up to the end of the last group.
    fn codes(&self, n: usize, codes: &mut [W]) -> Result<()> {
        code::codes(n, self.head.switch, self.lanes, self.own, self.words, codes)
    }
}
