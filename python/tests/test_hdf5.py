"""The filter with h5py: registered by the import, with no path set."""

import os
import subprocess
import sys

import numpy as np
import pytest
import sleek

h5py = pytest.importorskip("h5py")


@pytest.fixture
def field():
    y, x = np.mgrid[:300, :400]
    return (280 + 10 * np.sin(0.02 * x) * np.cos(0.03 * y)).astype("f4")


def worst(a, b):
    return np.abs(a.astype("f8") - b.astype("f8")).max()


def test_the_import_registers_and_sets_nothing_else():
    code = """
import os, sys
before = dict(os.environ)
import h5py
assert not h5py.h5z.filter_avail(47474)
paths = [h5py.h5pl.get(i) for i in range(h5py.h5pl.size())]
import sleek
assert h5py.h5z.filter_avail(47474)
assert before == dict(os.environ)
assert paths == [h5py.h5pl.get(i) for i in range(h5py.h5pl.size())]
"""
    environment = {k: v for k, v in os.environ.items() if k != "HDF5_PLUGIN_PATH"} | {"HDF5_PLUGIN_PATH": "/nonexistent"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


@pytest.mark.parametrize(
    "request_, allowed",
    [
        ({"abs": 1e-3}, 1e-3),
        ({"noa": 1e-4}, 2e-3),
        ({"noa": 1e-4, "range": 8}, 8e-4),
        ({"noa": 1e-4, "range": 8, "fill": -9999}, 8e-4),
        ({"noa": 1e-4, "fill": -9999}, 2e-3),
        ({"rel": 1e-5}, 290e-5),
        ({"abs": 1e-3, "profile": "fast"}, 1e-3),
        ({"lossless": True}, 0),
    ],
)
def test_requests(tmp_path, field, request_, allowed):
    with h5py.File(tmp_path / "f.h5", "w") as f:
        f.create_dataset("t", data=field, chunks=(100, 100), **sleek.h5(**request_))
    with h5py.File(tmp_path / "f.h5") as f:
        back = f["t"][:]
        _, stream = f["t"].id.read_direct_chunk((0, 0))
        stored = f["t"].id.get_create_plist().get_filter_by_id(sleek.FILTER_ID)[1]
    assert worst(field, back) <= allowed
    assert (allowed > 0) == (worst(field, back) > 0)
    # A chunk is a stream like any other, and says what was asked for.
    info = sleek.inspect(stream)
    mode = next(iter(request_))
    assert info.mode == mode and info.bound == (0 if mode == "lossless" else request_[mode])
    assert info.profile == request_.get("profile", "adaptive")
    assert info.range == request_["range"] if "range" in request_ else True
    assert np.array_equal(sleek.decompress(stream, (100, 100)), back[:100, :100])
    opts = sleek.h5(**request_)["compression_opts"]
    assert tuple(stored[: len(opts)]) == opts


@pytest.mark.parametrize(
    "text, request_",
    [
        ("abs=1e-3", {"abs": 1e-3}),
        (" noa = 1e-4, range = 8, fill = -9999 ", {"noa": 1e-4, "range": 8, "fill": -9999}),
        ("rel=1e-5,profile=fast", {"rel": 1e-5, "profile": "fast"}),
        ("lossless", {"lossless": True}),
    ],
)
def test_requests_in_words(field, text, request_):
    assert sleek.h5(text) == sleek.h5(**request_)
    assert sleek.compress(field, text) == sleek.compress(field, **request_)
    assert sleek.compress(field, text, threads=1) == sleek.compress(field, **request_)


def test_an_existing_dataset_in_a_fresh_process(tmp_path, field):
    """HDF5 loads no plugin on writing: the import must have registered the filter."""
    path = str(tmp_path / "f.h5")
    with h5py.File(path, "w") as f:
        f.create_dataset("t", field.shape, "f4", chunks=(100, 100), **sleek.h5(abs=1e-3))
    code = "import sys, h5py, sleek\nwith h5py.File(sys.argv[1], 'r+') as f: f['t'][:] = 1.5"
    subprocess.run([sys.executable, "-c", code, path], check=True)
    with h5py.File(path) as f:
        assert np.all(np.abs(f["t"][:] - 1.5) <= 1e-3)


def test_bad_requests_do_not_reach_hdf5():
    with pytest.raises(sleek.SleekError, match="bound"):
        sleek.h5(abs=-1)
    with pytest.raises(TypeError, match="exactly one"):
        sleek.h5()
    for text in ("", "much", "abs=", "abs=1,rel=1"):
        with pytest.raises(sleek.SleekError):
            sleek.h5(text)
    with pytest.raises(TypeError, match="further arguments"):
        sleek.h5("abs=1", fill=3)
    with pytest.raises(TypeError, match="a text such as"):
        sleek.h5(1e-3)


def test_integers_with_a_bound_are_refused(tmp_path):
    with h5py.File(tmp_path / "f.h5", "w") as f:
        with pytest.raises((OSError, ValueError, RuntimeError)):
            f.create_dataset("i", data=np.arange(1000), chunks=(100,), **sleek.h5(abs=1))
        f.create_dataset("i", data=np.arange(1000), chunks=(100,), **sleek.h5(lossless=True))
        assert np.array_equal(f["i"][:], np.arange(1000))


def test_beside_hdf5plugin(tmp_path, field):
    hdf5plugin = pytest.importorskip("hdf5plugin")
    with h5py.File(tmp_path / "f.h5", "w") as f:
        f.create_dataset("sleek", data=field, chunks=(100, 100), **sleek.h5(abs=1e-3))
        f.create_dataset("zstd", data=field, chunks=(100, 100), **hdf5plugin.Zstd())
    with h5py.File(tmp_path / "f.h5") as f:
        assert 0 < worst(field, f["sleek"][:]) <= 1e-3
        assert np.array_equal(field, f["zstd"][:])


@pytest.mark.parametrize("first", ["sleek, hdf5plugin", "hdf5plugin, sleek"])
@pytest.mark.parametrize("path", [None, sleek.PLUGIN_PATH])
def test_beside_hdf5plugin_in_either_order(tmp_path, first, path):
    pytest.importorskip("hdf5plugin")
    code = f"""
import {first}, h5py, numpy as np
field = np.sin(np.linspace(0, 9, 10_000))
with h5py.File("f.h5", "w") as f:
    f.create_dataset("sleek", data=field, chunks=(1000,), **sleek.h5("abs=1e-3"))
    f.create_dataset("lz4", data=field, chunks=(1000,), **hdf5plugin.LZ4())
with h5py.File("f.h5") as f:
    assert 0 < abs(f["sleek"][:] - field).max() <= 1e-3 and (f["lz4"][:] == field).all()
"""
    environment = {k: v for k, v in os.environ.items() if k != "HDF5_PLUGIN_PATH"}
    if path:
        environment["HDF5_PLUGIN_PATH"] = path
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, cwd=tmp_path)


def test_xarray(tmp_path, field):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    data = xarray.Dataset({"t": (("y", "x"), field), "n": (("x",), np.arange(400))})
    data.to_netcdf(tmp_path / "f.nc", engine="h5netcdf", encoding={"t": {**sleek.h5(abs=1e-3), "chunksizes": (100, 100)}})
    with xarray.open_dataset(tmp_path / "f.nc", engine="h5netcdf") as back:
        assert 0 < worst(field, back["t"].values) <= 1e-3
        assert np.array_equal(data["n"], back["n"])
    with h5py.File(tmp_path / "f.nc") as f:
        assert f["t"].id.get_create_plist().get_filter(0)[0] == sleek.FILTER_ID


def test_netcdf4_finds_the_plugin_path(tmp_path, field):
    """Another HDF5 in the same process, which looks at the path when it is loaded."""
    pytest.importorskip("netCDF4")
    path = str(tmp_path / "f.h5")
    with h5py.File(path, "w") as f:
        f.create_dataset("t", data=field, chunks=(100, 100), **sleek.h5(abs=1e-3))
    np.save(tmp_path / "t.npy", field)
    code = """
import os, sys
import numpy as np, sleek
os.environ["HDF5_PLUGIN_PATH"] = sleek.PLUGIN_PATH
import netCDF4
with netCDF4.Dataset(sys.argv[1]) as f:
    assert 0 < np.abs(np.load(sys.argv[2]).astype("f8") - f["t"][:]).max() <= 1e-3
"""
    subprocess.run([sys.executable, "-c", code, path, str(tmp_path / "t.npy")], check=True)
