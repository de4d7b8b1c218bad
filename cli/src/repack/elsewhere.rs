//! Names of other files in a file: in external links and views. HDF5 looks for a relative one where the file lies that
//! has it, so that in another folder it would lead nowhere, or to another file.

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::hdf5::{Id, abi, h5, h5_id};

/// The class of external links.
pub const EXTERNAL_LINK: i32 = 64;
/// What stands for the file itself in a view.
const ITSELF: &[u8] = b".";

/// Where the names are to lead from.
pub struct Elsewhere {
    /// The folder of the old file; none where the new one lies in the same.
    old: Option<PathBuf>,
}

impl Elsewhere {
    /// Of a file that is written from one place to another.
    pub fn new(from: &Path, to: &Path) -> Elsewhere {
        let [old, new] = [from, to].map(folder);
        Elsewhere { old: old.filter(|old| new.as_ref() != Some(old)) }
    }

    /// The name under which the new file finds what the old one finds under this; none if that is the same.
    fn name(&self, name: &[u8]) -> Option<Vec<u8>> {
        let old = self.old.as_ref().filter(|_| name != ITSELF && !name.starts_with(b"/"))?;
        // What leads nowhere stays as it is.
        let there = old.join(OsStr::from_bytes(name));
        there.exists().then(|| there.into_os_string().into_vec())
    }

    /// What an external link is to say: a byte of flags, the name of a file and that of an object in it.
    pub fn link(&self, value: &[u8]) -> Option<Vec<u8>> {
        let (flags, names) = value.split_first()?;
        let end = names.iter().position(|byte| *byte == 0)?;
        let name = self.name(&names[..end])?;
        Some([&[*flags], &name[..], &names[end..]].concat())
    }

    /// Refuses a view that would lead nowhere: names of files in it count from the folder of the file that has it.
    pub fn check_view(&self, dataset: &Id) -> Result<(), String> {
        let hdf5 = dataset.hdf5;
        let creation = h5_id!(hdf5, H5Dget_create_plist(dataset.id))?;
        let Some(old) = &self.old else { return Ok(()) };
        if h5!(hdf5, H5Pget_layout(creation.id))? != abi::VIRTUAL {
            return Ok(());
        }
        let mut count = 0;
        h5!(hdf5, H5Pget_virtual_count(creation.id, &raw mut count))?;
        for i in 0..count {
            let mut name = vec![0u8; libc::PATH_MAX as usize];
            h5!(hdf5, H5Pget_virtual_filename(creation.id, i, name.as_mut_ptr().cast(), name.len()))?;
            let name = CStr::from_bytes_until_nul(&name).map_err(|e| e.to_string())?.to_bytes();
            if name != ITSELF && !name.starts_with(b"/") {
                let (name, old) = (String::from_utf8_lossy(name), old.display());
                return Err(format!("is a view of {name} in {old}, by a relative name; write OUT into that folder"));
            }
        }
        Ok(())
    }
}

/// The folder that a file lies in, or will.
fn folder(file: &Path) -> Option<PathBuf> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    folder.canonicalize().ok()
}
