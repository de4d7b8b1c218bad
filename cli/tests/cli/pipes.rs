//! Standard input and output.

use std::fs;
use std::process::{Command, Stdio};

use super::{Bench, bytes_of, floats_of, max_error, stderr, wave};

#[test]
fn pipes() {
    let bench = Bench::new();
    let data = bytes_of(&wave(30_000));
    bench.put("in", &data);
    let packed = bench.piped("compress -q --frame-bytes 32768 --dtype f32 --abs 1e-3 - -", &data);
    assert!(packed.status.success() && packed.stderr.is_empty(), "{}", stderr(&packed));
    let back = bench.piped("decompress -q - -", &packed.stdout);
    assert!(max_error(&floats_of(&data), &floats_of(&back.stdout)) <= 1e-3);
    assert!(bench.piped("verify in -", &packed.stdout).status.success());
    assert!(bench.piped("inspect -", &packed.stdout).status.success());

    let noa = bench.piped("compress --dtype f32 --noa 1e-3 - -", &data);
    assert_eq!(noa.status.code(), Some(2));
    assert!(stderr(&noa).contains("--range"), "{}", stderr(&noa));
    let ranged = bench.piped("compress -q --dtype f32 --noa 1e-3 --range 20 - packed", &data);
    assert!(ranged.status.success(), "{}", stderr(&ranged));
    assert_eq!(bench.json("inspect --json packed")["range"], 20.0);

    let odd = bench.piped("compress -q --dtype f32 --lossless - odd", &data[..1001]);
    assert_eq!(odd.status.code(), Some(2));
    assert!(stderr(&odd).contains("1001") && !bench.path("odd").exists(), "{}", stderr(&odd));
}

/// On a terminal, from a program that takes a while: what is done so far, and the line at the end.
#[cfg(target_os = "linux")]
#[test]
fn bar_and_summary_have_the_same_units() {
    let bench = Bench::new();
    let sleek = env!("CARGO_BIN_EXE_sleek");
    let slow = "head -c 4000000 /dev/zero; sleep 1.2; head -c 4000000 /dev/zero";
    let line = format!("({slow}) | '{sleek}' compress --frame-bytes 1000000 --dtype f32 --abs 1e-3 - packed");
    let mut terminal = Command::new("script");
    terminal.args(["-qec", &line, "/dev/null"]).current_dir(bench.dir.path()).stdin(Stdio::null()).env("TERM", "xterm");
    let shown = String::from_utf8(terminal.output().unwrap().stdout).unwrap();
    let (bar, summary) = shown.rsplit_once("standard input -> packed: ").expect(&shown);
    assert!(bar.contains("8.00 MB ") && bar.contains("MB/s") && summary.starts_with("8.00 MB -> "), "{shown}");
}

#[test]
fn a_closed_pipe_is_no_complaint() {
    let bench = Bench::new();
    bench.put("in", &bytes_of(&wave(1 << 20)));
    bench.ok("compress -q --frame-bytes 65536 --dtype f32 --lossless in packed");
    let mut command = bench.command("decompress packed -");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let out = child.wait_with_output().unwrap();
    assert!(!out.status.success());
    assert_eq!(stderr(&out), "");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_behind_standard_output_is_an_error() {
    let bench = Bench::new();
    bench.put("in", &bytes_of(&wave(20_000)));
    bench.ok("compress -q --dtype f32 --abs 1e-3 in packed");
    let full = || fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let printing =
        ["verify in packed", "verify --json in packed", "inspect packed", "h5args --abs 1", "completions bash"];
    for args in printing.into_iter().chain(["doctor", "analyze -q --dtype f32 in", "--help", "--version"]) {
        let out = bench.command(args).stdout(full()).output().unwrap();
        let message = stderr(&out);
        assert_eq!(out.status.code(), Some(2), "{args}: {message}");
        assert!(message.starts_with("sleek: error: standard output: No space left"), "{args}: {message}");
        assert_eq!(message.lines().count(), 1, "{args}: {message}");
    }
    // A summary that nobody can read does not spoil the result.
    let out = bench.command("decompress packed out").stderr(full()).output().unwrap();
    assert!(out.status.success() && bench.path("out").exists());
}
