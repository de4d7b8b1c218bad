//! The dynamic loader, asked so that forked children can ask it too.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

/// A lock that a fork takes too.
struct ForkLock(UnsafeCell<libc::pthread_mutex_t>);

// SAFETY: a mutex is made to be used by several threads.
unsafe impl Sync for ForkLock {}

static NO_FORK: ForkLock = ForkLock(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));

extern "C" fn lock_forks() {
    // SAFETY: an initialised mutex that is never moved nor destroyed.
    unsafe { libc::pthread_mutex_lock(NO_FORK.0.get()) };
}

extern "C" fn unlock_forks() {
    // SAFETY: as above; whoever calls this has locked it, and in a child the one thread there is has.
    unsafe { libc::pthread_mutex_unlock(NO_FORK.0.get()) };
}

/// Runs `ask`, a short question to the dynamic loader, while no thread forks: the loader's own lock, held by a thread that the child
/// does not have, would stay locked there for ever.
pub fn between_forks<R>(ask: impl FnOnce() -> R) -> R {
    static REGISTERED: AtomicBool = AtomicBool::new(false);
    if !REGISTERED.swap(true, Ordering::Relaxed) {
        // SAFETY: functions of this library, which is never unloaded.
        unsafe { libc::pthread_atfork(Some(lock_forks), Some(unlock_forks), Some(unlock_forks)) };
    }
    lock_forks();
    let answer = ask();
    unlock_forks();
    answer
}
