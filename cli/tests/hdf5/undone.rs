//! `sleek repack` where other filters, or this one, were there before; what it leaves exact.

use std::fs;

use serde_json::Value;

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

/// A filter that rounds is not put back: its values would be others than those of the compressed file.
#[test]
fn undoing_rounds_nothing_again() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    let make = "import h5py, numpy as np; a = (280 + np.random.default_rng(0).random((200, 300))).astype('f4')\n\
                with h5py.File('old.h5', 'w') as f:\n\
                \x20   f.create_dataset('t', data=a, chunks=(50, 100), scaleoffset=1, shuffle=True)\n";
    place.run(&venv_python(PYTHON), &["-c", make]);
    sleek_ok(&place, &["repack", "--even-if-larger", "--abs", "0.06", "old.h5", "packed.h5"]);
    sleek_ok(&place, &["decompress", "-q", "packed.h5", "new.h5"]);
    let check = "import h5py; packed, new = (h5py.File(name)['t'] for name in ('packed.h5', 'new.h5'))\n\
                 assert (packed[()] == new[()]).all() and new.scaleoffset is None and new.shuffle\n";
    place.run(&venv_python(PYTHON), &["-c", check]);
}

/// A filter that HDF5 finds and that takes no dataset of this process: the values come back without it.
#[test]
fn a_filter_that_refuses_is_left_out() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    let make = "import h5py, hdf5plugin, numpy as np; a = np.random.default_rng(0).random((200, 300), 'f4')\n\
                with h5py.File('old.h5', 'w') as f:\n\
                \x20   f.create_dataset('t', data=a, chunks=(50, 100), compression='gzip')\n\
                \x20   f.create_dataset('u', data=a, chunks=(50, 100), **hdf5plugin.Blosc())\n\
                print(hdf5plugin.PLUGINS_PATH)";
    let plugins = place.run(&venv_python(PYTHON), &["-c", make]);
    let sleek = |arguments: &[&str]| {
        let mut command = place.command(env!("CARGO_BIN_EXE_sleek"));
        common::output(command.env("HDF5_PLUGIN_PATH", plugins.trim()).args(arguments))
    };
    assert!(sleek(&["repack", "-q", "--abs", "1e-3", "old.h5", "packed.h5"]).status.success());
    let out = sleek(&["decompress", "-q", "packed.h5", "new.h5"]);
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(out.status.success() && said.contains("u: comes back without") && !said.contains("t: comes"), "{said}");
    let check = "import h5py; packed, new = (h5py.File(name) for name in ('packed.h5', 'new.h5'))\n\
                 assert all((packed[name][()] == new[name][()]).all() for name in 'tu')\n\
                 assert new['t'].compression == 'gzip' and new['u'].id.get_create_plist().get_nfilters() == 0\n";
    place.run(&venv_python(PYTHON), &["-c", check]);
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
    sleek_fails(&place, &["repack", "--filter", "none", "--others", "keep", "new.h5", "x.h5"], "--others");
}

/// Whatever the type: what HDF5 can read is restored, and the rest of the file goes on.
#[test]
fn the_filter_is_undone_of_every_type() {
    let Some(place) = Place::with(&["h5dump", &venv_python(PYTHON)]) else { return };
    let python = venv_python(PYTHON);
    let common = "import h5py, numpy as np\n\
        def same(a, b):\n\
        \x20   assert a.shape == b.shape and a.dtype == b.dtype, (a.name, a.dtype, b.dtype)\n\
        \x20   x, y = a[()].ravel(), b[()].ravel()\n\
        \x20   if h5py.check_ref_dtype(a.dtype):\n\
        \x20       return all(a.file[p].name == b.file[q].name for p, q in zip(x, y))\n\
        \x20   return all(np.array_equal(p, q) for p, q in zip(x, y))\n";
    let make = "with h5py.File('old.h5', 'w') as f:\n\
        \x20   packed = dict(chunks=(50,), compression=47474)\n\
        \x20   f.create_dataset('numbers', data=np.arange(500.0), **packed)\n\
        \x20   f.create_dataset('texts', data=[f'cell {i} é' for i in range(500)], dtype=h5py.string_dtype(),\n\
        \x20                    **packed)\n\
        \x20   f.create_dataset('fixed', data=np.array([b'abc', b'de'] * 250), **packed)\n\
        \x20   ragged = f.create_dataset('ragged', (500,), h5py.vlen_dtype('i4'), **packed)\n\
        \x20   ragged[:] = np.array([np.arange(i % 7, dtype='i4') for i in range(500)], dtype=object)\n\
        \x20   refs = f.create_dataset('refs', (500,), h5py.ref_dtype, **packed)\n\
        \x20   refs[:] = [f['texts'].ref if i % 3 else f['numbers'].ref for i in range(500)]\n\
        \x20   kind = np.dtype([('a', 'f8'), ('name', h5py.string_dtype()), ('b', 'i2')])\n\
        \x20   parts = np.array([(i / 7, f'n{i}', i) for i in range(500)], dtype=kind)\n\
        \x20   f.create_dataset('parts', data=parts, **packed)\n\
        \x20   f.create_dataset('nothing', (500,), h5py.string_dtype(), **packed)\n\
        \x20   f['texts'].attrs['who'] = 'nobody'\n";
    place.run(&python, &["-c", &[common, make].concat()]);
    let tree = sleek_ok(&place, &["inspect", "old.h5"]);
    for name in ["texts", "ragged", "refs", "parts"] {
        let line = tree.lines().find(|line| line.contains(&format!("─ {name}  "))).unwrap();
        assert!(line.contains("; SLEEK"), "{name}: {tree}");
    }
    sleek_ok(&place, &["decompress", "-q", "old.h5", "new.h5"]);
    let table = sleek_ok(&place, &["repack", "--filter", "none", "--verify", "old.h5", "again.h5"]);
    assert!(line_of(&table, "/texts").contains("restored, without SLEEK") && table.contains("verified"), "{table}");
    for file in ["new.h5", "again.h5"] {
        let mut dump = place.command("h5dump");
        let dump = common::run(dump.env_remove("HDF5_PLUGIN_PATH").args(["-pH", file]));
        assert!(!dump.contains("47474"), "{dump}");
        let check = format!(
            "a, b = h5py.File('old.h5'), h5py.File('{file}')\n\
             assert sorted(a) == sorted(b), list(b)\n\
             others = [n for n in a if not same(a[n], b[n])]\n\
             assert not others, others\n\
             assert b['texts'].attrs['who'] == 'nobody'\n"
        );
        place.run(&python, &["-c", &[common, &check].concat()]);
    }
}

/// The filters that were there before come back, or others that are asked for.
#[test]
fn the_filters_of_before_come_back() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    let python = venv_python(PYTHON);
    let make = "import h5py, numpy as np\n\
        y, x = np.mgrid[0:300, 0:400]\n\
        with h5py.File('old.h5', 'w') as f:\n\
        \x20   f.create_dataset('t', data=np.round(np.sin(x / 90) + y / 60, 2).astype('f4'), chunks=(100, 400), \
                                  compression='gzip', compression_opts=6, shuffle=True, fletcher32=True)\n\
        \x20   f.create_dataset('n', data=(x + y).astype('i4'), chunks=(100, 400), compression='lzf')\n\
        \x20   f.create_dataset('plain', data=np.cos(x / 90).astype('f4'), chunks=(100, 400))\n";
    place.run(&python, &["-c", make]);
    sleek_ok(&place, &["repack", "--abs", "1e-2", "old.h5", "packed.h5"]);
    sleek_ok(&place, &["repack", "--abs", "1e-1", "packed.h5", "twice.h5"]);
    for packed in ["packed.h5", "twice.h5"] {
        sleek_ok(&place, &["decompress", "-q", "--force", packed, "new.h5"]);
        let check = "import h5py; a, b = h5py.File('old.h5'), h5py.File('new.h5')\n\
            of = lambda p: [p.get_filter(i)[:3:2] for i in range(p.get_nfilters())]\n\
            said = lambda d: of(d.id.get_create_plist())\n\
            assert all(said(a[n]) == said(b[n]) for n in a), [(said(a[n]), said(b[n])) for n in a]\n\
            assert 'sleek_filters' not in b['t'].attrs";
        place.run(&python, &["-c", check]);
    }
    sleek_ok(&place, &["repack", "--filter", "deflate=9", "packed.h5", "deflated.h5"]);
    let check = "import h5py; d = h5py.File('deflated.h5')['t']; \
                 assert d.compression == 'gzip' and d.compression_opts == 9 and d.shuffle";
    place.run(&python, &["-c", check]);
    sleek_ok(&place, &["repack", "--abs", "1e-2", "--no-attributes", "old.h5", "silent.h5"]);
    sleek_ok(&place, &["decompress", "-q", "--force", "silent.h5", "new.h5"]);
    place.run(&python, &["-c", "import h5py; assert h5py.File('new.h5')['t'].compression is None"]);
    sleek_fails(&place, &["repack", "--filter", "gzip", "packed.h5", "x.h5"], "deflate=9");
}

/// Filters behind ours stay, unless others are asked for.
#[test]
fn filters_behind_ours_stay() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    let python = venv_python(PYTHON);
    let make = "import h5py, numpy as np\n\
        with h5py.File('old.h5', 'w') as f:\n\
        \x20   f.create_dataset('t', data=np.arange(3000), chunks=(1000,), compression=47474, fletcher32=True)\n";
    place.run(&python, &["-c", make]);
    for (filter, expected) in [("none", "[3]"), ("deflate=9", "[2, 1]")] {
        sleek_ok(&place, &["repack", "--force", "--filter", filter, "old.h5", "new.h5"]);
        let check = format!(
            "import h5py, numpy as np; d = h5py.File('new.h5')['t']; p = d.id.get_create_plist(); \
             assert [p.get_filter(i)[0] for i in range(p.get_nfilters())] == {expected}; \
             assert (d[:] == np.arange(3000)).all()"
        );
        place.run(&python, &["-c", &check]);
    }
}

/// No value leaves the valid range that was inside.
#[test]
fn valid_values_stay_valid() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    let python = venv_python(PYTHON);
    let make = "import h5py, numpy as np\n\
        y, x = np.mgrid[0:400, 0:500]\n\
        a = np.clip(0.5 + 0.7 * np.sin(x / 40) * np.cos(y / 50), 0, 1).astype('f4')\n\
        with h5py.File('old.h5', 'w') as f:\n\
        \x20   for name, attrs in [('cld', {'valid_max': np.float32(1)}),\n\
        \x20                       ('both', {'valid_range': np.array([0, 1], 'f4')}),\n\
        \x20                       ('ends', {'valid_min': 0.0, 'valid_max': 1.0}), ('free', {})]:\n\
        \x20       d = f.create_dataset(name, data=a, chunks=(100, 500))\n\
        \x20       d.attrs.update(attrs)\n";
    place.run(&python, &["-c", make]);
    let count = |file: &str, name: &str| {
        let script = format!(
            "import h5py; a = h5py.File('{file}')['{name}'][()].astype('f8'); b = h5py.File('old.h5')['{name}'][()]; \
             assert abs(a - b).max() <= 2.01e-4; print(int((a > 1).sum()))"
        );
        place.run(&python, &["-c", &script]).trim().parse::<u64>().unwrap()
    };
    for profile in ["adaptive", "fast", "small"] {
        let options = ["repack", "--force", "--verify", "--noa", "2e-4", "--profile", profile, "old.h5", "new.h5"];
        assert!(sleek_ok(&place, &options).contains("verified"));
        for name in ["cld", "both", "ends"] {
            assert_eq!(count("new.h5", name), 0, "{profile} {name}");
        }
    }
    sleek_ok(&place, &["repack", "--force", "--noa", "2e-4", "old.h5", "new.h5"]);
    assert!(count("new.h5", "free") > 0, "the case is none");
    // Who asks for a bound alone is told what it costs.
    let make = "import h5py\n\
        with h5py.File('old.h5') as a, h5py.File('alone.h5', 'w') as b:\n\
        \x20   for name, options in [('cld', 'abs=2e-4'), ('ends', 'abs=2e-4,limits=0:1')]:\n\
        \x20       text = options.encode(); text += bytes(-len(text) % 4)\n\
        \x20       words = (2, *(int.from_bytes(text[i:i + 4], 'little') for i in range(0, len(text), 4)))\n\
        \x20       d = b.create_dataset(name, data=a[name], chunks=(100, 500), compression=47474, \
                                      compression_opts=words)\n\
        \x20       d.attrs.update(a[name].attrs)\n";
    place.run(&python, &["-c", make]);
    let left = count("alone.h5", "cld");
    let table = String::from_utf8(sleek(&place, &["verify", "old.h5", "alone.h5"]).stdout).unwrap();
    let told = format!("; {left} left the valid range: programs take them for missing");
    assert!(left > 0 && line_of(&table, "/cld").contains(&told), "{left}: {table}");
    assert!(!line_of(&table, "/ends").contains("left the valid range"), "{table}");
    let verdicts: Value =
        serde_json::from_slice(&sleek(&place, &["verify", "--json", "old.h5", "alone.h5"]).stdout).unwrap();
    let of = verdicts["datasets"].as_array().unwrap().iter().find(|of| of["name"] == "/cld").unwrap();
    assert_eq!((&of["left_valid_range"], &of["verdict"]), (&left.into(), &"within bound".into()));
}
