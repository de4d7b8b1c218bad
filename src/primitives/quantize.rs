//! The quantizer: floats to bins of width `step`, with an error that never exceeds the bound
//! (docs/reference/codecs/sleek.md §6).
//!
//! q = round(v · inv), then one exact check: e = v − q · step is exact, because q · step is (its significand q·w fits),
//! and q moves by one where |e| > h, the bound rounded down to the type. The rounded quotient is off by less than ¼ of
//! a bin, so one move is enough (research: SLEEK §III with the corrections of docs/internals/design.md). Where h is a
//! little more than half of a step and the bins are small, the quotient is so exact that no e can exceed h: then nobody
//! looks. Elements from 2^(j + m) on, infinities and NaN keep their bits: their code is K + the distance of their bits
//! from those of 2^(j + m).
//!
//! Every operation is a single IEEE operation rounded to nearest; nothing may be contracted or reordered, but for the
//! product of a bin and the step, which is exact either way.

use crate::bound::Step;
use crate::dtype::DType;
use crate::simd::word::Word;
use crate::simd::{Arithmetic, Scalar};

/// Parameters for one stream, in both widths of arithmetic.
#[derive(Clone, Copy, Debug)]
pub struct Quantizer {
    /// The step.
    pub step: Step,
    /// Bits of 2^(step_j + m): the first magnitude that is coded by its bits.
    pub threshold: u64,
    /// Code of that magnitude.
    pub k: u64,
    /// Bins of less than this magnitude are within the bound as they are rounded, and need no check.
    pub certain: u64,
    /// Bits of a magnitude below which all bins are certain.
    certain_below: u64,
    /// For f32, and f16 and bf16 which are widened to it.
    single: Constants<f32>,
    /// For f64.
    double: Constants<f64>,
}

#[derive(Clone, Copy, Debug)]
struct Constants<F> {
    step: F,
    /// The step times the number that is added to get at the bits of a whole number; exact.
    origin: F,
    inverse: F,
    bound: F,
}

/// Mantissa bits and exponent bias of a float type.
pub fn mantissa_and_bias(dtype: DType) -> (u32, i32) {
    match dtype {
        DType::F64 => (52, 1023),
        DType::F16 => (10, 15),
        DType::BF16 => (7, 127),
        _ => (23, 127),
    }
}

/// `x` ≥ 0 as f32, rounded toward zero.
fn f32_down(x: f64) -> f32 {
    let y = x as f32;
    if f64::from(y) > x { f32::from_bits(y.to_bits() - 1) } else { y }
}

impl Quantizer {
    /// How far from its bin an element may be.
    pub fn reach(&self) -> f64 {
        self.double.bound
    }

    /// For elements of `dtype`, a step and the absolute bound that it serves (≥ step / 2).
    pub fn new(dtype: DType, step: Step, abs_bound: f64) -> Quantizer {
        let (m, bias) = mantissa_and_bias(dtype);
        let exponent = i64::from(step.j) + i64::from(m) + i64::from(bias);
        let value = step.value();
        let certain = certain_bins(m, step, abs_bound);
        Quantizer {
            step,
            threshold: (exponent as u64) << m,
            k: ((1u64 << m) + 3) / u64::from(step.w) + 1,
            certain,
            certain_below: bits_below(dtype, certain.saturating_sub(1) as f64 * value),
            single: Constants {
                step: value as f32,
                origin: MAGIC_F32 * value as f32,
                inverse: 1.0 / value as f32,
                bound: f32_down(abs_bound.min(f64::from(f32::MAX))),
            },
            double: Constants { step: value, origin: MAGIC_F64 * value, inverse: 1.0 / value, bound: abs_bound },
        }
    }
}

/// See `Quantizer::certain`. The rounded inverse and the rounded product are off by 2^−m of the quotient together, so v
/// is no further from its bin n than 1/2 + (|n| + 1) · 2^−m steps. Of what h is above 1/2 half is used, the rest is for
/// what is rounded here. If the step is a power of two nothing is off.
fn certain_bins(m: u32, step: Step, abs_bound: f64) -> u64 {
    // Larger bins may be distances of bits.
    let most = 1 << (m - 3);
    if step.w == 4 {
        return most;
    }
    let spare = abs_bound / step.value() - 0.5;
    let bins = spare * (1u64 << (m - 1)) as f64 - 2.0;
    (bins.max(0.0) as u64).min(most)
}

/// Bits of the largest f32 or f64 that is not above `x` ≥ 0; 0 for other types.
fn bits_below(dtype: DType, x: f64) -> u64 {
    match dtype {
        DType::F32 => f32_down(x).to_bits().into(),
        DType::F64 => x.to_bits(),
        _ => 0,
    }
}

/// 1.5 · 2^m: added to a number it leaves the nearest whole one in the low bits.
const MAGIC_F32: f32 = 12582912.0;
/// The same for f64.
const MAGIC_F64: f64 = 6755399441055744.0;

/// The arithmetic of a float type.
macro_rules! arithmetic {
    ($encode:ident, $round:ident, $decode:ident, $scale:ident, $f:ty, $u:ty, $constants:ident, $magic:expr) => {
        /// The bin of `v`, |v| below the threshold.
        #[inline(always)]
        fn $encode(q: &Quantizer, v: $f) -> $u {
            let c = &q.$constants;
            // Adding 1.5 · 2^m rounds to a whole number, ties to even, and leaves it in the low bits.
            let biased = v * c.inverse + $magic;
            let error = v - (biased - $magic) * c.step;
            biased
                .to_bits()
                .wrapping_sub(<$f>::to_bits($magic))
                .wrapping_add((error > c.bound) as $u)
                .wrapping_sub((error < -c.bound) as $u)
        }

        /// The distance of `v`'s bin from `reference`, if the bin is certain.
        #[inline(always)]
        fn $round(q: &Quantizer, v: $f, reference: $u) -> $u {
            let zero = <$f>::to_bits($magic).wrapping_add(reference);
            (v * q.$constants.inverse + $magic).to_bits().wrapping_sub(zero)
        }

        /// The value of bin `x`.
        #[inline(always)]
        fn $decode<L: Arithmetic>(q: &Quantizer, x: $u) -> $f {
            $scale::<L>(q, x.wrapping_add(<$f>::to_bits($magic)))
        }

        /// The same of a bin with the bits of 1.5 · 2^m added to it.
        #[inline(always)]
        fn $scale<L: Arithmetic>(q: &Quantizer, biased: $u) -> $f {
            let (c, biased) = (&q.$constants, <$f>::from_bits(biased));
            // Bin times step is exact, so both ways give the same.
            if L::HAS_FMA { biased.mul_add(c.step, -c.origin) } else { (biased - $magic) * c.step }
        }
    };
}

arithmetic!(bin_f32, round_f32, value_f32, scale_f32, f32, u32, single, MAGIC_F32);
arithmetic!(bin_f64, round_f64, value_f64, scale_f64, f64, u64, double, MAGIC_F64);

/// `round_f64` as the nearest number of 16 bits. All around 1.5 · 2^m, certain bins and 2^15 more, are numbers of one
/// sign and exponent, in the order of their bits; NaN is far.
#[inline(always)]
fn small_f64(q: &Quantizer, v: f64, reference: u64) -> u16 {
    let zero = MAGIC_F64.to_bits().wrapping_add(reference);
    let (low, high) = (f64::from_bits(zero - (1 << 15)), f64::from_bits(zero + (1 << 15) - 1));
    let biased = v * q.double.inverse + MAGIC_F64;
    // What the instructions do that compare: `min` and `max` would take NaN for no number.
    let biased = if biased < high { biased } else { high };
    let biased = if biased > low { biased } else { low };
    (biased.to_bits() as u16).wrapping_sub(zero as u16)
}

/// What a codec needs of an element type.
pub trait Element: Send + Sync + 'static {
    /// The word of the element's width.
    type Word: Word;
    /// Exponent bits; 0 for integers.
    const EXPONENT_BITS: u32;
    /// Bin of an element's bits, for magnitudes below the threshold; anything for others.
    fn bin(q: &Quantizer, bits: Self::Word) -> Self::Word;
    /// Distance from `reference` of the bin of an element's bits, if the bin is below `Quantizer::certain`.
    #[inline(always)]
    fn certain_bin(q: &Quantizer, bits: Self::Word, reference: Self::Word) -> Self::Word {
        Self::bin(q, bits).sub(reference)
    }
    /// The same as the nearest number of 16 bits; `reference` is below `Quantizer::certain`.
    #[inline(always)]
    fn certain_small<L: Arithmetic>(q: &Quantizer, bits: Self::Word, reference: Self::Word) -> u16 {
        Self::certain_bin(q, bits, reference).saturate16()
    }
    /// Bits of a bin's value.
    fn value<L: Arithmetic>(q: &Quantizer, x: Self::Word) -> Self::Word;
    /// What sums of distances are to begin with for `value_of_sum`.
    #[inline(always)]
    fn sum_start(_base: Self::Word) -> u32 {
        0
    }
    /// Bits of the value of the bin that a sum of distances leads to from bin `base`; all bins on the way, and the sum,
    /// are below k.
    #[inline(always)]
    fn value_of_sum<L: Arithmetic>(q: &Quantizer, base: Self::Word, sum: u32) -> Self::Word {
        Self::value::<L>(q, base.add(Self::Word::from_u64(sum.extend())))
    }
}

/// The bits of the largest magnitude.
#[inline(always)]
pub fn largest_of<W: Word, const S: usize>(words: &[W; S]) -> W {
    words.iter().fold(W::ZERO, |m, w| m.max(*w & !W::SIGN))
}

/// Elements' bits to x of docs/reference/codecs/sleek.md §6, in place; no magnitude's bits are above `largest`.
#[inline(always)]
pub fn encode<E: Element, const S: usize>(q: &Quantizer, largest: E::Word, words: &mut [E::Word; S]) {
    let threshold = E::Word::from_u64(q.threshold);
    if largest < E::Word::from_u64(q.certain_below) {
        words.iter_mut().for_each(|w| *w = E::certain_bin(q, *w, E::Word::ZERO));
        return;
    }
    if largest < threshold {
        words.iter_mut().for_each(|w| *w = E::bin(q, *w));
        return;
    }
    for w in words {
        let magnitude = *w & !E::Word::SIGN;
        let sign = w.sar(E::Word::BITS - 1);
        let far = magnitude.sub(threshold).add(E::Word::from_u64(q.k));
        let far = (far ^ sign).sub(sign);
        *w = if magnitude >= threshold { far } else { E::bin(q, *w) };
    }
}

/// The element's bits for x: Q⁻¹.
#[inline(always)]
pub fn decode<E: Element, L: Arithmetic>(q: &Quantizer, x: E::Word) -> E::Word {
    let sign = x.sar(E::Word::BITS - 1);
    let magnitude = (x ^ sign).sub(sign);
    let far = magnitude.sub(E::Word::from_u64(q.k)).add(E::Word::from_u64(q.threshold));
    let far = far | (sign & E::Word::SIGN);
    if magnitude >= E::Word::from_u64(q.k) { far } else { E::value::<L>(q, x) }
}

/// The bin whose value is equal to an element, if there is one.
pub fn bin_of(dtype: DType, q: &Quantizer, bits: u64) -> Option<u64> {
    match dtype {
        DType::F32 => bin_of_element::<F32>(q, bits),
        DType::F64 => bin_of_element::<F64>(q, bits),
        DType::F16 => bin_of_element::<F16>(q, bits),
        DType::BF16 => bin_of_element::<BF16>(q, bits),
        _ => None,
    }
}

fn bin_of_element<E: Element>(q: &Quantizer, bits: u64) -> Option<u64> {
    let magnitude = bits & !E::Word::SIGN.to_u64();
    // What is beyond the quantizer's range keeps its bits; the last bin may lie a little beyond.
    if magnitude > q.threshold + 3 {
        return None;
    }
    let bin = E::bin(q, E::Word::from_u64(bits));
    let value = E::value::<Scalar>(q, bin).to_u64();
    // Both zeros are equal.
    let is_bin = bin.magnitude().to_u64() < q.k;
    (is_bin && (value == bits || magnitude == 0 && value == 0)).then_some(bin.to_u64())
}

/// f32.
pub struct F32;
/// f64.
pub struct F64;
/// IEEE binary16.
pub struct F16;
/// bfloat16.
pub struct BF16;
/// Integers of a word's width.
pub struct Int<W>(std::marker::PhantomData<W>);

impl Element for F32 {
    type Word = u32;
    const EXPONENT_BITS: u32 = 8;
    #[inline(always)]
    fn bin(q: &Quantizer, bits: u32) -> u32 {
        bin_f32(q, f32::from_bits(bits))
    }
    #[inline(always)]
    fn certain_bin(q: &Quantizer, bits: u32, reference: u32) -> u32 {
        round_f32(q, f32::from_bits(bits), reference)
    }
    #[inline(always)]
    fn value<L: Arithmetic>(q: &Quantizer, x: u32) -> u32 {
        value_f32::<L>(q, x).to_bits()
    }
    // The sums are biased bins.
    #[inline(always)]
    fn sum_start(base: u32) -> u32 {
        base.wrapping_add(MAGIC_F32.to_bits())
    }
    #[inline(always)]
    fn value_of_sum<L: Arithmetic>(q: &Quantizer, _base: u32, sum: u32) -> u32 {
        scale_f32::<L>(q, sum).to_bits()
    }
}

impl Element for F64 {
    type Word = u64;
    const EXPONENT_BITS: u32 = 11;
    #[inline(always)]
    fn bin(q: &Quantizer, bits: u64) -> u64 {
        bin_f64(q, f64::from_bits(bits))
    }
    #[inline(always)]
    fn certain_bin(q: &Quantizer, bits: u64, reference: u64) -> u64 {
        round_f64(q, f64::from_bits(bits), reference)
    }
    #[inline(always)]
    fn certain_small<L: Arithmetic>(q: &Quantizer, bits: u64, reference: u64) -> u16 {
        if L::CLAMPS_F64 {
            return small_f64(q, f64::from_bits(bits), reference);
        }
        Self::certain_bin(q, bits, reference).saturate16()
    }
    #[inline(always)]
    fn value<L: Arithmetic>(q: &Quantizer, x: u64) -> u64 {
        value_f64::<L>(q, x).to_bits()
    }
}

impl Element for BF16 {
    type Word = u16;
    const EXPONENT_BITS: u32 = 8;
    #[inline(always)]
    fn bin(q: &Quantizer, bits: u16) -> u16 {
        bin_f32(q, f32::from_bits(u32::from(bits) << 16)) as u16
    }
    #[inline(always)]
    fn value<L: Arithmetic>(q: &Quantizer, x: u16) -> u16 {
        // The product is a bf16 number, so its low half is zero.
        (value_f32::<L>(q, x as i16 as u32).to_bits() >> 16) as u16
    }
}

impl Element for F16 {
    type Word = u16;
    const EXPONENT_BITS: u32 = 5;
    #[inline(always)]
    fn bin(q: &Quantizer, bits: u16) -> u16 {
        bin_f32(q, widen_f16(bits)) as u16
    }
    #[inline(always)]
    fn value<L: Arithmetic>(q: &Quantizer, x: u16) -> u16 {
        narrow_f16(value_f32::<L>(q, x as i16 as u32))
    }
}

impl<W: Word> Element for Int<W> {
    type Word = W;
    const EXPONENT_BITS: u32 = 0;
    #[inline(always)]
    fn bin(_: &Quantizer, bits: W) -> W {
        bits
    }
    #[inline(always)]
    fn value<L: Arithmetic>(_: &Quantizer, x: W) -> W {
        x
    }
}

/// A finite binary16 number as f32, exact. Rescaling by 2^112 turns its exponent and its subnormals into f32's.
#[inline(always)]
pub fn widen_f16(bits: u16) -> f32 {
    let magnitude = f32::from_bits(u32::from(bits & 0x7fff) << 13) * f32::from_bits(0x7780_0000);
    f32::from_bits(magnitude.to_bits() | u32::from(bits & 0x8000) << 16)
}

/// An f32 that is a binary16 number, as such; the inverse of [`widen_f16`].
#[inline(always)]
fn narrow_f16(x: f32) -> u16 {
    let magnitude = f32::from_bits(x.to_bits() & 0x7fff_ffff) * f32::from_bits(0x0780_0000);
    (magnitude.to_bits() >> 13) as u16 | (x.to_bits() >> 16) as u16 & 0x8000
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bound;

    /// Compares certain bins with checked ones: at the ends of what is certain, around 0 and in between, and there in
    /// the middle between two bins, where the quotient's error matters.
    fn agree<E: Element>(dtype: DType, from_f64: impl Fn(f64) -> E::Word) {
        for abs in (1..400).map(|i| 1e-20 * 1.3f64.powi(i)) {
            // Some of them are just above half a step, or exactly that.
            for abs in
                [abs, bound::exp2(-20) * (1.0 + bound::exp2(-18)) * abs, abs.powi(2), bound::exp2(abs.log2() as i32)]
            {
                let Some(step) = Step::for_bound(dtype, abs, crate::mode::Profile::Adaptive) else { continue };
                let q = Quantizer::new(dtype, step, abs);
                let certain = q.certain as i64;
                assert!(q.certain < q.k);
                for n in (0..200.min(certain)).flat_map(|i| [i, certain - 1 - i, certain * i / 200]) {
                    for between in [-0.5, -0.4999999, -0.2, 0.0, 0.3, 0.4999999, 0.5] {
                        let bits = from_f64((n as f64 + between) * step.value());
                        for bits in [bits, bits | E::Word::SIGN, bits.sub(E::Word::ONE), bits.add(E::Word::ONE)] {
                            if bits & !E::Word::SIGN < E::Word::from_u64(q.certain_below) {
                                assert_eq!(
                                    E::certain_bin(&q, bits, E::Word::ONE).add(E::Word::ONE),
                                    E::bin(&q, bits),
                                    "{bits:x?}, {step:?}, {abs}"
                                );
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn certain_bins_need_no_check() {
        agree::<F32>(DType::F32, |x| (x as f32).to_bits());
        agree::<F64>(DType::F64, f64::to_bits);
    }

    /// The kernels never check a bin of 16 bits (kernels/sleek/swar16.cuh): every number with every step, and the least
    /// bound of each.
    #[test]
    fn bins_of_16_bits_need_no_check() {
        let widen_bf16: fn(u16) -> f32 = |bits| f32::from_bits(u32::from(bits) << 16);
        for (dtype, widen) in [(DType::F16, widen_f16 as fn(u16) -> f32), (DType::BF16, widen_bf16)] {
            for step in bound::step_range(dtype).flat_map(|j| (4..8).map(move |w| Step { w, j })) {
                let q = Quantizer::new(dtype, step, step.value() / 2.0);
                for bits in 0..q.threshold as u16 {
                    let v = widen(bits);
                    assert_eq!(round_f32(&q, v, 0), bin_f32(&q, v), "{bits:x}, {step:?}");
                }
            }
        }
    }

    /// A level that compares numbers.
    struct Clamping;

    impl Arithmetic for Clamping {
        const CLAMPS_F64: bool = true;
    }

    #[test]
    fn small_bins_are_the_same_by_words_and_by_numbers() {
        let q = Quantizer::new(DType::F64, Step { w: 5, j: -3 }, 2.6 * bound::exp2(-3));
        let small = |v: f64, reference: i64| {
            let (bits, reference) = (v.to_bits(), reference as u64);
            let [words, numbers] = [
                F64::certain_small::<Scalar>(&q, bits, reference),
                F64::certain_small::<Clamping>(&q, bits, reference),
            ];
            (words as i16, numbers as i16)
        };
        for reference in [0, 1, -1, 40_000, -1_000_000_007, q.certain as i64 - (1 << 14) - 1] {
            for n in (-70_000..70_000).step_by(37).chain([-32_769, -32_768, -32_767, 32_766, 32_767, 32_768]) {
                let (words, numbers) = small((reference + n) as f64 * q.step.value(), reference);
                assert_eq!(words, numbers, "{n} from {reference}");
                assert_eq!(i64::from(words), n.clamp(-32_768, 32_767));
            }
            for v in [f64::MAX, f64::MIN, f64::INFINITY, f64::NEG_INFINITY] {
                let (words, numbers) = small(v, reference);
                assert_eq!(words, numbers, "{v}");
            }
            // NaN is far either way.
            let (words, numbers) = small(f64::NAN, reference);
            assert!(words.unsigned_abs() >= 1 << 14 && numbers.unsigned_abs() >= 1 << 14);
        }
    }
}
