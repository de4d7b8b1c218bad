//! `sleek diff`: what it finds is what `verify` finds, and what it draws is there.

use std::collections::BTreeSet;

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

/// The colours of a PNG file, and how many columns and rows it has.
fn pixels(bytes: &[u8]) -> (u32, u32, Vec<[u8; 3]>) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
    let mut data = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut data).unwrap();
    (info.width, info.height, data.as_chunks::<3>().0.to_vec())
}

#[test]
fn figures_agree_with_verify_and_pictures_show_them() {
    let bench = Bench::new();
    bench.put("in", &bytes_of(&field()));
    bench.ok("compress --dtype f32 --abs 1e-2 --fill -9999 --dims 6,40,60 in packed");
    let verified = bench.json("verify --json in packed");
    let report = bench.json("diff --json in packed");
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
    assert!(found["spectrum"]["field"].as_array().unwrap().len() > 8);
    // A tighter bound is nearer to one.
    bench.ok("compress --dtype f32 --abs 1e-4 --fill -9999 --dims 6,40,60 in tight");
    assert!(bench.json("diff --json in tight")["fields"][0]["ssim"].as_f64().unwrap() > ssim);

    bench.ok("diff in packed --plot light.png");
    bench.ok("diff in packed --plot dark.png --dark --at 0,0,0");
    let (light, dark) = (pixels(&bench.get("light.png")), pixels(&bench.get("dark.png")));
    assert_eq!((light.0, light.1), (dark.0, dark.1));
    assert_eq!((light.2[0], dark.2[0]), ([255; 3], [0x16, 0x18, 0x1c]));
    assert!(light.2.iter().collect::<BTreeSet<_>>().len() > 500, "maps have many colours");
    let svg = String::from_utf8(bench.ok("diff -q in packed --plot field.svg --at 3,20,30")).unwrap();
    assert!(svg.contains("verdict           kept"), "{svg}");
    let svg = String::from_utf8(bench.get("field.svg")).unwrap();
    assert!(svg.contains(">field at [3]<") && svg.matches("<image ").count() == 6, "{svg}");
    bench.ok("diff in packed --plot page.html");
    let page = String::from_utf8(bench.get("page.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("prefers-color-scheme:dark"));
    // Nothing is fetched from elsewhere.
    assert_eq!(page.matches("://").count(), page.matches("xmlns=\"http://www.w3.org/2000/svg\"").count());
    assert_eq!(page.matches("href=\"").count(), page.matches("href=\"data:image/png;base64,").count());
}

#[test]
fn lines_lossless_and_broken() {
    let bench = Bench::new();
    let line: Vec<f32> = (0..50_000).map(|i| (i as f32 * 1e-3).sin()).collect();
    bench.put("in", &bytes_of(&line));
    bench.ok("compress --dtype f32 --rel 1e-3 in packed");
    bench.ok("diff -q in packed --plot line.svg");
    let svg = String::from_utf8(bench.get("line.svg")).unwrap();
    assert!(svg.contains("around the worst element") && !svg.contains("<image"), "{svg}");
    let rel = bench.json("diff --json in packed");
    assert!(rel["fields"][0]["error_over_bound"].as_f64().unwrap() <= 1.0);
    // The same array by other dimensions is shown as a slice.
    bench.ok("diff -q in packed --dims 500x100 --plot slice.svg");
    assert_eq!(String::from_utf8(bench.get("slice.svg")).unwrap().matches("<image ").count(), 6);
    bench.ok("compress --dtype f32 --lossless in exact");
    let same = bench.json("diff --json in exact");
    assert_eq!((&same["fields"][0]["max_error"], &same["fields"][0]["ssim"]), (&0.0.into(), &1.0.into()));
    bench.ok("diff -q in exact --plot exact.png");

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
    bench.fails("diff in packed --plot out.jpg", ".png, .svg or .html");
    bench.fails("diff in packed --dims 3,3", "--dims 3x3 says 9");
    bench.fails("diff in packed --at 6,0,0", "[6, 0, 0]");
    bench.fails("diff in packed --at 1", "[1]");
    bench.fails("diff short packed", "restores more bytes");
    bench.fails("diff empty nothing", "holds nothing");
    bench.fails("diff in in", "not a SLEEK stream");
    bench.fails("diff in none", "none");
    bench.fails("diff in packed --dark", "--plot");
    bench.put("out.png", b"old");
    bench.fails("diff in packed --plot out.png", "--force replaces it");
    assert_eq!(bench.get("out.png"), b"old");
}
