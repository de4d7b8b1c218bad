//! Cancellation of the host's threads (`pthread_cancel`), which waits until a call has ended: it would unwind through
//! Rust's frames, and that ends the process.

use std::ffi::c_int;

/// Keeps this thread's cancellation off until dropped.
pub struct Off(c_int);

impl Off {
    /// Switches it off.
    pub fn until_dropped() -> Off {
        Off(set(DISABLE))
    }
}

impl Drop for Off {
    fn drop(&mut self) {
        set(self.0);
    }
}

/// `PTHREAD_CANCEL_DISABLE`.
const DISABLE: c_int = if cfg!(target_vendor = "apple") { 0 } else { 1 };

/// Sets the state; returns the one before.
#[cfg(all(unix, not(any(miri, target_os = "android"))))]
fn set(state: c_int) -> c_int {
    unsafe extern "C" {
        safe fn pthread_setcancelstate(state: c_int, before: &mut c_int) -> c_int;
    }
    let mut before = state;
    pthread_setcancelstate(state, &mut before);
    before
}

/// Where there is no cancellation.
#[cfg(any(miri, target_os = "android", not(unix)))]
fn set(state: c_int) -> c_int {
    state
}
