"""Datasets of one codec, by its number: codecs.py make FILE CODEC RANK | check FILE CODEC | compare FILE OTHER.

One dataset for every rank up to RANK, with partial chunks, and one of big-endian numbers with gaps.

    codecs.py rates FILE WORDS...  codec zfp
    codecs.py shapes PROFILE      chunks of many shapes by one profile, each as a file of its bytes and one of its stream
"""

import struct
import sys

import h5py
import numpy as np

SLEEK, BOUND, GAP = 47474, 1e-3, -9999.0
SHAPES = [((5000,), (1300,)), ((60, 70), (33, 35)), ((13, 14, 15), (5, 14, 9)), ((5, 6, 7, 8), (3, 6, 4, 8))]


def words(codec):
    return (1, 1, *struct.unpack("<2I", struct.pack("<d", BOUND)), int(codec) << 16)


def field(shape):
    values = (280 + 10 * np.sin(np.arange(np.prod(shape)) * 1e-2)).astype("f4").reshape(shape)
    values.flat[::7] += np.float32(0.25)
    return values


def gaps(shape):
    values = field(shape).astype(">f8")
    values.flat[100:400] = GAP
    values.flat[::31] = GAP
    return values


def dataset(f, name, values, chunk, codec, fill):
    dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    dcpl.set_chunk(chunk)
    if fill is not None:
        dcpl.set_fill_value(np.array(fill, values.dtype))
    dcpl.set_filter(SLEEK, 0, words(codec))
    space = h5py.h5s.create_simple(values.shape)
    d = h5py.Dataset(h5py.h5d.create(f.id, name.encode(), h5py.h5t.py_create(values.dtype), space, dcpl))
    d[...] = values


def make(name, codec, rank):
    with h5py.File(name, "w") as f:
        for shape, chunk in SHAPES[: int(rank)]:
            dataset(f, f"rank{len(shape)}", field(shape), chunk, codec, None)
        dataset(f, "gaps", gaps(SHAPES[0][0]), SHAPES[0][1], codec, GAP)


def check(name, codec):
    with h5py.File(name) as f:
        for key, d in f.items():
            values = d[...]
            expected = gaps(d.shape) if key == "gaps" else field(d.shape)
            assert np.abs(values.astype("f8") - expected.astype("f8")).max() <= BOUND, key
            assert ((values == GAP) == (expected == GAP)).all(), key
            assert values[tuple(n // 2 for n in d.shape)] == d[tuple(n // 2 for n in d.shape)]
            for k in range(d.id.get_num_chunks()):
                _, chunk = d.id.read_direct_chunk(d.id.get_chunk_info(k).chunk_offset)
                assert chunk[:6] == b"\x89SLEEK" and chunk[8] == int(codec), f"{key}: codec {chunk[8]}"


def compare(name, other):
    with h5py.File(name) as a, h5py.File(other) as b:
        assert list(a) == list(b) and len(a) > 1
        for key in a:
            # A second time nothing moves by more than the bound again.
            assert np.abs(a[key][...].astype("f8") - b[key][...].astype("f8")).max() <= BOUND, key


# Lines, long and short, sides of 1 anywhere, up to 32 dimensions; shapes of a dataset and of its chunks.
ODD_SHAPES = [
    ((300000,), (262144,)),
    ((90000, 1), (70000, 1)),
    ((1, 5000), (1, 1300)),
    ((130, 131), (130, 131)),
    ((40, 1, 70, 1), (20, 1, 70, 1)),
    ((9, 60, 70), (1, 60, 70)),
    ((60, 9, 70), (60, 1, 35)),
    ((40, 50, 3), (20, 50, 3)),
    ((3, 3, 3, 4, 5, 6, 7), (2, 3, 1, 4, 5, 6, 7)),
    ((2,) * 9, (2,) * 9),
    ((1,) * 11 + (7,) + (1,) * 9 + (33,) + (1,) * 9 + (40,), (1,) * 11 + (3,) + (1,) * 9 + (33,) + (1,) * 9 + (40,)),
]


def shapes(profile):
    for k, (shape, chunk) in enumerate(ODD_SHAPES):
        for dtype in ("<f4", ">f8", "<f2", "<i4"):
            values = field(shape).astype(dtype)
            mode = 1 if values.dtype.kind == "f" else 0
            bound = struct.unpack("<2I", struct.pack("<d", 0.01 if mode else 0.0))
            dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            dcpl.set_chunk(chunk)
            dcpl.set_filter(SLEEK, 0, (1, mode, *bound, int(profile)))
            with h5py.File("shapes.h5", "w") as f:
                space = h5py.h5s.create_simple(shape)
                d = h5py.Dataset(h5py.h5d.create(f.id, b"d", h5py.h5t.py_create(values.dtype), space, dcpl))
                d[...] = values
            with h5py.File("shapes.h5") as f:
                assert np.abs(f["d"][...].astype("f8") - values.astype("f8")).max() <= 0.01 * mode
                _, stream = f["d"].id.read_direct_chunk((0,) * len(shape))
            name = f"{k}{dtype[1:]}"
            open(f"{name}.slk", "wb").write(stream)
            open(f"{name}.raw", "wb").write(values[tuple(slice(0, n) for n in chunk)].tobytes())
            print("chunk", name, dtype, *chunk)


def wave(dtype, shape=(40, 50, 30)):
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
        for dtype in "f4 f8 i4 i8 u2 >f4".split():
            data = wave(dtype)
            f.create_dataset(dtype, data=data, chunks=(20, 50, 30), compression=SLEEK, compression_opts=words)
        for key, (dtype, data) in kept.items():
            f.create_dataset(key, data=data.astype(dtype), dtype=dtype, chunks=(20, 50, 30), compression=SLEEK, compression_opts=words)
    with h5py.File(name) as f:
        for key in kept:
            assert (named and key == "index") or (f[key][...] == kept[key][1]).all(), key
        for dtype in "f4 f8 i4 i8 >f4".split():
            if dtype[0] == "i" and not named:
                assert (f[dtype][...] == wave(dtype)).all(), dtype
                continue
            error = np.abs(f[dtype][...].astype("f8") - wave(dtype).astype("f8")).max()
            assert 0 < error < 30, f"{dtype}: {error}"
            # Eight bits for each value, up to whole blocks, and an index.
            for k in range(f[dtype].id.get_num_chunks()):
                size = f[dtype].id.get_chunk_info(k).size
                assert size < 1.02 * 20 * 52 * 32 + 400, f"{dtype}: {size} bytes"
        assert (f["u2"][...] == wave("u2")).all()


globals()[sys.argv[1]](*sys.argv[2:])
print(sys.argv[1], "passed")
