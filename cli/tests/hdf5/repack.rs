//! `sleek repack` on files of everything that HDF5 and netCDF-4 have.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::{Place, common, source, venv_python};

pub const PYTHON: &str = "venv-h5py-1.14";
/// Floats that keep every bit: scales.
const EXACT: [&str; 3] = ["/x", "/y", "/long"];

/// `sleek` without any plugin path: it brings the filter along.
pub fn sleek(place: &Place, arguments: &[&str]) -> Output {
    let mut command = place.command(env!("CARGO_BIN_EXE_sleek"));
    common::output(command.env_remove("HDF5_PLUGIN_PATH").args(arguments))
}

pub fn sleek_ok(place: &Place, arguments: &[&str]) -> String {
    let out = sleek(place, arguments);
    assert!(out.status.success(), "sleek {arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).into_owned()
}

pub fn sleek_fails(place: &Place, arguments: &[&str], part: &str) {
    let before = files(place);
    let out = sleek(place, arguments);
    let message = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(2), "{message}");
    assert!(message.starts_with("sleek: error: ") && message.contains(part), "no '{part}' in {message}");
    assert_eq!(files(place), before, "sleek {arguments:?} changed files");
}

pub fn files(place: &Place) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(place.work.path()).unwrap().map(|e| e.unwrap());
    let mut files: Vec<_> = entries
        .filter(|e| e.path().is_file())
        .map(|e| (e.file_name().to_string_lossy().into_owned(), fs::read(e.path()).unwrap()))
        .collect();
    files.sort();
    files
}

pub fn python(place: &Place, venv: &str, arguments: &[&str]) -> String {
    let script = source("repack.py");
    place.run(&venv_python(venv), &[&[script.as_str()], arguments].concat())
}

#[test]
fn everything_but_the_floats_is_kept() {
    let Some(place) = Place::with(&["h5dump", &venv_python(PYTHON)]) else { return };
    for libver in ["earliest", "v108", "v110"] {
        python(&place, PYTHON, &["make", "old.h5", libver]);
        let table = sleek_ok(&place, &["repack", "--noa", "1e-3", "--verify", "--force", "old.h5", "new.h5"]);
        assert!(table.contains("verified"), "{table}");
        for line in ["/x ", "/compound ", "/virtual "] {
            let line = table.lines().find(|l| l.starts_with(line)).unwrap();
            assert!(line.contains("kept: "), "{line}");
        }
        for venv in [PYTHON, "venv-h5py-2"] {
            let said = python(&place, venv, &[&["same", "old.h5", "new.h5", "1e-3"], &EXACT[..]].concat());
            assert!(said.contains("13 datasets compressed"), "{said}");
        }
        python(&place, PYTHON, &["scales", "new.h5"]);
        assert!(place.run("h5dump", &["-H", "-g", "/group", "new.h5"]).contains("COMMENT \"a comment\""));
        let version = |file| fs::read(place.path(file)).unwrap()[1024 + 8];
        assert_eq!(version("old.h5"), version("new.h5"), "superblock, {libver}");
        let sizes = ["old.h5", "new.h5"].map(|f| fs::metadata(place.path(f)).unwrap().len());
        assert!(sizes[1] * 4 < sizes[0], "{sizes:?}");
        // What is repacked can be repacked; the result needs no more.
        sleek_ok(&place, &["repack", "--lossless", "--verify", "--force", "new.h5", "again.h5"]);
        python(&place, PYTHON, &[&["same", "old.h5", "again.h5", "1e-3"], &EXACT[..]].concat());
    }
}

/// Fill value and attributes may name different values, several, in another type, as text, and what is valid.
#[test]
fn missing_values_as_a_dataset_declares_them() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    python(&place, PYTHON, &["gaps", "old.h5"]);
    for bound in [["--noa", "1e-3"], ["--abs", "2e-3"], ["--rel", "1e-4"]] {
        sleek_ok(&place, &["repack", "-q", bound[0], bound[1], "--verify", "--force", "old.h5", "new.h5"]);
        let said = python(&place, PYTHON, &["same_gaps", "old.h5", "new.h5"]);
        assert!(said.contains("6 datasets agree"), "{bound:?}: {said}");
    }
    python(&place, PYTHON, &["too_many", "many.h5"]);
    sleek_fails(
        &place,
        &["repack", "--noa", "1e-3", "many.h5", "new.h5", "--force"],
        "-9e0 (HDF5's fill value); a dataset can have up to 4",
    );
}

/// What lies in other files is found from another folder too, and --verify says that it was not compared.
#[test]
fn parts_in_other_files_are_found_again() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    python(&place, PYTHON, &["others", "in"]);
    fs::create_dir_all(place.path("out/deep")).unwrap();
    let table = sleek_ok(&place, &["repack", "--abs", "1e-2", "--verify", "in/old.h5", "in/new.h5"]);
    assert!(!table.contains("every value"), "{table}");
    let said = table.lines().last().unwrap();
    assert!(said.starts_with("verified, but for what was not compared: "), "{table}");
    for name in ["/view (a view", "/own (a view", "/blocks (a view", "/link (a link to", "/nowhere (a link to"] {
        assert!(said.contains(name), "{said}");
    }
    assert!(!said.contains("/t ") && !said.contains("/outside"), "{said}");
    for venv in [PYTHON, "venv-h5py-2"] {
        python(&place, venv, &["same_others", "in/old.h5", "in/new.h5"]);
    }
    let out = sleek(&place, &["repack", "-f", "--json", "--abs", "1e-2", "--verify", "in/old.h5", "in/new.h5"]);
    assert!(String::from_utf8_lossy(&out.stderr).contains("not compared: "), "{:?}", out.stderr);
    // A view counts from its own folder; without one the file may go elsewhere, and its links lead on.
    let elsewhere = ["repack", "-q", "--abs", "1e-2", "in/old.h5", "out/deep/new.h5"];
    sleek_fails(&place, &elsewhere, "by a relative name; write OUT into that folder");
    let script = "import h5py\n\
        with h5py.File('in/old.h5', 'r+') as f:\n\
        \x20   for name in 'view', 'none', 'whole', 'stacked', 'blocks':\n\
        \x20       del f[name]\n";
    place.run(&venv_python(PYTHON), &["-c", script]);
    sleek_ok(&place, &elsewhere);
    let script = "import h5py, numpy as np\n\
        with h5py.File('in/old.h5') as f, h5py.File('out/deep/new.h5') as g:\n\
        \x20   assert all(np.array_equal(f[name][...], g[name][...]) for name in ('link', 'absolute', 'outside'))\n\
        \x20   assert np.array_equal(g['own'][...], g['t'][:, 100:])\n\
        \x20   assert g.get('nowhere', getlink=True).filename == 'nowhere.h5'\n";
    place.run(&venv_python(PYTHON), &["-c", script]);
    python(&place, PYTHON, &["hundred", "plain.h5"]);
    let table = sleek_ok(&place, &["repack", "--abs", "1e-2", "--verify", "plain.h5", "new.h5"]);
    assert!(table.ends_with("verified: every value of the new file was compared with the old one\n"), "{table}");
}

/// A mark that nobody declared would be blurred, and would stretch the range: it is found, and named in the new file.
#[test]
fn undeclared_missing_values_are_kept() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    for (value, shown) in [("-9999", "-9999"), ("1e20", "1e20"), ("-1e34", "-1e34"), ("9.96921e36", "9.96921e36")] {
        python(&place, PYTHON, &["undeclared", "old.h5", value]);
        for bound in [["--noa", "1e-3"], ["--abs", "1e-2"], ["--rel", "1e-5"]] {
            let table = sleek_ok(&place, &["repack", bound[0], bound[1], "--verify", "--force", "old.h5", "new.h5"]);
            assert!(table.contains(&format!("{shown} taken for missing, which nobody declared")), "{table}");
            python(&place, PYTHON, &["same_gaps", "old.h5", "new.h5"]);
            let arguments =
                ["repack", "-q", bound[0], bound[1], "--verify", "--force", "--no-fill", "old.h5", "new.h5"];
            sleek_ok(&place, &arguments);
        }
        let request = ["repack", "-q", "--dataset", "/t=abs=1e-2", "--verify", "--force", "old.h5", "new.h5"];
        sleek_ok(&place, &request);
        python(&place, PYTHON, &["same_gaps", "old.h5", "new.h5"]);
        sleek_ok(&place, &["repack", "-q", "--lossless", "--force", "old.h5", "new.h5"]);
        fs::remove_file(place.path("new.h5")).unwrap();
    }
}

/// A bound that leaves nothing of the data is taken, with a word; marks do not count.
#[test]
fn absurd_bounds_are_told() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    python(&place, PYTHON, &["hundred", "old.h5"]);
    let told = |request: &[&str]| {
        let out = sleek(&place, &[&["repack", "--force", "--even-if-larger"], request].concat());
        let message = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(out.status.success(), "{request:?}: {message}");
        message
    };
    let said =
        "sleek: warning: /t: the values seen are from 0 to 99; a bound of 9.9e1 may turn them all into one value";
    for absurd in [&["--abs", "99", "old.h5", "new.h5"][..], &["-q", "--dataset", "/t=abs=99", "old.h5", "new.h5"]] {
        assert!(told(absurd).contains(said), "{absurd:?}: {}", told(absurd));
    }
    assert!(told(&["--abs", "99", "--dry-run", "old.h5"]).contains(said));
    for sound in [["--abs", "98"], ["--noa", "0.5"], ["--rel", "0.5"]] {
        let said = told(&[&sound[..], &["old.h5", "new.h5"]].concat());
        assert!(!said.contains("may turn them all into one value"), "{sound:?}: {said}");
    }
}

#[test]
fn in_place_and_by_name() {
    let Some(place) = Place::with(&["h5diff", "h5dump", &venv_python(PYTHON)]) else { return };
    python(&place, PYTHON, &["make", "old.h5"]);
    fs::copy(place.path("old.h5"), place.path("same.h5")).unwrap();
    sleek_ok(
        &place,
        &[
            "repack",
            "-q",
            "--force",
            "--abs",
            "1e-3",
            "--no-attributes",
            "--dataset",
            "half=keep",
            "same.h5",
            "same.h5",
        ],
    );
    place.run("h5diff", &["-d", "0.001", "old.h5", "same.h5", "/zz_t"]);
    assert_eq!(place.attempt("h5diff", &["old.h5", "same.h5", "/zz_t"]).status.code(), Some(1));
    place.run("h5diff", &["old.h5", "same.h5", "/half"]);

    let table = sleek_ok(
        &place,
        &[
            "repack",
            "--no-attributes",
            "--dataset",
            "/group/inner/x=rel=1e-2",
            "--dataset",
            "x=lossless",
            "old.h5",
            "two.h5",
        ],
    );
    assert!(table.matches("kept: not named").count() > 5, "{table}");
    let filtered = |file: &str| place.run("h5dump", &["-pH", file]).matches("FILTER_ID 47474").count();
    // The first has a second name, under which h5dump shows it too.
    assert_eq!((filtered("two.h5"), filtered("old.h5")), (2, 0), "{table}");
    place.run("h5diff", &["old.h5", "two.h5", "/x"]);
    place.run("h5diff", &["-p", "0.01", "old.h5", "two.h5", "/group/inner/x"]);
}

#[test]
fn netcdf_stays_netcdf() {
    let Some(place) = Place::with(&["ncdump", "h5diff", &venv_python("venv-python")]) else { return };
    python(&place, "venv-python", &["netcdf", "old.nc"]);
    sleek_ok(&place, &["repack", "-q", "--noa", "1e-3", "--verify", "old.nc", "new.nc"]);
    for group in ["/", "deeper"] {
        python(&place, "venv-python", &["xarray", "old.nc", "new.nc", group, "1e-3"]);
    }
    assert_eq!(header(&place, "old.nc"), header(&place, "new.nc"));
    // h5diff counts attributes that one side alone has.
    sleek_ok(&place, &["repack", "-q", "--noa", "1e-3", "--no-attributes", "old.nc", "plain.nc"]);
    place.run("h5diff", &["-d", "0.01", "old.nc", "plain.nc", "/t"]);
    // The files of SLEEK_DATA, whatever is in them.
    let Some(folder) = common::data_dir() else { return };
    let real: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    for file in
        real.iter().filter(|p| p.extension().is_some_and(|e| e == "nc" || e == "nc4" || e == "h5" || e == "hdf5"))
    {
        let file = file.to_str().unwrap();
        sleek_ok(&place, &["repack", "-q", "--force", "--noa", "1e-4", "--verify", file, "real.h5"]);
        if file.ends_with("nc") || file.ends_with("nc4") {
            assert_eq!(header(&place, file), header(&place, "real.h5"));
        }
    }
}

/// What ncdump shows of a file, without its name and what repack says it did.
pub fn header(place: &Place, file: &str) -> String {
    let all = place.run("ncdump", &["-h", file]);
    let added = [":sleek_", ": sleek ", "\t\t:history", "// global attributes:"];
    let lines = all.lines().skip(1).filter(|l| !l.is_empty() && !added.iter().any(|part| l.contains(part)));
    lines.collect::<Vec<_>>().join("\n")
}

/// The new file says what was done to it, and none of its readers is misled by that.
#[test]
fn attributes_say_what_was_done() {
    let Some(place) = Place::with(&["ncdump", "h5diff", &venv_python("venv-python")]) else { return };
    let script = "import netCDF4, numpy as np\n\
        with netCDF4.Dataset('old.nc', 'w') as f:\n\
        \x20   f.Conventions, f.history = 'CF-1.8', '2020: made'\n\
        \x20   f.createDimension('y', 60), f.createDimension('x', 80)\n\
        \x20   y, x = np.mgrid[0:60, 0:80]\n\
        \x20   for name in 't', 'u', 'whole':\n\
        \x20       v = f.createVariable(name, 'f4', ('y', 'x'))\n\
        \x20       v[:] = np.sin(x / 9) + np.cos(y / 7) if name != 'whole' else x\n\
        \x20       v.units = 'K'\n";
    place.run(&venv_python("venv-python"), &["-c", script]);
    let say = |arguments: &[&str]| {
        let mut command = place.command(env!("CARGO_BIN_EXE_sleek"));
        common::run(command.env_remove("SLEEK_LOG").env("SOURCE_DATE_EPOCH", "86400").arg("repack").args(arguments))
    };
    let attributes = |file: &str, of: &str| {
        let all = place.run("ncdump", &["-p", "9,17", "-h", file]);
        let lines = all.lines().filter_map(|l| l.trim().strip_prefix(of)?.strip_prefix(':'));
        lines.filter(|l| l.starts_with("sleek_") || l.starts_with("history")).map(str::to_owned).collect::<Vec<_>>()
    };
    say(&["-q", "--noa", "1e-3", "--verify", "--dataset", "whole=lossless", "old.nc", "new.nc"]);
    let version = format!("sleek_version = \"{}\" ;", sleek::VERSION);
    let of_t = attributes("new.nc", "t");
    assert_eq!((&of_t[0][..], &of_t[1][..], &of_t[3]), ("sleek_mode = \"noa\" ;", "sleek_bound = 0.001 ;", &version));
    let number = |line: &str| line.split(" = ").nth(1).unwrap().trim_end_matches(" ;").parse::<f64>().unwrap();
    let (bound, first) = ("sleek_abs_bound = ", number(&of_t[2]));
    assert!(of_t[2].starts_with(bound) && (0.0039..0.0041).contains(&first), "{of_t:?}");
    assert!(attributes("new.nc", "whole").is_empty(), "nothing was lost of it");
    let history = attributes("new.nc", "").into_iter().find(|l| l.starts_with("history")).unwrap();
    let command = "1970-01-02T00:00:00Z: sleek repack -q --noa 1e-3 --verify --dataset whole=lossless old.nc new.nc";
    let line = format!("history = \"{command} # sleek {}\\n2020: made\" ;", sleek::VERSION);
    assert_eq!(history, line);
    assert_eq!(header(&place, "old.nc"), header(&place, "new.nc").replace("\n\t\t\t\"2020: made\" ;", ""));
    sleek_ok(&place, &["verify", "old.nc", "new.nc"]);
    // What a shell would take apart is in quotes, and of many files each has the one command that was given.
    say(&["-q", "--abs", "1e-3", "--exclude", "x y*", "-f", "--to", "folder", "old.nc", "new.nc"]);
    let history = attributes("folder/old.nc", "").into_iter().find(|l| l.starts_with("history")).unwrap();
    let typed = r"sleek repack -q --abs 1e-3 --exclude \'x y*\' -f --to folder old.nc new.nc # sleek"; // by ncdump
    assert!(history.contains(typed), "{history}");
    place.run(env!("CARGO_BIN_EXE_sleek"), &["decompress", "-q", "new.nc", "back.nc"]);
    let history = attributes("back.nc", "").into_iter().find(|l| l.starts_with("history")).unwrap();
    assert!(history.contains(": sleek decompress -q new.nc back.nc # sleek"), "{history}");
    // Lossy twice: the errors add up, where that is known.
    say(&["-q", "--abs", "0.01", "-v", "t", "new.nc", "twice.nc"]);
    let of_t = attributes("twice.nc", "t");
    assert_eq!((&of_t[0][..], &of_t[1][..]), ("sleek_mode = \"abs\" ;", "sleek_bound = 0.01 ;"));
    assert!((number(&of_t[2]) - first - 0.01).abs() < 1e-8, "{of_t:?}");
    assert!(attributes("twice.nc", "u").iter().any(|l| l == "sleek_bound = 0.001 ;"), "kept as it was");
    say(&["-q", "--rel", "0.1", "--even-if-larger", "new.nc", "rel.nc"]);
    assert!(!attributes("rel.nc", "t").iter().any(|l| l.starts_with(bound)));
    say(&["-q", "--noa", "1e-3", "--no-attributes", "old.nc", "plain.nc"]);
    say(&["-q", "--abs", "0.01", "plain.nc", "unknown.nc"]);
    assert!(!attributes("unknown.nc", "t").iter().any(|l| l.starts_with(bound)), "it was lossy before, who knows how");
    // Without them nothing is added.
    assert!(attributes("plain.nc", "t").is_empty());
    let history = attributes("plain.nc", "");
    assert_eq!(history, ["history = \"2020: made\" ;"]);
    place.run("h5diff", &["-d", "0.01", "old.nc", "plain.nc", "/t"]);
}

#[test]
fn a_dry_run_estimates_and_writes_nothing() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    python(&place, PYTHON, &["make", "old.h5"]);
    let before = files(&place);
    let dry = sleek_ok(&place, &["repack", "--dry-run", "--noa", "1e-3", "old.h5"]);
    assert_eq!(files(&place), before);
    let done = sleek_ok(&place, &["repack", "--noa", "1e-3", "old.h5", "new.h5"]);
    let ratio = |table: &str| -> f64 {
        let line = table.lines().find(|l| l.starts_with("/aa_big ")).unwrap();
        line.split_whitespace().nth(4).unwrap().parse().unwrap()
    };
    assert!((ratio(&dry) / ratio(&done) - 1.0).abs() < 0.1, "{dry}\n{done}");
}

/// A dry run looks at a part of each large dataset: one chunk of it that cannot be read is not missed, and what the
/// rest would take is about right.
#[test]
fn a_dry_run_reads_a_part() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    python(&place, PYTHON, &["many_chunks", "old.h5"]);
    let requests = [
        &["--noa", "1e-4"][..],
        &["--noa", "1e-4", "--profile", "small"],
        &["--ratio", "12"],
        &["--abs", "1e-3"],
        &["--lossless"],
    ];
    let requests = &requests[..if common::short() { 3 } else { 5 }];
    let sizes: Vec<u64> = requests.iter().map(|request| taken(&place, request, &["--dry-run"])).collect();
    let done: Vec<u64> = requests.iter().map(|request| taken(&place, request, &["--force"])).collect();
    for ((request, size), done) in requests.iter().zip(&sizes).zip(&done) {
        assert!((*size as f64 / *done as f64 - 1.0).abs() < 0.1, "{request:?}: {size} estimated, {done} taken");
    }
    let table = sleek_ok(&place, &["repack", "--dry-run", "--noa", "1e-4", "old.h5"]);
    assert!(table.contains("the range is that of a sample"), "{table}");
    python(&place, PYTHON, &["spoil", "old.h5"]);
    for (request, size) in requests.iter().zip(&sizes) {
        assert_eq!(taken(&place, request, &["--dry-run"]), *size, "{request:?}");
    }
    sleek_fails(&place, &["repack", "--noa", "1e-4", "old.h5", "new2.h5"], "/field");
}

#[test]
fn long_names_and_streams() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    python(&place, PYTHON, &["make", "old.h5"]);
    let long = "x".repeat(255);
    sleek_ok(&place, &["repack", "-q", "--noa", "1e-3", "old.h5", &long]);
    assert!(place.path(&long).is_file());
    fs::write(place.path("file"), "what was there").unwrap();
    let text = format!("{} repack -q --force --noa 1e-3 old.h5 /dev/stdout >> file", env!("CARGO_BIN_EXE_sleek"));
    let out = common::output(place.command("sh").args(["-c", &text]));
    assert_eq!(out.status.code(), Some(2));
    assert_eq!(fs::read(place.path("file")).unwrap(), b"what was there");
}

#[test]
fn a_larger_file_is_called_so() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    python(&place, PYTHON, &["large", "old.h5"]);
    let kept = sleek_ok(&place, &["repack", "--lossless", "old.h5", "kept.h5"]);
    assert!(kept.contains("kept: as small as it is"), "{kept}");
    let size = |file: &str| fs::metadata(place.path(file)).unwrap().len();
    assert!(size("kept.h5") <= size("old.h5"));
    let out = sleek(&place, &["repack", "--lossless", "--even-if-larger", "old.h5", "new.h5"]);
    let message = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(message.contains("ratio 1.00") && message.contains("new.h5 is larger than old.h5 was"), "{message}");
}

/// What is as small as it is stays so; integers are compressed where that loses nothing, and the table says why not.
#[test]
fn the_table_tells_what_is_gained() {
    let Some(place) = Place::with(&["h5diff", &venv_python(PYTHON)]) else { return };
    python(&place, PYTHON, &["make", "old.h5"]);
    let line = |table: &str, name: &str| table.lines().find(|l| l.starts_with(name)).unwrap().to_owned();
    let lossy = sleek_ok(&place, &["repack", "--noa", "1e-3", "--others", "keep", "old.h5", "lossy.h5"]);
    assert!(line(&lossy, "dataset").contains("before") && line(&lossy, "dataset").contains("after"), "{lossy}");
    let integers = line(&lossy, "/group/inner/i ");
    assert!(integers.contains("kept: integers of 8 bytes: bounds are for floats"), "{lossy}");
    for file in ["old.h5", "lossy.h5"] {
        let table = sleek_ok(&place, &["repack", "--lossless", "--verify", "--force", file, "new.h5"]);
        assert!(line(&table, "/group/inner/i ").ends_with("  lossless"), "{table}");
        place.run("h5diff", &[file, "new.h5", "/group/inner/i"]);
        let size = |file: &str| fs::metadata(place.path(file)).unwrap().len() as f64;
        assert!(size("new.h5") <= 1.01 * size(file), "{file}: {table}");
    }
    let again = sleek_ok(&place, &["repack", "--lossless", "--dry-run", "new.h5"]);
    assert!(line(&again, "/aa_big ").contains("kept: as small as it is (SLEEK)"), "{again}");
    assert!(!again.contains("  lossless"), "{again}");
}

#[test]
fn what_is_refused() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    python(&place, PYTHON, &["make", "old.h5"]);
    fs::write(place.path("text.h5"), "not HDF5").unwrap();
    fs::write(place.path("classic.nc"), b"CDF\x01 and what follows").unwrap();
    fs::write(place.path("cut.h5"), &fs::read(place.path("old.h5")).unwrap()[..100_000]).unwrap();
    for (arguments, part) in [
        (&["old.h5", "new.h5"][..], "a bound is needed"),
        (&["--noa", "1e-3", "old.h5"], "<OUT>"),
        (&["--noa", "1e-3", "old.h5", "text.h5"], "--force"),
        (&["--noa", "1e-3", "old.h5", "old.h5"], "--force"),
        (&["--noa", "1e-3", "text.h5", "new.h5"], "not an HDF5 file"),
        (&["--noa", "1e-3", "classic.nc", "new.h5"], "nccopy -k nc4"),
        (&["--noa", "1e-3", "cut.h5", "new.h5"], "cut.h5: H5Fopen"),
        (&["--noa", "1e-3", "missing.h5", "new.h5"], "missing.h5"),
        (&["--noa", "1e-3", "old.h5", "nowhere/new.h5"], "nowhere/new.h5"),
        (&["--noa", "1e-3", "--dataset", "/t=keep", "old.h5", "new.h5"], "no such dataset; there are /zz_t"),
        (&["--dataset", "/zz_t", "old.h5", "new.h5"], "/t=abs=1e-3"),
        (
            &["--dataset", "/texts=lossless", "old.h5", "new.h5"],
            "/texts: cannot be compressed: strings of variable length",
        ),
        (&["--dataset", "/references=lossless", "old.h5", "new.h5"], "cannot be compressed: references"),
        (&["--dataset", "/group/inner/i=abs=1", "old.h5", "new.h5"], "bounds are for floats, and these are integers"),
        (&["--dataset", "/zz_t=abs=x", "old.h5", "new.h5"], "abs=x"),
        (&["--noa", "1e-3", "--library", "text.h5", "old.h5", "new.h5"], "--library text.h5"),
    ] {
        sleek_fails(&place, &[&["repack"], arguments].concat(), part);
    }
}

/// Files that other filters wrote: whatever is asked for, with and without their plugins, nothing gets larger by more
/// than 1 %, nothing is lost that was not asked for, and the table has each dataset with a reason.
#[test]
fn files_of_other_filters_are_not_harmed() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    let plugins = "import hdf5plugin; print(hdf5plugin.PLUGINS_PATH)";
    let plugins = place.run(&venv_python(PYTHON), &["-c", plugins]);
    // What only the newest HDF5 reads is read by that of the Python on the path.
    let programs = Path::new(&venv_python(PYTHON)).parent().unwrap().to_owned();
    let programs = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    for (libver, request, path) in [
        ("earliest", "--lossless", ""),
        ("earliest", "--lossless", plugins.trim()),
        ("earliest", "--noa 1e-3", plugins.trim()),
        ("latest", "--lossless --profile small", plugins.trim()),
    ] {
        python(&place, PYTHON, &["filters", "old.h5", libver]);
        let mut command = place.command(env!("CARGO_BIN_EXE_sleek"));
        command.env("HDF5_PLUGIN_PATH", path).env("PATH", &programs).args(["repack", "--json", "--force", "--no-fill"]);
        let out = common::output(command.args(request.split(' ')).args(["old.h5", "new.h5"]));
        assert!(out.status.success(), "{request}: {}", String::from_utf8_lossy(&out.stderr));
        fs::write(place.path("table.json"), &out.stdout).unwrap();
        python(&place, PYTHON, &["unharmed", "old.h5", "new.h5", "table.json", "1e-3"]);
    }
}

/// A bound is for both parts of complex numbers; compounds of two floats that are called otherwise lose nothing.
#[test]
fn complex_numbers_by_their_parts() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    python(&place, PYTHON, &["complex_numbers", "old.h5"]);
    for how in [&["--noa", "1e-4"][..], &["--noa", "1e-4", "--profile", "small"]] {
        let table = sleek_ok(&place, &[&["repack", "--verify", "--force"], how, &["old.h5", "new.h5"]].concat());
        let line = table.lines().find(|line| line.starts_with("/pairs ")).unwrap();
        assert!(line.contains("kept: as small as it is") || line.contains("  lossless"), "{table}");
        let of_line = table.contains("--profile small is for numbers whose parts alternate");
        assert_eq!(of_line, !how.contains(&"small"), "{table}");
        python(&place, PYTHON, &["complex_parts", "old.h5", "new.h5", "1e-4"]);
        sleek_ok(&place, &["verify", "old.h5", "new.h5"]);
    }
    let tree = sleek_ok(&place, &["inspect", "new.h5"]);
    assert!(tree.contains("complex numbers of f64"), "{tree}");
    let seen = sleek_ok(&place, &["inspect", "--json", "new.h5"]);
    assert!(seen.contains("-9999"), "{seen}");
    // All else that takes datasets of floats.
    sleek_ok(&place, &["verify", "old.h5:c8", "new.h5:c8"]);
    sleek_ok(&place, &["analyze", "old.h5:gaps"]);
    sleek_ok(&place, &["repack", "--dataset", "c16=psnr=70", "--dataset", "gaps=abs=1e-2", "old.h5", "c.h5"]);
    let table = sleek_ok(&place, &["verify", "--json", "old.h5", "c.h5"]);
    assert!(table.contains("within bound") && !table.contains("BROKEN"), "{table}");
}

/// The bytes that the dataset of `many_chunks` takes, or would take.
fn taken(place: &Place, request: &[&str], more: &[&str]) -> u64 {
    let out = sleek_ok(place, &[&["repack", "--json"], request, more, &["old.h5", "new.h5"]].concat());
    let table: serde_json::Value = serde_json::from_str(&out).unwrap();
    table[0]["stored_after"].as_u64().unwrap()
}
