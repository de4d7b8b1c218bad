//! Files there and back in every mode, several streams in one file, and what the summary tells.

use super::{Bench, bytes_of, floats_of, max_error, stderr, wave};

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
        assert_eq!((&info["profile"], &info["codec"]), (&"small".into(), &"interp".into()), "{info}");
        assert_eq!(bench.json("verify --json in packed")["kept"], true);
        sizes.push(bench.get("packed").len());
    }
    let [line, cube, same_cube, sheet] = sizes[..] else { panic!("{sizes:?}") };
    assert!(same_cube - cube < 100 && cube < line && sheet < line && cube != sheet, "{sizes:?}");
}

/// As other compressors have it: the compressed file stands beside the array, and loses its ending when it is restored.
#[test]
fn names_by_default() {
    let bench = Bench::new();
    let input = bytes_of(&wave(5000));
    bench.put("t.f32", &input);
    bench.ok("compress --abs 1e-2 t.f32");
    assert!(bench.get("t.f32.sleek").len() < input.len() / 2);
    bench.fails("compress --abs 1e-2 t.f32", "t.f32.sleek exists");
    bench.fails("decompress t.f32.sleek", "t.f32 exists");
    bench.fails("decompress t.f32", "OUT: is needed, as t.f32 does not end in .sleek");
    std::fs::rename(bench.path("t.f32"), bench.path("before")).unwrap();
    bench.ok("decompress t.f32.sleek");
    assert!(max_error(&floats_of(&input), &floats_of(&bench.get("t.f32"))) <= 1e-2);
    // The name that is left says what is written.
    bench.ok("decompress t.f32.sleek t.npy");
    bench.ok("compress --lossless t.npy");
    let array = bench.get("t.npy");
    std::fs::remove_file(bench.path("t.npy")).unwrap();
    bench.ok("decompress t.npy.sleek");
    assert!(bench.get("t.npy") == array);
    // A pipe goes on as a pipe.
    let packed = bench.piped("compress --dtype f32 --lossless -", &input).stdout;
    assert!(bench.piped("decompress -", &packed).stdout == input);
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
    // What is said of a process counts what its parent had when it was made: this one has the data of other tests.
    if std::env::var_os("SLEEK_TEST_ALONE").is_none() {
        let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
        alone.args(["--exact", "streams::a_small_file_takes_little_memory"]).env("SLEEK_TEST_ALONE", "1");
        assert!(crate::common::run(&mut alone).contains("1 passed"));
        return;
    }
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
