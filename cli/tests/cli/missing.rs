//! Missing values, declared and not, and other special values.

use serde_json::Value;

use super::{Bench, bytes_of, floats_of, wave};

/// A wave around 250 with `value` in every fifth element.
fn with_gaps(n: usize, value: f32) -> Vec<f32> {
    wave(n).into_iter().enumerate().map(|(i, v)| if i % 5 == 0 { value } else { v }).collect()
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

/// Named or not, missing values come back bit for bit, nothing else comes back equal to one, and the range is that of
/// the others, of several streams too.
#[test]
fn missing_values_come_back_exactly() {
    let bench = Bench::new();
    for (value, fill) in [(-9999.0, "-9999"), (-1e34, "0xf7f684df"), (f32::MAX, "0x7f7fffff")] {
        let values = with_gaps(20_000, value);
        bench.put("in", &bytes_of(&values));
        for mode in ["--abs 1e-2 --profile fast", "--noa 1e-3 --frame-bytes 16384", "--rel 1e-4 --profile small"] {
            for (named, found) in [(format!("--fill {fill}"), false), (String::new(), true)] {
                bench.ok(&format!("compress -qf --dtype f32 {mode} {named} in packed"));
                bench.ok("decompress -qf packed out");
                for (v, r) in values.iter().zip(floats_of(&bench.get("out"))) {
                    assert_eq!(v.to_bits() == value.to_bits(), r.to_bits() == value.to_bits(), "{fill} {mode}");
                    assert!((v - r).abs() <= 0.3, "{fill} {mode}: {v} became {r}");
                }
                let report = bench.json("verify --json in packed");
                assert_eq!((&report["kept"], &report["missing_values"]), (&true.into(), &4000.into()), "{fill} {mode}");
                let info = bench.json("inspect --json packed");
                assert_eq!(info["missing"][0]["bits"], format!("{:#010x}", value.to_bits()), "{info}");
                assert_eq!(info["missing"][0]["found"] == true, found, "{info}");
                let range = info["range"].as_f64().unwrap();
                assert!(range <= 20.0 && (range > 0.0 || !mode.starts_with("--noa")), "{info}");
            }
        }
        bench.ok("compress -qf --dtype f32 --abs 1e-2 --no-fill in packed");
        assert_eq!(bench.json("inspect --json packed")["missing"].as_array().map(Vec::len).unwrap_or(0), 0);
    }
    let four = "--fill -9999 --fill 1e20 --fill 0x7fc00000 --fill 9.96921e36";
    bench.ok(&format!("compress -qf --dtype f32 --noa 1e-3 {four} in packed"));
    assert_eq!(bench.json("inspect --json packed")["missing"].as_array().unwrap().len(), 4);
    let table = String::from_utf8(bench.ok("inspect packed")).unwrap();
    assert!(table.contains("9.96921e36 (0x7cf00000)"), "{table}");
    for (fill, part) in [
        (&format!("{four} --fill 7")[..], "--fill 7: 5 missing values; 4 are possible"),
        ("--fill nothing", "--fill nothing"),
        ("--fill 0x7ff8000000000000", "0x7ff8000000000000 has more bits than f32"),
    ] {
        bench.fails(&format!("compress --dtype f32 --abs 1 {fill} in new"), part);
    }
    // A gap far from where a glance goes.
    let mut values = wave(5 << 20);
    values[3_000_000] = -9999.0;
    bench.put("in", &bytes_of(&values));
    bench.ok("compress -qf --dtype f32 --abs 1e-2 in packed");
    assert_eq!(bench.json("inspect --json packed")["missing"][0]["number"], -9999.0);
}
