//! What several integration tests need.
#![allow(dead_code)] // each test uses its part

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// The root of the repository, where the library's package lies; the command's lies in its folder `cli`.
pub fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    if env!("CARGO_PKG_NAME") == "sleek-cli" { package.parent().expect("the root above cli") } else { package }
}

/// `libsleek.so` of the profile under test, which cargo builds beside the library that the test links; or the one that
/// SLEEK_TEST_LIBRARY names.
pub fn libsleek() -> PathBuf {
    if let Some(file) = std::env::var_os("SLEEK_TEST_LIBRARY") {
        return PathBuf::from(file);
    }
    let exe = std::env::current_exe().expect("the test's own path");
    let deps = exe.parent().expect("the test lies in deps/");
    let file = deps.join("libsleek.so");
    assert!(file.is_file(), "{} is missing: cargo builds it for every integration test", file.display());
    file
}

/// The folder of large real data that the environment variable SLEEK_DATA names; None if it is not set.
pub fn data_dir() -> Option<PathBuf> {
    let dir = PathBuf::from(std::env::var_os("SLEEK_DATA").filter(|v| !v.is_empty())?);
    assert!(dir.is_dir(), "SLEEK_DATA is {}, which is not a folder", dir.display());
    Some(dir)
}

/// Whether fewer cases of each kind will do: all of them are for a night, with SLEEK_LONG=1.
pub fn short() -> bool {
    std::env::var_os("SLEEK_LONG").is_none_or(|v| v.is_empty())
}

/// The small real fields of the repository: the files of raw little-endian floats in `tests/data`, sorted.
pub fn sample_fields() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join("tests/data")).expect("tests/data");
    let is_field = |p: &PathBuf| matches!(p.extension().and_then(|e| e.to_str()), Some("f32" | "f64"));
    let mut fields: Vec<PathBuf> = entries.map(|e| e.expect("tests/data").path()).filter(is_field).collect();
    fields.sort();
    assert!(!fields.is_empty(), "tests/data holds no .f32 or .f64 file");
    fields
}

/// More than any program that a test runs needs, on a slow machine and under valgrind.
const PATIENCE: Duration = Duration::from_secs(900);

/// What `command` did. One that waits for ever fails here, with everything that it printed, and its children end with
/// it.
pub fn output(command: &mut Command) -> Output {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    // What another thread has just forked may still hold a program open that this one wrote.
    let child = wait_for("a program that is ready", || match command.spawn() {
        Err(e) if e.kind() == std::io::ErrorKind::ExecutableFileBusy => None,
        spawned => Some(spawned.unwrap_or_else(|e| panic!("{command:?}: {e}"))),
    });
    let group = child.id();
    let (done, ended) = mpsc::channel();
    std::thread::spawn(move || done.send(child.wait_with_output()));
    if let Ok(out) = ended.recv_timeout(PATIENCE) {
        return out.unwrap_or_else(|e| panic!("{command:?}: {e}"));
    }
    // SAFETY: a signal to a group of processes that this function made.
    #[cfg(unix)]
    unsafe {
        libc::kill(-(group as i32), libc::SIGKILL)
    };
    // A process that has left the group may still hold the pipes.
    let out = ended.recv_timeout(Duration::from_secs(10)).ok().and_then(Result::ok);
    panic!("{command:?} was still running after {PATIENCE:?}\n{}", out.as_ref().map_or(String::new(), printed));
}

/// What `found` looks for, which may come late on a machine that has other things to do.
pub fn wait_for<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn printed(out: &Output) -> String {
    format!("{}\n{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr))
}

/// Runs `command` and gives its standard output; a failure panics with everything that it printed.
pub fn run(command: &mut Command) -> String {
    let out = output(command);
    assert!(out.status.success(), "{command:?}: {}\n{}", out.status, printed(&out));
    String::from_utf8_lossy(&out.stdout).into_owned()
}

/// What the C and C++ programs of the tests are to be compiled with besides, by `SLEEK_TEST_CFLAGS` (UBSan of
/// tests/proofs.sh).
pub fn more_cflags() -> Vec<String> {
    std::env::var("SLEEK_TEST_CFLAGS").unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

/// A stand-in for CUDA's driver that runs the kernels on the CPU, copied into `folder`: tests/gpu/driver.sh, which
/// builds it if need be, for all programs of tests once.
pub fn stand_in(folder: &Path) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a folder in the target folder");
    let script = root().join("tests/gpu/driver.sh");
    run(Command::new("bash").arg(script).arg(folder).env("CARGO_TARGET_DIR", target));
    folder.join("libcuda.so")
}
