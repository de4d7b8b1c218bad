//! How the reason of a failure reaches people: by HDF5's error stack, where its functions are in sight, and by a log.
//! Programs are free to drop the first, and under an optional filter HDF5 drops even the failure. So besides
//! `sleek_last_error` there is
//! `SLEEK_LOG`: `stderr`, or the path of a file to append to. Without it nothing is written.

use std::ffi::{CStr, CString, c_void};
use std::io::Write;
use std::sync::OnceLock;

use super::abi::{Address, Functions, Hid, Push};
use super::resolve::Hdf5;
use crate::error::{Error, Kind};
use crate::host::{environment, fork};
use crate::printable::printable;

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
    let hdf5 =
        Hdf5::<Functions>::of_caller(caller).map(|found| found.filter(|hdf5| hdf5.H5TSglobal_pool_create.is_none()));
    if let (Ok(Some(hdf5)), Ok(text)) = (hdf5, CString::new(error.to_string())) {
        // SAFETY: what has called is an HDF5, 1.10 or newer, which waits for this call-back.
        unsafe { push_text(&hdf5, &text) };
    }
}

/// # Safety
/// `hdf5` is an HDF5 that is running a call-back on this thread.
unsafe fn push_text(hdf5: &Functions, text: &CStr) -> Option<()> {
    // SAFETY: a variable with an id. It is -1 in a library whose variables live in the program.
    let id = |at: Address| Some(unsafe { at.0.cast::<Hid>().read() }).filter(|id| *id > 0);
    let (class, major, minor) = (id(hdf5.H5E_ERR_CLS_g?)?, id(hdf5.H5E_PLINE_g?)?, id(hdf5.H5E_CANTFILTER_g?)?);
    // SAFETY: the function of this name has this type (tests/hdf5/abi.rs).
    let push = unsafe { std::mem::transmute::<*mut c_void, Push>(hdf5.H5Epush2?.0.as_ptr()) };
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
