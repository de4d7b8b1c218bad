//! How the reason of a failure reaches people: by HDF5's error stack, where its functions are in sight, and by a log.
//! Programs are free to drop the first, and under an optional filter HDF5 drops even the failure. So besides
//! `sleek_last_error` there is
//! `SLEEK_LOG`: `stderr`, or the path of a file to append to. Without it nothing is written.

use std::ffi::{CStr, CString, c_void};
use std::io::Write;
use std::sync::{Mutex, OnceLock};

use super::abi::{Functions, Herr, Hid, MESSAGE_KINDS, Push};
use super::resolve::Hdf5;
use crate::error::{Error, Kind};
use crate::host::{environment, fork};
use crate::printable::printable;

/// The version of the library.
const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => c"",
};

/// Puts `error` on the error stack of the HDF5 with the code at `caller`, if it is to be had. No other function of HDF5
/// may follow in the call-back: most of them empty the stack.
///
/// An HDF5 that calls filters from a pool of threads (2.3, built for that) takes no lock for the functions that are
/// called from within a filter, so that two failures at once would make ids in the same tables: there nothing is
/// pushed.
pub fn push(caller: *const c_void, error: &Error) {
    // Looking for the functions takes memory.
    if error.kind == Kind::OutOfMemory {
        return;
    }
    let hdf5 = Hdf5::of_caller(caller).map(|found| found.filter(|hdf5| hdf5.H5TSglobal_pool_create.is_none()));
    if let (Ok(Some(hdf5)), Ok(text)) = (hdf5, CString::new(error.to_string())) {
        // SAFETY: what has called is an HDF5, 1.10 or newer, which waits for this call-back.
        unsafe { push_text(&hdf5, &text) };
    }
}

/// # Safety
/// `hdf5` is an HDF5 that is running a call-back on this thread.
unsafe fn push_text(hdf5: &Functions, text: &CStr) -> Option<()> {
    // SAFETY: the contract.
    let [class, major, minor] = unsafe { error_class(hdf5)? };
    // SAFETY: the function of this name has this type (tests/hdf5/abi.rs).
    let push = unsafe { std::mem::transmute::<unsafe extern "C" fn() -> Herr, Push>(hdf5.H5Epush2?) };
    let (create, set_current) = (hdf5.H5Ecreate_stack?, hdf5.H5Eset_current_stack?);
    let (file, function, format) = (c"libsleek".as_ptr(), c"filter".as_ptr(), c"%s".as_ptr());
    // SAFETY: ids of this library and C strings, which live longer than the call or, all but the text, for ever. The
    // stack is a new one because newer versions let nothing onto the current one while a filter runs.
    unsafe {
        let stack = create();
        push(stack, file, function, 0, class, major, minor, format, text.as_ptr());
        set_current(stack);
    }
    Some(())
}

/// Ids of our error class and of its messages, major and minor, in the HDF5 whose `H5Epush2` is at an address. HDF5's
/// own are in variables, which live in the program where that is linked to a shared HDF5.
type Known = (usize, [Hid; 3]);

/// Those of the libraries that failed since one of them got the filter. A process has few.
static KNOWN: Mutex<[Option<Known>; 4]> = Mutex::new([None; 4]);

/// What is known of error classes may be of no use from now on: an HDF5 that was closed asks for the filter anew.
pub fn forget() {
    if let Ok(mut known) = KNOWN.try_lock() {
        *known = [None; 4];
    }
}

/// Our error class in this HDF5, which is made at its first failure.
///
/// # Safety
/// As for [`push_text`].
unsafe fn error_class(hdf5: &Functions) -> Option<[Hid; 3]> {
    let library = hdf5.H5Epush2? as usize;
    // Taken, it is another HDF5's that fails at the same time, or was when this process was forked.
    let mut known = KNOWN.try_lock().ok();
    let found = known.as_ref().and_then(|known| known.iter().flatten().find(|(of, _)| *of == library));
    if let Some((_, ids)) = found {
        return Some(*ids);
    }
    let (register, create) = (hdf5.H5Eregister_class?, hdf5.H5Ecreate_msg?);
    // SAFETY: C strings, of which HDF5 makes copies.
    let class = unsafe { register(c"Sleek".as_ptr(), c"libsleek".as_ptr(), VERSION.as_ptr()) };
    let texts = [c"Compression", c"Request or data refused"];
    // SAFETY: the class is new; the rest as above.
    let [major, minor] = [0, 1].map(|i| unsafe { create(class, MESSAGE_KINDS[i], texts[i].as_ptr()) });
    let ids = Some([class, major, minor]).filter(|ids| ids.iter().all(|id| *id > 0))?;
    if let Some(slot) = known.as_mut().and_then(|known| known.iter_mut().find(|slot| slot.is_none())) {
        *slot = Some((library, ids));
    }
    Some(ids)
}

/// Writes a line to the log, if there is one.
pub fn log(line: std::fmt::Arguments) {
    static TARGET: OnceLock<Option<std::ffi::OsString>> = OnceLock::new();
    let target = fork::found(&TARGET, || environment::variable(environment::LOG).filter(|t| !t.is_empty()));
    let Some(target) = target else { return };
    // One write for each line, so that lines of several processes do not mix. A log that cannot be written is no error.
    let line = format!("sleek[{}]: {}\n", std::process::id(), printable(&line.to_string()));
    let _ = if target == "stderr" {
        std::io::stderr().write_all(line.as_bytes())
    } else {
        std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(target)
            .and_then(|mut f| f.write_all(line.as_bytes()))
    };
}

/// Runs a call-back's work for the HDF5 with the code at `caller`: nothing unwinds into it, and errors are kept, logged
/// and pushed.
pub fn guard<T>(failed: T, caller: *const c_void, work: impl FnOnce() -> Result<T, Error>) -> T {
    logged(failed, || work().inspect_err(|e| push(caller, e)))
}

/// The same without an HDF5 that has called.
pub fn logged<T>(failed: T, work: impl FnOnce() -> Result<T, Error>) -> T {
    crate::host::guard::guard(failed, || work().inspect_err(|e| log(format_args!("error: {e}"))))
}
