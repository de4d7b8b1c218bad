//! Smallest and largest of a chunk's elements, kept while they are loaded.

use std::marker::PhantomData;

use crate::dtype::DType;
use crate::primitives::range::by_halves;
use crate::runtime::cpu::Span;
use crate::simd::stream::Line;
use crate::simd::word::{Word, words, words_mut};

/// Some of the floats that were seen, as bits, among them the smallest and the largest one and a NaN if there was any:
/// lines of lanes, so that vectors of them are one instruction. Levels differ in which they keep besides.
///
/// As unsigned numbers negative floats come behind the positive ones, the least float last; as signed ones the largest
/// positive float is last.
#[repr(C, align(64))]
pub struct Ends<W> {
    lines: [Line; 3],
    words: PhantomData<W>,
}

#[inline(always)]
fn larger<W: Word>(a: W, b: W) -> W {
    if a.biased() > b.biased() { a } else { b }
}

/// The number that a float's bits are: most are f32 or f64.
#[inline(always)]
pub fn number_of(dtype: DType, bits: u64) -> f64 {
    match dtype {
        DType::F32 => f32::from_bits(bits as u32).into(),
        DType::F64 => f64::from_bits(bits),
        _ => dtype.number(bits),
    }
}

/// What `pick` leaves of all lanes.
#[inline(always)]
fn of_lanes<W: Word, const N: usize>([mut a, b, c]: [[W; N]; 3], pick: impl Fn(W, W) -> W) -> W {
    for i in 0..N {
        a[i] = pick(pick(a[i], b[i]), c[i]);
    }
    by_halves(a, pick)
}

/// The lanes of a line.
#[inline(always)]
fn lanes<W: Word>(line: &mut Line) -> &mut [W] {
    words_mut(&mut line.0).expect("a line is aligned")
}

impl<W: Word> Ends<W> {
    /// Those of one element.
    #[inline(always)]
    pub fn of(first: W) -> Self {
        let mut ends = Ends { lines: [Line::ZERO; 3], words: PhantomData };
        ends.lines.iter_mut().for_each(|line| lanes(line).fill(first));
        ends
    }

    /// The least as unsigned numbers, unless there are some of both signs; the most; and the most as signed ones.
    #[inline(always)]
    pub fn lines(&mut self) -> [&mut Line; 3] {
        self.lines.each_mut()
    }

    /// See `Simd::ends`.
    #[inline(always)]
    pub fn add<const S: usize>(&mut self, words: &[W; S]) -> W {
        let [least, most, most_signed] = self.lines();
        let (least, most, most_signed) = (lanes::<W>(least), lanes::<W>(most), lanes::<W>(most_signed));
        for block in words.chunks_exact(least.len()) {
            for lane in 0..block.len() {
                least[lane] = least[lane].min(block[lane]);
                most[lane] = most[lane].max(block[lane]);
                most_signed[lane] = larger(most_signed[lane], block[lane]);
            }
        }
        let of = |all: &[W]| all.iter().fold(W::ZERO, |largest, w| largest.max(*w & !W::SIGN));
        of(most).max(of(most_signed))
    }

    /// The smallest and the largest element, if all are finite.
    #[inline(always)]
    pub fn span(&self, dtype: DType) -> Option<Span> {
        match size_of::<W>() {
            2 => self.span_of::<32>(dtype),
            4 => self.span_of::<16>(dtype),
            _ => self.span_of::<8>(dtype),
        }
    }

    #[inline(always)]
    fn span_of<const N: usize>(&self, dtype: DType) -> Option<Span> {
        let lanes =
            self.lines.each_ref().map(|line| *words(&line.0).and_then(<[W]>::first_chunk::<N>).expect("aligned"));
        let least = of_lanes(lanes, |a, b| a.min(b));
        let (most, most_signed) = (of_lanes(lanes, |a, b| a.max(b)), of_lanes(lanes, larger));
        let is_negative = |w: W| w & W::SIGN != W::ZERO;
        let low = if is_negative(most) { most } else { least };
        let high = if is_negative(most_signed) { least } else { most_signed };
        let [low, high] = [low, high].map(|w| number_of(dtype, w.to_u64()));
        (low.is_finite() && high.is_finite()).then_some(Span { least: low, most: high, reach: 0.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::sleek::simd::Simd;
    #[cfg(target_arch = "x86_64")]
    use crate::exec::{Avx2, Avx512, Isa};
    use crate::simd::Scalar;

    /// The largest magnitude of three subchunks so far, and the span of all.
    type Told = (Vec<u64>, Option<Span>);

    fn told<W: Word, const S: usize>(p: impl Simd<W, S>, dtype: DType, subchunks: &[[W; S]]) -> Told {
        let mut ends = Ends::of(subchunks[0][0]);
        let largest = subchunks.iter().map(|words| p.ends(words, &mut ends).to_u64()).collect();
        (largest, ends.span(dtype))
    }

    /// What the levels of this machine tell.
    #[cfg(target_arch = "x86_64")]
    fn by_levels<W: Word, const S: usize>(dtype: DType, subchunks: &[[W; S]]) -> Vec<Told>
    where
        Avx2: Simd<W, S>,
        Avx512: Simd<W, S>,
    {
        let avx2 = Avx2::of(Isa::best()).map(|p| told(p, dtype, subchunks));
        avx2.into_iter().chain(Avx512::of(Isa::best()).map(|p| told(p, dtype, subchunks))).collect()
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn by_levels<W: Word, const S: usize>(_: DType, _: &[[W; S]]) -> Vec<Told> {
        Vec::new()
    }

    fn check<W: Word, const S: usize>(dtype: DType, values: &[f64], by_levels: impl Fn(DType, &[[W; S]]) -> Vec<Told>)
    where
        Scalar: Simd<W, S>,
    {
        let word = |v: &f64| W::from_u64(dtype.nearest(*v));
        let words: Vec<W> = values.iter().map(word).collect();
        let subchunks = words.as_chunks::<S>().0;
        let numbers: Vec<f64> = subchunks.as_flattened().iter().map(|w| dtype.number(w.to_u64())).collect();
        let finite = numbers.iter().all(|v| v.is_finite());
        let (low, high) = numbers.iter().fold((f64::MAX, f64::MIN), |(a, b), v| (a.min(*v), b.max(*v)));
        let span = finite.then_some(Span { least: low, most: high, reach: 0.0 });
        let expected = told(Scalar, dtype, subchunks);
        assert_eq!(expected.1, span);
        let magnitude = |w: &W| (*w & !W::SIGN).to_u64();
        assert_eq!(expected.0.last().copied(), words[..subchunks.len() * S].iter().map(magnitude).max());
        let is_far = |largest: &u64| !dtype.number(*largest).is_finite();
        for other in by_levels(dtype, subchunks) {
            let alike = |(a, b): (&u64, &u64)| a == b || is_far(a) && is_far(b);
            assert!(other.0.iter().zip(&expected.0).all(alike), "{other:?} {expected:?}");
            assert_eq!(other.1, expected.1);
        }
    }

    #[test]
    fn every_level_tells_the_smallest_and_the_largest_float() {
        let mut random = 1u64;
        let mut next = move || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 40) as f64 / (1 << 24) as f64
        };
        for (from, to) in [(-1.0, 1.0), (3.0, 4.0), (-7.0, -5.0), (0.0, 0.0), (-0.0, 1e4), (-1e-40, 1e-40), (-9.0, 0.5)]
        {
            for special in [1.0, f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                for at in [0, 77, 700] {
                    let mut values: Vec<f64> = (0..768).map(|_| from + (to - from) * next()).collect();
                    if special != 1.0 {
                        values[at] = special;
                    }
                    check(DType::F32, &values, by_levels::<u32, 128>);
                    check(DType::F64, &values, by_levels::<u64, 64>);
                    check(DType::F16, &values, by_levels::<u16, 256>);
                    check(DType::BF16, &values, by_levels::<u16, 256>);
                }
            }
        }
    }
}
