//! Verdicts that are true: of files that differ in anything at all, of damage, of figures, and of losses before.

use std::fs;
use std::os::unix::process::CommandExt;

use sleek::{Bound, DType, Params};

use crate::repack::{PYTHON, sleek, sleek_ok};
use crate::{Place, common, h5repack_argument, source, venv_python};

fn python(place: &Place, arguments: &[&str]) -> String {
    place.run(&venv_python(PYTHON), &[&[source("verdicts.py").as_str()], arguments].concat())
}

/// Exit code and what is said.
fn run(place: &Place, arguments: &[&str]) -> (Option<i32>, String) {
    let out = sleek(place, arguments);
    (out.status.code(), String::from_utf8_lossy(&[out.stdout, out.stderr].concat()).into_owned())
}

#[test]
fn verify_sees_any_difference_of_types_shapes_and_names() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    let names = python(&place, &["differ", "."]);
    assert_eq!(names.lines().count(), 22);
    for (n, name) in names.lines().enumerate() {
        let [a, b] = ["a", "b"].map(|side| format!("{n}{side}.h5"));
        let (code, said) = run(&place, &["verify", &a, &b]);
        assert!(code == Some(1) && said.contains("/x      BROKEN"), "{name}: {code:?} {said}");
        match name {
            "byte order" => {
                assert!(said.contains("has little-endian f32, in the second file big-endian f32"), "{said}");
            }
            "character set" | "character set of a part" => {
                assert!(said.contains("has strings in ASCII, in the second file in UTF-8"), "{said}");
            }
            _ => {}
        }
        fs::copy(place.path(&a), place.path("copy.h5")).unwrap();
        let (code, said) = run(&place, &["verify", &a, "copy.h5"]);
        assert!(code == Some(0) && said.contains("verdict kept"), "{name}: {code:?} {said}");
    }
}

#[test]
fn damage_breaks_a_dataset_and_stops_nothing() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    python(&place, &["field", "old.h5"]);
    sleek_ok(&place, &["repack", "-q", "--abs", "1e-3", "old.h5", "new.h5"]);
    for dataset in ["a", "texts"] {
        python(&place, &["damage", "new.h5", dataset, "3"]);
    }
    let (code, said) = run(&place, &["verify", "old.h5", "new.h5"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("/a      BROKEN        cannot be read: second file: "), "{said}");
    assert!(said.contains("/b      within bound") && said.contains("/texts  BROKEN        cannot be read"), "{said}");
    // Two damaged files are not the same.
    fs::copy(place.path("new.h5"), place.path("again.h5")).unwrap();
    let (code, said) = run(&place, &["verify", "new.h5", "again.h5"]);
    assert!(code == Some(1) && said.contains("first file") && said.contains("1 identical, 2 BROKEN"), "{said}");
    let (code, said) = run(&place, &["test", "new.h5"]);
    assert!(code == Some(1) && said.contains("DAMAGED: /a, chunk at [30000]"), "{said}");
    assert!(said.contains("DAMAGED: /texts, chunk at [3000]"), "{said}");
}

#[test]
fn coded_strings_are_tested_by_their_checksums() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    python(&place, &["strings", "s.h5"]);
    let (code, said) = run(&place, &["test", "s.h5"]);
    assert!(code == Some(0) && said.contains("but for the checksums of 5 of 5 chunks"), "{said}");
    python(&place, &["damage", "s.h5", "texts", "2"]);
    let (code, said) = run(&place, &["test", "s.h5"]);
    assert!(code == Some(1) && said.contains("DAMAGED: /texts, chunk at [2000]"), "{said}");
}

#[test]
fn a_file_of_a_newer_hdf5_is_not_damaged() {
    let Some(place) = Place::with(&[&venv_python(PYTHON), &venv_python("venv-h5py-2")]) else { return };
    place.run(&venv_python("venv-h5py-2"), &[&source("verdicts.py"), "newer", "new.h5"]);
    let old = crate::sparse::libraries().into_iter().find(|file| file.to_string_lossy().contains(PYTHON)).unwrap();
    let (code, said) = run(&place, &["test", "--library", old.to_str().unwrap(), "new.h5"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("not tested: needs a newer HDF5") && !said.contains("DAMAGED"), "{said}");
    python(&place, &["field", "old.h5"]);
    sleek_ok(&place, &["decompress", "--library", old.to_str().unwrap(), "old.h5:/a", "a.f32"]);
    assert_eq!(fs::metadata(place.path("a.f32")).unwrap().len(), 400_000);
}

#[test]
fn a_constant_meets_no_correlation() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    python(&place, &["constant", "old.h5", "new.h5"]);
    let (code, said) = run(&place, &["verify", "--pearson", "0.5", "old.h5", "new.h5"]);
    assert!(code == Some(1) && said.contains("--pearson 0.5 is missed"), "{said}");
}

#[test]
fn attributes_and_table_tell_every_loss() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    python(&place, &["field", "0.h5"]);
    let step = |from: &str, arguments: &[&str], to: &str| {
        let all = [&["repack", "--force", "--even-if-larger", "-v", "/a"], arguments, &[from, to]].concat();
        (sleek_ok(&place, &all), python(&place, &["losses", to, "/a"]).trim().to_owned())
    };
    let (table, told) = step("0.h5", &["--rel", "1e-2"], "rel.h5");
    assert!(told == "rel=0.01 unknown 0.01" && !table.contains("whose errors stay"), "{told}\n{table}");
    for (from, first, arguments, told_then) in [
        ("rel.h5", "rel=0.01", ["--abs", "5"], "rel=0.01, abs=5 unknown 5.0"),
        ("rel.h5", "rel=0.01", ["--rel", "3e-2"], "rel=0.01, rel=0.03 unknown 0.03"),
        ("rel.h5", "rel=0.01", ["--abs", "1e-4"], "rel=0.01, abs=0.0001 unknown 0.0001"),
    ] {
        let (table, told) = step(from, &arguments, "next.h5");
        assert!(table.contains(&format!("written by SLEEK {first}, whose errors stay in it")), "{table}");
        assert_eq!(told, told_then);
    }
    let (_, told) = step("0.h5", &["--abs", "0.125"], "abs.h5");
    assert_eq!(told, "abs=0.125 0.125 0.125");
    let (table, told) = step("abs.h5", &["--rel", "3e-2"], "next.h5");
    assert!(told == "abs=0.125, rel=0.03 unknown 0.03" && table.contains("written by SLEEK abs=0.125"), "{told}");
    step("0.h5", &["--codec", "zfp", "--rate", "8"], "rate.h5");
    let (table, told) = step("rate.h5", &["--abs", "5"], "next.h5");
    assert!(told.starts_with("rate=8, abs=5 unknown") && table.contains("written by SLEEK rate=8"), "{told}");
    // Where the data do not change, neither does what is told of them.
    fs::copy(place.path("abs.h5"), place.path("pass.h5")).unwrap();
    for _ in 0..12 {
        let (_, told) = step("pass.h5", &["--abs", "0.125"], "next.h5");
        assert_eq!(told, "abs=0.125 0.125 0.125");
        fs::rename(place.path("next.h5"), place.path("pass.h5")).unwrap();
    }
}

/// Without the filter nothing else says what was lost.
#[test]
fn what_is_undone_is_held_to_the_losses_that_its_attributes_tell() {
    let Some(place) = Place::with(&["h5repack", &venv_python(PYTHON)]) else { return };
    python(&place, &["field", "0.h5"]);
    let pass = |from: &str, arguments: &[&str], to: &str| {
        sleek_ok(&place, &[&["repack", "-q", "--force"], arguments, &[from, to]].concat());
    };
    let judged = |old: &str, new: &str, code: i32, of_a: &str| {
        let (found, said) = run(&place, &["verify", old, new]);
        assert!(found == Some(code) && said.contains(&format!("/a      {of_a}")), "{old} {new}: {found:?} {said}");
    };
    for (bound, words) in [("--abs=0.125", "abs=0.125"), ("--rel=1e-3", "rel=0.001"), ("--noa=1e-3", "noa=0.001")] {
        pass("0.h5", &[bound], "small.h5");
        sleek_ok(&place, &["decompress", "-q", "--force", "small.h5", "plain.h5"]);
        pass("small.h5", &["--filter", "none"], "again.h5");
        for undone in ["plain.h5", "again.h5"] {
            judged("0.h5", undone, 0, &format!("within bound  {words} by its attributes, max error "));
            judged("small.h5", undone, 0, "identical");
        }
        // They tell of nothing that became of the values since.
        python(&place, &["move", "plain.h5", "1"]);
        judged("0.h5", "plain.h5", 1, &format!("BROKEN        {words} by its attributes, max error "));
        python(&place, &["move", "plain.h5", "-0.95"]);
        judged("again.h5", "plain.h5", 1, "BROKEN        lossless");
        judged("small.h5", "plain.h5", 1, "BROKEN        lossless");
    }
    // Losses one after the other: all of them, the last one, and two that have no bound in common.
    pass("0.h5", &["--abs=0.125"], "once.h5");
    pass("once.h5", &["--abs=0.3"], "small.h5");
    pass("small.h5", &["--filter", "none"], "plain.h5");
    judged("0.h5", "plain.h5", 0, "within bound  abs=0.125, abs=0.3 by its attributes");
    judged("once.h5", "plain.h5", 0, "within bound  abs=0.3 by its attributes");
    python(&place, &["move", "plain.h5", "0.6"]);
    judged("0.h5", "plain.h5", 1, "BROKEN        abs=0.125, abs=0.3 by its attributes");
    pass("once.h5", &["--rel=1e-2"], "small.h5");
    pass("small.h5", &["--filter", "none"], "plain.h5");
    judged("0.h5", "plain.h5", 0, "no bound      abs=0.125, rel=0.01 by its attributes");
    // Another program that used the filter told nothing; undoing it tells what its parameters did.
    for (bound, words) in [(Bound::Abs(0.125), "abs=0.125"), (Bound::noa(1e-3), "noa=0.001")] {
        let filter = h5repack_argument(&Params::new(DType::F32).with_bound(bound));
        place.run("h5repack", &["-f", &format!("a,b:{filter}"), "0.h5", "theirs.h5"]);
        sleek_ok(&place, &["decompress", "-q", "--force", "theirs.h5", "plain.h5"]);
        judged("0.h5", "plain.h5", 0, &format!("within bound  {words} by its attributes, max error "));
        judged("theirs.h5", "plain.h5", 0, "identical");
    }
}

/// Two files of 5 kB with room for 256 GiB each.
#[test]
fn chunks_that_nobody_wrote_take_no_time() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    let far = (1u64 << 35).to_string();
    for (name, index) in [("a.h5", "5"), ("b.h5", "5"), ("c.h5", &far)] {
        python(&place, &["sparse", name, index]);
    }
    let run = |arguments: &[&str]| {
        let mut command = place.command(env!("CARGO_BIN_EXE_sleek"));
        // A minute of processors, which others at work do not shorten.
        // SAFETY: `setrlimit` may be called between fork and exec.
        unsafe {
            command.pre_exec(|| {
                let minute = libc::rlimit { rlim_cur: 60, rlim_max: 60 };
                libc::setrlimit(libc::RLIMIT_CPU, &minute);
                Ok(())
            })
        };
        let out = common::output(command.env_remove("HDF5_PLUGIN_PATH").args(arguments));
        (out.status.code(), String::from_utf8_lossy(&[out.stdout, out.stderr].concat()).into_owned())
    };
    let (code, said) = run(&["verify", "a.h5", "b.h5"]);
    assert!(code == Some(0) && said.contains("/x      identical"), "{said}");
    let (code, said) = run(&["verify", "a.h5", "c.h5"]);
    assert!(code == Some(1) && said.contains(": 2 elements, the worst at [5]: 2e0 became 0e0"), "{said}");
}

/// What the process needed at most, in bytes, besides its program.
fn peak(place: &Place, arguments: &[&str]) -> u64 {
    let script = "import resource, subprocess, sys\n\
        subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)\n\
        print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)";
    let all = [&["-c", script, env!("CARGO_BIN_EXE_sleek")], arguments].concat();
    let said = common::run(place.command(venv_python(PYTHON)).env_remove("HDF5_PLUGIN_PATH").args(all));
    1024 * said.trim().parse::<u64>().unwrap()
}

#[test]
fn memory_does_not_grow_with_the_field() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    python(&place, &["slow", "old.h5", "80"]);
    let most = peak(&place, &["decompress", "-q", "old.h5:/x", "x.f32"]);
    assert!(most < 64 << 20, "decompress: {most}");
    let whole = fs::read(place.path("x.f32")).unwrap();
    for part in ["decompress -q --box 3:5,100:777,0:1 old.h5:/x box.f32", "decompress -q old.h5:/x x.f32 --force"] {
        sleek_ok(&place, &part.split(' ').collect::<Vec<_>>());
    }
    assert!(fs::read(place.path("x.f32")).unwrap() == whole);
    let row = whole.len() / 1000;
    let wanted: Vec<u8> = (3..8).flat_map(|i| whole[i * row + 400..i * row + 400 + 4 * 777].to_vec()).collect();
    assert!(fs::read(place.path("box.f32")).unwrap() == wanted);
    // A pipe gets the same in the order of its elements.
    let mut pipe = place.command(env!("CARGO_BIN_EXE_sleek"));
    let out = common::output(pipe.env_remove("HDF5_PLUGIN_PATH").args(["decompress", "-q", "old.h5:/x", "-"]));
    assert!(out.stdout == whole);
    sleek_ok(&place, &["repack", "-q", "--abs", "0.01", "old.h5", "new.h5"]);
    sleek_ok(&place, &["compress", "-q", "--dtype", "f32", "--abs", "0.01", "x.f32", "x.slk"]);
    for arguments in [
        &["verify", "-q", "--quality", "x.f32", "x.slk"][..],
        &["verify", "-q", "old.h5", "new.h5"],
        &["verify", "-q", "--quality", "old.h5", "new.h5"],
    ] {
        let most = peak(&place, arguments);
        assert!(most < 300 << 20, "{arguments:?}: {most}");
    }
}

#[test]
fn what_was_passed_over_or_left_out_is_told() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    python(&place, &["many", "many.h5", "16"]);
    let (code, said) = run(&place, &["repack", "--ratio", "10", "many.h5", "new.h5"]);
    assert!(code == Some(0) && said.contains("kept: small; --ratio 10 was passed over"), "{said}");
    for arguments in [
        &["decompress", "many.h5:/none", "x"][..],
        &["verify", "many.h5:/none", "new.h5"],
        &["analyze", "many.h5:/none"],
        &["repack", "--dataset", "/none=keep", "many.h5", "x.h5"],
    ] {
        let (code, said) = run(&place, arguments);
        assert!(code == Some(2) && said.contains("/x09, … and 6 more"), "{arguments:?}: {said}");
    }
}
