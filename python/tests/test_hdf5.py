"""The filter with h5py: registered by the import, with no path set."""

import importlib.util
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


def test_the_import_registers_and_leaves_the_paths_of_h5py():
    code = """
import h5py
assert not h5py.h5z.filter_avail(47474)
paths = [h5py.h5pl.get(i) for i in range(h5py.h5pl.size())]
import sleek
assert h5py.h5z.filter_avail(47474)
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
    # A chunk is a stream like any other, and says what was asked for; the words are those of the long form.
    info = sleek.inspect(stream)
    mode = next(iter(request_))
    assert info.mode == mode and info.bound == (0 if mode == "lossless" else request_[mode])
    assert info.profile == request_.get("profile", "adaptive")
    assert info.range == request_["range"] if "range" in request_ else True
    assert np.array_equal(sleek.decompress(stream, (100, 100)), back[:100, :100])
    assert stored[0] & 0xFFF == 3 | sleek._params.MODES.index(mode) << 8
    assert mode == "lossless" or stored[2:4] == sleek.h5(**request_)["compression_opts"][2:4]


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


def test_missing_values_in_words(tmp_path, field):
    field[::7] = np.array(0x7FC01234, "u4").view("f4")
    field[1::7] = -9999
    with h5py.File(tmp_path / "f.h5", "w") as f:
        f.create_dataset("t", data=field, chunks=(100, 100), **sleek.h5("abs=1e-3,fill=-9999,fill=0x7fc01234"))
    with h5py.File(tmp_path / "f.h5") as f:
        back = f["t"][:]
    assert back[::7].tobytes() == field[::7].tobytes() and np.array_equal(back == -9999, field == -9999)


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


def of_xarray(field):
    """What a dataset may have: floats, integers, packed floats, times, texts, numbers without a dimension, missing ones, coordinates."""
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    holes = np.where(field > np.quantile(field, 0.9), np.nan, field)
    data = xarray.Dataset(
        {
            "t": (("y", "x"), field, {"units": "K"}),
            "holes": (("y", "x"), holes, {}, {"_FillValue": -9999.0}),
            "packed": (("y", "x"), np.round(field, 2), {}, {"dtype": "i2", "scale_factor": 0.01, "add_offset": 280.0, "_FillValue": -32768}),
            "n": (("x",), np.arange(field.shape[1])),
            "when": (("x",), np.arange(field.shape[1]).astype("M8[D]").astype("M8[ns]")),
            "name": (("x",), np.full(field.shape[1], "abc")),
            "one": ((), 1.5),
            "none": (("empty",), np.zeros(0)),
        },
        {"x": np.linspace(0, 1, field.shape[1])},
    )
    return data


@pytest.mark.parametrize("shape", [(1000,), (3000,), (50, 70)])
def test_chunks_that_were_plain_or_become_plain(tmp_path, shape):
    random = np.random.default_rng(0)
    noise = (random.integers(2**23, 2**31 - 2**24, shape, dtype="u4") | random.integers(0, 2, shape, dtype="u4") << 31).view("f4")
    smooth = np.sin(np.arange(noise.size).reshape(shape) * 0.01).astype("f4")
    for way, (first, second) in {"a": (noise, smooth), "b": (smooth, noise), "c": (noise, noise[::-1])}.items():
        with h5py.File(tmp_path / way, "w") as f:
            f.create_dataset("d", data=first, chunks=shape, **sleek.h5(abs=1e-3))
        with h5py.File(tmp_path / way, "a") as f:
            d = f["d"]
            assert sleek.write(d, np.ascontiguousarray(second)).route == "threads"
            ours = np.empty(shape, "f4")
            sleek.read(d, out=ours)
            assert worst(second, ours) <= 1e-3 and np.array_equal(d[:], ours)
            d[-3:] = 0.5
            assert worst(second[:-3], d[:-3]) <= 1e-3 and worst(d[-3:], np.full_like(second[-3:], 0.5)) <= 1e-3
        with h5py.File(tmp_path / way) as f:
            assert worst(second[:-3], f["d"][:-3]) <= 2e-3 and worst(f["d"][-3:], np.full_like(second[-3:], 0.5)) <= 1e-3


@pytest.mark.parametrize("dtype", ["<c8", ">c16"])
def test_complex_numbers_written_and_read_at_once(tmp_path, dtype):
    z = (np.cumsum(np.random.default_rng(0).normal(size=(60, 50)), 1) * (1 + 2j)).astype(dtype)
    with h5py.File(tmp_path / "f.h5", "w") as f:
        d = f.create_dataset("z", z.shape, dtype, chunks=(20, 20), **sleek.h5(abs=1e-2))
        sleek.write(d, z)
        sleek.write(d, 2 * z[:10, :9], start=(50, 0))
        z[50:, :9] = 2 * z[:10, :9]
        out = np.empty_like(z)
        sleek.read(d, out=out)
        assert np.array_equal(out, d[:]) and 0 < max(worst(z.real, out.real), worst(z.imag, out.imag)) <= 1e-2
        for wrong in (np.zeros((60, 50, 2), "i4"), np.zeros((60, 50, 3), "f4"), z[:5]):
            with pytest.raises(ValueError, match="has the shape"):
                sleek.write(d, wrong)


def test_masks_are_not_written_in_silence(tmp_path):
    gaps = np.ma.masked_less(np.arange(300.0), 3)
    with h5py.File(tmp_path / "f.h5", "w") as f:
        d = f.create_dataset("d", (300,), "f8", chunks=(100,), fillvalue=-9999, **sleek.h5(abs=1e-2))
        with pytest.raises(TypeError, match="array.filled"):
            sleek.write(d, gaps)
        sleek.write(d, np.ma.array(gaps.data))
        sleek.write(d, gaps.filled(d.fillvalue))
        assert (d[:3] == -9999).all() and worst(gaps.data[3:], d[3:]) <= 1e-2


def filters_of(path):
    with h5py.File(path) as f:
        lists = {name: f[name].id.get_create_plist() for name in f}
        return {name: [p.get_filter(i)[0] for i in range(p.get_nfilters())] for name, p in lists.items()}


def test_a_dataset_of_xarray(tmp_path, field):
    data = of_xarray(field)
    xarray = sys.modules["xarray"]
    encodings = {name: dict(variable.encoding) for name, variable in data.variables.items()}
    sleek.to_netcdf(data, tmp_path / "f.nc", abs=1e-3)
    assert encodings == {name: variable.encoding for name, variable in data.variables.items()}
    ours = {name for name, filters in filters_of(tmp_path / "f.nc").items() if filters == [sleek.FILTER_ID]}
    assert ours == {"t", "holes", "packed", "n"}
    with xarray.open_dataset(tmp_path / "f.nc", engine="h5netcdf") as back:
        assert 0 < worst(data["t"], back["t"]) <= 1e-3
        assert np.array_equal(np.isnan(back["holes"]), np.isnan(data["holes"])) and float(abs(back["holes"] - data["holes"]).max()) <= 1e-3
        assert float(abs(back["packed"] - data["packed"]).max()) < 1e-2 and back["packed"].encoding["scale_factor"] == 0.01
        for name in ("n", "when", "name", "one", "x"):
            assert (back[name].values == data[name].values).all(), name
        assert back["t"].attrs == {"units": "K"} and back["holes"].encoding["_FillValue"] == -9999
        # What was opened is saved again: as it was stored, and of one variable alone.
        sleek.to_netcdf(back, tmp_path / "again.nc", abs=1e-3, encoding={"t": {"chunksizes": (50, 60)}})
        sleek.to_netcdf(back["t"], tmp_path / "one.nc", "noa=1e-3", unlimited_dims=["y"])
    assert filters_of(tmp_path / "again.nc") == filters_of(tmp_path / "f.nc")
    with h5py.File(tmp_path / "again.nc") as f, h5py.File(tmp_path / "one.nc") as one:
        assert 0 < worst(field, f["t"][:]) <= 2e-3 and f["t"].chunks == (50, 60)
        assert one["t"].maxshape == (None, field.shape[1]) and one["t"].id.get_create_plist().get_filter(0)[0] == sleek.FILTER_ID
    if importlib.util.find_spec("netCDF4"):
        with xarray.open_dataset(tmp_path / "f.nc", engine="netcdf4") as back:
            sleek.to_netcdf(back, tmp_path / "third.nc", lossless=True)
        assert filters_of(tmp_path / "third.nc") == filters_of(tmp_path / "f.nc")
    # A coordinate alone; and a path there must be.
    level = xarray.DataArray(field[0], dims="x", coords={"x": field[0]}, name="x")["x"]
    sleek.to_netcdf(level, tmp_path / "level.nc", abs=1e-3)
    with xarray.open_dataset(tmp_path / "level.nc", engine="h5netcdf") as back:
        assert np.array_equal(back["x"], level) and worst(level, back["data"]) <= 1e-3
    # One without a name, whose dimensions and coordinates have the names that it might get.
    nameless = xarray.DataArray(field, dims=("data", "data1"), coords={"data2": 3.0})
    sleek.to_netcdf(nameless, tmp_path / "nameless.nc", abs=1e-3)
    with xarray.open_dataset(tmp_path / "nameless.nc", engine="h5netcdf") as back:
        assert list(back.data_vars) == ["data3"] and 0 < worst(field, back["data3"]) <= 1e-3 and back["data2"] == 3
    assert filters_of(tmp_path / "nameless.nc")["data3"] == [sleek.FILTER_ID]
    with pytest.raises(TypeError, match="path is None"):
        sleek.to_netcdf(data, None, abs=1e-3)
    sleek.to_netcdf(level, tmp_path / "level.nc", abs=1e-3, engine="h5netcdf")
    with pytest.raises(TypeError, match="h5netcdf writes the file"):
        sleek.to_netcdf(level, tmp_path / "level.nc", abs=1e-3, engine="netcdf4")
    # Packed floats keep what is stored, however they are said to be packed.
    scaled = xarray.Dataset({"p": (("y", "x"), 1e5 * field), "q": (("y", "x"), 1e5 * field)})
    scaled["p"].encoding = {"scale_factor": 1000.0}
    sleek.to_netcdf(scaled, tmp_path / "scaled.nc", abs=1e-3, encoding={"q": {"add_offset": 1e9, "dtype": "f8"}})
    with xarray.open_dataset(tmp_path / "scaled.nc", engine="h5netcdf") as back:
        assert all(worst(scaled[name], back[name]) < 1e-6 for name in "pq")
    assert all(filters_of(tmp_path / "scaled.nc")[name] == [sleek.FILTER_ID] for name in "pq")
    # Chunks of at most 4 MiB.
    sleek.to_netcdf(xarray.Dataset({"large": (("z", "y", "x"), np.zeros((30, 300, 500), "f4"))}), tmp_path / "large.nc", abs=1)
    with h5py.File(tmp_path / "large.nc") as f:
        assert f["large"].chunks == (6, 300, 500)
    with pytest.raises(sleek.SleekError, match="bound"):
        sleek.to_netcdf(data, tmp_path / "none.nc", abs=-1)


def test_missing_values_that_only_encoding_names(tmp_path):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    made = np.random.default_rng(1).normal(size=(200, 200))
    made[made > 1] = np.nan
    for name, mark in (("missing_value", 0.005), ("_FillValue", 0.0), ("missing_value", 0.0)):
        data = xarray.Dataset({"t": (("y", "x"), made)})
        sleek.to_netcdf(data, tmp_path / "f.nc", abs=1e-2, encoding={"t": {name: mark}})
        assert not data["t"].encoding
        with xarray.open_dataset(tmp_path / "f.nc", engine="h5netcdf") as back:
            assert np.array_equal(np.isnan(back["t"]), np.isnan(made)), (name, mark)
    # As elements of the type in the file, which encoding names too.
    marked = xarray.Dataset({"t": (("y", "x"), np.where(np.isnan(made), -0.3, made), {"missing_value": -0.3, "_FillValue": 0.45})})
    sleek.to_netcdf(marked, tmp_path / "f.nc", abs=1e-2, encoding={"t": {"dtype": "f4"}})
    with h5py.File(tmp_path / "f.nc") as f:
        assert np.array_equal(f["t"][:] == np.float32(-0.3), np.isnan(made))


@pytest.mark.parametrize("engine", ["h5netcdf", "netcdf4"])
def test_a_dataset_of_xarray_over_its_own_file(tmp_path, field, engine):
    """Whatever name the file goes by, and whether xarray still tells it or not; after a failure it is what it was."""
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("netCDF4" if engine == "netcdf4" else engine)
    path, link = tmp_path / "f.nc", tmp_path / "link.nc"
    link.symlink_to(path)
    whole = xarray.Dataset({name: (("y", "x"), field) for name in "tu"})
    for change in (lambda d: d, lambda d: d.drop_encoding(), lambda d: d["t"].drop_encoding(), lambda d: d.assign(t=d.t + 0)):
        whole.to_netcdf(path, engine="h5netcdf")
        path.chmod(0o640)
        with xarray.open_dataset(path, engine=engine) as opened:
            sleek.to_netcdf(change(opened), link, abs=1e-3)
        assert link.is_symlink() and path.stat().st_mode & 0o777 == 0o640
        assert filters_of(path)["t"] == [sleek.FILTER_ID]
        with h5py.File(path) as f:
            assert 0 < worst(field, f["t"][:]) <= 1e-3
    before = path.read_bytes()
    with pytest.raises(ValueError):
        sleek.to_netcdf(whole, path, abs=1e-3, encoding={"t": {"chunksizes": (7,)}})
    with pytest.raises(TypeError, match="compute=False"):
        sleek.to_netcdf(whole, path, abs=1e-3, compute=False)
    assert path.read_bytes() == before and sorted(tmp_path.iterdir()) == [path, link]
    sleek.to_netcdf(whole.rename(t="v")[["v"]], path, abs=1e-3, mode="a")
    assert set(filters_of(path)) >= {"t", "u", "v"}
    with pytest.raises(ValueError, match="has 't', 'u' already"):
        sleek.to_netcdf(whole, path, abs=1e-6, mode="a")
    with pytest.raises(ValueError, match="has 't' already"):
        sleek.to_netcdf(whole.set_coords("t")[["t"]].assign(w=whole.t), path, abs=1e-6, mode="a")
    sleek.to_netcdf(whole, path, abs=1e-3, mode="a", group="g")


def test_the_bound_is_to_the_value_in_the_type_of_the_dataset(tmp_path):
    """docs/guide/hdf5.md says so: HDF5 rounds to that type before the filter gets the values."""
    a = 1e5 + np.random.default_rng(1).random(50_000)
    with h5py.File(tmp_path / "f.h5", "w") as f:
        f.create_dataset("t", data=a, dtype="f4", chunks=(9000,), **sleek.h5(abs=1e-4))
    with h5py.File(tmp_path / "f.h5") as f:
        back = f["t"][...]
    assert worst(a.astype("f4"), back) <= 1e-4 and 30e-4 < worst(a, back) <= 41e-4


MARKS = [
    ({"_FillValue": np.float32(-9999.9)}, [-9999.9]),
    ({"missing_value": np.float64(-9999.9)}, [-9999.9]),
    ({"missing_value": np.array([-9999.9, 1e20], "f4"), "_FillValue": np.float32(1e20)}, [-9999.9, 1e20]),
    ({"missing_value": "-9999.9f"}, [-9999.9]),
    ({"missing_value": np.array([[-9999.9], [1e20]], "f4"), "_FillValue": np.array([[1e20]], "f4")}, [-9999.9, 1e20]),
    ({"missing_value": "none", "_FillValue": np.float32(np.nan)}, []),
]


@pytest.mark.parametrize(("attributes", "marks"), MARKS)
@pytest.mark.parametrize("request_", [{"abs": 0.05}, {"noa": 1e-3, "profile": "fast"}, "rel=1e-4"])
@pytest.mark.parametrize("place", ["attrs", "encoding"])
def test_a_variable_of_xarray_declares_its_missing_values(tmp_path, field, attributes, marks, request_, place):
    xarray = pytest.importorskip("xarray")
    for n, mark in enumerate(marks):
        field[n::7, 3::5] = mark
    variable = xarray.Variable(("y", "x"), field)
    getattr(variable, place).update(attributes)
    words, arguments = (request_, {}) if isinstance(request_, str) else (None, request_)
    with h5py.File(tmp_path / "f.h5", "w") as f:
        f.create_dataset("t", data=field, chunks=(100, 100), **sleek.h5(words, **arguments, variable=variable))
    with h5py.File(tmp_path / "f.h5") as f:
        back = f["t"][...]
    for mark in np.float32(marks):
        assert np.array_equal(field == mark, back == mark), mark
    assert not np.array_equal(field, back)


def test_what_a_caller_names_goes_before_what_a_variable_declares():
    xarray = pytest.importorskip("xarray")
    variable = xarray.DataArray(np.zeros(9, "f4"), attrs={"missing_value": -9999.0})
    assert sleek.h5(abs=1, variable=variable) == sleek.h5(abs=1, fill=-9999)
    assert sleek.h5(abs=1, variable=variable, fill=-5) == sleek.h5("abs=1,fill=-5", variable=variable) == sleek.h5(abs=1, fill=-5)
    none = sleek.h5(abs=1, fill=False)
    assert none != sleek.h5(abs=1)
    assert sleek.h5(abs=1, variable=variable, fill=False) == sleek.h5("abs=1", variable=variable, fill=False) == none
    assert sleek.h5("abs=1,no-fill", variable=variable) == none
    # A zero is two elements.
    variable.attrs["missing_value"] = [0.0, -9999.0, 1e20, np.nan]
    assert sleek.h5(abs=1, variable=variable) == sleek.h5(f"abs=1,fill=0,fill=-9999,fill={float(np.float32(1e20))}")
    variable.attrs["missing_value"] = np.arange(4.0)
    with pytest.raises(sleek.SleekError, match="of which 0 counts twice"):
        sleek.h5(abs=1, variable=variable)
    with pytest.raises(sleek.SleekError, match="missing value 0 beside 3 others"):
        sleek.compress(np.zeros(9, "f4"), "abs=1,fill=0,fill=0x3f800000,fill=0x40000000,fill=0x40400000")
    variable.attrs["missing_value"] = np.arange(5.0)
    with pytest.raises(sleek.SleekError, match="up to 4 missing values"):
        sleek.h5(abs=1, variable=variable)
    with pytest.raises(TypeError, match="variable is a list"):
        sleek.h5(abs=1, variable=[1.0])


class Variable:
    """What xarray, netCDF4 and h5py have in common."""

    def __init__(self, dtype="f4", **attrs):
        self.dtype, self.attrs, self.encoding = np.dtype(dtype), attrs, {}


@pytest.mark.parametrize(
    "attrs",
    [{"valid_range": [0.0, 1.0]}, {"valid_range": [[0.0, 1.0]]}]
    + [{"valid_min": np.float32(0), "valid_max": 1.0}, {"valid_max": 1, "_FillValue": np.float32(-999)}],
)
@pytest.mark.parametrize("profile", ["adaptive", "fast", "small"])
def test_values_stay_in_the_valid_range(tmp_path, attrs, profile):
    y, x = np.mgrid[:300, :400]
    cover = np.clip(0.5 + 0.7 * np.sin(0.02 * x) * np.cos(0.03 * y), 0, 1).astype("f4")
    variable = Variable(**attrs)
    cover[:5, :7] = attrs.get("_FillValue", cover[:5, :7])
    valid = (cover >= 0) & (cover <= 1)

    def restored(**more):
        with h5py.File(tmp_path / "f.h5", "w") as f:
            f.create_dataset("t", data=cover, chunks=(100, 100), **sleek.h5(abs=2e-4, profile=profile, **more))
        with h5py.File(tmp_path / "f.h5") as f:
            return f["t"][:]

    back = restored(variable=variable)
    assert worst(cover, back) <= 2e-4 and back[valid].max() <= 1
    assert "_FillValue" in attrs or back[valid].min() >= 0
    assert np.array_equal(back[~valid], cover[~valid])
    assert profile != "adaptive" or restored()[valid].max() > 1


@pytest.mark.parametrize("declared, stored", [("f8", "f4"), ("f4", "f8"), ("f4", "f2")])
def test_missing_values_of_a_variable_that_is_stored_as_another_type(tmp_path, declared, stored):
    x = np.random.default_rng(3).normal(scale=300, size=4000)
    x[5::50], x[7::50] = -9999.9, -887.7
    x, marks = x.astype(declared), np.array([-9999.9, -887.7, np.nan], declared)
    with h5py.File(tmp_path / "f.h5", "w") as f:
        f.create_dataset("t", data=x.astype(stored), chunks=(1000,), **sleek.h5(abs=2.7, variable=Variable(missing_value=marks)))
    with h5py.File(tmp_path / "f.h5") as f:
        for mark in marks[:2].astype(stored):
            assert np.array_equal(f["t"][:] == mark, x.astype(stored) == mark)


@pytest.mark.parametrize("low, high, mark", [(-0.1, 0.1, None), (-0.1, 0.5, -9999), (-0.5, 0.1, -9999), (-0.1, 0.1, -9999), (-0.5, 0.1, 0)])
def test_limits_in_a_wider_type_as_far_as_there_is_room(tmp_path, low, high, mark):
    x = np.random.default_rng(0).uniform(low, high, 5000).astype("f4").clip(np.float32(low), np.float32(high))
    x[::5], x[1::5] = np.float32(low), np.float32(high)
    x[2::50] = 7 if mark is None else mark
    declared = Variable(valid_range=np.array([low, high]), **({} if mark is None else {"missing_value": np.float32(mark)}))
    with h5py.File(tmp_path / "f.h5", "w") as f:
        f.create_dataset("t", data=x, chunks=(5000,), **sleek.h5(abs=0.03, profile="small", variable=declared))
    with h5py.File(tmp_path / "f.h5") as f:
        back = f["t"][:]
    valid = x != (7 if mark is None else mark)
    assert back[valid].min() >= np.float32(low)
    # Of the last two the second end, which lies beyond as the nearest float, has no room: 0 takes two places.
    if mark is None or -0.1 != low or mark == 0:
        assert back[valid].max() <= (np.float32(high) if mark != 0 else high + 0.03)


def test_what_is_next_to_a_limit_is_a_value(tmp_path):
    """Also where the other limit is next to 0, which takes two places."""
    x = np.linspace(0, 0.1, 4000).astype("f4")
    x[::5] = np.float32(0.1)
    declared = Variable(valid_range=np.array([1e-50, 0.1]), missing_value=np.float32(-9999))
    with h5py.File(tmp_path / "f.h5", "w") as f:
        f.create_dataset("t", data=x, chunks=(1000,), **sleek.h5(abs=1e-3, variable=declared)).attrs.update(declared.attrs)
    with h5py.File(tmp_path / "f.h5") as f:
        assert len(sleek.read(f["t"], above=0.08)[0]) == (f["t"][:] > 0.08).sum() > 800


def test_missing_values_that_are_no_f32():
    assert sleek.h5("abs=.1,fill=1,fill=1e-50,fill=2,fill=3")["compression_opts"][0] == 2
    with pytest.raises(sleek.SleekError, match="missing value 0 beside 3 others"):
        sleek.h5("abs=.1,fill=1,fill=2,fill=3,fill=-0.0")


@pytest.mark.parametrize("name", ["bool", "float8_e4m3fn"])
def test_what_goes_as_bytes_is_no_number(tmp_path, name):
    dtype = np.dtype(bool) if name == "bool" else np.dtype(getattr(pytest.importorskip("ml_dtypes"), name))
    a = (np.arange(400) % 3 == 1).astype("u1").view(dtype)
    with h5py.File(tmp_path / "f.h5", "w") as f:
        for kind in ("f4", "f8", "i1", "u2"):
            numbers = f.create_dataset(kind, data=np.arange(400).astype(kind), chunks=(100,), **sleek.h5(lossless=True))
            with pytest.raises(TypeError, match=f"elements of type {name}, the dataset of type {numbers.dtype}"):
                sleek.read(numbers, out=a.copy())
            if name == "bool":
                sleek.write(numbers, a)
                assert np.array_equal(numbers[:], a)
            else:
                with pytest.raises(TypeError, match=f"elements of type {name}"):
                    sleek.write(numbers, a)
        as_bytes = f.create_dataset("u1", (400,), "u1", chunks=(100,), **sleek.h5(lossless=True))
        sleek.write(as_bytes, a)
        back = np.empty_like(a)
        sleek.read(as_bytes, out=back)
        assert back.tobytes() == a.tobytes() == as_bytes[:].tobytes()


@pytest.mark.parametrize("profile", ["adaptive", "fast", "small"])
def test_limits_in_a_wider_type(tmp_path, profile):
    """What is valid stays so, whether 0.3 is read as it is or as the nearest float of 32 bits, which is above it."""
    x = np.random.default_rng(0).uniform(0, 0.4, size=(100, 100)).clip(0.1, 0.3).astype("f4")
    with h5py.File(tmp_path / "f.h5", "w") as f:
        f.create_dataset("t", data=x, chunks=(50, 100), **sleek.h5(abs=0.05, profile=profile, variable=Variable(valid_min=0.1, valid_max=0.3)))
        f["t"].attrs.update(valid_min=0.1, valid_max=0.3)
    with h5py.File(tmp_path / "f.h5") as f:
        back = f["t"][:]
        assert len(sleek.read(f["t"], above=0.29)[0]) == (back > 0.29).sum()
    assert np.array_equal(back == np.float32(0.3), x == np.float32(0.3)) and back.max() == np.float32(0.3) and back.min() >= 0.1
    assert 0.02 < worst(x, back) <= 0.05


@pytest.mark.parametrize("asked", [{"abs": 0}, {"rel": 0}, {"noa": 0, "range": 5}, {"abs": 0, "fill": -9999}])
def test_a_bound_of_nothing_is_lossless(tmp_path, asked):
    x = np.random.default_rng(1).normal(size=1000)
    x[3] = -9999
    with h5py.File(tmp_path / "f.h5", "w") as f:
        f.create_dataset("t", data=x, chunks=True, **sleek.h5(**asked))
    with h5py.File(tmp_path / "f.h5") as f:
        assert f["t"][:].tobytes() == x.tobytes()


def test_limits_in_words():
    assert sleek.h5("abs=1e-3,limits=0:1")["compression_opts"][0] == 2
    # What is no float has no bound, and a variable without limits asks for none.
    assert sleek.h5(abs=1e-3, variable=Variable("i2", valid_max=5)) == sleek.h5(abs=1e-3) == sleek.h5(abs=1e-3, variable=Variable())
    assert sleek.h5(lossless=True, variable=Variable(valid_max=5)) == sleek.h5(lossless=True)
    for wrong in ["limits=1:0", "limits=1", "limits=a:b", "limits=nan:1"]:
        with pytest.raises(sleek.SleekError, match="limits="):
            sleek.h5(f"abs=1e-3,{wrong}")
    with pytest.raises(sleek.SleekError, match="HDF5"):
        sleek.compress(np.zeros(5, "f4"), "abs=1e-3,limits=0:1")
