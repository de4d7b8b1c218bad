//! The command `sleek`, driven as a user drives it.

use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

#[cfg(unix)]
mod advice;
#[path = "../../../tests/common/mod.rs"]
mod common;
#[cfg(unix)]
mod diff;
#[cfg(unix)]
mod faults;
mod npy;
mod targets;
mod tensors;
mod test;

/// A directory of its own for each test.
struct Bench {
    dir: TempDir,
}

impl Bench {
    fn new() -> Bench {
        Bench { dir: TempDir::new().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path(name), bytes).unwrap();
    }

    fn get(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    fn command(&self, args: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sleek"));
        command.args(args.split_whitespace()).current_dir(self.dir.path());
        command
    }

    fn run(&self, args: &str) -> Output {
        common::output(&mut self.command(args))
    }

    /// Runs what must succeed; returns standard output.
    fn ok(&self, args: &str) -> Vec<u8> {
        let out = self.run(args);
        assert!(out.status.success(), "sleek {args}: {}", stderr(&out));
        out.stdout
    }

    /// Runs what must fail with exit code 2 and a message that has `part` in it, and must leave no file behind.
    fn fails(&self, args: &str, part: &str) {
        let before = self.files();
        let out = self.run(args);
        let message = stderr(&out);
        assert_eq!(out.status.code(), Some(2), "sleek {args}: {message}");
        assert!(message.starts_with("sleek: error: "), "sleek {args}: {message}");
        assert!(message.contains(part), "sleek {args}: no '{part}' in: {message}");
        assert!(message.lines().count() == 1 || message.ends_with("try '--help'.\n"), "{message}");
        assert_eq!(self.files(), before, "sleek {args} left files");
    }

    fn files(&self) -> Vec<PathBuf> {
        let mut files: Vec<_> = fs::read_dir(self.dir.path()).unwrap().map(|e| e.unwrap().path()).collect();
        files.sort();
        files
    }

    fn json(&self, args: &str) -> Value {
        serde_json::from_slice(&self.ok(args)).unwrap()
    }

    /// Runs with `input` on standard input.
    fn piped(&self, args: &str, input: &[u8]) -> Output {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        // A command that refuses its input closes the pipe early.
        let feeder = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let out = child.wait_with_output().unwrap();
        feeder.join().unwrap();
        out
    }
}

fn stderr(out: &Output) -> String {
    String::from_utf8_lossy(&out.stderr).into_owned()
}

fn wave(n: usize) -> Vec<f32> {
    (0..n).map(|i| 250.0 + 10.0 * (i as f32 * 0.01).sin()).collect()
}

fn bytes_of(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn floats_of(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
}

fn max_error(a: &[f32], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(x, y)| (f64::from(*x) - f64::from(*y)).abs()).fold(0.0, f64::max)
}

#[test]
fn every_mode_there_and_back() {
    let bench = Bench::new();
    let values = wave(100_003);
    bench.put("in", &bytes_of(&values));
    for (mode, limit) in [("--abs 1e-2", 1e-2), ("--noa 1e-3", 0.02), ("--rel 1e-4", 0.026), ("--lossless", 0.0)] {
        for profile in ["adaptive", "fast", "small"] {
            bench.ok(&format!("compress --force --dtype f32 {mode} --profile {profile} in packed"));
            bench.ok("decompress --force packed out");
            assert!(max_error(&values, &floats_of(&bench.get("out"))) <= limit, "{mode}");
            let report = bench.json("verify --json in packed");
            assert_eq!(report["kept"], true, "{mode}: {report}");
            assert_eq!(report["count"], 100_003);
        }
    }
}

/// Profile `small` predicts along the dimensions that the command is told, as the library does; without them along one.
#[test]
fn profile_small_takes_the_shape() {
    let bench = Bench::new();
    let at = |i: usize| [i / 6400, i / 80 % 80, i % 80].map(|k| k as f32);
    let value = |[z, y, x]: [f32; 3]| (x * 0.1).sin() * (y * 0.07).cos() + (z * 0.3).sin();
    let values: Vec<f32> = (0..20 * 80 * 80).map(|i| value(at(i))).collect();
    bench.put("in", &bytes_of(&values));
    let params = sleek::text::parse("abs=1e-4,profile=small").unwrap();
    let mut sizes = vec![];
    for lens in [&[][..], &[20, 80, 80], &[1, 20, 1, 80, 80, 1], &[1600, 80]] {
        let dims = if lens.is_empty() { sleek::Dims::NONE } else { sleek::Dims::new(lens).unwrap() };
        let params = sleek::Params { dtype: sleek::DType::F32, dims, ..params.clone() };
        let joined = |by: &str| lens.iter().map(u64::to_string).collect::<Vec<_>>().join(by);
        for by in ["x", ","] {
            let dims = if lens.is_empty() { String::new() } else { format!("--dims {}", joined(by)) };
            bench.ok(&format!("compress -qf --dtype f32 --abs 1e-4 --profile small {dims} in packed"));
            assert!(bench.get("packed") == sleek::compress(&params, &bench.get("in")).unwrap(), "{dims}");
        }
        let info = bench.json("inspect --json packed");
        assert_eq!((&info["profile"], &info["codec"]), (&"small".into(), &"predict".into()), "{info}");
        assert_eq!(bench.json("verify --json in packed")["kept"], true);
        sizes.push(bench.get("packed").len());
    }
    let [line, cube, same_cube, sheet] = sizes[..] else { panic!("{sizes:?}") };
    assert!(same_cube - cube < 100 && cube < sheet && sheet < line, "{sizes:?}");
}

#[test]
fn odd_sizes() {
    let bench = Bench::new();
    for n in [0, 1, 127, 4095, 4096, 4097] {
        bench.put("in", &bytes_of(&wave(n)));
        bench.ok("compress -qf --dtype f32 --lossless in packed");
        bench.ok("decompress -qf packed out");
        assert_eq!(bench.get("out"), bench.get("in"), "{n} elements");
        let info = bench.json("inspect --json packed");
        assert_eq!((&info["count"], &info["frames"]), (&n.into(), &1.into()));
        assert_eq!(bench.json("verify --json in packed")["kept"], true);
    }
}

#[test]
fn the_summary_tells_what_has_grown() {
    let bench = Bench::new();
    for (values, ratio) in [(vec![], "0.00"), (wave(1), "0.0"), (vec![2.5; 4000], "1")] {
        bench.put("in", &bytes_of(&values));
        let packed = stderr(&bench.run("compress -f --dtype f32 --lossless in packed"));
        assert!(packed.contains(&format!(" ratio {ratio}")), "{packed}");
        let shown =
            |text: &str| text.split("ratio").nth(1).unwrap().split([',', '\n']).next().unwrap().trim().to_owned();
        assert_eq!(shown(&stderr(&bench.run("decompress -f packed out"))), shown(&packed));
        for command in ["inspect packed", "verify in packed"] {
            let table = String::from_utf8(bench.ok(command)).unwrap();
            assert_eq!(shown(&table), shown(&packed), "{table}");
        }
    }
}

#[test]
fn integers_and_big_endian() {
    let bench = Bench::new();
    let values = wave(5000);
    let swapped: Vec<u8> = values.iter().flat_map(|v| v.to_be_bytes()).collect();
    bench.put("in", &swapped);
    bench.ok("compress --dtype i16 --lossless in ints");
    bench.ok("decompress ints out");
    assert_eq!(bench.get("out"), swapped);
    bench.ok("compress --dtype f32 --abs 1e-3 --big-endian in big");
    assert!(bench.get("big").len() < swapped.len() / 2);
    let report = bench.json("verify --json in big");
    assert_eq!(report["kept"], true);
    assert!(report["max_error"].as_f64().unwrap() <= 1e-3);
    assert_eq!(bench.json("inspect --json big")["big_endian"], true);
    bench.fails("compress --dtype i32 --abs 1e-3 in no", "i32");
}

#[test]
fn several_frames_are_one_array() {
    let bench = Bench::new();
    let values: Vec<f32> = (0..50_000).map(|i| i as f32 * if i < 25_000 { 1e-3 } else { 1.0 }).collect();
    bench.put("in", &bytes_of(&values));
    bench.ok("compress --frame-bytes 65536 --dtype f32 --noa 1e-4 in packed");
    let info = bench.json("inspect --json packed");
    assert_eq!((&info["frames"], &info["count"]), (&4.into(), &50_000.into()));
    // Every frame uses the range of the whole file, though the first ones vary far less.
    assert_eq!(info["range"], f64::from(values[49_999]));
    bench.ok("decompress packed out");
    let error = max_error(&values, &floats_of(&bench.get("out")));
    assert!(error <= 1e-4 * f64::from(values[49_999]) && error > 0.0, "{error}");
    assert_eq!(bench.json("verify --json in packed")["kept"], true);

    // A length that is a whole number of frames does not end in an empty one.
    bench.put("in", &bytes_of(&values[..32_768]));
    bench.ok("compress -f --frame-bytes 65536 --dtype f32 --lossless in packed");
    assert_eq!(bench.json("inspect --json packed")["frames"], 2);
}

/// Each stream that is left is whole; that others are missing or too many is noticed all the same.
#[test]
fn missing_and_surplus_frames_are_noticed() {
    let bench = Bench::new();
    bench.put("in", &bytes_of(&wave(40_000)));
    bench.ok("compress --frame-bytes 65536 --dtype f32 --abs 1e-3 in packed");
    let packed = bench.get("packed");
    let first = u64::from_le_bytes(packed[24..32].try_into().unwrap()) as usize;
    assert!(first < packed.len());
    bench.put("cut", &packed[..first]);
    bench.put("long", &[&packed[..], &packed[..first]].concat());
    for command in ["decompress -f $ out", "verify in $", "inspect $"] {
        bench.fails(&command.replace('$', "cut"), "more streams should follow");
        bench.fails(&command.replace('$', "long"), "follows the last stream");
    }
    bench.ok("decompress -f packed out");
}

#[test]
fn frames_of_different_kinds_are_no_file() {
    let bench = Bench::new();
    bench.put("in", &bytes_of(&wave(40_000)));
    let packed = |args: &str| {
        bench.ok(&format!("compress -f --frame-bytes 65536 {args} in packed"));
        bench.get("packed")
    };
    let many = packed("--dtype f32 --noa 1e-3 --range 1");
    let first = u64::from_le_bytes(many[24..32].try_into().unwrap()) as usize;
    for (other, differs) in [
        ("--dtype f32 --noa 1e-3 --range 50", "value range of the stream 50, of the first one of the file 1"),
        ("--dtype f32 --noa 1e-2 --range 1", "bound of the stream 0.01"),
        ("--dtype f32 --noa 1e-3 --range 1 --big-endian", "byte order of the stream big-endian"),
        ("--dtype f32 --abs 1e-3", "mode of the stream abs"),
        ("--dtype i32 --lossless", "element type of the stream i32"),
    ] {
        bench.put("mixed", &[&many[..first], &packed(other)].concat());
        bench.fails("inspect mixed", differs);
        bench.fails("decompress -f mixed out", differs);
    }
}

#[cfg(target_os = "linux")]
#[test]
#[allow(clippy::zombie_processes)] // wait4 is not known to it
fn a_small_file_takes_little_memory() {
    let bench = Bench::new();
    bench.put("in", &bytes_of(&wave(1000)));
    let child = bench.command("compress -q --dtype f32 --abs 1e-3 in packed").spawn().unwrap();
    // SAFETY: waits for a child that is ours and that nobody else waits for; zeros are a `rusage`.
    let (status, usage) = unsafe {
        let (mut status, mut usage) = (0, std::mem::zeroed::<libc::rusage>());
        assert_eq!(libc::wait4(child.id() as i32, &raw mut status, 0, &raw mut usage), child.id() as i32);
        (status, usage)
    };
    assert_eq!(status, 0);
    assert!(usage.ru_maxrss < 64 << 10, "{} kB", usage.ru_maxrss);
}

#[test]
fn threads_do_not_change_a_byte() {
    let bench = Bench::new();
    bench.put("in", &bytes_of(&wave(1 << 19)));
    bench.ok("compress --threads 1 --dtype f32 --abs 1e-3 in one");
    bench.ok("compress --threads 3 --dtype f32 --abs 1e-3 in three");
    assert_eq!(bench.get("one"), bench.get("three"));
    bench.ok("decompress --threads 3 one out");
    assert_eq!(bench.json("verify --threads 2 --json out three")["max_error"], 0.0);
}

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

#[cfg(unix)]
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

#[test]
fn fill_value_and_specials() {
    let bench = Bench::new();
    let mut values = wave(20_000);
    for (i, v) in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::from_bits(0x7f80_0001)].into_iter().enumerate() {
        values[1000 + i] = v;
    }
    values[5] = 1e36;
    bench.put("in", &bytes_of(&values));
    bench.ok("compress --dtype f32 --noa 1e-3 --fill 1e36 in packed");
    let range = bench.json("inspect --json packed")["range"].as_f64().unwrap();
    assert!((19.0..=20.0).contains(&range), "{range}");
    let report = bench.json("verify --json in packed");
    assert_eq!((&report["kept"], &report["special_values"]), (&true.into(), &4.into()), "{report}");
    bench.ok("decompress packed out");
    let back = floats_of(&bench.get("out"));
    assert_eq!((back[5], back[1003].to_bits()), (1e36, 0x7f80_0001));

    bench.put("constant", &bytes_of(&[7.0; 9000]));
    bench.ok("compress --dtype f32 --noa 1e-3 constant packed2");
    assert_eq!(bench.json("verify --json constant packed2")["max_error"], 0.0);
}

/// A wave around 250 with `value` in every fifth element.
fn with_gaps(n: usize, value: f32) -> Vec<f32> {
    wave(n).into_iter().enumerate().map(|(i, v)| if i % 5 == 0 { value } else { v }).collect()
}

/// Missing values come back bit for bit under every bound, and nothing else comes back equal to one.
#[test]
fn missing_values_come_back_exactly() {
    let bench = Bench::new();
    for (value, fill) in [(-9999.0, "-9999"), (1e20, "1e20"), (-1e34, "0xf7f684df"), (9.96921e36, "9.96921e36")] {
        let values = with_gaps(30_000, value);
        bench.put("in", &bytes_of(&values));
        for mode in ["--abs 1e-2", "--noa 1e-3", "--rel 1e-4", "--lossless", "--noa 1e-2 --profile fast"]
            .into_iter()
            .chain(["--noa 1e-2 --profile small", "--abs 1e-2 --profile small --dims 300,100"])
        {
            bench.ok(&format!("compress -qf --frame-bytes 65536 --dtype f32 {mode} --fill {fill} in packed"));
            bench.ok("decompress -qf packed out");
            let back = floats_of(&bench.get("out"));
            for (v, r) in values.iter().zip(&back) {
                assert_eq!(v.to_bits() == value.to_bits(), r.to_bits() == value.to_bits(), "{fill} {mode}");
                assert!((v - r).abs() <= 0.3, "{fill} {mode}: {v} became {r}");
            }
            let report = bench.json("verify --json in packed");
            assert_eq!((&report["kept"], &report["missing_values"]), (&true.into(), &6000.into()), "{fill} {mode}");
            let info = bench.json("inspect --json packed");
            assert_eq!(info["missing"][0]["bits"], format!("{:#010x}", value.to_bits()), "{info}");
            let number = info["missing"][0]["number"].as_f64().unwrap();
            assert_eq!(number as f32, value);
            assert!(mode == "--lossless" || info["chunks"]["masked"].as_u64().unwrap() > 0, "{fill} {mode}: {info}");
        }
    }
    let table = String::from_utf8(bench.ok("inspect packed")).unwrap();
    assert!(table.contains("9.96921e36 (0x7cf00000)") && table.contains("masked"), "{table}");
    bench.ok(
        "compress -qf --dtype f32 --noa 1e-3 --fill -9999 --fill 1e20 --fill 0x7fc00000 --fill 9.96921e36 in packed",
    );
    assert_eq!(bench.json("inspect --json packed")["missing"].as_array().unwrap().len(), 4);
    assert!(bench.json("inspect --json packed")["range"].as_f64().unwrap() <= 20.0);
    let one_more = "--fill -9999 --fill 1e20 --fill 0x7fc00000 --fill 9.96921e36 --fill 7";
    bench.fails(
        &format!("compress --dtype f32 --abs 1 {one_more} in out"),
        "--fill 7: 5 missing values; 4 are possible",
    );
    bench.fails("compress --dtype f32 --abs 1 --fill nothing in out", "--fill nothing");
    bench.fails(
        "compress --dtype f32 --abs 1 --fill 0x7ff8000000000000 in out",
        "0x7ff8000000000000 has more bits than f32",
    );
}

#[test]
fn verify_sees_masks_that_do_not_agree() {
    let bench = Bench::new();
    let mut values = with_gaps(10_000, -9999.0);
    bench.put("in", &bytes_of(&values));
    bench.ok("compress --dtype f32 --abs 1e3 --fill -9999 in packed");
    assert_eq!(bench.json("verify --json in packed")["missing_violations"], 0);
    // Both are well within a bound of 1000; only the masks tell.
    for (at, value) in [(5, -9998.5), (6, -9999.0)] {
        let old = std::mem::replace(&mut values[at], value);
        bench.put("other", &bytes_of(&values));
        values[at] = old;
        let out = bench.run("verify --json other packed");
        let report: Value = serde_json::from_slice(&out.stdout).unwrap();
        assert_eq!((out.status.code(), &report["missing_violations"]), (Some(1), &1.into()), "{at}: {report}");
        assert_eq!(report["first_violation"]["index"], at);
        let table = bench.run("verify other packed").stdout;
        assert!(String::from_utf8_lossy(&table).contains("of 1 the missing values do not agree"));
    }
}

/// A bound that leaves nothing of the data is taken, with a word.
#[test]
fn absurd_bounds_are_told() {
    let bench = Bench::new();
    let values: Vec<f32> = (0..5000).map(|i| (i % 100) as f32).collect();
    bench.put("in", &bytes_of(&values));
    let told = |args: &str| stderr(&bench.run(&format!("compress --dtype f32 -f {args} in packed")));
    let said = |args: &str| told(args).contains("may turn them all into one value");
    for absurd in ["--abs 1e300", "--abs 99", "--abs 1e300 -q"] {
        assert!(said(absurd), "{absurd}");
    }
    for sound in ["--abs 98", "--noa 0.5", "--rel 0.5", "--lossless"] {
        assert!(!said(sound), "{sound}");
    }
    let said = told("--abs 1e300");
    assert!(
        said.contains("in: the values seen are from 0 to 99; a bound of 1e300 may turn them all into one value"),
        "{said}"
    );
}

/// A mark that nobody declared would be blurred, and stretch the range: it is found.
#[test]
fn undeclared_missing_values_are_kept() {
    let bench = Bench::new();
    let found = || {
        let told = bench.ok("inspect --json packed");
        let told: serde_json::Value = serde_json::from_slice(&told).unwrap();
        let missing = told["missing"].as_array().unwrap();
        missing
            .iter()
            .filter(|m| m["found"] == true)
            .filter_map(|m| m["number"].as_f64())
            .map(|v| v as f32)
            .collect::<Vec<_>>()
    };
    let kept = |values: &[f32], mark: f32| {
        bench.ok("decompress -f packed back");
        let back: Vec<f32> =
            bench.get("back").chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        values.iter().zip(&back).all(|(v, r)| (*v == mark) == (*r == mark))
    };
    for value in [-9999.0, -999.0, 1e20, -1e34, 9.96921e36, f32::MAX] {
        let values = with_gaps(20_000, value);
        bench.put("in", &bytes_of(&values));
        for mode in ["--noa 1e-3", "--abs 1e-2", "--rel 1e-3", "--noa 1e-3 --range 20", "--abs 1e-2 --profile small"] {
            // Of several streams, too.
            for frames in ["", "--frame-bytes 16384"] {
                bench.ok(&format!("compress -qf --dtype f32 {mode} {frames} in packed"));
                assert!(kept(&values, value) && found() == [value], "{value} {mode}");
                bench.ok("verify in packed");
            }
            bench.ok(&format!("compress -qf --dtype f32 {mode} --no-fill in packed"));
            assert!(found().is_empty());
        }
        bench.ok("compress -qf --dtype f32 --lossless in packed");
        bench.ok("compress -qf --dtype f32 --ratio 5 in packed");
        assert!(kept(&values, value));
        bench.ok("analyze -q --dtype f32 in");
    }
    // The range is that of the others.
    let range = |args: &str| {
        bench.ok(&format!("compress -qf --dtype f32 --noa 1e-3 {args} in packed"));
        let told = bench.ok("inspect --json packed");
        serde_json::from_slice::<serde_json::Value>(&told).unwrap()["range"].as_f64().unwrap()
    };
    let mut values = with_gaps(20_000, -9999.0);
    values[11] = 1e20;
    values[13..16].fill(-500.0);
    bench.put("in", &bytes_of(&values));
    assert_eq!(range(""), range("--fill -9999 --fill 1e20 --fill -500 --no-fill"));
    // A gap far from where a glance goes.
    let mut values = wave(5 << 20);
    values[3_000_000..3_000_001].fill(-9999.0);
    bench.put("in", &bytes_of(&values));
    bench.ok("compress -qf --dtype f32 --abs 1e-2 in packed");
    assert!(kept(&values, -9999.0) && found() == [-9999.0]);
}

#[test]
fn dimensions_and_boxes() {
    let bench = Bench::new();
    let dims = [20u64, 30, 40];
    let values = wave(20 * 30 * 40);
    bench.put("in", &bytes_of(&values));
    for (args, frames) in [("", 1), ("--frame-bytes 20000", 5), ("--frame-bytes 4", 10)] {
        bench.ok(&format!("compress -qf {args} --dtype f32 --dims 20x30x40 --lossless in packed"));
        let info = bench.json("inspect --json packed");
        assert_eq!((&info["dims"], &info["frames"]), (&serde_json::json!(dims), &frames.into()), "{args}");
        bench.ok("decompress -qf packed out");
        assert_eq!(bench.get("out"), bench.get("in"));
        for (text, start, lens) in [
            ("3:4,5:6,7:8", [3, 5, 7], [4, 6, 8]),
            ("0:20,0:30,0:40", [0, 0, 0], dims),
            (":,29:,:", [0, 29, 0], [20, 1, 40]),
            ("19:1,0:1,39:1", [19, 0, 39], [1; 3]),
            ("1:18,2:0,0:1", [1, 2, 0], [18, 0, 1]),
        ] {
            bench.ok(&format!("decompress -qf --box {text} packed out"));
            let mut expected = Vec::new();
            for i in start[0]..start[0] + lens[0] {
                for j in start[1]..start[1] + lens[1] {
                    let row = ((i * dims[1] + j) * dims[2] + start[2]) as usize;
                    expected.extend_from_slice(&values[row..row + lens[2] as usize]);
                }
            }
            assert_eq!(floats_of(&bench.get("out")), expected, "{args} --box {text}");
        }
        fs::remove_file(bench.path("out")).unwrap();
        bench.fails(
            "decompress --box 3:18,0:1,0:1 packed out",
            "18 elements from 3 on along dimension 0; the array (20x30x40) has 20",
        );
        bench.fails("decompress --box 0:1,0:1,33:8 packed out", "8 elements from 33 on along dimension 2");
        bench.fails("decompress --box 99:,0:1,0:1 packed out", "from 99 on along dimension 0");
        bench.fails("decompress --box 0:1,0:1 packed out", "rank 2");
    }
    bench.fails("decompress --box 3,4,5 packed out", "START:LEN");
    // Leading dimensions of 1 stay, and an array without dimensions is a line.
    bench.ok("compress -qf --frame-bytes 20000 --dtype f32 --dims 1,20,1200 --abs 1e-2 in packed");
    assert_eq!(bench.json("inspect --json packed")["dims"], serde_json::json!([1, 20, 1200]));
    bench.ok("decompress -qf --box 0:1,7:2,5:3 packed out");
    assert_eq!(floats_of(&bench.get("out")).len(), 6);
    bench.ok("compress -qf --frame-bytes 20000 --dtype f32 --lossless in packed");
    bench.ok("decompress -qf --box 23998: packed out");
    assert_eq!(floats_of(&bench.get("out")), values[23_998..]);
    let piped = bench.piped("compress -q --dtype f32 --dims 20x30x40 --abs 1 - -", &bench.get("in")[..90_000]);
    assert!(stderr(&piped).contains("holds 22500 f32 elements; --dims 20x30x40 says 24000"), "{}", stderr(&piped));
    let table = String::from_utf8(bench.ok("inspect packed")).unwrap();
    assert!(!table.contains("dims"), "{table}");
}

#[test]
fn dimensions_and_codecs_that_cannot_be() {
    let bench = Bench::new();
    bench.put("in", &bytes_of(&wave(250)));
    let rank33 = vec!["1"; 33].join("x");
    for (args, part) in [
        ("--dims 5x51", "holds 250 f32 elements; --dims 5x51 says 255"),
        ("--dims 4294967296x4294967296x4", "4294967296x4294967296x4 have more elements than fit in memory"),
        (&format!("--dims {rank33}")[..], "rank 33; 1 to 32 dimensions are possible"),
        ("--dims", "--dims"),
        ("--dims 5x", "lengths such as 64,64,128 or 64x64x128"),
        ("--codec best", "--codec best: codec 'best' is unknown; this library knows 1 (sleek)"),
        ("--codec ratio", "codec 2 (ratio) existed in pre-releases of 0.2 only; codec predict replaces it"),
        ("--profile ratio", "the profile is called small now"),
        ("--profile quick", "[possible values: adaptive, fast, small]"),
    ] {
        bench.fails(&format!("compress --dtype f32 --abs 1 in out {args}"), part);
    }
    for (args, part) in [
        ("--dtype f16 --abs 1 --codec zfp", "codec zfp takes f32, f64, i32, i64; f16 was asked for"),
        ("--dtype f32 --rate 8 --codec sleek", "codec sleek has the modes lossless, abs, noa, rel; rate was asked for"),
    ] {
        bench.fails(&format!("compress {args} in out"), part);
    }
    bench.ok("compress --dtype f32 --abs 1 --codec sleek in packed");
    assert_eq!(bench.json("inspect --json packed")["codec"], "sleek");
    let text = String::from_utf8(bench.ok("h5args --abs 1 --codec sleek")).unwrap();
    assert!(text.contains("abs=1e0,codec=sleek"), "{text}");
}

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
        assert_eq!(report["first_violation"]["index"], 7777);
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
    let refused = [
        ("compress --dtype f32 in out", "--abs"),
        ("compress --lossless in out", "--dtype TYPE is needed"),
        ("decompress --tensor t in out", "--tensor t: in is not"),
        ("compress --dtype f32 --abs 1 --rel 1 in out", "--rel"),
        ("compress --dtype f31 --abs 1 in out", "bf16"),
        ("compress --dtype f32 --abs -1 in out", "-1"),
        ("compress --dtype f32 --abs nan in out", "NaN"),
        ("compress --dtype f32 --abs 1e-3 --range 5 in out", "--range 5"),
        ("compress --dtype f32 --noa 1e-3 --range 0 in out", "range 0"),
        ("compress --dtype f32 --abs 1 --dims 5,5 in out", "250"),
        ("compress --dtype f32 --abs 1 --dims 5by50 in out", "64x64x128"),
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

#[test]
fn damaged_files() {
    let bench = Bench::new();
    bench.put("in", &bytes_of(&wave(20_000)));
    bench.ok("compress --frame-bytes 32768 --dtype f32 --abs 1e-3 in packed");
    let good = bench.get("packed");
    bench.put("empty", b"");
    bench.fails("decompress empty out", "empty");
    bench.fails("decompress in out", "not a SLEEK stream");
    let second = u64::from_le_bytes(good[24..32].try_into().unwrap()) as usize;
    for cut in [1, 40, 64, 200, second - 1, second + 1, second + 64, good.len() - 1] {
        bench.put("cut", &good[..cut]);
        for command in ["decompress cut out", "inspect cut", "verify in cut"] {
            bench.fails(command, "cut");
        }
    }
    for at in [3, 9, 20, 30, 70, second / 2, second + 2, second + 100, good.len() - 1] {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        bench.put("bad", &bad);
        bench.fails("decompress bad out", "bad");
    }
    bench.put("more", &[&good[..], b"and more"].concat());
    bench.fails("decompress more out", &format!("byte {}", good.len()));

    bench.ok("compress --dtype f32 --abs 1e-2 in other");
    bench.put("mixed", &[&good[..second], &bench.get("other")].concat());
    bench.fails("decompress mixed out", "agree");
}

#[test]
fn what_a_failure_leaves_of_an_old_result() {
    let bench = Bench::new();
    bench.put("bad", b"no stream");
    bench.put("out", b"precious");
    bench.fails("decompress --force bad out", "not a SLEEK stream");
    assert_eq!(bench.get("out"), b"precious");
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

/// A limit on file sizes is met as a full disk is.
#[cfg(unix)]
#[test]
fn a_file_that_gets_too_large_leaves_nothing() {
    let bench = Bench::new();
    bench.put("in", &bytes_of(&wave(100_000)));
    let mut command = bench.command("compress --dtype f32 --lossless in out");
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
    assert!(stderr(&out).contains("out: File too large"), "{}", stderr(&out));
    assert_eq!(bench.files(), [bench.path("in")]);
}

#[test]
fn inspect_shows_what_is_inside() {
    let bench = Bench::new();
    bench.put("in", &bytes_of(&[wave(8192), vec![0.5; 8192]].concat()));
    bench.ok("compress --dtype f32 --abs 1e-3 in packed");
    let info = bench.json("inspect --json packed");
    assert_eq!((&info["dtype"], &info["mode"], &info["bound"]), (&"f32".into(), &"abs".into(), &1e-3.into()));
    assert_eq!((&info["chunks"]["constant"], &info["chunks"]["packed"]), (&2.into(), &2.into()));
    let subchunks: u64 = info["subchunks"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
    assert_eq!(subchunks, 64);
    let table = String::from_utf8(bench.ok("inspect packed")).unwrap();
    for part in ["16384 f32", "abs 1e-3", "constant", "50.0 %"] {
        assert!(table.contains(part), "no '{part}' in\n{table}");
    }
    bench.ok("compress -f --dtype f32 --abs 1e-60 in packed");
    let table = String::from_utf8(bench.ok("inspect packed")).unwrap();
    assert!(table.contains("losslessly"), "{table}");
    // Digits of a number that is very small or large are not counted by zeros.
    for (scale, exponent) in [(1e-30f32, Some("e-29")), (1e30, Some("e31")), (1.0, None)] {
        bench.put("in", &bytes_of(&wave(8192).iter().map(|v| v * scale).collect::<Vec<_>>()));
        bench.ok("compress -f --dtype f32 --noa 1e-3 in packed");
        for command in ["inspect packed", "verify in packed"] {
            let table = String::from_utf8(bench.ok(command)).unwrap();
            let range = table.split("of the value range ").nth(1).unwrap().split([':', '\n']).next().unwrap();
            assert!(range.len() < 25 && range.find('e').map(|at| &range[at..]) == exponent, "{range}");
        }
    }
}

#[test]
fn h5args_agree_with_each_other() {
    let bench = Bench::new();
    let json = bench.json("h5args --abs 1e-3 --json");
    let words: Vec<u32> = json["cd_values"].as_array().unwrap().iter().map(|w| w.as_u64().unwrap() as u32).collect();
    assert_eq!(f64::from_bits(u64::from(words[2]) | u64::from(words[3]) << 32), 1e-3);
    let id = &json["filter_id"];
    let text = String::from_utf8(bench.ok("h5args --abs 1e-3")).unwrap();
    let joined = |separator: &str| words.iter().map(u32::to_string).collect::<Vec<_>>().join(separator);
    let n = words.len();
    assert!(text.contains(&format!("UD={id},0,{n},{}", joined(","))), "{text}");
    assert_eq!(text.matches("UD=").count(), 1, "grep takes the argument of h5repack out of {text}");
    assert!(text.contains(&format!("'VAR,{id},{}'", joined(","))), "{text}");
    assert!(text.contains(&format!("compression={id}, compression_opts=({})", joined(", "))), "{text}");
    assert!(text.contains(&format!("cd_values({n}) = ")) && !text.contains(&format!("[{}]", joined(", "))), "{text}");
    for (request, c, fortran, python) in [
        ("--abs 1e-3", "H5Pset_sleek_abs(dcpl, 1e-3);", "call h5pset_sleek_abs_f(dcpl, 1d-3, error)", "abs=1e-3"),
        ("--noa 1e-4", "H5Pset_sleek_noa(dcpl, 1e-4, 0);", "call h5pset_sleek_noa_f(dcpl, 1d-4, error)", "noa=1e-4"),
        (
            "--noa 1e-4 --range 50",
            "H5Pset_sleek_noa(dcpl, 1e-4, 5e1);",
            "call h5pset_sleek_noa_f(dcpl, 1d-4, error, 5d1)",
            "noa=1e-4, range=5e1",
        ),
        ("--lossless", "H5Pset_sleek_lossless(dcpl);", "call h5pset_sleek_lossless_f(dcpl, error)", "lossless=True"),
        (
            "--lossless --profile fast",
            "H5Pset_sleek(dcpl, \"lossless,profile=fast\");",
            "call h5pset_sleek_f(dcpl, \"lossless,profile=fast\", error)",
            "lossless=True, profile=\"fast\"",
        ),
        (
            "--noa 1e-4 --profile small",
            "H5Pset_sleek(dcpl, \"noa=1e-4,profile=small\");",
            "call h5pset_sleek_f(dcpl, \"noa=1e-4,profile=small\", error)",
            "noa=1e-4, profile=\"small\"",
        ),
        (
            "--abs 1e-3 --fill 0x7fc00000 --fill 1e20",
            "H5Pset_sleek(dcpl, \"abs=1e-3,fill=0x7fc00000,fill=1e20\");",
            "call h5pset_sleek_f(dcpl, \"abs=1e-3,fill=0x7fc00000,fill=1e20\", error)",
            "\"abs=1e-3,fill=0x7fc00000,fill=1e20\"",
        ),
        (
            "--noa 1e-4 --range 50 --fill -9999",
            "H5Pset_sleek(dcpl, \"noa=1e-4,range=5e1,fill=-9.999e3\");",
            "call h5pset_sleek_f(dcpl, \"noa=1e-4,range=5e1,fill=-9.999e3\", error)",
            "noa=1e-4, range=5e1, fill=-9.999e3",
        ),
    ] {
        let text = String::from_utf8(bench.ok(&format!("h5args {request}"))).unwrap();
        for line in [c.to_string(), fortran.to_string(), format!("**sleek.h5({python}))")] {
            assert!(text.contains(&line), "{line} is missing: {text}");
        }
    }
    let help = String::from_utf8(bench.ok("h5args --help")).unwrap();
    assert!(help.contains("each HDF5 chunk") && !help.contains("whole array"), "{help}");
    bench.fails("h5args", "--abs");
    bench.fails("h5args --abs inf", "inf");
}

#[cfg(target_os = "linux")]
#[test]
fn doctor_finds_fault_and_cure() {
    let bench = Bench::new();
    // The command as it is installed, and a plugin directory of our own: HDF5 opens every library that it finds in one.
    for dir in ["bin", "lib", "plugins", "bare"] {
        fs::create_dir(bench.path(dir)).unwrap();
    }
    fs::copy(env!("CARGO_BIN_EXE_sleek"), bench.path("bin/sleek")).unwrap();
    for place in ["lib", "plugins"] {
        fs::copy(common::libsleek(), bench.path(place).join("libsleek.so")).unwrap();
    }
    let doctor = |path: PathBuf, variables: &[(&str, &str)]| {
        let mut command = Command::new(bench.path("bin/sleek"));
        command.arg("doctor").env("HDF5_PLUGIN_PATH", path).envs(variables.iter().copied());
        let out = common::output(&mut command);
        (out.status.code(), String::from_utf8_lossy(&out.stdout).into_owned())
    };
    let (code, text) = doctor(bench.path("plugins"), &[]);
    assert!(code == Some(0) && text.contains("All is well") && text.contains("read back within the bound"), "{text}");
    assert!(["adaptive", "fast", "small"].iter().all(|profile| text.contains(&format!("({profile})"))), "{text}");
    let (code, text) = doctor(bench.path("bare"), &[]);
    assert!(code == Some(1) && text.contains("no libsleek.so") && text.contains("NOT FOUND"), "{text}");
    // The joined line keeps what is named and adds the command's own folder.
    let (bare, own) = (bench.path("bare"), fs::canonicalize(bench.path("lib")).unwrap());
    let joined = format!("export HDF5_PLUGIN_PATH={}:{}", bare.display(), own.display());
    assert!(text.contains(&joined), "{text}");
    let (_, text) = doctor(bench.path("plugins"), &[]);
    assert!(text.contains(&format!("export HDF5_PLUGIN_PATH={}", bench.path("plugins").display())), "{text}");
    assert!(!text.contains(&own.join(":").display().to_string()), "{text}");
    // Wheels that bring plugins of their own, as a Python tells of them.
    fs::create_dir(bench.path("wheel")).unwrap();
    let tells = format!("#!/bin/sh\necho netCDF4 {}\n", bench.path("wheel").display());
    fs::write(bench.path("bin/python3"), tells).unwrap();
    fs::set_permissions(bench.path("bin/python3"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let with_python = format!("{}:/usr/bin:/bin", bench.path("bin").display());
    let (_, text) = doctor(bench.path("bare"), &[("PATH", &with_python)]);
    assert!(text.contains(&format!("{joined}:{}", bench.path("wheel").display())), "{text}");
    let (code, text) = doctor(bench.path("missing"), &[]);
    assert!(code == Some(1) && text.contains("does not exist") && text.contains("remove "), "{text}");
    let (code, text) = doctor(bench.path("plugins"), &[("SLEEK_NUM_THREADS", "four"), ("SLEEK_PARAMS", "abs=x")]);
    assert!(code == Some(1) && text.contains("SLEEK_NUM_THREADS is 'four'"), "{text}");
    assert!(text.contains("SLEEK_PARAMS: 'abs=x' needs a number") && !text.contains("please report"), "{text}");
    // Which level of instructions runs, and why.
    let best = sleek::exec::Isa::best().level().name();
    assert!(text.contains(&format!("\nInstructions: {best}")), "{text}");
    for level in sleek::exec::Level::ALL.into_iter().filter(|level| level.is_available()) {
        let (_, text) = doctor(bench.path("plugins"), &[("SLEEK_SIMD", level.name())]);
        let why = if level.name() == best { "" } else { ", as SLEEK_SIMD says; this processor has " };
        assert!(text.contains(&format!("\nInstructions: {}{why}", level.name())), "{text}");
    }
    // A request that is coarser than the one that is tried.
    for request in ["abs=5", "noa=1e-2", "rel=1e-1"] {
        let (code, text) = doctor(bench.path("plugins"), &[("SLEEK_PARAMS", request)]);
        assert!(code == Some(0) && text.contains(&format!("SLEEK_PARAMS: {request}")), "{text}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn doctor_finds_its_own_plugin_as_installed() {
    let of_debian = format!("lib/{}-linux-gnu/hdf5/serial/plugins", std::env::consts::ARCH);
    for place in [&of_debian, "lib64/hdf5/plugins", "lib/hdf5/plugin"] {
        let bench = Bench::new();
        for dir in ["bin", "lib", place] {
            fs::create_dir_all(bench.path(dir)).unwrap();
        }
        fs::copy(env!("CARGO_BIN_EXE_sleek"), bench.path("bin/sleek")).unwrap();
        // make install has a library to link with as well; HDF5 is not to be sent to its folder.
        fs::write(bench.path("lib/libsleek.so"), b"").unwrap();
        let plugin = bench.path(place).join("libsleek.so");
        fs::copy(common::libsleek(), &plugin).unwrap();
        let out = common::output(Command::new(bench.path("bin/sleek")).arg("doctor"));
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        let plugin = fs::canonicalize(plugin).unwrap();
        let line = format!("Plugin of this command: {} (version {})", plugin.display(), sleek::VERSION);
        assert!(text.contains(&line), "{line}\n{text}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn doctor_survives_what_is_no_library() {
    let bench = Bench::new();
    bench.put("libhdf5.so", b"not a library");
    let out = bench.run("doctor --library libhdf5.so");
    assert_eq!(out.status.code(), Some(1));
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(text.contains("libhdf5.so (named by --library)") && text.contains("FAILS"), "{text}");
}
