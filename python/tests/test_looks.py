"""Looking before reading: ranges by chunk, where, and strides of datasets."""

import concurrent.futures
import ctypes

import numpy as np
import pytest
import sleek

h5py = pytest.importorskip("h5py")


def test_looks_at_datasets(tmp_path):
    a = np.sin(np.arange(50 * 61 * 70, dtype="f4") / 3000).reshape(50, 61, 70)
    a[3, 4, :60] = -9999
    shapes = [((50, 61, 70), (16, 20, 32)), ((50, 61, 70), (10, 61, 7)), ((5, 10, 61, 70), (2, 5, 30, 32))]
    requests = ({"abs": 1e-3, "profile": "small"}, {"abs": 1e-3}, None)
    with h5py.File(tmp_path / "a.h5", "w") as f:
        for k, (shape, chunks) in enumerate(shapes):
            for r, request in enumerate(requests):
                options = sleek.h5(**request) if request else {"compression": "gzip"}
                data = f.create_dataset(f"x{k}{r}", data=a.reshape(shape), chunks=chunks, fillvalue=None if k else -9999, **options)
                if k:
                    data.attrs["_FillValue"] = np.float32(-9999)
        f.create_dataset("plain", data=a)
        f.create_dataset("never", (100, 100), "f4", chunks=(30, 30), fillvalue=7, **sleek.h5(abs=1e-3))
    with h5py.File(tmp_path / "a.h5") as f:
        for data in (f[name] for name in f if name.startswith("x")):
            whole = data[...]
            for stride in (2, 4, 16):
                places = (slice(None),) * (whole.ndim - 3) + (slice(None, None, stride),) * 3
                assert np.array_equal(sleek.read(data, stride=stride), whole[places])
            for low, high in ((0.9, None), (None, -0.95), (-0.1, 0.1)):
                yes = (whole != -9999) & (whole > (-9e9 if low is None else low)) & (whole < (9e9 if high is None else high))
                got = sleek.read(data, above=low, below=high)
                assert len(got) == whole.ndim
                assert all(np.array_equal(mine, right) for mine, right in zip(got, np.nonzero(yes)))
        edge = float(np.float32(0.1))  # beyond 0.1, of which it is the nearest
        f4 = np.zeros(50, "f4") + np.float32(0.1)
        with h5py.File(tmp_path / "edge.h5", "w") as other:
            for data in (other.create_dataset("a", data=f4, chunks=(20,), **sleek.h5(lossless=True)), other.create_dataset("b", data=f4)):
                for limit, count in ((0.1, 50), (np.float64(0.1), 50), (edge, 0)):
                    assert len(sleek.read(data, above=limit)[0]) == count
        plain, never = f["plain"], f["never"]
        assert np.array_equal(sleek.read(plain, stride=4), a[::4, ::4, ::4])
        assert (sleek.read(never, stride=8) == 7).all() and len(sleek.read(never, below=8)[0]) == 0
        with pytest.raises(TypeError, match="neither out nor start"):
            sleek.read(plain, stride=2, out=a)
        with pytest.raises(TypeError, match="is needed"):
            sleek.read(plain)
        with pytest.raises(ValueError, match="power of two"):
            sleek.read(plain, stride=6)


def test_values_that_nobody_named_missing_are_values(tmp_path):
    """A chunk in which many are -9999 is compressed as if that were missing; sleek.read answers as for the others."""
    a = np.sin(np.arange(3000, dtype="f4") / 50)
    a[:1000] = a[1500:1600] = a[2500] = -9999
    with h5py.File(tmp_path / "a.h5", "w") as f:
        for name, request, count in (("nobody", {"abs": 1e-3}, 1101), ("request", {"abs": 1e-3, "fill": -9999}, 0)):
            data = f.create_dataset(name, data=a, chunks=(1000,), **sleek.h5(**request))
            assert len(sleek.read(data, below=-100)[0]) == count
        # A mark that is the end of a chunk, and one that stands for a limit.
        for mark, limit, count in ((1000, None, 0), (np.float32(0.3), 0.3, 1101)):
            b = np.where(a == -9999, mark, -1).astype("f4")
            data = f.create_dataset(f"{mark}", data=b, chunks=(1000,), **sleek.h5(abs=1e-3, fill=float(mark)))
            data.attrs.update({"valid_max": limit} if limit else {})
            assert len(sleek.read(data, above=0.2)[0]) == count


def test_named_marks_are_passed_over_in_every_chunk(tmp_path):
    """In those that are stored plain, were never written, or have another filter, too."""
    for dtype in "<f4", ">f8":
        a = np.linspace(0, 1, 1000).astype(dtype)
        a[[3, 500, 999]] = -999
        a[[4, 501]] = -888
        bits = a[3:4].astype(dtype[1:]).view(f"u{dtype[2]}")[0]
        for request, values in (("abs=1e-3,fill=-999", [4, 501]), (f"abs=1e-3,fill=-888,fill={bits:#x}", [])):
            with h5py.File(tmp_path / "a.h5", "w") as f:
                data = {"alone": f.create_dataset("alone", data=a, chunks=(300,), **sleek.h5(request))}
                for name, more in {"gzip": 3, "plain": None}.items():
                    creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
                    creation.set_chunk((300,))
                    creation.set_filter(sleek.FILTER_ID, 0, sleek.h5(request)["compression_opts"])
                    if more:
                        creation.set_deflate(more)
                    kind = h5py.h5t.py_create(a.dtype)
                    data[name] = h5py.Dataset(h5py.h5d.create(f.id, name.encode(), kind, h5py.h5s.create_simple(a.shape), creation))
                    data[name][...] = a
                data["plain"].id.write_direct_chunk((300,), a[300:600].tobytes(), 1)
                for name, dataset in data.items():
                    assert sleek.read(dataset, below=-500)[0].tolist() == values, (dtype, request, name)
    with h5py.File(tmp_path / "a.h5", "w") as f:
        never = f.create_dataset("never", (1000,), "f4", chunks=(300,), **sleek.h5(abs=1e-3, fill=0))
        never[300:600] = 0
        assert len(sleek.read(never, above=-1)[0]) == 0
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            assert not any(len(found) for (found,) in pool.map(lambda _: sleek.read(never, above=-1), range(40)))


def test_chunks_of_which_hdf5_says_what_is_not(tmp_path):
    """Listed at wrong places, as the one unlimited dimension is not the first; plain at the rim, and called filtered."""
    a = np.random.default_rng(7).normal(size=(9, 21, 14)).astype("f4")
    parts = (...,), (slice(7, None), slice(0, 12), slice(0, 5)), (slice(0, 0),)
    library = ctypes.PyDLL(h5py.h5d.__file__)  # leads to the HDF5 of h5py, beside which another may be loaded
    library.H5Pset_chunk_opts.argtypes = [ctypes.c_int64, ctypes.c_uint]
    with h5py.File(tmp_path / "a.h5", "w", libver=("v110", "v110")) as f:
        for k, part in enumerate(parts):
            data = f.create_dataset(f"{k}", a.shape, "f4", chunks=(7, 12, 5), maxshape=(9, None, 14), **sleek.h5(lossless=True))
            data[part] = a[part]
        creation = f["0"].id.get_create_plist()
        assert library.H5Pset_chunk_opts(creation.id, 2) >= 0
        rim = h5py.h5d.create(f.id, b"rim", h5py.h5t.NATIVE_FLOAT, h5py.h5s.create_simple(a.shape), creation)
        rim.write(h5py.h5s.ALL, h5py.h5s.ALL, a)
    with h5py.File(tmp_path / "a.h5") as f:
        for data in f.values():
            whole, out = data[...], np.full_like(a, 9)
            assert np.array_equal(sleek.read(data, stride=2), whole[::2, ::2, ::2])
            assert np.array_equal(sleek.read(data, above=0.5), np.nonzero(whole > 0.5))
            sleek.read(data, out=out)
            assert np.array_equal(out, whole)


@pytest.mark.parametrize("request_", ["abs=0.5,profile=small", "lossless"])
def test_types_that_numpy_has_not(tmp_path, request_):
    """h5py gives bfloat16 as float32, which a stream's elements are not."""
    pytest.importorskip("ml_dtypes")
    made = (100 + np.cumsum(np.random.default_rng(0).normal(size=(4000, 4)), 0)).astype("f4")
    kind = h5py.h5t.IEEE_F32LE.copy()
    kind.set_fields(15, 7, 8, 0, 7)
    kind.set_ebias(127)
    kind.set_precision(16)
    kind.set_size(2)
    with h5py.File(tmp_path / "a.h5", "w") as f:
        creation = f.create_dataset("x", made.shape, "f4", chunks=(2000, 4), **sleek.h5(request_)).id.get_create_plist()
        data = h5py.Dataset(h5py.h5d.create(f.id, b"brain", kind, h5py.h5s.create_simple(made.shape), creation))
        data[...] = made
        whole = data[...]
        assert np.array_equal(sleek.read(data, stride=2), whole[::2, ::2])
        assert np.array_equal(sleek.read(data, above=101), np.nonzero(whole > 101))


@pytest.mark.parametrize("kind, stored", [
    ("f4", ">f4"), (">f4", "f4"), ("f4", "i4"), ("i4", "u4"), ("i4", ">i4"), ("f2", "i2"), ("f2", "bfloat16"), ("u1", "i1"), ("f8", "i8"),
    ("f4", "f8"), ("f8", "f4"), ("c8", ">f4"), ("c8", "f8"), ("c8", "i4"),
])  # fmt: skip
def test_chunks_of_another_type_are_refused(tmp_path, kind, stored):
    """As by dataset[...], which gives no values of them either."""
    stored = pytest.importorskip("ml_dtypes").bfloat16 if stored == "bfloat16" else stored
    nbytes = 64 * np.dtype(kind).itemsize
    for length in (nbytes, nbytes // 2):
        stream = sleek.compress(np.arange(length // np.dtype(stored).itemsize).astype(stored), lossless=True)
        with h5py.File(tmp_path / "a.h5", "w") as f:
            data = f.create_dataset("x", (8, 8), kind, chunks=(8, 8), **sleek.h5(lossless=True))
            data.id.write_direct_chunk((0, 0), stream)
            for look in (lambda: data[...], lambda: sleek.read(data, stride=2), lambda: sleek.read(data, above=5)):
                with pytest.raises((OSError, ValueError), match="the stream holds"):
                    look()


ENUM = h5py.enum_dtype({"a": 0, "b": 1}, ">i2")
KINDS = ["?", "i1", ">i4", ">f4", "<c8", ">c16", ENUM, ("<f4", (3,)), (">i2", (2,)), "S3", [("a", "f4")]]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("plain", [False, True])
def test_types_that_are_stored_as_others(tmp_path, kind, plain):
    """Plain bytes are a chunk of any type."""
    with h5py.File(tmp_path / "a.h5", "w") as f:
        data = f.create_dataset("x", (64, 8), kind, chunks=(32, 8), **sleek.h5(lossless=True))
        base, sides = data.dtype.base, data.shape + data.dtype.shape
        made = (np.arange(np.prod(sides)).reshape(sides) % 2).astype(base)
        data[...] = made
        if plain:
            data.id.write_direct_chunk((0, 0), sleek.compress(made[:32].view("u1"), lossless=True))
        assert np.array_equal(data[...], made)
        assert np.array_equal(sleek.read(data, stride=4), made[::4, ::4])
        if base.kind in "iuf":
            assert np.array_equal(sleek.read(data, above=0.5), np.nonzero(made > 0.5))
