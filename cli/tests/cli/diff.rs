//! `sleek diff`: what it finds is what `verify` finds, and what it draws is there.

use super::{Bench, bytes_of, stderr};

/// A wave over three dimensions with a corner of missing values.
fn field() -> Vec<f32> {
    let at = |i: usize| (i / 2400, i / 60 % 40, i % 60);
    let value = |(z, y, x): (usize, usize, usize)| match y < 5 && x < 5 {
        true => -9999.0,
        false => ((z as f32) * 0.4 + (y as f32) * 0.11).sin() * ((x as f32) * 0.07).cos() * 20.0,
    };
    (0..6 * 40 * 60).map(|i| value(at(i))).collect()
}

#[test]
fn figures_agree_with_verify_and_pictures_show_them() {
    let bench = Bench::new();
    bench.put("in", &bytes_of(&field()));
    bench.ok("compress --dtype f32 --abs 1e-2 --fill -9999 --dims 6,40,60 in packed");
    let verified = bench.json("verify --json in packed");
    let report = bench.json("diff --quality --json in packed");
    let found = &report["fields"][0];
    for key in ["count", "max_error", "rms_error", "error_over_bound", "missing_values", "special_values", "violations"]
    {
        assert_eq!(found[key], verified[key], "{key}");
    }
    assert_eq!((&found["dims"], &found["kept"]), (&serde_json::json!([6, 40, 60]), &true.into()));
    // Every value that counts is in a bin, half of the errors are on either side, and none of them repeats itself.
    let bins: Vec<u64> = found["histogram"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
    assert_eq!(bins.iter().sum::<u64>(), 6 * (40 * 60 - 25));
    let below: u64 = bins[..bins.len() / 2].iter().sum();
    assert!((0.4..0.6).contains(&(below as f64 / bins.iter().sum::<u64>() as f64)), "{bins:?}");
    let ssim = found["ssim"].as_f64().unwrap();
    assert!(ssim > 0.999 && ssim < 1.0, "{ssim}");
    assert_eq!(found["autocorrelation"].as_array().unwrap().len(), 2);
    // A tighter bound is nearer to one.
    bench.ok("compress --dtype f32 --abs 1e-4 --fill -9999 --dims 6,40,60 in tight");
    assert!(bench.json("diff --quality --json in tight")["fields"][0]["ssim"].as_f64().unwrap() > ssim);

    let said = String::from_utf8(bench.ok("diff -q in packed --plot field.svg --at 3,20,30")).unwrap();
    assert!(said.contains("verdict           kept"), "{said}");
    // Three maps of 40 x 60 cells, the field's as that of the restored one but for a few cells.
    let svg = String::from_utf8(bench.get("field.svg")).unwrap();
    assert!(svg.contains("field at [3]: ") && svg.contains("error: blue -bound, orange +bound"), "{svg}");
    assert!((7200..7300).contains(&svg.matches("<rect ").count()), "{}", svg.matches("<rect ").count());
    assert_eq!(svg.matches("#C8C8C8").count(), 3 * 25, "cells without a value");
    // Nothing is fetched from elsewhere.
    assert_eq!(svg.matches("://").count(), 1);
}

#[test]
fn lines_lossless_and_broken() {
    let bench = Bench::new();
    let line: Vec<f32> = (0..50_000).map(|i| (i as f32 * 1e-3).sin()).collect();
    bench.put("in", &bytes_of(&line));
    bench.ok("compress --dtype f32 --rel 1e-3 in packed");
    bench.ok("diff -q in packed --plot line.svg");
    let svg = String::from_utf8(bench.get("line.svg")).unwrap();
    assert!(svg.contains("around the worst element") && svg.matches("<polyline ").count() >= 5, "{svg}");
    let rel = bench.json("diff --json in packed");
    assert!(rel["fields"][0]["error_over_bound"].as_f64().unwrap() <= 1.0);
    // The same array by other dimensions is shown as a slice.
    bench.ok("diff -q in packed --dims 500x100 --plot slice.svg");
    assert!(String::from_utf8(bench.get("slice.svg")).unwrap().contains("restored"));
    bench.ok("compress --dtype f32 --lossless in exact");
    let same = bench.json("diff --quality --json in exact");
    assert_eq!((&same["fields"][0]["max_error"], &same["fields"][0]["ssim"]), (&0.0.into(), &1.0.into()));
    bench.ok("diff -q in exact --plot exact.svg");

    let mut other = line.clone();
    other[777] += 0.5;
    bench.put("other", &bytes_of(&other));
    let out = bench.run("diff -q other packed --plot broken.svg");
    assert_eq!(out.status.code(), Some(1), "{}", stderr(&out));
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(said.contains("BROKEN in 1 of 50000 elements") && said.contains("[777]"), "{said}");
    assert!(String::from_utf8(bench.get("broken.svg")).unwrap().contains("1 beyond"));
    let mut gap = line;
    gap[5] = f32::NAN;
    bench.put("gap", &bytes_of(&gap));
    assert_eq!(bench.run("diff gap packed").status.code(), Some(1));
}

#[test]
fn what_cannot_be_compared_is_said() {
    let bench = Bench::new();
    bench.put("in", &bytes_of(&field()));
    bench.put("short", &bytes_of(&field()[..100]));
    bench.put("empty", b"");
    bench.ok("compress --dtype f32 --abs 1e-2 --fill -9999 --dims 6,40,60 in packed");
    bench.ok("compress --dtype f32 --abs 1e-2 empty nothing");
    bench.fails("diff in packed --plot out.png", "ends in .svg");
    bench.fails("diff in packed --dims 3,3", "--dims 3x3 says 9");
    bench.fails("diff in packed --at 6,0,0", "[6, 0, 0]");
    bench.fails("diff in packed --at 1", "[1]");
    bench.fails("diff short packed", "restores more bytes");
    bench.fails("diff empty nothing", "holds nothing");
    bench.fails("diff in in", "not a SLEEK stream");
    bench.fails("diff in none", "none");
    bench.put("out.svg", b"old");
    bench.fails("diff in packed --plot out.svg", "--force replaces it");
    assert_eq!(bench.get("out.svg"), b"old");
}
