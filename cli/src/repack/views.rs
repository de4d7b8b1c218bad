//! Views of datasets in other files, whose relative names count from the folder of the file that has the view.

use std::ffi::CStr;
use std::path::{Path, PathBuf};

use crate::hdf5::{Id, abi, h5, h5_id};

/// What stands for the file itself in a view.
const ITSELF: &[u8] = b".";

/// Where relative names count from.
pub struct Folders {
    /// Of the old file: that of its name, and where this is a link that of the file itself. HDF5 looks there in turn.
    old: Vec<PathBuf>,
    new: Option<PathBuf>,
}

impl Folders {
    pub fn of(from: &Path, to: &Path) -> Folders {
        let folder = |file: &Path| {
            let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            folder.canonicalize().ok()
        };
        let itself = from.canonicalize().ok();
        let old = [Some(from), itself.as_deref()].into_iter().flatten().filter_map(folder).collect();
        Folders { old, new: folder(to) }
    }

    /// Refuses a view that would show fill values in the new file's folder.
    pub fn check(&self, dataset: &Id) -> Result<(), String> {
        let hdf5 = dataset.hdf5;
        let creation = h5_id!(hdf5, H5Dget_create_plist(dataset.id))?;
        if h5!(hdf5, H5Pget_layout(creation.id))? != abi::VIRTUAL {
            return Ok(());
        }
        let mut count = 0;
        h5!(hdf5, H5Pget_virtual_count(creation.id, &raw mut count))?;
        for i in 0..count {
            let mut name = vec![0u8; libc::PATH_MAX as usize];
            h5!(hdf5, H5Pget_virtual_filename(creation.id, i, name.as_mut_ptr().cast(), name.len()))?;
            let name = CStr::from_bytes_until_nul(&name).map_err(|e| e.to_string())?.to_bytes();
            if name == ITSELF || name.starts_with(b"/") {
                continue;
            }
            let name = String::from_utf8_lossy(name);
            // A name may stand for many files, which are numbered.
            let has_it = |folder: &&PathBuf| folder.join(name.replace("%b", "0")).exists();
            let found = self.old.iter().find(has_it).or(self.old.last());
            if let Some(left) = found.filter(|found| self.new.as_ref() != Some(*found)) {
                let left = left.display();
                return Err(format!("is a view of {name} in {left}, by a relative name; write OUT into that folder"));
            }
        }
        Ok(())
    }
}
