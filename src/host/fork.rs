//! What a forked child would find locked for ever if a fork came in its midst: first uses, and lists of what is loaded.
//! A child has only the thread that forked; a lock that another thread held stays locked in it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

#[cfg(unix)]
use lock::{lock_forks, unlock_forks};

/// Forks that lie between this process and the one that loaded the library.
static FORKS: AtomicUsize = AtomicUsize::new(0);

/// What no process shares with those that it was forked from. A child in a pid namespace of its own may have its
/// parent's pid; one made without the C library's `fork` has not counted it.
pub fn process() -> (usize, u32) {
    (FORKS.load(Ordering::Relaxed), std::process::id())
}

#[cfg(unix)]
mod lock {
    use std::cell::UnsafeCell;

    /// A lock that a fork takes too.
    struct ForkLock(UnsafeCell<libc::pthread_mutex_t>);

    // SAFETY: a mutex is made to be used by several threads.
    unsafe impl Sync for ForkLock {}

    static NO_FORK: ForkLock = ForkLock(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));

    pub extern "C" fn lock_forks() {
        // SAFETY: an initialised mutex that is never moved nor destroyed.
        unsafe { libc::pthread_mutex_lock(NO_FORK.0.get()) };
    }

    pub extern "C" fn unlock_forks() {
        // SAFETY: as above; whoever calls this has locked it, and in a child the one thread there is has.
        unsafe { libc::pthread_mutex_unlock(NO_FORK.0.get()) };
    }

    extern "C" fn count_and_unlock() {
        super::FORKS.fetch_add(1, super::Ordering::Relaxed);
        unlock_forks();
    }

    /// Run when the library is loaded. Later would be too late: a fork that is under way when it is told of the lock
    /// would not take it, and unlock it in the midst of another's work.
    ///
    /// An allocator may have a lock that forks take too, and ask for that at its first use (jemalloc, tcmalloc). What
    /// asks last is locked first: it must have asked before, or a fork would hold the allocator and wait for a first
    /// use that waits for the allocator.
    extern "C" fn register() {
        drop(std::hint::black_box(Box::new(0_u8)));
        // SAFETY: functions of this library, which is never unloaded.
        unsafe { libc::pthread_atfork(Some(lock_forks), Some(unlock_forks), Some(count_and_unlock)) };
    }

    #[used]
    #[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
    #[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
    static AT_LOAD: extern "C" fn() = register;
}

// Where there is no fork there is nothing to lock.
#[cfg(not(unix))]
fn lock_forks() {}
#[cfg(not(unix))]
fn unlock_forks() {}

/// Runs `work` while no thread forks. It must be short, must not fork and must not come here again.
pub fn between_forks<R>(work: impl FnOnce() -> R) -> R {
    /// Unlocks when `work` panics too.
    struct Held;
    impl Drop for Held {
        fn drop(&mut self) {
            unlock_forks();
        }
    }
    lock_forks();
    let _held = Held;
    work()
}

/// The content of `cell`, made by `init` at its first use while no thread forks.
pub fn once<T>(cell: &OnceLock<T>, init: impl FnOnce() -> T) -> &T {
    cell.get().unwrap_or_else(|| between_forks(|| cell.get_or_init(init)))
}

/// The content of `cell`, for a `find` that lasts long or waits for others: threads that come before the first has
/// ended find it too, and no lock is held meanwhile.
pub fn found<T>(cell: &OnceLock<T>, find: impl FnOnce() -> T) -> &T {
    cell.get().unwrap_or_else(|| {
        let own = find();
        once(cell, || own)
    })
}

/// A mutex for what belongs to a caller. In a child that was forked while another thread held it, it is lost, not held
/// for ever.
pub struct Lock<T> {
    content: Mutex<T>,
    /// The count of forks in the process that used it last.
    forks: AtomicUsize,
    lost: AtomicBool,
}

impl<T> Lock<T> {
    /// A lock that nobody holds.
    pub fn new(content: T) -> Lock<T> {
        let forks = AtomicUsize::new(FORKS.load(Ordering::Relaxed));
        Lock { content: Mutex::new(content), forks, lost: AtomicBool::new(false) }
    }

    /// The content; `None` if a thread that this process does not have was in its midst.
    pub fn lock(&self) -> Option<MutexGuard<'_, T>> {
        let forks = FORKS.load(Ordering::Relaxed);
        if self.forks.load(Ordering::Acquire) != forks {
            between_forks(|| self.take_over(forks));
        }
        if self.lost.load(Ordering::Relaxed) {
            return None;
        }
        Some(self.content.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The first use in a process, before which none of its threads can have locked the content.
    fn take_over(&self, forks: usize) {
        if self.forks.load(Ordering::Acquire) == forks {
            return;
        }
        if matches!(self.content.try_lock(), Err(TryLockError::WouldBlock)) {
            self.lost.store(true, Ordering::Relaxed);
        }
        self.forks.store(forks, Ordering::Release);
    }
}
