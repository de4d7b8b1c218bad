//! What is to be known of a dataset in an HDF5 file.

use sleek::hdf5::CdValues;
use sleek::text;
use sleek::{Bound, DType, Info, Params};

use super::stream::add;
use crate::hdf5::dataset::{Block, Field};
use crate::hdf5::filters::{Filter, filter_name, pipeline};

/// Stored bytes of a dataset that are read, from all over it, to tell how its chunks are coded.
const SAMPLE_BYTES: u64 = 64 << 20;

pub struct Dataset {
    pub element: DType,
    /// The type of an element of the dataset as the command names it, else in words.
    pub dtype: String,
    pub dims: Vec<u64>,
    pub chunk: Option<Vec<u64>>,
    pub filters: Vec<Filter>,
    pub raw_bytes: u64,
    pub stored_bytes: u64,
    /// What SLEEK was asked for, if it is among the filters.
    pub request: Option<Params>,
    /// Each with whether nobody named it.
    pub missing: Vec<(f64, bool)>,
    /// Chunks that were written.
    pub chunks: u64,
    pub coded: Coded,
}

/// How chunks are coded, of those that were looked at.
#[derive(Default)]
pub struct Coded {
    pub looked_at: u64,
    /// Those that SLEEK was asked to compress, and HDF5 stored as they were.
    pub plain: u64,
    /// Those that are streams of SLEEK, and what all of them together hold.
    pub streams: u64,
    pub info: Option<Info>,
}

impl Dataset {
    pub fn of(field: &Field) -> Result<Dataset, String> {
        let filters = pipeline(&field.properties)?;
        let ours = filters.iter().position(Filter::is_sleek);
        let said = ours.map(|i| CdValues::decode(&filters[i].words)).transpose().map_err(|e| e.to_string())?;
        let request = said.map(|s| s.params().map(|params| params.unwrap_or(s.request))).transpose();
        let chunks = if field.is_chunked { field.blocks_in_chunks()? } else { Vec::new() };
        let coded = match ours {
            Some(place) => Coded::of(field, place, &chunks)?,
            None => Coded::default(),
        };
        Ok(Dataset {
            element: field.stored.dtype,
            dtype: dtype(field),
            dims: field.dims.clone(),
            chunk: field.is_chunked.then(|| field.chunk.clone()),
            raw_bytes: field.bytes(),
            stored_bytes: field.stored_bytes(),
            request: request.map_err(|e| e.to_string())?,
            missing: missing(field, coded.info.as_ref()),
            chunks: chunks.len() as u64,
            filters,
            coded,
        })
    }

    pub fn filter_names(&self) -> Vec<String> {
        self.filters.iter().map(|filter| filter_name(filter.id)).collect()
    }

    /// The request as a text, and the dataset's bound as an absolute one if the streams that were seen have one.
    pub fn bound(&self) -> Option<String> {
        let mut request = self.request.clone()?;
        request.missing = Default::default();
        let of_all = self.coded.info.as_ref().filter(|info| info.abs_bound > 0.0);
        let absolute = match (of_all, request.bound) {
            (Some(info), Bound::Noa { range: Some(_), .. }) => format!(" (abs {:.4e})", info.abs_bound),
            _ => String::new(),
        };
        Some(text::format(&request) + &absolute)
    }
}

/// The element type as the command names it, else in words.
fn dtype(field: &Field) -> String {
    let stored = &field.stored;
    match stored.scalar && stored.numbers {
        true => format!("{}{}", stored.dtype.name(), if stored.big_endian { " (big-endian)" } else { "" }),
        false => stored.what.clone(),
    }
}

/// The missing values that the streams know, else those that the dataset declares.
fn missing(field: &Field, info: Option<&Info>) -> Vec<(f64, bool)> {
    let dtype = field.stored.dtype;
    if let Some(info) = info.filter(|info| !info.missing.is_empty()) {
        let told = info.missing.told().len();
        let mut all: Vec<(f64, bool)> = Vec::new();
        for (k, bits) in info.missing.bits().iter().enumerate() {
            let number = dtype.number(*bits);
            // NaN are written alike, whatever their bits.
            if !all.iter().any(|(known, _)| known.to_bits() == number.to_bits() || known.is_nan() && number.is_nan()) {
                all.push((number, k >= told));
            }
        }
        return all;
    }
    if !dtype.is_float() {
        return Vec::new();
    }
    let declared = field.dataset.hdf5.forgive(field.declared(&Default::default()));
    let numbers = declared.and_then(|d| d.missing.numbers(dtype).ok()).unwrap_or_default();
    numbers.into_iter().map(|number| (number, false)).collect()
}

impl Coded {
    /// Looks at the chunks, evenly chosen ones where there are many; `place` is that of the filter in the pipeline.
    pub fn of(field: &Field, place: usize, chunks: &[Block]) -> Result<Coded, String> {
        let step = usize::try_from(field.stored_bytes() / SAMPLE_BYTES).unwrap_or(usize::MAX).saturating_add(1);
        let mut coded = Coded::default();
        for chunk in chunks.iter().skip(step / 2).step_by(step) {
            let Some(stored) = field.chunk(chunk)? else { continue };
            coded.looked_at += 1;
            let passed = stored.skipped >> place & 1 == 0;
            coded.plain += u64::from(!passed);
            // Behind a filter that came after ours there is no stream to be seen.
            let Some(info) = passed.then(|| sleek::inspect(&stored.bytes).ok()).flatten() else { continue };
            coded.streams += 1;
            coded.info = Some(match coded.info.take() {
                Some(sum) => add(sum, &info),
                None => info,
            });
        }
        Ok(coded)
    }
}
