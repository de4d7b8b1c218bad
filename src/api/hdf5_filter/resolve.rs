//! Which libhdf5 is calling? A process may hold several (a Python with h5py and netCDF4 does), mostly out of sight of
//! the global symbol scope, and an id from one means nothing, or worse something else, to another. So the filter looks
//! where the call returns to, and takes the functions of that very object.

use std::ffi::{CStr, c_void};
use std::ptr::NonNull;

use super::abi::{DatasetFunctions, Functions, Tables};
use super::loaded::{Object, base_of};
use crate::error::{Result, fail};

/// The functions of the HDF5 that calls, which stays loaded meanwhile.
pub struct Hdf5 {
    functions: Functions,
    _object: Option<Object>,
}

impl std::ops::Deref for Hdf5 {
    type Target = Functions;
    fn deref(&self) -> &Functions {
        &self.functions
    }
}

impl Hdf5 {
    /// The HDF5 whose code is at `caller`; `None` if it hides its functions, as a stripped program that holds HDF5 by
    /// static linking does.
    pub fn at(caller: *const c_void) -> Result<Option<Hdf5>> {
        let object = Object::at(caller);
        // SAFETY: the object has called a filter: it is HDF5; its version is checked below.
        let loaded = object.and_then(|o| unsafe { Functions::load(&|name| o.find_own(name)) }.map(|f| (f, Some(o))));
        let Some((functions, _object)) = loaded.or_else(|| in_program(caller, "H5Z").map(|t| (t.filter, None))) else {
            return Ok(None);
        };
        check_version(&functions)?;
        Ok(Some(Hdf5 { functions, _object }))
    }
}

/// The functions of an HDF5 that somebody uses, those of the filter and the others.
pub struct Library {
    pub filter: Functions,
    pub data: DatasetFunctions,
    _object: Option<Object>,
}

impl Library {
    /// The HDF5 that the program or library with the code at `caller` uses. One that is not linked to any, as a
    /// foreign-function interface is not, uses the only one there is.
    pub fn of_user(caller: *const c_void) -> Result<Library> {
        let only = || Object::only_with(c"H5Dwrite").and_then(Library::used_by);
        let Some(library) = Library::of_object(caller).or_else(only) else {
            return fail!(
                Hdf5,
                "the caller is linked to no HDF5, or to several; link the code that calls to HDF5, as a shared \
                library if its symbols are stripped"
            );
        };
        check_version(&library.filter).map(|()| library)
    }

    /// The HDF5 that the program or library at `address` is linked to, or holds.
    pub fn linked_to(address: *const c_void) -> Result<Library> {
        let Some(library) = Library::of_object(address) else {
            let given = "which sleek_h5d_user() was given";
            return fail!(Hdf5, "no program or library that is linked to HDF5 is at {address:?}, {given}");
        };
        check_version(&library.filter).map(|()| library)
    }

    fn of_object(address: *const c_void) -> Option<Library> {
        Object::at(address).and_then(Library::used_by).or_else(|| Library::new(in_program(address, "")?, None))
    }

    /// The functions that `object` finds in itself and what it is linked to, all of one library.
    fn used_by(object: Object) -> Option<Library> {
        let base = base_of(object.find(c"H5get_libversion")?.as_ptr())?;
        // A program at a fixed address may have stubs of its own for functions whose address it takes. H5DO... are in
        // libhdf5_hl.
        let fits = |name: &CStr, at: NonNull<c_void>| {
            let at = base_of(at.as_ptr());
            at == Some(base) || at == Some(object.base) || name.to_bytes().starts_with(b"H5DO")
        };
        // SAFETY: functions of HDF5's names in the library that has H5get_libversion; whoever asks checks the version.
        let tables = unsafe { Tables::load(&|name| object.find(name).filter(|at| fits(name, *at))) }?;
        Library::new(tables, Some(object))
    }

    fn new(Tables { filter, data }: Tables, object: Option<Object>) -> Option<Library> {
        Some(Library { filter, data: data?, _object: object })
    }

    /// Its version, for a person.
    pub fn version(&self) -> String {
        let (major, minor, release) = self.filter.version();
        format!("{major}.{minor}.{release}")
    }
}

fn check_version(functions: &Functions) -> Result<()> {
    let (major, minor, release) = functions.version();
    if (major, minor) < (1, 10) {
        return fail!(Hdf5, "this is HDF5 {major}.{minor}.{release}; the filter needs 1.10 or newer");
    }
    Ok(())
}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
use super::symtab::functions as in_program;

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
fn in_program(_caller: *const c_void, _prefix: &str) -> Option<Tables> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::null;

    #[test]
    fn no_hdf5_is_no_error() {
        let caller = no_hdf5_is_no_error as *const c_void;
        assert!(Hdf5::at(caller).is_ok_and(|h| h.is_none()));
        assert!(Hdf5::at(null()).is_ok_and(|h| h.is_none()));
        assert!(Library::of_user(caller).is_err());
        for address in [caller, std::ptr::dangling()] {
            let error = Library::linked_to(address).err().expect("no HDF5 in this program");
            assert!(error.message.contains("sleek_h5d_user"), "{error}");
        }
    }
}
