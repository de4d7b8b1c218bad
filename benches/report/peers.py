"""The compressors that are compared. Each takes a whole field, has one thread, and says itself how long it worked, so that what
Python does around it costs nothing: `compress(values)` gives seconds and a stream, `decompress(stream, like)`
seconds and the values."""

import ctypes
import math
import os
import time
import zlib

os.environ["SLEEK_NUM_THREADS"] = "1"

import fpzip
import h5py
import hdf5plugin
import numpy as np
import pcodec
import sleek
import zstandard
from pcodec import ChunkConfig, standalone
from pysz import sz, szAlgorithm, szConfig, szErrorBoundMode

LOSSLESS = 0.0
PROFILES = ("small", "adaptive", "fast")


def timed(work, *arguments, **named):
    start = time.perf_counter()
    result = work(*arguments, **named)
    return time.perf_counter() - start, result


class Sleek:
    """A profile of the library. It is told the fill value, as users are advised to."""

    def __init__(self, profile):
        self.profile = profile

    def prepare(self, field, bound):
        asked = {"lossless": True} if bound == LOSSLESS else {"abs": bound}
        self.request = {**asked, "profile": self.profile, "fill": field.fill, "threads": 1}
        self.room = np.zeros(sleek.compress_bound(field.data, **{k: self.request[k] for k in (*asked, "profile")}), "u1")

    def compress(self, values):
        return timed(sleek.compress, values, **self.request, out=self.room)

    def decompress(self, stream, target):
        return timed(sleek.decompress, stream, out=target)


class SZ3:
    """The newest SZ3, of the package pysz."""

    def prepare(self, field, bound):
        self.config = szConfig(field.data.shape)
        self.config.errorBoundMode, self.config.absErrorBound = szErrorBoundMode.ABS, bound
        self.config.cmprAlgo = szAlgorithm.INTERP_LORENZO

    def compress(self, values):
        seconds, found = timed(sz.compress, values, self.config)
        return seconds, found[0].tobytes()

    def decompress(self, stream, target):
        seconds, found = timed(sz.decompress, np.frombuffer(stream, "u1"), target.dtype, target.shape)
        return seconds, found[0]


CALLBACK = ctypes.CFUNCTYPE(
    ctypes.c_size_t,
    ctypes.c_uint,
    ctypes.c_size_t,
    ctypes.POINTER(ctypes.c_uint),
    ctypes.c_size_t,
    ctypes.POINTER(ctypes.c_size_t),
    ctypes.POINTER(ctypes.c_void_p),
)


class FilterClass(ctypes.Structure):
    """H5Z_class2_t."""

    _fields_ = [
        ("version", ctypes.c_int),
        ("id", ctypes.c_int),
        ("encoder_present", ctypes.c_uint),
        ("decoder_present", ctypes.c_uint),
        ("name", ctypes.c_char_p),
        ("can_apply", ctypes.c_void_p),
        ("set_local", ctypes.c_void_p),
        ("filter", CALLBACK),
    ]


REVERSE = 0x0100

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]


class Filter:
    """A filter of hdf5plugin. Its call-back is called as HDF5 calls it: on a malloc'ed chunk, which it replaces."""

    def __init__(self, library, bounded=None, lossless=None):
        self.library, self.bounded, self.lossless = library, bounded, lossless

    def options(self, bound):
        return dict(self.lossless() if bound == LOSSLESS else self.bounded(bound))

    def prepare(self, field, bound):
        data = field.data
        with h5py.File("values", "w", driver="core", backing_store=False) as f:
            made = f.create_dataset("x", shape=data.shape, dtype=data.dtype, chunks=data.shape, **self.options(bound))
            values = made.id.get_create_plist().get_filter(0)[2]
        info = ctypes.CDLL(hdf5plugin.get_config().registered_filters[self.library]).H5PLget_plugin_info
        info.restype = ctypes.POINTER(FilterClass)
        self.call = info().contents.filter
        self.values, self.count = (ctypes.c_uint * max(1, len(values)))(*values), len(values)

    def run(self, flags, address, size):
        """Seconds, and what came out of a copy of these bytes."""
        room, buffer = ctypes.c_size_t(size), ctypes.c_void_p(libc.malloc(size))
        ctypes.memmove(buffer.value, address, size)
        seconds, used = timed(self.call, flags, self.count, self.values, size, ctypes.byref(room), ctypes.byref(buffer))
        if used == 0:
            raise RuntimeError("the filter failed")
        found = ctypes.string_at(buffer.value, used)
        libc.free(buffer.value)
        return seconds, found

    def compress(self, values):
        return self.run(0, values.ctypes.data, values.nbytes)

    def decompress(self, stream, target):
        seconds, found = self.run(REVERSE, stream, len(stream))
        return seconds, np.frombuffer(found, target.dtype).reshape(target.shape)


class Shuffled:
    """A compressor of bytes behind a shuffle."""

    def __init__(self, compress, decompress):
        self.there, self.back = compress, decompress

    def prepare(self, field, bound):
        pass

    def compress(self, values):
        return timed(lambda: self.there(np.ascontiguousarray(values.reshape(-1).view("u1").reshape(-1, values.itemsize).T).data))

    def decompress(self, stream, target):
        def work():
            planes = np.frombuffer(self.back(stream), "u1").reshape(target.itemsize, -1)
            return np.ascontiguousarray(planes.T).view(target.dtype).reshape(target.shape)

        return timed(work)


class Rounded(Shuffled):
    """Bits rounded to the bound, as by nccopy, NCO and xbitinfo, then shuffle and zstd: as few bits of the mantissa as keep it."""

    def prepare(self, field, bound):
        self.bits, mantissa = {4: ("u4", 23), 8: ("u8", 52)}[field.data.itemsize]
        largest = np.abs(field.data[field.counted]).max()
        exponent = math.frexp(float(largest))[1] - 1
        self.fill = None if field.fill is None else field.data.dtype.type(field.fill)
        # A value below 2^(exponent+1) with k bits is off by at most 2^(exponent-k-1); rounding may carry into the next exponent.
        kept = min(mantissa, max(0, math.ceil(exponent - 1 - math.log2(bound))))
        self.dropped = mantissa - kept

    def compress(self, values):
        return timed(lambda: super(Rounded, self).compress(self.rounded(values))[1])

    def rounded(self, values):
        if self.dropped == 0:
            return values
        bits = values.view(self.bits)
        half = bits.dtype.type((1 << (self.dropped - 1)) - 1)
        up = (bits >> bits.dtype.type(self.dropped)) & bits.dtype.type(1)
        kept = (bits + half + up) & ~bits.dtype.type((1 << self.dropped) - 1)
        exact = ~np.isfinite(values) | (values == self.fill) if self.fill is not None else ~np.isfinite(values)
        return np.where(exact, bits, kept).view(values.dtype)


class Pcodec:
    def __init__(self, level):
        self.level = level

    def prepare(self, field, bound):
        pass

    def compress(self, values):
        return timed(standalone.simple_compress, values.reshape(-1), ChunkConfig(compression_level=self.level))

    def decompress(self, stream, target):
        seconds, found = timed(standalone.simple_decompress, stream)
        return seconds, found.reshape(target.shape)


class Fpzip:
    def prepare(self, field, bound):
        pass

    def compress(self, values):
        return timed(fpzip.compress, values)

    def decompress(self, stream, target):
        seconds, found = timed(fpzip.decompress, stream)
        return seconds, found.reshape(target.shape)


def zstd(level):
    return lambda raw: zstandard.ZstdCompressor(level=level).compress(raw)


h = hdf5plugin
OURS = {profile: Sleek(profile) for profile in PROFILES}
BOUNDED = {
    **OURS,
    "SZ3": SZ3(),
    "SZ3 of hdf5plugin": Filter("sz3", lambda e: h.SZ3(absolute=e)),
    "SZ2": Filter("sz", lambda e: h.SZ(absolute=e)),
    "ZFP": Filter("zfp", lambda e: h.Zfp(accuracy=e)),
    # Without `swap` it takes the slowest dimension for the fastest one, and files are twice as large.
    "SPERR": Filter("sperr", lambda e: h.Sperr(absolute=e, swap=True)),
    "bit rounding + zstd": Rounded(zstd(3), zstandard.decompress),
}
WITHOUT_BOUND = {
    **OURS,
    "pcodec 8": Pcodec(8),
    "pcodec 12": Pcodec(12),
    "zstd -3 + shuffle": Shuffled(zstd(3), zstandard.decompress),
    "zstd -19 + shuffle": Shuffled(zstd(19), zstandard.decompress),
    "gzip -4 + shuffle": Shuffled(lambda raw: zlib.compress(raw, 4), zlib.decompress),
    "Blosc2 zstd": Filter("blosc2", None, lambda: h.Blosc2("zstd", 5, h.Blosc2.SHUFFLE)),
    "Blosc2 lz4": Filter("blosc2", None, lambda: h.Blosc2("lz4", 5, h.Blosc2.SHUFFLE)),
    "bitshuffle lz4": Filter("bshuf", None, lambda: h.Bitshuffle(cname="lz4")),
    "fpzip": Fpzip(),
    "ZFP": Filter("zfp", None, lambda: h.Zfp(reversible=True)),
}


def of_bound(bound):
    return WITHOUT_BOUND if bound == LOSSLESS else BOUNDED


def versions():
    """Of everything that has a say in the figures."""
    from importlib.metadata import version

    names = ("sleek-compress", "pysz", "hdf5plugin", "pcodec", "zstandard", "fpzip", "numpy")
    return ", ".join(f"{name} {version(name)}" for name in names)
