"""netCDF4-python: its netCDF-4 files, and the Zarr stores that it writes and reads (NCZarr), which zarr-python reads too.

netCDF4 brings another HDF5 than h5py, so it is loaded into processes of its own, by which other tests are not touched.
"""

import importlib.util
import json
import os
import subprocess
import sys

import numpy as np
import pytest
import sleek

pytestmark = pytest.mark.skipif(importlib.util.find_spec("netCDF4") is None, reason="netCDF4 is not here")
FILL = np.float32(-9999)


def wind():
    rng = np.random.default_rng(5)
    a = np.cumsum(rng.normal(size=(12, 73, 144)), axis=1).astype("f4")
    a[rng.random(a.shape) < 0.1] = FILL
    return a


def define(file, name, dtype, request, **more):
    for n, length in zip(("time", "lat", "lon"), (12, 73, 144)):
        if n not in file.dimensions:
            file.createDimension(n, length)
    v = file.createVariable(name, dtype, ("time", "lat", "lon"), chunksizes=(5, 73, 72), **more)
    v.set_auto_mask(False)
    sleek.nc_def_var_filter(v, request)
    return v


def run(program, *arguments):
    """A Python that has the plugin in its path before netCDF4 is there."""
    env = {**os.environ, "HDF5_PLUGIN_PATH": sleek.PLUGIN_PATH, "SLEEK_LOG": "stderr"}
    program = "import sys\nsys.path.insert(0, sys.argv[1])\nimport netCDF4, numpy as np, sleek\n" + program
    command = [sys.executable, "-c", program, os.path.dirname(__file__), *map(str, arguments)]
    return subprocess.run(command, env=env, capture_output=True, text=True)


def test_variables_of_files(tmp_path):
    done = run("import test_netcdf\ntest_netcdf.variables_of_files(sys.argv[2])", tmp_path / "a.nc")
    assert done.returncode == 0, done.stderr


def test_docstring():
    done = run("import doctest, sleek._netcdf as n\nfailed, tried = doctest.testmod(n)\nassert tried and not failed")
    assert done.returncode == 0, done.stdout + done.stderr


def test_datasets_of_h5py_beside_another_hdf5(tmp_path):
    """What HDF5 a dataset is of is known, though netCDF4 brings its own."""
    done = run("import test_netcdf\ntest_netcdf.datasets_of_h5py(sys.argv[2])", tmp_path / "a.h5")
    assert done.returncode == 0, done.stderr


def datasets_of_h5py(path):
    import h5py
    from sleek._library import lib

    assert len(sleek.register()) > 1, "two HDF5s were to be here"
    a = wind()
    with h5py.File(path, "w") as f:
        dataset = f.create_dataset("a", a.shape, "f4", chunks=(5, 73, 72), fillvalue=FILL, **sleek.h5(abs=1e-2))
        assert sleek.write(dataset, a).route == "threads"
        back = np.empty_like(a)
        assert sleek.read(dataset, out=back).route == "threads"
        assert back.tobytes() == dataset[:].tobytes()
        assert np.abs(back.astype("f8") - a).max() <= 1e-2
        # Without a word whose it is, or with a wrong one, it stays an error.
        arguments = dataset.id.id, h5py.h5t.NATIVE_FLOAT.id, None, None, 0, back.ctypes.data, None, None
        for address, says in ((None, b"or to several"), (1, b"sleek_h5d_user"), (id(lib), b"sleek_h5d_user")):
            lib.sleek_h5d_user(address)
            assert lib.sleek_h5d_read(*arguments) == 13 and says in lib.sleek_last_error()


def variables_of_files(path):
    import netCDF4

    a = wind()
    with netCDF4.Dataset(path, "w") as f:
        define(f, "a", "f4", "abs=1e-2", fill_value=FILL)[:] = a
        define(f.createGroup("g"), "n", "i4", "abs=1e-2")[:] = a.astype("i4")
        v = define(f, "late", "f4", "lossless")
        v[:] = a
        mark = np.float32(-9999.9)
        gaps = np.where(a == FILL, mark, a)
        for name, more in ("attribute", {}), ("named", {"fill": -5}), ("none", {"fill": False}):
            t = f.createVariable(name, "f4", ("time", "lat", "lon"), chunksizes=(5, 73, 72), fill_value=False)
            t.missing_value = mark
            t.set_auto_mask(False)
            sleek.nc_def_var_filter(t, abs=0.05, **more)
            t[:] = gaps
        for wrong in ({"abs": -1}, {}, {"abs": 1, "rel": 1}):
            with pytest.raises((sleek.SleekError, TypeError)):
                sleek.nc_def_var_filter(v, **wrong)
        for refused in (v, f.createVariable("one", "f4", ())):
            with pytest.raises(sleek.SleekError, match=f"for '{refused.name}' .it must have dimensions, and no data yet"):
                sleek.nc_def_var_filter(refused, abs=1e-3)
    with pytest.raises(TypeError, match="not str"):
        sleek.nc_def_var_filter("a", abs=1e-3)
    with netCDF4.Dataset(path) as f:
        f.set_auto_mask(False)
        back = f["a"][:]
        assert np.array_equal(back == FILL, a == FILL) and 0 < np.abs(back - a).max() <= 1e-2
        assert [np.array_equal(f[name][:] == mark, gaps == mark) for name in ("attribute", "named", "none")] == [True, True, False]
        assert 0 < np.abs(f["attribute"][:] - gaps).max() <= 0.05
        assert np.array_equal(f["g/n"][:], a.astype("i4")) and np.array_equal(f["late"][:], a)
    assert os.path.getsize(path) < 0.8 * 6 * 15 / 12 * a.nbytes  # chunks have 15 times


STORE = """
from test_netcdf import FILL, define, wind
url, a = f"file://{sys.argv[2]}#mode=nczarr,file", wind()
with netCDF4.Dataset(url, "w") as f:
    define(f, "a", "f4", "abs=1e-2", fill_value=FILL)[:] = a
    define(f, "r", "f8", "noa=1e-4,range=50,profile=small")[:] = a
    define(f, "m", "f8", "abs=1e-2,fill=-9999,fill=0x7ff8000000000000")[:] = a
    define(f, "n", "i4", "abs=1e-2")[:] = a.astype("i4")
    define(f, "e", "f8", "abs=1e-2", endian="big")[:] = a
    define(f, "s", "f4", "lossless")[:] = a
with netCDF4.Dataset(url) as f:
    f.set_auto_mask(False)
    np.savez(sys.argv[2] + ".npz", **{name: f[name][:] for name in f.variables})
"""


def test_zarr_of_netcdf(tmp_path):
    zarr = pytest.importorskip("zarr", minversion="3")
    store, a = tmp_path / "store.zarr", wind()
    done = run(STORE, store)
    assert done.returncode == 0, done.stderr
    assert "dataset of f32 in chunks of [5, 73, 72]: abs=1e-2" in done.stderr
    compressors = {name: json.loads((store / name / ".zarray").read_text())["compressor"] for name in "aremns"}
    assert compressors == {
        "a": {"id": "sleek", "abs": 0.01, "fill": -9999.0},
        "r": {"id": "sleek", "noa": 0.0001, "range": 50.0, "profile": "small"},
        "m": {"id": "sleek", "request": "abs=1e-2,fill=-9.999e3,fill=0x7ff8000000000000"},
        "e": {"id": "sleek", "abs": 0.01},
        "n": {"id": "sleek", "abs": 0.01},
        "s": {"id": "sleek", "lossless": True},
    }
    group, by_netcdf = zarr.open_group(str(store), mode="r", zarr_format=2), np.load(f"{store}.npz")
    for name, bound in {"a": 1e-2, "r": 5e-3, "m": 1e-2, "e": 1e-2, "n": 0, "s": 0}.items():
        back, original = group[name][:], a.astype("i4") if name == "n" else a
        assert np.array_equal(back, by_netcdf[name]), name
        error = np.abs(back.astype("f8") - original).max()
        assert error <= bound and (error > 0) == (bound > 0), (name, error)
    assert np.array_equal(group["a"][:] == FILL, a == FILL)
    assert sleek.inspect((store / "a" / "0.0.0").read_bytes()).missing
    assert sleek.inspect((store / "r" / "0.0.0").read_bytes()).shape == (5, 73, 72)


def test_zarr_of_zarr_python_is_read_by_netcdf(tmp_path):
    zarr = pytest.importorskip("zarr", minversion="3")
    from sleek.numcodecs import Sleek

    a = wind()
    group = zarr.open_group(str(tmp_path / "z"), mode="w", zarr_format=2)
    for name, codec in (("a", Sleek(abs=1e-2, fill=-9999.0)), ("w", Sleek("noa=1e-3,range=50"))):
        z = group.create_array(name, shape=a.shape, chunks=(5, 73, 72), dtype="f4", compressors=codec, fill_value=-9999.0)
        z.attrs["_ARRAY_DIMENSIONS"] = ["time", "lat", "lon"]
        z[:] = a
    program = """
with netCDF4.Dataset(f"file://{sys.argv[2]}#mode=zarr,file") as f:
    f.set_auto_mask(False)
    np.savez(sys.argv[2] + ".npz", **{name: f[name][:] for name in f.variables})
"""
    done = run(program, tmp_path / "z")
    assert done.returncode == 0, done.stderr
    by_netcdf = np.load(f"{tmp_path / 'z'}.npz")
    for name in ("a", "w"):
        assert np.array_equal(by_netcdf[name], group[name][:]), name
    # What is damaged is an error.
    chunk = tmp_path / "z" / "a" / "0.0.0"
    data = bytearray(chunk.read_bytes())
    data[len(data) // 2] ^= 4
    chunk.write_bytes(data)
    done = run(program, tmp_path / "z")
    assert done.returncode != 0 and "checksum" in done.stderr
    # So is a request that is none.
    metadata = tmp_path / "z" / "w" / ".zarray"
    metadata.write_text(metadata.read_text().replace('"noa=', '"no=').replace('"noa"', '"no"'))
    done = run(program, tmp_path / "z")
    assert done.returncode != 0 and "'no" in done.stderr, done.stderr


def test_filters_that_would_come_first_are_refused(tmp_path):
    done = run(
        """
for more in ({"zlib": True}, {"fletcher32": True}, {"compression": "zlib"}):
    with netCDF4.Dataset(sys.argv[2], "w") as file:
        file.createDimension("x", 1000)
        for dtype, refused in (("f4", True), ("i4", False)):
            v = file.createVariable("a" + dtype, dtype, ("x",), chunksizes=(100,), **more)
            try:
                sleek.nc_def_var_filter(v, abs=1e-3)
            except sleek.SleekError as e:
                assert refused and ("zlib" in str(e) or "fletcher32" in str(e)), e
            else:
                assert not refused, more
""",
        tmp_path / "a.nc",
    )
    assert done.returncode == 0, done.stderr


def test_files_of_the_classic_model_are_refused(tmp_path):
    done = run(
        """
with netCDF4.Dataset(sys.argv[2], "w", format="NETCDF4_CLASSIC") as file:
    file.createDimension("x", 1000)
    try:
        sleek.nc_def_var_filter(file.createVariable("a", "f4", ("x",)), abs=1e-3)
    except sleek.SleekError as e:
        assert "NETCDF4_CLASSIC" in str(e) and "format='NETCDF4'" in str(e), e
    else:
        raise AssertionError
""",
        tmp_path / "a.nc",
    )
    assert done.returncode == 0, done.stderr


def test_values_stay_in_the_valid_range(tmp_path):
    done = run(
        """
x = np.clip(0.5 + 0.7 * np.sin(np.arange(50000) / 900), 0, 1).astype("f4")
with netCDF4.Dataset(sys.argv[2], "w") as file:
    file.createDimension("x", len(x))
    v = file.createVariable("a", "f4", ("x",), chunksizes=(10000,))
    v.valid_max = np.float32(1)
    sleek.nc_def_var_filter(v, abs=2e-4)
    v[:] = x
with netCDF4.Dataset(sys.argv[2]) as file:
    assert not np.ma.is_masked(file["a"][:]) and abs(file["a"][:] - x).max() <= 2.01e-4
""",
        tmp_path / "a.nc",
    )
    assert done.returncode == 0, done.stderr
