"""The codecs that are compared, all as HDF5 filters, and a way to call a filter without HDF5."""

import ctypes
import os
import re
import subprocess
import time

import h5py
import hdf5plugin
import numpy as np

from report import LOSSLESS


class Sleek:
    """SLEEK in one of its profiles."""

    bounded = lossless = True

    def __init__(self, command, library, profile):
        self.name = f"SLEEK {profile}"
        self.folder = os.path.dirname(library)
        self.command, self.library, self.profile = command, library, profile
        self.options_of = {}

    def options(self, bound):
        """Arguments of h5py's create_dataset, from what the command prints."""
        if bound not in self.options_of:
            how = ["--lossless"] if bound == LOSSLESS else ["--abs", repr(bound)]
            words = [self.command, "h5args", *how, "--profile", self.profile]
            text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
            numbers = [int(n) for n in re.search(r"UD=([0-9,]+)", text)[1].split(",")]
            self.options_of[bound] = dict(compression=numbers[0], compression_opts=tuple(numbers[3:]))
        return self.options_of[bound]


class Peer:
    """A filter of hdf5plugin: `bounded(abs)` and `lossless()` give create_dataset's arguments, or are None."""

    def __init__(self, name, library, bounded=None, lossless=None):
        self.name = name
        self.library = hdf5plugin.get_config().registered_filters[library]
        self.folder = os.path.dirname(self.library)
        self.bounded, self.lossless = bounded, lossless

    def options(self, bound):
        return dict(self.lossless() if bound == LOSSLESS else self.bounded(bound))


def peers():
    """Every peer; each runs in a forked child of its own, since some die on some inputs."""
    h = hdf5plugin
    return [
        Peer("ZFP", "zfp", lambda e: h.Zfp(accuracy=e), lambda: h.Zfp(reversible=True)),
        Peer("SZ3", "sz3", lambda e: h.SZ3(absolute=e)),
        Peer("SZ", "sz", lambda e: h.SZ(absolute=e)),
        Peer("SPERR", "sperr", lambda e: h.Sperr(absolute=e)),
        Peer("Blosc2 lz4 shuffle", "blosc2", None, lambda: h.Blosc2("lz4", 5, h.Blosc2.SHUFFLE)),
        Peer("Blosc2 zstd shuffle", "blosc2", None, lambda: h.Blosc2("zstd", 1, h.Blosc2.SHUFFLE)),
        Peer("Blosc2 zstd bitshuffle", "blosc2", None, lambda: h.Blosc2("zstd", 1, h.Blosc2.BITSHUFFLE)),
        Peer("Bitshuffle lz4", "bshuf", None, lambda: h.Bitshuffle(cname="lz4")),
    ]


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


class Direct:
    """A filter's call-back, called as HDF5 calls it: on a malloc'ed chunk, which it replaces."""

    def __init__(self, library, values):
        info = ctypes.CDLL(library).H5PLget_plugin_info
        info.restype = ctypes.POINTER(FilterClass)
        self.filter = info().contents.filter
        self.values = (ctypes.c_uint * max(1, len(values)))(*values)
        self.count = len(values)

    def call(self, flags, address, size):
        """Seconds of CPU time, the new buffer and its bytes."""
        room, buffer = ctypes.c_size_t(size), ctypes.c_void_p(address)
        start = time.process_time()
        used = self.filter(flags, self.count, self.values, size, ctypes.byref(room), ctypes.byref(buffer))
        seconds = time.process_time() - start
        if used == 0:
            raise RuntimeError("the filter failed")
        return seconds, buffer.value, used

    def round_trip(self, chunk):
        """Seconds to compress and to restore one chunk."""
        address = libc.malloc(chunk.nbytes)
        ctypes.memmove(address, chunk.ctypes.data, chunk.nbytes)
        there, address, used = self.call(0, address, chunk.nbytes)
        again, address, used = self.call(REVERSE, address, used)
        libc.free(address)
        if used != chunk.nbytes:
            raise RuntimeError(f"{used} bytes came back, not {chunk.nbytes}")
        return there, again


def direct(codec, chunk, bound):
    """The call-back of `codec` with the values that HDF5 would store for datasets with such chunks."""
    with h5py.File("values", "w", driver="core", backing_store=False) as f:
        dataset = f.create_dataset("x", shape=chunk.shape, dtype=chunk.dtype, chunks=chunk.shape, **codec.options(bound))
        values = dataset.id.get_create_plist().get_filter(0)[2]
    return Direct(codec.library, values)


def memcpy_seconds(size=64 << 20, runs=3):
    """CPU seconds per byte of a plain copy, warm."""
    source = np.ones(size, np.uint8)
    target = np.zeros_like(source)
    taken = []
    for _ in range(runs + 1):
        start = time.process_time()
        np.copyto(target, source)
        taken.append(time.process_time() - start)
    return sorted(taken[1:])[runs // 2] / size
