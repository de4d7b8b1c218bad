//! What becomes of a dataset, by what is asked for it and by its values.

use sleek::bound::sub_down;
use sleek::{Bound, MissingValues, Params};

use super::measure::rough_step;
use super::request::Wish;
use super::requests::Requests;
use super::survey::{Survey, add, can_be_said};
use crate::hdf5::dataset::Field;
use crate::hdf5::losses::Losses;
use crate::io::tell;
use crate::sentinel::flattens;

#[allow(clippy::large_enum_variant)] // one for each dataset
pub enum Decision {
    /// With the reason.
    Keep(String),
    Compress(Params),
}

/// What becomes of a dataset that is compressed, and what there is to say of that.
pub fn decide(field: &Field, wish: Wish, all: &Requests) -> Result<(Decision, Option<String>), String> {
    let Wish { mut params, target } = wish;
    params.dtype = field.stored.dtype;
    params.big_endian = field.stored.big_endian;
    if params.bound == Bound::Lossless {
        // Everything comes back exactly, named or not.
        params.missing = MissingValues::default();
        return Ok((Decision::Compress(params), lossy_before(field)?));
    }
    let mut besides = params.missing;
    all.missing.iter().try_for_each(|value| besides.push(value)).map_err(|e| format!("{}: --fill: {e}", field.name))?;
    let declared = field.declared(&besides)?;
    params.missing = declared.missing;
    params.find_fill = Some(!all.args.sentinels.no_fill);
    if params.limits.is_none() && params.bound.mode().has_bound() {
        params.limits = declared.limits;
    }
    if !can_be_said(&params) {
        let params = Params { missing: MissingValues::default(), ..params.with_bound(Bound::Lossless) };
        return Ok((
            Decision::Compress(params),
            Some("the filter's parameters have no room for its missing values".into()),
        ));
    }
    let (is_rough, no_fill) = (all.args.dry_run, all.args.sentinels.no_fill);
    let survey = Survey { field, params: &params, valid: declared.valid, no_fill, is_rough };
    let mut remarks: Vec<String> = lossy_before(field)?.into_iter().collect();
    if let Some(target) = target {
        let (params, remark) = survey.meet(target)?;
        remarks.push(remark);
        return Ok((Decision::Compress(params), Some(remarks.join("; "))));
    }
    if params.bound.measures() {
        let (range, found) = survey.range()?;
        remarks.extend(add(&mut params, &found));
        params.bound = params.bound.of_range(range.filter(|(lo, hi)| hi > lo).map(|(lo, hi)| sub_down(hi, lo)));
        if params.bound.measures() {
            params = params.with_bound(Bound::Lossless);
            return Ok((Decision::Compress(params), Some("every value is the same".into())));
        }
        if is_rough && rough_step(true, field.bytes(), usize::MAX) > 1 {
            remarks.push("the range is that of a sample".into());
        }
    } else if !no_fill && params.bound.number() > 0.0 {
        let (extremes, found) = Survey { is_rough: true, ..survey }.range()?;
        if let Some(warning) = flattens(&params, extremes) {
            tell(&format!("sleek: warning: {}: {warning}", field.name));
        }
        remarks.extend(add(&mut params, &found));
    }
    Ok((Decision::Compress(params), Some(remarks.join("; ")).filter(|remarks| !remarks.is_empty())))
}

/// A word on data that lost something before: those errors are in them, and those of another bound add to them.
fn lossy_before(field: &Field) -> Result<Option<String>, String> {
    let by = |loss: &String| if loss.contains('=') { format!("SLEEK {loss}") } else { loss.clone() };
    let losses: Vec<String> = Losses::of(field)?.all().iter().map(by).collect();
    Ok((!losses.is_empty()).then(|| format!("written by {}, whose errors stay in it", losses.join(", "))))
}
