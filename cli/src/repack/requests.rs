//! What is asked for each dataset.

use std::collections::{BTreeMap, BTreeSet};

use sleek::{Bound, MissingValues, Params, Profile};

use super::args::Args;
use super::request::{Others, Request, Wish};
use super::rules::{Matched, Rules};
use crate::hdf5::Id;
use crate::hdf5::coordinates::{coordinates, is_scale};
use crate::hdf5::dataset::Field;
use crate::hdf5::object::{Contents, Object, ObjectKind, Way};
use crate::progress::some_of;
use crate::targets::argument;

/// Below this size there is nothing to gain.
const SMALL_BYTES: u64 = 4096;

pub struct Requests<'a> {
    pub args: &'a Args,
    general: Option<Wish>,
    /// Missing values of which the datasets know nothing.
    pub missing: MissingValues,
    /// The places of coordinates, each with who says so.
    coordinates: BTreeMap<usize, String>,
    /// Those of a rule file.
    pub rules: Matched<'a>,
    /// By the dataset's place in the contents.
    named: BTreeMap<usize, Request>,
    /// The places of what `--exclude` is for.
    excluded: BTreeSet<usize>,
    /// The patterns of `--exclude` that are for no dataset.
    pub idle: Vec<String>,
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
        let (named, excluded, ways) = (BTreeMap::new(), BTreeSet::new(), contents.ways(file)?);
        let rules = rules.matched(&ways);
        let mut requests = Requests { args, general, missing, coordinates, rules, named, excluded, idle: Vec::new() };
        let mut said = BTreeMap::new();
        for (path, request) in &args.dataset {
            let Some(place) = contents.dataset_at(file, path.as_bytes())? else {
                let known = contents.objects.iter().filter(|o| o.kind == ObjectKind::Dataset).map(Object::name);
                return Err(format!("--dataset {path}: there is no such dataset; there are {}", some_of(known)));
            };
            let before = requests.named.insert(place, request.clone());
            let other = said.insert(place, path).filter(|_| before.is_some_and(|before| before != *request));
            if let Some(other) = other {
                return Err(format!("--dataset {other} and {path}: are one dataset; one request is possible"));
            }
        }
        requests.exclude(contents, &ways);
        requests.restrict(file, contents)?;
        Ok(requests)
    }

    /// How a dataset is compressed, and why without the bound that was asked for, if so; in its place the reason why it
    /// is kept. An error if it is named and cannot be compressed as it is asked for.
    pub fn fit(&self, place: usize, field: &Field, request: Option<Request>, by: By) -> Result<Fit, String> {
        let wish = match request {
            Some(Request::Keep) => return Ok(Err("by request".into())),
            Some(Request::Compress(wish)) => Some(wish),
            None => None,
        };
        let why = match &wish {
            None => Some("not named".to_owned()),
            Some(wish) if wish.params.bound == Bound::Lossless => None,
            Some(_) => self.takes_no_bound(place, field, by)?,
        };
        let target = wish.as_ref().and_then(|wish| wish.target);
        let kept = |why: String| match target {
            Some(target) => Ok(Err(format!("{why}; {} was passed over", argument(&target)))),
            None => Ok(Err(why)),
        };
        let wish = match (&why, wish) {
            (None, Some(wish)) => wish,
            (_, wish) => match self.exactly(wish.as_ref().map(|wish| &wish.params), field) {
                Some(params) => Wish { params, target: None },
                None => return kept(why.unwrap_or_default()),
            },
        };
        match unfit(field, &wish.params, by)? {
            Some(why) => kept(why),
            None => Ok(Ok((wish, why))),
        }
    }

    /// How a dataset is compressed that a bound is not for, if it is.
    fn exactly(&self, params: Option<&Params>, field: &Field) -> Option<Params> {
        let is_wanted = self.args.others.map_or(params.is_some(), |others| others == Others::Lossless);
        // Its codec may have no such elements.
        let profile = params.map_or_else(Profile::default, |params| params.profile);
        is_wanted.then(|| Params { profile, ..Params::new(field.stored.dtype) })
    }

    /// Finds what is excluded, by whatever name it has.
    fn exclude(&mut self, contents: &Contents, ways: &[Vec<Way>]) {
        for pattern in &self.args.exclude {
            let mut places = pattern.places(ways);
            places.retain(|place| contents.objects[*place].kind == ObjectKind::Dataset);
            self.idle.extend(places.is_empty().then(|| format!("--exclude '{}'", pattern.text())));
            self.excluded.extend(places);
        }
    }

    /// Leaves the general request to the variables alone, named by their paths or the last parts of these.
    fn restrict(&mut self, file: &Id, contents: &Contents) -> Result<(), String> {
        let variables = &self.args.variables;
        let Some(wish) = self.general.take_if(|_| !variables.is_empty()) else { return Ok(()) };
        for variable in variables {
            let places = contents.variables(file, variable).map_err(|e| format!("-v {e}"))?;
            for place in places.into_iter().filter(|place| !self.excluded.contains(place)) {
                self.named.entry(place).or_insert(Request::Compress(wish.clone()));
            }
        }
        Ok(())
    }

    /// Why a dataset is not to lose anything.
    fn takes_no_bound(&self, place: usize, field: &Field, by: By) -> Result<Option<String>, String> {
        if !field.stored.dtype.is_float() {
            let (name, what) = (&field.name, &field.stored.what);
            let by_name = if by == By::Rule { "--rules" } else { "--dataset" };
            return match by != By::All {
                true => Err(format!(
                    "{by_name}: {name}: bounds are for floats, and these are {what}; lossless or keep is possible"
                )),
                false => Ok(Some(format!("{what}: bounds are for floats"))),
            };
        }
        if by != By::All {
            return Ok(None);
        }
        if is_scale(&field.dataset)? {
            return Ok(Some("coordinates (a dimension scale)".into()));
        }
        Ok(self.coordinates.get(&place).map(|said| format!("coordinates ({said})")))
    }

    /// What is asked for a dataset, and who named it.
    pub fn of(&self, place: usize, field: Option<&Field>) -> (Option<Request>, By) {
        if let Some(request) = self.named.get(&place) {
            return (Some(request.clone()), By::Name);
        }
        if self.excluded.contains(&place) {
            return (Some(Request::Keep), By::All);
        }
        let rule = field.and_then(|field| self.rules.of(place, field.stored.dtype));
        match rule {
            Some((request, true)) => (Some(request), By::Rule),
            Some((request, false)) => (Some(request), By::All),
            None => (self.general.clone().map(Request::Compress), By::All),
        }
    }
}

/// How a dataset is compressed, and why without a bound that was asked for; in its place why it is kept.
pub type Fit = Result<(Wish, Option<String>), String>;

/// Why nothing is to be gained; an error if a dataset is named and cannot be compressed so.
fn unfit(field: &Field, params: &Params, by: By) -> Result<Option<String>, String> {
    let typed = Params { dtype: field.stored.dtype, ..params.clone() };
    if let Err(e) = sleek::codec::chosen(&typed)
        && e.kind == sleek::Kind::UnsupportedType
    {
        return match by == By::Name {
            true => Err(format!("--dataset {}: {}; keep is possible", field.name, e.message)),
            false => Ok(Some(e.message)),
        };
    }
    if field.bytes() < SMALL_BYTES && by == By::All {
        return Ok(Some("small".into()));
    }
    let holds_nothing = field.bytes() == 0 || field.stored_bytes() == 0;
    Ok(holds_nothing.then(|| "holds nothing".into()))
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
