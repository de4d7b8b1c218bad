//! What is asked for each dataset.

use std::collections::BTreeMap;

use sleek::{Bound, MissingValues, Params, Profile};

use super::args::Args;
use super::request::{Filter, Others, Request, Wish};
use super::rules::Rules;
use crate::hdf5::coordinates::{coordinates, is_scale};
use crate::hdf5::dataset::Field;
use crate::hdf5::object::{Contents, Object, ObjectKind, open_object};
use crate::hdf5::{Id, c_string};
use crate::progress::some_of;

/// Below this size there is nothing to gain.
const SMALL_BYTES: u64 = 4096;

/// Why a request is not for a dataset.
pub enum Unfit {
    /// Nothing is to be done, or to be gained.
    Whatever(String),
    /// It is not to lose anything.
    Bound(String),
}

pub struct Requests<'a> {
    pub args: &'a Args,
    general: Option<Wish>,
    /// Missing values of which the datasets know nothing.
    pub missing: MissingValues,
    /// The places of coordinates, each with who says so.
    coordinates: BTreeMap<usize, String>,
    /// Those of a rule file.
    rules: &'a Rules,
    /// By the dataset's place in the contents.
    named: BTreeMap<usize, Request>,
}

impl<'a> Requests<'a> {
    /// Finds the datasets that are named, by whatever name they have; refuses names that are not in the file.
    pub fn new(
        args: &'a Args,
        general: Option<Wish>,
        rules: &'a Rules,
        file: &Id,
        contents: &Contents,
    ) -> Result<Requests<'a>, String> {
        let (missing, coordinates) = (args.quality.missing()?, coordinates(file, contents)?);
        let mut requests = Requests { args, general, missing, coordinates, rules, named: BTreeMap::new() };
        for (path, request) in &args.dataset {
            let object = file.hdf5.forgive(open_object(file, &c_string(path.as_bytes())?));
            let place = object.map(|o| contents.place_of(&o)).transpose()?.flatten();
            let Some(place) = place.filter(|p| contents.objects[*p].kind == ObjectKind::Dataset) else {
                let known = contents.objects.iter().filter(|o| o.kind == ObjectKind::Dataset).map(Object::name);
                return Err(format!("--dataset {path}: there is no such dataset; there are {}", some_of(known)));
            };
            requests.named.insert(place, request.clone());
        }
        requests.restrict(&args.variables, contents)?;
        Ok(requests)
    }

    /// How a dataset is compressed that a bound is not for, if it is.
    pub fn exactly(&self, params: Option<&Params>, field: &Field) -> Option<Params> {
        let wanted = match self.args.others {
            Some(others) => others == Others::Lossless,
            None => params.is_some(),
        };
        if !wanted || self.args.filter != Filter::Sleek {
            return None;
        }
        // Its codec may have no such elements.
        let profile = params.map_or_else(Profile::default, |params| params.profile);
        Some(Params { profile, ..Params::new(field.stored.dtype) })
    }

    /// The request for a dataset, or a lossless one where a bound is not for it, and then why.
    pub fn spared(
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
    fn restrict(&mut self, variables: &[String], contents: &Contents) -> Result<(), String> {
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
        if !field.stored.dtype.is_float() && params.bound != Bound::Lossless {
            let (name, what) = (&field.name, &field.stored.what);
            let by_name = if by == By::Rule { "--rules" } else { "--dataset" };
            return match by != By::All {
                true => Err(format!(
                    "{by_name}: {name}: bounds are for floats, and these are {what}; lossless or keep is possible"
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
        if params.bound != Bound::Lossless && by == By::All {
            if is_scale(&field.dataset)? {
                return is_exact("coordinates (a dimension scale)".into());
            }
            if let Some(said) = self.coordinates.get(&place) {
                return is_exact(format!("coordinates ({said})"));
            }
        }
        Ok(None)
    }

    /// What is asked for a dataset, and who named it.
    pub fn of(&self, place: usize, name: &str, field: Option<&Field>) -> (Option<Request>, By) {
        if let Some(request) = self.named.get(&place) {
            return (Some(request.clone()), By::Name);
        }
        if self.args.exclude.iter().any(|pattern| pattern.holds(name)) {
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
