//! Each dataset with what becomes of it.

use std::ffi::c_int;

use sleek::hdf5::FILTER_ID;
use sleek::{DType, Mode, Params, Profile};

use super::decide::{Decision, decide, not_wanted, restored};
use super::measure::Chunks;
use super::request::Request;
use super::requests::{By, Requests};
use crate::hdf5::dataset::{Field, size_of_type};
use crate::hdf5::filters::{filter_name, filters, is_lossy, missing_filter};
use crate::hdf5::object::{Contents, Object, open_object};
use crate::hdf5::{Id, h5, h5_id};
use crate::progress::short;

/// Bytes of the index of chunks that a dataset without chunks gets along with them.
const INDEX_BYTES: u64 = 2048;

/// A dataset and what becomes of it.
pub struct Item<'a> {
    pub name: String,
    pub field: Option<Field<'a>>,
    pub decision: Decision,
    /// Whether our filter is undone.
    pub is_restored: bool,
    /// Of the elements.
    pub raw_bytes: u64,
    /// In the old file.
    pub stored_bytes: u64,
    /// In the new one.
    pub new_bytes: u64,
    /// What was changed of the request, or is to be known of it.
    remark: Option<String>,
}

/// What becomes of a dataset before its size is looked at.
struct FirstDecision<'a> {
    field: Option<Field<'a>>,
    decision: Decision,
    is_restored: bool,
    remark: Option<String>,
    /// Whether it is compressed only where that saves something, whatever was asked.
    is_spared: bool,
    /// Whether compression was asked for by its name.
    asked: bool,
}

impl<'a> FirstDecision<'a> {
    fn of(file: &Id<'a>, contents: &Contents, place: usize, requests: &Requests) -> Result<FirstDecision<'a>, String> {
        let object = &contents.objects[place];
        let name = object.name();
        let opened = Field::open(file, object)?;
        let (request, by) = requests.of(place, &name, opened.as_ref().ok());
        let asked = by == By::Name && matches!(request, Some(Request::Compress(_)));
        let (mut is_restored, mut is_spared) = (false, false);
        let (field, decision, remark) = match opened {
            Err(_) if requests.args.filter.restores() && is_ours(file, object)? => {
                is_restored = true;
                let params = Params::new(DType::U8);
                let is_wanted = matches!(request, Some(Request::Compress(_)));
                (None, if is_wanted { Decision::Compress(params) } else { not_wanted() }, None)
            }
            Ok(field) if requests.args.filter.restores() => {
                is_restored = true;
                let decision = restored(&field, matches!(request, Some(Request::Compress(_))))?;
                (Some(field), decision, None)
            }
            Err(why) if asked => {
                return Err(format!("--dataset {name}: cannot be compressed: {why}; keep is possible"));
            }
            Err(why) => (None, Decision::Keep(why), None),
            Ok(field) => {
                let (request, spared) = requests.spared(place, &field, (request, by))?;
                is_spared = spared.is_some();
                let (decision, remark) = decide(place, &field, (request, by), requests)?;
                let remark = spared.or(remark);
                (Some(field), decision, remark)
            }
        };
        Ok(FirstDecision { field, decision, is_restored, remark, is_spared, asked })
    }
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
        let FirstDecision { field, decision, is_restored, remark, is_spared, asked } =
            FirstDecision::of(file, contents, place, requests)?;
        let raw_bytes = match &field {
            Some(field) => field.bytes(),
            None if is_restored => bytes_of_any(file, object)?,
            None => 0,
        };
        let stored_bytes = match &field {
            Some(field) => field.stored_bytes(),
            // SAFETY: the id is alive.
            None => unsafe { (file.hdf5.call.H5Dget_storage_size)(open_object(file, &object.path)?.id) },
        };
        let only_if_smaller = is_spared || !requests.args.even_if_larger;
        let new_bytes = stored_bytes;
        let mut item = Item { name, field, decision, is_restored, raw_bytes, stored_bytes, new_bytes, remark };
        if is_restored {
            if matches!(item.decision, Decision::Compress(_)) {
                item.new_bytes = raw_bytes;
            }
            return Ok(item);
        }
        if (estimate || only_if_smaller)
            && let Some(estimated) = item.estimated_bytes(requests, asked)?
        {
            if only_if_smaller && estimated >= stored_bytes {
                item.keep()?;
                // HDF5's copy takes chunks that are in the dataset's cache through the filters once more, into buffers
                // of another size (1.10 writes past their end): a dataset that was opened anew has none.
                item.field = None;
                item.field = Field::open(file, object)?.ok();
            } else {
                item.new_bytes = estimated;
            }
        }
        Ok(item)
    }

    /// The bytes that it would take, if it is to be compressed.
    fn estimated_bytes(&self, requests: &Requests, asked: bool) -> Result<Option<u64>, String> {
        let (Some(field), Decision::Compress(params)) = (&self.field, &self.decision) else { return Ok(None) };
        let data = Chunks::of(field)?.rough(requests.args.dry_run).estimated_bytes(params, self.stored_bytes)?;
        Ok(Some(if field.is_chunked || asked { data } else { data + INDEX_BYTES }))
    }

    /// Whether our filter is undone of what is no array of numbers: then all values go through HDF5.
    pub fn is_restored_by_values(&self) -> bool {
        self.is_restored && self.field.is_none() && matches!(self.decision, Decision::Compress(_))
    }

    /// Leaves it as it is, since that is as small.
    fn keep(&mut self) -> Result<(), String> {
        let Some(field) = &self.field else { return Ok(()) };
        let are_floats = field.stored.dtype.is_float();
        let name = |id| filter_name(id) + if is_lossy(id, are_floats) { ", lossy" } else { "" };
        let by = filters(&field.properties)?.into_iter().filter(|id| !matches!(id, 2 | 3)).map(name);
        let by: Vec<String> = by.collect();
        let by = if by.is_empty() { String::new() } else { format!(" ({})", by.join(", ")) };
        self.decision = Decision::Keep(format!("as small as it is{by}"));
        self.new_bytes = self.stored_bytes;
        Ok(())
    }

    /// The request in words, with what was changed of it.
    pub fn note(&self, params: &Params) -> String {
        if self.is_restored {
            return "restored, without SLEEK".into();
        }
        let request = match (params.bound.mode(), params.bound.range()) {
            (Mode::Lossless, _) => "lossless".into(),
            (mode, Some(range)) => format!("{} {:e} of {}", mode.name(), params.bound.number(), short(range)),
            (mode, None) => format!("{} {}", mode.name(), short(params.bound.number())),
        };
        let request = request + &how(params);
        let is_complex = self.field.as_ref().is_some_and(|field| field.stored.is_complex());
        let in_a_line = is_complex && params.codec == 0 && params.profile != Profile::Small;
        let hint = in_a_line.then(|| "--profile small is for numbers whose parts alternate".to_owned());
        let remarks: Vec<String> = self.remark.clone().into_iter().chain(hint).collect();
        match remarks.is_empty() {
            true => request,
            false => format!("{request}: {}", remarks.join("; ")),
        }
    }
}

/// Profile and codec in words, where they are not the usual ones.
fn how(params: &Params) -> String {
    let profile = (params.profile != Profile::default()).then(|| format!(", profile {}", params.profile.name()));
    let named = sleek::codec::chosen(params).ok().filter(|_| params.codec != 0);
    let codec = named.map(|codec| format!(", codec {}", codec.name()));
    profile.unwrap_or_default() + &codec.unwrap_or_default()
}

/// Whether an object is a dataset that has our filter; an error if another one of it cannot be undone.
fn is_ours(file: &Id, object: &Object) -> Result<bool, String> {
    let dataset = open_object(file, &object.path)?;
    let properties = h5_id!(file.hdf5, H5Dget_create_plist(dataset.id))?;
    let is_ours = filters(&properties)?.contains(&(FILTER_ID as c_int));
    match missing_filter(file.hdf5, &properties)? {
        Some(id) if is_ours => {
            Err(format!("{}: cannot be restored: needs filter {id}, which HDF5 does not find", object.name()))
        }
        _ => Ok(is_ours),
    }
}

/// Bytes of the elements of a dataset of any type, without what of them lies elsewhere.
fn bytes_of_any(file: &Id, object: &Object) -> Result<u64, String> {
    let dataset = open_object(file, &object.path)?;
    let (kind, space) = (h5_id!(file.hdf5, H5Dget_type(dataset.id))?, h5_id!(file.hdf5, H5Dget_space(dataset.id))?);
    let count = h5!(file.hdf5, H5Sget_simple_extent_npoints(space.id))?;
    Ok((count as u64).saturating_mul(size_of_type(&kind)? as u64))
}
