//! What the child process of `sleek doctor` does: load a library, say in one line each what it learns.

use std::ffi::{CStr, c_char, c_int};
use std::path::Path;
use std::process::ExitCode;
use std::ptr::null;

use sleek::hdf5::{FILTER_ID, cd_values_of};
use sleek::{Bound, DType, Params, Profile};

use crate::Outcome;
use crate::hdf5::abi::{ALL, DEFAULT, TRUNCATE};
use crate::hdf5::dataset::set_chunk;
use crate::hdf5::object::open_object;
use crate::hdf5::{Hdf5, Id, Loaded, c_string, h5, h5_id};
use crate::io::say;

/// Values of a dataset that is written, the rows that they are, and the bound on their errors.
const VALUES: usize = 1 << 16;
pub const BYTES: usize = VALUES * size_of::<f32>();
const ROWS: u64 = 1 << 7;
const BOUND: f64 = 1e-3;

/// Loads a plugin as HDF5 would and prints its version.
pub fn plugin(file: &Path) -> Outcome {
    let plugin = Loaded::open(file)?;
    // SAFETY: the function of this name in any version of our library has this type.
    let version = unsafe { plugin.function::<unsafe extern "C" fn() -> *const c_char>(c"sleek_version")? };
    // SAFETY: it returns a constant string.
    let version = unsafe { CStr::from_ptr(version()) };
    say!("version {}", version.to_string_lossy());
    Ok(ExitCode::SUCCESS)
}

/// Loads a libhdf5, and writes and reads a dataset with the filter.
pub fn library(file: &Path) -> Outcome {
    let loaded = Loaded::open(file)?;
    let version = loaded.hdf5_version()?;
    say!("version {}.{}.{}", version.0, version.1, version.2);
    if version < (1, 10, 0) {
        return Err("HDF5 is older than 1.10".into());
    }
    let hdf5 = &Hdf5::of(loaded, version)?;
    directories(hdf5)?.iter().for_each(|d| say!("directory {d}"));
    if h5!(hdf5, H5Zfilter_avail(FILTER_ID as c_int))? == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    say!("available");
    let access = hdf5.properties(c"H5P_CLS_FILE_ACCESS_ID_g")?;
    let on_disk = 0;
    h5!(hdf5, H5Pset_fapl_core(access.id, 1 << 20, on_disk))?;
    let file = h5_id!(hdf5, H5Fcreate(c"sleek-doctor.h5".as_ptr(), TRUNCATE, DEFAULT, access.id))?;
    for profile in Profile::ALL {
        let stored = round_trip(&file, profile).map_err(|e| format!("profile {}: {e}", profile.name()))?;
        say!("stored {stored} ({})", profile.name());
    }
    Ok(ExitCode::SUCCESS)
}

/// The plugin directories in force: built in, or from the environment.
fn directories(hdf5: &Hdf5) -> Result<Vec<String>, String> {
    let mut n = 0;
    h5!(hdf5, H5PLsize(&raw mut n))?;
    let directory = |i| {
        let mut name = [0u8; libc::PATH_MAX as usize];
        h5!(hdf5, H5PLget(i, name.as_mut_ptr().cast(), name.len()))?;
        let name = CStr::from_bytes_until_nul(&name).map_err(|e| e.to_string())?;
        Ok(name.to_string_lossy().into_owned())
    };
    (0..n).map(directory).collect()
}

/// Writes a dataset through the filter, reads it back and compares; returns the bytes that it took.
fn round_trip(file: &Id, profile: Profile) -> Result<u64, String> {
    let hdf5 = file.hdf5;
    let values: Vec<f32> = (0..VALUES).map(|i| (i as f32 * 1e-3).sin()).collect();
    let float = hdf5.constant(c"H5T_IEEE_F32LE_g")?;
    // Rows, so that the filter is told a shape.
    let dims = [ROWS, VALUES as u64 / ROWS];
    let space = h5_id!(hdf5, H5Screate_simple(2, dims.as_ptr(), null()))?;
    let creation = hdf5.properties(c"H5P_CLS_DATASET_CREATE_ID_g")?;
    set_chunk(&creation, &dims)?;
    let words = cd_values_of(&Params { profile, ..Params::new(DType::F32).with_bound(Bound::Abs(BOUND)) });
    h5!(hdf5, H5Pset_filter(creation.id, FILTER_ID as c_int, 0, words.len(), words.as_ptr()))?;
    let name = c_string(profile.name().as_bytes())?;
    let dataset = h5_id!(hdf5, H5Dcreate2(file.id, name.as_ptr(), float, space.id, DEFAULT, creation.id, DEFAULT))?;
    h5!(hdf5, H5Dwrite(dataset.id, float, ALL, ALL, DEFAULT, values.as_ptr().cast()))?;
    // Closing the dataset runs the filter, and opening it anew reads what the filter wrote.
    dataset.close()?;
    let dataset = open_object(file, &name)?;
    let mut back = vec![0f32; VALUES];
    h5!(hdf5, H5Dread(dataset.id, float, ALL, ALL, DEFAULT, back.as_mut_ptr().cast()))?;
    let kept = values.iter().zip(&back).all(|(v, r)| (f64::from(*v) - f64::from(*r)).abs() <= BOUND);
    if !kept {
        return Err(format!("what was read differs from what was written by more than {BOUND}"));
    }
    Ok(dataset.storage_size())
}
