//! What may befall the command: signals, full disks, calls that do half of what they are asked for, places that are no
//! plain files. A result appears whole or not at all, nobody else can read it meanwhile, and what it replaces is not
//! lost.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use super::{Bench, bytes_of, common, stderr, wave};

/// Arguments that pack `in` to `out`, and unpack it again to `back`.
const PACK: &str = "compress --dtype f32 --lossless in out";
const UNPACK: &str = "decompress out back";

fn mode(bench: &Bench, name: &str) -> u32 {
    fs::symlink_metadata(bench.path(name)).unwrap().permissions().mode() & 0o7777
}

fn set_mode(bench: &Bench, name: &str, mode: u32) {
    fs::set_permissions(bench.path(name), fs::Permissions::from_mode(mode)).unwrap();
}

/// A folder with the array `in`, of `n` elements.
fn bench(n: usize) -> Bench {
    let bench = Bench::new();
    bench.put("in", &bytes_of(&wave(n)));
    bench
}

/// A command with standard signals and this umask, whatever the test was started with.
fn plain(mut command: Command, umask: u32) -> Command {
    // SAFETY: `signal` and `umask` may be called between fork and exec.
    unsafe {
        command.pre_exec(move || {
            (1..32).filter(|s| ![libc::SIGKILL, libc::SIGSTOP].contains(s)).for_each(|s| {
                libc::signal(s, libc::SIG_DFL);
            });
            libc::umask(umask as libc::mode_t);
            Ok(())
        })
    };
    command
}

/// The library of tests/c/faults.c, made in the folder.
fn faults(bench: &Bench) -> String {
    let source = common::root().join("tests/c/faults.c");
    let library = bench.path("faults.so");
    common::run(Command::new("cc").args(["-shared", "-fPIC", "-Wall", "-O1", "-o"]).arg(&library).arg(source));
    library.to_str().unwrap().to_string()
}

#[test]
fn what_only_the_owner_may_read_stays_so() {
    let bench = bench(3000);
    for given in [0o600, 0o640, 0o644, 0o400] {
        for file in ["in", "out", "back"] {
            let _ = fs::remove_file(bench.path(file));
        }
        bench.put("in", &bytes_of(&wave(3000)));
        set_mode(&bench, "in", given);
        for arguments in [PACK, UNPACK] {
            assert!(common::output(&mut plain(bench.command(arguments), 0o022)).status.success());
        }
        assert_eq!((mode(&bench, "out"), mode(&bench, "back")), (given, given), "{given:o}");
    }
    // What is replaced has its own.
    for given in [0o600, 0o664] {
        set_mode(&bench, "back", given);
        assert!(common::output(&mut plain(bench.command("decompress --force out back"), 0o022)).status.success());
        assert_eq!(mode(&bench, "back"), given);
    }
    // A pipe has none to go by.
    let out = plain(bench.command("decompress - piped"), 0o027).stdin(File::open(bench.path("in")).unwrap()).output();
    assert!(!out.unwrap().status.success());
    let pipe = format!("cat out | {} decompress -q - piped", env!("CARGO_BIN_EXE_sleek"));
    let mut shell = Command::new("sh");
    shell.args(["-c", &pipe]).current_dir(bench.dir.path());
    assert!(common::output(&mut plain(shell, 0o027)).status.success());
    assert_eq!(mode(&bench, "piped"), 0o640);
}

#[test]
fn streams_are_written_not_replaced() {
    let bench = bench(3000);
    bench.ok(PACK);
    let array = bench.get("in");
    let shell = |text: &str| {
        let text = text.replace("sleek", env!("CARGO_BIN_EXE_sleek"));
        common::output(Command::new("sh").args(["-c", &text]).current_dir(bench.dir.path()))
    };
    let before = b"what was there ";
    let targets =
        [("", "/dev/stdout"), ("--force", "/dev/stdout"), ("--force", "/dev/fd/1"), ("", "/proc/self/fd/1"), ("", "-")];
    for (force, target) in targets {
        bench.put("file", before);
        let out = shell(&format!("sleek decompress -q {force} out {target} >> file"));
        assert!(out.status.success(), "{force} {target}: {}", stderr(&out));
        assert_eq!(bench.get("file"), [&before[..], &array].concat(), "{force} {target}");
    }
    bench.put("file", before);
    let out = shell("sleek decompress -q --force out /dev/fd/7 7>> file");
    assert!(out.status.success(), "{}", stderr(&out));
    assert_eq!(bench.get("file"), [&before[..], &array].concat());
    let out = shell("sleek decompress -q out /dev/fd/9");
    assert_eq!(out.status.code(), Some(2), "{}", stderr(&out));
    assert!(stderr(&out).contains("/dev/fd/9: "), "{}", stderr(&out));
    // A named pipe.
    let out = shell("mkfifo pipe; sleek decompress -q --force out pipe & cat pipe > file; wait; test -p pipe");
    assert!(out.status.success(), "{}", stderr(&out));
    assert_eq!(bench.get("file"), array);
}

#[test]
fn links_stay_and_lead_to_the_result() {
    let bench = bench(3000);
    bench.ok(PACK);
    fs::create_dir(bench.path("folder")).unwrap();
    for (target, arguments) in [("folder/new", "decompress --force out link"), ("folder/other", "decompress out link")]
    {
        symlink(target, bench.path("link")).unwrap();
        bench.ok(arguments);
        assert_eq!(fs::read_link(bench.path("link")).unwrap(), Path::new(target));
        assert_eq!(bench.get(target), bench.get("in"));
        fs::remove_file(bench.path("link")).unwrap();
    }
    // A link to a link to a file.
    symlink("folder/new", bench.path("first")).unwrap();
    symlink("first", bench.path("second")).unwrap();
    bench.put("folder/new", b"old");
    bench.ok("decompress --force out second");
    assert_eq!(bench.get("folder/new"), bench.get("in"));
    assert!(fs::symlink_metadata(bench.path("first")).unwrap().is_symlink());
    symlink("loop", bench.path("loop")).unwrap();
    bench.fails("decompress --force out loop", "loop: ");
}

#[test]
fn names_of_any_length_that_the_disk_takes() {
    let bench = bench(3000);
    for n in [200, 235, 240, 245, 250, 255] {
        let names = ["x".repeat(n), "ä".repeat(n / 2)];
        for name in names {
            bench.ok(&format!("compress --dtype f32 --lossless in {name}"));
            bench.ok(&format!("compress --force --dtype f32 --lossless in {name}"));
            bench.ok(&format!("decompress {name} back"));
            assert_eq!(bench.get("back"), bench.get("in"));
            bench.ok(&format!("decompress --force out {name}").replace("out", &name));
            assert_eq!(bench.get(&name), bench.get("in"));
            fs::remove_file(bench.path(&name)).unwrap();
            fs::remove_file(bench.path("back")).unwrap();
        }
    }
    bench.fails(&format!("compress --dtype f32 --lossless in {}", "x".repeat(256)), "File name too long");
}

#[test]
fn a_variable_of_rust_takes_no_thread_its_stack() {
    let bench = bench(6 << 20);
    for stack in ["1", "16384", "65536"] {
        for arguments in ["compress --force --threads 2 --dtype f32 --abs 1e-3 in out", "verify --threads 2 in out"] {
            let out = common::output(bench.command(arguments).env("RUST_MIN_STACK", stack));
            assert!(out.status.success(), "{stack} {arguments}: {}\n{}", out.status, stderr(&out));
        }
        let out = common::output(bench.command("decompress --force --threads 2 out back").env("RUST_MIN_STACK", stack));
        assert!(out.status.success(), "{stack}: {}\n{}", out.status, stderr(&out));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_only_copy_goes_when_the_new_one_is_on_the_disk() {
    let bench = bench(3000);
    let faults = faults(&bench);
    for arguments in ["compress --force --dtype f32 --lossless in in", "decompress --force in in"] {
        let calls = bench.path("calls");
        let mut command = bench.command(arguments);
        let out = common::output(command.env("LD_PRELOAD", &faults).env("FAULTS_CALLS", &calls));
        assert!(out.status.success(), "{}", stderr(&out));
        let said = fs::read_to_string(&calls).unwrap_or_default();
        // The new name comes between them, by a call that is no function of the C library.
        assert_eq!(said, "fsync file\nfsync folder\n", "{arguments}");
        fs::remove_file(calls).unwrap();
    }
    assert_eq!(bench.get("in"), bytes_of(&wave(3000)));
}

#[cfg(target_os = "linux")]
#[test]
fn calls_that_are_interrupted_or_do_half() {
    let bench = bench(700_000);
    let faults = faults(&bench);
    let sleek = env!("CARGO_BIN_EXE_sleek");
    for (text, result) in [
        ("sleek compress -q --dtype f32 --lossless in out", None),
        ("sleek decompress -q out back", Some("back")),
        (
            "cat in | sleek compress -q --dtype f32 --lossless --frame-bytes 400000 - - | sleek decompress -q - - > \
            piped",
            Some("piped"),
        ),
        ("sleek verify in out > said", None),
    ] {
        let mut command = Command::new("sh");
        command.args(["-c", &text.replace("sleek", sleek)]).current_dir(bench.dir.path());
        let out = common::output(command.env("LD_PRELOAD", &faults).env("FAULTS_SHORT", "1"));
        assert!(out.status.success(), "{text}: {}", stderr(&out));
        assert!(result.is_none_or(|file| bench.get(file) == bench.get("in")), "{text}");
    }
}

/// Only root may give files away, and be refused nothing.
#[cfg(target_os = "linux")]
#[test]
fn who_has_the_replaced_file_keeps_it() {
    // SAFETY: a plain call.
    if unsafe { libc::geteuid() } != 0 {
        eprintln!("not root: not tried");
        return;
    }
    let bench = bench(3000);
    std::os::unix::fs::chown(bench.path("in"), Some(4321), Some(4322)).unwrap();
    set_mode(&bench, "in", 0o640);
    bench.ok("compress --force --dtype f32 --lossless in in");
    bench.ok("decompress --force in in");
    let meta = fs::metadata(bench.path("in")).unwrap();
    assert_eq!((meta.uid(), meta.gid(), mode(&bench, "in")), (4321, 4322, 0o640));
    // Somebody else, whom the folder lets replace it, must not give his own group what the file's group had.
    set_mode(&bench, "in", 0o664);
    let copy = bench.path("sleek");
    fs::copy(env!("CARGO_BIN_EXE_sleek"), &copy).unwrap();
    fs::set_permissions(bench.dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let mut command = Command::new(copy);
    command.args("compress --force --dtype f32 --lossless in in".split(' ')).current_dir(bench.dir.path());
    let out = common::output(command.uid(5321).gid(5322));
    assert!(out.status.success(), "{}", stderr(&out));
    let meta = fs::metadata(bench.path("in")).unwrap();
    assert_eq!((meta.uid(), meta.gid(), mode(&bench, "in")), (5321, 5322, 0o644));
}

#[test]
fn no_message_steers_the_terminal() {
    let bench = Bench::new();
    let name = "x\x1b[31m\u{9b}2J\ny";
    bench.put(name, b"123");
    let out = common::output(bench.command("inspect").arg(name));
    let said = stderr(&out);
    assert_eq!(out.status.code(), Some(2));
    assert!(
        said.contains("\\u{1b}[31m") && said.lines().count() == 1 && !said.trim_end().contains(char::is_control),
        "{said:?}"
    );
    let out = common::output(bench.command("h5args --abs 1").env("SLEEK_NUM_THREADS", "\x1b[31m\n2"));
    let said = stderr(&out) + &String::from_utf8_lossy(&out.stdout);
    assert!(!said.contains('\x1b'), "{said:?}");
}
