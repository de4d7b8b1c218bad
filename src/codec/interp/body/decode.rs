//! One body to its tile. Everything is checked before it is used: a body that passed its checksum may still be hostile.

use std::marker::PhantomData;

use super::form::{Form, Order};
use super::patches::{self, Patch, Patches};
use crate::codec::interp::entropy::decode::Codes;
use crate::codec::interp::format::*;
use crate::codec::interp::lattice::Multiple;
use crate::codec::interp::plan::Plan;
use crate::codec::interp::predict::decode::{self as interpolate, Decode as Interpolate, Signed};
use crate::codec::interp::predict::interpolation;
use crate::codec::interp::quantize::decimals::{self, Decimals};
use crate::codec::interp::quantize::ordered_bits::from_bits;
use crate::codec::interp::quantize::ranks;
use crate::codec::interp::reader::take;
use crate::container::Kind;
use crate::error::{Result, fail};
use crate::host::memory::filled;
use crate::primitives::lorenzo::{self, AXES};
use crate::simd::lanes::{LONGEST, Lanes};
use crate::simd::word::Word;
use crate::simd::{Compiled, Level, Scalar, Task};

/// What a decoder keeps from tile to tile.
pub struct Decoder<E: Multiple, N: Word> {
    codes: Codes<N>,
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
    pub lens: [usize; AXES],
    pub kind: Kind,
    pub bytes: &'a [u8],
}

/// What numbers with the base are; of decimals and ranks the word.
#[derive(Clone, Copy)]
struct Meaning<'a, N> {
    plan: &'a Plan,
    numbers: Numbers,
    order: Order,
    shift: u32,
    base: N,
}

/// The element of a number with the base, by what numbers stand for; of decimals and ranks the word.
#[inline(always)]
pub fn element<E: Multiple, N: Word>(plan: &Plan, numbers: Numbers, shift: u32, number: N) -> E::Word {
    let word = E::Word::from_u64(number.to_u64());
    match (numbers, &plan.bins, plan.lattice()) {
        (Numbers::Bins, Some(bins), _) => bins.decode::<E, Scalar>(word),
        (Numbers::Steps | Numbers::Multiples, _, Some(lattice)) => E::multiple(lattice, number.to_u64() as i32),
        _ => from_bits::<E>(word, shift),
    }
}

impl<E: Multiple, N: Word> Decoder<E, N> {
    /// For the tiles of a plan.
    pub fn new(plan: &Plan) -> Result<Decoder<E, N>> {
        let n = plan.grid.capacity();
        let sides = if interpolation::is_for(plan.grid.sides) { plan.grid.sides } else { [1; AXES] };
        Ok(Decoder {
            codes: Codes::new(n)?,
            words: filled(n, E::Word::ZERO)?,
            signed: filled(n + LONGEST, 0)?,
            levels: interpolate::Buffers::new(sides)?,
            patches: patches::none(n)?,
        })
    }

    /// Decodes a body into `out`, its elements in the array's order of bytes.
    pub fn decode(&mut self, p: impl Level, plan: &Plan, body: Body, out: &mut [u8]) -> Result<()> {
        let size = size_of::<E::Word>();
        match body.kind {
            Kind::Packed => self.packed(p, plan, body, out)?,
            Kind::Raw => {
                let (elements, padding) = body.bytes.split_at_checked(out.len()).unwrap_or((&[], &[1]));
                check_padding(padding)?;
                out.copy_from_slice(elements);
            }
            Kind::Constant => {
                let (element, padding) = body.bytes.split_at_checked(size).unwrap_or((&[], &[1]));
                check_padding(padding)?;
                out.chunks_exact_mut(size).for_each(|place| place.copy_from_slice(element));
            }
            Kind::Masked => return fail!(Internal, "a masked body was given to codec interp"),
        }
        if plan.big_endian {
            out.chunks_exact_mut(size).for_each(<[u8]>::reverse);
        }
        Ok(())
    }

    /// The elements of a packed body, little-endian.
    fn packed(&mut self, p: impl Level, plan: &Plan, body: Body, out: &mut [u8]) -> Result<()> {
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
        self.patches.clear();
        if head.has_patches {
            patches::read::<E::Word>(rest, n, &mut self.patches)?;
        }
        let meaning = Meaning { plan, numbers: head.numbers, order: form.order, shift: form.shift, base };
        match head.is_interpolated() {
            true => self.interpolated(p, &head, body.lens, rest, &meaning, out)?,
            false => self.along_axes(p, &head, body.lens, rest, &meaning, out)?,
        }
        if form.order == Order::Numbers {
            return Ok(());
        }
        let size = size_of::<E::Word>();
        let words = &mut self.words[..n];
        words.iter_mut().zip(out.chunks_exact(size)).for_each(|(word, bytes)| *word = E::Word::load(bytes));
        match decimals {
            Some(decimals) => decimals.elements::<E>(words),
            None => ranks::elements(list, words)?,
        }
        words.iter().zip(out.chunks_exact_mut(size)).for_each(|(word, place)| word.store(place));
        Ok(())
    }

    /// Reads codes of interpolation, and makes elements of them.
    fn interpolated<P: Level>(
        &mut self,
        p: P,
        head: &Head,
        lens: [usize; AXES],
        rest: &[u8],
        meaning: &Meaning<N>,
        out: &mut [u8],
    ) -> Result<()> {
        let (n, size) = (lens.iter().product::<usize>(), size_of::<E::Word>());
        let Decoder { codes, signed, levels, patches, .. } = self;
        let mut verdict = Ok(());
        let mut show = |first: usize, numbers: &[u32]| {
            let out = &mut out[first * size..][..numbers.len() * size];
            p.run(Elements::<E, N, u32> { meaning, numbers, out, element: PhantomData });
            if !patches.is_empty() {
                let patched = patch::<E, N, u32>(meaning, patches, first, numbers, out);
                if verdict.is_ok() {
                    verdict = patched;
                }
            }
        };
        let rule = head.rule();
        let is_short = codes.read(p, head, rest, n, true)?;
        let done = is_short && {
            let codes = Signed::Short(&mut codes.short);
            p.run(Interpolate { rule, lens, buffers: &mut *levels, codes, show: &mut show })?
        };
        if !done {
            // Sums of short ones may be long.
            if is_short {
                codes.read(p, head, rest, n, false)?;
            }
            signed.iter_mut().zip(&codes.long[..n]).for_each(|(signed, code)| *signed = code.extend() as u32);
            p.run(Interpolate { rule, lens, buffers: levels, codes: Signed::Long(signed), show: &mut show })?;
        }
        verdict
    }

    /// Reads codes that are differences along axes, or symbols, and makes elements of them.
    fn along_axes<P: Level>(
        &mut self,
        p: P,
        head: &Head,
        lens: [usize; AXES],
        rest: &[u8],
        meaning: &Meaning<N>,
        out: &mut [u8],
    ) -> Result<()> {
        let n = lens.iter().product();
        self.codes.read(p, head, rest, n, false)?;
        let numbers = &mut self.codes.long[..n];
        p.run(Sums { set: head.set, lens, numbers: &mut *numbers });
        p.run(Elements::<E, N, N> { meaning, numbers, out: &mut *out, element: PhantomData });
        patch::<E, N, N>(meaning, &self.patches, 0, numbers, out)
    }
}

/// Differences along axes of a set to numbers, in their place.
struct Sums<'a, N> {
    set: u8,
    lens: [usize; AXES],
    numbers: &'a mut [N],
}

impl<N: Word> Task for Sums<'_, N> {
    type Done = ();

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) {
        lorenzo::inverse(self.set, self.lens, self.numbers);
    }
}

/// Numbers less the base to elements, little-endian.
struct Elements<'a, E, N, S> {
    meaning: &'a Meaning<'a, N>,
    numbers: &'a [S],
    out: &'a mut [u8],
    element: PhantomData<E>,
}

impl<E: Multiple, N: Word, S: Word, P: Level> Compiled<P> for Elements<'_, E, N, S> {
    type Done = ();

    #[inline(always)]
    fn run(self, _: P) {
        let Meaning { plan, numbers: of, order, shift, base } = *self.meaning;
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
        && (!head.is_interpolated() || interpolation::is_for(plan.grid.sides))
        && head.set & !plan.grid.set() == 0;
    if is_legal { Ok(()) } else { fail!(Corrupt, "head {head:?} does not go with the stream's header") }
}

fn check_padding(padding: &[u8]) -> Result<()> {
    if padding.len() > 3 || padding.iter().any(|byte| *byte != 0) {
        return fail!(Corrupt, "padding bytes are not zero");
    }
    Ok(())
}
