"""Datasets that somebody made to do harm, or without knowing that they do.

    python hostile.py behind                                  filters behind SLEEK, those of hdf5plugin too
    python hostile.py unknown                                 the same, by their numbers, most of which nobody knows here
    python hostile.py streams LIBSLEEK                        chunks whose streams are not what their dataset says
    python hostile.py elements LIBSLEEK KIND CODE BIG_ENDIAN  one of them as a.h5; says what HDF5 makes of it
"""

import ctypes
import struct
import sys

import h5py
import numpy as np
from h5py import h5p

from scenarios import ABS, DTYPES, LOSSLESS, create, field, opts

FIELD = field((100, 300))


def kept(options, filters=()):
    """Whether what has these filters behind SLEEK keeps the bound, or is refused when it is made."""
    # h5py puts its own filters behind those of a property list that it is given.
    dcpl = h5p.create(h5p.DATASET_CREATE)
    dcpl.set_chunk((50, 100))
    dcpl.set_filter(47474, 0, opts(ABS, 1e-3))
    for code, flags, *words in filters:
        dcpl.set_filter(code, flags, tuple(words))
    more = (options.get(name) for name in ("compression", "compression_opts", "shuffle", "fletcher32"))
    dcpl = h5py._hl.filters.fill_dcpl(dcpl, (100, 300), FIELD.dtype, (50, 100), *more, None, options.get("scaleoffset"), None, None)
    assert dcpl.get_filter(0)[0] == 47474 and dcpl.get_nfilters() > 1
    with h5py.File("a.h5", "w") as f:
        try:
            create(f, "d", FIELD, None, None, dcpl=dcpl)
        except (OSError, ValueError, RuntimeError) as error:
            assert "filter" in str(error), error
            return len(f) == 1 and "made, and not written"
    with h5py.File("a.h5") as f:
        return bool(np.abs(f["d"][...].astype("f8") - FIELD).max() <= 1e-3) or "lost"


def behind():
    """What gives every byte back is taken and keeps the bound, everything else is refused when the dataset is made."""
    import hdf5plugin as p

    lossless = [
        {"compression": "gzip", "shuffle": True, "fletcher32": True}, {"compression": "lzf"}, p.Zstd(), p.LZ4(), p.BZip2(), p.Bitshuffle(),
        p.Blosc("lz4", clevel=5, shuffle=p.Blosc.BITSHUFFLE), p.Blosc2("zstd", clevel=5, filters=p.Blosc2.SHUFFLE),
    ]  # fmt: skip
    others = [
        {"scaleoffset": 3}, p.Zfp(accuracy=0.01), p.Zfp(reversible=True), p.SZ(absolute=0.1), p.SZ3(absolute=0.1), p.Sperr(rate=2),
        p.Blosc2("zstd", clevel=5, filters=4), p.FciDecomp(),
    ]  # fmt: skip
    for expected, all_ in (True, lossless), (False, others):
        for options in all_:
            assert kept(dict(options)) is expected, dict(options)


def unknown():
    # The number, whether it is optional, its words. Scale-offset: float by decimal digits, or integers; n-bit; unknown ones.
    refused = [(6, 0, 0, 3), (6, 1, 0, 3), (6, 0, 2, 0), (6, 1, 2, 0), (5, 0), (5, 1), (32013, 1), (32017, 1), (47000, 1), (4, 1, 32, 16)]
    taken = [(1, 0, 6), (2, 0), (3, 0), (1, 1, 1), (32000, 1), (32015, 1), (32001, 1), (32004, 1), (307, 1), (32008, 1)]
    for expected, all_ in (False, refused), (True, taken):
        for one in all_:
            assert kept({}, [one]) is expected, one


KINDS = {
    "u8": "u1", "i32": ">i4", "f32": "<f4", "f64": "<f8", "array": np.dtype(("<f4", (3,))), "opaque": "V11", "string": "S7",
    "compound": {"names": ["s", "x"], "formats": ["S7", ">f8"], "offsets": [0, 11], "itemsize": 19},
}  # fmt: skip
COUNT = 4096


def stream_of(bytes_, code, big_endian):
    """A stream of so many bytes of 0x5a, as elements of this code and order."""
    size = int(next(name for name, k in DTYPES.items() if k == code).replace("bf16", "2")[-1])
    params, n, stream = ctypes.create_string_buffer(128), ctypes.c_size_t(), ctypes.create_string_buffer(2 * bytes_ + 10_000)
    assert LIBRARY.sleek_params_init(params) == 0 and LIBRARY.sleek_params_parse(params, b"lossless") == 0
    struct.pack_into("<i", params, 8, code)  # tests/abi/layout.txt
    struct.pack_into("<i", params, 52, big_endian)
    room = ctypes.c_size_t(len(stream))
    assert LIBRARY.sleek_compress(params, b"\x5a" * bytes_, ctypes.c_size_t(bytes_ // size), stream, room, ctypes.byref(n), None) == 0
    return stream.raw[: n.value]


def taken(kind, stream):
    """Whether H5Dread takes chunks of this stream, and sleek_h5d_read, which then gives the same."""
    with h5py.File("a.h5", "w") as f:
        dtype = np.dtype(KINDS[kind])
        dcpl = h5p.create(h5p.DATASET_CREATE)
        dcpl.set_chunk((COUNT,))
        dcpl.set_filter(47474, 0, opts(LOSSLESS))
        type_ = h5py.h5t.py_create(dtype, logical=True)
        d = h5py.h5d.create(f.id, b"d", type_, h5py.h5s.create_simple((2 * COUNT,)), dcpl)
        for at in 0, COUNT:
            d.write_direct_chunk((at,), stream)
    found = []
    with h5py.File("a.h5") as f:
        d, back = f["d"].id, np.zeros(2 * COUNT * dtype.itemsize, "u1")
        type_ = d.get_type()
        try:
            d.read(h5py.h5s.ALL, h5py.h5s.ALL, back, mtype=type_)
            found.append(True)
            assert (back == 0x5A).all() or kind == "compound", "foreign bytes"
        except OSError:
            found.append(False)
        dims = ctypes.POINTER(ctypes.c_uint64)
        LIBRARY.sleek_h5d_read.argtypes = [ctypes.c_int64, ctypes.c_int64, dims, dims, ctypes.c_int64] + [ctypes.c_void_p] * 3
        found.append(LIBRARY.sleek_h5d_read(d.id, type_.id, None, None, 0, back.ctypes.data, None, None) == 0)
    assert found[0] == found[1], (kind, found)
    return found[0]


def streams():
    for kind, dtype in KINDS.items():
        whole = COUNT * np.dtype(dtype).itemsize
        assert taken(kind, stream_of(whole, DTYPES["u1"], 0)), kind
        for change in -4080, -48, 48, 4096:
            assert not taken(kind, stream_of(whole + change, DTYPES["u1"], 0)), (kind, change)
    # One of the right length with elements that are not the dataset's would be read as others.
    own = {"f32": ("f4", 0), "f64": ("f8", 0), "i32": ("i4", 1), "array": ("f4", 0), "u8": ("u1", 0)}
    for kind, (dtype, big) in own.items():
        whole = COUNT * np.dtype(KINDS[kind]).itemsize
        for other in "f4", "f8", "f2", "i4", "u4", "i1", "u1":
            assert taken(kind, stream_of(whole, DTYPES[other], big)) == (other in (dtype, "u1")), (kind, other)
        assert kind == "u8" or not taken(kind, stream_of(whole, DTYPES[dtype], 1 - big)), kind
    assert taken("opaque", stream_of(11 * COUNT, DTYPES["f2"], 0))


def elements(kind, code, big_endian):
    print("taken" if taken(kind, stream_of(COUNT * np.dtype(KINDS[kind]).itemsize, int(code), int(big_endian))) else "refused")


what, *arguments = sys.argv[1:]
if arguments:
    LIBRARY = ctypes.CDLL(arguments.pop(0))
globals()[what](*arguments)
