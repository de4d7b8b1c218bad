//! What is chosen once for an array, by trials of some tiles; `rules.rs` tells how.

use super::format::Interpolation;
use super::predict::sample::SETS;
use super::rules::{LIMIT_WORTH, LIMITS, WORTH, is_taken};

/// Smooth and rough with each set of axes.
pub const RULES: usize = 2 * SETS;

/// What a trial cost.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// Multiples in steps, or numbers that must not change.
    pub steps: bool,
    /// By each rule.
    pub rules: [u64; RULES],
    /// By differences along axes, and what the sample says of these.
    pub axes: u64,
    pub sampled: u64,
}

/// A cost that nothing has.
pub const NEVER: u64 = u64::MAX / 4096;

/// A rule, and the limit up to which it is taken.
#[derive(Clone, Copy, Debug)]
pub struct Limited {
    pub rule: Interpolation,
    pub limit: u64,
}

/// What tiles are encoded by.
#[derive(Clone, Copy, Debug, Default)]
pub struct Choice {
    /// Multiples in steps, and where they cost little.
    pub steps: Option<Limited>,
    /// See above.
    pub second: Option<Interpolation>,
    /// Other numbers.
    pub exact: Option<Limited>,
}

impl Choice {
    /// That of some trials.
    pub fn of(trials: &[Trial]) -> Choice {
        let all = 0..RULES;
        let steps = best(trials, true, all.clone());
        let other = steps.map(|steps| if steps.rule.rough { 0..SETS } else { SETS..RULES });
        let second = other.and_then(|rules| best(trials, true, rules)).map(|second| second.rule);
        Choice { steps, second, exact: best(trials, false, all) }
    }

    /// The axes of a rule in steps that is smooth, or rough.
    pub fn set_of(&self, rough: bool) -> u8 {
        let is_it = |rule: &Interpolation| rule.rough == rough;
        let first = self.steps.map(|steps| steps.rule);
        first.filter(is_it).or(self.second.filter(is_it)).map_or(0, |rule| rule.axes)
    }
}

/// The best one of some rules for trials of a kind, unless axes are as good; its limit.
fn best(trials: &[Trial], steps: bool, rules: std::ops::Range<usize>) -> Option<Limited> {
    let these = || trials.iter().filter(|trial| trial.steps == steps);
    let cost = |rule: usize| these().map(|trial| trial.rules[rule].min(trial.axes)).sum::<u64>();
    let axes: u64 = these().map(|trial| trial.axes).sum();
    let best = rules.min_by_key(|rule| cost(*rule))?;
    if cost(best) + axes / WORTH >= axes {
        return None;
    }
    let with = |limit: u64| {
        let taken = |trial: &Trial| is_taken(trial.rules[best], trial.sampled, limit);
        these().map(|trial| if taken(trial) { trial.rules[best] } else { trial.axes }).sum::<u64>()
    };
    let usual = with(LIMITS[0]);
    let least = LIMITS.into_iter().min_by_key(|limit| with(*limit))?;
    let limit = if with(least) + usual / LIMIT_WORTH < usual { least } else { LIMITS[0] };
    Some(Limited { rule: Interpolation { rough: best >= SETS, in_steps: steps, axes: (best % SETS) as u8 }, limit })
}
