//! Floats that are integers over a power of ten, as measurements and text files have them: the integers are the words.
//! Elements that are not come back from a list.

use crate::codec::interp::predict::sample::Numbers;
use crate::codec::interp::rules::PIECE;
use crate::codec::shared::reader::{take, take16};
use crate::error::{Result, fail};
use crate::primitives::quantize::Element;
use crate::simd::Task;
use crate::simd::numbers::CodeVectors;
use crate::simd::word::Word;

/// Powers of ten, by their digits.
pub const POWERS: [f64; 16] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
/// Integers are below this.
const LIMIT: f64 = (1u64 << 51) as f64;
/// What is added and taken away to round to an integer.
pub const ROUND: f64 = (3u64 << 51) as f64;
/// Elements that are taken at once.
const BLOCK: usize = 64;
/// Elements that are looked at first, and how many of them may not be decimals.
const SAMPLE: usize = 32;
pub const ODD: usize = 3;

/// Whether elements of a type may be decimals.
pub const fn has<E: Element>() -> bool {
    matches!((E::EXPONENT_BITS, E::Word::BITS), (8, 32) | (11, 64))
}

/// The element next to k / `power`.
#[inline(always)]
fn element<E: Element>(k: E::Word, power: f64) -> E::Word {
    let value = k.extend() as i64 as f64 / power;
    E::Word::from_u64(if E::Word::BITS == 64 { value.to_bits() } else { u64::from((value as f32).to_bits()) })
}

/// The number that an element is.
#[inline(always)]
pub fn value<E: Element>(bits: E::Word) -> f64 {
    let bits = bits.to_u64();
    if E::Word::BITS == 64 { f64::from_bits(bits) } else { f32::from_bits(bits as u32).into() }
}

/// The integer of an element, and whether that gives it back.
#[inline(always)]
fn integer<E: Element>(bits: E::Word, power: f64) -> (E::Word, bool) {
    let k = (value::<E>(bits) * power + ROUND) - ROUND;
    let most = LIMIT.min(f64::from(E::Word::BITS - 1).exp2());
    let is_near = k.abs() < most;
    let k = E::Word::from_u64(if is_near { k as i64 as u64 } else { 0 });
    (k, is_near & (element::<E>(k, power) == bits))
}

/// How many digits the elements may have.
pub fn digits<E: Element>(elements: &[E::Word]) -> Option<u8> {
    if !has::<E>() {
        return None;
    }
    let step = elements.len().div_ceil(SAMPLE);
    let odd = |power: f64| elements.iter().step_by(step).filter(|bits| !integer::<E>(**bits, power).1).count();
    POWERS.iter().position(|power| odd(*power) <= ODD).map(|digits| digits as u8)
}

/// The integers of elements less the first one, made where somebody looks at them.
pub struct Sampled<'a, E: Element, N> {
    pub elements: &'a [E::Word],
    pub digits: u8,
    pub first: N,
}

impl<E: Element, N: Copy> Clone for Sampled<'_, E, N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E: Element, N: Copy> Copy for Sampled<'_, E, N> {}

impl<E: Element, N: Word> Numbers for Sampled<'_, E, N> {
    type N = N;

    #[inline(always)]
    fn copy_to(&self, at: usize, to: &mut [N]) {
        let (power, mut any_odd) = (POWERS[usize::from(self.digits)], 0);
        let mut are_odd = [0u8; 2 * PIECE];
        let (elements, are_odd) = (&self.elements[at..at + to.len()], &mut are_odd[..to.len()]);
        for i in 0..to.len() {
            let (k, is_it) = integer::<E>(elements[i], power);
            to[i] = N::from_u64(k.extend()).sub(self.first);
            are_odd[i] = u8::from(!is_it);
            any_odd |= are_odd[i];
        }
        if any_odd == 0 {
            return;
        }
        for i in 0..to.len() {
            if are_odd[i] != 0 {
                to[i] = if i > 0 { to[i - 1] } else { self.before(at) };
            }
        }
    }
}

impl<E: Element, N: Word> Sampled<'_, E, N> {
    /// What stands in the place of an element that is no decimal.
    #[inline(never)]
    fn before(&self, at: usize) -> N {
        let integers =
            self.elements[..at].iter().rev().map(|bits| integer::<E>(*bits, POWERS[usize::from(self.digits)]));
        let last = integers.into_iter().find(|(_, is_it)| *is_it);
        N::from_u64(last.map_or(0, |(k, _)| k.extend())).sub(self.first)
    }
}

/// Elements that are no decimals, by place and bits.
pub type Odd<W> = Vec<(u16, W)>;

/// Of so many elements so many may be odd, at most.
pub fn most_odd(n: usize) -> usize {
    n / 8
}

/// The integers of elements; `odd` takes those that have none. Whether there are not too many.
pub struct Integers<'a, E: Element> {
    pub elements: &'a [E::Word],
    pub digits: u8,
    pub words: &'a mut [E::Word],
    pub odd: &'a mut Odd<E::Word>,
}

impl<E: Element> Task for Integers<'_, E> {
    type Done = bool;

    #[inline(always)]
    fn run<P: CodeVectors<M>, const M: usize>(self, _: P) -> bool {
        let Integers { elements, digits, words, odd } = self;
        let power = POWERS[usize::from(digits)];
        let mut before = E::Word::ZERO;
        odd.clear();
        let n = elements.len();
        for at in (0..n).step_by(BLOCK) {
            let (mut block, mut integers) = ([E::Word::ZERO; BLOCK], [E::Word::ZERO; BLOCK]);
            let (mut are_odd, there) = ([0u8; BLOCK], BLOCK.min(n - at));
            block[..there].copy_from_slice(&elements[at..at + there]);
            let mut any_odd = 0;
            for i in 0..BLOCK {
                let (k, is_it) = integer::<E>(block[i], power);
                (integers[i], are_odd[i]) = (k, u8::from(!is_it));
                any_odd |= are_odd[i];
            }
            if any_odd != 0 {
                for i in 0..there {
                    if are_odd[i] == 0 {
                        before = integers[i];
                        continue;
                    }
                    if odd.len() == most_odd(n) {
                        return false;
                    }
                    odd.push(((at + i) as u16, block[i]));
                    integers[i] = before;
                }
            }
            words[at..at + there].copy_from_slice(&integers[..there]);
            before = integers[there - 1];
        }
        true
    }
}

/// Bits that `write` adds, at least.
pub const LEAST_COST: u64 = 32;

/// Bits that `write` adds.
pub fn cost<W: Word>(odd: &Odd<W>) -> u64 {
    LEAST_COST + odd.len() as u64 * u64::from(16 + W::BITS)
}

/// Writes how many digits, and the odd elements.
pub fn write<W: Word>(digits: u8, odd: &Odd<W>, out: &mut Vec<u8>) {
    out.extend([digits, 0]);
    out.extend((odd.len() as u16).to_le_bytes());
    odd.iter().for_each(|(place, _)| out.extend(place.to_le_bytes()));
    for (_, bits) in odd {
        let mut bytes = [0; 8];
        bits.store(&mut bytes[..size_of::<W>()]);
        out.extend(&bytes[..size_of::<W>()]);
    }
}

/// What `write` wrote.
#[derive(Clone, Copy, Debug)]
pub struct Decimals<'a> {
    power: f64,
    places: &'a [u8],
    bits: &'a [u8],
}

impl<'a> Decimals<'a> {
    /// Reads it for a tile of `n` elements.
    pub fn read(rest: &mut &'a [u8], n: usize, size: usize) -> Result<Decimals<'a>> {
        let digits = take16(rest)?;
        let count = usize::from(take16(rest)?);
        let Some(power) = POWERS.get(usize::from(digits)) else {
            return fail!(Corrupt, "decimals of {digits} digits");
        };
        let decimals = Decimals { power: *power, places: take(rest, 2 * count)?, bits: take(rest, size * count)? };
        let mut free = 0;
        for place in decimals.places() {
            if !(free..n).contains(&place) {
                return fail!(Corrupt, "element {place} of {n} is no decimal, where {free} is the first");
            }
            free = place + 1;
        }
        Ok(decimals)
    }

    fn places(&self) -> impl Iterator<Item = usize> + 'a {
        self.places.as_chunks().0.iter().map(|place| u16::from_le_bytes(*place).into())
    }

    /// The elements of integers, which become them.
    pub fn elements<E: Element>(&self, words: &mut [E::Word]) {
        words.iter_mut().for_each(|w| *w = element::<E>(*w, self.power));
        for (place, bits) in self.places().zip(self.bits.chunks_exact(size_of::<E::Word>())) {
            words[place] = E::Word::load(bits);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_rise_and_end() {
        let read = |places: [u8; 4]| {
            let bytes = [&[3, 0, 2, 0][..], &places, &[0; 8]].concat();
            Decimals::read(&mut &bytes[..], 100, 4).is_ok()
        };
        assert!(read([7, 0, 99, 0]));
        assert!(!read([7, 0, 7, 0]) && !read([8, 0, 7, 0]) && !read([7, 0, 100, 0]));
        assert!(Decimals::read(&mut &[16, 0, 0, 0][..], 100, 4).is_err());
    }
}
