//! `sleek repack` where other filters, or this one, were there before; what it leaves exact.

use std::fs;

use crate::repack::{PYTHON, python, sleek, sleek_fails, sleek_ok};
use crate::targets::line_of;
use crate::{Place, common, source, venv_python};

/// Filters behind one another, each of which makes noise a little longer.
#[test]
fn chains_of_filters_are_undone() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    let script = source("chains.py");
    place.run(&venv_python(PYTHON), &[&script, "make", "old.h5"]);
    sleek_ok(&place, &["repack", "--lossless", "--even-if-larger", "--verify", "old.h5", "new.h5"]);
    place.run(&venv_python(PYTHON), &[&script, "same", "old.h5", "new.h5"]);
}

/// Latitudes, longitudes and times that nothing names as coordinates.
#[test]
fn coordinates_by_their_own_attributes() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    let script = "import h5py, numpy as np\n\
        x = np.linspace(0, 90, 6000)\n\
        with h5py.File('old.h5', 'w') as f:\n\
        \x20   for name, units, standard in [\n\
        \x20       ('lat', 'degrees_north', ''), ('lon', 'degree_E', ''), ('time', 'hours since 1900-01-01', ''),\n\
        \x20       ('y', 'rad', 'latitude'), ('x', '', 'longitude'), ('t', 'd', 'time'), ('z', 'm', 'axis'),\n\
        \x20       ('data', 'degrees', ''), ('days', 'days', 'time_bounds')]:\n\
        \x20       f[name] = x.astype('f4')\n\
        \x20       f[name].attrs['units'] = units\n\
        \x20       if standard:\n\
        \x20           is_axis = standard == 'axis'\n\
         \x20           f[name].attrs['axis' if is_axis else 'standard_name'] = 'Z' if is_axis else standard\n\
        \x20   f['lat'].attrs['units'] = np.bytes_('degrees_north')\n";
    place.run(&venv_python(PYTHON), &["-c", script]);
    let table = sleek_ok(&place, &["repack", "--abs", "1e-3", "old.h5", "new.h5"]);
    for name in ["lat", "lon", "time", "y", "x", "t", "z"] {
        assert!(line_of(&table, &format!("/{name}")).contains("lossless: coordinates ("), "{name}: {table}");
    }
    assert!(line_of(&table, "/time").contains("units hours since 1900-01-01"), "{table}");
    for name in ["data", "days"] {
        assert!(line_of(&table, &format!("/{name}")).contains("abs 0.001"), "{name}: {table}");
    }
    // By name they are compressed all the same.
    let table = sleek_ok(&place, &["repack", "--dataset", "lat=abs=1e-3", "--force", "old.h5", "new.h5"]);
    assert!(line_of(&table, "/lat").contains("abs 0.001"), "{table}");
}

/// What the filter has compressed is undone, all else stays: the file is read without the plugin then.
#[test]
fn the_filter_is_undone() {
    let Some(place) = Place::with(&["h5dump", "h5diff", &venv_python(PYTHON)]) else { return };
    python(&place, PYTHON, &["make", "old.h5", "v110"]);
    sleek_ok(&place, &["repack", "--lossless", "old.h5", "packed.h5"]);
    let table = sleek_ok(&place, &["repack", "--filter", "none", "--verify", "packed.h5", "new.h5"]);
    assert!(table.contains("restored, without SLEEK") && table.contains("verified"), "{table}");
    sleek_ok(&place, &["decompress", "-q", "packed.h5", "again.h5"]);
    for file in ["new.h5", "again.h5"] {
        let bare = |program: &str| {
            let mut command = place.command(program);
            command.env_remove("HDF5_PLUGIN_PATH");
            command
        };
        let dump = common::run(bare("h5dump").args(["-pH", file]));
        assert!(!dump.contains("47474"), "{dump}");
        common::run(bare("h5diff").args(["old.h5", file]));
    }
    sleek_fails(&place, &["repack", "--filter", "none", "--abs", "1", "packed.h5", "x.h5"], "no bound");
    sleek_fails(&place, &["decompress", "packed.h5", "x.npy"], "is an HDF5 file; one variable of it is");
}

/// One variable of a file, or a box of it, as NumPy reads it.
#[test]
fn a_variable_is_extracted() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    let python = venv_python(PYTHON);
    let make = "import h5py, numpy as np; a = np.arange(40*50*60, dtype='>f4').reshape(40, 50, 60); \
                f = h5py.File('a.h5', 'w'); f.create_dataset('g/t', data=a, chunks=(7, 20, 60)); f['n'] = np.arange(5)";
    place.run(&python, &["-c", make]);
    sleek_ok(&place, &["repack", "--lossless", "a.h5", "b.h5"]);
    sleek_ok(&place, &["decompress", "-q", "b.h5:t", "t.npy"]);
    sleek_ok(&place, &["decompress", "-q", "--box", "3:11,:,5:2", "b.h5:/g/t", "part.npy"]);
    sleek_ok(&place, &["decompress", "-q", "b.h5:n", "n.bin"]);
    let check = "import numpy as np; a = np.arange(40*50*60, dtype='>f4').reshape(40, 50, 60); \
                 t, p, n = np.load('t.npy'), np.load('part.npy'), np.fromfile('n.bin', 'i8'); \
                 assert t.dtype == a.dtype and (t == a).all(); \
                 assert (p == a[3:14, :, 5:7]).all() and (n == range(5)).all()";
    place.run(&python, &["-c", check]);
    sleek_fails(&place, &["decompress", "b.h5:u", "u.npy"], "u: there is no such variable; there are /");
    sleek_fails(&place, &["decompress", "--box", "0:50,:,:", "b.h5:t", "u.npy"], "--box: /g/t");
}

/// Every chunk is read, and damage is told with its place.
#[test]
fn damaged_chunks_are_found() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    let python = venv_python(PYTHON);
    let make = "import h5py, numpy as np; a = np.random.default_rng(1).random((64, 64)).astype('f4'); \
                f = h5py.File('a.h5', 'w'); f.create_dataset('t', data=a, chunks=(32, 64)); f['u'] = a";
    place.run(&python, &["-c", make]);
    sleek_ok(&place, &["repack", "--abs", "1e-3", "--exclude", "u", "a.h5", "b.h5"]);
    assert_eq!(sleek_ok(&place, &["test", "b.h5"]), "b.h5: whole, 2 tested\n");
    let spoil = "import h5py; d = h5py.File('b.h5')['t']; i = d.id.get_chunk_info_by_coord((32, 0)); \
                 f = open('b.h5', 'r+b'); f.seek(i.byte_offset + i.size // 2); c = f.read(1); \
                 f.seek(-1, 1); f.write(bytes([c[0] ^ 1]))";
    place.run(&python, &["-c", spoil]);
    let out = sleek(&place, &["test", "b.h5"]);
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    assert_eq!(out.status.code(), Some(1), "{said}");
    assert!(said.starts_with("b.h5: DAMAGED: /t, chunk at [32, 0]: ") && said.lines().count() == 1, "{said}");
}

/// What a bound is not for is compressed losslessly where that makes it smaller.
#[test]
fn coordinates_and_integers_lose_nothing_and_get_smaller() {
    let Some(place) = Place::with(&["h5diff", &venv_python(PYTHON)]) else { return };
    let script = "import h5py, numpy as np\n\
        y, x = np.mgrid[0:200, 0:300]\n\
        rng = np.random.default_rng(1)\n\
        with h5py.File('old.h5', 'w') as f:\n\
        \x20   d = f.create_dataset('t', data=(np.sin(x / 20) + y / 60).astype('f4'))\n\
        \x20   d.attrs['coordinates'] = 'lat'\n\
        \x20   f['lat'] = (y * 0.25 - 25 + x * 0.001).astype('f4')\n\
        \x20   f['steps'] = (x + y).astype('i4')\n\
        \x20   f['noise'] = rng.integers(-2**31, 2**31, (200, 300), dtype='i4')\n\
        \x20   f['few'] = np.arange(100, dtype='i4')\n\
        \x20   f['other'] = (np.cos(x / 20) + y / 60).astype('f4')\n";
    place.run(&venv_python(PYTHON), &["-c", script]);
    let line = |table: &str, name: &str| table.lines().find(|l| l.starts_with(&format!("{name} "))).unwrap().to_owned();
    let repack = |arguments: &[&str]| sleek_ok(&place, &[&["repack", "--force", "--verify"], arguments].concat());
    let size = |file: &str| fs::metadata(place.path(file)).unwrap().len();
    let lossless = repack(&["--abs", "1e-3", "old.h5", "new.h5"]);
    assert!(line(&lossless, "/lat").ends_with("  lossless: coordinates (coordinates of /t)"), "{lossless}");
    assert!(
        line(&lossless, "/steps").ends_with("  lossless: integers of 4 bytes: bounds are for floats"),
        "{lossless}"
    );
    // Neither grows, whatever is asked of the others.
    for table in [&lossless, &repack(&["--abs", "1e-3", "--even-if-larger", "old.h5", "larger.h5"])] {
        assert!(line(table, "/noise").contains("kept: as small as it is"), "{table}");
        assert!(line(table, "/few").ends_with("kept: small"), "{table}");
    }
    for name in ["/lat", "/steps", "/noise", "/few"] {
        place.run("h5diff", &["old.h5", "new.h5", name]);
    }
    let kept = repack(&["--abs", "1e-3", "--others", "keep", "old.h5", "kept.h5"]);
    assert!(line(&kept, "/lat").ends_with("kept: coordinates (coordinates of /t)"), "{kept}");
    assert!(size("new.h5") < size("kept.h5") - 200_000, "{} {}", size("new.h5"), size("kept.h5"));
    // Those that nobody asked for stay, unless they are asked for.
    let named = repack(&["--abs", "1e-3", "-v", "t", "old.h5", "named.h5"]);
    assert!(line(&named, "/other").ends_with("kept: not named") && line(&named, "/lat").contains("kept"), "{named}");
    let all = repack(&["--abs", "1e-3", "-v", "t", "--others", "lossless", "old.h5", "all.h5"]);
    assert!(line(&all, "/other").ends_with("  lossless: not named"), "{all}");
    assert!(line(&all, "/t").ends_with("  abs 0.001"), "{all}");
    let excluded = repack(&["--abs", "1e-3", "--exclude", "lat", "old.h5", "excluded.h5"]);
    assert!(line(&excluded, "/lat").ends_with("kept: by request"), "{excluded}");
    // The size of a file counts what they take then.
    let sized = repack(&["--size", "400k", "old.h5", "sized.h5"]);
    assert!((392_000..=400_000).contains(&size("sized.h5")), "{} {sized}", size("sized.h5"));
    sleek_fails(&place, &["repack", "--filter", "none", "--others", "keep", "new.h5", "x.h5"], "--others");
}
