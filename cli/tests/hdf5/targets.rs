//! `sleek repack` with a target in the place of a bound.

use crate::repack::{PYTHON, python, sleek_fails, sleek_ok};
use crate::{Place, venv_python};

/// The line of a dataset in the table.
pub fn line_of(table: &str, name: &str) -> String {
    table.lines().find(|l| l.starts_with(name)).unwrap().to_owned()
}

/// A ratio, a PSNR in the place of a bound: the table has the bound that it came to, and the file what was
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
    sleek_fails(&place, &["repack", "--size", "1000", "old.h5", "none.h5"], "--size: goes with compress");
    sleek_fails(&place, &["repack", "--dataset", "zz_t=ratio=x", "old.h5", "none.h5"], "'ratio=x' needs a number");
}

/// Numbers of a range that takes no bound lose nothing, and the rest of the file goes on.
#[test]
fn a_range_below_every_bound_loses_nothing() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    let make = "import h5py, numpy as np; a = np.random.default_rng(0).random(20000)\n\
                with h5py.File('tiny.h5', 'w') as f:\n\
                \x20   f.create_dataset('tiny', data=a * 1e-310, chunks=(5000,))\n\
                \x20   f.create_dataset('usual', data=a, chunks=(5000,))\n";
    place.run(&venv_python(PYTHON), &["-c", make]);
    sleek_ok(&place, &["repack", "--psnr", "60", "--even-if-larger", "tiny.h5", "new.h5"]);
    let check = "import h5py; old, new = (h5py.File(name) for name in ('tiny.h5', 'new.h5'))\n\
                 assert (old['tiny'][()] == new['tiny'][()]).all()\n\
                 assert 0 < abs(old['usual'][()] - new['usual'][()]).max() < 1e-2\n";
    place.run(&venv_python(PYTHON), &["-c", check]);
}
