//! The library's own thread pool: never rayon's global one, made anew in a forked child, and absent for small work.

use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::mpsc;

use rayon::ThreadPool;

use crate::host::{fork, memory};

struct Pool {
    /// Of `fork::process`.
    process: (usize, u32),
    size: usize,
    pool: ThreadPool,
    /// The pool that this one replaced. Nobody asks for it again, but it stays reachable for tools that look for leaks.
    _previous: *mut Pool,
}

/// The current pool. Pools are never freed: a caller may still be inside one, and in a forked child its threads do not
/// exist. Sizes are powers of two, so a process has fewer than twice the threads of the largest request, whatever the
/// order.
static POOL: AtomicPtr<Pool> = AtomicPtr::new(std::ptr::null_mut());

/// Variables that MPI launchers set in every rank, each with the number of ranks or the rank itself.
const MPI_VARIABLES: [&str; 6] =
    ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "MV2_COMM_WORLD_SIZE", "MPI_LOCALNRANKS", "PALS_RANKID"];

/// Threads to use when a caller asks for `requested`: that many, or for 0 `SLEEK_NUM_THREADS`, one under MPI, else all
/// cores.
pub fn threads(requested: u32) -> usize {
    // 0 until known. Two threads may find it out at once; a lock would be left locked in a child forked meanwhile.
    static DEFAULT: AtomicUsize = AtomicUsize::new(0);
    if requested > 0 {
        return (requested as usize).min(MAX_THREADS);
    }
    let mut known = DEFAULT.load(Ordering::Relaxed);
    if known == 0 {
        // A value that cannot be understood was refused before (`exec::check_environment`).
        known = match crate::host::environment::threads() {
            Ok(Some(n)) => n.min(MAX_THREADS),
            _ if MPI_VARIABLES.iter().any(|v| crate::host::environment::variable(v).is_some()) => 1,
            // The files that tell the limits of a container are read into memory; the next call may have it.
            _ if !memory::has_room() => return 1,
            _ => std::thread::available_parallelism().map_or(1, |n| n.get()).min(MAX_THREADS),
        };
        DEFAULT.store(known, Ordering::Relaxed);
    }
    known
}

const MAX_THREADS: usize = 256;

/// What making a pool takes of the heap at most, and each of its threads: where that is not there, nobody asks for a
/// pool.
const POOL_BYTES: usize = 64 << 10;
const THREAD_BYTES: usize = 4 << 10;

/// Bytes beside the stacks, by which the heap may grow.
const SPARE_BYTES: usize = 2 << 20;

/// Bytes of a thread's stack: what Rust takes unless `RUST_MIN_STACK` says otherwise, which is meant for programs and
/// must not end one.
const STACK_BYTES: usize = 2 << 20;

/// What glibc takes of a stack for itself and for thread-local variables, of which a host may have more than a stack.
fn taken_of_stack() -> usize {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        type Minimum = unsafe extern "C" fn(*const libc::pthread_attr_t) -> usize;
        // SAFETY: the function has this type wherever glibc has it, and reads no attributes.
        unsafe {
            let found = libc::dlsym(libc::RTLD_DEFAULT, c"__pthread_get_minstack".as_ptr());
            std::mem::transmute::<*mut libc::c_void, Option<Minimum>>(found).map_or(0, |of| of(std::ptr::null()))
        }
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    0
}

/// Runs `work` on `tasks` threads of the pool, on none when no pool can be had, and `main` meanwhile on this one. Both
/// must end whether the other has begun or not.
pub fn beside<R>(tasks: usize, work: &(dyn Fn() + Sync), main: impl FnOnce() -> R) -> R {
    match pool_of(tasks) {
        Some(pool) => pool.in_place_scope(|s| {
            for _ in 0..tasks {
                s.spawn(|_| work());
            }
            main()
        }),
        None => main(),
    }
}

/// A pool of at least `size` threads that belongs to this process. Never inlined: callers have small stacks.
#[inline(never)]
pub(super) fn pool_of(size: usize) -> Option<&'static ThreadPool> {
    // Of threads that come at once one makes it.
    known(size).or_else(|| fork::between_forks(|| known(size).or_else(|| made(size))))
}

/// The current pool, if it is of this process and has as many threads.
fn known(size: usize) -> Option<&'static ThreadPool> {
    // SAFETY: pointers in POOL come from `made` and are never freed.
    let current = unsafe { POOL.load(Ordering::Acquire).as_ref() };
    current.filter(|p| p.size >= size && p.process == fork::process()).map(|p| &p.pool)
}

/// A new current pool, between forks.
fn made(size: usize) -> Option<&'static ThreadPool> {
    let size = size.max(threads(0)).max(2).next_power_of_two();
    let stack = STACK_BYTES + taken_of_stack();
    // What is begun and has no room for the rest would end the process.
    #[cfg(unix)]
    if !memory::is_mapped(SPARE_BYTES + size * stack) {
        return None;
    }
    if !memory::is_there(POOL_BYTES + size * THREAD_BYTES) {
        return None;
    }
    let pool =
        Pool { process: fork::process(), size, pool: started(size, stack)?, _previous: POOL.load(Ordering::Acquire) };
    let made = Box::leak(Box::new(pool));
    POOL.store(made, Ordering::Release);
    Some(&made.pool)
}

/// A pool of at least two threads after its first theft. With that, a queue that all pools share is set up, and a fork
/// in the midst of it would leave children that wait for it for ever.
fn started(size: usize, stack: usize) -> Option<ThreadPool> {
    let signals = Signals::of_pool_threads();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(size)
        .thread_name(|i| format!("sleek-{i}"))
        .stack_size(stack)
        .start_handler(|_| crate::host::guard::enter_for_good())
        .build();
    drop(signals);
    let pool = pool.ok()?;
    let (done, wait) = mpsc::channel();
    pool.spawn(move || {
        // Left in this thread's own queue: another must take it while this one waits.
        let (taken, wait) = mpsc::channel();
        rayon::spawn(move || taken.send(()).unwrap_or_default());
        done.send(wait.recv()).unwrap_or_default();
    });
    // A broken channel means that the pool has ended, which it never does.
    let _ = wait.recv();
    Some(pool)
}

/// The signals that this thread had blocked before it took a pool thread's setting; its end brings them back.
///
/// Threads have from their first moment what the thread that makes them has: that one must be set, or the host's signal
/// handlers could run on threads of the pool that have only begun.
#[cfg(unix)]
struct Signals(libc::sigset_t);

#[cfg(unix)]
impl Signals {
    /// The host's signal handlers run on the host's threads, but for what a thread's own instruction raises: that ends
    /// the process where it is blocked, and hosts have handlers that open the page and go on.
    fn of_pool_threads() -> Signals {
        use libc::{SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
        // SAFETY: plain libc calls on local sets.
        unsafe {
            let (mut blocked, mut before): (libc::sigset_t, libc::sigset_t) = std::mem::zeroed();
            libc::sigfillset(&mut blocked);
            for own in [SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP] {
                libc::sigdelset(&mut blocked, own);
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, &blocked, &mut before);
            Signals(before)
        }
    }
}

#[cfg(unix)]
impl Drop for Signals {
    fn drop(&mut self) {
        // SAFETY: the set that pthread_sigmask filled in.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, std::ptr::null_mut()) };
    }
}

/// Where there are no signals there is nothing to block.
#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn of_pool_threads() -> Signals {
        Signals
    }
}
