//! `sleek repack` when the disk is full, when it is ended or killed, and what files may be read by others.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Child;

use crate::repack::{PYTHON, files, python, sleek_ok};
use crate::{Place, common, venv_python};

/// A limit on file sizes is met as a full disk is: HDF5 fails to write anywhere, or crashes.
#[test]
fn a_full_disk_leaves_everything_as_it_was() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    python(&place, PYTHON, &["make", "old.h5"]);
    let before = files(&place);
    for limit in [0, 2000, 8000, 20_000, 50_000, 100_000, 200_000] {
        for new in ["new.h5", "old.h5"] {
            let mut command = place.command(env!("CARGO_BIN_EXE_sleek"));
            // SAFETY: `setrlimit` may be called between fork and exec.
            unsafe {
                command.pre_exec(move || {
                    let limit = libc::rlimit { rlim_cur: limit, rlim_max: limit };
                    libc::setrlimit(libc::RLIMIT_FSIZE, &limit);
                    Ok(())
                })
            };
            command.env_remove("SLEEK_LOG").args(["repack", "-q", "--force", "--lossless", "old.h5", new]);
            let out = common::output(&mut command);
            let message = String::from_utf8_lossy(&out.stderr).into_owned();
            assert_eq!(out.status.code(), Some(2), "{limit}: {message}");
            assert!(message.starts_with("sleek: error: ") && message.contains(new), "{limit}: {message}");
            assert!(message.contains("File too large") || message.contains("HDF5 crashed"), "{limit}: {message}");
            assert_eq!(message.lines().count(), 1, "{limit}: {message}");
            assert_eq!(files(&place), before, "{limit}");
        }
    }
}

/// `sleek repack` while its child writes the new file; what the file is called.
#[allow(clippy::zombie_processes)] // the caller waits for it
fn working(place: &Place) -> (Child, PathBuf) {
    let mut command = place.command(env!("CARGO_BIN_EXE_sleek"));
    // SAFETY: `signal` and `umask` may be called between fork and exec.
    unsafe {
        command.pre_exec(move || {
            for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGHUP, libc::SIGTERM] {
                libc::signal(signal, libc::SIG_DFL);
            }
            libc::umask(0o022);
            Ok(())
        })
    };
    // What is compared once more is at work long enough to be met there.
    let child = command.args(["repack", "-q", "--lossless", "--verify", "old.h5", "new.h5"]).spawn().unwrap();
    let new = common::wait_for("no temporary file appeared", || {
        let mut entries = fs::read_dir(place.work.path()).unwrap().map(|e| e.unwrap());
        entries.find(|e| e.file_name() != "old.h5" && e.metadata().is_ok_and(|m| m.len() > 0))
    });
    (child, new.path())
}

fn names(place: &Place) -> Vec<String> {
    let entries = fs::read_dir(place.work.path()).unwrap().map(|e| e.unwrap().file_name());
    entries.map(|name| name.to_string_lossy().into_owned()).collect()
}

/// Processes that have the file's name among their arguments.
pub fn at_work(new: &Path) -> usize {
    let name = new.as_os_str().as_encoded_bytes();
    let arguments =
        fs::read_dir("/proc").unwrap().map(|e| fs::read(e.unwrap().path().join("cmdline")).unwrap_or_default());
    arguments.filter(|a| a.windows(name.len()).any(|w| w == name)).count()
}

#[test]
fn an_interruption_ends_the_work() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    python(&place, PYTHON, &["large", "old.h5"]);
    for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGKILL] {
        let (mut child, new) = working(&place);
        // SAFETY: signals a child that is ours and not yet waited for.
        unsafe { libc::kill(child.id() as i32, signal) };
        assert!(!child.wait().unwrap().success());
        // Its own child learns of its end by a pipe.
        let ended = || (at_work(&new) == 0 && !new.exists()).then_some(());
        common::wait_for(&format!("signal {signal}: the work goes on"), ended);
        assert_eq!(names(&place), ["old.h5"], "signal {signal}");
    }
}

/// `SLEEK_KILLS` says how many times.
#[test]
fn killed_at_any_moment() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    python(&place, PYTHON, &["make", "before.h5"]);
    let before = fs::read(place.path("before.h5")).unwrap();
    let rounds: u32 = std::env::var("SLEEK_KILLS").map_or(10, |n| n.parse().unwrap());
    // By a path that no other test has: a child that has only been forked has the arguments of its parent.
    let old = place.path("before.h5");
    let arguments = ["repack", "-q", "--force", "--no-attributes", "--abs", "1e-3", old.to_str().unwrap(), "after.h5"];
    let start = std::time::Instant::now();
    sleek_ok(&place, &arguments);
    let lasts = start.elapsed();
    let (mut whole, mut hidden) = (0, 0);
    let right = |file: &str| place.run("h5diff", &["-d", "0.001", "before.h5", file, "/zz_t"]);
    for i in 0..rounds {
        fs::write(place.path("after.h5"), "old").unwrap();
        let mut command = place.command(env!("CARGO_BIN_EXE_sleek"));
        let mut child = command.args(arguments).env_remove("SLEEK_LOG").spawn().unwrap();
        std::thread::sleep(lasts * i / rounds);
        child.kill().unwrap();
        child.wait().unwrap();
        common::wait_for(&format!("round {i}: the work goes on"), || (at_work(&old) == 0).then_some(()));
        if fs::read(place.path("after.h5")).unwrap() != b"old" {
            right("after.h5");
            whole += 1;
        }
        assert_eq!(fs::read(place.path("before.h5")).unwrap(), before);
        for name in names(&place).into_iter().filter(|name| name.starts_with('.')) {
            // Of the moment before the child listens for its parent's end, or of that between its own end and the new
            // name.
            hidden += 1;
            fs::remove_file(place.path(&name)).unwrap();
        }
    }
    println!("killed {rounds} times: the new file was there {whole} times, under its hidden name {hidden} times");
}

#[test]
fn private_files_stay_private_and_their_owners() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    let set = |name: &str, mode| fs::set_permissions(place.path(name), fs::Permissions::from_mode(mode)).unwrap();
    let mode = |name: &str| fs::metadata(place.path(name)).unwrap().mode() & 0o7777;
    python(&place, PYTHON, &["large", "old.h5"]);
    set("old.h5", 0o600);
    let (mut child, new) = working(&place);
    assert_eq!(fs::metadata(&new).unwrap().mode() & 0o7777, 0o600);
    assert!(child.wait().unwrap().success());
    assert_eq!(mode("new.h5"), 0o600);
    python(&place, PYTHON, &["make", "old.h5"]);
    set("old.h5", 0o640);
    set("new.h5", 0o604);
    sleek_ok(&place, &["repack", "-q", "--force", "--noa", "1e-3", "old.h5", "new.h5"]);
    assert_eq!(mode("new.h5"), 0o604);
    // SAFETY: a plain call.
    if unsafe { libc::geteuid() } == 0 {
        std::os::unix::fs::chown(place.path("old.h5"), Some(4321), Some(4322)).unwrap();
        sleek_ok(&place, &["repack", "-q", "--force", "--noa", "1e-3", "old.h5", "old.h5"]);
        let meta = fs::metadata(place.path("old.h5")).unwrap();
        assert_eq!((meta.uid(), meta.gid(), meta.mode() & 0o7777), (4321, 4322, 0o640));
    }
}
