//! The border to foreign code: no panic crosses it, nothing is printed, and the last error's text can be asked for.
//!
//! A panic is a bug of ours, but it happens in somebody else's process: it becomes [`Internal`](crate::Kind::Internal)
//! with its message and place in the error text. Rust's panic hook would print them to stderr first, and a hook is
//! global to all code that shares a copy of the standard library. So the first call across the border wraps the hook
//! that it finds: panics on threads that are inside the library are recorded, all others go to the hook that was there.
//! `libsleek.so` has a copy of the standard library of its own, so there the hook of a host written in Rust is not even
//! touched.

use std::any::Any;
use std::cell::Cell;
use std::ffi::c_char;
use std::fmt::{self, Write};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::error::{Error, Result, fail};
use crate::host::{cancel, fpu, memory};

const TEXT_BYTES: usize = 512;

thread_local! {
    // Neither has a destructor, so both can be used while a thread ends, and the text needs no allocation.
    static TEXT: Cell<[u8; TEXT_BYTES]> = const { Cell::new([0; TEXT_BYTES]) };
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Runs `body`; a failure or a panic is kept as this thread's error text and answered with `failed`.
pub fn guard<T>(failed: T, body: impl FnOnce() -> Result<T>) -> T {
    catch(body).unwrap_or_else(|e| {
        set_last_error(&e);
        failed
    })
}

/// [`guard`] for functions that answer with a status code: 0 or the code of the error's kind.
pub fn status(body: impl FnOnce() -> Result<()>) -> i32 {
    match catch(body) {
        Ok(()) => 0,
        Err(e) => {
            set_last_error(&e);
            e.kind.code()
        }
    }
}

fn catch<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    let _off = cancel::Off::until_dropped();
    wrap_panic_hook();
    // Requests are read and rounded under the same arithmetic everywhere.
    let _fpu = fpu::Guard::standard();
    let outer = INSIDE.replace(true);
    let result = catch_unwind(AssertUnwindSafe(body));
    INSIDE.set(outer);
    result.unwrap_or_else(|payload| fail!(Internal, "{}{}; please report it", message_of(&*payload), place()))
}

/// Makes `error` the text that [`last_error`] gives on this thread.
pub fn set_last_error(error: &Error) {
    let mut text = Text { bytes: [0; TEXT_BYTES], len: 0 };
    // Text takes everything, so the only failure could come from a Display of ours, and those have none.
    let _ = write!(text, "{error}");
    TEXT.set(text.bytes);
}

/// The text of this thread's last error, NUL-terminated and empty if there was none; it lives as long as the thread.
pub fn last_error() -> *const c_char {
    TEXT.with(|t| t.as_ptr().cast())
}

/// Marks a thread that works for the library only: its panics are recorded and not printed.
pub fn enter_for_good() {
    INSIDE.set(true);
}

/// A NUL-terminated text that drops what does not fit.
struct Text {
    bytes: [u8; TEXT_BYTES],
    len: usize,
}

impl Write for Text {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        let mut n = s.len().min(TEXT_BYTES - 1 - self.len);
        while !s.is_char_boundary(n) {
            n -= 1;
        }
        self.bytes[self.len..][..n].copy_from_slice(&s.as_bytes()[..n]);
        self.len += n;
        Ok(())
    }
}

/// Where the last panic inside the library happened. It may have been on a thread of the pool, hence not thread-local.
static PLACE: Mutex<Option<(String, u32)>> = Mutex::new(None);

fn wrap_panic_hook() {
    static WRAPPED: OnceLock<()> = OnceLock::new();
    // A thread that is unwinding may not change the hook, nor one that has no room for it; the next call will.
    if WRAPPED.get().is_some() || std::thread::panicking() || !memory::has_room() {
        return;
    }
    crate::host::fork::once(&WRAPPED, || {
        let before = take_hook();
        set_hook(Box::new(move |panic| if INSIDE.get() { record(panic) } else { before(panic) }));
    });
}

fn record(panic: &PanicHookInfo) {
    let place = panic.location().map(|l| (l.file().to_owned(), l.line()));
    *PLACE.lock().unwrap_or_else(PoisonError::into_inner) = place;
}

fn place() -> String {
    match PLACE.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some((file, line)) => format!(" at {file}:{line}"),
        None => String::new(),
    }
}

fn message_of(payload: &(dyn Any + Send)) -> &str {
    match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text,
        _ => "a panic without a text",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::{CStr, OsStr};
    use std::process::Command;

    fn text() -> String {
        // SAFETY: last_error gives a NUL-terminated text that lives as long as this thread.
        unsafe { CStr::from_ptr(last_error()) }.to_str().unwrap().to_owned()
    }

    #[test]
    fn failures_leave_their_text() {
        assert_eq!(guard(7, || Ok(1)), 1);
        assert_eq!(guard(7, || fail!(Truncated, "{} bytes", 3)), 7);
        assert_eq!(text(), "truncated stream: 3 bytes");
        assert_eq!(status(|| Ok(())), 0);
        assert_eq!(text(), "truncated stream: 3 bytes", "success leaves the text alone");
        assert_eq!(std::thread::spawn(text).join().unwrap(), "", "the text belongs to a thread");
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        for pad in 0..4 {
            let long = "x".repeat(pad) + &"µ".repeat(TEXT_BYTES);
            status(|| fail!(Corrupt, "{long}"));
            assert!((TEXT_BYTES - 2..TEXT_BYTES).contains(&text().len()));
        }
    }

    /// Panics in every way that there is; run in a process of its own by the test below.
    #[test]
    fn panics() {
        assert_eq!(status(|| panic!("quiet on the caller's thread")), 99);
        let text = text();
        assert!(text.starts_with("internal error: quiet on the caller's thread at src/host/guard.rs:"), "{text}");
        let code = status(|| {
            crate::host::helpers::run(2, &|| panic!("quiet on a thread of the pool"));
            Ok(())
        });
        assert_eq!(code, 99);
        let nested = status(|| {
            assert_eq!(status(|| panic!("quiet inside")), 99);
            panic!("quiet outside")
        });
        assert_eq!(nested, 99);
        assert!(catch_unwind(|| panic!("loud: not inside the library")).is_err());
    }

    #[test]
    fn panics_inside_the_library_print_nothing() {
        // As the emulator runs it if there is one (tests/aarch64.sh).
        let runner = std::env::var("SLEEK_TEST_RUNNER").unwrap_or_default();
        let exe = std::env::current_exe().unwrap();
        let mut words = runner.split_whitespace().map(OsStr::new).chain([exe.as_os_str()]);
        let mut command = Command::new(words.next().unwrap());
        let run = command.args(words).args(["--exact", "host::guard::tests::panics", "--nocapture"]).output().unwrap();
        let stderr = String::from_utf8_lossy(&run.stderr);
        assert!(run.status.success(), "{stderr}");
        assert!(stderr.contains("loud: not inside the library"), "{stderr}");
        assert!(!stderr.contains("quiet"), "{stderr}");
    }
}
