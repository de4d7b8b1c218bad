//! Signals that end the command take with them what it has not finished: a hidden file, and a child process that writes
//! it.

/// Lets a closed pipe end the process as it ends every other tool, rather than fail each print. A file that reaches the
/// limit of sizes (`ulimit -f`) fails its write instead, so that it goes away as on a full disk.
pub fn settle_signals() {
    #[cfg(unix)]
    // SAFETY: restores a default disposition and ignores a signal, before any thread runs.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

#[cfg(unix)]
pub use unix::*;

#[cfg(unix)]
mod unix {
    use std::ffi::{CString, c_char, c_int};
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::process::CommandExt;
    use std::path::Path;
    use std::process::Command;
    use std::ptr;
    use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

    static DOOMED: AtomicPtr<c_char> = AtomicPtr::new(ptr::null_mut());
    static CHILD: AtomicI32 = AtomicI32::new(0);

    /// What ends a process unless it has a handler. `SIGXFSZ` is ignored; what a fault of its own raises is left to the
    /// system.
    const ENDING: [c_int; 12] = [
        libc::SIGHUP,
        libc::SIGINT,
        libc::SIGQUIT,
        libc::SIGABRT,
        libc::SIGPIPE,
        libc::SIGALRM,
        libc::SIGTERM,
        libc::SIGUSR1,
        libc::SIGUSR2,
        libc::SIGXCPU,
        libc::SIGVTALRM,
        libc::SIGPROF,
    ];

    /// The same where systems differ.
    #[cfg(target_os = "linux")]
    fn more_ending() -> impl Iterator<Item = c_int> {
        [libc::SIGPOLL, libc::SIGPWR, libc::SIGSTKFLT].into_iter().chain(libc::SIGRTMIN()..=libc::SIGRTMAX())
    }

    #[cfg(not(target_os = "linux"))]
    fn more_ending() -> impl Iterator<Item = c_int> {
        std::iter::empty()
    }

    /// Names the one file that must not survive an interruption.
    pub fn remove_on_signal(path: Option<&Path>) {
        let name = path.and_then(|p| CString::new(p.as_os_str().as_bytes()).ok());
        // The old name is leaked: a handler may be reading it.
        DOOMED.store(name.map_or(ptr::null_mut(), CString::into_raw), Ordering::SeqCst);
        catch_all();
    }

    /// Names the one child process that must not survive an interruption: it may be writing that file.
    pub fn end_on_signal(child: Option<u32>) {
        CHILD.store(child.map_or(0, |id| id as i32), Ordering::SeqCst);
        catch_all();
    }

    /// Has a child process get `signal` when this one ends, in whatever way, where the system can do that.
    pub fn end_with_parent(command: &mut Command, signal: c_int) {
        let parent = std::process::id();
        // SAFETY: what runs between fork and exec makes async-signal-safe calls only.
        unsafe { command.pre_exec(move || listen_for_end(parent, signal)) };
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn listen_for_end(parent: u32, signal: c_int) -> std::io::Result<()> {
        // SAFETY: plain calls.
        unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, signal as libc::c_ulong);
            // It may have ended before.
            if libc::getppid() as u32 != parent {
                libc::_exit(1);
            }
        }
        Ok(())
    }

    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    fn listen_for_end(_parent: u32, _signal: c_int) -> std::io::Result<()> {
        Ok(())
    }

    /// Keeps every signal from this thread while it lives.
    pub struct Held(libc::sigset_t);

    impl Held {
        pub fn all() -> Held {
            // SAFETY: plain calls on local sets.
            unsafe {
                let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = std::mem::zeroed();
                libc::sigfillset(&mut all);
                libc::pthread_sigmask(libc::SIG_BLOCK, &all, &mut before);
                Held(before)
            }
        }
    }

    impl Drop for Held {
        fn drop(&mut self) {
            // SAFETY: the set that pthread_sigmask filled in.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, ptr::null_mut()) };
        }
    }

    fn catch_all() {
        for signal in ENDING.into_iter().chain(more_ending()) {
            // SAFETY: `remove_and_die` only makes async-signal-safe calls.
            unsafe { catch(signal) };
        }
    }

    /// # Safety
    /// `remove_and_die` must be async-signal-safe.
    unsafe fn catch(signal: c_int) {
        let handler = remove_and_die as extern "C" fn(c_int);
        // SAFETY: valid signal numbers and a handler of the right type. An ignored signal (nohup) stays ignored.
        unsafe {
            if libc::signal(signal, handler as libc::sighandler_t) == libc::SIG_IGN {
                libc::signal(signal, libc::SIG_IGN);
            }
        }
    }

    extern "C" fn remove_and_die(signal: c_int) {
        let (child, name) = (CHILD.load(Ordering::SeqCst), DOOMED.load(Ordering::SeqCst));
        // SAFETY: these functions are async-signal-safe; `child` is not waited for yet, `name` is a leaked C string or
        // null.
        unsafe {
            if child > 0 {
                libc::kill(child, libc::SIGKILL);
                libc::waitpid(child, ptr::null_mut(), 0);
            }
            if !name.is_null() {
                libc::unlink(name);
            }
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }
}

#[cfg(not(unix))]
pub fn remove_on_signal(_: Option<&std::path::Path>) {}

/// Where there are no signals there is nothing to hold.
#[cfg(not(unix))]
pub struct Held;

#[cfg(not(unix))]
impl Held {
    pub fn all() -> Held {
        Held
    }
}
