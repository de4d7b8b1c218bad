//! What becomes of each dataset.

use std::collections::BTreeMap;

use sleek::bound::{mul_down, sub_down};
use sleek::primitives::range::value_range;
use sleek::{Mode, Params};

use crate::element;
use crate::hdf5::dataset::{Block, Field};
use crate::hdf5::object::{Contents, Kind, Object, open_object};
use crate::hdf5::{Id, c_string};

/// Below this size there is nothing to gain.
const SMALL_BYTES: u64 = 4096;
/// Blocks that are compressed for an estimate.
const SAMPLES: usize = 8;

/// What a user wants of a dataset.
#[derive(Clone)]
pub enum Request {
    Keep,
    Compress(Params),
}

pub struct Requests {
    pub general: Option<Params>,
    /// By the dataset's place in the contents.
    named: BTreeMap<usize, Request>,
}

impl Requests {
    /// Finds the datasets that are named, by whatever name they have; refuses names that are not in the file.
    pub fn new(
        general: Option<Params>,
        named: &[(String, Request)],
        file: &Id,
        contents: &Contents,
    ) -> Result<Requests, String> {
        let mut requests = Requests { general, named: BTreeMap::new() };
        for (path, request) in named {
            let object = file.hdf5.forgive(open_object(file, &c_string(path.as_bytes())?));
            let place = object.map(|o| contents.place_of(&o)).transpose()?.flatten();
            let Some(place) = place.filter(|p| contents.objects[*p].kind == Kind::Dataset) else {
                let known = contents.objects.iter().filter(|o| o.kind == Kind::Dataset).map(Object::name);
                let names: Vec<String> = known.clone().take(10).collect();
                let more = if known.count() > names.len() { ", …" } else { "" };
                return Err(format!(
                    "--dataset {path}: there is no such dataset; there are {}{more}",
                    names.join(", ")
                ));
            };
            requests.named.insert(place, request.clone());
        }
        Ok(requests)
    }

    /// What is asked for a dataset, and whether it was named.
    fn of(&self, place: usize) -> (Option<Request>, bool) {
        match self.named.get(&place) {
            Some(request) => (Some(request.clone()), true),
            None => (self.general.clone().map(Request::Compress), false),
        }
    }
}

pub enum Decision {
    /// With the reason.
    Keep(String),
    Compress(Params),
}

/// A dataset and what becomes of it.
pub struct Item<'a> {
    pub name: String,
    pub field: Option<Field<'a>>,
    pub decision: Decision,
    /// Of the elements.
    pub raw_bytes: u64,
    /// In the old file.
    pub stored_bytes: u64,
    /// In the new one.
    pub new_bytes: u64,
    /// What was changed of the request.
    remark: Option<&'static str>,
}

/// What is to be known of all values.
struct Survey {
    range: Option<(f64, f64)>,
    /// The first block that holds the missing value.
    witness: Option<Vec<u8>>,
}

impl<'a> Item<'a> {
    /// Looks at a dataset; `estimate` asks for the bytes that it would take.
    pub fn decide(
        file: &Id<'a>,
        contents: &Contents,
        place: usize,
        requests: &Requests,
        estimate: bool,
    ) -> Result<Item<'a>, String> {
        let object = &contents.objects[place];
        let name = object.name();
        let (field, decision, remark) = match Field::open(file, object)? {
            Err(why) => (None, Decision::Keep(why), None),
            Ok(field) => {
                let (request, named) = requests.of(place);
                let (decision, remark) = decide(&field, request, named)?;
                (Some(field), decision, remark)
            }
        };
        let (raw_bytes, stored_bytes) = field.as_ref().map_or((0, 0), |f| (f.bytes(), f.stored_bytes()));
        let mut item = Item { name, field, decision, raw_bytes, stored_bytes, new_bytes: stored_bytes, remark };
        if let (Some(field), Decision::Compress(params), true) = (&item.field, &item.decision, estimate) {
            item.new_bytes = estimated_bytes(field, params)?;
        }
        Ok(item)
    }

    /// The request in words, with what was changed of it.
    pub fn note(&self, params: &Params) -> String {
        let request = match (params.mode, params.range) {
            (Mode::Lossless, _) => "lossless".into(),
            (mode, Some(range)) => format!("{} {:e} of {}", mode.name(), params.bound, short(range)),
            (mode, None) => format!("{} {}", mode.name(), short(params.bound)),
        };
        match self.remark {
            Some(remark) => format!("{request}: {remark}"),
            None => request,
        }
    }
}

/// A number for reading: no more digits than anyone reads.
fn short(x: f64) -> String {
    let rounded = format!("{x:.4e}").parse().unwrap_or(x);
    if (1e-3..1e5).contains(&rounded) { format!("{rounded}") } else { format!("{rounded:e}") }
}

type Decided = (Decision, Option<&'static str>);

fn decide(field: &Field, request: Option<Request>, named: bool) -> Result<Decided, String> {
    let keep = |why: &str| Ok((Decision::Keep(why.into()), None));
    let mut params = match request {
        None => return keep("not named"),
        Some(Request::Keep) => return keep("by request"),
        Some(Request::Compress(params)) => params,
    };
    if !field.stored.dtype.is_float() {
        return keep(&field.stored.what);
    }
    if field.bytes() < SMALL_BYTES && !named {
        return keep("small");
    }
    if field.bytes() == 0 || field.stored_bytes() == 0 {
        return keep("holds nothing");
    }
    if params.mode != Mode::Lossless && !named && field.is_scale()? {
        return keep("coordinates (a dimension scale)");
    }
    params.dtype = field.stored.dtype;
    params.big_endian = field.stored.big_endian;
    bound(field, params)
}

/// Makes a request exact: the range of the whole dataset, and a bound under which missing values can still be told.
fn bound(field: &Field, mut params: Params) -> Result<Decided, String> {
    let missing = match params.fill_number() {
        Some(value) => Some(value),
        None => field.missing_value()?,
    };
    let measures = params.mode == Mode::Noa && params.range.is_none();
    if params.mode == Mode::Lossless || !(measures || missing.is_some()) {
        return Ok((Decision::Compress(params), None));
    }
    let survey = survey(field, &params, missing)?;
    if measures {
        params.range = survey.range.filter(|(lo, hi)| hi > lo).map(|(lo, hi)| sub_down(hi, lo));
        if params.range.is_none() {
            params = params.with_bound(Mode::Lossless, 0.0);
            return Ok((Decision::Compress(params), Some("every value is the same")));
        }
    }
    let (Some(value), Some(witness)) = (missing, survey.witness) else {
        return Ok((Decision::Compress(params), None));
    };
    if keeps(&params, &witness, value)? {
        return Ok((Decision::Compress(params), None));
    }
    let finer = power_of_two_below(&params);
    if keeps(&finer, &witness, value)? {
        return Ok((Decision::Compress(finer), Some("finer, so that missing values stay as they are")));
    }
    let params = params.with_bound(Mode::Lossless, 0.0);
    Ok((Decision::Compress(params), Some("a bound would change the missing value")))
}

fn survey(field: &Field, params: &Params, missing: Option<f64>) -> Result<Survey, String> {
    let mut survey = Survey { range: None, witness: None };
    let mut bytes = Vec::new();
    for block in field.blocks()? {
        bytes.resize(field.block_bytes(&block), 0);
        field.read(&block, &mut bytes)?;
        if let Some((lo, hi)) = value_range(params.dtype, params.big_endian, missing.as_slice(), &bytes) {
            let (l, h) = survey.range.unwrap_or((lo, hi));
            survey.range = Some((l.min(lo), h.max(hi)));
        }
        if let (Some(value), None) = (missing, &survey.witness) {
            let value = in_type(params, value);
            let mut found = false;
            element::for_each_pair(params.dtype, params.big_endian, &bytes, &bytes, |v, _| found |= v.1 == value);
            survey.witness = found.then(|| bytes.clone());
        }
    }
    Ok(survey)
}

/// An attribute may say in f64 what the data has in f32.
fn in_type(params: &Params, value: f64) -> f64 {
    if params.dtype == sleek::DType::F64 { value } else { f64::from(value as f32) }
}

/// Whether every element of the witness that has the value comes back with its bits.
fn keeps(params: &Params, witness: &[u8], value: f64) -> Result<bool, String> {
    let stream = sleek::compress(params, witness).map_err(|e| e.to_string())?;
    let back = sleek::decompress(&stream).map_err(|e| e.to_string())?;
    let value = in_type(params, value);
    let mut kept = true;
    element::for_each_pair(params.dtype, params.big_endian, witness, &back, |v, r| {
        kept &= v.1 != value || v.0 == r.0;
    });
    Ok(kept)
}

/// The same with the next bound below that is a power of two: then the quantizer's step is one, and whole numbers and
/// short binary fractions lie on its grid.
fn power_of_two_below(params: &Params) -> Params {
    let mut finer = params.clone();
    match (params.mode, params.range) {
        (Mode::Abs, _) => finer.bound = 2f64.powf(params.bound.log2().floor()),
        (Mode::Noa, Some(range)) => {
            finer.mode = Mode::Abs;
            finer.range = None;
            finer.bound = 2f64.powf(mul_down(params.bound, range).log2().floor());
        }
        _ => {}
    }
    finer
}

/// What some blocks take, for the whole.
fn estimated_bytes(field: &Field, params: &Params) -> Result<u64, String> {
    let blocks = field.blocks()?;
    let step = blocks.len().div_ceil(SAMPLES).max(1);
    let (mut raw, mut packed) = (0, 0);
    let total: u64 = blocks.iter().map(|b| field.block_bytes(b) as u64).sum();
    for block in blocks.iter().skip(step / 2).step_by(step) {
        let bytes = read(field, block)?;
        raw += bytes.len() as u64;
        packed += sleek::compress(params, &bytes).map_err(|e| e.to_string())?.len() as u64;
    }
    Ok((total as f64 * packed as f64 / raw.max(1) as f64) as u64)
}

/// A block's bytes.
fn read(field: &Field, block: &Block) -> Result<Vec<u8>, String> {
    let mut bytes = vec![0; field.block_bytes(block)];
    field.read(block, &mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sleek::DType;

    #[test]
    fn a_finer_bound_keeps_whole_numbers() {
        let values: Vec<u8> = (0..9000)
            .map(|i| if i % 7 == 0 { -9999.0 } else { (i as f32 * 0.01).sin() })
            .flat_map(|v: f32| v.to_le_bytes())
            .collect();
        let params = Params::new(DType::F32).with_bound(Mode::Abs, 5.2e-3);
        assert!(!keeps(&params, &values, -9999.0).unwrap());
        let finer = power_of_two_below(&params);
        assert_eq!(finer.bound, 2f64.powi(-8));
        assert!(keeps(&finer, &values, -9999.0).unwrap());
        let noa = Params { range: Some(2.0), ..params.with_bound(Mode::Noa, 2.6e-3) };
        assert_eq!((power_of_two_below(&noa).mode, power_of_two_below(&noa).bound), (Mode::Abs, 2f64.powi(-8)));
    }
}
