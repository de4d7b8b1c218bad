//! Work that pool threads may join while its owner is at it, and that ends without those that have not.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Thread;

use rayon::ThreadPool;

use super::pool;

/// Turns of waiting before the owner sleeps: some 20 µs, as long as a thread may still need for its last piece of work.
const TURNS: usize = 500;

struct Shared {
    work: *const (dyn Fn() + Sync),
    /// Twice the number of threads inside, plus 1 once nobody may enter any more.
    state: AtomicUsize,
    owner: Thread,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

// SAFETY: `work` may be called by any thread (it is Sync), and whoever calls it has entered `state`, for
// which its owner waits.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

/// Runs `work` up to `tasks` times at once, on this thread alone when no pool can be had. `work` must share its load by
/// itself: threads that wake only when this one has found nothing left to do are not waited for, and do nothing.
pub fn run(tasks: usize, work: &(dyn Fn() + Sync)) {
    match if tasks > 1 { pool::pool_of(tasks) } else { None } {
        // The caller takes one task itself and at once: waking a thread of the pool lasts longer than coding 64 KiB.
        Some(pool) => run_with(pool, tasks - 1, work),
        None => work(),
    }
}

/// Runs `work` on this thread and on those of `helpers` threads of the pool that come in time.
fn run_with(pool: &ThreadPool, helpers: usize, work: &(dyn Fn() + Sync)) {
    // SAFETY: only the lifetime changes; `Open` waits for everybody who has entered before `work` can end.
    let work_of_all: &'static (dyn Fn() + Sync) = unsafe { std::mem::transmute(work) };
    let (state, panic) = (AtomicUsize::new(0), Mutex::new(None));
    let shared = Arc::new(Shared { work: work_of_all, state, owner: std::thread::current(), panic });
    let open = Open(&shared);
    for _ in 0..helpers {
        let shared = shared.clone();
        pool.spawn(move || shared.join_in());
    }
    work();
    drop(open);
    let panic = shared.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
}

impl Shared {
    /// A pool thread's part: nothing, if it is too late.
    fn join_in(&self) {
        let enter = |state| (state % 2 == 0).then_some(state + 2);
        if self.state.fetch_update(Ordering::Acquire, Ordering::Relaxed, enter).is_err() {
            return;
        }
        // SAFETY: entered, so the owner waits.
        let work = unsafe { &*self.work };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
            self.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(panic);
        }
        if self.state.fetch_sub(2, Ordering::Release) == 3 {
            self.owner.unpark();
        }
    }
}

/// While it lives pool threads may enter; its end waits for those inside, also when the owner panics.
struct Open<'a>(&'a Shared);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.state.fetch_or(1, Ordering::Relaxed);
        let mut turns = 0;
        while self.0.state.load(Ordering::Acquire) > 1 {
            turns += 1;
            if turns < TURNS { std::hint::spin_loop() } else { std::thread::park() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    fn pool() -> ThreadPool {
        rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap()
    }

    #[test]
    fn who_comes_too_late_is_not_waited_for() {
        let (pool, calls) = (pool(), AtomicUsize::new(0));
        let (release, wait) = mpsc::channel::<()>();
        pool.spawn(move || wait.recv().unwrap_or_default());
        run_with(&pool, 1, &|| {
            calls.fetch_add(1, Ordering::Relaxed);
        });
        drop(release);
        // What is still queued comes before this.
        pool.install(|| ());
        assert_eq!(calls.into_inner(), 1);
    }

    #[test]
    fn who_has_entered_is_waited_for_and_its_panic_passed_on() {
        let (pool, inside, ended) = (pool(), AtomicUsize::new(0), AtomicUsize::new(0));
        let owner = std::thread::current().id();
        let work = || {
            inside.fetch_add(1, Ordering::Relaxed);
            while inside.load(Ordering::Relaxed) < 2 {
                std::thread::yield_now();
            }
            if std::thread::current().id() != owner {
                std::thread::sleep(std::time::Duration::from_millis(20));
                ended.fetch_add(1, Ordering::Relaxed);
                resume_unwind(Box::new("a helper's"));
            }
        };
        let panic = catch_unwind(AssertUnwindSafe(|| run_with(&pool, 1, &work))).unwrap_err();
        assert_eq!((panic.downcast_ref::<&str>(), ended.into_inner()), (Some(&"a helper's"), 1));
    }
}
