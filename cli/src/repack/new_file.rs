//! The new file while it is made, and the named types in it.

use std::ffi::CString;

use super::request::Filter;
use super::views::Folders;
use crate::hdf5::abi::DEFAULT;
use crate::hdf5::object::{Contents, ObjectKind, open_object};
use crate::hdf5::{Hdf5, Id, c_string, h5, h5_id};

/// The old file, the new one, and what is in them.
pub struct Copy<'a> {
    pub hdf5: &'a Hdf5,
    pub from: &'a Id<'a>,
    pub to: Id<'a>,
    pub contents: &'a Contents,
    /// Whether the object has its place in the new file.
    pub made: Vec<bool>,
    /// Whether it has no data there yet.
    pub empty: Vec<bool>,
    /// Where named types wait for their first link: datasets need them before.
    pub waiting_types: CString,
    /// Where the views in the files look.
    pub folders: Folders,
    /// The filter that datasets get.
    pub filter: Filter,
}

/// A name that the root has not.
pub fn unused_name(contents: &Contents) -> Result<CString, String> {
    let mut name = b".sleek-types".to_vec();
    while contents.links[0].iter().any(|l| l.name.as_bytes() == name) {
        name.push(b'_');
    }
    c_string(&name)
}

impl<'a> Copy<'a> {
    fn has_types(&self) -> bool {
        self.contents.objects.iter().any(|o| o.kind == ObjectKind::NamedType)
    }

    /// Copies all named types into a group of their own.
    pub fn types(&mut self) -> Result<(), String> {
        if !self.has_types() {
            return Ok(());
        }
        let name = self.waiting_types.as_ptr();
        let group = h5_id!(self.hdf5, H5Gcreate2(self.to.id, name, DEFAULT, DEFAULT, DEFAULT))?;
        for (place, object) in self.contents.objects.iter().enumerate().filter(|(_, o)| o.kind == ObjectKind::NamedType)
        {
            let old = open_object(self.from, &object.path)?;
            let new = h5_id!(self.hdf5, H5Tcopy(old.id))?;
            let creation = h5_id!(self.hdf5, H5Tget_create_plist(old.id))?;
            let name = c_string(place.to_string().as_bytes())?;
            h5!(self.hdf5, H5Tcommit2(group.id, name.as_ptr(), new.id, DEFAULT, creation.id, DEFAULT))?;
        }
        Ok(())
    }

    pub fn waiting_type(&self, place: usize) -> Result<CString, String> {
        c_string(&[b"/", self.waiting_types.as_bytes(), b"/", place.to_string().as_bytes()].concat())
    }

    /// The types have their links by now.
    pub fn forget_waiting_types(&self) -> Result<(), String> {
        match self.has_types() {
            true => h5!(self.hdf5, H5Ldelete(self.to.id, self.waiting_types.as_ptr(), DEFAULT)).map(drop),
            false => Ok(()),
        }
    }

    /// The named type in the new file that stands for one of the old; `None` if this is no named type, or one without a
    /// name.
    pub fn new_type(&self, old: &Id) -> Result<Option<(Id<'a>, CString)>, String> {
        if h5!(self.hdf5, H5Tcommitted(old.id))? == 0 {
            return Ok(None);
        }
        let Some(place) = self.contents.place_of(old)? else { return Ok(None) };
        let path = self.waiting_type(place)?;
        Ok(Some((open_object(&self.to, &path)?, path)))
    }

    /// A type for a new dataset or attribute: the named one, else a copy.
    pub fn type_for(&self, old: &Id) -> Result<Id<'a>, String> {
        match self.new_type(old)? {
            Some((kind, _)) => Ok(kind),
            None => h5_id!(self.hdf5, H5Tcopy(old.id)),
        }
    }
}
