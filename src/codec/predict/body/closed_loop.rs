//! Tiles that are interpolated, with the patches of what that does not restore.

use super::choice::{self, Tile, Trial, Way};
use super::patches::Patches;
use crate::codec::predict::format::{LATTICE_STEP, Rule};
use crate::codec::predict::map::lattice::{Bins, Multiple, multiple_of};
use crate::codec::predict::map::plan::Plan;
use crate::codec::predict::map::survey::{BLOCK, Multiples, Survey, element_bits, ones};
use crate::codec::predict::predict::interpolation;
use crate::codec::predict::simd::Level;
use crate::error::Result;
use crate::host::memory::filled;
use crate::primitives::lorenzo::AXES;
use crate::primitives::word::Word;

/// What an encoder keeps for such tiles.
pub struct Buffers {
    /// The elements as multiples.
    pub multiples: Multiples,
    levels: interpolation::Buffers,
    /// The elements with others in the places of those that have no multiple.
    filled: Vec<u8>,
    trial: Trial,
    /// What is restored of a tile, row after row.
    restored: Vec<u32>,
    /// What the predictor does not restore.
    pub patches: Patches,
}

impl Buffers {
    /// Allocates them for the tiles of a plan.
    pub fn new(plan: &Plan) -> Result<Buffers> {
        let sides = plan.grid.sides;
        let n = if plan.lattice().is_some() || is_for(plan) { plan.grid.capacity() } else { 0 };
        Ok(Buffers {
            multiples: Multiples::new(n)?,
            levels: interpolation::Buffers::new(if is_for(plan) { sides } else { [0; AXES] }, true)?,
            filled: filled(n * plan.layout.dtype.size(), 0)?,
            trial: Trial::new(n)?,
            restored: filled(n, 0)?,
            patches: Patches::new()?,
        })
    }
}

/// Whether the tiles of a plan may be interpolated.
pub fn is_for(plan: &Plan) -> bool {
    interpolation::is_for(plan.grid.sides)
}

/// Chooses for a tile of multiples how it is predicted.
pub fn choose(p: impl Level, lens: [usize; AXES], survey: Survey, buffers: &mut Buffers) -> Way {
    let Buffers { multiples, trial, levels, .. } = buffers;
    choice::choose(p, Tile { lens, survey, multiples }, (trial, levels))
}

/// Chooses for a tile of numbers that must not change how it is predicted.
pub fn choose_exact(p: impl Level, lens: [usize; AXES], numbers: &[u32], buffers: &mut Buffers) -> Way {
    let Buffers { trial, levels, .. } = buffers;
    choice::choose_exact(p, lens, numbers, (trial, levels))
}

/// Encodes a tile by a rule into codes; `false` where it cannot be.
pub fn encode(
    p: impl Level,
    lens: [usize; AXES],
    survey: Survey,
    rule: Rule,
    buffers: &mut Buffers,
    codes: &mut [u32],
) -> bool {
    let n: usize = lens.iter().product();
    let Buffers { multiples: Multiples { numbers, counts, on, .. }, levels, restored, patches, .. } = buffers;
    let mask = survey.is_masked().then_some(&counts[..n]);
    p.run(interpolation::Load { lens, numbers: &numbers[..n], mask, buffers: levels });
    if !p.run(interpolation::Encode { rule, buffers: levels, codes }) {
        return false;
    }
    if !rule.coarse || survey.on == 0 {
        return true;
    }
    p.run(interpolation::Restored { buffers: levels, numbers: restored });
    for (k, on) in on.iter().enumerate().take(n.div_ceil(BLOCK)) {
        let block = k * BLOCK..n.min((k + 1) * BLOCK);
        if numbers[block.clone()] == restored[block] {
            continue;
        }
        for i in ones(&[*on]) {
            let at = k * BLOCK + i;
            let by = numbers[at].wrapping_sub(restored[at]) as i32;
            if by != 0 && !patches.correct(at, by) {
                return false;
            }
        }
    }
    true
}

/// Encodes numbers that must not change by a rule into codes; `false` where it cannot be.
pub fn encode_exact(
    p: impl Level,
    lens: [usize; AXES],
    numbers: &[u32],
    rule: Rule,
    buffers: &mut Buffers,
    codes: &mut [u32],
) -> bool {
    p.run(interpolation::Load { lens, numbers, mask: None, buffers: &mut buffers.levels });
    p.run(interpolation::Encode { rule, buffers: &mut buffers.levels, codes })
}

/// Lists the exceptions of a tile: those that have no multiple, where they are few, otherwise those on the border; of
/// these alone `wide` tells then. `false` if they are too many.
pub fn except<W: Word>(big_endian: bool, data: &[u8], survey: Survey, buffers: &mut Buffers) -> bool {
    if survey.wide == 0 {
        return true;
    }
    let n = data.len() / size_of::<W>();
    let Buffers { multiples: Multiples { wide, border, .. }, patches, .. } = buffers;
    let words = n.div_ceil(BLOCK);
    if !survey.has_few_wide(n) {
        wide[..words].copy_from_slice(&border[..words]);
    }
    ones(&wide[..words]).all(|i| patches.except(i, element_bits::<W>(big_endian, data, i).to_u64()))
}

/// Lists the multiples that bins do not restore; `false` if they are too many.
pub fn correct_bins<E: Multiple>(
    bins: &Bins,
    big_endian: bool,
    data: &[u8],
    survey: Survey,
    buffers: &mut Buffers,
) -> bool {
    if survey.on == 0 {
        return true;
    }
    let n = data.len() / size_of::<E::Word>();
    let Buffers { multiples: Multiples { on, numbers, .. }, patches, .. } = buffers;
    ones(&on[..n.div_ceil(BLOCK)]).all(|i| {
        let number = (numbers[i] as i32).wrapping_add(survey.base);
        if number % LATTICE_STEP as i32 == 0 {
            return true;
        }
        let mut bin = [element_bits::<E::Word>(big_endian, data, i)];
        bins.encode::<E, 1>(&mut bin);
        patches.correct(i, number.wrapping_sub((bin[0].extend() as i32).wrapping_mul(LATTICE_STEP as i32)))
    })
}

/// The elements with others in the places of those that have no multiple, which are few.
pub fn fill<E: Multiple>(data: &[u8], buffers: &mut Buffers) -> Vec<u8> {
    let size = size_of::<E::Word>();
    let mut filled = std::mem::take(&mut buffers.filled);
    let wide = &buffers.multiples.wide;
    filled[..data.len()].copy_from_slice(data);
    let is_wide = |i: usize| wide[i / BLOCK] >> (i % BLOCK) & 1 == 1;
    let n = data.len() / size;
    let mut last = (0..n).find(|i| !is_wide(*i)).unwrap_or(0);
    for i in 0..n {
        if is_wide(i) {
            filled.copy_within(last * size..(last + 1) * size, i * size);
        } else {
            last = i;
        }
    }
    filled
}

impl Buffers {
    /// Takes back what [`fill`] gave.
    pub fn keep(&mut self, filled: Vec<u8>) {
        self.filled = filled;
    }
}

/// Whether an element that is there would come back as a missing value.
pub fn collides<E: Multiple>(
    p: impl Level,
    plan: &Plan,
    lens: [usize; AXES],
    survey: Survey,
    buffers: &mut Buffers,
) -> bool {
    let Some(lattice) = plan.lattice() else { return false };
    let n: usize = lens.iter().product();
    let multiple = |bits: &u64| {
        let number = multiple_of::<E>(lattice, E::Word::from_u64(*bits))?;
        Some(number.wrapping_sub(survey.base) as u32)
    };
    plan.layout.shape.missing.bits().iter().filter_map(multiple).any(|number| {
        let Buffers { multiples: Multiples { counts, .. }, levels, restored, .. } = &mut *buffers;
        p.run(interpolation::Restored { buffers: levels, numbers: restored });
        let there = |i: usize| !survey.is_masked() || counts[i] != 0;
        restored[..n].iter().enumerate().any(|(i, word)| *word == number && there(i))
    })
}
