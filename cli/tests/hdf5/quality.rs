//! The figures that people look at, held against a computation of their own, and their limits.

use serde_json::Value;

use crate::repack::{PYTHON, sleek, sleek_fails, sleek_ok};
use crate::{Place, source, venv_python};

fn quality(place: &Place, arguments: &[&str]) -> String {
    place.run(&venv_python(PYTHON), &[&[source("quality.py").as_str()], arguments].concat())
}

fn json(place: &Place, arguments: &[&str]) -> Value {
    let out = sleek(place, arguments);
    serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&out.stderr)))
}

/// What was found is what numpy computes, to the last digits.
fn assert_agrees(found: &Value, by_numpy: &Value, name: &str) {
    for (key, wanted) in by_numpy.as_object().unwrap() {
        let (found, wanted) = (found[key].as_f64(), wanted.as_f64());
        let near = match (found, wanted) {
            (Some(found), Some(wanted)) => (found - wanted).abs() <= 1e-9 * wanted.abs(),
            (found, wanted) => found == wanted,
        };
        assert!(near, "{name}: {key} is {found:?}, by numpy {wanted:?}");
    }
}

#[test]
fn figures_agree_with_numpy() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    quality(&place, &["make", "old.h5"]);
    for bound in ["0.3", "0.01"] {
        sleek_ok(&place, &["repack", "-q", "--force", "--abs", bound, "old.h5", "new.h5"]);
        let by_numpy: Value = serde_json::from_str(&quality(&place, &["figures", "old.h5", "new.h5"])).unwrap();
        assert!(by_numpy["whole"]["dssim"].as_f64().unwrap() < 1.0, "{by_numpy}");
        let report = json(&place, &["verify", "--quality", "--json", "old.h5", "new.h5"]);
        let datasets = report["datasets"].as_array().unwrap();
        assert_eq!(datasets.len(), 5, "{report}");
        for dataset in datasets {
            let name = dataset["name"].as_str().unwrap();
            assert_agrees(&dataset["quality"], &by_numpy[&name[1..]], name);
        }
    }
}

#[test]
fn limits_that_are_missed_end_with_1() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    quality(&place, &["make", "old.h5"]);
    sleek_ok(&place, &["repack", "-q", "--abs", "0.1", "old.h5", "new.h5"]);
    let report = json(&place, &["verify", "--quality", "--json", "old.h5", "new.h5"]);
    let whole = report["datasets"].as_array().unwrap().iter().find(|d| d["name"] == "/whole").unwrap();
    for (argument, key, likeness) in [
        ("--max-error", "max_error", false),
        ("--mean-error", "mean_absolute_error", false),
        ("--rms", "rms_error", false),
        ("--psnr", "psnr", true),
        ("--pearson", "pearson", true),
        ("--ks", "ks_distance", false),
        ("--ssim", "ssim", true),
        ("--dssim", "dssim", true),
    ] {
        let value = whole["quality"][key].as_f64().unwrap();
        let lack = if likeness { 1.0 - value } else { value };
        let lack = if key == "psnr" { -value } else { lack };
        let limits = [lack + 0.01 * lack.abs(), lack - 0.01 * lack.abs()];
        let limits = limits.map(|lack| {
            if key == "psnr" {
                -lack
            } else if likeness {
                1.0 - lack
            } else {
                lack
            }
        });
        for (limit, code) in limits.iter().zip([0, 1]) {
            let limit = limit.to_string();
            let out = sleek(&place, &["verify", argument, &limit, "old.h5:/whole", "new.h5"]);
            let said = String::from_utf8_lossy(&out.stdout).into_owned();
            assert_eq!(out.status.code(), Some(code), "{argument} {limit}: {said}");
            assert_eq!(said.contains("MISSED"), code == 1, "{argument} {limit}: {said}");
        }
    }
    // Nothing is held to what it cannot have.
    let script = "import h5py, numpy as np\nh5py.File('line.h5', 'w')['t'] = np.sin(np.arange(5000.0))";
    place.run(&venv_python(PYTHON), &["-c", script]);
    sleek_ok(&place, &["repack", "-q", "--abs", "0.1", "line.h5", "small.h5"]);
    sleek_fails(&place, &["verify", "--dssim", "0.9", "line.h5", "small.h5"], "--dssim: nothing");
    sleek_ok(&place, &["verify", "--pearson", "0.9", "line.h5", "small.h5"]);
    sleek_fails(&place, &["verify", ".", "small.h5"], "a folder is named");
}
