//! What becomes of each dataset.

use std::collections::BTreeMap;
use std::ffi::c_int;

use sleek::bound::sub_down;
use sleek::hdf5::cd_values_of;
use sleek::hdf5::{CdValues, FILTER_ID};
use sleek::range::{join, value_range};
use sleek::{MissingValue, MissingValues, Mode, Params, Profile};

use super::measure::{Chunks, rough_step};
use super::rechunk::rechunk;
use super::request::{Request, Wish};
use super::rules::{Pattern, Rules};
use super::size::Share;
use super::zfp::{self, Maker, Way};
use crate::auto::{self, Aim};
use crate::hdf5::coordinates::coordinates;
use crate::hdf5::dataset::{Block, Field};
use crate::hdf5::filters::{filter_name, filters, is_lossy};
use crate::hdf5::object::{Contents, Kind, Object, open_object};
use crate::hdf5::{Id, c_string, h5_id};
use crate::io::tell;
use crate::sentinel::{self, Watch, flattens, text};
use crate::targets::{self, Measured, Quest, Target};
use sleek::advise::elements;

/// Below this size there is nothing to gain.
const SMALL_BYTES: u64 = 4096;
/// Bytes of the index of chunks that a dataset without chunks gets along with them.
const INDEX_BYTES: u64 = 2048;
/// Bytes of the sample on which a bound is searched for.
const SAMPLE_BYTES: u64 = 8 << 20;
/// Where all of a dataset need not be read: so many bytes of it are, and of what follows one block in `STEP`.
const HEAD_BYTES: u64 = 16 << 20;
const STEP: usize = 16;

/// What becomes of datasets that a bound is not for.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq)]
pub enum Others {
    /// Every bit comes back, and they stay as they are where that makes them no smaller
    Lossless,
    /// They stay as they are
    Keep,
}

/// Why a request is not for a dataset.
pub enum Unfit {
    /// Nothing is to be done, or to be gained.
    Whatever(String),
    /// It is not to lose anything.
    Bound(String),
}

pub struct Requests {
    pub general: Option<Wish>,
    /// Missing values of which the datasets know nothing.
    missing: MissingValues,
    /// Whether values that look like missing ones are data.
    no_fill: bool,
    /// The size that the file is to have, if that is what is asked for.
    pub share: Option<Share>,
    /// Whether datasets are converted that do not get smaller.
    pub even_if_larger: bool,
    /// Whether a part of each dataset tells enough of it: nothing is written.
    pub is_rough: bool,
    /// Whether datasets get chunks that compress well.
    pub rechunk: bool,
    /// The places of coordinates, each with who says so.
    pub coordinates: BTreeMap<usize, String>,
    /// Those of a rule file.
    pub rules: Rules,
    /// Datasets that stay as they are, unless they are named.
    pub excluded: Vec<Pattern>,
    /// What becomes of those that a bound is not for.
    pub others: Option<Others>,
    /// The filter that they get.
    pub filter: zfp::Filter,
    /// By what profile and codec are chosen where no request has any.
    pub auto: Option<Aim>,
    /// By the dataset's place in the contents.
    named: BTreeMap<usize, Request>,
}

impl Requests {
    /// Finds the datasets that are named, by whatever name they have; refuses names that are not in the file.
    pub fn new(
        general: Option<Wish>,
        named: &[(String, Request)],
        (missing, no_fill): (MissingValues, bool),
        file: &Id,
        contents: &Contents,
    ) -> Result<Requests, String> {
        let mut requests = Requests {
            general,
            missing,
            no_fill,
            share: None,
            even_if_larger: false,
            is_rough: false,
            rechunk: false,
            coordinates: coordinates(file, contents)?,
            rules: Rules::default(),
            excluded: Vec::new(),
            others: None,
            filter: zfp::Filter::default(),
            auto: None,
            named: BTreeMap::new(),
        };
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

    /// What is asked for all datasets, if this is none of those that are named or excluded.
    pub fn general_params(&self, place: usize, name: &str) -> Option<&Params> {
        let general = self.general.as_ref().filter(|_| !self.named.contains_key(&place));
        general.filter(|_| !self.is_excluded(name)).map(|wish| &wish.params)
    }

    fn is_excluded(&self, name: &str) -> bool {
        self.excluded.iter().any(|pattern| pattern.holds(name))
    }

    /// How a dataset is compressed that a bound is not for, if it is.
    pub fn exactly(&self, params: Option<&Params>, field: &Field) -> Option<Params> {
        let wanted = match self.others {
            Some(others) => others == Others::Lossless,
            None => params.is_some(),
        };
        if !wanted || self.filter != zfp::Filter::Sleek {
            return None;
        }
        // Its codec may have no such elements.
        let profile = params.map_or_else(Profile::default, |params| params.profile);
        Some(Params { profile, ..Params::new(field.stored.dtype) })
    }

    /// The request for a dataset, or a lossless one where a bound is not for it, and then why.
    fn spared(
        &self,
        place: usize,
        field: &Field,
        (request, by): (Option<Request>, By),
    ) -> Result<(Option<Request>, Option<String>), String> {
        let (params, why) = match &request {
            None => (None, "not named".to_owned()),
            Some(Request::Compress(wish)) => match self.unfit(place, field, &wish.params, by)? {
                Some(Unfit::Bound(why)) => (Some(&wish.params), why),
                _ => return Ok((request, None)),
            },
            Some(Request::Keep) => return Ok((request, None)),
        };
        Ok(match self.exactly(params, field) {
            Some(params) => (Some(Request::Compress(Wish { params, target: None })), Some(why)),
            None => (request, None),
        })
    }

    /// Leaves the general request to these variables alone, named by their paths or the last parts of these.
    pub fn restrict(&mut self, variables: &[String], contents: &Contents) -> Result<(), String> {
        let Some(wish) = self.general.take_if(|_| !variables.is_empty()) else { return Ok(()) };
        for variable in variables {
            let places = contents.variables(variable).map_err(|e| format!("-v {e}"))?;
            for place in places {
                self.named.entry(place).or_insert(Request::Compress(wish.clone()));
            }
        }
        Ok(())
    }

    /// Why a dataset is not compressed as it is asked for; an error if it is named and cannot be compressed so.
    pub fn unfit(&self, place: usize, field: &Field, params: &Params, by: By) -> Result<Option<Unfit>, String> {
        let because = |why: &str| Ok(Some(Unfit::Whatever(why.to_owned())));
        let is_exact = |why: String| Ok(Some(Unfit::Bound(why)));
        if !field.stored.dtype.is_float() && params.mode != Mode::Lossless {
            let (name, what) = (&field.name, &field.stored.what);
            return match by == By::Name {
                true => Err(format!(
                    "--dataset {name}: bounds are for floats, and these are {what}; lossless or keep is possible"
                )),
                false => is_exact(format!("{what}: bounds are for floats")),
            };
        }
        let typed = Params { dtype: field.stored.dtype, ..params.clone() };
        if let Err(e) = sleek::codec::chosen(&typed)
            && e.kind == sleek::Kind::UnsupportedType
        {
            return match by == By::Name {
                true => Err(format!("--dataset {}: {}; keep is possible", field.name, e.message)),
                false => because(&e.message),
            };
        }
        if field.bytes() < SMALL_BYTES && by == By::All {
            return because("small");
        }
        if field.bytes() == 0 || field.stored_bytes() == 0 {
            return because("holds nothing");
        }
        if params.mode != Mode::Lossless && by == By::All {
            if field.is_scale()? {
                return is_exact("coordinates (a dimension scale)".into());
            }
            if let Some(said) = self.coordinates.get(&place) {
                return is_exact(format!("coordinates ({said})"));
            }
        }
        Ok(None)
    }

    /// What is asked for a dataset, and who named it.
    fn of(&self, place: usize, name: &str, field: Option<&Field>) -> (Option<Request>, By) {
        if let Some(request) = self.named.get(&place) {
            return (Some(request.clone()), By::Name);
        }
        if self.is_excluded(name) {
            return (Some(Request::Keep), By::All);
        }
        let rule = field.and_then(|field| self.rules.of(name, field.stored.dtype));
        match rule {
            Some((request, true)) => (Some(request), By::Rule),
            Some((request, false)) => (Some(request), By::All),
            None => (self.general.clone().map(Request::Compress), By::All),
        }
    }
}

/// Who asks for what becomes of a dataset.
#[derive(Clone, Copy, PartialEq)]
pub enum By {
    /// What is for all, or for many by a pattern.
    All,
    /// A rule that has its name: it takes coordinates and small ones too.
    Rule,
    /// An argument that has its name: what cannot be done is an error.
    Name,
}

#[allow(clippy::large_enum_variant)] // one for each dataset
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
    /// How its chunks come about, if it is compressed.
    pub way: Way,
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
        let name = object.name();
        let opened = Field::open(file, object)?;
        let (request, by) = requests.of(place, &name, opened.as_ref().ok());
        // A bound that is found for a target is one for the chunks as they are.
        let for_target = matches!(&request, Some(Request::Compress(wish)) if wish.target.is_some());
        let asked = by == By::Name && matches!(request, Some(Request::Compress(_)));
        let (mut way, mut is_spared) = (Way::Filter, false);
        let (field, decision, remark) = match opened {
            Err(why) if requests.filter == zfp::Filter::None && is_ours(file, object)? => {
                return Err(format!("{name}: cannot be restored: {why}"));
            }
            Ok(field) if requests.filter == zfp::Filter::None => {
                way = Way::Restored;
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
                let (mut decision, remark) = chosen(place, &field, (request, by), requests)?;
                let remark = spared.or(remark);
                if let Decision::Compress(params) = &mut decision {
                    match zfp::way(requests.filter, &field, params)? {
                        Ok(found) => (way, *params) = found,
                        Err(why) if asked => return Err(format!("--dataset {name}: {why}; keep is possible")),
                        Err(why) => decision = Decision::Keep(why),
                    }
                }
                (Some(field), decision, remark)
            }
        };
        let raw_bytes = field.as_ref().map_or(0, Field::bytes);
        let stored_bytes = match &field {
            Some(field) => field.stored_bytes(),
            // SAFETY: the id is alive.
            None => unsafe { (file.hdf5.call.H5Dget_storage_size)(open_object(file, &object.path)?.id) },
        };
        let only_if_smaller = is_spared || !requests.even_if_larger;
        let new_bytes = stored_bytes;
        let mut item = Item { name, field, decision, way, raw_bytes, stored_bytes, new_bytes, remark };
        if matches!(way, Way::Restored) {
            if matches!(item.decision, Decision::Compress(_)) {
                item.new_bytes = raw_bytes;
            }
            return Ok(item);
        }
        if let (Some(field), Decision::Compress(params), true) =
            (&mut item.field, &item.decision, requests.rechunk && !for_target && matches!(item.way, Way::Filter))
        {
            let said = rechunk(field, params, requests.is_rough)?;
            let remarks = item.remark.take().into_iter().chain(said).collect::<Vec<_>>();
            item.remark = (!remarks.is_empty()).then(|| remarks.join("; "));
        }
        if let (Some(field), Decision::Compress(params)) = (&item.field, &item.decision)
            && (estimate || only_if_smaller)
            // What is taken over has the size that it had, but for an index.
            && !matches!(way, Way::TakenOver(_))
        {
            let data = match way {
                Way::H5z(_) => Maker::new(field, params, way)?.rough(requests.is_rough).estimated_bytes()?,
                _ => Chunks::of(field)?.rough(requests.is_rough).estimated_bytes(params, stored_bytes)?,
            };
            let estimated = if field.is_chunked || asked { data } else { data + INDEX_BYTES };
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

    /// What came out when its chunks were written: so many of `all` without the filter.
    pub fn tell_unfiltered(&mut self, unfiltered: usize, all: usize) {
        if unfiltered == 0 {
            return;
        }
        let said =
            format!("{unfiltered} of {all} chunks stored as they are, since zfp would not keep what was asked for");
        self.remark = Some(self.remark.take().map_or(said.clone(), |remark| format!("{remark}; {said}")));
    }

    /// The request in words, with what was changed of it.
    pub fn note(&self, params: &Params) -> String {
        if matches!(self.way, Way::Restored) {
            return "restored, without SLEEK".into();
        }
        let request = match (params.mode, params.range) {
            (Mode::Lossless, _) => "lossless".into(),
            (mode, Some(range)) => format!("{} {:e} of {}", mode.name(), params.bound, short(range)),
            (mode, None) => format!("{} {}", mode.name(), short(params.bound)),
        };
        let request = request + &how(params);
        let request = match self.way {
            Way::Filter => request,
            Way::TakenOver(_) => format!("{request}, the blocks of H5Z-ZFP taken over"),
            Way::H5z(_) => format!("{request}, as H5Z-ZFP"),
            Way::Restored => request,
        };
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

/// A number for reading: no more digits than anyone reads.
fn short(x: f64) -> String {
    let rounded = format!("{x:.4e}").parse().unwrap_or(x);
    if (1e-3..1e5).contains(&rounded) { format!("{rounded}") } else { format!("{rounded:e}") }
}

/// Profile and codec in words, where they are not the usual ones.
fn how(params: &Params) -> String {
    let profile = (params.profile != Profile::default()).then(|| format!(", profile {}", params.profile.name()));
    let named = sleek::codec::chosen(params).ok().filter(|_| params.codec != 0);
    let codec = named.map(|codec| format!(", codec {}", codec.name()));
    profile.unwrap_or_default() + &codec.unwrap_or_default()
}

/// Whether an object is a dataset that has our filter.
fn is_ours(file: &Id, object: &Object) -> Result<bool, String> {
    let dataset = open_object(file, &object.path)?;
    let properties = h5_id!(file.hdf5, H5Dget_create_plist(dataset.id))?;
    Ok(filters(&properties)?.contains(&(FILTER_ID as c_int)))
}

/// What becomes of a dataset where our filter is undone; whether it is one of those that are to be looked at.
fn restored(field: &Field, is_wanted: bool) -> Result<Decision, String> {
    if !is_wanted {
        return Ok(Decision::Keep("not named, or excluded".into()));
    }
    if !filters(&field.properties)?.contains(&(FILTER_ID as c_int)) {
        return Ok(Decision::Keep("not compressed by SLEEK".into()));
    }
    let (dtype, big_endian) = (field.stored.dtype, field.stored.big_endian);
    Ok(Decision::Compress(Params { big_endian, ..Params::new(dtype) }))
}

type Decided = (Decision, Option<String>);

/// What becomes of a dataset, by the profile and codec that suit it if that is asked for.
fn chosen(
    place: usize,
    field: &Field,
    (request, by): (Option<Request>, By),
    all: &Requests,
) -> Result<Decided, String> {
    let decided = decide(place, field, (request.clone(), by), all)?;
    let (Some(auto), Some(Request::Compress(mut wish)), (Decision::Compress(params), _)) =
        (all.auto, request, &decided)
    else {
        return Ok(decided);
    };
    if wish.params.profile != Profile::default() || wish.params.codec != 0 {
        return Ok(decided); // it says how
    }
    let chunks = Chunks::of(field)?;
    let best = auto.choose(&chunks.sample(auto::SAMPLE_BYTES)?, params, |params, _| chunks.shaped(params));
    if !can_be_said(&best) {
        return Ok(decided);
    }
    (wish.params.profile, wish.params.codec) = (best.profile, best.codec);
    if wish.target.is_some() {
        return decide(place, field, (Some(Request::Compress(wish)), by), all);
    }
    Ok((Decision::Compress(best), decided.1))
}

fn decide(
    place: usize,
    field: &Field,
    (request, by): (Option<Request>, By),
    all: &Requests,
) -> Result<Decided, String> {
    let keep = |why: &str| Ok((Decision::Keep(why.into()), None));
    let Wish { mut params, target } = match request {
        None => return keep("not named"),
        Some(Request::Keep) => return keep("by request"),
        Some(Request::Compress(wish)) => wish,
    };
    if let Some(Unfit::Whatever(why) | Unfit::Bound(why)) = all.unfit(place, field, &params, by)? {
        return keep(&why);
    }
    params.dtype = field.stored.dtype;
    params.big_endian = field.stored.big_endian;
    if params.mode == Mode::Lossless {
        // Everything comes back exactly, named or not.
        params.missing = MissingValues::default();
        return Ok((Decision::Compress(params), lossy_before(field)?));
    }
    let mut besides = params.missing;
    all.missing.iter().try_for_each(|value| besides.push(value)).map_err(|e| format!("{}: --fill: {e}", field.name))?;
    let declared = field.declared(&besides)?;
    params.missing = declared.missing;
    if !can_be_said(&params) {
        let params = Params { missing: MissingValues::default(), ..params.with_bound(Mode::Lossless, 0.0) };
        return Ok((
            Decision::Compress(params),
            Some("the filter's parameters have no room for its missing values".into()),
        ));
    }
    let survey = Survey {
        field,
        params: &params,
        valid: declared.valid,
        no_fill: all.no_fill,
        is_rough: all.is_rough,
        share: all.share.filter(|_| by == By::All),
    };
    if let Some(target) = target {
        let (params, remark) = survey.meet(target)?;
        return Ok((Decision::Compress(params), Some(remark)));
    }
    let mut remarks: Vec<String> = lossy_before(field)?.into_iter().collect();
    if params.mode == Mode::Noa && params.range.is_none() {
        let (range, found) = survey.range()?;
        remarks.extend(add(&mut params, &found));
        params.range = range.filter(|(lo, hi)| hi > lo).map(|(lo, hi)| sub_down(hi, lo));
        if params.range.is_none() {
            params = params.with_bound(Mode::Lossless, 0.0);
            return Ok((Decision::Compress(params), Some("every value is the same".into())));
        }
        if all.is_rough && rough_step(true, field.bytes(), usize::MAX) > 1 {
            remarks.push("the range is that of a sample".into());
        }
    } else if !all.no_fill && params.bound > 0.0 {
        let (extremes, found) = survey.look_for_sentinels()?;
        if let Some(warning) = flattens(&params, extremes) {
            tell(&format!("sleek: warning: {}: {warning}", field.name));
        }
        remarks.extend(add(&mut params, &found));
    }
    Ok((Decision::Compress(params), Some(remarks.join("; ")).filter(|remarks| !remarks.is_empty())))
}

/// Names the missing values that were found, as far as the filter's parameters have room: where they have none the
/// filter finds them in each chunk. A word on them.
fn add(params: &mut Params, found: &[f64]) -> Option<String> {
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

/// A word on data that a lossy filter wrote: its errors are in them, and those of another bound add to them.
fn lossy_before(field: &Field) -> Result<Option<String>, String> {
    let are_floats = field.stored.dtype.is_float();
    let lossy = filters(&field.properties)?.into_iter().find(|id| is_lossy(*id, are_floats));
    Ok(lossy.map(|id| format!("written by {}, whose errors stay in it", filter_name(id))))
}

/// Whether the filter's parameters tell all missing values.
fn can_be_said(params: &Params) -> bool {
    CdValues::decode(&cd_values_of(params)).is_ok_and(|said| said.request.missing == params.missing)
}

/// What is to be known of all values of a dataset.
#[derive(Clone, Copy)]
struct Survey<'a> {
    field: &'a Field<'a>,
    params: &'a Params,
    /// The smallest and the largest valid value.
    valid: (f64, f64),
    no_fill: bool,
    /// Whether a part of it tells enough.
    is_rough: bool,
    /// The size of the whole file, if its target is a part of that.
    share: Option<Share>,
}

/// The range of values, if there are any, and what was found not to be one.
type RangeAndFound = (Option<(f64, f64)>, Vec<f64>);

/// What was seen of values.
struct Seen {
    /// Of the valid ones.
    range: Option<(f64, f64)>,
    /// What looks for missing values that nobody declared, if something is to.
    watch: Option<Watch>,
}

impl Survey<'_> {
    /// The range of the valid values, by a part of them if that will do, and what was found not to be any.
    fn range(&self) -> Result<RangeAndFound, String> {
        if self.is_rough {
            let some = self.see_some()?;
            // What may be a missing value is for all values to decide.
            if !some.watch.is_some_and(|watch| watch.suspects()) {
                return Ok((some.range, Vec::new()));
            }
        }
        let all = self.see_all()?;
        let Some(mut found) = all.watch.map(|watch| watch.found()).filter(|found| !found.is_empty()) else {
            return Ok((all.range, Vec::new()));
        };
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
        if let Some(watch) = &mut seen.watch {
            watch.see(bytes);
        }
        seen.range = join(seen.range, self.valid_range(missing, bytes));
    }

    fn nothing_seen(&self) -> Result<Seen, String> {
        let watch = if self.no_fill { None } else { Some(self.watch()?) };
        Ok(Seen { range: None, watch })
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
    fn meet(&self, target: Target) -> Result<(Params, String), String> {
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
        let dims = chunks.dims_of(&self.field.dims);
        let measure = |params: &Params, step| chunks.measure(params, step, Measured::new(&target, range, &dims), fills);
        let quest = Quest { target, params: self.params, range, raw_bytes: self.field.bytes() };
        let answer = quest
            .solve(|params| measure(params, step), |params| measure(params, chunks.whole_step()))
            .map_err(|failed| match self.share {
                Some(share) => share.unmet(&self.field.name, failed),
                None => format!("{}: {}", self.field.name, targets::reason(failed)),
            })?;
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
    fn look_for_sentinels(&self) -> Result<RangeAndFound, String> {
        if self.is_rough {
            return self.range();
        }
        let (mut some, blocks) = (self.watch()?, self.field.blocks()?);
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

    fn watch(&self) -> Result<Watch, String> {
        Ok(Watch::new(self.params.dtype, self.params.big_endian, self.missing()?))
    }

    fn missing(&self) -> Result<Vec<f64>, String> {
        self.params.missing.numbers(self.params.dtype).map_err(|e| e.to_string())
    }
}
