//! What the values of a dataset lost before, as far as its attributes and filters tell.

use std::ffi::CStr;

use sleek::hdf5::CdValues;
use sleek::{Bound, Mode};

use super::coordinates::text_of;
use super::dataset::Field;
use super::filters::{Filter, filter_name, is_lossy, pipeline};
use crate::progress::number;

/// Attributes that tell what was asked for the last time.
pub const MODE: &CStr = c"sleek_mode";
pub const BOUND: &CStr = c"sleek_bound";
/// Every loss that the values went through, the first one first.
pub const LOSSES: &CStr = c"sleek_losses";
/// How far values may be from those before the first loss, where that is known.
pub const ABS_BOUND: &CStr = c"sleek_abs_bound";
/// Between losses.
pub const SEPARATOR: &str = ", ";

/// Every loss, the first one first.
pub fn losses(field: &Field) -> Result<Vec<String>, String> {
    let told = match told(field)? {
        Some(Told::All(all)) => return Ok(vec![all]),
        Some(Told::Last(loss)) => Some(loss),
        None => None,
    };
    let by_filter = |filter: &Filter| match CdValues::decode(&filter.words) {
        Ok(said) if filter.is_sleek() => {
            (told.is_none() && said.request.bound != Bound::Lossless).then(|| loss(said.request.bound))
        }
        _ => is_lossy(filter.id, field.stored.dtype.is_float()).then(|| filter_name(filter.id)),
    };
    let by_filters: Vec<String> = pipeline(&field.properties)?.iter().filter_map(by_filter).collect();
    Ok(by_filters.into_iter().chain(told.clone()).collect())
}

/// What attributes tell of losses.
enum Told {
    All(String),
    /// The last one, by a version that told no more.
    Last(String),
}

fn told(field: &Field) -> Result<Option<Told>, String> {
    if let Some(all) = text_of(&field.dataset, LOSSES)?.filter(|all| !all.is_empty()) {
        return Ok(Some(Told::All(all)));
    }
    Ok(match (text_of(&field.dataset, MODE)?, &field.numbers_of(BOUND)?[..]) {
        (Some(mode), [bound]) => Some(Told::Last(format!("{mode}={}", number(*bound)))),
        _ => None,
    })
}

/// What its attributes tell that a dataset lost since its values were those of `before`: the bound that follows, and
/// the losses in words.
pub fn lost_since(before: &Field, field: &Field) -> Result<Option<(Bound, String)>, String> {
    let Some(Told::All(all) | Told::Last(all)) = told(field)? else { return Ok(None) };
    let earlier = losses(before)?.join(SEPARATOR);
    let list = |text: &str| text.split(SEPARATOR).filter(|loss| !loss.is_empty()).map(str::to_owned).collect();
    let (all, earlier): (Vec<String>, Vec<String>) = (list(&all), list(&earlier));
    let lost = all.strip_prefix(&earlier[..]).unwrap_or(&all);
    let bound = match (lost, &field.numbers_of(ABS_BOUND)?[..]) {
        ([], _) => return Ok(None),
        ([loss], _) if bound_of(loss).is_some() => bound_of(loss),
        (_, [bound]) if earlier.is_empty() => Some(Bound::Abs(*bound)),
        _ => None,
    };
    // As little follows from losses of several kinds as from a rate.
    Ok(Some((bound.unwrap_or(Bound::Rate(1.0)), lost.join(SEPARATOR))))
}

/// What `loss` says; `None` of a share of ranges that nobody tells, and of another filter's.
fn bound_of(loss: &str) -> Option<Bound> {
    let (mode, number) = loss.split_once('=')?;
    let mode = Mode::ALL.into_iter().find(|known| known.name() == mode)?;
    Bound::new(mode, number.parse().ok()?).ok().filter(|bound| !bound.measures())
}

pub fn loss(bound: Bound) -> String {
    format!("{}={}", bound.mode().name(), number(bound.number()))
}
