//! Files there and back in every mode, several streams in one file, and what the summary tells.

use super::{Bench, bytes_of, floats_of, max_error, stderr, wave};

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
