//! Which datasets hold coordinates of others, as the conventions of netCDF say it: positions are not to be rounded
//! along with what is measured there.

use std::collections::BTreeMap;
use std::ffi::CStr;

use super::abi::{self, DEFAULT};
use super::missing::text;
use super::object::{Contents, Kind, open_object};
use super::{Id, c_string, h5, h5_id};

/// Attributes that name them.
const ATTRIBUTES: [&CStr; 3] = [c"coordinates", c"bounds", c"climatology"];

/// The places of the datasets that are named as coordinates, or their bounds, each with who says so.
pub fn coordinates(file: &Id, contents: &Contents) -> Result<BTreeMap<usize, String>, String> {
    let mut found = BTreeMap::new();
    for object in contents.objects.iter().filter(|o| o.kind == Kind::Dataset) {
        let dataset = open_object(file, &object.path)?;
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
        let object = file.hdf5.forgive(open_object(file, &c_string(path.as_bytes())?));
        let place = object.map(|o| contents.place_of(&o)).transpose()?.flatten();
        if let Some(place) = place.filter(|place| contents.objects[*place].kind == Kind::Dataset) {
            return Ok(Some(place));
        }
    }
    Ok(None)
}

/// The text of an attribute, if there is one and it is a single text.
pub fn text_of(object: &Id, name: &CStr) -> Result<Option<String>, String> {
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
