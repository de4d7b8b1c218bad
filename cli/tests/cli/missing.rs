//! Missing values, declared and not, and other special values.

use serde_json::Value;

use super::{Bench, bytes_of, floats_of, stderr, wave};

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
        assert_eq!(report["worst"]["index"][0], at);
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
