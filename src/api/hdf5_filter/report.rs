//! How the reason of a failure reaches people: by HDF5's error stack, where its functions are in sight, and by a log.
//! Programs are free to drop the first, and under an optional filter HDF5 drops even the failure. So besides
//! `sleek_last_error` there is `SLEEK_LOG`: `stderr`, or the path of a file to append to.

use std::ffi::{CStr, CString};
use std::io::Write;
use std::sync::OnceLock;

use super::abi::{Functions, Herr, MESSAGE_KINDS, Push};
use super::caller::Caller;
use super::resolve::Hdf5;
use crate::error::{Error, Kind};
use crate::host::{environment, fork, memory};
use crate::printable::printable;

/// The version of the library.
const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => c"",
};

/// Puts `error` on the error stack of the HDF5 that has called, if it is to be had. No other function of HDF5
/// may follow in the call-back: most of them empty the stack.
///
/// An HDF5 that calls filters from a pool of threads (2.3, built for that) takes no lock for the functions that are
/// called from within a filter, so that two failures at once would make ids in the same tables: there nothing is
/// pushed.
fn push(caller: Caller, error: &Error) {
    // Looking for the functions takes memory, and so does the text.
    if error.kind == Kind::OutOfMemory || !memory::has_room() {
        return;
    }
    let hdf5 = Hdf5::at(caller.address()).map(|found| found.filter(|hdf5| hdf5.H5TSglobal_pool_create.is_none()));
    if let (Ok(Some(hdf5)), Ok(text)) = (hdf5, CString::new(error.to_string())) {
        // SAFETY: what has called is an HDF5, 1.10 or newer, which waits for this call-back.
        unsafe { push_text(&hdf5, &text) };
    }
}

/// # Safety
/// `hdf5` is an HDF5 that is running a call-back on this thread.
unsafe fn push_text(hdf5: &Functions, text: &CStr) -> Option<()> {
    // SAFETY: the function of this name has this type (tests/hdf5/abi.rs).
    let push = unsafe { std::mem::transmute::<unsafe extern "C" fn() -> Herr, Push>(hdf5.H5Epush2?) };
    let (register, unregister) = (hdf5.H5Eregister_class?, hdf5.H5Eunregister_class?);
    let (message, close) = (hdf5.H5Ecreate_msg?, hdf5.H5Eclose_msg?);
    let (create, set_current) = (hdf5.H5Ecreate_stack?, hdf5.H5Eset_current_stack?);
    let (file, function, format) = (c"libsleek".as_ptr(), c"filter".as_ptr(), c"%s".as_ptr());
    // SAFETY: ids of this library, and C strings that live longer than the call. HDF5's own error classes are in
    // variables, which live in the program where that is linked to a shared HDF5; so we make one, which lives as long
    // as its entry. The stack is a new one because newer versions let nothing onto the current one while a filter runs.
    unsafe {
        let class = register(c"Sleek".as_ptr(), c"libsleek".as_ptr(), VERSION.as_ptr());
        let [major, minor] = [(0, c"Compression"), (1, c"Request or data refused")]
            .map(|(kind, text)| message(class, MESSAGE_KINDS[kind], text.as_ptr()));
        if class.min(major).min(minor) <= 0 {
            return None;
        }
        let stack = create();
        push(stack, file, function, 0, class, major, minor, format, text.as_ptr());
        close(major);
        close(minor);
        unregister(class);
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

/// Runs a call-back's work for the HDF5 that has called: nothing unwinds into it, and errors are kept, logged and
/// pushed.
pub fn guard<T>(failed: T, caller: Caller, work: impl FnOnce() -> Result<T, Error>) -> T {
    logged(failed, || work().inspect_err(|e| push(caller, e)))
}

/// The same without an HDF5 that has called.
pub fn logged<T>(failed: T, work: impl FnOnce() -> Result<T, Error>) -> T {
    crate::host::guard::guard(failed, || work().inspect_err(|e| log(format_args!("error: {e}"))))
}
