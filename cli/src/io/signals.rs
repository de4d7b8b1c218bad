//! Signals that end the command take with them the files that it has not finished.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};

/// Files that shall not survive an interruption.
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Lets a closed pipe end the process as it ends every other tool, rather than fail each print. A file that reaches the
/// limit of sizes (`ulimit -f`) fails its write instead, so that it goes away as on a full disk.
pub fn settle_signals() {
    super::staging::mask(); // there is no other thread yet that makes files
    // SAFETY: restores a default disposition and ignores a signal, before any thread runs.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

/// Has a thread wait for what ends programs, so that it waits before there is a file.
pub fn expect_signals() {
    static WAITING: Once = Once::new();
    WAITING.call_once(wait_for_signals);
}

/// Names a file that shall not survive an interruption.
pub fn remove_on_signal(path: &Path) {
    expect_signals();
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_path_buf());
}

/// The file is finished, or gone.
pub fn finished(path: &Path) {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).remove(path);
}

/// Removes them. None can be named from then on: the process is about to end.
pub fn remove_unfinished() {
    let unfinished = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
    unfinished.iter().for_each(|path| drop(std::fs::remove_file(path)));
    std::mem::forget(unfinished);
}

/// Waits for what a user or a scheduler ends programs with; what is ignored (nohup) stays so.
fn wait_for_signals() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    let is_ignored = |signal: &i32| {
        // SAFETY: zeros are a `sigaction`, and a plain call asks for the disposition.
        unsafe {
            let mut now: libc::sigaction = std::mem::zeroed();
            libc::sigaction(*signal, std::ptr::null(), &raw mut now) == 0 && now.sa_sigaction == libc::SIG_IGN
        }
    };
    let ending = [SIGHUP, SIGINT, SIGQUIT, SIGTERM].into_iter().filter(|signal| !is_ignored(signal));
    let Ok(mut signals) = signal_hook::iterator::Signals::new(ending) else { return };
    let wait = move || {
        if let Some(signal) = signals.forever().next() {
            remove_unfinished();
            let _ = signal_hook::low_level::emulate_default_handler(signal); // which does not come back
        }
    };
    let _ = std::thread::Builder::new().stack_size(256 << 10).spawn(wait); // without it a hidden file may be left
}
