//! Codes to numbers by interpolation (docs/reference/codecs/interp.md §6).

// Iterators and closures over vectors may stay calls, which code without a level's instructions then makes.
#![allow(clippy::needless_range_loop)]

use crate::codec::interp::format::Interpolation;
use crate::codec::interp::predict::interpolation::layout::{CodeRow, NodeLayout, NodeLayouts};
use crate::codec::interp::predict::interpolation::march::{Direction, March};
use crate::error::Result;
use crate::host::memory::Aligned;
use crate::primitives::lorenzo::AXES;
use crate::simd::Task;
use crate::simd::numbers::{CodeVectors, LONGEST, NumberVectors};
use crate::simd::word::Word;

/// Where tiles are restored.
pub struct Buffers {
    layouts: NodeLayouts,
    rows: Aligned<u32>,
    errors: Aligned<u32>,
    /// The numbers of a plane, in raster order.
    plane: Aligned<u32>,
}

impl Buffers {
    /// For tiles of a grid with these sides, or for none.
    pub fn new(sides: [usize; AXES]) -> Result<Buffers> {
        let (layouts, [rows, errors]) = NodeLayouts::new(sides, true)?;
        Ok(Buffers {
            layouts,
            rows: Aligned::zeros(rows)?,
            errors: Aligned::zeros(errors)?,
            plane: Aligned::zeros(sides[0] * sides[1] + 2 * LONGEST)?,
        })
    }
}

/// A code as a signed number.
pub trait Code: Word {
    /// A vector of codes.
    ///
    /// # Safety
    /// There are as many.
    #[expect(unsafe_code, reason = "a march asks for its room once, not each vector")]
    unsafe fn vector<L: NumberVectors>(l: L, codes: &[Self], at: usize) -> L::V;
}

impl Code for u16 {
    #[inline(always)]
    #[expect(unsafe_code, reason = "as above")]
    unsafe fn vector<L: NumberVectors>(l: L, codes: &[u16], at: usize) -> L::V {
        // SAFETY: as the caller promises.
        l.load_short(unsafe { codes.get_unchecked(at..at + L::N) })
    }
}

impl Code for u32 {
    #[inline(always)]
    #[expect(unsafe_code, reason = "as above")]
    unsafe fn vector<L: NumberVectors>(l: L, codes: &[u32], at: usize) -> L::V {
        // SAFETY: as the caller promises.
        unsafe { l.load_in(codes, at) }
    }
}

/// Restores the numbers of a tile, or those on the grid of a level, and shows them plane by plane in any order: the
/// number of the first element, and the numbers. False if sums overflowed codes of 16 bits.
pub struct Decode<'a, C> {
    pub rule: Interpolation,
    pub level: u32,
    /// None longer than the sides of the grid.
    pub lens: [usize; AXES],
    pub buffers: &'a mut Buffers,
    /// The codes, with room for a vector behind them.
    pub codes: &'a mut [C],
    pub show: &'a mut dyn FnMut(usize, &[u32]),
}

impl<C: Code> Task for Decode<'_, C> {
    type Done = bool;

    #[inline(always)]
    fn run<P: CodeVectors<M>, const M: usize>(self, l: P) -> bool {
        let Decode { rule, level, lens, buffers, codes, show } = self;
        let Buffers { layouts, rows, errors, plane } = buffers;
        let layout = layouts.fit(lens, P::N);
        let finest = (level as usize).min(layout.levels.len() - 1);
        if !sum_up(layout, finest, rule.axes, codes) && C::BITS == 16 {
            return false;
        }
        March { l, layout, rule, finest, rows, errors, direction: Decoding { codes, level, finest, plane, show } }.go();
        true
    }
}

/// Sums codes that are differences along the axes of a set, from a level on; false if a sum overflowed.
#[inline(always)]
fn sum_up<W: Word>(layout: &NodeLayout, finest: usize, set: u8, codes: &mut [W]) -> bool {
    // A march reads a vector from each code on.
    assert!(layout.lens.iter().product::<usize>() + LONGEST <= codes.len());
    let mut overflow = W::ZERO;
    for (first, [nx, ny, nz], axes) in layout.levels[finest..].iter().flat_map(|level| level.differences(set)) {
        let codes = &mut codes[first..first + nx * ny * nz];
        if axes & 1 != 0 {
            for row in codes.chunks_exact_mut(nx) {
                let mut sum = W::ZERO;
                for code in row {
                    sum = add(sum, *code, &mut overflow);
                    *code = sum;
                }
            }
        }
        if axes & 2 != 0 {
            for plane in codes.chunks_exact_mut(nx * ny) {
                sum_rows(plane, nx, &mut overflow);
            }
        }
        if axes & 4 != 0 {
            sum_rows(codes, nx * ny, &mut overflow);
        }
    }
    overflow & W::SIGN == W::ZERO
}

/// Adds to each row of this length but the first one the one before it.
#[inline(always)]
fn sum_rows<W: Word>(codes: &mut [W], len: usize, overflow: &mut W) {
    let mut any = *overflow;
    for at in (len..codes.len()).step_by(len) {
        let (before, row) = codes[at - len..at + len].split_at_mut(len);
        for i in 0..len {
            row[i] = add(before[i], row[i], &mut any);
        }
    }
    *overflow = any;
}

/// The sum; it sets the top bit of `overflow` where it overflows.
#[inline(always)]
fn add<W: Word>(a: W, b: W, overflow: &mut W) -> W {
    let sum = a.add(b);
    *overflow = *overflow | (a ^ sum) & (b ^ sum);
    sum
}

/// The decoder: adds each code to its node's prediction.
struct Decoding<'a, C> {
    codes: &'a [C],
    /// The level of the grid that is wanted, and the finest one that has it.
    level: u32,
    finest: usize,
    plane: &'a mut [u32],
    show: &'a mut dyn FnMut(usize, &[u32]),
}

impl<L: NumberVectors, C: Code> Direction<L> for Decoding<'_, C> {
    #[inline(always)]
    #[expect(unsafe_code, reason = "as above")]
    unsafe fn errors(&mut self, l: L, _: L::V, _: usize, (row, v, _): (&CodeRow, usize, usize), step: u32) -> L::V {
        // SAFETY: as the march promises.
        l.mul(unsafe { C::vector(l, self.codes, row.at + v) }, l.splat(step))
    }

    #[inline(always)]
    fn error(&mut self, _: L, _: (L::V, usize), _: usize, (row, i): (&CodeRow, usize), step: u32) -> u32 {
        (self.codes[row.at + i].extend() as u32).wrapping_mul(step)
    }

    #[inline(always)]
    fn show(&mut self, l: L, layout: &NodeLayout, rows: &[u32], z: usize) {
        let [nx, ny, _] = layout.levels[self.finest].nodes.each_ref().map(|nodes| nodes.len);
        let [x, y, depth] = layout.lens.map(|n| (n as u64).div_ceil(1 << self.level) as usize);
        let step = 1 << (self.level as usize - self.finest);
        if !z.is_multiple_of(step) || z / step >= depth {
            return;
        }
        // The last node of a level need not be on the grid.
        let lens = if step == 1 { [x, y] } else { [nx, ny] };
        layout.join(l, self.finest, rows, z, lens, &mut self.plane[..lens[0] * lens[1] + 2 * LONGEST]);
        for j in 0..if step == 1 { 0 } else { y } {
            for i in 0..x {
                self.plane[j * x + i] = self.plane[(j * nx + i) * step];
            }
        }
        (self.show)(z / step * x * y, &self.plane[..x * y]);
    }
}
