//! The environment variables that steer the codec and the filter. A value that cannot be understood is an error of
//! every call that would use it: silence would hide a typing error for ever.

use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result, fail};
use crate::exec::Level;
use crate::params::Params;
use crate::text;

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

#[cfg(any(target_vendor = "apple", target_os = "freebsd", target_os = "netbsd", target_os = "openbsd"))]
fn has_rights_of_others() -> bool {
    unsafe extern "C" {
        safe fn issetugid() -> std::ffi::c_int;
    }
    issetugid() != 0
}

#[cfg(not(any(
    all(any(target_os = "linux", target_os = "android"), not(miri)),
    target_vendor = "apple",
    target_os = "freebsd",
    target_os = "netbsd",
    target_os = "openbsd"
)))]
fn has_rights_of_others() -> bool {
    false
}

/// Refuses variables that cannot be understood.
pub fn check() -> Result<()> {
    // An atomic rather than a lock, which could stay locked in a child forked meanwhile.
    static FINE: AtomicBool = AtomicBool::new(false);
    if !FINE.load(Ordering::Relaxed) {
        threads()?;
        simd(variable(SIMD))?;
        FINE.store(true, Ordering::Relaxed);
    }
    Ok(())
}

/// What `SLEEK_NUM_THREADS` says; `None` if it is not set or empty.
pub fn threads() -> Result<Option<usize>> {
    number(variable(THREADS))
}

/// What `SLEEK_PARAMS` says; `None` if it is not set or empty.
pub fn params() -> Result<Option<Params>> {
    request(variable(PARAMS))
}

fn request(value: Option<OsString>) -> Result<Option<Params>> {
    let Some(value) = value.filter(|v| !v.is_empty()) else { return Ok(None) };
    let parsed = text::parse(&value.to_string_lossy());
    parsed.map(Some).map_err(|e| Error::new(e.kind, format!("{PARAMS}: {}", e.message)))
}

fn number(value: Option<OsString>) -> Result<Option<usize>> {
    let Some(value) = value.filter(|v| !v.is_empty()) else { return Ok(None) };
    match value.to_str().and_then(|v| v.trim().parse().ok()) {
        Some(n) if n > 0 => Ok(Some(n)),
        _ => fail!(InvalidArgument, "{THREADS} is '{}'; a whole number from 1 on is needed", value.display()),
    }
}

fn simd(value: Option<OsString>) -> Result<()> {
    let Some(value) = value.filter(|v| !v.is_empty()) else { return Ok(()) };
    let names = Level::ALL.map(Level::name);
    match value.to_str() {
        Some(v) if names.contains(&v) => Ok(()),
        _ => fail!(InvalidArgument, "{SIMD} is '{}'; one of {} is needed", value.display(), names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_understood() {
        assert_eq!(number(None).unwrap(), None);
        assert_eq!(number(Some("".into())).unwrap(), None);
        assert_eq!(number(Some(" 12 ".into())).unwrap(), Some(12));
        for wrong in ["0", "-1", "four", "2.5", "1,2", "99999999999999999999999"] {
            let message = number(Some(wrong.into())).unwrap_err().message;
            assert!(message.contains(THREADS) && message.contains(&format!("'{wrong}'")), "{message}");
        }
        assert!(simd(None).is_ok() && simd(Some("".into())).is_ok() && simd(Some("avx2".into())).is_ok());
        let message = simd(Some("AVX2".into())).unwrap_err().message;
        assert!(message.contains("'AVX2'") && message.contains("scalar, neon, avx2, avx512"), "{message}");
        assert!(request(None).unwrap().is_none() && request(Some("".into())).unwrap().is_none());
        assert_eq!(request(Some("abs=0.5".into())).unwrap().unwrap().bound, 0.5);
        let message = request(Some("junk".into())).unwrap_err().message;
        assert!(message.starts_with("SLEEK_PARAMS: 'junk' in 'junk' is unknown"), "{message}");
    }
}
