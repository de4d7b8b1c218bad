//! Interpolation inside a tile, in integers: levels from coarse to fine, on each of which the new nodes are predicted
//! from the restored ones around them (docs/reference/codecs/interp.md §7). What is encoded is what the decoder will
//! restore, so errors do not add up. All arithmetic is modulo 2^32.

// Iterators and closures may stay calls, which code without a level's instructions then makes.
#![allow(clippy::needless_range_loop)]

pub mod finest;
pub mod levels;
pub mod pass;
pub mod weights;

use crate::codec::interp::format::Rule;
use crate::error::Result;
use crate::host::memory::Aligned;
use crate::primitives::lorenzo::AXES;
use crate::simd::Task;
use crate::simd::lanes::{LONGEST, Lanes};
pub use levels::{ABSENT, DIFFERENCE_LEVELS, single_classes, with_differences};
use levels::{LevelLayout, Room};
use pass::Pass;
pub use weights::WEIGHT_BITS;

/// Differences from predictions below this become the right code in the arithmetic of f32.
const MOST: u32 = 1 << 20;
/// Codes are below this.
const CODE_LIMIT: u32 = 1 << 22;

/// Layouts that are kept: of whole tiles and cut ones, and of parts of both.
const LAYOUTS: usize = 4;

/// Where a tile is interpolated.
pub struct Buffers {
    /// The layouts of the last tiles, and of parts of them.
    layouts: [LevelLayout; LAYOUTS],
    /// The one in use, and the one that gives way to the next one.
    layout: usize,
    next: usize,
    /// The numbers that are to be coded.
    numbers: Aligned<u32>,
    /// Some of them are `ABSENT`.
    is_masked: bool,
    restored: Aligned<u32>,
    /// What was restored less what was predicted, of the classes of a level that others look at.
    errors: Aligned<u32>,
    /// The codes of a class, signed.
    signed: Aligned<u32>,
}

/// Rows shorter than this are not worth their vectors, unless they are few.
pub const SHORTEST_ROW: usize = 8;
/// Elements of a tile of such rows, at most.
pub const FEW: usize = 2048;

/// Whether tiles with these sides may be interpolated.
pub fn is_for(sides: [usize; AXES]) -> bool {
    sides[0] >= SHORTEST_ROW || sides[0] > 0 && sides.iter().product::<usize>() <= FEW
}

impl Buffers {
    /// For tiles of a grid with these sides. Never inlined, for the sake of the stack.
    #[inline(never)]
    pub fn new(sides: [usize; AXES]) -> Result<Buffers> {
        let mut layouts = [
            LevelLayout::empty(sides)?,
            LevelLayout::empty(sides)?,
            LevelLayout::empty(sides)?,
            LevelLayout::empty(sides)?,
        ];
        let room = if is_for(sides) { layouts[0].lay_out(sides, LONGEST) } else { Room::default() };
        layouts[0].lens = [0; AXES];
        Ok(Buffers {
            layouts,
            layout: 0,
            next: 0,
            numbers: Aligned::zeros(room.numbers)?,
            is_masked: false,
            restored: Aligned::zeros(room.numbers)?,
            errors: Aligned::zeros(room.errors)?,
            signed: Aligned::zeros(room.class)?,
        })
    }

    /// Makes them those of a tile with these lengths, none longer than the sides of the grid.
    fn fit(&mut self, lens: [usize; AXES], lanes: usize) {
        if let Some(known) = self.layouts.iter().position(|layout| layout.lens == lens) {
            self.layout = known;
            return;
        }
        self.layout = self.next;
        self.next = (self.next + 1) % LAYOUTS;
        let room = self.layouts[self.layout].lay_out(lens, lanes);
        debug_assert!(room.numbers <= self.restored.len() && room.errors <= self.errors.len());
    }
}

/// Takes the numbers of a tile, row after row, to encode them.
pub struct Load<'a> {
    /// The tile's lengths.
    pub lens: [usize; AXES],
    /// The numbers.
    pub numbers: &'a [u32],
    /// Some are `ABSENT`: of these whatever costs least is encoded.
    pub is_masked: bool,
    /// Where they go.
    pub buffers: &'a mut Buffers,
}

impl Task for Load<'_> {
    type Done = ();

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        let Load { lens, numbers, is_masked, buffers } = self;
        buffers.fit(lens, L::N);
        buffers.is_masked = is_masked;
        buffers.layouts[buffers.layout].split(l, numbers, &mut buffers.numbers);
    }
}

/// Encodes the numbers that were taken last into codes. Whether codes stand for them: differences may be too large.
pub struct Encode<'a> {
    /// How they are interpolated.
    pub rule: Rule,
    /// Where they are.
    pub buffers: &'a mut Buffers,
    /// The codes, with room for a vector behind them.
    pub codes: &'a mut [u32],
}

impl Task for Encode<'_> {
    type Done = bool;

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) -> bool {
        let Encode { rule, buffers, codes } = self;
        let Buffers { layouts, layout, numbers, is_masked, restored, errors, signed, .. } = buffers;
        let is_masked = *is_masked;
        let mut pass = Pass { l, rule, numbers, is_masked, restored, errors, signed, codes, any: l.splat(0) };
        pass.run(&layouts[*layout]);
        l.any(pass.any) < if rule.coarse { MOST } else { CODE_LIMIT }
    }
}

/// Copies the numbers that were restored last, row after row.
pub struct Restored<'a> {
    /// Where they are.
    pub buffers: &'a Buffers,
    /// The numbers.
    pub numbers: &'a mut [u32],
}

impl Task for Restored<'_> {
    type Done = ();

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        let Buffers { layouts, layout, restored, .. } = self.buffers;
        layouts[*layout].rows(l, restored, self.numbers);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::interp::format::LATTICE_STEP;
    use crate::codec::interp::predict::decode::{self, Signed};
    #[cfg(target_arch = "aarch64")]
    use crate::exec::Neon;
    #[cfg(target_arch = "x86_64")]
    use crate::exec::{Avx2, Avx512};
    use crate::exec::{Isa, Level as Processor};
    use crate::simd::{Level, Scalar};

    const LENS: [[usize; AXES]; 18] = [
        [1, 1, 1],
        [2, 2, 2],
        [9, 1, 1],
        [300, 1, 1],
        [1, 9, 4],
        [16, 16, 16],
        [33, 5, 3],
        [8, 1, 40],
        [130, 17, 1],
        [32, 32, 16],
        [17, 33, 9],
        [20, 31, 12],
        [64, 64, 1],
        [3, 3, 200],
        [2, 2, 128],
        [2, 300, 1],
        [1, 2, 900],
        [4, 1, 3],
    ];

    fn rules() -> impl Iterator<Item = Rule> {
        (0..32u8).map(|i| Rule { rough: i & 1 == 1, coarse: i & 2 == 2, set: i >> 2 })
    }

    /// A smooth field with some noise, and some elements that do not count.
    fn field(lens: [usize; AXES]) -> (Vec<u32>, Vec<u32>) {
        let n: usize = lens.iter().product();
        let mut noise = 1u32;
        let mut random = || {
            noise = noise.wrapping_mul(1664525).wrapping_add(1013904223);
            noise >> 24
        };
        let number = |i: usize| {
            let [x, y, z] = [i % lens[0], i / lens[0] % lens[1], i / lens[0] / lens[1]].map(|v| v as f64);
            ((x / 7.0).sin() + (y / 5.0).cos() * (z / 9.0).sin()) * 9000.0
        };
        let numbers = (0..n).map(|i| (number(i) as i32 + random() as i32) as u32).collect();
        (numbers, (0..n).map(|_| if random() < 40 { 0 } else { u32::MAX }).collect())
    }

    /// A level restores these numbers from codes of 32 bits, and of 16 if they fit.
    fn restore(p: impl Level, lens: [usize; AXES], rule: Rule, signed: &[u32], restored: &[u32]) {
        let mut short: Vec<u16> = signed.iter().map(|code| *code as u16).collect();
        let fits = signed[..restored.len()].iter().all(|code| *code as i16 as u32 == *code);
        for is_short in [false, true] {
            let mut decoded = vec![0; restored.len()];
            let mut show = |at: usize, numbers: &[u32]| decoded[at..at + numbers.len()].copy_from_slice(numbers);
            let (buffers, mut long) = (&mut decode::Buffers::new(lens).unwrap(), signed.to_vec());
            let codes = if is_short { Signed::Short(&mut short) } else { Signed::Long(&mut long) };
            // Sums of short codes may be too long for them.
            let is_done = p.run(decode::Decode { rule, lens, buffers, codes, show: &mut show }).unwrap();
            assert!(is_done || is_short);
            assert!(!is_done || is_short && !fits || decoded == restored, "{lens:?} {rule:?} {is_short}");
        }
    }

    /// What is encoded is restored by the decoder as by the encoder, no more than half a step off where it counts.
    #[test]
    fn decoders_restore_what_encoders_do() {
        for lens in LENS {
            let (numbers, mask) = field(lens);
            let n = numbers.len();
            for (rule, masked) in rules().flat_map(|rule| [(rule, false), (rule, true)]) {
                let mut buffers = Buffers::new(lens).unwrap();
                let (mut codes, mut restored) = (vec![0; n + LONGEST], vec![0; n]);
                let marked = |(number, mask): (&u32, &u32)| if masked && *mask == 0 { ABSENT } else { *number };
                let marked: Vec<u32> = numbers.iter().zip(&mask).map(marked).collect();
                Scalar.run(Load { lens, numbers: &marked, is_masked: masked, buffers: &mut buffers });
                assert!(Scalar.run(Encode { rule, buffers: &mut buffers, codes: &mut codes }));
                Scalar.run(Restored { buffers: &buffers, numbers: &mut restored });
                let signed: Vec<u32> = codes.iter().map(|c| c >> 1 ^ 0u32.wrapping_sub(c & 1)).collect();
                restore(Scalar, lens, rule, &signed, &restored);
                #[cfg(target_arch = "x86_64")]
                if let Some(p) = Isa::of(Processor::Avx2).and_then(Avx2::of) {
                    restore(p, lens, rule, &signed, &restored);
                }
                #[cfg(target_arch = "x86_64")]
                if let Some(p) = Isa::of(Processor::Avx512).and_then(Avx512::of) {
                    restore(p, lens, rule, &signed, &restored);
                }
                #[cfg(target_arch = "aarch64")]
                if let Some(p) = Isa::of(Processor::Neon).and_then(Neon::of) {
                    restore(p, lens, rule, &signed, &restored);
                }
                let most = if rule.coarse { LATTICE_STEP / 2 } else { 0 };
                let counts = |i: &usize| !masked || mask[*i] != 0;
                let off = |i: usize| (numbers[i].wrapping_sub(restored[i]) as i32).unsigned_abs();
                let worst = (0..n).filter(counts).map(off).max().unwrap();
                assert!(worst <= most, "{lens:?} {rule:?} {masked}: {worst}");
            }
        }
    }
}
