//! What the child process of `sleek doctor` does: load a library, say in one line each what it learns.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::process::ExitCode;
use std::ptr::null;

use sleek::hdf5::{FILTER_ID, cd_values_of};
use sleek::{Bound, DType, Params, Profile};

use crate::Outcome;
use crate::hdf5::Loaded;
use crate::io::say;

/// `hid_t` since HDF5 1.10.
type Hid = i64;

/// Values of a dataset that is written, the rows that they are, and the bound on their errors.
const VALUES: usize = 1 << 16;
const ROWS: u64 = 1 << 7;
const BOUND: f64 = 1e-3;

/// `H5F_ACC_TRUNC`.
const TRUNCATE: c_uint = 2;

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
    let hdf5 = Hdf5(Loaded::open(file)?);
    let version = hdf5.0.hdf5_version()?;
    say!("version {}.{}.{}", version.0, version.1, version.2);
    if version < (1, 10, 0) {
        return Err("HDF5 is older than 1.10".into());
    }
    hdf5.directories()?.iter().for_each(|d| say!("directory {d}"));
    if !hdf5.filter_is_available()? {
        return Ok(ExitCode::SUCCESS);
    }
    say!("available");
    let file = hdf5.file_in_memory()?;
    for profile in Profile::ALL {
        let stored = hdf5.round_trip(file, profile).map_err(|e| format!("profile {}: {e}", profile.name()))?;
        say!("stored {} {stored} {}", VALUES * size_of::<f32>(), profile.name());
    }
    Ok(ExitCode::SUCCESS)
}

/// Calls `$name` of the library with arguments of the given types; a negative answer is an error.
macro_rules! call {
    ($hdf5:expr, $name:ident($($arg:expr => $type:ty),*) -> $ret:ty) => {{
        let name = concat!(stringify!($name), "\0").as_bytes();
        let name = CStr::from_bytes_with_nul(name).map_err(|e| e.to_string())?;
        // SAFETY: the types are those of HDF5's headers, 1.10 to 2.x; pointers lead to enough memory.
        let answer = unsafe { $hdf5.0.function::<unsafe extern "C" fn($($type),*) -> $ret>(name)?($($arg),*) };
        if answer < 0 { Err(format!("{} failed", stringify!($name))) } else { Ok(answer) }
    }};
}

struct Hdf5(Loaded);

impl Hdf5 {
    /// The plugin directories in force: built in, or from the environment.
    fn directories(&self) -> Result<Vec<String>, String> {
        let mut n: c_uint = 0;
        call!(self, H5PLsize(&raw mut n => *mut c_uint) -> c_int)?;
        (0..n)
            .map(|i| {
                let mut name = [0u8; libc::PATH_MAX as usize];
                let at = name.as_mut_ptr().cast::<c_char>();
                call!(self, H5PLget(i => c_uint, at => *mut c_char, name.len() => usize) -> isize)?;
                let name = CStr::from_bytes_until_nul(&name).map_err(|e| e.to_string())?;
                Ok(name.to_string_lossy().into_owned())
            })
            .collect()
    }

    fn filter_is_available(&self) -> Result<bool, String> {
        Ok(call!(self, H5Zfilter_avail(FILTER_ID => c_int) -> c_int)? > 0)
    }

    /// An id that the library keeps in a variable.
    fn id(&self, name: &CStr) -> Result<Hid, String> {
        // SAFETY: H5open has set these variables, which are of type hid_t.
        Ok(unsafe { self.0.symbol(name)?.cast::<Hid>().read() })
    }

    /// Writes a dataset through the filter, reads it back and compares; returns the bytes that it took.
    fn round_trip(&self, file: Hid, profile: Profile) -> Result<u64, String> {
        let values: Vec<f32> = (0..VALUES).map(|i| (i as f32 * 1e-3).sin()).collect();
        let float = self.id(c"H5T_IEEE_F32LE_g")?;
        let name = CString::new(profile.name()).map_err(|e| e.to_string())?;
        let dataset = self.create(file, float, &name, profile)?;
        let name = name.as_ptr();
        let data = values.as_ptr().cast();
        call!(
            self,
            H5Dwrite(dataset => Hid, float => Hid, 0 => Hid, 0 => Hid, 0 => Hid, data => *const c_void) -> c_int
        )?;
        // Closing the dataset runs the filter, and opening it anew reads what the filter wrote.
        call!(self, H5Dclose(dataset => Hid) -> c_int)?;
        let dataset = call!(self, H5Dopen2(file => Hid, name => *const c_char, 0 => Hid) -> Hid)?;
        let mut back = vec![0f32; VALUES];
        let data = back.as_mut_ptr().cast();
        call!(self, H5Dread(dataset => Hid, float => Hid, 0 => Hid, 0 => Hid, 0 => Hid, data => *mut c_void) -> c_int)?;
        let stored = self.stored_bytes(dataset)?;
        let kept = values.iter().zip(&back).all(|(v, r)| (f64::from(*v) - f64::from(*r)).abs() <= BOUND);
        if !kept {
            return Err(format!("what was read differs from what was written by more than {BOUND}"));
        }
        Ok(stored)
    }

    /// A file that lives in memory and is never written to disk.
    fn file_in_memory(&self) -> Result<Hid, String> {
        let class = self.id(c"H5P_CLS_FILE_ACCESS_ID_g")?;
        let access = call!(self, H5Pcreate(class => Hid) -> Hid)?;
        call!(self, H5Pset_fapl_core(access => Hid, 1 << 20 => usize, 0 => c_int) -> c_int)?;
        let name = c"sleek-doctor.h5".as_ptr();
        call!(self, H5Fcreate(name => *const c_char, TRUNCATE => c_uint, 0 => Hid, access => Hid) -> Hid)
    }

    /// A chunked dataset with the filter, of rows, so that the filter is told a shape.
    fn create(&self, file: Hid, float: Hid, name: &CStr, profile: Profile) -> Result<Hid, String> {
        let dims = [ROWS, VALUES as u64 / ROWS];
        let space =
            call!(self, H5Screate_simple(2 => c_int, dims.as_ptr() => *const u64, null() => *const u64) -> Hid)?;
        let class = self.id(c"H5P_CLS_DATASET_CREATE_ID_g")?;
        let creation = call!(self, H5Pcreate(class => Hid) -> Hid)?;
        call!(self, H5Pset_chunk(creation => Hid, 2 => c_int, dims.as_ptr() => *const u64) -> c_int)?;
        let words = cd_values_of(&Params { profile, ..Params::new(DType::F32).with_bound(Bound::Abs(BOUND)) });
        let (n, words) = (words.len(), words.as_ptr());
        call!(self, H5Pset_filter(
            creation => Hid, FILTER_ID => c_int, 0 => c_uint, n => usize, words => *const c_uint
        ) -> c_int)?;
        let name = name.as_ptr();
        call!(self, H5Dcreate2(
            file => Hid, name => *const c_char, float => Hid, space => Hid, 0 => Hid, creation => Hid, 0 => Hid
        ) -> Hid)
    }

    fn stored_bytes(&self, dataset: Hid) -> Result<u64, String> {
        // SAFETY: the type is that of HDF5's header.
        let size = unsafe { self.0.function::<unsafe extern "C" fn(Hid) -> u64>(c"H5Dget_storage_size")? };
        // SAFETY: the dataset is open.
        Ok(unsafe { size(dataset) })
    }
}
