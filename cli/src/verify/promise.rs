//! What the second of two datasets promises of the values of the first.

use sleek::bound::mul_down;
use sleek::container::Header;
use sleek::hdf5::CdValues;
use sleek::missing::Missing;
use sleek::{Bound, Limits, Params};

use super::difference::Valid;
use crate::hdf5::dataset::{Block, Field};
use crate::hdf5::filters::{Filter, pipeline};
use crate::hdf5::losses::{SEPARATOR, loss, lost_since};

/// What a dataset promises.
pub struct Promise {
    pub bound: Bound,
    missing: Missing,
    limits: Option<Limits>,
    /// The losses that attributes tell, where the bound is theirs.
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

    /// By its filter, and by what the attributes tell that was lost since the values were those of `old`. Where the
    /// filter's bound is not the last loss of those, all of them and the filter's may be in the values.
    pub fn since(old: &Field, field: &Field) -> Result<Promise, String> {
        let promise = Promise::of(field)?;
        let Some((bound, told)) = lost_since(old, field)? else { return Ok(promise) };
        let is_ours = pipeline(&field.properties)?.iter().any(Filter::is_sleek);
        let own = Some(promise.bound).filter(|own| is_ours && *own != Bound::Lossless);
        let last = own.map(loss);
        let (bound, told) = match own {
            Some(_) if last.as_ref() == Some(&told) => return Ok(promise),
            Some(own) if told.rsplit(SEPARATOR).next() != last.as_deref() => {
                (together(bound, own), format!("{told}{SEPARATOR}{}", loss(own)))
            }
            _ => (bound, told),
        };
        Ok(Promise { bound, told: Some(told), ..promise })
    }

    /// By what it was compressed with.
    pub fn of_params(field: &Field, params: &Params) -> Result<Promise, String> {
        let missing = params.missing.of_type(field.stored.dtype).map_err(|e| e.to_string())?;
        Ok(Promise { bound: params.bound, missing, limits: params.limits, told: None, place: 0 })
    }

    /// Whether each chunk has a value range of its own.
    pub fn is_by_chunk(&self) -> bool {
        self.bound.measures()
    }

    /// What an error in a block is held against.
    pub fn limit(&self, field: &Field, block: &Block) -> Result<f64, String> {
        Ok(match self.bound {
            Bound::Noa { share, range: None } => mul_down(share, self.range_of(field, block)?),
            other => limit_of(other),
        })
    }

    /// The value range that the chunk was compressed by; 0 if it is not a stream of ours, and then nothing may change.
    fn range_of(&self, field: &Field, chunk: &Block) -> Result<f64, String> {
        let Some(stored) = field.chunk(chunk)? else { return Ok(0.0) };
        let header = (stored.skipped >> self.place & 1 == 0).then(|| Header::read(&stored.bytes).ok()).flatten();
        Ok(header.map_or(0.0, |h| h.range))
    }

    /// The bits of the missing values: those that the filter was told, and those that one of the datasets declares.
    pub fn marks(&self, old: &Field, new: &Field) -> Result<Vec<u64>, String> {
        let mut marks = [self.missing.bits().to_vec(), old.marks()?, new.marks()?].concat();
        marks.sort_unstable();
        marks.dedup();
        Ok(marks)
    }

    /// The limits that were promised, else those that the first dataset declares.
    pub fn valid(&self, old: &Field) -> Result<Option<Valid>, String> {
        let declared = if old.stored.dtype.is_float() { old.valid_limits()? } else { None };
        let limits = self.limits.or(declared);
        Ok(limits.map(|limits| Valid { limits, is_promised: self.limits.is_some() }))
    }

    pub fn words(&self) -> String {
        if let Some(told) = &self.told {
            return format!("{told} by its attributes");
        }
        in_words(self.bound)
    }
}

/// What follows from two losses, one after the other; as little as from a rate where they are of several kinds.
fn together(first: Bound, second: Bound) -> Bound {
    match (first.absolute(), second.absolute()) {
        (Some(first), Some(second)) => Bound::Abs((first + second).next_up()),
        _ => Bound::Rate(1.0),
    }
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
