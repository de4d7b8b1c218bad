//! Each dataset with what becomes of it.

use std::ffi::c_int;

use sleek::hdf5::FILTER_ID;
use sleek::{DType, Mode, Params, Profile};

use super::decide::{Decision, decide};
use super::measure::Chunks;
use super::request::Request;
use super::requests::{By, Requests};
use crate::hdf5::dataset::{Field, size_of_type};
use crate::hdf5::filters::{filter_name, filters, is_lossy, lacks};
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
        let (name, opened) = (object.name(), Field::open(file, object)?);
        let (request, by) = requests.of(place, opened.as_ref().ok());
        let is_wanted = matches!(request, Some(Request::Compress(_)));
        if requests.args.filter.restores() {
            return Item::restored(file, object, opened, is_wanted);
        }
        let asked = by == By::Name && is_wanted;
        let (field, fit) = match opened {
            Err(why) if asked => {
                return Err(format!("--dataset {name}: cannot be compressed: {why}; keep is possible"));
            }
            Err(why) => (None, Err(why)),
            Ok(field) => {
                let fit = requests.fit(place, &field, request, by)?;
                (Some(field), fit)
            }
        };
        let (mut item, mut is_spared) = (Item::kept(file, object, field)?, false);
        match (&item.field, fit) {
            (Some(field), Ok((wish, spared))) => {
                let (decision, remark) = decide(field, wish, requests)?;
                is_spared = spared.is_some();
                (item.decision, item.remark) = (decision, spared.or(remark));
            }
            (_, Err(why)) => item.decision = Decision::Keep(why),
            (None, Ok(_)) => {}
        }
        let only_if_smaller = is_spared || !requests.args.even_if_larger;
        if (estimate || only_if_smaller)
            && let Some(estimated) = item.estimated_bytes(requests, asked)?
        {
            if only_if_smaller && estimated >= item.stored_bytes {
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

    /// A dataset that stays as it is.
    fn kept(file: &Id<'a>, object: &Object, field: Option<Field<'a>>) -> Result<Item<'a>, String> {
        let stored_bytes = open_object(file, &object.path)?.storage_size();
        Ok(Item {
            name: object.name(),
            raw_bytes: field.as_ref().map_or(0, Field::bytes),
            field,
            decision: Decision::Keep("not named, or excluded".into()),
            is_restored: false,
            stored_bytes,
            new_bytes: stored_bytes,
            remark: None,
        })
    }

    /// A dataset of which our filter is undone, if it has it.
    fn restored(
        file: &Id<'a>,
        object: &Object,
        opened: Result<Field<'a>, String>,
        is_wanted: bool,
    ) -> Result<Item<'a>, String> {
        let (field, why) =
            opened.map_or_else(|why| (None, why), |field| (Some(field), "not compressed by SLEEK".into()));
        let (is_ours, mut item) = (is_ours(file, object)?, Item::kept(file, object, field)?);
        item.is_restored = is_ours || item.field.is_some();
        if item.is_restored && item.field.is_none() {
            item.raw_bytes = bytes_of_any(file, object)?;
        }
        if is_ours && is_wanted {
            let stored = item.field.as_ref().map(|field| &field.stored);
            let (dtype, big_endian) = stored.map_or((DType::U8, false), |stored| (stored.dtype, stored.big_endian));
            item.decision = Decision::Compress(Params { big_endian, ..Params::new(dtype) });
            item.new_bytes = item.raw_bytes;
        } else if !is_ours && (is_wanted || item.field.is_none()) {
            item.decision = Decision::Keep(why);
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
        let hint = in_a_line.then(|| "--profile small makes complex numbers smaller".to_owned());
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
    match lacks(file.hdf5, &properties)? {
        Some(why) if is_ours => Err(format!("{}: cannot be restored: {why}", object.name())),
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
