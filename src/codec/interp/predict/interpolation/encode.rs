//! Numbers of a tile to codes: what is encoded is what the decoder will restore, so errors do not add up.

use super::layout::{ABSENT, CodeRow, NodeLayouts, can_interpolate};
use super::march::{Direction, March, there};
use crate::codec::interp::format::Interpolation;
use crate::error::Result;
use crate::host::memory::Aligned;
use crate::primitives::lorenzo::AXES;
use crate::simd::Task;
use crate::simd::numbers::{CodeVectors, LONGEST, NumberVectors};

/// Differences from predictions below this become the right code in the arithmetic of f32.
const MOST: u32 = 1 << 20;
/// Codes are below this.
const CODE_LIMIT: u32 = 1 << 22;

/// Where tiles are encoded.
pub struct Buffers {
    layouts: NodeLayouts,
    /// The lengths of the tile whose numbers are there.
    lens: [usize; AXES],
    /// The numbers that are to be coded.
    numbers: Aligned<u32>,
    /// Some of them are `ABSENT`.
    is_masked: bool,
    restored: Aligned<u32>,
    /// What was restored less what was predicted.
    errors: Aligned<u32>,
}

impl Buffers {
    /// For tiles of a grid with these sides. Never inlined, for the sake of the stack.
    #[inline(never)]
    pub fn new(sides: [usize; AXES]) -> Result<Buffers> {
        let sides = if can_interpolate(sides) { sides } else { [1; AXES] };
        let (layouts, [rows, errors]) = NodeLayouts::new(sides, false)?;
        Ok(Buffers {
            layouts,
            lens: [0; AXES],
            numbers: Aligned::zeros(rows)?,
            is_masked: false,
            restored: Aligned::zeros(rows)?,
            errors: Aligned::zeros(errors)?,
        })
    }

    /// Of a tile the classes whose codes may be differences: where the codes of each begin, its lengths, and along
    /// which axes.
    pub fn differences(
        &mut self,
        lens: [usize; AXES],
        lanes: usize,
    ) -> impl Iterator<Item = (usize, [usize; AXES], u8)> {
        self.layouts.fit(lens, lanes).levels.iter().flat_map(|level| level.differences((1 << AXES) - 1))
    }
}

/// Takes the numbers of a tile, row after row, to encode them.
pub struct Load<'a> {
    /// The tile's lengths, none longer than the sides of the grid.
    pub lens: [usize; AXES],
    pub numbers: &'a [u32],
    /// Some are `ABSENT`: of these whatever costs least is encoded.
    pub is_masked: bool,
    pub buffers: &'a mut Buffers,
}

impl Task for Load<'_> {
    type Done = ();

    #[inline(always)]
    fn run<P: CodeVectors<M>, const M: usize>(self, l: P) {
        let Load { lens, numbers, is_masked, buffers } = self;
        (buffers.lens, buffers.is_masked) = (lens, is_masked);
        buffers.layouts.fit(lens, P::N).split(l, numbers, &mut buffers.numbers);
    }
}

/// Encodes the numbers that were taken last into codes. Whether codes stand for them: differences may be too large.
pub struct Encode<'a> {
    pub rule: Interpolation,
    pub buffers: &'a mut Buffers,
    /// The codes, with room for a vector behind them.
    pub codes: &'a mut [u32],
}

impl Task for Encode<'_> {
    type Done = bool;

    #[inline(always)]
    fn run<P: CodeVectors<M>, const M: usize>(self, l: P) -> bool {
        let Encode { rule, buffers, codes } = self;
        let Buffers { layouts, lens, numbers, is_masked, restored: rows, errors } = buffers;
        let layout = layouts.fit(*lens, P::N);
        // All that is read and written is there, as a march says.
        assert!(layout.rows <= numbers.len() && lens.iter().product::<usize>() + P::N <= codes.len());
        let (numbers, is_masked) = (&numbers[..], *is_masked);
        let direction = Encoding { numbers, is_masked, codes: &mut *codes, any: l.splat(0), any_apart: 0 };
        let mut march = March { l, layout, rule, finest: 0, rows, errors, direction };
        march.go();
        let any = l.any(march.direction.any) | march.direction.any_apart;
        for (begin, lens, axes) in layout.levels.iter().flat_map(|level| level.differences(rule.axes)) {
            difference(l, codes, begin, axes, lens);
        }
        any < if rule.in_steps { MOST } else { CODE_LIMIT }
    }
}

/// Copies the numbers that were restored last, row after row.
pub struct Restored<'a> {
    pub buffers: &'a mut Buffers,
    pub numbers: &'a mut [u32],
}

impl Task for Restored<'_> {
    type Done = ();

    #[inline(always)]
    fn run<P: CodeVectors<M>, const M: usize>(self, l: P) {
        let Buffers { layouts, lens, restored, .. } = self.buffers;
        let layout = layouts.fit(*lens, P::N);
        for (z, plane) in self.numbers.chunks_exact_mut(lens[0] * lens[1]).enumerate() {
            layout.join(l, 0, restored, z, [lens[0], lens[1]], plane);
        }
    }
}

/// Makes codes of nodes.
struct Encoding<'a, L: NumberVectors> {
    numbers: &'a [u32],
    is_masked: bool,
    /// The codes, in their order; signed where they will be differences.
    codes: &'a mut [u32],
    /// All bits of what was coded, or of its complement, without loss: of vectors, and of single nodes.
    any: L::V,
    any_apart: u32,
}

impl<L: NumberVectors> Direction<L> for Encoding<'_, L> {
    #[inline(always)]
    #[expect(unsafe_code, reason = "a march asks for its room once, not each vector")]
    unsafe fn errors(
        &mut self,
        l: L,
        predicted: L::V,
        at: usize,
        (row, v, count): (&CodeRow, usize, usize),
        step: u32,
    ) -> L::V {
        // SAFETY: as the march promises; codes before those of a row are there.
        unsafe {
            let number = l.load_in(self.numbers, at);
            let mut d = l.sub(number, predicted);
            let is_whole = count >= L::N;
            if !is_whole {
                d = l.and(d, there(l, count));
            }
            // Of numbers that count the upper two bits are alike.
            let absent = match self.is_masked {
                true => l.right_signed::<31>(l.xor(number, l.left::<1>(number))),
                false => l.splat(0),
            };
            if self.is_masked {
                d = l.blend(absent, l.splat(0), d);
            }
            self.any = l.or(self.any, l.xor(d, l.right_signed::<31>(d)));
            let mut code = if step == 1 { d } else { l.nearest(d, 1.0 / step as f32) };
            if self.is_masked && row.before != [0; 2] {
                code = l.blend(absent, before_all(l, self.codes, row.before, row.at + v), code);
            }
            let mut own = if row.axes == 0 { l.zigzag(code) } else { code };
            if !is_whole && row.at + v + L::N > row.end {
                own = l.blend(there(l, count), own, l.load_in(self.codes, row.at + v));
            }
            l.store_in(own, self.codes, row.at + v);
            if step == 1 { code } else { l.mul(code, l.splat(step)) }
        }
    }

    #[inline(always)]
    fn error(&mut self, l: L, (p, lane): (L::V, usize), at: usize, (row, i): (&CodeRow, usize), step: u32) -> u32 {
        let mut lanes = [0; LONGEST];
        l.store(p, &mut lanes);
        let (number, p, place) = (self.numbers[at], lanes[lane], row.at + i);
        let is_absent = self.is_masked && number == ABSENT;
        let d = if is_absent { 0 } else { number.wrapping_sub(p) };
        self.any_apart |= d ^ (d as i32 >> 31) as u32;
        let code = match step {
            _ if is_absent => before(row.before, |far| self.codes[place - far]),
            1 => d,
            _ => (d as i32 as f32 * (1.0 / step as f32)).round_ties_even() as i32 as u32,
        };
        self.codes[place] = if row.axes == 0 { code << 1 ^ (code as i32 >> 31) as u32 } else { code };
        code.wrapping_mul(step)
    }
}

/// The code that one is the difference to whose rows before it, if any, are so far before it.
fn before([y, z]: [usize; 2], code: impl Fn(usize) -> u32) -> u32 {
    let of = |far: usize| if far > 0 { code(far) } else { 0 };
    let both = if y > 0 && z > 0 { code(y + z) } else { 0 };
    of(y).wrapping_add(of(z)).wrapping_sub(both)
}

/// The same of a vector of codes from `at` on.
#[inline(always)]
fn before_all<L: NumberVectors>(l: L, codes: &[u32], [y, z]: [usize; 2], at: usize) -> L::V {
    match (y, z) {
        (_, 0) => l.load_at(codes, at - y),
        (0, _) => l.load_at(codes, at - z),
        _ => {
            let both = l.add(l.load_at(codes, at - y), l.load_at(codes, at - z));
            l.sub(both, l.load_at(codes, at - y - z))
        }
    }
}

/// Replaces the codes of a class from `begin` on, as signed numbers, by their differences along axes. The last row
/// comes first, so that those before it are as they were.
#[inline(always)]
fn difference<L: NumberVectors>(l: L, codes: &mut [u32], begin: usize, axes: u8, [nx, ny, nz]: [usize; AXES]) {
    for (z, y) in (0..nz).rev().flat_map(|z| (0..ny).rev().map(move |y| (z, y))) {
        let before = [if axes & 2 != 0 && y > 0 { nx } else { 0 }, if axes & 4 != 0 && z > 0 { nx * ny } else { 0 }];
        let (at, mut last, mut v) = (begin + (z * ny + y) * nx, l.splat(0), 0);
        while v < nx {
            let own = l.load_at(codes, at + v);
            let here = if before == [0; 2] { own } else { l.sub(own, before_all(l, codes, before, at + v)) };
            let mut code = l.zigzag(if axes & 1 != 0 { l.sub(here, l.shifted_in(last, here)) } else { here });
            if v + L::N > nx {
                code = l.blend(there(l, nx - v), code, own);
            }
            l.store_at(code, codes, at + v);
            (last, v) = (here, v + L::N);
        }
    }
}
