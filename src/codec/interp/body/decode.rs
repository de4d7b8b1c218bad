//! One body to its tile. Everything is checked before it is used: a body that passed its checksum may still be hostile.

use std::marker::PhantomData;

use super::form::{Form, Order};
use super::patches::{self, Patch, Patches};
use crate::codec::interp::entropy::decode::{Coded, Codes};
use crate::codec::interp::format::*;
use crate::codec::interp::lattice::Multiple;
use crate::codec::interp::plan::Plan;
use crate::codec::interp::predict::decode::{self as interpolate, Decode as Interpolate};
use crate::codec::interp::predict::interpolation;
use crate::codec::interp::quantize::decimals::{self, Decimals};
use crate::codec::interp::quantize::ordered_bits::from_bits;
use crate::codec::interp::quantize::ranks;
use crate::codec::shared::reader::{take, zero};
use crate::container::Kind;
use crate::error::{Result, fail};
use crate::host::memory::filled;
use crate::primitives::lorenzo::{self, AXES};
use crate::simd::numbers::{CodeVectors, LONGEST};
use crate::simd::word::Word;
use crate::simd::{Level, Task};

/// What a decoder keeps from tile to tile.
pub struct Decoder<E: Multiple, N: Word> {
    codes: Codes<N>,
    /// The tile whose short codes are there already.
    ready: Option<usize>,
    /// Those of the last one were short.
    are_short: bool,
    /// Of forms whose numbers are not elements yet.
    words: Vec<E::Word>,
    /// Signed codes of interpolation that are not short.
    signed: Vec<u32>,
    levels: interpolate::Buffers,
    patches: Patches,
}

/// A body, and the lengths of its tile.
#[derive(Clone, Copy)]
pub struct Body<'a> {
    pub number: usize,
    pub lens: [usize; AXES],
    pub kind: Kind,
    pub bytes: &'a [u8],
}

/// Is shown pieces of a tile: the place of the first byte, and bytes, which may change.
type Show<'s> = &'s mut dyn FnMut(usize, &mut [u8]);

/// Where a tile's elements go: to `bytes`, or there in pieces that are shown, with the place of the first byte.
pub struct Out<'a, 's> {
    pub bytes: &'a mut [u8],
    pub show: Option<Show<'s>>,
}

impl Out<'_, '_> {
    /// Makes `len` bytes from `first` on, and shows them.
    fn put(&mut self, first: usize, len: usize, make: impl FnOnce(&mut [u8])) {
        let at = if self.show.is_some() { 0 } else { first };
        let bytes = &mut self.bytes[at..at + len];
        make(&mut *bytes);
        if let Some(show) = &mut self.show {
            show(first, bytes);
        }
    }
}

/// What stands in a body before its codes.
struct Front<'a, N> {
    head: Head,
    meaning: Meaning<'a, N>,
    decimals: Option<Decimals<'a>>,
    /// The bytes of ranks' elements.
    list: &'a [u8],
    rest: &'a [u8],
}

impl<N> Front<'_, N> {
    /// Whether what is on the grid of a level can be had alone.
    fn has_levels(&self) -> bool {
        self.head.is_interpolated() && self.meaning.form.order == Order::Numbers
    }

    /// The codes of a tile of which those of a level and above are wanted.
    fn coded(&self, lens: [usize; AXES], level: u32) -> Coded<'_> {
        let wanted = interpolation::layout::codes_from(lens, level);
        Coded { head: &self.head, bytes: self.rest, n: lens.iter().product(), wanted }
    }
}

/// What numbers are less the base; of decimals and ranks the word.
#[derive(Clone, Copy)]
pub struct Meaning<'a, N> {
    pub plan: &'a Plan,
    pub numbers: Numbers,
    pub form: Form,
    pub base: N,
}

/// Reads what stands before the codes of a packed body; patches that nobody wants are passed.
fn front<'a, E: Multiple, N: Word>(
    plan: &'a Plan,
    body: Body<'a>,
    patches: Option<&mut Patches>,
) -> Result<Front<'a, N>> {
    let n: usize = body.lens.iter().product();
    let rest = &mut &body.bytes[..];
    let mut bytes = [0; HEAD_BYTES];
    bytes.copy_from_slice(take(rest, HEAD_BYTES)?);
    let head = Head::read(bytes, groups(n), N::BITS)?;
    check_head(plan, &head)?;
    let mut high = [0; 8];
    high[..2 * head.base_words].copy_from_slice(take(rest, 2 * head.base_words)?);
    let unused = 64 - 16 * head.base_words as u32;
    let base = if unused == 64 { 0 } else { i64::from_le_bytes(high) << unused >> unused };
    let base = N::from_u64(base as u64);
    let is_float = decimals::has::<E>();
    let form = if head.numbers == Numbers::Bits { Form::read::<E::Word>(rest, is_float)? } else { Form::default() };
    let decimals = match form.order {
        Order::Decimals => Some(Decimals::read(rest, n, size_of::<E::Word>())?),
        _ => None,
    };
    let list = if form.order == Order::Ranks { ranks::read::<E::Word>(rest)? } else { &[] };
    match patches {
        Some(patches) if head.has_patches => patches::read::<E::Word>(rest, n, patches)?,
        Some(patches) => patches.clear(),
        None if head.has_patches => patches::pass::<E::Word>(rest)?,
        None => {}
    }
    Ok(Front { head, meaning: Meaning { plan, numbers: head.numbers, form, base }, decimals, list, rest })
}

/// Puts elements into the array's order of bytes.
fn order<W>(plan: &Plan, bytes: &mut [u8]) {
    if plan.big_endian {
        bytes.chunks_exact_mut(size_of::<W>()).for_each(<[u8]>::reverse);
    }
}

impl<E: Multiple, N: Word> Decoder<E, N> {
    /// For the tiles of a plan.
    pub fn new(plan: &Plan) -> Result<Decoder<E, N>> {
        let n = plan.grid.capacity();
        let sides = if interpolation::can_interpolate(plan.grid.sides) { plan.grid.sides } else { [1; AXES] };
        Ok(Decoder {
            codes: Codes::new(n)?,
            ready: None,
            are_short: true,
            words: filled(n, E::Word::ZERO)?,
            signed: filled(n + LONGEST, 0)?,
            levels: interpolate::Buffers::new(sides)?,
            patches: patches::none(n)?,
        })
    }

    /// Begins an array.
    pub fn begin(&mut self) {
        (self.ready, self.are_short) = (None, true);
    }

    /// Decodes a body, its elements in the array's order of bytes, before the one that comes `next`.
    pub fn decode(&mut self, p: impl Level, plan: &Plan, body: Body, next: Option<Body>, mut out: Out) -> Result<()> {
        let (size, len) = (size_of::<E::Word>(), out.bytes.len());
        match body.kind {
            Kind::Packed => self.packed(p, plan, (body, next), &mut out)?,
            Kind::Raw | Kind::Constant => {
                let own = if body.kind == Kind::Raw { len } else { size };
                let padding = &mut &body.bytes[..];
                let elements = take(padding, own)?;
                zero(padding)?;
                if padding.len() >= plan.layout.unit() {
                    return fail!(Corrupt, "{} bytes behind a tile's elements", padding.len());
                }
                out.put(0, len, |bytes| {
                    match body.kind {
                        Kind::Raw => bytes.copy_from_slice(elements),
                        _ => bytes.chunks_exact_mut(size).for_each(|place| place.copy_from_slice(elements)),
                    }
                    order::<E::Word>(plan, bytes);
                });
            }
            Kind::Masked => return fail!(Internal, "a masked body was given to codec interp"),
        }
        Ok(())
    }

    /// The elements of a packed body.
    fn packed(&mut self, p: impl Level, plan: &Plan, (body, next): (Body, Option<Body>), out: &mut Out) -> Result<()> {
        let front = front::<E, N>(plan, body, Some(&mut self.patches))?;
        if front.has_levels() {
            return self.interpolated(p, &front, (body, next), 0, out);
        }
        let bytes = &mut *out.bytes;
        match front.head.is_interpolated() {
            true => self.interpolated(p, &front, (body, next), 0, &mut Out { bytes, show: None })?,
            false => self.along_axes(p, &front, body.lens, bytes)?,
        }
        let (size, len) = (size_of::<E::Word>(), out.bytes.len());
        if front.meaning.form.order != Order::Numbers {
            let words = &mut self.words[..len / size];
            words.iter_mut().zip(out.bytes.chunks_exact(size)).for_each(|(word, bytes)| *word = E::Word::load(bytes));
            match front.decimals {
                Some(decimals) => decimals.elements::<E>(words),
                None => ranks::elements(front.list, words)?,
            }
            words.iter().zip(out.bytes.chunks_exact_mut(size)).for_each(|(word, place)| word.store(place));
        }
        out.put(0, len, |bytes| order::<E::Word>(plan, bytes));
        Ok(())
    }

    /// Decodes the elements on the grid of a level into `out`, if that is shorter than decoding all; whether it is.
    pub fn on_grid(
        &mut self,
        p: impl Level,
        plan: &Plan,
        (body, next): (Body, Option<Body>),
        level: u32,
        out: &mut [u8],
    ) -> Result<bool> {
        if body.kind != Kind::Packed {
            let is_constant = body.kind == Kind::Constant;
            return if is_constant { self.decode(p, plan, body, None, Out { bytes: out, show: None }) } else { Ok(()) }
                .map(|()| is_constant);
        }
        let front = front::<E, N>(plan, body, Some(&mut self.patches))?;
        if !front.has_levels() {
            return Ok(false);
        }
        patches::thin(&mut self.patches, body.lens, level);
        self.interpolated(p, &front, (body, next), level, &mut Out { bytes: out, show: None })?;
        Ok(true)
    }

    /// Reads codes of interpolation, and makes elements of what is on the grid of a level.
    fn interpolated<P: Level>(
        &mut self,
        p: P,
        front: &Front<N>,
        (body, next): (Body, Option<Body>),
        level: u32,
        out: &mut Out,
    ) -> Result<()> {
        let (lens, size, rule, meaning) = (body.lens, size_of::<E::Word>(), front.head.rule(), &front.meaning);
        let coded = front.coded(lens, level);
        self.are_short = self.read_short(p, meaning.plan, (body.number, coded), next, level)?;
        let Decoder { codes, signed, levels, patches, .. } = self;
        let mut verdict = Ok(());
        let mut show = |first: usize, numbers: &[u32]| {
            out.put(first * size, numbers.len() * size, |bytes| {
                p.run(Elements::<E, N, u32> { meaning, numbers, out: &mut *bytes, element: PhantomData });
                if !patches.is_empty() && verdict.is_ok() {
                    verdict = patch::<E, N, u32>(meaning, patches, first, numbers, bytes);
                }
                if meaning.form.order == Order::Numbers {
                    order::<E::Word>(meaning.plan, bytes);
                }
            });
        };
        let (buffers, short) = (&mut *levels, codes.short());
        if !self.are_short || !p.run(Interpolate { rule, level, lens, buffers, codes: short, show: &mut show }) {
            // Sums of short ones may be long.
            codes.read(p, coded)?;
            let long = &codes.long[..coded.wanted];
            signed.iter_mut().zip(long).for_each(|(signed, code)| *signed = code.extend() as u32);
            p.run(Interpolate { rule, level, lens, buffers: levels, codes: &mut signed[..], show: &mut show });
        }
        verdict
    }

    /// Reads the short codes of a tile, if it has such, and meanwhile those of the next one.
    fn read_short(
        &mut self,
        p: impl Level,
        plan: &Plan,
        (number, coded): (usize, Coded),
        next: Option<Body>,
        level: u32,
    ) -> Result<bool> {
        if self.ready.take() == Some(number) {
            self.codes.go_on();
            return Ok(true);
        }
        // Where the last ones were long, these are, too.
        let next = next.filter(|next| self.are_short && next.kind == Kind::Packed);
        let front = next.and_then(|next| Some((next, front::<E, N>(plan, next, None).ok()?)));
        let is_meant = |front: &Front<N>| if level > 0 { front.has_levels() } else { front.head.is_interpolated() };
        let of_next = front.as_ref().filter(|(_, front)| is_meant(front));
        let of_next = of_next.map(|(next, front)| front.coded(next.lens, level));
        let (is_short, is_ready) = self.codes.read_short(p, coded, of_next)?;
        self.ready = front.filter(|_| is_ready).map(|(next, _)| next.number);
        Ok(is_short)
    }

    /// Reads codes that are differences along axes, or symbols, and makes elements of them.
    fn along_axes<P: Level>(&mut self, p: P, front: &Front<N>, lens: [usize; AXES], out: &mut [u8]) -> Result<()> {
        let (coded, codes, meaning) = (front.coded(lens, 0), &mut self.codes, &front.meaning);
        codes.read(p, coded)?;
        let numbers = &mut codes.long[..coded.n];
        p.loops(|| lorenzo::inverse(front.head.axes, lens, numbers));
        p.run(Elements::<E, N, N> { meaning, numbers, out: &mut *out, element: PhantomData });
        patch::<E, N, N>(meaning, &self.patches, 0, numbers, out)
    }
}

/// Numbers less the base to elements, little-endian.
pub struct Elements<'a, E, N, S> {
    pub meaning: &'a Meaning<'a, N>,
    pub numbers: &'a [S],
    pub out: &'a mut [u8],
    pub element: PhantomData<E>,
}

impl<E: Multiple, N: Word, S: Word> Task for Elements<'_, E, N, S> {
    type Done = ();

    #[inline(always)]
    fn run<P: CodeVectors<M>, const M: usize>(self, _: P) {
        let Meaning { plan, numbers: of, form: Form { shift, order }, base } = *self.meaning;
        // Read before anyone asks: else a vectorised loop gathers the same constants for each of its lanes.
        match (of, plan.bins, plan.lattice().copied()) {
            (Numbers::Steps | Numbers::Multiples, _, Some(lattice)) => {
                self.store(|number| E::multiple(&lattice, number.add(base).to_u64() as i32));
            }
            (Numbers::Bins, Some(bins), _) => {
                self.store(|number| bins.decode::<E, P>(E::Word::from_u64(number.add(base).to_u64())));
            }
            _ if order == Order::Numbers => {
                self.store(|number| from_bits::<E>(E::Word::from_u64(number.add(base).to_u64()), shift));
            }
            _ => self.store(|number| E::Word::from_u64(number.add(base).to_u64())),
        }
    }
}

impl<E: Multiple, N: Word, S: Word> Elements<'_, E, N, S> {
    #[inline(always)]
    fn store(self, element: impl Fn(N) -> E::Word) {
        for (place, number) in self.out.chunks_exact_mut(size_of::<E::Word>()).zip(self.numbers) {
            element(N::from_u64(number.extend())).store(place);
        }
    }
}

/// Puts those patches over elements that are for numbers from element `first` on.
fn patch<E: Multiple, N: Word, S: Word>(
    meaning: &Meaning<N>,
    patches: &[(u16, Patch)],
    first: usize,
    numbers: &[S],
    out: &mut [u8],
) -> Result<()> {
    let place = |i: usize| patches.partition_point(|(at, _)| usize::from(*at) < i);
    for (at, patch) in &patches[place(first)..place(first + numbers.len())] {
        let i = usize::from(*at) - first;
        let element = match patch {
            Patch::Exception(bits) => E::Word::from_u64(*bits),
            Patch::Correction(0) => continue,
            Patch::Correction(by) => {
                let number = N::from_u64(numbers[i].extend()).add(meaning.base);
                corrected::<E, N>(meaning.plan, meaning.numbers, number, *by, first + i)?
            }
        };
        element.store(&mut out[i * size_of::<E::Word>()..]);
    }
    Ok(())
}

/// An element whose multiple is changed by so much.
fn corrected<E: Multiple, N: Word>(plan: &Plan, of: Numbers, number: N, by: i32, i: usize) -> Result<E::Word> {
    let Some(lattice) = plan.lattice() else { return fail!(Internal, "a correction without a lattice") };
    let multiple = match of {
        Numbers::Bins if !lattice.has_bin(E::Word::from_u64(number.to_u64())) => {
            return fail!(Corrupt, "element {i} of a tile is no multiple, and has a correction");
        }
        Numbers::Bins => (number.extend() as i32).wrapping_mul(LATTICE_STEP as i32),
        _ => number.extend() as i32,
    };
    Ok(E::multiple(lattice, multiple.wrapping_add(by)))
}

/// Whether a tile may have this head.
fn check_head(plan: &Plan, head: &Head) -> Result<()> {
    let has_lattice = plan.lattice().is_some();
    let is_legal = match head.numbers {
        Numbers::Bits => plan.bins.is_none(),
        Numbers::Bins => plan.bins.is_some(),
        Numbers::Steps | Numbers::Multiples => has_lattice && head.is_interpolated(),
    };
    let is_legal = is_legal
        && (!head.has_patches || has_lattice)
        && (!head.is_interpolated() || interpolation::can_interpolate(plan.grid.sides))
        && head.axes & !plan.grid.axes() == 0;
    if is_legal { Ok(()) } else { fail!(Corrupt, "head {head:?} does not go with the stream's header") }
}
