//! What is to be known of a dataset's values before it is compressed.

use sleek::advise::elements;
use sleek::bound::sub_down;
use sleek::hdf5::{CdValues, cd_values_of};
use sleek::range::{join, value_range};
use sleek::{MissingValue, Params};

use super::measure::{Chunks, rough_step};
use crate::hdf5::dataset::{Block, Field};
use crate::sentinel::{self, Watch, text};
use crate::targets::{self, Measured, Quest, Target};

/// Bytes of the sample on which a bound is searched for.
const SAMPLE_BYTES: u64 = 8 << 20;

/// Whether the filter's parameters tell all missing values.
pub fn can_be_said(params: &Params) -> bool {
    CdValues::decode(&cd_values_of(params)).is_ok_and(|said| said.request.missing == params.missing)
}

/// Names the missing values that were found, as far as the filter's parameters have room: where they have none the
/// filter finds them in each chunk. A word on them.
pub fn add(params: &mut Params, found: &[f64]) -> Option<String> {
    let mut named = params.clone();
    for value in found {
        named.missing.push(MissingValue::Number(*value)).ok()?;
    }
    if found.is_empty() || named.missing.check(params.dtype).is_err() || !can_be_said(&named) {
        return None;
    }
    *params = named;
    let each: Vec<String> = found.iter().map(|v| text(params.dtype, *v)).collect();
    Some(format!("{} taken for missing, which nobody declared", each.join(" and ")))
}

/// What is to be known of all values of a dataset.
#[derive(Clone, Copy)]
pub struct Survey<'a> {
    pub field: &'a Field<'a>,
    /// What is asked for it.
    pub params: &'a Params,
    /// The smallest and the largest valid value.
    pub valid: (f64, f64),
    pub no_fill: bool,
    /// Whether a part of it tells enough.
    pub is_rough: bool,
}

/// The range of values, if there are any, and what was found not to be one.
pub type RangeAndFound = (Option<(f64, f64)>, Vec<f64>);

/// What was seen of values.
struct Seen {
    /// Of the valid ones.
    range: Option<(f64, f64)>,
    /// What looks for missing values that nobody declared, if something is to.
    watch: Watch,
}

impl Survey<'_> {
    /// The range of the valid values, by a part of them if that will do, and what was found not to be any: in all of
    /// the values, where a part holds what may be one.
    pub fn range(&self) -> Result<RangeAndFound, String> {
        if self.is_rough {
            let some = self.see(true)?;
            // What may be a missing value is for all values to decide.
            if !some.watch.suspects() {
                return Ok((some.range, Vec::new()));
            }
        }
        let all = self.see(false)?;
        let mut found = all.watch.found();
        if found.is_empty() {
            return Ok((all.range, found));
        }
        // Without them the range is another one, and there may be more.
        let mut params = self.params.clone();
        sentinel::add(&mut params.missing, &found)?;
        let (range, more) = Survey { params: &params, is_rough: false, ..*self }.range()?;
        found.extend(more);
        Ok((range, found))
    }

    /// Looks at all of it, or at chunks from all over it.
    fn see(&self, is_rough: bool) -> Result<Seen, String> {
        let (mut seen, missing) = (Seen { range: None, watch: self.watch(!self.no_fill)? }, self.missing()?);
        let by_chunk = is_rough || self.field.is_decoded_here()?;
        let blocks = if by_chunk { self.field.blocks_in_chunks()? } else { self.field.blocks()? };
        let step = rough_step(is_rough, self.field.bytes(), blocks.len());
        let some: Vec<Block> = blocks.into_iter().skip(step / 2).step_by(step).collect();
        self.field.each_chunk(
            &some,
            |_, bytes| Ok(bytes),
            |_, bytes| {
                seen.watch.see(&bytes);
                seen.range = join(seen.range, self.valid_range(&missing, &bytes));
                Ok(())
            },
        )?;
        Ok(seen)
    }

    /// The range of the valid values in `bytes`.
    fn valid_range(&self, missing: &[f64], bytes: &[u8]) -> Option<(f64, f64)> {
        let (dtype, big_endian) = (self.params.dtype, self.params.big_endian);
        let range = value_range(dtype, big_endian, missing, bytes)?;
        let valid = self.valid.0..=self.valid.1;
        if valid.contains(&range.0) && valid.contains(&range.1) {
            return Some(range);
        }
        let mut range = None;
        elements::for_each_pair(dtype, big_endian, bytes, bytes, |(_, v), _| {
            if v.is_finite() && valid.contains(&v) && !missing.contains(&v) {
                range = join(range, Some((v, v)));
            }
        });
        range
    }

    /// The parameters with which the dataset meets a target, and what there is to say of it.
    pub fn meet(&self, target: Target) -> Result<(Params, String), String> {
        let (range, found) = self.range()?;
        let params = &mut self.params.clone();
        let word = add(params, &found);
        let range = range.filter(|(lo, hi)| hi > lo).map_or(0.0, |(lo, hi)| sub_down(hi, lo));
        let missing = params.missing.numbers(params.dtype).map_err(|e| e.to_string())?;
        let chunks = Chunks::of(self.field)?.rough(self.is_rough);
        let fills = target.is_of_quality().then_some(missing.as_slice());
        let step = chunks.step_for(SAMPLE_BYTES).max(chunks.whole_step());
        let with = |bound| params.clone().with_bound(bound);
        let measure = |bound, step| chunks.measure(&with(bound), step, Measured::new(&target, range), fills);
        let quest = Quest { target, range, raw_bytes: self.field.bytes() };
        let answer = quest
            .solve(|bound| measure(bound, step), |bound| measure(bound, chunks.whole_step()))
            .map_err(|failed| format!("{}: {}", self.field.name, targets::reason(failed)))?;
        let reached = match target {
            target if target.is_of_quality() && !answer.measured.is_exact() => {
                format!("{} ", targets::reached(&target, &answer.measured))
            }
            _ => String::new(),
        };
        let remark = format!("{reached}for {}", targets::argument(&target));
        Ok((with(answer.bound), [remark].into_iter().chain(word).collect::<Vec<_>>().join("; ")))
    }

    fn watch(&self, searches: bool) -> Result<Watch, String> {
        Ok(Watch::new(self.params, self.missing()?, searches))
    }

    fn missing(&self) -> Result<Vec<f64>, String> {
        self.params.missing.numbers(self.params.dtype).map_err(|e| e.to_string())
    }
}
