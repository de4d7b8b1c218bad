//! `sleek repack` of many files: all of them or as many as can be, whatever happens meanwhile.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Instant;

use serde_json::Value;

use crate::interrupted::at_work;
use crate::repack::{PYTHON, header, sleek, sleek_fails, sleek_ok};
use crate::{Place, common, venv_python};

/// Makes so many small files in two folders, and what is no HDF5 file beside them.
fn make(place: &Place, count: usize) {
    let script = "import h5py, numpy as np, os, sys\n\
        os.makedirs('in/deep/er')\n\
        y, x = np.mgrid[0:60, 0:200]\n\
        for i in range(int(sys.argv[1])):\n\
        \x20   with h5py.File(f'in/{\"deep/er/\" * (i % 2)}f{i:03}.h5', 'w') as f:\n\
        \x20       f['temp'] = (np.sin(x / 30 + i) + np.cos(y / 20)).astype('f4')\n\
        \x20       f['salt'] = 35 + np.sin(y / (9 + i))\n\
        \x20       f['grid/area'] = np.cos(y / 50)\n\
        \x20       f['n'] = (x % 7).astype('i4')\n";
    place.run(&venv_python(PYTHON), &["-c", script, &count.to_string()]);
    fs::write(place.path("in/notes.txt"), "not HDF5").unwrap();
}

/// How many files: a folder of 200, or a few.
fn count() -> usize {
    if common::short() { 8 } else { 200 }
}

/// The files that are there; while a batch is at work one may go meanwhile.
fn contents(folder: PathBuf) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().map(|e| e.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
                continue;
            }
            match fs::read(&entry) {
                Ok(bytes) => files.push((entry, bytes)),
                Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{}", entry.display()),
            }
        }
    }
    files.sort();
    files
}

fn report(place: &Place, name: &str) -> Value {
    serde_json::from_slice(&fs::read(place.path(name)).unwrap()).unwrap()
}

/// The new files, each of which must keep its bound; none may be half written.
fn verified(place: &Place) -> usize {
    verified_at_most(place, usize::MAX)
}

/// The same, where it is enough to look at some.
fn verified_at_most(place: &Place, most: usize) -> usize {
    let new = contents(place.path("out")).into_iter().map(|(path, _)| path);
    let new: Vec<PathBuf> = new.collect();
    for path in new.iter().take(most) {
        let below = path.strip_prefix(place.path("out")).unwrap();
        let old = PathBuf::from("in").join(below);
        sleek_ok(place, &["verify", old.to_str().unwrap(), path.to_str().unwrap()]);
    }
    new.len()
}

#[test]
fn a_folder_is_done_once_and_told() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    make(&place, count());
    let before = contents(place.path("in"));
    let dry = ["repack", "-r", "--abs", "1e-3", "--dry-run", "--report", "dry.json", "in"];
    sleek_ok(&place, &dry);
    assert!(!place.path("out").exists(), "a dry run writes nothing");
    let request = ["repack", "-r", "--abs", "1e-3", "-j", "2", "--to", "out", "in"];
    sleek_ok(&place, &[&request[..], &["--report", "report.json"]].concat());
    assert_eq!(verified(&place), count());
    let told = report(&place, "report.json");
    assert_eq!((&told["totals"]["done"], &told["totals"]["failed"]), (&count().into(), &0.into()));
    let sum: u64 = contents(place.path("out"))
        .iter()
        .filter(|(p, _)| p.extension().is_some_and(|e| e == "h5"))
        .map(|(_, b)| b.len() as u64)
        .sum();
    assert_eq!(told["totals"]["bytes_after"], sum);
    let estimate = report(&place, "dry.json")["totals"]["bytes_after"].as_f64().unwrap();
    assert!((estimate / sum as f64 - 1.0).abs() < 0.2, "{estimate} {sum}");
    // Nothing is done again, and a changed input is once --force says so.
    let whole = contents(place.path("out"));
    let said = sleek_ok(&place, &[&request[..], &["--report", "again.json"]].concat());
    assert!(said.contains(&format!("\n{} skipped: ", count())), "{said}");
    assert_eq!(report(&place, "again.json")["totals"]["bytes_after"], sum);
    assert_eq!(contents(place.path("out")), whole);
    fs::write(place.path("in/f000.h5"), &before.iter().find(|(p, _)| p.ends_with("f002.h5")).unwrap().1).unwrap();
    let said = String::from_utf8(sleek(&place, &request).stderr).unwrap();
    assert!(said.contains("in/f000.h5: failed: out/f000.h5 exists; --force replaces it"), "{said}");
    fs::remove_file(place.path("out/f000.h5")).unwrap();
    sleek_ok(&place, &[&request[..], &["--report", "changed.json"]].concat());
    let totals = &report(&place, "changed.json")["totals"];
    assert_eq!((&totals["done"], &totals["skipped"]), (&1.into(), &(count() - 1).into()));
    // Another bound is another request, which nothing but --force tells.
    let other = sleek_ok(&place, &["repack", "-r", "--force", "--abs", "1e-2", "--to", "out", "in"]);
    assert!(other.contains(&format!("{} done:", count())), "{other}");
    assert_ne!(contents(place.path("out")), whole);
}

#[test]
fn what_fails_stops_nothing_else() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    make(&place, 6);
    let whole = fs::read(place.path("in/f002.h5")).unwrap();
    fs::write(place.path("in/f002.h5"), &whole[..whole.len() / 2]).unwrap();
    fs::write(place.path("in/old.nc"), b"CDF\x01 and what follows").unwrap();
    let before = contents(place.path("in"));
    let request = ["repack", "-r", "--abs", "1e-3", "--to", "out", "--report", "report.json", "in"];
    let out = sleek(&place, &request);
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(2), "{said}");
    assert!(said.contains("in/f002.h5: failed: H5Fopen: ") && said.contains("nccopy -k nc4 in/old.nc"), "{said}");
    assert_eq!(verified(&place), 5);
    let totals = &report(&place, "report.json")["totals"];
    assert_eq!((&totals["done"], &totals["failed"]), (&5.into(), &2.into()));
    // What is there and was not made by us is not replaced.
    fs::write(place.path("out/f002.h5"), "somebody's").unwrap();
    fs::write(place.path("in/f002.h5"), &whole).unwrap();
    let said = String::from_utf8(sleek(&place, &request).stderr).unwrap();
    assert!(said.contains("out/f002.h5") && said.contains("--force"), "{said}");
    assert_eq!(fs::read(place.path("out/f002.h5")).unwrap(), b"somebody's");
    sleek(&place, &[&request[..], &["--force"]].concat());
    assert_eq!(verified(&place), 6);
    fs::write(place.path("in/f002.h5"), &before.iter().find(|(p, _)| p.ends_with("f002.h5")).unwrap().1).unwrap();
    assert_eq!(contents(place.path("in")), before);
}

/// A disk on which no new file has room.
#[test]
fn a_full_disk_leaves_no_half_files() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    make(&place, 4);
    let before = contents(place.path("in"));
    let mut command = place.command(env!("CARGO_BIN_EXE_sleek"));
    // SAFETY: `setrlimit` may be called between fork and exec.
    unsafe {
        command.pre_exec(|| {
            let limit = libc::rlimit { rlim_cur: 5000, rlim_max: 5000 };
            libc::setrlimit(libc::RLIMIT_FSIZE, &limit);
            Ok(())
        })
    };
    let out = common::output(command.env_remove("SLEEK_LOG").args(["repack", "-r", "--lossless", "--to", "out", "in"]));
    assert_eq!(out.status.code(), Some(2));
    let left = contents(place.path("out"));
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(contents(place.path("in")), before);
    sleek_ok(&place, &["repack", "-r", "--lossless", "--to", "out", "in"]);
    assert_eq!(verified(&place), 4);
}

/// `SLEEK_KILLS` says how many times. Each new file is whole or not there; what is begun again does the rest.
#[test]
fn killed_at_any_moment() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    make(&place, 6);
    let before = contents(place.path("in"));
    let rounds: u32 = std::env::var("SLEEK_KILLS").map_or(10, |n| n.parse().unwrap());
    // By a path that no other test has, processes are known.
    let to = place.path("out");
    let named = to.to_str().unwrap();
    let request = ["repack", "-q", "-r", "--no-attributes", "--abs", "1e-3", "-j", "2", "--to", named, "in"];
    let new = || contents(to.clone());
    let start = Instant::now();
    sleek_ok(&place, &request);
    let (lasts, right) = (start.elapsed(), new());
    // HDF5 notes down when each of four objects was made.
    let same = |a: &[u8], b: &[u8]| a.len() == b.len() && a.iter().zip(b).filter(|(a, b)| a != b).count() <= 16;
    let is_right = |(path, bytes): &(PathBuf, Vec<u8>)| right.iter().any(|(p, b)| p == path && same(b, bytes));
    let (mut whole, mut hidden) = (0, 0);
    for i in 0..rounds {
        fs::remove_dir_all(&to).unwrap();
        let mut batch = place.command(env!("CARGO_BIN_EXE_sleek"));
        let mut batch = batch.args(request).env_remove("SLEEK_LOG").stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(lasts * i / rounds);
        batch.kill().unwrap();
        batch.wait().unwrap();
        common::wait_for(&format!("round {i}: the work goes on"), || (at_work(&to) == 0).then_some(()));
        let mut left = new();
        // Of the moment before a child listens for its parent's end, or of that before the new name.
        for (path, _) in left.extract_if(.., |(path, _)| path.extension().is_none_or(|e| e != "h5")) {
            assert!(path.file_name().unwrap().to_string_lossy().starts_with('.'), "round {i}: {}", path.display());
            hidden += 1;
        }
        for file in &left {
            assert!(is_right(file), "round {i}: {} is not what it is to be", file.0.display());
        }
        whole += left.len();
        sleek_ok(&place, &[&request[..], &["--report", "report.json"]].concat());
        let mut now = new();
        now.retain(|(path, _)| path.extension().is_some_and(|e| e == "h5"));
        assert!(now.len() == right.len() && now.iter().all(is_right), "round {i}: begun again");
        let totals = report(&place, "report.json")["totals"].clone();
        let told = |key: &str| totals[key].as_u64().unwrap() as usize;
        let of = (told("skipped"), told("done"), told("failed"));
        assert_eq!(of, (left.len(), right.len() - left.len(), 0), "round {i}: {totals}");
    }
    assert_eq!(contents(place.path("in")), before);
    println!(
        "killed {rounds} times: {whole} files of {} were there, {hidden} hidden ones",
        right.len() as u32 * rounds
    );
}

/// The files of SLEEK_DATA, as a folder of 200 (or 8): a batch is killed, a file cut short in the middle. No file that
/// is read changes, none is half written, and the report is true.
#[test]
fn real_files_whatever_happens() {
    let Some(data) = common::data_dir() else { return };
    let Some(place) = Place::with(&[]) else { return };
    let is_hdf5 =
        |p: &PathBuf| p.extension().is_some_and(|e| ["nc", "nc4", "h5", "hdf5"].iter().any(|known| e == *known));
    let mut real: Vec<PathBuf> = fs::read_dir(data).unwrap().map(|e| e.unwrap().path()).filter(is_hdf5).collect();
    real.sort();
    fs::create_dir(place.path("in")).unwrap();
    for (i, file) in real.iter().cycle().take(count()).enumerate() {
        let name = format!("in/f{i:03}.{}", file.extension().unwrap().to_str().unwrap());
        match i < real.len() {
            true => drop(fs::copy(file, place.path(&name)).unwrap()),
            // One file by many names is as good as many.
            false => {
                let first = real.iter().position(|p| p == file).unwrap();
                let first = format!("in/f{first:03}.{}", file.extension().unwrap().to_str().unwrap());
                fs::hard_link(place.path(&first), place.path(&name)).unwrap();
            }
        }
    }
    let whole = fs::read(&real[0]).unwrap();
    fs::write(place.path("in/f0040.nc"), &whole[..whole.len() / 3]).unwrap();
    let before = contents(place.path("in"));
    let to = place.path("out");
    let request = ["repack", "-r", "--noa", "1e-3", "--verify", "-j", "2", "--to", to.to_str().unwrap(), "in"];
    let new = || {
        let files = contents(to.clone()).into_iter().map(|(path, _)| path);
        files.filter(|p| !p.file_name().unwrap().to_str().unwrap().starts_with('.')).count()
    };
    let mut first = place.command(env!("CARGO_BIN_EXE_sleek"));
    let mut first = first.arg(request[0]).arg("-q").args(&request[1..]).spawn().unwrap();
    common::wait_for("nothing was done", || (new() >= 2).then_some(()));
    first.kill().unwrap();
    first.wait().unwrap();
    common::wait_for("the work goes on", || (at_work(&to) == 0).then_some(()));
    let out = sleek(&place, &[&request[..], &["--report", "report.json"]].concat());
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(out.status.code() == Some(2) && said.contains("in/f0040.nc: failed: "), "{said}");
    // --verify has compared them all.
    assert_eq!(verified_at_most(&place, 12), count());
    let told = report(&place, "report.json");
    let totals = |key: &str| told["totals"][key].as_u64().unwrap() as usize;
    assert_eq!((totals("done") + totals("skipped"), totals("failed"), totals("files")), (count(), 1, count() + 1));
    for file in told["files"].as_array().unwrap().iter().filter(|f| f["status"] != "failed") {
        let size = fs::metadata(place.path(file["output"].as_str().unwrap())).unwrap().len();
        assert_eq!(file["bytes_after"], size, "{file}");
    }
    assert_eq!(contents(place.path("in")), before);
}

#[test]
fn no_input_is_replaced() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    make(&place, 2);
    sleek_ok(&place, &["repack", "-r", "--abs", "1e-3", "--to", "out", "in"]);
    sleek_fails(&place, &["repack", "-r", "--force", "--abs", "1e-3", "--to", "in", "in"], "another folder is needed");
    sleek_fails(&place, &["repack", "--abs", "1e-3", "--to", "out", "in"], "in: is a folder; -r");
    sleek_fails(&place, &["repack", "-r", "--abs", "1e-3", "in"], "--to DIR");
    sleek_fails(&place, &["repack", "--abs", "1e-3", "a.h5", "b.h5", "c.h5"], "--to DIR");
    sleek_fails(&place, &["repack", "-r", "--abs", "1e-3", "--report", "r.csv", "--to", "out", "in"], "ends in .json");
    sleek_fails(&place, &["repack", "-r", "--abs", "1e-3", "--part", "3/2", "--to", "out", "in"], "'3/2' is not I/N");
    sleek_fails(&place, &["repack", "--abs", "1e-3", "-j", "2", "in/f000.h5", "x.h5"], "--jobs goes with --to");
    fs::copy(place.path("in/f000.h5"), place.path("f000.h5")).unwrap();
    sleek_fails(
        &place,
        &["repack", "--abs", "1e-3", "--to", "new", "in/f000.h5", "f000.h5"],
        "would both become f000.h5",
    );
}

#[test]
fn rules_for_names_and_types() {
    let Some(place) = Place::with(&["h5diff", &venv_python(PYTHON)]) else { return };
    make(&place, 2);
    fs::write(
        place.path("rules.toml"),
        "# What is measured to a hundredth of a degree.\n[[rule]]\ndataset = \"temp*\"\nabs = 0.005\n\n\
         [[rule]]\ndataset = \"/grid/*\"\nkeep = true\n\n[[rule]]\ntype = \"integer\"\nlossless = true\n\n\
         [[rule]]\ntype = \"f64\"\nratio = 20\nprofile = \"small\"\n",
    )
    .unwrap();
    sleek_ok(&place, &["repack", "-r", "--rules", "rules.toml", "--verify", "--to", "out", "--report", "r.json", "in"]);
    for file in report(&place, "r.json")["files"].as_array().unwrap() {
        let what = |name: &str| {
            file["datasets"].as_array().unwrap().iter().find(|d| d["dataset"] == name).unwrap()["what"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        assert_eq!(what("/temp"), "abs 0.005");
        assert_eq!(what("/grid/area"), "kept: by request");
        assert_eq!(what("/n"), "lossless");
        assert!(what("/salt").ends_with("for --ratio 20"), "{}", what("/salt"));
    }
    place.run("h5diff", &["in/f000.h5", "out/f000.h5", "/grid/area"]);
    // A request by name goes before a rule, a rule before the bound for all.
    let arguments = ["--rules", "rules.toml", "--noa", "1e-4", "--dataset", "temp=lossless", "in/f000.h5"];
    let table = sleek_ok(&place, &[&["repack", "--json"], &arguments[..], &["one.h5"]].concat());
    let table: Value = serde_json::from_str(&table).unwrap();
    assert!(table.as_array().unwrap().iter().any(|d| d["dataset"] == "/temp" && d["what"] == "lossless"), "{table}");
    fs::write(place.path("wrong.toml"), "[[rule]]\nabs = 1\ncolour = 3\n").unwrap();
    sleek_fails(&place, &["repack", "--rules", "wrong.toml", "in/f000.h5", "two.h5"], "wrong.toml: rule 1: colour");
}

/// Profile and codec for each dataset, and a similarity that chunks cut off by the rim do not spoil.
#[test]
fn targets_for_each_dataset() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    let script = "import h5py, numpy as np\n\
        y, x = np.mgrid[0:250, 0:330]\n\
        with h5py.File('old.h5', 'w') as f:\n\
        \x20   f.create_dataset('t', data=(280 + np.sin(x / 30) * np.cos(y / 20)).astype('f4'), chunks=(64, 128))\n\
        \x20   f['line'] = np.cumsum(np.random.default_rng(1).normal(size=30000))\n";
    place.run(&venv_python(PYTHON), &["-c", script]);
    let table = |arguments: &[&str]| -> Value {
        let all = [&["repack", "--json", "--force", "--verify"], arguments, &["old.h5", "new.h5"]].concat();
        serde_json::from_str(&sleek_ok(&place, &all)).unwrap()
    };
    let of = |table: &Value, key: &str| {
        let sum = table.as_array().unwrap().iter().map(|d| d[key].as_u64().unwrap()).sum::<u64>();
        let what = table.as_array().unwrap().iter().map(|d| d["what"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
        (sum, what)
    };
    let (_, what) = of(&table(&["--ssim", "0.999"]), "stored_after");
    let report: Value =
        serde_json::from_str(&sleek_ok(&place, &["verify", "--quality", "--json", "old.h5", "new.h5"])).unwrap();
    for dataset in report["datasets"].as_array().unwrap().iter().filter(|d| !d["quality"].is_null()) {
        let ssim = dataset["quality"]["ssim"].as_f64().unwrap();
        assert!((0.999..0.9999).contains(&ssim), "{ssim} {what:?}");
    }
    assert!(what.iter().all(|what| what.contains("SSIM 0.999") && what.ends_with("for --ssim 0.999")), "{what:?}");
}

/// What netCDF's conventions say are coordinates is not rounded unless it is named; `-v` names what is.
#[test]
fn variables_as_netcdf_names_them() {
    let Some(place) = Place::with(&["ncdump", "h5diff", &venv_python("venv-python")]) else { return };
    let script = "import netCDF4, numpy as np\n\
        with netCDF4.Dataset('old.nc', 'w') as f:\n\
        \x20   for name, n in ('time', None), ('y', 60), ('x', 90), ('nv', 4):\n\
        \x20       f.createDimension(name, n)\n\
        \x20   y, x = np.mgrid[0:60, 0:90]\n\
        \x20   for name, values in ('lat', np.sin(y / 30) + x), ('lon', np.cos(x / 30) + y):\n\
        \x20       f.createVariable(name, 'f8', ('y', 'x'))[:] = values\n\
        \x20   f.createVariable('lat_corners', 'f8', ('y', 'x', 'nv'))[:] = np.sin(y / 30)[..., None] + np.arange(4)\n\
        \x20   f['lat'].bounds = 'lat_corners'\n\
        \x20   f.createGroup('deep')\n\
        \x20   for where, name in (f, 'temp'), (f, 'salt'), (f['deep'], 'temp2'):\n\
        \x20       v = where.createVariable(name, 'f4', ('time', 'y', 'x'), fill_value=-9999)\n\
        \x20       v[:] = np.ma.masked_less(np.sin(x / 20 + np.arange(3)[:, None, None]) + y / 60, -0.9)\n\
        \x20       v.coordinates = 'lat lon'\n\
        \x20   p = f.createVariable('packed', 'i2', ('time', 'y', 'x'))\n\
        \x20   p.scale_factor, p.add_offset = 0.01, 5.0\n\
        \x20   p[:] = np.sin(x / 20 + np.arange(3)[:, None, None])\n";
    place.run(&venv_python("venv-python"), &["-c", script]);
    let table = sleek_ok(&place, &["repack", "--abs", "1e-3", "--verify", "old.nc", "all.nc"]);
    let line = |table: &str, name: &str| table.lines().find(|l| l.starts_with(&format!("{name} "))).unwrap().to_owned();
    assert!(line(&table, "/lat").ends_with("  lossless: coordinates (coordinates of /temp)"), "{table}");
    assert!(line(&table, "/lat_corners").ends_with("  lossless: coordinates (bounds of /lat)"), "{table}");
    assert!(line(&table, "/packed").ends_with("  lossless: integers of 2 bytes: bounds are for floats"), "{table}");
    for name in ["/temp", "/salt", "/deep/temp2"] {
        assert!(line(&table, name).ends_with("  abs 0.001"), "{table}");
    }
    for name in ["/lat", "/lon", "/lat_corners", "/packed"] {
        place.run("h5diff", &["old.nc", "all.nc", name]);
    }
    assert_eq!(header(&place, "old.nc"), header(&place, "all.nc"));
    // Names with a slash and without, in a group too; coordinates if they are named.
    let table = sleek_ok(&place, &["repack", "--abs", "1e-3", "-v", "/temp,temp2,lat", "old.nc", "some.nc"]);
    for (name, ends) in
        [("/temp", "abs 0.001"), ("/deep/temp2", "abs 0.001"), ("/lat", "abs 0.001"), ("/salt", "kept: not named")]
    {
        assert!(line(&table, name).ends_with(ends), "{name}: {table}");
    }
    sleek_ok(&place, &["verify", "old.nc", "some.nc"]);
    sleek_fails(
        &place,
        &["repack", "--abs", "1e-3", "-v", "wind", "old.nc", "none.nc"],
        "-v wind: there is no such variable; there are /",
    );
    sleek_fails(&place, &["repack", "--abs", "1e-3", "-v", "packed", "old.nc", "none.nc"], "bounds are for floats");
    sleek_fails(&place, &["repack", "-v", "temp", "old.nc", "none.nc"], "a bound is needed");
}

/// What tells of private files is private: the report and plots.
#[test]
fn what_is_told_of_private_files_is_private() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    make(&place, 2);
    let set = |name: &str, mode| fs::set_permissions(place.path(name), fs::Permissions::from_mode(mode)).unwrap();
    let mode = |name: &str| fs::metadata(place.path(name)).unwrap().mode() & 0o7777;
    set("in/f000.h5", 0o640);
    set("in/deep/er/f001.h5", 0o604);
    sleek_ok(&place, &["repack", "-r", "--abs", "1e-3", "--to", "out", "--report", "r.json", "in"]);
    assert_eq!((mode("r.json"), mode("out/f000.h5")), (0o600, 0o640));
    sleek_ok(&place, &["show", "-q", "-o", "d.svg", "in/f000.h5:/temp"]);
    assert_eq!(mode("d.svg"), 0o640);
}

#[test]
fn nothing_that_is_read_is_written_through_links() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    make(&place, 2);
    let before = contents(place.path("in"));
    let request = ["repack", "-r", "--abs", "1e-3", "--force", "--to", "out", "in"];
    let fails = |part: &str| {
        sleek_fails(&place, &request, part);
        assert_eq!(contents(place.path("in")), before, "{part}");
        fs::remove_dir_all(place.path("out")).or_else(|_| fs::remove_file(place.path("out"))).unwrap();
    };
    // A folder in the one for new files, a file in it, or that folder itself is what is read.
    fs::create_dir(place.path("out")).unwrap();
    symlink(place.path("in/deep"), place.path("out/deep")).unwrap();
    fails("deep/er/f001.h5 is one of the files to be read");
    fs::create_dir(place.path("out")).unwrap();
    symlink(place.path("in/f000.h5"), place.path("out/f000.h5")).unwrap();
    fails("f000.h5 is one of the files to be read");
    symlink(place.path("in/deep"), place.path("out")).unwrap();
    fails("lies in the folder to be read");
    // Below what is read there may be a folder for a batch alone.
    for times in ["2 done", "2 skipped"] {
        let said = sleek_ok(&place, &["repack", "-r", "--abs", "1e-3", "--to", "in/small", "in"]);
        assert!(said.contains(times), "{said}");
    }
}

/// The parts of a batch are all its files, each once, whatever runs at the same time.
#[test]
fn parts_work_side_by_side() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    make(&place, 7);
    let start = |i: usize| {
        let (part, report) = (format!("{i}/3"), format!("r{i}.json"));
        let mut command = place.command(env!("CARGO_BIN_EXE_sleek"));
        command
            .args(["repack", "-q", "-r", "--abs", "1e-3", "--part", &part, "--to", "out", "--report", &report, "in"]);
        command.spawn().unwrap()
    };
    let parts: Vec<_> = (1..=3).map(start).collect();
    for mut part in parts {
        assert!(part.wait().unwrap().success());
    }
    assert_eq!(verified(&place), 7);
    let done: Vec<u64> =
        (1..=3).map(|i| report(&place, &format!("r{i}.json"))["totals"]["done"].as_u64().unwrap()).collect();
    assert_eq!(done, [3, 2, 2]);
    let again = sleek_ok(&place, &["repack", "-r", "--abs", "1e-3", "--to", "out", "in"]);
    assert!(again.contains("7 skipped:"), "{again}");
    let none = sleek_ok(&place, &["repack", "-r", "--abs", "1e-3", "--part", "8/8", "--to", "out", "in"]);
    assert_eq!(none, "no file is in this part\n");
}

/// Files that only have the name are counted; rules and names that lead nowhere are told.
#[test]
fn what_leads_nowhere_is_told() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    let make = "import h5py, numpy as np, os\n\
        os.mkdir('in')\n\
        with h5py.File('in/a.nc', 'w') as f:\n\
        \x20   f['x=1'] = np.sin(np.arange(20000) / 50).astype('f4')\n\
        \x20   f['packed'] = np.arange(20000, dtype='i2')\n\
        open('in/b.nc', 'w').close()\n\
        open('in/c.h5', 'w').write('<html>')\n";
    place.run(&venv_python(PYTHON), &["-c", make]);
    let out = sleek(&place, &["repack", "-r", "--abs", "1e-3", "--to", "out", "in"]);
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(out.status.success() && said.contains("2 files with the name of an HDF5 file are none"), "{said}");
    sleek_ok(&place, &["repack", "--dataset", "x=1=abs=1e-3", "in/a.nc", "one.nc"]);
    fs::write(place.path("r.toml"), "[[rule]]\ndataset = \"tmep*\"\nabs = 1\n[[rule]]\nabs = 0.01\n").unwrap();
    let out = sleek(&place, &["repack", "--rules", "r.toml", "in/a.nc", "two.nc"]);
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(
        out.status.success() && said.contains("rule 1 ('tmep*') matches no dataset") && !said.contains("rule 2"),
        "{said}"
    );
    fs::write(place.path("r.toml"), "[[rule]]\ndataset = \"packed\"\nabs = 1\n").unwrap();
    let out = sleek(&place, &["repack", "--rules", "r.toml", "in/a.nc", "three.nc"]);
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(!out.status.success() && said.contains("bounds are for floats"), "{said}");
}
