//! Views of datasets in other files, whose relative names count from the folder of the file that has the view.

use std::ffi::CStr;
use std::path::{Path, PathBuf};

use crate::hdf5::{Id, abi, h5, h5_id};

/// What stands for the file itself in a view.
const ITSELF: &[u8] = b".";

/// The folder of the old file, where the new one lies in another.
pub fn left_folder(from: &Path, to: &Path) -> Option<PathBuf> {
    let folder = |file: &Path| {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        folder.canonicalize().ok()
    };
    folder(from).filter(|old| folder(to).as_ref() != Some(old))
}

/// Refuses a view that would show fill values from another folder than `old`.
pub fn check(dataset: &Id, old: &Path) -> Result<(), String> {
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
        if name != ITSELF && !name.starts_with(b"/") {
            let (name, old) = (String::from_utf8_lossy(name), old.display());
            return Err(format!("is a view of {name} in {old}, by a relative name; write OUT into that folder"));
        }
    }
    Ok(())
}
