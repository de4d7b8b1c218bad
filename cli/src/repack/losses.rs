//! What the values of a dataset lost before, as far as its attributes and filters tell.

use std::ffi::CStr;

use sleek::hdf5::CdValues;
use sleek::{Bound, Params};

use crate::hdf5::coordinates::text_of;
use crate::hdf5::dataset::Field;
use crate::hdf5::filters::{Filter, filter_name, is_lossy, pipeline};
use crate::progress::number;

/// Attributes that tell what was asked for the last time.
pub const MODE: &CStr = c"sleek_mode";
pub const BOUND: &CStr = c"sleek_bound";
/// Every loss that the values went through, the first one first.
pub const LOSSES: &CStr = c"sleek_losses";

/// Every loss, the first one first.
pub fn losses(field: &Field) -> Result<Vec<String>, String> {
    if let Some(all) = text_of(&field.dataset, LOSSES)?.filter(|all| !all.is_empty()) {
        return Ok(vec![all]);
    }
    let told = match (text_of(&field.dataset, MODE)?, &field.numbers_of(BOUND)?[..]) {
        (Some(mode), [bound]) => Some(format!("{mode}={}", number(*bound))),
        _ => None,
    };
    let by_filter = |filter: &Filter| match CdValues::decode(&filter.words) {
        Ok(said) if filter.is_sleek() => {
            (told.is_none() && said.request.bound != Bound::Lossless).then(|| loss(&said.request))
        }
        _ => is_lossy(filter.id, field.stored.dtype.is_float()).then(|| filter_name(filter.id)),
    };
    let by_filters: Vec<String> = pipeline(&field.properties)?.iter().filter_map(by_filter).collect();
    Ok(by_filters.into_iter().chain(told.clone()).collect())
}

/// A loss in words.
pub fn loss(params: &Params) -> String {
    format!("{}={}", params.bound.mode().name(), number(params.bound.number()))
}
