//! HDF5 crashes where it cannot write, so it works in a child process, of which only the result counts.

use std::ffi::CString;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::thread::Builder;

use sleek::environment::THREADS;

use super::args::BROKEN;
use crate::ERROR;
use crate::io::remove_unfinished;
use crate::progress::bytes;

/// Bytes of the stack of the thread that only waits.
const LISTENER_STACK: usize = 256 << 10;

/// What a child process did.
pub enum Done {
    /// What there is to print.
    Table(String),
    /// A bound does not hold, and nothing was written: what it said of that, where nobody has seen it.
    Broken(String),
}

/// Has a child process do what the arguments of this one say, with the empty file `new` for the result. Of several
/// files it does `only` one, says nothing to anybody and takes so many threads.
pub fn run(new: &Path, input: &Path, output: Option<&Path>, only: Option<usize>) -> Result<Done, String> {
    let blame = |e: std::io::Error| format!("cannot run a child process: {e}");
    let mut command = Command::new(std::env::current_exe().map_err(blame)?);
    command.args(["repack", "--child"]).arg(new);
    if let (Some(threads), Some(output)) = (only, output) {
        command.arg("--only").arg(input).arg(output).stderr(Stdio::piped());
        if std::env::var_os(THREADS).is_none() {
            command.env(THREADS, threads.to_string());
        }
    }
    // The variable is for programs that have no such arguments.
    command.args(std::env::args_os().skip(2)).env_remove("SLEEK_PARAMS");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(blame)?;
    // Closed by the end of this process, whatever ends it: `listen`.
    let _lifeline = child.stdin.take();
    let done = child.wait_with_output().map_err(blame)?;
    let [table, said] = [done.stdout, done.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    match done.status.code().map(u8::try_from) {
        Some(Ok(0)) => Ok(Done::Table(table)),
        Some(Ok(BROKEN)) => Ok(Done::Broken(said.replace("sleek: ", "").trim().replace('\n', "; "))),
        Some(Ok(ERROR)) if !table.is_empty() => Err(table.lines().collect::<Vec<_>>().join(" ")),
        _ => Err(format!("{}: {}", output.unwrap_or(input).display(), ending(done.status, new))),
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
