"""Codec zfp in HDF5 files, and files of the plugin H5Z-ZFP: zfp.py rates FILE WORDS... | h5z FILE | same OLD NEW BOUND."""

import sys

import h5py
import numpy as np

SLEEK = 47474
TYPES = ["f4", "f8", "i4", "i8"]


def field(dtype, shape=(40, 50, 30)):
    z, y, x = np.mgrid[tuple(slice(n) for n in shape)]
    return ((np.sin(x / 9) + np.cos(y / 7) * z) * 1e3).astype(dtype)


def rates(name, *words):
    """Each number type at a rate: the chunks have that size, and what has no rate is there bit for bit."""
    words = tuple(map(int, words))
    with h5py.File(name, "w") as f:
        for dtype in TYPES + ["u2", ">f4"]:
            data = field(dtype)
            f.create_dataset(dtype, data=data, chunks=(20, 50, 30), compression=SLEEK, compression_opts=words)
    with h5py.File(name) as f:
        for dtype in TYPES + [">f4"]:
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


def same(old, new, bound):
    import hdf5plugin  # noqa: F401: the plugin reads the old file

    with h5py.File(old) as a, h5py.File(new) as b:
        assert list(a) == list(b) and len(a) == 14
        for key in a:
            filters = [b[key].id.get_create_plist().get_filter(i)[0] for i in range(b[key].id.get_create_plist().get_nfilters())]
            floats = key[0] == "f"
            assert filters == [SLEEK if floats or float(bound) == 0 else 32013], f"{key}: {filters}"
            error = np.abs(a[key][...].astype("f8") - b[key][...].astype("f8")).max()
            assert error <= (float(bound) if floats else 0), f"{key}: {error}"


globals()[sys.argv[1]](*sys.argv[2:])
print(sys.argv[1], "passed")
