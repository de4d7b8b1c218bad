//! What the values of a dataset lost before, as far as its attributes and filters tell.

use std::ffi::CStr;

use sleek::hdf5::CdValues;
use sleek::{Bound, Mode};

use super::coordinates::text_of;
use super::dataset::Field;
use super::filters::{Filter, filter_name, is_lossy, pipeline};
use crate::progress::number;

/// Attributes that tell of the filter in place: what was asked of it, and the range that a share is of.
pub const MODE: &CStr = c"sleek_mode";
pub const BOUND: &CStr = c"sleek_bound";
pub const RANGE: &CStr = c"sleek_range";
/// Every loss that the values went through, the first one first.
pub const LOSSES: &CStr = c"sleek_losses";
/// How far values may be from those before the first loss, where that is known.
pub const ABS_BOUND: &CStr = c"sleek_abs_bound";
/// Between losses.
pub const SEPARATOR: &str = ", ";
/// Between a share and its range.
const OF: &str = " of ";

/// What the values of a dataset went through.
pub struct Losses {
    /// As its attributes tell, the first one first.
    pub told: Vec<String>,
    /// Other filters that may have lost something, of which no attribute tells.
    pub others: Vec<String>,
    /// The loss by our filter where no attribute tells of it: another program used it.
    pub ours: Option<Bound>,
}

impl Losses {
    pub fn of(field: &Field) -> Result<Losses, String> {
        let asked = match (text_of(&field.dataset, MODE)?, &field.numbers_of(BOUND)?[..]) {
            (Some(mode), [bound]) => Some(in_words(&mode, *bound, field.numbers_of(RANGE)?.first().copied())),
            _ => None,
        };
        let all = text_of(&field.dataset, LOSSES)?.filter(|all| !all.is_empty());
        // Versions that told no more told the last one.
        let told: Vec<String> =
            all.map_or(asked.iter().cloned().collect(), |all| all.split(SEPARATOR).map(str::to_owned).collect());
        let filters = pipeline(&field.properties)?;
        // Where nothing is told of the filter in place another program used it, as where each chunk has its range:
        // `repack` names one for all. The attributes of older files tell no range.
        let without_range = |bound: Bound| in_words(bound.mode().name(), bound.number(), None);
        let is_told = |bound| asked.as_ref().is_some_and(|asked| [loss(bound), without_range(bound)].contains(asked));
        let ours = asked_of(&filters).filter(|bound| bound.measures() || !is_told(*bound));
        let others = filters.iter().filter(|filter| is_lossy(filter.id, field.stored.dtype.is_float()));
        let others = others.map(|filter| filter_name(filter.id)).filter(|loss| told.last() != Some(loss)).collect();
        Ok(Losses { told, others, ours })
    }

    /// Every loss, the first one first.
    pub fn all(&self) -> Vec<String> {
        self.told.iter().chain(&self.others).cloned().chain(self.ours.map(loss)).collect()
    }
}

/// What our filter was asked to lose.
pub fn asked_of(filters: &[Filter]) -> Option<Bound> {
    let said = CdValues::decode(&filters.iter().find(|filter| filter.is_sleek())?.words).ok()?;
    let bound = said.params().ok()?.map_or(said.request.bound, |params| params.bound);
    Some(bound).filter(|bound| *bound != Bound::Lossless)
}

/// What follows from all of these, one after the other; `None` unless all are absolute.
pub fn sum_of(losses: &[String]) -> Option<f64> {
    losses.iter().try_fold(0.0, |sum, loss| Some(added(sum, bound_of(loss)?.absolute()?)))
}

/// Errors add up, and the sum is rounded.
pub fn added(first: f64, second: f64) -> f64 {
    if first == 0.0 || second == 0.0 { first + second } else { (first + second).next_up() }
}

/// What `loss` says; `None` of a share of ranges that nobody tells, and of another filter's.
pub fn bound_of(loss: &str) -> Option<Bound> {
    said(loss).filter(|bound| !bound.measures())
}

/// The same of any share.
pub fn said(loss: &str) -> Option<Bound> {
    let (mode, number) = loss.split_once('=')?;
    let (number, range) = number.split_once(OF).map_or((number, None), |(number, range)| (number, Some(range)));
    let mode = Mode::ALL.into_iter().find(|known| known.name() == mode)?;
    Some(Bound::new(mode, number.parse().ok()?).ok()?.of_range(range.and_then(|range| range.parse().ok())))
}

pub fn loss(bound: Bound) -> String {
    in_words(bound.mode().name(), bound.number(), range_of(bound))
}

/// The range that a share is of.
pub fn range_of(bound: Bound) -> Option<f64> {
    if let Bound::Noa { range, .. } = bound { range } else { None }
}

fn in_words(mode: &str, bound: f64, range: Option<f64>) -> String {
    format!("{mode}={}{}", number(bound), range.map_or(String::new(), |range| format!("{OF}{}", number(range))))
}
