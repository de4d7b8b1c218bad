//! Which datasets hold coordinates of others, as the conventions of netCDF say it: positions are not to be rounded
//! along with what is measured there.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};

use super::abi::{self, DEFAULT};
use super::missing::text;
use super::object::{Contents, ObjectKind, open_object};
use super::{Id, h5, h5_id};

/// Attributes that name them.
const ATTRIBUTES: [&CStr; 3] = [c"coordinates", c"bounds", c"climatology"];

/// What the CF conventions have coordinates of the globe measured in, and called.
const DEGREES: &str = "degrees_north degree_north degrees_N degree_N degreesN degreeN degrees_east degree_east \
                       degrees_E degree_E degreesE degreeE";
const STANDARD_NAMES: &str = "latitude longitude time grid_latitude grid_longitude projection_x_coordinate \
                              projection_y_coordinate";
/// Units of times, before `since`; plurals and short forms begin so or stand in `SHORT_TIMES`.
const TIMES: &str = "second minute hour day month year millisec microsec";
const SHORT_TIMES: &str = "s sec secs min mins h hr hrs d ms msec yr";

fn is_one_of(words: &str, word: &str) -> bool {
    words.split(' ').any(|known| known == word)
}

/// Why a dataset is a coordinate by its own attributes, as the CF conventions tell: a latitude, a longitude, a time, or
/// what says that it is an axis.
fn by_itself(dataset: &Id) -> Result<Option<String>, String> {
    if let Some(units) = text_of(dataset, c"units")?
        && (is_one_of(DEGREES, units.trim()) || is_time(&units))
    {
        return Ok(Some(format!("units {}", units.trim())));
    }
    for (attribute, known) in [(c"standard_name", STANDARD_NAMES), (c"axis", "X Y Z T")] {
        if let Some(said) = text_of(dataset, attribute)?.filter(|said| is_one_of(known, said.trim())) {
            return Ok(Some(format!("{} {}", attribute.to_string_lossy(), said.trim())));
        }
    }
    Ok(None)
}

/// Whether a dataset is a dimension scale: the coordinates of other datasets.
pub fn is_scale(dataset: &Id) -> Result<bool, String> {
    Ok(text_of(dataset, c"CLASS")?.is_some_and(|class| class.starts_with("DIMENSION_SCALE")))
}

/// Whether units are those of a time since a moment, such as `hours since 1900-01-01`.
fn is_time(units: &str) -> bool {
    let mut words = units.split_whitespace();
    let (Some(unit), Some(since), Some(_)) = (words.next(), words.next(), words.next()) else { return false };
    let unit = unit.to_ascii_lowercase();
    let is_unit = is_one_of(SHORT_TIMES, &unit) || TIMES.split(' ').any(|time| unit.starts_with(time));
    is_unit && since.eq_ignore_ascii_case("since")
}

/// The places of the datasets that are named as coordinates, or their bounds, or say it themselves, each with who says
/// so.
pub fn coordinates(file: &Id, contents: &Contents) -> Result<BTreeMap<usize, String>, String> {
    let mut found = BTreeMap::new();
    for (place, object) in contents.objects.iter().enumerate().filter(|(_, o)| o.kind == ObjectKind::Dataset) {
        let dataset = open_object(file, &object.path)?;
        if let Some(said) = by_itself(&dataset)? {
            found.entry(place).or_insert(said);
        }
        for attribute in ATTRIBUTES {
            let Some(names) = text_of(&dataset, attribute)? else { continue };
            for name in names.split_whitespace() {
                if let Some(place) = named_from(file, contents, &object.name(), name)? {
                    let said = attribute.to_string_lossy();
                    found.entry(place).or_insert_with(|| format!("{said} of {}", object.name()));
                }
            }
        }
    }
    Ok(found)
}

/// The dataset that another one means by a name: in its own group, or in one above it.
fn named_from(file: &Id, contents: &Contents, from: &str, name: &str) -> Result<Option<usize>, String> {
    let mut group = from;
    while let Some((above, _)) = group.rsplit_once('/') {
        group = above;
        let path = if name.starts_with('/') { name.to_owned() } else { format!("{group}/{name}") };
        if let Some(place) = contents.dataset_at(file, path.as_bytes())? {
            return Ok(Some(place));
        }
    }
    Ok(None)
}

/// The text of an attribute, if there is one and it is a single text.
pub fn text_of(object: &Id, name: &CStr) -> Result<Option<String>, String> {
    Ok(bytes_of(object, name)?.map(|text| text.to_string_lossy().into_owned()))
}

/// The same as it is stored, in whatever encoding.
pub fn bytes_of(object: &Id, name: &CStr) -> Result<Option<CString>, String> {
    let hdf5 = object.hdf5;
    if h5!(hdf5, H5Aexists(object.id, name.as_ptr()))? == 0 {
        return Ok(None);
    }
    let attribute = h5_id!(hdf5, H5Aopen(object.id, name.as_ptr(), DEFAULT))?;
    let kind = h5_id!(hdf5, H5Aget_type(attribute.id))?;
    let space = h5_id!(hdf5, H5Aget_space(attribute.id))?;
    let is_text = h5!(hdf5, H5Tget_class(kind.id))? == abi::STRING;
    match is_text && h5!(hdf5, H5Sget_simple_extent_npoints(space.id))? == 1 {
        true => text(&attribute, &kind, &space),
        false => Ok(None),
    }
}
