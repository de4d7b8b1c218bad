//! `sleek inspect` and `sleek verify` of HDF5 files.

use std::fs;

use serde_json::Value;
use sleek::{Bound, DType, Params};

use crate::repack::{PYTHON, header, python, sleek, sleek_fails, sleek_ok};
use crate::{Place, h5repack_argument, venv_python};

fn json(place: &Place, arguments: &[&str]) -> Value {
    let out = sleek(place, arguments);
    serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&out.stderr)))
}

fn dataset<'a>(report: &'a Value, name: &str) -> &'a Value {
    let datasets = report["datasets"].as_array().unwrap();
    datasets.iter().find(|d| d["name"] == name).unwrap_or_else(|| panic!("no {name} in {report}"))
}

/// A file of everything that HDF5 has, and the same after `repack`.
fn files(place: &Place, bound: [&str; 2]) {
    python(place, PYTHON, &["make", "old.h5"]);
    sleek_ok(place, &["repack", "-q", "--force", bound[0], bound[1], "old.h5", "new.h5"]);
}

#[test]
fn inspect_shows_what_is_in_a_file() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    files(&place, ["--abs", "2e-3"]);
    let tree = sleek_ok(&place, &["inspect", "new.h5"]);
    for part in [
        "├─ group/",
        "│  └─ loop  = /",
        "├─ soft  -> /group/inner/x",
        "├─ hard  = /group/inner/x",
        "├─ texts  strings of variable length",
        "├─ zz_t  f32 300x400, chunks 50x400, 480.00 kB -> ",
        "│       SLEEK: abs=2e-3; codec sleek, profile adaptive; missing -9999",
        "│       in 35 chunks: packed ",
        "f64 (big-endian) 300x400",
        "└─ virtual  a view of other datasets",
    ] {
        assert!(tree.contains(part), "no '{part}' in\n{tree}");
    }
    let report = json(&place, &["inspect", "--json", "new.h5"]);
    let whole = dataset(&report, "/whole");
    assert_eq!(
        (&whole["mode"], &whole["bound"], &whole["missing"][0]),
        (&"abs".into(), &2e-3.into(), &(-9999.0).into())
    );
    assert_eq!((&whole["chunks_stored"], &whole["streams"]), (&35.into(), &35.into()));
    // What is stored is the streams, and a chunk of 64 x 64 elements is one chunk of a stream or several.
    let kinds: u64 = whole["chunks"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
    assert!(kinds >= 35 && whole["chunks"]["masked"].as_u64().unwrap() > 0, "{whole}");
    let ratio = whole["raw_bytes"].as_f64().unwrap() / whole["stored_bytes"].as_f64().unwrap();
    assert!((whole["ratio"].as_f64().unwrap() - ratio).abs() < 1e-9, "{whole}");
    assert_eq!(dataset(&report, "/sparse")["chunks_stored"], 1, "chunks that were never written do not count");
    let before = json(&place, &["inspect", "--json", "old.h5"]);
    let zipped = dataset(&before, "/zz_t");
    assert_eq!((&zipped["filters"][0]["name"], &zipped["filters"][1]["name"]), (&"shuffle".into(), &"deflate".into()));
    assert!(zipped["mode"].is_null() && zipped["codec"].is_null(), "{zipped}");

    fs::write(place.path("classic.nc"), b"CDF\x01 and what follows").unwrap();
    sleek_fails(&place, &["inspect", "classic.nc"], "nccopy -k nc4 classic.nc");
    fs::write(place.path("cut.h5"), &fs::read(place.path("old.h5")).unwrap()[..100_000]).unwrap();
    sleek_fails(&place, &["inspect", "cut.h5"], "cut.h5: H5Fopen");
}

/// Chunks that HDF5 stored without the filter, for their data or because something went wrong, and a missing filter.
#[test]
fn what_is_stored_plain_is_counted() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    let script = "import h5py, numpy as np\n\
        noise = np.random.default_rng(1).integers(-2**31, 2**31, 8000, dtype='i4')\n\
        noise[:3000] = 7\n\
        with h5py.File('a.h5', 'w') as f:\n\
        \x20   for name, data in [('some', noise), ('all', noise[3000:])]:\n\
        \x20       f.create_dataset(name, data=data, chunks=(1000,), compression=47474)\n\
        \x20   f.create_dataset('texts', data=['a', 'b'], dtype=h5py.string_dtype(), chunks=(1,), compression=47474)\n\
        for name in 'other.h5', 'there.h5':\n\
        \x20   with h5py.File(name, 'w') as f:\n\
        \x20       d = f.create_dataset('some', data=noise, chunks=(1000,))\n\
        with h5py.File('gone.h5', 'w') as f:\n\
        \x20   p = h5py.h5p.create(h5py.h5p.DATASET_CREATE)\n\
        \x20   p.set_chunk((1000,))\n\
        \x20   p.set_filter(32015, h5py.h5z.FLAG_OPTIONAL, (3,))\n\
        \x20   d = h5py.h5d.create(f.id, b'some', h5py.h5t.NATIVE_INT32, h5py.h5s.create_simple((8000,)), p)\n\
        \x20   d.write(h5py.h5s.ALL, h5py.h5s.ALL, noise)\n";
    place.run(&venv_python(PYTHON), &["-c", script]);
    let tree = sleek_ok(&place, &["inspect", "a.h5"]);
    assert!(tree.contains("in 8 chunks, 5 of them plain: constant 100.0 %"), "{tree}");
    assert!(tree.contains("in 5 chunks, 5 of them plain\n"), "{tree}");
    assert!(tree.contains("strings of variable length; SLEEK, 2 of 2 chunks plain"), "{tree}");
    let report = json(&place, &["inspect", "--json", "a.h5"]);
    assert_eq!(
        (&dataset(&report, "/all")["plain_chunks"], &dataset(&report, "/all")["streams"]),
        (&5.into(), &0.into())
    );
    let out = sleek(&place, &["verify", "there.h5", "gone.h5"]);
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(out.status.code() == Some(1) && said.contains("needs filter 32015 (Zstandard), which HDF5"), "{said}");
}

#[test]
fn verify_compares_files_by_their_datasets() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    for (bound, promise) in [
        (["--noa", "1e-3"], "abs 4.0042e-3 (noa 1e-3)"),
        (["--rel", "1e-3"], "rel 1e-3"),
        (["--abs", "1e-2"], "abs 1e-2"),
    ] {
        files(&place, bound);
        let report = json(&place, &["verify", "--json", "old.h5", "new.h5"]);
        assert_eq!(report["kept"], true, "{report}");
        let t = dataset(&report, "/zz_t");
        assert_eq!((&t["verdict"], &t["promise"]), (&"within bound".into(), &promise.into()));
        let share = t["error_over_bound"].as_f64().unwrap();
        assert!(share > 0.5 && share <= 1.0, "{t}");
        assert!(t["worst"]["index"].as_array().is_some_and(|i| i.len() == 2), "{t}");
        assert_eq!(dataset(&report, "/whole")["missing_values"], 600);
        for exact in ["/x", "/texts", "/compound", "/scalar", "/group/inner/i"] {
            assert_eq!(dataset(&report, exact)["verdict"], "identical");
        }
        assert_eq!(dataset(&report, "/references")["verdict"], "not compared");
    }
    let same = sleek_ok(&place, &["verify", "old.h5", "./old.h5"]);
    assert!(same.lines().last().unwrap().starts_with("verdict") && same.contains(" kept: "), "{same}");
}

/// Where HDF5's own tools write, each chunk has a value range of its own.
#[test]
fn verify_holds_each_chunk_to_its_own_range() {
    let Some(place) = Place::with(&["h5repack", &venv_python(PYTHON)]) else { return };
    python(&place, PYTHON, &["make", "old.h5"]);
    let request = Params::new(DType::F32).with_bound(Bound::noa(1e-3));
    place.run("h5repack", &["-f", &format!("whole,unlimited:{}", h5repack_argument(&request)), "old.h5", "new.h5"]);
    let report = json(&place, &["verify", "--json", "old.h5", "new.h5"]);
    for name in ["/whole", "/unlimited"] {
        let d = dataset(&report, name);
        assert_eq!((&d["verdict"], &d["promise"]), (&"within bound".into(), &"noa 1e-3 of each chunk".into()), "{d}");
        let share = d["error_over_bound"].as_f64().unwrap();
        assert!(share > 0.5 && share <= 1.0, "{d}");
    }
    assert_eq!(dataset(&report, "/aa_big")["verdict"], "identical");
}

#[test]
fn verify_says_what_is_broken() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    files(&place, ["--abs", "2e-3"]);
    // The original is changed: that needs no filter.
    let spoil = "import h5py\n\
        with h5py.File('old.h5', 'r+') as f:\n\
        \x20   f['zz_t'][260, 238] += 1\n\
        \x20   f['zz_t'][3, 7] += 0.5\n\
        \x20   f['whole'][10, 30] = 5\n\
        \x20   f['x'][5] += 1e-12\n\
        \x20   f['texts'][1] = 'drei'\n\
        \x20   f['another'] = [1.5, 2.5]\n\
        \x20   del f['half'], f['typed']\n\
        \x20   f['typed'] = [[1.5, 2.5]]\n";
    place.run(&venv_python(PYTHON), &["-c", spoil]);
    let out = sleek(&place, &["verify", "--json", "old.h5", "new.h5"]);
    assert_eq!(out.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(report["kept"], false);
    let t = dataset(&report, "/zz_t");
    assert_eq!((&t["verdict"], &t["violations"]), (&"broken".into(), &2.into()), "{t}");
    assert_eq!(t["worst"]["index"], serde_json::json!([260, 238]));
    assert!((t["max_error"].as_f64().unwrap() - 1.0).abs() < 0.01, "{t}");
    let whole = dataset(&report, "/whole");
    assert_eq!((&whole["missing_values"], &whole["missing_violations"]), (&599.into(), &1.into()), "{whole}");
    assert_eq!(
        (&dataset(&report, "/x")["verdict"], &dataset(&report, "/x")["violations"]),
        (&"broken".into(), &1.into())
    );
    assert_eq!(dataset(&report, "/texts")["why"], "differs");
    assert_eq!(dataset(&report, "/another")["why"], "is not in the second file");
    assert_eq!(dataset(&report, "/typed")["why"], "has f64, in the second file f32");
    assert_eq!(dataset(&report, "/half")["verdict"], "extra");
    assert_eq!(dataset(&report, "/aa_big")["verdict"], "within bound");
    let table = String::from_utf8(sleek(&place, &["verify", "old.h5", "new.h5"]).stdout).unwrap();
    assert!(table.contains("2 elements, the worst at [260, 238]: "), "{table}");
    assert!(table.lines().last().unwrap().contains(" BROKEN: "), "{table}");
    fs::write(place.path("plain.f32"), [0; 400]).unwrap();
    sleek_fails(&place, &["verify", "plain.f32", "new.h5"], "plain.f32: is not an HDF5 file");
    sleek_fails(&place, &["verify", "old.h5", "plain.f32"], "plain.f32: is not an HDF5 file, as old.h5 is");
}

/// A missing value that came back blurred is gone, whoever declares it: an attribute or HDF5's fill value, of either
/// file, in the filter's parameters or not. `verify` of the one says the same.
#[test]
fn blurred_missing_values_are_broken() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    python(&place, PYTHON, &["blurred", "old.h5", "new.h5"]);
    let out = sleek(&place, &["verify", "--json", "old.h5", "new.h5"]);
    assert_eq!(out.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&out.stdout).unwrap();
    for d in report["datasets"].as_array().unwrap() {
        let name = d["name"].as_str().unwrap();
        let declared = name != "/nothing";
        assert_eq!(d["verdict"], if declared { "broken" } else { "within bound" }, "{d}");
        assert_eq!(d["missing_violations"].as_u64().unwrap() > 0, declared, "{d}");
        let [a, b] = ["old.h5", "new.h5"].map(|file| format!("{file}:{name}"));
        let one = sleek(&place, &["verify", "--json", &a, &b]);
        assert_eq!(one.status.code(), Some(i32::from(declared)), "{name}");
        assert_eq!(serde_json::from_slice::<Value>(&one.stdout).unwrap()["datasets"], serde_json::json!([d]));
    }
}

/// A dataset of each file, behind a colon.
#[test]
fn one_dataset_is_compared_with_another() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    let script = "import h5py, numpy as np\n\
        with h5py.File('old.h5', 'w') as f:\n\
        \x20   f['a/t'] = np.sin(np.arange(5000.0)); f['line'] = np.arange(5000.0) + 1\n";
    place.run(&venv_python(PYTHON), &["-c", script]);
    sleek_ok(&place, &["repack", "-q", "--abs", "1e-2", "old.h5", "new.h5"]);
    let report = json(&place, &["verify", "--json", "old.h5", "new.h5"]);
    for [old, new] in [["old.h5:a/t", "new.h5"], ["old.h5", "new.h5:t"], ["old.h5:/a/t", "new.h5:/a/t"]] {
        let one = json(&place, &["verify", "--json", old, new]);
        assert_eq!(one["datasets"], serde_json::json!([dataset(&report, "/a/t")]), "{old} {new}");
    }
    let broken = sleek(&place, &["verify", "old.h5:/a/t", "new.h5:/line"]);
    assert_eq!(broken.status.code(), Some(1));
    sleek_fails(&place, &["verify", "old.h5:/none", "new.h5"], "there is no such variable; there are /line, /a/t");
    fs::write(place.path("classic.nc"), b"CDF\x05 and what follows").unwrap();
    sleek_fails(&place, &["verify", "classic.nc", "new.h5"], "nccopy -k nc4 classic.nc");
}

/// A dimension without a variable is none of the datasets, and restoring packed numbers says that they are.
#[test]
fn what_netcdf_says_of_dimensions_and_packed_numbers() {
    let Some(place) = Place::with(&[&venv_python("venv-python")]) else { return };
    let script = "import netCDF4, numpy as np\n\
        with netCDF4.Dataset('a.nc', 'w') as f:\n\
        \x20   f.createDimension('y', 40); f.createDimension('x', 50); f.createVariable('x', 'f8', ('x',))[:] = 0\n\
        \x20   f.createVariable('t', 'f4', ('y', 'x'))[:] = np.arange(2000).reshape(40, 50)\n\
        \x20   p = f.createVariable('p', 'i2', ('y', 'x')); p.scale_factor, p.add_offset = 0.01, 273.15\n\
        \x20   p.set_auto_scale(False); p[:] = 7\n";
    place.run(&venv_python("venv-python"), &["-c", script]);
    let tree = sleek_ok(&place, &["inspect", "a.nc"]);
    assert!(tree.contains("; 3 datasets of numbers: 12.40 kB -> "), "{tree}");
    assert!(tree.contains("─ y  a dimension of 40 without a variable\n"), "{tree}");
    let report = json(&place, &["inspect", "--json", "a.nc"]);
    assert_eq!(dataset(&report, "/y")["what"], "a dimension of 40 without a variable");
    let told = |arguments: &[&str]| {
        let out = sleek(&place, arguments);
        assert!(out.status.success(), "{arguments:?}");
        String::from_utf8(out.stderr).unwrap()
    };
    let said = told(&["decompress", "a.nc:p", "p.npy"]);
    assert!(said.ends_with("/p: its numbers are packed: a value is 0.01 times the number, plus 273.15\n"), "{said}");
    for arguments in [["decompress", "a.nc:t", "t.npy"].as_slice(), &["decompress", "-q", "a.nc:p", "again.npy"]] {
        assert!(!told(arguments).contains("packed"), "{arguments:?}");
    }
    sleek_fails(&place, &["decompress", "a.nc:p"], "OUT: is needed, as a.nc:p does not end in .sleek");
}

/// A netCDF file of a grid with missing values and packed integers as `old.nc`, and the same within 1e-3 as `new.nc`.
fn climate(place: &Place) {
    let script = "import netCDF4, numpy as np\n\
        units = dict(time='days since 2000-01-01', lat='degrees_north', lon='degrees_east')\n\
        with netCDF4.Dataset('old.nc', 'w') as f:\n\
        \x20   for name, values in ('time', np.arange(3)), ('lat', np.linspace(-88, 88, 60)), \
            ('lon', 4 * np.arange(90)):\n\
        \x20       f.createDimension(name, None if name == 'time' else len(values))\n\
        \x20       v = f.createVariable(name, 'f8', (name,)); v[:] = values; v.units = units[name]\n\
        \x20   y, x = np.mgrid[0:60, 0:90]\n\
        \x20   t = np.sin(x / 20 + np.arange(3)[:, None, None]) + y / 60\n\
        \x20   for name, values in ('temp', np.ma.masked_less(t, -0.9)), ('salt', 3 * t):\n\
        \x20       f.createVariable(name, 'f4', ('time', 'lat', 'lon'), fill_value=-9999)[:] = values\n\
        \x20   p = f.createVariable('packed', 'i2', ('time', 'lat', 'lon')); p.scale_factor = 0.01; p[:] = t\n";
    place.run(&venv_python("venv-python"), &["-c", script]);
    sleek_ok(place, &["repack", "-q", "--abs", "1e-3", "old.nc", "new.nc"]);
}

/// One value of /temp moves away from the bound.
fn break_one_value(place: &Place) {
    let script = "import netCDF4\n\
        with netCDF4.Dataset('new.nc', 'a') as f:\n\
        \x20   f['temp'][1, 40, 3] += 0.01\n";
    place.run(&venv_python("venv-python"), &["-c", script]);
    assert_eq!(sleek(place, &["verify", "old.nc", "new.nc"]).status.code(), Some(1));
}

/// The verdicts of `sleek verify` are those of `h5diff`, and `ncdump` sees the same variables.
#[test]
fn h5diff_and_ncdump_agree_with_the_verdicts() {
    let Some(place) = Place::with(&["h5diff", "ncdump", &venv_python("venv-python")]) else { return };
    climate(&place);
    // h5diff cannot compare some of netCDF's attributes and then ends with 1: what it says of the dataset counts.
    let differing = |name: &str, delta: &[&str]| {
        let out = place.attempt("h5diff", &[&["-c"], delta, &["old.nc", "new.nc", name]].concat());
        assert!(out.status.code().is_some_and(|c| c < 2), "{}", String::from_utf8_lossy(&out.stderr));
        let said = String::from_utf8(out.stdout).unwrap();
        let mut lines = said.lines().skip_while(|line| !line.starts_with("dataset: ")).skip(1);
        lines.next().map_or(0, |line| line.split(' ').next().unwrap().parse().unwrap_or_else(|_| panic!("{said}")))
    };
    let verified = json(&place, &["verify", "--json", "old.nc", "new.nc"]);
    for found in verified["datasets"].as_array().unwrap() {
        let name = found["name"].as_str().unwrap();
        assert_eq!(found["changed"].as_u64().unwrap(), differing(name, &[]), "{name}");
        assert_eq!(found["verdict"] == "identical", differing(name, &[]) == 0, "{name}");
        // Compared as f32 for data of that type, so not at the largest error itself.
        let most = found["max_error"].as_f64().unwrap();
        assert_eq!(differing(name, &["-d", &(most * 1.001 + 1e-30).to_string()]), 0, "{name}: more than {most}");
        assert!(most == 0.0 || differing(name, &["-d", &(most * 0.999).to_string()]) > 0, "{name}: less than {most}");
    }
    assert_eq!(header(&place, "old.nc"), header(&place, "new.nc"));
    break_one_value(&place);
    assert_eq!([differing("/temp", &["-d", "0.001"]), differing("/salt", &["-d", "0.001"])], [1, 0]);
}

/// `cdo diffn` counts the same values that differ and that miss, and finds the same largest errors. `make test`
/// installs no cdo.
#[test]
fn cdo_agrees_with_the_verdicts() {
    let python = venv_python("venv-python");
    let cdo = (!crate::common::short() || crate::found("cdo")).then_some("cdo");
    let Some(place) = Place::with(&[python.as_str()].into_iter().chain(cdo).collect::<Vec<_>>()) else { return };
    if cdo.is_none() {
        return println!("cdo: passed over, since it is not there");
    }
    climate(&place);
    let within = |delta: &str| place.attempt("cdo", &[&format!("diffn,abslim={delta}"), "old.nc", "new.nc"]);
    assert!(within("0.001").status.success());
    let table = String::from_utf8(place.attempt("cdo", &["diffn", "old.nc", "new.nc"]).stdout).unwrap();
    let verified = json(&place, &["verify", "--json", "old.nc", "new.nc"]);
    for found in verified["datasets"].as_array().unwrap() {
        let name = found["name"].as_str().unwrap().trim_start_matches('/');
        // Number : date time level size missing different : sign zero error relative : name
        let rows: Vec<Vec<&str>> = table.lines().map(|l| l.split_whitespace().collect()).collect();
        let rows: Vec<_> = rows.iter().filter(|row| row.len() == 15 && row[14] == name).collect();
        assert_eq!(found["verdict"] == "identical", rows.is_empty(), "{name}: {table}");
        if rows.is_empty() {
            continue;
        }
        let sum = |column: usize| rows.iter().map(|row| row[column].parse::<u64>().unwrap()).sum::<u64>();
        assert_eq!(found["missing_values"].as_u64().unwrap(), sum(6), "{name}: {table}");
        assert_eq!(found["changed"].as_u64().unwrap(), sum(7), "{name}: {table}");
        let most = rows.iter().map(|row| row[11].parse::<f64>().unwrap()).fold(0.0, f64::max);
        // It prints five digits.
        let ours = found["max_error"].as_f64().unwrap();
        assert!((ours - most).abs() <= 1e-4 * ours, "{name}: {ours} by us, {table}");
    }
    break_one_value(&place);
    let out = within("0.001");
    let said = String::from_utf8(out.stdout).unwrap();
    assert!(!out.status.success() && said.contains(": temp") && !said.contains(": salt"), "{said}");
}
