//! `sleek repack` with a target in the place of a bound.

use std::fs;

use crate::repack::{PYTHON, python, sleek, sleek_fails, sleek_ok};
use crate::{Place, common, venv_python};

/// The line of a dataset in the table.
pub fn line_of(table: &str, name: &str) -> String {
    table.lines().find(|l| l.starts_with(name)).unwrap().to_owned()
}

/// A ratio, a size, a PSNR in the place of a bound: the table has the bound that it came to, and the file what was
/// asked for.
#[test]
fn targets_in_the_place_of_a_bound() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    python(&place, PYTHON, &["make", "old.h5"]);
    let table = sleek_ok(&place, &["repack", "--ratio", "8", "--verify", "old.h5", "new.h5"]);
    let value = |line: &str, column: usize| line.split_whitespace().nth(column).unwrap().parse::<f64>().unwrap();
    for name in ["/zz_t ", "/aa_big ", "/whole ", "/unlimited "] {
        let line = line_of(&table, name);
        let (words, ratio) = (line.split("  abs ").nth(1).unwrap(), value(&line, 4));
        assert!((8.0..8.8).contains(&ratio) && words.ends_with(": for --ratio 8"), "{line}");
        // The bound by itself gives the same dataset.
        let request = format!("{}=abs={}", name.trim(), words.split(':').next().unwrap());
        let again = sleek_ok(&place, &["repack", "--force", "--dataset", &request, "old.h5", "again.h5"]);
        assert_eq!(value(&line_of(&again, name), 4), ratio, "{request}");
    }
    sleek_ok(&place, &["repack", "-q", "--size", "600000", "old.h5", "sized.h5"]);
    let size = fs::metadata(place.path("sized.h5")).unwrap().len();
    assert!((500_000..=600_000).contains(&size), "{size}");
    let requests = [
        "--dataset",
        "zz_t=psnr=60",
        "--dataset",
        "aa_big=profile=small,ratio=30",
        "--dataset",
        "whole=rel=0.00390625",
    ];
    let table = sleek_ok(&place, &[&["repack", "--verify"], &requests[..], &["old.h5", "three.h5"]].concat());
    assert!(line_of(&table, "/whole ").contains("rel 0.0039"), "{table}");
    let psnr =
        line_of(&table, "/zz_t ").split("PSNR ").nth(1).unwrap().split(' ').next().unwrap().parse::<f64>().unwrap();
    assert!((60.0..61.0).contains(&psnr), "{table}");
    assert!((30.0..33.0).contains(&value(&line_of(&table, "/aa_big "), 4)), "{table}");
    sleek_fails(&place, &["repack", "--ratio", "1e9", "old.h5", "none.h5"], "cannot be met");
    sleek_fails(&place, &["repack", "--size", "1000", "old.h5", "none.h5"], "--size 1000: what stays exact has");
    sleek_fails(&place, &["repack", "--dataset", "zz_t=ratio=x", "old.h5", "none.h5"], "'ratio=x' needs a number");
}

/// The first try at a size may miss it by little: then it is tried again. What cannot be met names the nearest.
#[test]
fn sizes_are_met() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    python(&place, PYTHON, &["make", "old.h5"]);
    for size in (200_000..620_000).step_by(if common::short() { 90_000 } else { 30_000 }) {
        sleek_ok(&place, &["repack", "-qf", "--size", &size.to_string(), "old.h5", "sized.h5"]);
        let found = fs::metadata(place.path("sized.h5")).unwrap().len();
        assert!((size * 8 / 10..=size).contains(&found), "{size}: {found}");
    }
    let out = sleek(&place, &["repack", "-qf", "--size", "78000", "old.h5", "none.h5"]);
    let message = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(2), "{message}");
    let nearest = message.trim_end().rsplit("the nearest that can be met is --size ").next().unwrap();
    assert!(message.contains("--size 78000: cannot be met: /") && nearest.parse::<u64>().is_ok(), "{message}");
}
