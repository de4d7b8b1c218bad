//! HDF5 crashes where it cannot write, so it works in a child process, of which only the result counts.

use std::ffi::CString;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::thread::Builder;

use super::args::BROKEN;
use crate::ERROR;
use crate::io::remove_unfinished;
use crate::progress::bytes;

/// Bytes of the stack of the thread that only waits.
const LISTENER_STACK: usize = 256 << 10;

/// Has a child process do what the arguments of this one say, with the empty file `new` for the result; what there is
/// to print, or `None` if a bound is broken. `file` is whom to blame for a crash.
pub fn run(new: &Path, file: &Path) -> Result<Option<String>, String> {
    let (text, status) = answer(new).map_err(|e| format!("cannot run a child process: {e}"))?;
    match status.code().map(u8::try_from) {
        Some(Ok(0)) => Ok(Some(text)),
        Some(Ok(BROKEN)) => Ok(None),
        Some(Ok(ERROR)) if !text.is_empty() => Err(text.lines().collect::<Vec<_>>().join(" ")),
        _ => Err(format!("{}: {}", file.display(), ending(status, new))),
    }
}

/// In a process that works for another one: neither it nor its unfinished file shall outlive that. A pipe tells of the
/// end.
pub fn listen() -> Result<(), String> {
    let until_closed = || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new()); // nothing comes but the end
        remove_unfinished();
        // SAFETY: ends the process at once, whatever HDF5 is doing on the other thread.
        unsafe { libc::_exit(ERROR.into()) }
    };
    let listening = Builder::new().stack_size(LISTENER_STACK).spawn(until_closed);
    listening.map(drop).map_err(|e| format!("cannot start a thread: {e}"))
}

/// What the child printed, and how it ended.
fn answer(new: &Path) -> std::io::Result<(String, ExitStatus)> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["repack", "--child"]).arg(new).args(std::env::args_os().skip(2));
    // The variable is for programs that have no such arguments.
    command.env_remove("SLEEK_PARAMS").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    // Closed by the end of this process, whatever ends it: `listen`.
    let _lifeline = child.stdin.take();
    let mut text = Vec::new();
    if let Some(mut pipe) = child.stdout.take() {
        let _ = pipe.read_to_end(&mut text); // what came before an error is still of use
    }
    let status = child.wait()?;
    Ok((String::from_utf8_lossy(&text).into_owned(), status))
}

/// Signals by which a process ends itself.
const CRASHES: [i32; 7] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGABRT, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP, libc::SIGSYS];

/// An end without an answer, in words.
fn ending(status: ExitStatus, new: &Path) -> String {
    let full = free_bytes(new).map_or(String::new(), |n| format!("; is the disk full? {} are free", bytes(n)));
    match status.signal() {
        Some(n) if !CRASHES.contains(&n) => format!("nothing was written: the work was ended by signal {n}"),
        Some(n) => format!("nothing was written: HDF5 crashed (signal {n}){full}"),
        None => format!("nothing was written: the work ended with {status}"),
    }
}

/// What the disk of a file still takes; `None` if there is no such file.
#[allow(clippy::unnecessary_cast)] // macOS counts in 32 bits
fn free_bytes(file: &Path) -> Option<u64> {
    let name = CString::new(file.as_os_str().as_bytes()).ok()?;
    // SAFETY: zeros are a `statvfs`, and the name ends with one.
    let (answer, disk) = unsafe {
        let mut disk = std::mem::zeroed::<libc::statvfs>();
        (libc::statvfs(name.as_ptr(), &raw mut disk), disk)
    };
    (answer == 0).then(|| disk.f_bavail as u64 * disk.f_frsize as u64)
}
