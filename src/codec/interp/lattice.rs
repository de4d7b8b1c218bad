//! The fine lattice: elements of f32 and f64 as multiples of a 15th of what bins are apart
//! (docs/reference/codecs/interp.md §1).
//!
//! Let V = round(v / fine), and R be a restored multiple no more than 7 from V. The error is at most
//! 7·fine + fine/2 + d, where d is what the rounded quotient is off: at most 2^-5·fine for f32, of which |V| is below
//! 2^17, and less for f64. `Lattice::multiplier` keeps 7.53125·fine within the bound. R·fine is exact, as R has no more
//! bits than the type's mantissa lacks of the multiplier's.
//!
//! Elements beyond have bins of the quantizer. An element near the border between both is neither: it would come back
//! on the other side, and be rounded again when it is written again.

use crate::bound::{Step, exp2};
use crate::codec::interp::format::LATTICE_STEP;
use crate::codec::interp::rules::BORDER_WIDTH;
use crate::dtype::DType;
use crate::primitives::quantize::{self, BF16, Element, F16, F32, F64, Int, Quantizer};
use crate::simd::Arithmetic;
use crate::simd::word::Word;

/// fine = multiplier · 2^(j − this), with j of the quantizer's step.
const EXPONENT: i32 = 8;
/// What the multiplier may be.
pub const MULTIPLIERS: std::ops::RangeInclusive<u8> = 67..=135;
/// How far an error may be of fine: see above.
const MOST_ERROR: f64 = 7.53125;
/// The border of multiples of f32.
pub const BORDER_F32: u32 = 124_000;
/// That of f64.
pub const BORDER_F64: u32 = 1 << 28;

const _: () = assert!(BORDER_F32 * (*MULTIPLIERS.end() as u32) < 1 << 24);

/// A lattice, in both widths of arithmetic, and the bins around it.
#[derive(Clone, Copy, Debug)]
pub struct Lattice {
    single: (f32, f32),
    double: (f64, f64),
    /// Bins of the lattice are below this, the quantizer's from it on.
    first: u64,
    /// What is to be added to the magnitudes of the quantizer's bins.
    shift: u64,
}

impl Lattice {
    /// The multiplier for a bound and the quantizer's step within it; 0 where there is no lattice.
    pub fn multiplier(dtype: DType, step: Step, abs: f64) -> u8 {
        if !Lattice::is_for(dtype, step) {
            return 0;
        }
        // Exact but for the division, which the last check sees to.
        let of_bound = abs * exp2(EXPONENT - i32::from(step.j));
        let multiplier = (of_bound / MOST_ERROR).min(f64::from(*MULTIPLIERS.end())) as u8;
        let multiplier = multiplier - u8::from(f64::from(multiplier) * MOST_ERROR > of_bound);
        // An odd one: whole numbers are seldom multiples then.
        let multiplier = multiplier - u8::from(multiplier.is_multiple_of(2));
        if MULTIPLIERS.contains(&multiplier) { multiplier } else { 0 }
    }

    /// Whether a type has a lattice for a step: its arithmetic must be exact.
    pub fn is_for(dtype: DType, step: Step) -> bool {
        match dtype {
            DType::F32 => step.j >= -100,
            DType::F64 => step.j >= -960,
            _ => false,
        }
    }

    /// That of a multiplier and the quantizer's step.
    pub fn new(dtype: DType, step: Step, multiplier: u8) -> Lattice {
        let fine = f64::from(multiplier) * exp2(i32::from(step.j) - EXPONENT);
        let border = if dtype == DType::F32 { BORDER_F32 } else { BORDER_F64 };
        let first = u64::from(border / LATTICE_STEP) + 1;
        let least = (f64::from(border) * (fine / step.value())) as u64;
        Lattice {
            single: (fine as f32, 1.0 / fine as f32),
            double: (fine, 1.0 / fine),
            first,
            shift: first.wrapping_sub(least),
        }
    }

    /// What bins are apart.
    pub fn step(&self) -> f64 {
        f64::from(LATTICE_STEP) * self.double.0
    }

    /// Whether an element beyond the border is a multiple that a bound of twice this one may have.
    pub fn is_of_coarser<E: Multiple>(&self, bits: E::Word) -> bool {
        let quotient = E::DTYPE.number(bits.to_u64()) / (2.0 * self.double.0);
        E::is_beyond(self, bits) && quotient == quotient.trunc()
    }

    /// Whether a bin is one of the lattice, not of the quantizer.
    pub fn has_bin<W: Word>(&self, x: W) -> bool {
        x.magnitude() < W::from_u64(self.first)
    }
}

/// Bins of elements, of multiples of the lattice if there is one, and behind it the quantizer's.
#[derive(Clone, Copy, Debug)]
pub struct Bins {
    /// The quantizer.
    pub quantizer: Quantizer,
    /// The lattice.
    pub lattice: Option<Lattice>,
}

impl Bins {
    /// What they are apart.
    pub fn step(&self) -> f64 {
        self.lattice.map_or(self.quantizer.step.value(), |lattice| lattice.step())
    }

    /// The bins of elements; of those on the border anything.
    #[inline(always)]
    pub fn encode<E: Multiple, const S: usize>(&self, words: &mut [E::Word; S]) {
        let Some(lattice) = &self.lattice else {
            return quantize::encode::<E, S>(&self.quantizer, quantize::largest_of(words), words);
        };
        let (bins, any_beyond) = E::bins(lattice, words);
        if !any_beyond {
            *words = bins;
            return;
        }
        let mut beyond = *words;
        quantize::encode::<E, S>(&self.quantizer, quantize::largest_of(&beyond), &mut beyond);
        let shift = E::Word::from_u64(lattice.shift);
        for i in 0..S {
            if E::is_beyond(lattice, words[i]) {
                let sign = beyond[i].sar(E::Word::BITS - 1);
                beyond[i] = beyond[i].add((shift ^ sign).sub(sign));
            } else {
                beyond[i] = bins[i];
            }
        }
        *words = beyond;
    }

    /// The bits of a bin's element.
    #[inline(always)]
    pub fn decode<E: Multiple, L: Arithmetic>(&self, x: E::Word) -> E::Word {
        let Some(lattice) = &self.lattice else { return quantize::decode::<E, L>(&self.quantizer, x) };
        let within = E::multiple(lattice, (x.extend() as i32).wrapping_mul(LATTICE_STEP as i32));
        if x.magnitude() < E::Word::from_u64(lattice.first) {
            return within;
        }
        let sign = x.sar(E::Word::BITS - 1);
        let shift = E::Word::from_u64(lattice.shift);
        quantize::decode::<E, L>(&self.quantizer, x.sub((shift ^ sign).sub(sign)))
    }

    /// Whether an element is equal to a bin or a multiple.
    pub fn restores(&self, dtype: DType, bits: u64) -> bool {
        let is_multiple = self.lattice.as_ref().is_some_and(|lattice| match dtype {
            DType::F32 => multiple_of::<F32>(lattice, bits as u32).is_some(),
            _ => multiple_of::<F64>(lattice, bits).is_some(),
        });
        is_multiple || self.of(dtype, bits).is_some()
    }

    /// The bin whose value is equal to an element, if there is one.
    pub fn of(&self, dtype: DType, bits: u64) -> Option<u64> {
        match dtype {
            DType::F32 => self.of_element::<F32>(bits),
            DType::F64 => self.of_element::<F64>(bits),
            _ => quantize::bin_of(dtype, &self.quantizer, bits),
        }
    }

    fn of_element<E: Multiple>(&self, bits: u64) -> Option<u64> {
        let Some(lattice) = &self.lattice else { return quantize::bin_of(E::DTYPE, &self.quantizer, bits) };
        let word = E::Word::from_u64(bits);
        if E::is_beyond(lattice, word) {
            let bin = E::Word::from_u64(quantize::bin_of(E::DTYPE, &self.quantizer, bits)?);
            let sign = bin.sar(E::Word::BITS - 1);
            return Some(bin.add((E::Word::from_u64(lattice.shift) ^ sign).sub(sign)).to_u64());
        }
        let number = multiple_of::<E>(lattice, word)?;
        let bin = number / LATTICE_STEP as i32;
        (bin * LATTICE_STEP as i32 == number).then(|| E::Word::from_u64(i64::from(bin) as u64).to_u64())
    }
}

/// The multiple that an element is equal to, on the border too, if there is one.
pub fn multiple_of<E: Multiple>(lattice: &Lattice, bits: E::Word) -> Option<i32> {
    let number = E::number(lattice, bits)?;
    // Both zeros are equal.
    let is_equal = E::multiple(lattice, number) == bits || number == 0 && bits & !E::Word::SIGN == E::Word::ZERO;
    is_equal.then_some(number)
}

/// What becomes of a block of elements.
pub struct Block<const S: usize> {
    /// The nearest multiples.
    pub numbers: [i32; S],
    /// Elements that are multiples: 1, others 0.
    pub on: [u32; S],
    /// Elements that have no multiple: 1, others 0.
    pub wide: [u32; S],
    /// Those of them that are on the border: 1, others 0.
    pub border: [u32; S],
}

impl<const S: usize> Block<S> {
    /// That of elements that have none.
    pub const NONE: Block<S> = Block { numbers: [0; S], on: [0; S], wide: [1; S], border: [0; S] };
}

/// Elements that may lie on a lattice. What has a body here is for types that have none.
pub trait Multiple: Element {
    /// The type.
    const DTYPE: DType;
    /// The multiples of elements' bits.
    #[inline(always)]
    fn block<const S: usize>(_: &Lattice, _: &[Self::Word; S], block: &mut Block<S>) {
        *block = Block::NONE;
    }
    /// The bins of elements' bits within the border, and whether any is beyond.
    #[inline(always)]
    fn bins<const S: usize>(_: &Lattice, bits: &[Self::Word; S]) -> ([Self::Word; S], bool) {
        (*bits, true)
    }
    /// Whether an element is beyond the border.
    #[inline(always)]
    fn is_beyond(_: &Lattice, _: Self::Word) -> bool {
        true
    }
    /// The multiple that a restored element is, if it may be one.
    #[inline(always)]
    fn number(_: &Lattice, _: Self::Word) -> Option<i32> {
        None
    }
    /// The bits of a multiple.
    #[inline(always)]
    fn multiple(_: &Lattice, _: i32) -> Self::Word {
        Self::Word::ZERO
    }
}

/// The arithmetic of a float type.
macro_rules! multiple {
    ($element:ty, $dtype:expr, $f:ty, $u:ty, $constants:ident, $border:expr, $magic:expr) => {
        impl Multiple for $element {
            const DTYPE: DType = $dtype;

            #[inline(always)]
            fn block<const S: usize>(lattice: &Lattice, bits: &[$u; S], block: &mut Block<S>) {
                const NEAR: $f = ($border - BORDER_WIDTH) as $f;
                const FAR: $f = ($border + BORDER_WIDTH) as $f;
                let (fine, inverse) = lattice.$constants;
                for i in 0..S {
                    let v = <$f>::from_bits(bits[i]);
                    let quotient = v * inverse;
                    // NaN is within nothing.
                    let within = quotient.abs() < NEAR;
                    let number = (quotient + $magic).to_bits().wrapping_sub(<$f>::to_bits($magic)) as i32;
                    block.numbers[i] = if within { number } else { 0 };
                    block.on[i] = u32::from(within & (number as $f * fine == v));
                    block.wide[i] = u32::from(!within);
                    block.border[i] = u32::from(!within & (quotient.abs() < FAR));
                }
            }

            #[inline(always)]
            fn bins<const S: usize>(lattice: &Lattice, bits: &[$u; S]) -> ([$u; S], bool) {
                const BORDER: $f = $border as $f;
                let inverse = lattice.$constants.1;
                let (mut bins, mut beyond) = ([0; S], 0);
                for i in 0..S {
                    let quotient = <$f>::from_bits(bits[i]) * inverse;
                    let is_within = quotient.abs() < BORDER;
                    beyond |= u32::from(!is_within);
                    let number = (quotient + $magic) - $magic;
                    bins[i] =
                        (number * (1.0 / LATTICE_STEP as $f) + $magic).to_bits().wrapping_sub(<$f>::to_bits($magic));
                }
                (bins, beyond != 0)
            }

            #[inline(always)]
            fn is_beyond(lattice: &Lattice, bits: $u) -> bool {
                // NaN is within nothing.
                let is_within = (<$f>::from_bits(bits) * lattice.$constants.1).abs() < $border as $f;
                !is_within
            }

            #[inline(always)]
            fn number(lattice: &Lattice, bits: $u) -> Option<i32> {
                let quotient = <$f>::from_bits(bits) * lattice.$constants.1;
                let number = (quotient + $magic).to_bits().wrapping_sub(<$f>::to_bits($magic)) as i32;
                (quotient.abs() < (2 * $border) as $f).then_some(number)
            }

            #[inline(always)]
            fn multiple(lattice: &Lattice, number: i32) -> $u {
                (number as $f * lattice.$constants.0).to_bits()
            }
        }
    };
}

multiple!(F32, DType::F32, f32, u32, single, BORDER_F32, 12582912.0f32);
multiple!(F64, DType::F64, f64, u64, double, BORDER_F64, 6755399441055744.0f64);

macro_rules! no_lattice {
    ($($element:ty, $dtype:expr);*) => {$(
        impl Multiple for $element {
            const DTYPE: DType = $dtype;
        }
    )*};
}

no_lattice! {
    F16, DType::F16;
    BF16, DType::BF16;
    Int<u8>, DType::U8;
    Int<u16>, DType::U16;
    Int<u32>, DType::U32;
    Int<u64>, DType::U64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Profile;

    /// Of numbers all over the range, and around ties, multiples and the border: the bound holds for each multiple that
    /// a predictor may restore, for bins, and what is restored stays as it is.
    fn holds<E: Multiple>(value: fn(E::Word) -> f64, bits: fn(f64) -> E::Word) {
        const MOST: i32 = (LATTICE_STEP as i32 - 1) / 2;
        let border = if E::DTYPE == DType::F32 { BORDER_F32 } else { BORDER_F64 };
        for abs in (0..200).map(|i| 1e-9 * 1.137f64.powi(i)) {
            let step = Step::for_bound(E::DTYPE, abs, Profile::Small).unwrap();
            let multiplier = Lattice::multiplier(E::DTYPE, step, abs);
            assert!(multiplier > 0, "{abs}");
            let lattice = Lattice::new(E::DTYPE, step, multiplier);
            assert!(lattice.double.0 * MOST_ERROR <= abs);
            let bins = Bins { quantizer: Quantizer::new(E::DTYPE, step, abs), lattice: Some(lattice) };
            let multiples = (0..400).map(|i| (i * i * i * 7919) % i64::from(border)).chain(0..64);
            let around = multiples
                .chain((-70..70).map(|d| i64::from(border) + d))
                .chain((1..20).map(|e| i64::from(border) << e));
            for n in around.flat_map(|n| [n, -n]) {
                for part in [0.0, 0.5, 0.499, 0.501, 0.3] {
                    let element = bits((n as f64 + part) * lattice.double.0);
                    let v = value(element);
                    let block = |element| {
                        let mut block = Block::NONE;
                        E::block(&lattice, &[element], &mut block);
                        block
                    };
                    let (block, block_of) = (block(element), block);
                    if block.wide[0] == 0 {
                        for r in [block.numbers[0] - MOST, block.numbers[0], block.numbers[0] + MOST] {
                            let restored = E::multiple(&lattice, r);
                            assert!((v - value(restored)).abs() <= abs, "{v} {abs} {r}");
                            let again = block_of(restored);
                            assert!(again.wide[0] == 1 || again.numbers[0] == r && again.on[0] == 1, "{v} {abs} {r}");
                        }
                        assert_eq!(block.on[0] == 1, E::multiple(&lattice, block.numbers[0]) == element || v == 0.0);
                    }
                    if block.border[0] == 0 {
                        let mut words = [element];
                        bins.encode::<E, 1>(&mut words);
                        let restored = bins.decode::<E, crate::simd::Scalar>(words[0]);
                        assert!((v - value(restored)).abs() <= abs, "{v} {} {abs}", value(restored));
                        let mut again = [restored];
                        bins.encode::<E, 1>(&mut again);
                        let is_border = block_of(restored).border[0] == 1;
                        assert!(is_border || again == words, "{v} {abs} {words:?} {again:?}");
                        // Elements beyond the quantizer's range have bits, no bins.
                        let bin = bins.of(E::DTYPE, restored.to_u64());
                        assert!(bin.map_or(v.abs() > 1e3 * abs, |bin| bin == words[0].to_u64()), "{v} {abs} {bin:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn multiples_and_bins_keep_the_bound_and_stay() {
        holds::<F32>(|bits| f32::from_bits(bits).into(), |x| (x as f32).to_bits());
        holds::<F64>(f64::from_bits, f64::to_bits);
    }
}
