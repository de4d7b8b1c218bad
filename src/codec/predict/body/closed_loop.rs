//! Tiles that are interpolated, with the patches of what that does not restore.

use super::choice::{self, Desk, Ready, Tile, Trial, Way};
use super::patches::Patches;
use crate::codec::interp::plan::Plan;
use crate::codec::interp::predict::interpolation;
use crate::codec::interp::quantize::lattice::{Bins, Multiple, multiple_of};
use crate::codec::interp::quantize::multiples::{self as survey, BLOCK, Multiples, Survey, element_bits, ones};
use crate::codec::predict::format::{GROUP, Grid, LATTICE_STEP, Rule};
use crate::error::Result;
use crate::primitives::lorenzo::AXES;
use crate::simd::Level;
use crate::simd::word::Word;

/// What an encoder keeps for such tiles.
pub struct Buffers {
    /// The elements as multiples.
    pub multiples: Multiples,
    levels: interpolation::Buffers,
    trial: Trial,
    /// What the predictor does not restore.
    pub patches: Patches,
}

impl Buffers {
    /// Allocates them for the tiles of a plan.
    pub fn new(plan: &Plan) -> Result<Buffers> {
        let sides = if is_for(plan) { plan.grid.sides } else { [0; AXES] };
        let n = if plan.lattice().is_some() || is_for(plan) { plan.grid.capacity() } else { 0 };
        let lent = plan.grid.groups() * GROUP * plan.layout.dtype.size();
        Ok(Buffers {
            multiples: Multiples::new(plan.grid.capacity())?,
            levels: interpolation::Buffers::new(sides, Some(lent))?,
            trial: Trial::new(n, lent)?,
            patches: Patches::new()?,
        })
    }

    /// Room for all codes of a tile, three times: for ways to encode it that need nothing of these buffers but patches.
    pub fn lend<W: Word>(&mut self, grid: &Grid) -> [&mut [W]; 3] {
        let n = grid.groups() * GROUP;
        let [a, b] = self.levels.lend(n);
        [a, b, self.trial.words.room(n)]
    }
}

/// Whether the tiles of a plan may be interpolated.
pub fn is_for(plan: &Plan) -> bool {
    interpolation::is_for(plan.grid.sides)
}

/// Chooses for a tile of multiples how it is predicted; what of it is in buffers and codes then.
pub fn choose(
    p: impl Level,
    lens: [usize; AXES],
    survey: Survey,
    buffers: &mut Buffers,
    codes: &mut [u32],
) -> (Way, Ready) {
    let Buffers { multiples, trial, levels, .. } = buffers;
    choice::choose(p, Tile { lens, survey, multiples }, &mut Desk { trial, levels, codes })
}

/// Chooses for a tile of short numbers that must not change how it is predicted; `codes` is room for this.
pub fn choose_exact(p: impl Level, lens: [usize; AXES], buffers: &mut Buffers, codes: &mut [u32]) -> Way {
    let Buffers { multiples, trial, levels, .. } = buffers;
    choice::choose_exact(p, lens, multiples.short(lens.iter().product()), &mut Desk { trial, levels, codes })
}

/// Encodes a tile by a rule into codes, but for what is there already; `false` where it cannot be.
pub fn encode(
    p: impl Level,
    lens: [usize; AXES],
    survey: Survey,
    (rule, ready): (Rule, Ready),
    buffers: &mut Buffers,
    codes: &mut [u32],
) -> bool {
    let n: usize = lens.iter().product();
    let Buffers { multiples: Multiples { numbers, absent, on, .. }, levels, trial, patches } = buffers;
    let (is_masked, restored) = (survey.is_masked(), &mut trial.other);
    if ready == Ready::Nothing {
        if is_masked {
            p.run(survey::LeaveOut { numbers: &mut numbers[..n], absent, by: interpolation::ABSENT });
        }
        p.run(interpolation::Load { lens, numbers: &numbers[..n], is_masked, buffers: levels });
    }
    if ready != Ready::Codes && !p.run(interpolation::Encode { rule, buffers: levels, codes }) {
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

/// Encodes short numbers that must not change by a rule into codes; `false` where it cannot be.
pub fn encode_exact(p: impl Level, lens: [usize; AXES], rule: Rule, buffers: &mut Buffers, codes: &mut [u32]) -> bool {
    let Buffers { multiples, levels, .. } = buffers;
    let numbers = multiples.short(lens.iter().product());
    p.run(interpolation::Load { lens, numbers, is_masked: false, buffers: levels });
    p.run(interpolation::Encode { rule, buffers: levels, codes })
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

/// Lists the multiples that bins do not restore, of which alone `on` tells then; `false` if they are too many.
pub fn correct_bins<E: Multiple>(
    p: impl Level,
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
    let on = &mut on[..n.div_ceil(BLOCK)];
    p.run(survey::LeaveBins { numbers, base: survey.base, on });
    ones(on).all(|i| {
        let number = (numbers[i] as i32).wrapping_add(survey.base);
        let mut bin = [element_bits::<E::Word>(big_endian, data, i)];
        bins.encode::<E, 1>(&mut bin);
        patches.correct(i, number.wrapping_sub((bin[0].extend() as i32).wrapping_mul(LATTICE_STEP as i32)))
    })
}

/// The elements, in the order of their bytes, with others in the places of those that have no multiple, which are few.
pub fn fill<W: Word>(data: &[u8], buffers: &Buffers, filled: &mut [W]) {
    let wide = &buffers.multiples.wide;
    let is_wide = |i: usize| wide[i / BLOCK] >> (i % BLOCK) & 1 == 1;
    let n = filled.len();
    // As bytes in memory, whatever words these are.
    let element = |i: usize| element_bits::<W>(cfg!(target_endian = "big"), data, i);
    let mut last = (0..n).find(|i| !is_wide(*i)).unwrap_or(0);
    for (i, filled) in filled.iter_mut().enumerate() {
        if !is_wide(i) {
            last = i;
        }
        *filled = element(last);
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
        let Buffers { multiples: Multiples { absent, .. }, levels, trial, .. } = &mut *buffers;
        let restored = &mut trial.other;
        p.run(interpolation::Restored { buffers: levels, numbers: restored });
        let there = |i: usize| !survey.is_masked() || absent[i / BLOCK] >> (i % BLOCK) & 1 == 0;
        restored[..n].iter().enumerate().any(|(i, word)| *word == number && there(i))
    })
}
