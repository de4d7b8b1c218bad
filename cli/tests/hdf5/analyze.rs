//! `sleek analyze` on an HDF5 file and on plain bytes.

use std::fs;

use serde_json::Value;

use crate::{Place, common, source, venv_python};

fn analyze(place: &Place, arguments: &[&str]) -> String {
    common::run(place.command(env!("CARGO_BIN_EXE_sleek")).arg("analyze").args(arguments))
}

fn json(place: &Place, arguments: &[&str]) -> Value {
    serde_json::from_str(&analyze(place, &[&["--json", "-q"], arguments].concat())).unwrap()
}

/// A wave with noise of standard deviation 0.01.
fn noisy(n: usize) -> Vec<f32> {
    let mut state = 1u64;
    let mut uniform = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut noise = move || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
    (0..n).map(|i| ((i as f64 * 0.01).sin() * 5.0 + 0.01 * noise()) as f32).collect()
}

fn put(place: &Place, name: &str, values: &[f32]) {
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    fs::write(place.path(name), bytes).unwrap();
}

#[test]
fn bounds_of_plain_bytes() {
    let Some(place) = Place::with(&[]) else { return };
    put(&place, "field.f32", &noisy(200_000));
    let report = json(&place, &["--dtype", "f32", "field.f32"]);
    assert!(report["digits"].is_null() && report["advice"].is_null(), "{report}");
    let rows = report["rows"].as_array().unwrap();
    let of_mode = |mode: &str| rows.iter().filter(|r| r["mode"] == mode).cloned().collect::<Vec<_>>();
    assert_eq!(of_mode("lossless").len(), 1);
    for mode in ["noa", "rel"] {
        let rows = of_mode(mode);
        assert!(rows.len() > 4, "{mode}");
        for pair in rows.windows(2) {
            let falls = |key: &str| pair[1][key].as_f64().unwrap() < pair[0][key].as_f64().unwrap();
            assert!(falls("bound") && falls("ratio") && falls("rms_error"), "{pair:?}");
        }
    }
    for row in of_mode("noa") {
        assert!(row["max_error"].as_f64().unwrap() <= row["abs_bound"].as_f64().unwrap(), "{row}");
    }
    let table = analyze(&place, &["--dtype", "f32", "field.f32"]);
    assert!(
        table.contains("No bound is advised") && table.contains("sleek compress --dtype f32 --lossless"),
        "{table}"
    );
    let is_text = |l: &str| ["  sleek", "  h5repack", "No bound"].iter().any(|start| l.starts_with(start));
    let too_wide = |l: &&str| l.chars().count() > 80 && !is_text(l);
    assert_eq!(table.lines().find(too_wide), None);
}

#[test]
fn digits_and_missing_values() {
    let Some(place) = Place::with(&[]) else { return };
    let smooth: Vec<f32> = (0..100_000).map(|i| (f64::from(i) * 0.01).sin() as f32).collect();
    put(&place, "smooth.f32", &smooth);
    assert!(json(&place, &["--dtype", "f32", "smooth.f32"])["digits"].is_null());
    let rounded: Vec<f32> = smooth.iter().map(|v| (f64::from(*v) * 500.0).round() as f32 / 500.0).collect();
    put(&place, "rounded.f32", &rounded);
    let digits = &json(&place, &["--dtype", "f32", "rounded.f32"])["digits"];
    let spacing = digits["spacing"].as_f64().unwrap();
    assert!(spacing == 1e-3 && digits["row"]["bound"] == 4e-4, "{digits}");
    put(&place, "constant.f32", &[7.0; 10_000]);
    assert_eq!(json(&place, &["--dtype", "f32", "constant.f32"])["rows"].as_array().unwrap().len(), 1);
    // A mark for missing values does not count, named or not.
    let rounded = |v: &f32| (f64::from(*v) * 500.0).round() as f32 / 500.0;
    let marked: Vec<f32> =
        noisy(50_000).iter().enumerate().map(|(i, v)| if i % 5000 < 250 { 1e10 } else { rounded(v) }).collect();
    put(&place, "marked.f32", &marked);
    let table = analyze(&place, &["--dtype", "f32", "marked.f32"]);
    assert!(table.contains("without the missing 1e10") && !table.contains("--fill"), "{table}");
    let table = analyze(&place, &["--dtype", "f32", "--fill", "1e10", "marked.f32"]);
    assert!(table.contains("without the missing 1e10") && table.contains(" --fill 1e10 marked.f32 "), "{table}");
    let range = json(&place, &["--dtype", "f32", "--fill", "1e10", "marked.f32"])["value_range"].as_f64().unwrap();
    assert!((10.0..10.2).contains(&range), "{range}");
}

/// The column `smallest` is what profile `small` makes of the field with its dimensions.
#[test]
fn the_smallest_is_that_of_profile_small() {
    let Some(place) = Place::with(&[]) else { return };
    let value = |i: u32| (f64::from(i % 400) * 0.02).sin() + (f64::from(i / 400) * 0.05).cos();
    put(&place, "sheet.f32", &(0..400 * 300).map(|i| value(i) as f32).collect::<Vec<_>>());
    let (of_sheet, of_line) = (["--dtype", "f32", "--dims", "300x400", "sheet.f32"], ["--dtype", "f32", "sheet.f32"]);
    let report = json(&place, &of_sheet);
    assert_eq!(report["sample_bytes"], 4 * 400 * 300, "all of it");
    assert!(analyze(&place, &of_sheet).contains("small: ratio of profile small"));
    let of_line = json(&place, &of_line);
    let rows = |report: &Value| report["rows"].as_array().unwrap().clone();
    let mut checked = 0;
    for (row, line) in rows(&report).iter().zip(rows(&of_line)).filter(|(row, _)| row["mode"] == "noa") {
        let bound = row["bound"].as_f64().unwrap().to_string();
        let request = ["compress", "-qf", "--dtype", "f32", "--dims", "300x400", "--noa", &bound];
        let files = ["--profile", "small", "sheet.f32", "sheet.slk"];
        place.run(env!("CARGO_BIN_EXE_sleek"), &[&request[..], &files].concat());
        let bytes = fs::metadata(place.path("sheet.slk")).unwrap().len();
        let smallest = row["smallest_ratio"].as_f64().unwrap();
        assert!((smallest * bytes as f64 / 480_000.0 - 1.0).abs() < 0.01, "{row}: {bytes} bytes");
        // Where next to nothing is left a shape tells nothing.
        let line = line["smallest_ratio"].as_f64().unwrap();
        assert!(row["bound"].as_f64().unwrap() > 0.05 || smallest > line, "{row}: {line} as a line");
        checked += 1;
    }
    assert!(checked > 4, "{report}");
}

#[test]
fn a_dataset_of_hdf5_and_its_commands() {
    let python = venv_python("venv-h5py-1.14");
    let Some(place) = Place::with(&["h5repack", "h5dump", &python]) else { return };
    place.run(&python, &[&source("repack.py"), "make", "file.h5"]);
    let several = place.attempt(env!("CARGO_BIN_EXE_sleek"), &["analyze", "file.h5"]);
    let message = String::from_utf8_lossy(&several.stderr).into_owned();
    assert!(several.status.code() == Some(2) && message.contains("\n  file.h5:/zz_t ("), "{message}");
    for (field, part) in [
        ("file.h5:/none", "/none: there is no such variable; there are /zz_t"),
        ("file.h5:text", "strings"),
        ("nothing.h5", "nothing.h5"),
    ] {
        let out = place.attempt(env!("CARGO_BIN_EXE_sleek"), &["analyze", field]);
        let message = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(out.status.code() == Some(2) && message.contains(part), "{message}");
    }
    let report = json(&place, &["file.h5:whole"]);
    assert_eq!((&report["missing"][0], &report["dtype"]), (&(-9999.0).into(), &"f32".into()));
    // The commands that it prints are right as they are.
    let table = analyze(&place, &["file.h5:/zz_t"]);
    let printed: Vec<&str> =
        table.lines().filter(|l| l.starts_with("  sleek repack") || l.starts_with("  h5repack")).collect();
    assert_eq!(printed.len(), 2, "{table}");
    for line in printed {
        let words: Vec<&str> = line.split_whitespace().collect();
        let program = if words[0] == "sleek" { env!("CARGO_BIN_EXE_sleek") } else { words[0] };
        let force: &[&str] = if words[0] == "sleek" { &["--force", "--even-if-larger"] } else { &[] };
        place.run(program, &[&words[1..], force].concat());
        let filters = place.run("h5dump", &["-pH", "-d", "/zz_t", "new.h5"]);
        assert_eq!(filters.matches("FILTER_ID 47474").count(), 1, "{line}");
    }
}
