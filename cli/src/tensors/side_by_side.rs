//! Small pieces of work on all threads at once.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Arrays smaller than this are taken together, so that threads have something to do.
pub const SMALL_BYTES: usize = 4 << 20;
/// Bytes of arrays that are taken together at most.
pub const TOGETHER_BYTES: usize = 16 << 20;

/// Bytes of a thread's stack, whatever `RUST_MIN_STACK` says: that is meant for programs.
const STACK_BYTES: usize = 2 << 20;

/// Does each job, of several each on one thread; what they gave in their order, or the first failure.
pub fn all<J: Send, T: Send, E: Send>(jobs: Vec<J>, work: impl Fn(J) -> Result<T, E> + Sync) -> Result<Vec<T>, E> {
    let count = jobs.len();
    let jobs: Vec<Mutex<Option<J>>> = jobs.into_iter().map(|job| Mutex::new(Some(job))).collect();
    let done: Vec<Mutex<Option<Result<T, E>>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let take = || {
        while let Some((job, slot)) = {
            let n = next.fetch_add(1, Ordering::Relaxed);
            jobs.get(n).zip(done.get(n))
        } {
            if let Some(job) = job.lock().unwrap_or_else(|e| e.into_inner()).take() {
                *slot.lock().unwrap_or_else(|e| e.into_inner()) = Some(work(job));
            }
        }
    };
    let helpers = sleek::exec::threads(0).min(count).saturating_sub(1);
    std::thread::scope(|scope| {
        for _ in 0..helpers {
            // A thread that cannot be had is not needed: those that are there do all jobs.
            let _ = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, take);
        }
        take();
    });
    done.into_iter().filter_map(|slot| slot.into_inner().unwrap_or_else(|e| e.into_inner())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_is_done_once_and_in_order() {
        for count in [0, 1, 2, 1000] {
            let done: Result<Vec<usize>, ()> = all((0..count).collect(), |n: usize| Ok(2 * n));
            assert_eq!(done, Ok((0..count).map(|n| 2 * n).collect()));
        }
        assert_eq!(all((0..100).collect(), |n: usize| if n % 30 == 29 { Err(n) } else { Ok(n) }), Err(29));
    }
}
