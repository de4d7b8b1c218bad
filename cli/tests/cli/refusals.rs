//! What is refused, and what a failure leaves.

use std::os::unix::process::CommandExt;
use std::path::Path;

use serde_json::Value;

use super::{Bench, bytes_of, common, stderr, wave};

#[test]
fn verify_sees_a_broken_bound() {
    let bench = Bench::new();
    let mut values = wave(10_000);
    bench.put("in", &bytes_of(&values));
    for mode in ["--abs 1e-3", "--noa 1e-4", "--rel 1e-5", "--lossless"] {
        bench.ok(&format!("compress -f --frame-bytes 16384 --dtype f32 {mode} in packed"));
        let mut spoilt = values.clone();
        spoilt[7777] += 0.25;
        bench.put("spoilt", &bytes_of(&spoilt));
        let out = bench.run("verify --json spoilt packed");
        assert_eq!(out.status.code(), Some(1), "{mode}: {}", stderr(&out));
        let report: Value = serde_json::from_slice(&out.stdout).unwrap();
        assert_eq!((&report["kept"], &report["violations"]), (&false.into(), &1.into()), "{mode}");
        assert_eq!(report["worst"]["index"][0], 7777);
        let out = bench.run("verify spoilt packed");
        assert!(String::from_utf8_lossy(&out.stdout).contains("BROKEN"), "{mode}");
    }
    // One bit of a NaN, and an array of another length.
    values[3] = f32::NAN;
    bench.put("in", &bytes_of(&values));
    bench.ok("compress -f --dtype f32 --abs 1e-3 in packed");
    values[3] = f32::from_bits(f32::NAN.to_bits() ^ 1);
    bench.put("spoilt", &bytes_of(&values));
    assert_eq!(bench.run("verify spoilt packed").status.code(), Some(1));
    for len in [4 * 9999, 4 * 10_001] {
        let mut other = bench.get("in");
        other.resize(len, 0);
        bench.put("other", &other);
        let out = bench.run("verify other packed");
        assert_eq!(out.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&out.stdout).contains(&len.to_string()));
    }
}

#[test]
fn bad_arguments() {
    let bench = Bench::new();
    bench.put("in", &bytes_of(&wave(250)));
    bench.put("in.safetensors", b"");
    let rank33 = format!("compress --dtype f32 --abs 1 --dims {} in out", vec!["1"; 33].join("x"));
    let refused = [
        ("compress --dtype f32 in out", "--abs"),
        ("compress --lossless in out", "--dtype TYPE is needed"),
        ("compress --lossless in.safetensors out", "sleek.safetensors.pack of Python"),
        ("compress --dtype f32 --abs 1 --rel 1 in out", "--rel"),
        ("compress --dtype f31 --abs 1 in out", "bf16"),
        ("compress --dtype f32 --abs -1 in out", "-1"),
        ("compress --dtype f32 --abs nan in out", "NaN"),
        ("compress --dtype f32 --abs 1e-3 --range 5 in out", "--range 5"),
        ("compress --dtype f32 --noa 1e-3 --range 0 in out", "range 0"),
        ("compress --dtype f32 --abs 1 --dims 5,5 in out", "250"),
        ("compress --dtype f32 --abs 1 --dims 5by50 in out", "64x64x128"),
        ("compress --dtype f32 --abs 1 --dims 5x51 in out", "holds 250 f32 elements; --dims 5x51 says 255"),
        ("compress --dtype f32 --abs 1 --dims 4294967296x4294967296x4 in out", "more elements than fit in memory"),
        (&rank33[..], "rank 33; 1 to 32 dimensions are possible"),
        ("compress --dtype f32 --abs 1 --codec best in out", "codec 'best' is unknown; this library knows 1 (sleek)"),
        ("compress --dtype f32 --abs 1 --codec ratio in out", "pre-releases of 0.2 only; codec interp replaces it"),
        ("compress --dtype f32 --abs 1 --profile quick in out", "[possible values: adaptive, fast, small]"),
        ("compress --dtype f16 --abs 1 --codec zfp in out", "codec zfp takes f32, f64, i32, i64; f16 was asked for"),
        ("compress --dtype f32 --rate 8 --codec sleek in out", "modes lossless, abs, noa, rel; rate was asked for"),
        ("compress --dtype f64 --abs 1 --dims 5,50 in out", "125"),
        ("compress --dtype f32 --abs 1 --frame-bytes 6 in out", "multiple"),
        ("compress --dtype f32 --abs 1 missing out", "missing"),
        ("compress --dtype f32 --abs 1 . out", "directory"),
        ("compress --dtype f32 --abs 1 in nowhere/out", "nowhere/out"),
        ("compress --dtype f32 --abs 1 --threads 0 in out", "0"),
        ("verify in in", "twice"),
        ("frobnicate", "frobnicate"),
        ("repack --abs 1e-3 in -", "cannot be read from or written to a stream"),
        ("repack --abs 1e-3 - out", "cannot be read from or written to a stream"),
    ];
    for (args, part) in refused {
        bench.fails(args, part);
    }
    bench.put("odd", &[0; 1001]);
    bench.fails("compress --dtype f32 --lossless odd out", "1001");
    bench.ok("compress --dtype f32 --lossless --dims 5x50 in out");
    bench.fails("compress --dtype f32 --lossless in out", "--force");
    bench.ok("compress --dtype f32 --lossless --force in out");
}

#[test]
fn variables_that_cannot_be_understood_are_refused() {
    let bench = Bench::new();
    bench.put("in", &bytes_of(&wave(250)));
    bench.ok("compress --dtype f32 --abs 1e-3 in packed");
    for (variable, value, right) in [
        ("SLEEK_NUM_THREADS", "four", "from 1 on"),
        ("SLEEK_NUM_THREADS", "0", "from 1 on"),
        ("SLEEK_SIMD", "sse", "avx2"),
    ] {
        for args in [
            "compress --dtype f32 --abs 1e-3 in out",
            "decompress packed out",
            "verify in packed",
            "inspect packed",
            "h5args --abs 1e-3",
            "analyze --dtype f32 in",
            "repack --abs 1e-3 in out",
        ] {
            let out = common::output(bench.command(args).env(variable, value));
            let message = stderr(&out);
            assert_eq!(out.status.code(), Some(2), "{variable}={value} {args}");
            assert!(message.contains(&format!("{variable} is '{value}'")) && message.contains(right), "{message}");
            assert!(!bench.path("out").exists());
        }
    }
    // An option takes the place of the variable.
    let out = common::output(bench.command("verify --threads 2 in packed").env("SLEEK_NUM_THREADS", "four"));
    assert!(out.status.success(), "{}", stderr(&out));
}

#[cfg(target_os = "linux")]
#[test]
fn devices_are_written_to_not_replaced() {
    let bench = Bench::new();
    bench.put("in", &bytes_of(&wave(10_000)));
    bench.ok("compress --dtype f32 --abs 1e-3 in /dev/null");
    bench.fails("compress --dtype f32 --abs 1e-3 in /dev/full", "/dev/full: No space left");
    assert!(Path::new("/dev/null").metadata().is_ok_and(|m| !m.is_file()));
}

/// Damage anywhere is an error, and what stood there before stays.
#[test]
fn damaged_files_replace_nothing() {
    let bench = Bench::new();
    bench.put("in", &bytes_of(&wave(20_000)));
    bench.ok("compress --frame-bytes 32768 --dtype f32 --abs 1e-3 in packed");
    let good = bench.get("packed");
    bench.put("empty", b"");
    bench.put("out", b"precious");
    bench.fails("decompress --force empty out", "empty");
    bench.fails("decompress --force in out", "not a SLEEK stream");
    let second = u64::from_le_bytes(good[24..32].try_into().unwrap()) as usize;
    for cut in [1, 40, 64, 200, second - 1, second + 1, second + 64, good.len() - 1] {
        bench.put("cut", &good[..cut]);
        for command in ["decompress --force cut out", "inspect cut", "verify in cut"] {
            bench.fails(command, "cut");
        }
    }
    for at in [3, 9, 20, 30, 70, second / 2, second + 2, second + 100, good.len() - 1] {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        bench.put("bad", &bad);
        bench.fails("decompress --force bad out", "bad");
    }
    bench.put("more", &[&good[..], b"and more"].concat());
    bench.fails("decompress --force more out", &format!("byte {}", good.len()));
    assert_eq!(bench.get("out"), b"precious");
}

/// A limit on file sizes is met as a full disk is.
#[test]
fn a_file_that_gets_too_large_leaves_what_was_there() {
    let bench = Bench::new();
    bench.put("in", &bytes_of(&wave(100_000)));
    bench.ok("compress --dtype f32 --lossless in packed");
    bench.put("old", b"old");
    for way in ["compress --dtype f32 --lossless in", "decompress packed"] {
        for (target, force) in [("old", "--force"), ("out", "")] {
            full(&bench, &format!("{way} {force} {target}"), target);
        }
    }
    assert_eq!(bench.get("old"), b"old");
}

/// A command on a disk without room ends with an error that names the file, and leaves none.
fn full(bench: &Bench, args: &str, target: &str) {
    let before = bench.files();
    let mut command = bench.command(args);
    // SAFETY: `setrlimit` may be called between fork and exec.
    unsafe {
        command.pre_exec(|| {
            let limit = libc::rlimit { rlim_cur: 8192, rlim_max: 8192 };
            libc::setrlimit(libc::RLIMIT_FSIZE, &limit);
            Ok(())
        })
    };
    let out = common::output(&mut command);
    assert_eq!(out.status.code(), Some(2), "{}", stderr(&out));
    assert!(stderr(&out).contains(&format!("{target}: File too large")), "{}", stderr(&out));
    assert_eq!(bench.files(), before);
}
