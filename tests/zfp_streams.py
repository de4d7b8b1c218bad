"""Streams of codec zfp against those of the C library: zfp_streams.py LIBSLEEK [DATA].

Needs numpy and zfpy 1.0.1. Every tile of every stream is compared with what zfpy makes of it, byte for byte, and zfpy
restores from it what we do: modes, types, ranks, parameters and odd shapes, on made fields and on those of DATA.
"""

import ctypes
import itertools
import pathlib
import struct
import sys

import numpy as np
import zfpy

TYPES = {1: "f4", 2: "f8", 7: "i4", 8: "i8"}
SHAPES = [(1,), (5,), (4099,), (9, 6), (67, 131), (1, 70), (17, 18, 19), (40, 3, 5), (9, 10, 6, 7), (5, 5, 2, 9), (3, 9, 8, 7, 6)]
REQUESTS = [f"rate={r}" for r in (0.5, 1, 3.7, 8, 16, 31.25, 40)]
REQUESTS += [f"precision={p}" for p in (1, 2, 11, 24, 40, 64)] + ["lossless"]
BOUNDS = [f"abs={e}" for e in (1e-12, 1e-6, 1e-3, 0.02, 1.0, 1e5)]
# Blocks below this C destroys, and ours keep (docs/reference/codecs/zfp.md).
TINY = {"f4": 2.0**-98, "f8": 2.0**-962}


class Library:
    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.lib.sleek_compress_bound.restype = ctypes.c_size_t
        self.lib.sleek_last_error.restype = ctypes.c_char_p

    def check(self, status):
        if status:
            raise SystemExit(self.lib.sleek_last_error().decode())

    def compress(self, array, request):
        params = ctypes.create_string_buffer(128)
        self.check(self.lib.sleek_params_init(params))
        self.check(self.lib.sleek_params_parse(params, f"{request},codec=zfp".encode()))
        code = next(code for code, name in TYPES.items() if array.dtype == name)
        dims = (ctypes.c_uint64 * array.ndim)(*array.shape)
        struct.pack_into("<i", params, 8, code)
        # dims and rank stand behind threads (tests/abi/layout.txt).
        struct.pack_into("<Qi", params, 64, ctypes.addressof(dims), array.ndim)
        room = self.lib.sleek_compress_bound(params, ctypes.c_size_t(array.size))
        stream, written = ctypes.create_string_buffer(max(room, 1)), ctypes.c_size_t()
        source = array.ctypes.data_as(ctypes.c_void_p)
        self.check(self.lib.sleek_compress(params, source, ctypes.c_size_t(array.size), stream, ctypes.c_size_t(room), ctypes.byref(written), None))
        return stream.raw[: written.value]

    def decompress(self, stream, like):
        back, written = np.empty_like(like), ctypes.c_size_t()
        target = back.ctypes.data_as(ctypes.c_void_p)
        self.check(self.lib.sleek_decompress(stream, ctypes.c_size_t(len(stream)), target, ctypes.c_size_t(back.nbytes), ctypes.byref(written), None))
        return back


def tiles(stream, shape):
    """The parameters of the header, and of each tile its slices, its axes, kind and body (docs/reference/format.md)."""
    assert stream[8] == 3 and stream[11] & 8
    length, _, wide, _, rank, missing = struct.unpack_from("<IBBBBB", stream, 64)
    assert wide == 1 and missing == 0 and rank == len(shape)
    sides = stream[80 + (8 * rank if rank > 1 else 0) :][:rank]
    grid = [-(-n // (1 << s)) for n, s in zip(shape, sides)]
    chunks = int(np.prod(grid))
    entries = 64 + length + 16 * (-(-chunks // 64))
    at = -(-(entries + 4 * chunks) // 16) * 16
    for c, corner in enumerate(itertools.product(*map(range, grid))):
        (entry,) = struct.unpack_from("<I", stream, entries + 4 * c)
        size = 4 * (entry & (1 << 30) - 1)
        box = tuple(slice(i << s, min(n, (i + 1) << s)) for i, s, n in zip(corner, sides, shape))
        yield box, [k for k, s in enumerate(sides) if s], entry >> 30, stream[at : at + size]
        at += size
    assert at == len(stream)


def arguments(parameters, dims):
    """zfpy's words for the four bytes of a header or a body."""
    kind, _, value = struct.unpack("<BBH", parameters)
    if kind == 0:
        return {}
    if kind == 1:
        return {"rate": value / 4**dims}
    if kind == 2:
        return {"precision": value}
    return {"tolerance": 2.0 ** struct.unpack("<h", parameters[2:])[0]}


def magnitudes(tile):
    """The largest magnitude of each block."""
    padded = np.pad(np.abs(tile), [(0, -n % 4) for n in tile.shape])
    split = padded.reshape([m for n in padded.shape for m in (n // 4, 4)])
    return split.max(axis=tuple(range(1, split.ndim, 2)))


class Count:
    equal = tiny = own = raw = constant = 0


def compare(library, array, request, count):
    stream = library.compress(array, request)
    back = library.decompress(stream, array)
    for box, axes, kind, body in tiles(stream, array.shape):
        shape = [box[k].stop - box[k].start for k in axes]
        tile = np.ascontiguousarray(array[box].reshape(shape))
        restored = back[box].reshape(shape)
        if kind != 0:
            assert np.array_equal(tile, restored, equal_nan=True), "raw and constant tiles are exact"
            count.raw += kind == 1
            count.constant += kind == 2
            continue
        own = len(body) % 8 == 4
        count.own += own
        parameters, body = (body[:4], body[4:]) if own else (stream[12:16], body)
        how = arguments(parameters, len(axes))
        theirs = zfpy.compress_numpy(tile, write_header=False, **how)
        decoded = zfpy._decompress(body, zfpy.dtype_to_ztype(tile.dtype), shape, **how)
        where = f"{request} of {tile.dtype} {array.shape}, tile {box}"
        assert decoded.tobytes() == restored.tobytes(), f"{where}: zfpy restores something else"
        if theirs == body:
            count.equal += 1
            continue
        least = TINY.get(tile.dtype.str[1:], 0)
        largest = magnitudes(tile)
        assert ((largest > 0) & (largest < least)).any(), f"{where}: the streams differ"
        lost = zfpy._decompress(theirs, zfpy.dtype_to_ztype(tile.dtype), shape, **how)
        error = lambda r: np.abs(r.astype("f8") - tile.astype("f8")).max()
        assert error(restored) <= error(lost), f"{where}: C is closer"
        count.tiny += 1


def fields(shape, dtype, random):
    """Smooth ones, noise, whole numbers, and ones of very different magnitude."""
    n = int(np.prod(shape))
    wave = np.sin(np.arange(n) * 0.013) * 300 + np.cumsum(random.standard_normal(n)) * 0.3
    yield wave
    yield random.standard_normal(n) * 1e4
    yield np.round(wave)
    if dtype[0] == "f":
        yield wave * 2.0 ** random.integers(-90, 90, n)
        yield wave * float(TINY[dtype]) * 2.0**-14
    else:
        yield random.integers(-(2**29), 2**29, n)


def made(library, count):
    random = np.random.default_rng(20)
    for dtype, shape in itertools.product(TYPES.values(), SHAPES):
        for field in fields(shape, dtype, random):
            array = field.astype(dtype).reshape(shape)
            for request in REQUESTS + (BOUNDS if dtype[0] == "f" else []):
                if dtype[0] == "i" and request.startswith("rate=0"):
                    continue
                compare(library, array, request, count)


def measured(library, folder, count):
    for path in sorted(folder.glob("*.f[36][24]")):
        shape = [int(n) for n in path.stem.rsplit("_", 1)[-1].split("x")]
        dtype = "f4" if path.suffix == ".f32" else "f8"
        array = np.fromfile(path, dtype)
        if array.size != np.prod(shape):
            continue
        # A part of each, with odd lengths.
        array = np.ascontiguousarray(array.reshape(shape)[tuple(slice(0, 61 if len(shape) > 1 else 9001) for _ in shape)])
        spread = float(np.nanmax(array) - np.nanmin(array))
        for request in ["lossless", "rate=6", "precision=17", f"abs={spread * 1e-3 or 1}", f"abs={spread * 1e-6 or 1}"]:
            compare(library, array, request, count)


count = Count()
library = Library(sys.argv[1])
made(library, count)
if len(sys.argv) > 2:
    measured(library, pathlib.Path(sys.argv[2]), count)
print(
    f"zfpy {zfpy.__version__}: {count.equal} tiles are the same bytes, {count.own} of them and of others with parameters of "
    f"their own; {count.tiny} have blocks that C destroys; {count.raw} raw, {count.constant} constant"
)
assert count.equal >= 2000 and count.tiny > 0 and count.own > 0
