"""References to HDF5 files by kerchunk and VirtualiZarr, read by zarr and xarray; and the codec of bytes in format 3."""

import gc
import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import sleek

h5py = pytest.importorskip("h5py")
zarr = pytest.importorskip("zarr", minversion="3")

REQUESTS = ["abs=1e-3", "noa=1e-3,range=50", "rel=1e-3,profile=fast", "abs=1e-3,profile=small", "lossless", "abs=1e-3,fill=-9999"]
REQUESTS.append("rate=12,codec=zfp")


def field(dtype="f4"):
    y, x = np.mgrid[:90, :140]
    return (280 + 10 * np.sin(0.05 * x) * np.cos(0.07 * y)).astype(dtype)


@pytest.fixture
def path(tmp_path):
    """A file with datasets of every request, filters before and behind, both byte orders, edges, and others' filters."""
    path = str(tmp_path / "a.h5")
    with h5py.File(path, "w") as f:
        for k, request in enumerate(REQUESTS):
            f.create_dataset(f"t{k}", data=field(), chunks=(40, 60), **sleek.h5(request))
        f.create_dataset("big", data=field(">f8"), chunks=(40, 60), **sleek.h5(abs=1e-3))
        f.create_dataset("shuffled", data=field(), chunks=(40, 60), shuffle=True, **sleek.h5(lossless=True))
        f.create_dataset("counts", data=np.arange(900, dtype="i4"), chunks=(400,), **sleek.h5(lossless=True))
        waves = field() * np.exp(1j * field()).astype("c8")
        for k, request in enumerate(["abs=1e-3,profile=small", "lossless"]):
            f.create_dataset(f"complex{k}", data=waves, chunks=(40, 60), **sleek.h5(request))
        f.create_dataset("partly", shape=(90, 140), dtype="f4", chunks=(40, 60), fillvalue=-1, **sleek.h5(abs=1e-3))[:40] = field()[:40]
        f.create_dataset("others", data=field(), chunks=(40, 60), compression="gzip", shuffle=True)
        for name in f:
            f[name].attrs["_ARRAY_DIMENSIONS"] = ["y", "x"][: f[name].ndim]
    return path


def same(path, group):
    with h5py.File(path) as f:
        for name in f:
            assert np.array_equal(f[name][:], group[name][:]), name


def test_kerchunk(path):
    hdf = pytest.importorskip("kerchunk.hdf")
    import sleek.references

    assert "kerchunk" in sleek.references.register()
    sleek.references.register()
    references = json.loads(json.dumps(hdf.SingleHdf5ToZarr(path, inline_threshold=0).translate()))
    group = zarr.open_group("reference://", storage_options={"fo": references, "asynchronous": True}, mode="r", zarr_format=2)
    same(path, group)
    filters = {name: [f["id"] for f in json.loads(references["refs"][f"{name}/.zarray"])["filters"] or []] for name in group}
    assert filters["t0"] == ["sleek"] and filters["shuffled"] == ["sleek"] and filters["others"] == ["shuffle", "zlib"]
    xarray = pytest.importorskip("xarray")
    opened = xarray.open_dataset(references, engine="kerchunk", drop_variables=["counts"])
    assert np.abs(opened["t0"].values.astype("f8") - field()).max() <= 1e-3


def test_kerchunk_inlines_what_hdf5_reads(tmp_path):
    """Where some chunks are plain it encodes the small ones by itself, which rounds nothing once more."""
    hdf = pytest.importorskip("kerchunk.hdf")
    import sleek.references

    a = np.random.default_rng(3).uniform(0, 10, 160)
    a[:40], a[40::4], a[41], a[42] = 1, 5.25, 10, 0
    path = str(tmp_path / "a.h5")
    with h5py.File(path, "w") as f:
        for request in ("abs=0.5,fill=5.25", "abs=0.5,limits=0:10", "rel=1e-2"):
            d = f.create_dataset(request, data=a, chunks=(40,), fillvalue=5.25, **sleek.h5(request))
            d.id.write_direct_chunk((120,), a[120:].tobytes(), filter_mask=1)
            assert [d.id.get_chunk_info(k).filter_mask for k in (0, 3)] == [0, 1]
    sleek.references.register()
    gc.collect()  # objects of h5py that zarr's thread would free inside of translate, where it has h5py's lock and waits for zarr
    references = hdf.SingleHdf5ToZarr(path).translate()
    group = zarr.open_group("reference://", storage_options={"fo": references, "asynchronous": True}, mode="r", zarr_format=2)
    same(path, group)


def test_virtualizarr(path, tmp_path):
    pytest.importorskip("virtualizarr", minversion="2")
    import obstore.store
    import sleek.references
    from obspec_utils.registry import ObjectStoreRegistry
    from virtualizarr.parsers import HDFParser

    assert "virtualizarr" in sleek.references.register()
    registry = ObjectStoreRegistry({"file://": obstore.store.LocalStore()})
    store = HDFParser(drop_variables=["others"])(url=f"file://{path}", registry=registry)
    group = zarr.open_group(store, mode="r")
    with h5py.File(path) as f:
        for name in f:
            if name != "others":
                assert np.array_equal(f[name][:], group[name][:]), name
    assert group["t0"].metadata.codecs[-1].to_dict() == {"name": "numcodecs.sleek", "configuration": {"lossless": True}}


def test_what_they_say_without(path):
    """docs/guide/programs.md has these sentences."""
    pytest.importorskip("virtualizarr", minversion="2")
    pytest.importorskip("kerchunk")
    program = """
import sys, warnings
import h5py, kerchunk.hdf, numcodecs, obstore.store, sleek, zarr
from obspec_utils.registry import ObjectStoreRegistry
from virtualizarr.parsers import HDFParser
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    assert "t0/.zarray" not in kerchunk.hdf.SingleHdf5ToZarr(sys.argv[1], inline_threshold=0).translate()["refs"]
print([str(w.message) for w in said])
numcodecs.registry.entries.clear()
for what in (
    lambda: HDFParser()(url=f"file://{sys.argv[1]}", registry=ObjectStoreRegistry({"file://": obstore.store.LocalStore()})),
    lambda: numcodecs.get_codec({"id": "sleek", "abs": 1}),
):
    try:
        what()
    except Exception as e:
        print(e)
"""
    said = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True).stdout
    page = (Path(__file__).parents[2] / "docs/guide/programs.md").read_text()
    of_kerchunk = ("uses filter id 47474 with properties (", "), not supported by kerchunk")
    for sentence in (*of_kerchunk, "Unknown filter: 47474", "codec not available: ''sleek''"):
        assert sentence in said and sentence in page, (sentence, said)


def test_bytes_to_bytes(tmp_path):
    from sleek.zarr import SleekBytes

    for k, (dtype, more) in enumerate([("f4", {}), (">f8", {}), ("i2", {}), ("c8", {}), ("f4", {"shards": (80, 120)})]):
        a = field(dtype)
        at = str(tmp_path / f"{k}")
        z = zarr.create_array(at, shape=a.shape, chunks=(40, 60), dtype=dtype, compressors=SleekBytes(lossless=True), **more)
        z[:] = a
        back = zarr.open_array(at, mode="r")
        assert np.array_equal(back[:], a), dtype
        stored = sum(p.stat().st_size for p in (tmp_path / f"{k}" / "c").rglob("*") if p.is_file())
        assert stored < 0.9 * 120 * 180 * a.itemsize
    assert json.loads((tmp_path / "0" / "zarr.json").read_text())["codecs"][1] == {"name": "numcodecs.sleek", "configuration": {"lossless": True}}
    # Behind another codec of bytes.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shuffle = zarr.codecs.numcodecs.Shuffle(elementsize=4)
        z = zarr.create_array({}, shape=(90, 140), chunks=(40, 60), dtype="f4", compressors=[shuffle, SleekBytes(lossless=True)])
        z[:] = field()
        assert np.array_equal(z[:], field())
    z = zarr.create_array({}, shape=(90, 140), chunks=(40, 60), dtype="f4", compressors=SleekBytes(abs=1e-3))
    with pytest.raises(ValueError, match="serializer=sleek.zarr.Sleek"):
        z[:] = field()
    assert z.nchunks_initialized == 0
    with pytest.raises((TypeError, sleek.SleekError, ValueError)):
        SleekBytes(bas=1)


@pytest.mark.parametrize("profile", ["adaptive", "small"])
def test_damage_is_no_plain_chunk(profile):
    """Of numbers whose stream happens to be as long as they are, made by either codec of that name."""
    from sleek.numcodecs import Sleek
    from sleek.zarr import SleekBytes

    random, met = np.random.default_rng(0), 0
    for n in random.integers(100, 400, 1500):
        bits = random.integers(0, 2**32, n, dtype="u4")
        a = (bits & np.uint32(0xFFFFFFFF << int(random.integers(0, 8)) & 0xFFFFFFFF)).view("f4")
        if len(sleek.compress(a, lossless=True, profile=profile)) != a.nbytes:
            continue
        met += 1
        store = zarr.storage.MemoryStore()
        codec = SleekBytes(lossless=True, profile=profile)
        zarr.create_array(store, shape=a.shape, chunks=a.shape, dtype="f4", compressors=codec)[:] = a
        assert zarr.open_array(store)[:].tobytes() == a.tobytes()
        stream = bytearray(store._store_dict["c/0"].to_bytes())
        stream[1] ^= 1
        store._store_dict["c/0"] = zarr.core.buffer.cpu.Buffer.from_bytes(bytes(stream))
        with pytest.raises(sleek.SleekError, match="not a SLEEK stream"):
            zarr.open_array(store)[:]
        for one in (a, a[None, :, None], np.broadcast_to(a, (2, n)).T.copy("F")):
            stream = Sleek(lossless=True, profile=profile).encode(one)
            out = np.empty_like(one)
            assert len(stream) != one.nbytes and np.array_equal(Sleek("lossless").decode(stream, out).view("u4"), one.view("u4"))
    assert met > 0
    for n in range(1, 80):  # of one value, whose stream is short
        for one in (np.ones(n), np.ones((n, 3)), np.ones((n, 3), order="F"), np.ones(n, "?"), np.ones(n, "M8[s]"), np.ones((n, 2), "c8").T):
            stream = Sleek(lossless=True, profile=profile).encode(one)
            assert len(stream) != one.nbytes and np.array_equal(Sleek("lossless").decode(stream, out=np.zeros_like(one)), one)


def test_a_chunk_without_the_filter_is_read(tmp_path):
    """HDF5 may store a chunk without a filter, which its filter mask tells; references of VirtualiZarr have no such mask."""
    pytest.importorskip("virtualizarr")
    import sleek.references
    from obspec_utils.registry import ObjectStoreRegistry
    from obstore.store import LocalStore
    from virtualizarr.parsers import HDFParser

    path = tmp_path / "mask.h5"
    a = field()[:4]
    with h5py.File(path, "w") as f:
        d = f.create_dataset("t", data=a, chunks=(1, 140), **sleek.h5(abs=1e-3))
        d.id.write_direct_chunk((2, 0), a[2].tobytes(), filter_mask=1)
        f.create_dataset("few", data=np.arange(4.0), chunks=(1,), **sleek.h5(abs=1e-3))
    sleek.references.register()
    group = zarr.open_group(HDFParser()(url=f"file://{path}", registry=ObjectStoreRegistry({"file://": LocalStore()})), mode="r")
    assert np.abs(group["t"][:].astype("f8") - a).max() <= 1e-3 and np.array_equal(group["t"][2], a[2])
    assert np.array_equal(group["few"][:], np.arange(4.0))
