//! What a dataset says of itself for people: its long name, its units, and the names of its dimensions.

use std::ffi::c_void;

use super::abi::{self, DEFAULT, Sequence};
use super::coordinates::text_of;
use super::dataset::Field;
use super::object::Contents;
use super::{Id, h5, h5_id};

/// A dataset in words.
#[derive(Clone, Default)]
pub struct About {
    /// Its long name, else its standard name; empty without.
    pub title: String,
    pub units: String,
    /// The names of its dimensions; empty without.
    pub along: Vec<String>,
}

impl Field<'_> {
    /// Reads it; what cannot be read is left out, for nothing depends on it.
    pub fn about(&self, file: &Id, contents: &Contents) -> About {
        let hdf5 = self.dataset.hdf5;
        let scales = hdf5.forgive(self.scales(file, contents)).unwrap_or_default();
        let text = |name| hdf5.forgive(text_of(&self.dataset, name)).flatten().unwrap_or_default();
        let title = [text(c"long_name"), text(c"standard_name")].into_iter().find(|t| !t.is_empty());
        let mut along = vec![String::new(); self.dims.len()];
        for (place, scale) in along.iter_mut().zip(scales) {
            *place = scale.unwrap_or_default();
        }
        About { title: title.unwrap_or_default(), units: text(c"units"), along }
    }

    /// The name of the first dimension scale of each dimension.
    fn scales(&self, file: &Id, contents: &Contents) -> Result<Vec<Option<String>>, String> {
        let hdf5 = self.dataset.hdf5;
        let name = c"DIMENSION_LIST".as_ptr();
        if h5!(hdf5, H5Aexists(self.dataset.id, name))? == 0 {
            return Ok(Vec::new());
        }
        let attribute = h5_id!(hdf5, H5Aopen(self.dataset.id, name, DEFAULT))?;
        let kind = h5_id!(hdf5, H5Aget_type(attribute.id))?;
        let space = h5_id!(hdf5, H5Aget_space(attribute.id))?;
        let count = h5!(hdf5, H5Sget_simple_extent_npoints(space.id))?;
        let mut is_list = h5!(hdf5, H5Tget_class(kind.id))? == abi::VARIABLE;
        if is_list {
            let inner = h5_id!(hdf5, H5Tget_super(kind.id))?;
            is_list = h5!(hdf5, H5Tget_class(inner.id))? == abi::REFERENCE;
        }
        if !is_list || usize::try_from(count).ok() != Some(self.dims.len()) {
            return Ok(Vec::new());
        }
        // A copy of a type of a file is a type in memory.
        let memory = h5_id!(hdf5, H5Tcopy(kind.id))?;
        let mut lists: Vec<Sequence> =
            self.dims.iter().map(|_| Sequence { len: 0, start: std::ptr::null_mut() }).collect();
        h5!(hdf5, H5Aread(attribute.id, memory.id, lists.as_mut_ptr().cast()))?;
        let scales = lists.iter().map(|list| match list.len > 0 && !list.start.is_null() {
            true => hdf5.forgive(scale(file, contents, list.start)),
            false => None,
        });
        let scales = scales.collect();
        // SAFETY: the lists are as H5Aread filled them.
        unsafe { (hdf5.call.H5Dvlen_reclaim)(memory.id, space.id, DEFAULT, lists.as_mut_ptr().cast()) };
        Ok(scales)
    }
}

/// Whether a dataset holds nothing but stands for a dimension without coordinates, as netCDF says in its name.
pub fn is_bare_dimension(dataset: &Id) -> Result<bool, String> {
    Ok(text_of(dataset, c"NAME")?.is_some_and(|name| name.starts_with("This is a netCDF dimension")))
}

/// The name of the dataset that a reference leads to.
fn scale(file: &Id, contents: &Contents, reference: *mut c_void) -> Result<String, String> {
    let object = h5_id!(file.hdf5, H5Rdereference2(file.id, DEFAULT, abi::TO_OBJECT, reference))?;
    let place = contents.place_of(&object)?.ok_or("leads to nothing")?;
    Ok(contents.objects[place].name().rsplit('/').next().unwrap_or_default().to_owned())
}
