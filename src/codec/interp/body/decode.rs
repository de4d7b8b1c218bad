//! One body to its tile. Everything is checked before it is used: a body that passed its checksum may still be hostile.

use super::form::{Form, Order};
use super::patches::{self, Patch, Patches};
use crate::codec::interp::entropy::decode as entropy;
use crate::codec::interp::format::*;
use crate::codec::interp::plan::Plan;
use crate::codec::interp::predict::interpolation;
use crate::codec::interp::quantize::decimals::{self, Decimals};
use crate::codec::interp::quantize::lattice::Multiple;
use crate::codec::interp::quantize::ordered_bits::from_bits;
use crate::codec::interp::quantize::ranks;
use crate::codec::interp::reader::take;
use crate::container::Kind;
use crate::error::{Result, fail};
use crate::host::memory::filled;
use crate::primitives::lorenzo::{self, AXES};
use crate::simd::lanes::LONGEST;
use crate::simd::word::Word;
use crate::simd::{Level, Scalar};

/// What a decoder keeps from tile to tile.
pub struct Decoder<E: Multiple, N: Word> {
    codes: Vec<N>,
    elements: Vec<E::Word>,
    /// Of interpolation: signed codes, and numbers.
    short: Vec<u32>,
    numbers: Vec<u32>,
    levels: interpolation::Buffers,
    patches: Patches,
    room: entropy::Room,
}

/// A body, and the lengths of its tile.
#[derive(Clone, Copy)]
pub struct Body<'a> {
    pub lens: [usize; AXES],
    pub kind: Kind,
    pub bytes: &'a [u8],
}

/// What numbers with the base are, by what numbers stand for; of decimals and ranks the word.
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
        Ok(Decoder {
            codes: filled(n, N::ZERO)?,
            elements: filled(n, E::Word::ZERO)?,
            short: filled(n + LONGEST, 0)?,
            numbers: filled(n, 0)?,
            levels: interpolation::Buffers::new(plan.grid.sides, false)?,
            patches: patches::none(n)?,
            room: entropy::Room::new()?,
        })
    }

    /// Decodes a body into `out`, its elements in the array's order of bytes.
    pub fn decode(&mut self, p: impl Level, plan: &Plan, body: Body, out: &mut [u8]) -> Result<()> {
        let size = size_of::<E::Word>();
        match body.kind {
            Kind::Packed => self.packed(p, plan, body)?,
            Kind::Raw => {
                let (elements, padding) = body.bytes.split_at_checked(out.len()).unwrap_or((&[], &[1]));
                check_padding(padding)?;
                self.elements
                    .iter_mut()
                    .zip(elements.chunks_exact(size))
                    .for_each(|(w, bytes)| *w = E::Word::load(bytes));
            }
            Kind::Constant => {
                check_padding(body.bytes.get(size..).unwrap_or(&[1]))?;
                self.elements.fill(E::Word::load(body.bytes));
            }
            Kind::Masked => return fail!(Internal, "a masked body was given to codec interp"),
        }
        for (place, word) in out.chunks_exact_mut(size).zip(&self.elements) {
            (if plan.big_endian { word.swap() } else { *word }).store(place);
        }
        Ok(())
    }

    /// The elements of a packed body.
    fn packed(&mut self, p: impl Level, plan: &Plan, body: Body) -> Result<()> {
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
        entropy::read(&head, rest, &mut self.room, &mut self.codes[..n])?;
        self.predict(p, &head, body.lens);
        let Decoder { codes, elements, patches, .. } = self;
        let (numbers, elements) = (&mut codes[..n], &mut elements[..n]);
        numbers.iter_mut().for_each(|number| *number = number.add(base));
        let words = || numbers.iter().map(|number| E::Word::from_u64(number.to_u64()));
        if form.order == Order::Numbers {
            let (of, shift) = (head.numbers, form.shift);
            elements.iter_mut().zip(&*numbers).for_each(|(to, k)| *to = element::<E, N>(plan, of, shift, *k));
        } else {
            elements.iter_mut().zip(words()).for_each(|(to, word)| *to = word);
        }
        if let Some(decimals) = decimals {
            decimals.elements::<E>(elements);
        }
        if form.order == Order::Ranks {
            ranks::elements(list, elements)?;
        }
        for (i, patch) in patches {
            let i = usize::from(*i);
            match patch {
                Patch::Exception(bits) => elements[i] = E::Word::from_u64(*bits),
                Patch::Correction(0) => {}
                Patch::Correction(by) => elements[i] = corrected::<E, N>(plan, head.numbers, numbers[i], *by, i)?,
            }
        }
        Ok(())
    }

    /// Codes to numbers, in their place.
    fn predict(&mut self, p: impl Level, head: &Head, lens: [usize; AXES]) {
        let n: usize = lens.iter().product();
        let Decoder { codes, short, numbers, levels, .. } = self;
        let codes = &mut codes[..n];
        if head.is_interpolated() {
            short.iter_mut().zip(&*codes).for_each(|(short, code)| *short = code.unzigzag().extend() as u32);
            let numbers = &mut numbers[..n];
            p.run(interpolation::Decode { rule: head.rule(), lens, buffers: levels, codes: short, numbers });
            codes.iter_mut().zip(&*numbers).for_each(|(to, number)| *to = N::from_u64(number.extend()));
        } else if head.predictor == Predictor::Axes {
            codes.iter_mut().for_each(|code| *code = code.unzigzag());
            lorenzo::inverse(head.set, lens, codes);
        }
    }
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
