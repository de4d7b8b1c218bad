//! The log: HDF5 drops what a filter pushes on its error stack, and under an optional filter even the failure. So besides
//! `sleek_last_error` there is `SLEEK_LOG`: `stderr`, or the path of a file to append to. Without it nothing is written.

use std::io::Write;
use std::sync::OnceLock;

/// Writes a line to the log, if there is one.
pub fn log(line: std::fmt::Arguments) {
    static TARGET: OnceLock<Option<std::ffi::OsString>> = OnceLock::new();
    let Some(target) = TARGET.get_or_init(|| std::env::var_os("SLEEK_LOG").filter(|t| !t.is_empty())) else { return };
    // One write for each line, so that lines of several processes do not mix. A log that cannot be written is no error.
    let line = format!("sleek[{}]: {line}\n", std::process::id());
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
