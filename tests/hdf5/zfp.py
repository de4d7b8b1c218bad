"""Codec zfp in HDF5 files: zfp.py rates FILE WORDS..."""

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


globals()[sys.argv[1]](*sys.argv[2:])
print(sys.argv[1], "passed")
