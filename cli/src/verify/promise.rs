//! What the second of two datasets promises of the values of the first.

use sleek::bound::mul_down;
use sleek::container::Header;
use sleek::hdf5::CdValues;
use sleek::missing::Missing;
use sleek::range::{join, value_range};
use sleek::{Bound, Limits, Params};

use super::difference::Valid;
use crate::hdf5::dataset::{Block, Field};
use crate::hdf5::filters::{Filter, pipeline};
use crate::hdf5::losses::{ABS_BOUND, Losses, SEPARATOR, added, bound_of, loss, said, sum_of};
use crate::hdf5::parallel::{HIDDEN, hides, made_by};

/// What a dataset promises.
pub struct Promise {
    pub bound: Bound,
    /// Whether all errors within the bound are promised; else none beyond it can be.
    pub is_bound: bool,
    missing: Missing,
    limits: Option<Limits>,
    /// Whether more was lost than by the filter: what it was told of rounded values is not true of the first ones.
    is_later: bool,
    /// The promise in words, where the bound is not the filter's.
    told: Option<String>,
    /// The place of our filter in its pipeline.
    place: usize,
}

impl Promise {
    /// By its filter.
    pub fn of(field: &Field) -> Result<Promise, String> {
        let filters = pipeline(&field.properties)?;
        let place = filters.iter().position(Filter::is_sleek);
        let said = place.map(|i| CdValues::decode(&filters[i].words)).transpose().map_err(|e| e.to_string())?;
        // Without our filter nothing may change.
        let lossless = Params::new(field.stored.dtype);
        let params = match said {
            None => lossless,
            Some(said) => said.params().map_err(|e| e.to_string())?.unwrap_or(said.request),
        };
        Ok(Promise { place: place.unwrap_or(0), ..Promise::of_params(field, &params)? })
    }

    /// By its filter, and by what the attributes tell that was lost since the values were those of `old`. Where they do
    /// not tell of the filter's loss, it came last.
    pub fn since(old: &Field, field: &Field) -> Result<Promise, String> {
        let promise = Promise::of(field)?;
        // Of other filters nothing is promised.
        let losses = Losses { others: Vec::new(), ..Losses::of(field)? };
        let before = Losses::of(old)?;
        let (earlier, all) = (before.all(), losses.all());
        let lost = all.strip_prefix(&earlier[..]).unwrap_or(&all);
        let ours = loss(promise.bound);
        if earlier.starts_with(&all) || *lost == [ours.as_str()] {
            let told = in_words(promise.bound);
            return if promise.is_hidden(field)? { promise.at_most(&[ours], told, [old, field]) } else { Ok(promise) };
        }
        let promise = Promise { is_later: true, ..promise };
        let bound = match lost {
            [one] if bound_of(one).is_some() => bound_of(one),
            _ if earlier.is_empty() => abs_bound(field, &losses)?.map(Bound::Abs),
            // Older files tell no range, and the filter may have another than the one that counts.
            [one] if loss(promise.bound).starts_with(&format!("{one} ")) => {
                let sums = abs_bound(field, &losses)?.zip(abs_bound(old, &before)?);
                let last = sums.map_or(0.0, |(all, before)| (all - before).next_up());
                Some(Bound::Abs(last.max(limit_of(promise.bound))))
            }
            _ => sum_of(lost).map(Bound::Abs),
        };
        let told = format!("{} by its attributes", lost.join(SEPARATOR));
        let Some(bound) = bound else { return promise.at_most(lost, told, [old, field]) };
        Ok(Promise { bound, told: Some(told), ..promise })
    }

    /// What follows from losses that have no sum. Shares of the values make one; beside others they are of no value
    /// above the largest, as the range of a chunk that is not known is none above that of all. Nothing follows from a
    /// rate.
    fn at_most(self, lost: &[String], told: String, both: [&Field; 2]) -> Result<Promise, String> {
        let bounds = lost.iter().map(|loss| said(loss)).collect::<Option<Vec<_>>>();
        let share = |bound: &Bound| if let Bound::Rel(share) = bound { Some(*share) } else { None };
        let follows = |bound: &Bound| bound.measures() || share(bound).is_some() || bound.absolute().is_some();
        let Some(bounds) = bounds.filter(|all| all.iter().all(follows)) else {
            return Ok(Promise { bound: Bound::Rate(1.0), told: Some(told), ..self });
        };
        let times = |share: f64, first, second| (share * added(first, second)).next_up();
        if let Some(shares) = bounds.iter().map(share).collect::<Option<Vec<_>>>() {
            let all = shares.into_iter().fold(0.0, |all, share| added(all, times(share, 1.0, all)));
            return Ok(Promise { bound: Bound::Rel(all), told: Some(told), ..self });
        }
        let (least, largest) = extremes(both)?;
        let (range, size) = ((largest - least).min(f64::MAX), largest.max(-least));
        let most = bounds.iter().fold(0.0, |sum, bound| {
            let range = added(range, 2.0 * sum);
            let absolute = || limit_of(if bound.measures() { bound.of_range(Some(range)) } else { *bound });
            added(sum, share(bound).map_or_else(absolute, |share| times(share, size, sum)))
        });
        let of = if bounds.iter().any(|bound| bound.measures()) { ", of ranges that are not known" } else { "" };
        let told = format!("{told}{of}: {most:.4e} at most");
        Ok(Promise { bound: Bound::Abs(most), is_bound: false, told: Some(told), ..self })
    }

    /// Whether a filter hides the range of a chunk.
    fn is_hidden(&self, field: &Field) -> Result<bool, String> {
        if !self.is_by_chunk() || !hides(&pipeline(&field.properties)?, self.place) {
            return Ok(false);
        }
        let known = field.blocks_in_chunks()?.iter().try_for_each(|chunk| self.limit(field, chunk).map(drop));
        Ok(known.is_err_and(|why| why.contains(HIDDEN)))
    }

    /// By what it was compressed with.
    pub fn of_params(field: &Field, params: &Params) -> Result<Promise, String> {
        let missing = params.missing.of_type(field.stored.dtype).map_err(|e| e.to_string())?;
        Ok(Promise {
            bound: params.bound,
            missing,
            limits: params.limits,
            is_bound: true,
            is_later: false,
            told: None,
            place: 0,
        })
    }

    /// Whether each chunk has a value range of its own.
    pub fn is_by_chunk(&self) -> bool {
        self.bound.measures()
    }

    /// What an error in a block is held against.
    pub fn limit(&self, field: &Field, block: &Block) -> Result<f64, String> {
        Ok(match self.bound {
            Bound::Noa { share, range: None } => of_all_writes(mul_down(share, self.range_of(field, block)?)),
            other => limit_of(other),
        })
    }

    /// The value range that the chunk was compressed by; 0 if it is not a stream of ours, and then nothing may change.
    fn range_of(&self, field: &Field, chunk: &Block) -> Result<f64, String> {
        let Some(stored) = field.chunk(chunk)? else { return Ok(0.0) };
        let stream = made_by(&pipeline(&field.properties)?, self.place, stored)?;
        Ok(stream.and_then(|stream| Header::read(&stream).ok()).map_or(0.0, |header| header.range))
    }

    /// The bits of the missing values: those that one of the datasets declares, and those that the filter was told.
    pub fn marks(&self, old: &Field, new: &Field) -> Result<Vec<u64>, String> {
        let told = if self.is_later { &[] } else { self.missing.bits() };
        let mut marks = [told.to_vec(), old.marks()?, new.marks()?].concat();
        marks.sort_unstable();
        marks.dedup();
        Ok(marks)
    }

    /// The limits that were promised, else those that the first dataset declares.
    pub fn valid(&self, old: &Field) -> Result<Option<Valid>, String> {
        let declared = if old.stored.dtype.is_float() { old.valid_limits()? } else { None };
        let limits = self.limits.or(declared);
        let is_promised = self.limits.is_some() && !self.is_later;
        Ok(limits.map(|limits| Valid { limits, is_promised }))
    }

    pub fn words(&self) -> String {
        self.told.clone().unwrap_or_else(|| in_words(self.bound))
    }
}

/// How far the values of a chunk may be after all its writes. Where the filter measured its range it rounds by a power
/// of two, and those of earlier writes may add up to as much. Others write a chunk once, by all that is allowed.
fn of_all_writes(last: f64) -> f64 {
    // The range is the first one whose product is not below that power.
    let is_power = last.to_bits() & ((1 << 52) - 1) < 8;
    if is_power { 2.0 * last } else { last }
}

/// What no value of a dataset is beyond, if it was made of `old`: the least and largest of all finite values, and of
/// what fills up chunks.
fn extremes([old, field]: [&Field; 2]) -> Result<(f64, f64), String> {
    let (dtype, big_endian) = (old.stored.dtype, old.stored.big_endian);
    let range = |bytes: &[u8]| value_range(dtype, big_endian, &[], bytes);
    let blocks = old.blocks()?;
    let written = blocks.iter().map(|block| block.count.iter().product::<u64>()).sum::<u64>();
    let is_filled_up = field.dims.iter().zip(&field.chunk).any(|(len, side)| !len.is_multiple_of(*side));
    let mut all = match is_filled_up || written * old.size < old.bytes() {
        true => range(&[old.fill_bytes(), field.fill_bytes(), vec![0; old.size as usize]].concat()),
        false => None,
    };
    old.each_chunk(
        &blocks,
        |_, bytes| Ok(range(&bytes)),
        |_, part| {
            all = join(all, part);
            Ok(())
        },
    )?;
    Ok(all.unwrap_or_default())
}

/// How far values may be from those before the first of their losses, as far as that is known.
pub fn abs_bound(field: &Field, losses: &Losses) -> Result<Option<f64>, String> {
    let told = match field.numbers_of(ABS_BOUND)?[..] {
        [bound] => Some(bound),
        _ => sum_of(&losses.told),
    };
    let ours = match losses.ours {
        None => Some(0.0),
        Some(ours) if ours.measures() => {
            let promise = Promise::of(field)?;
            let mut limits = field.blocks_in_chunks()?.into_iter().map(|chunk| promise.limit(field, &chunk));
            // Behind some filters the ranges of chunks are not known.
            limits.try_fold(0.0, |most: f64, limit| Ok::<_, String>(most.max(limit?))).ok()
        }
        Some(ours) => ours.absolute(),
    };
    Ok(told.zip(ours).filter(|_| losses.others.is_empty()).map(|(told, ours)| added(told, ours)))
}

/// What an error is held against; 0 where every bit must come back, and where nothing is promised.
pub fn limit_of(bound: Bound) -> f64 {
    match bound {
        Bound::Rel(bound) => bound,
        other => other.absolute().unwrap_or(0.0),
    }
}

/// A bound, for a person.
pub fn in_words(bound: Bound) -> String {
    match bound {
        Bound::Lossless => "lossless".into(),
        Bound::Noa { share, range: Some(range) } => format!("abs {:.4e} (noa {share:e})", mul_down(share, range)),
        Bound::Noa { share, range: None } => format!("noa {share:e} of each chunk"),
        other => format!("{} {:e}", other.mode().name(), other.number()),
    }
}
