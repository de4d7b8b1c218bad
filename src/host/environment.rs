//! The environment variables that steer the codec and the filter. A value that cannot be understood is an error of
//! every call that would use it: silence would hide a typing error for ever.

use std::ffi::OsString;

use crate::error::{Result, fail};

/// Threads to use at most.
pub const THREADS: &str = "SLEEK_NUM_THREADS";
/// Instructions to use at most.
pub const SIMD: &str = "SLEEK_SIMD";
/// What the filter does in the place of a bound that a program has set.
pub const PARAMS: &str = "SLEEK_PARAMS";

/// The log: `stderr`, or a file to append to.
pub const LOG: &str = "SLEEK_LOG";

/// What a variable says; nothing in a program that has rights which its caller has not (set-user-ID and the like): a
/// log would be written with those rights, wherever the caller wants it.
pub fn variable(name: &str) -> Option<OsString> {
    if has_rights_of_others() { None } else { std::env::var_os(name) }
}

#[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
fn has_rights_of_others() -> bool {
    // SAFETY: a plain call; what the kernel said when the program was started.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

#[cfg(all(unix, not(any(target_os = "linux", target_os = "android", miri))))]
fn has_rights_of_others() -> bool {
    // SAFETY: plain calls.
    unsafe { (libc::getuid(), libc::getgid()) != (libc::geteuid(), libc::getegid()) }
}

#[cfg(any(miri, not(unix)))]
fn has_rights_of_others() -> bool {
    false
}

/// What `SLEEK_NUM_THREADS` says; `None` if it is not set or empty.
pub fn threads() -> Result<Option<usize>> {
    number(variable(THREADS))
}

fn number(value: Option<OsString>) -> Result<Option<usize>> {
    let Some(value) = value.filter(|v| !v.is_empty()) else { return Ok(None) };
    match value.to_str().and_then(|v| v.trim().parse().ok()) {
        Some(n) if n > 0 => Ok(Some(n)),
        _ => fail!(InvalidArgument, "{THREADS} is '{}'; a whole number from 1 on is needed", value.display()),
    }
}
