"""Codec zfp in HDF5 files, and files of the plugin H5Z-ZFP: zfp.py rates FILE WORDS... | h5z FILE | same OLD NEW BOUND |
plain FILE | written OLD NEW MODE VALUE | taken OLD NEW | values FILE NPZ | read LIBSLEEK FILE NPZ host|gpu."""

import sys

import h5py
import numpy as np

SLEEK = 47474
TYPES = ["f4", "f8", "i4", "i8"]


def field(dtype, shape=(40, 50, 30)):
    z, y, x = np.mgrid[tuple(slice(n) for n in shape)]
    return ((np.sin(x / 9) + np.cos(y / 7) * z) * 1e3).astype(dtype)


def rates(name, *words):
    """Each number type at a rate: the chunks have that size, and what has no rate is there bit for bit. Integers that are not named, and
    enumerations always, keep every bit."""
    words = tuple(map(int, words))
    named = bool(words[4] & 1 << 10)
    enums = {base: h5py.enum_dtype({"a": 0, "b": 2**29}, base) for base in ("i4", "i8")}
    indices = np.arange(60000).reshape(40, 50, 30) * 7919 % 60000
    kept = {f"enum-{base}": (enums[base], indices % 2 * 2**29) for base in enums} | {"index": ("i4", indices)}
    with h5py.File(name, "w") as f:
        for dtype in TYPES + ["u2", ">f4"]:
            data = field(dtype)
            f.create_dataset(dtype, data=data, chunks=(20, 50, 30), compression=SLEEK, compression_opts=words)
        for key, (dtype, data) in kept.items():
            f.create_dataset(key, data=data.astype(dtype), dtype=dtype, chunks=(20, 50, 30), compression=SLEEK, compression_opts=words)
    with h5py.File(name) as f:
        for key in kept:
            assert (named and key == "index") or (f[key][...] == kept[key][1]).all(), key
        for dtype in TYPES + [">f4"]:
            if dtype[0] == "i" and not named:
                assert (f[dtype][...] == field(dtype)).all(), dtype
                continue
            error = np.abs(f[dtype][...].astype("f8") - field(dtype).astype("f8")).max()
            assert 0 < error < 30, f"{dtype}: {error}"
            # Eight bits for each value, up to whole blocks, and an index.
            for k in range(f[dtype].id.get_num_chunks()):
                size = f[dtype].id.get_chunk_info(k).size
                assert size < 1.02 * 20 * 52 * 32 + 400, f"{dtype}: {size} bytes"
        assert (f["u2"][...] == field("u2")).all()


def h5z(name):
    import hdf5plugin

    with h5py.File(name, "w") as f:
        for dtype in TYPES:
            data = field(dtype)
            kinds = {"rate": dict(rate=16), "precision": dict(precision=22), "reversible": dict(reversible=True)}
            if dtype[0] == "f":
                kinds["accuracy"] = dict(accuracy=1e-2)
            for kind, how in kinds.items():
                f.create_dataset(f"{dtype}-{kind}", data=data, chunks=(20, 50, 30), **hdf5plugin.Zfp(**how))
            if dtype[0] == "f":
                whole = data.ravel()[: 24 * 20 * 8 * 12].reshape(24, 20, 8, 12)
                f.create_dataset(f"{dtype}-rate-4d", data=whole, chunks=(12, 20, 8, 12), **hdf5plugin.Zfp(rate=16))


def same(old, new, bound):
    import hdf5plugin  # noqa: F401: the plugin reads the old file

    with h5py.File(old) as a, h5py.File(new) as b:
        assert list(a) == list(b) and len(a) == 16
        for key in a:
            filters = [b[key].id.get_create_plist().get_filter(i)[0] for i in range(b[key].id.get_create_plist().get_nfilters())]
            floats = key[0] == "f"
            # Integers are taken where they get smaller without loss.
            assert filters == [SLEEK] or filters == [32013] and not floats and float(bound), f"{key}: {filters}"
            error = np.abs(a[key][...].astype("f8") - b[key][...].astype("f8")).max()
            assert error <= (float(bound) if floats else 0), f"{key}: {error}"


def taken(old, new):
    """What was taken over has every bit, and hardly takes more room: an index and checksums."""
    import hdf5plugin  # noqa: F401

    with h5py.File(old) as a, h5py.File(new) as b:
        for key in a:
            assert b[key].id.get_create_plist().get_filter(0)[0] == SLEEK, key
            assert a[key][...].tobytes() == b[key][...].tobytes(), key
            before, after = (f[key].id.get_storage_size() for f in (a, b))
            if before < a[key].size * a[key].dtype.itemsize / 2:
                assert after < 1.06 * before + 300 * a[key].id.get_num_chunks(), f"{key}: {before} bytes became {after}"


def plain(name):
    """Datasets of every kind that there may be, none of them H5Z-ZFP's."""
    rng = np.random.default_rng(3)
    with h5py.File(name, "w") as f:
        for dtype in TYPES:
            f.create_dataset(dtype, data=field(dtype), chunks=(20, 32, 30))
            f.create_dataset(f"{dtype}-grows", data=field(dtype), chunks=(16, 32, 30), maxshape=(None, 50, 30))
            f.create_dataset(f"{dtype}-line", data=field(dtype).ravel(), chunks=(7000,))
            f.create_dataset(f"{dtype}-plane", data=field(dtype)[:, None], chunks=(1, 1, 50, 30))
            f.create_dataset(f"{dtype}-whole", data=field(dtype)[None])
        for dtype in ["f4", "f8"]:
            odd = field(dtype)
            odd[3, 4, 5], odd[30, 1, 1], odd[30, 2, 2] = np.nan, np.inf, -0.0
            f.create_dataset(f"{dtype}-odd", data=odd, chunks=(20, 50, 30))
            gaps = field(dtype)
            gaps[rng.random(gaps.shape) < 0.1] = 9.96921e36
            gaps[20:] = field(dtype)[20:]
            f.create_dataset(f"{dtype}-gaps", data=gaps, chunks=(20, 50, 30))
            f[f"{dtype}-gaps"].attrs["_FillValue"] = np.array(9.96921e36, dtype)
        f.create_dataset("big", data=field(">f4"), chunks=(20, 50, 30))
        f.create_dataset("short", data=field("i2"), chunks=(20, 50, 30))
        f.create_dataset("five", data=field("f4").reshape(2, 20, 5, 10, 30), chunks=(2, 10, 5, 5, 30))


def written(old, new, mode, value):
    """Files of ours for H5Z-ZFP: its plugin reads them, and makes the same chunks with the same cd_values itself."""
    import hdf5plugin

    value = float(value)
    how = {"abs": dict(accuracy=value), "rate": dict(rate=value), "precision": dict(precision=int(value)), "lossless": dict(reversible=True)}[mode]
    filtered = 0
    with h5py.File(old) as a, h5py.File(new) as b:
        assert list(a) == list(b)
        for key in a:
            x, y, plist = a[key][...], b[key][...], b[key].id.get_create_plist()
            is_ours = key[:2] in (TYPES if mode == "lossless" else TYPES[:2]) and key != "five"
            if not is_ours:
                assert plist.get_nfilters() == 0 and x.tobytes() == y.tobytes(), key
                continue
            code, flags, words, _ = plist.get_filter(0)
            assert (plist.get_nfilters(), code, flags) == (1, 32013, 1), key
            gap = np.isnan(x) | np.isinf(x) | (x == np.array(9.96921e36, "f8").astype(x.dtype)) if x.dtype.kind == "f" else x != x
            assert x[gap].tobytes() == y[gap].tobytes(), key
            error = np.abs(x[~gap].astype("f8") - y[~gap].astype("f8")).max()
            assert error <= {"abs": value, "lossless": 0}.get(mode, 40), f"{key}: {error}"
            # In a file in memory the plugin writes the same.
            with h5py.File("memory", "w", driver="core", backing_store=False) as f:
                theirs = f.create_dataset("x", data=x, chunks=b[key].chunks, maxshape=b[key].maxshape, **hdf5plugin.Zfp(**how))
                assert theirs.id.get_create_plist().get_filter(0)[2] == words, f"{key}: {words}"
                for k in range(b[key].id.get_num_chunks()):
                    place = b[key].id.get_chunk_info(k).chunk_offset
                    mask, ours = b[key].id.read_direct_chunk(place)
                    is_whole = all(o + c <= n for o, c, n in zip(place, b[key].chunks, b[key].shape))
                    assert mask == 0 or "odd" in key or "gaps" in key or mode == "lossless", f"{key}: {mask}"
                    filtered += mask == 0
                    if mask == 0 and (is_whole or "grows" in key):
                        stream = theirs.id.read_direct_chunk(place)[1]
                        n = min(len(stream), len(ours))
                        rest = (stream[n:] + ours[n:]).strip(b"\0")
                        assert ours[:n] == stream[:n] and not rest and abs(len(stream) - len(ours)) < 8, f"{key} {place}"
            if "gaps" in key and mode != "lossless":
                masks = [b[key].id.read_direct_chunk(b[key].id.get_chunk_info(k).chunk_offset)[0] for k in range(2)]
                assert sorted(masks) == [0, 1], f"{key}: {masks}"
    assert filtered > 20, filtered


def values(name, npz):
    """What the plugin restores."""
    import hdf5plugin  # noqa: F401

    with h5py.File(name) as f:
        np.savez(npz, **{key: f[key][...] for key in f})


def read(library, name, npz, where):
    """sleek_h5d_read takes the chunks of H5Z-ZFP, without its plugin, to host memory, and to that of the stand-in for a GPU."""
    import ctypes

    class Info(ctypes.Structure):
        _fields_ = [
            ("struct_size", ctypes.c_size_t), ("route", ctypes.c_int32), ("staged", ctypes.c_int32),
            ("chunks", ctypes.c_uint64), ("raw_bytes", ctypes.c_uint64), ("stored_bytes", ctypes.c_uint64),
            ("reserved", ctypes.c_uint64 * 3), ("reason", ctypes.c_char * 192),
        ]

    lib = ctypes.CDLL(library)
    lib.sleek_last_error.restype = ctypes.c_char_p
    dims = ctypes.POINTER(ctypes.c_uint64)
    lib.sleek_h5d_read.argtypes = [ctypes.c_int64, ctypes.c_int64, dims, dims, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(Info)]
    lib.sleek_h5d_write.argtypes = lib.sleek_h5d_read.argtypes
    driver, context = ctypes.CDLL("libcuda.so.1") if where == "gpu" else None, ctypes.c_void_p()
    if driver:
        assert driver.cuInit(0) == 0 and driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
        assert driver.cuCtxSetCurrent(context) == 0
    expected, ways = np.load(npz), set()
    with h5py.File(name) as f:
        for key in f:
            dataset, info = f[key], Info(struct_size=ctypes.sizeof(Info))
            array = np.zeros(dataset.shape, dataset.dtype)
            kind, place = h5py.h5t.py_create(array.dtype), ctypes.c_uint64(array.ctypes.data)
            if driver:
                assert driver.cuMemAlloc_v2(ctypes.byref(place), ctypes.c_size_t(array.nbytes)) == 0
            status = lib.sleek_h5d_read(dataset.id.id, kind.id, None, None, 0, place.value, None, ctypes.byref(info))
            assert status == 0, f"{key}: {lib.sleek_last_error()}"
            if driver:
                # The stand-in's memory is the host's.
                ctypes.memmove(array.ctypes.data, place.value, array.nbytes)
                assert driver.cuMemFree_v2(place) == 0
            assert info.route == (3 if driver else 2), f"{key}: {info.reason}"
            assert array.tobytes() == expected[key].tobytes(), f"{key}: {info.reason}"
            ways.add(("rate" in key, info.reason.decode()))
            if not driver:
                status = lib.sleek_h5d_write(dataset.id.id, kind.id, None, None, 0, place.value, None, ctypes.byref(info))
                assert status != 0, key
    if driver:
        said = "chunks of H5Z-ZFP{} to GPU memory{}".format
        assert ways == {(True, said("", ", restored there")), (False, said(", restored by the CPU,", ""))}, ways


globals()[sys.argv[1]](*sys.argv[2:])
print(sys.argv[1], "passed")
