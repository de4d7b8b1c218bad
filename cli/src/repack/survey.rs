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
/// Where all of a dataset need not be read: so many bytes of it are, and of what follows one block in `STEP`.
const HEAD_BYTES: u64 = 16 << 20;
const STEP: usize = 16;

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
    if found.is_empty() || !can_be_said(&named) {
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
    /// The range of the valid values, by a part of them if that will do, and what was found not to be any.
    pub fn range(&self) -> Result<RangeAndFound, String> {
        if self.is_rough {
            let some = self.see_some()?;
            // What may be a missing value is for all values to decide.
            if !some.watch.suspects() {
                return Ok((some.range, Vec::new()));
            }
        }
        let all = self.see_all()?;
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

    fn see_all(&self) -> Result<Seen, String> {
        if self.field.is_decoded_here()? {
            return self.see_chunks(&self.field.blocks_in_chunks()?);
        }
        let (mut seen, missing) = (self.nothing_seen()?, self.missing()?);
        for block in self.field.blocks()? {
            self.see(&mut seen, &missing, &self.field.bytes_of(&block)?);
        }
        Ok(seen)
    }

    /// Chunks from all over the dataset.
    fn see_some(&self) -> Result<Seen, String> {
        let chunks = self.field.blocks_in_chunks()?;
        let step = rough_step(true, self.field.bytes(), chunks.len());
        self.see_chunks(&chunks.into_iter().skip(step / 2).step_by(step).collect::<Vec<_>>())
    }

    fn see_chunks(&self, chunks: &[Block]) -> Result<Seen, String> {
        let (mut seen, missing) = (self.nothing_seen()?, self.missing()?);
        self.field.each_chunk(
            chunks,
            |_, bytes| Ok(bytes),
            |_, bytes| {
                self.see(&mut seen, &missing, &bytes);
                Ok(())
            },
        )?;
        Ok(seen)
    }

    fn see(&self, seen: &mut Seen, missing: &[f64], bytes: &[u8]) {
        seen.watch.see(bytes);
        seen.range = join(seen.range, self.valid_range(missing, bytes));
    }

    fn nothing_seen(&self) -> Result<Seen, String> {
        Ok(Seen { range: None, watch: self.watch(!self.no_fill)? })
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
        let survey = Survey { params, ..*self };
        survey.meet_with(target, range, word)
    }

    fn meet_with(
        &self,
        target: Target,
        range: Option<(f64, f64)>,
        word: Option<String>,
    ) -> Result<(Params, String), String> {
        let range = range.filter(|(lo, hi)| hi > lo).map_or(0.0, |(lo, hi)| sub_down(hi, lo));
        let (chunks, missing) = (Chunks::of(self.field)?.rough(self.is_rough), self.missing()?);
        let fills = target.is_of_quality().then_some(missing.as_slice());
        let step = chunks.step_for(SAMPLE_BYTES).max(chunks.whole_step());
        let measure = |params: &Params, step| chunks.measure(params, step, Measured::new(&target, range), fills);
        let quest = Quest { target, params: self.params, range, raw_bytes: self.field.bytes() };
        let answer = quest
            .solve(|params| measure(params, step), |params| measure(params, chunks.whole_step()))
            .map_err(|failed| format!("{}: {}", self.field.name, targets::reason(failed)))?;
        let reached = match target {
            target if target.is_of_quality() && !answer.measured.is_exact() => {
                format!("{} ", targets::reached(&target, &answer.measured))
            }
            _ => String::new(),
        };
        let remark = format!("{reached}for {}", targets::argument(&target));
        Ok((answer.params, [remark].into_iter().chain(word).collect::<Vec<_>>().join("; ")))
    }

    /// Looks for missing values that nobody declared: in some blocks, and in all of them where these hold what may be
    /// one. The smallest and the largest value that were seen, and what was found.
    pub fn look_for_sentinels(&self) -> Result<RangeAndFound, String> {
        if self.is_rough {
            return self.range();
        }
        let (mut some, blocks) = (self.watch(true)?, self.field.blocks()?);
        let mut seen = 0;
        for (i, block) in blocks.iter().enumerate() {
            if seen < HEAD_BYTES || i % STEP == 0 {
                some.see(&self.field.bytes_of(block)?);
                seen += self.field.block_bytes(block) as u64;
            }
        }
        if !some.suspects() {
            return Ok((some.range(), Vec::new()));
        }
        Survey { is_rough: false, ..*self }.range()
    }

    fn watch(&self, searches: bool) -> Result<Watch, String> {
        Ok(Watch::new(self.params.dtype, self.params.big_endian, self.missing()?, searches))
    }

    fn missing(&self) -> Result<Vec<f64>, String> {
        self.params.missing.numbers(self.params.dtype).map_err(|e| e.to_string())
    }
}
