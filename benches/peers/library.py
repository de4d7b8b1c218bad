"""`sleek_compress` and `sleek_decompress` of libsleek.so on whole arrays."""

import ctypes
import os
import time

import numpy as np

from filters import LOSSLESS

PROFILES = {"adaptive": 0, "fast": 1}
DTYPES = {4: 1, 8: 2}  # SLEEK_F32, SLEEK_F64 by their bytes
ABS = 1  # SLEEK_ABS


class Params(ctypes.Structure):
    """The first fields of `sleek_params`; `struct_size`, set by sleek_params_init, says how long it is."""

    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("dtype", ctypes.c_int32),
        ("mode", ctypes.c_int32),
        ("codec", ctypes.c_int32),
        ("profile", ctypes.c_int32),
        ("bound", ctypes.c_double),
        ("rest", ctypes.c_uint8 * 480),
    ]


def checked(library, status):
    if status != 0:
        library.sleek_last_error.restype = ctypes.c_char_p
        raise RuntimeError(library.sleek_last_error().decode())


def speed(path, data, profile, bound, threads, runs=3):
    """Compress, then decompress: multiple of one core's memcpy, GB/s; in wall time. To be run in a child of its own."""
    os.environ["SLEEK_NUM_THREADS"] = str(threads)
    library = ctypes.CDLL(path)
    params = Params()
    checked(library, library.sleek_params_init(ctypes.byref(params)))
    params.dtype, params.profile = DTYPES[data.itemsize], PROFILES[profile]
    if bound != LOSSLESS:
        params.mode, params.bound = ABS, bound
    library.sleek_compress_bound.restype = ctypes.c_size_t
    stream = np.ones(library.sleek_compress_bound(ctypes.byref(params), ctypes.c_size_t(data.size)), np.uint8)
    back = np.ones_like(data)
    used = ctypes.c_size_t()
    size = ctypes.c_size_t

    def compress():
        source, target = ctypes.c_void_p(data.ctypes.data), ctypes.c_void_p(stream.ctypes.data)
        call = library.sleek_compress
        checked(library, call(ctypes.byref(params), source, size(data.size), target, size(stream.nbytes), ctypes.byref(used), None))

    def decompress():
        source, target = ctypes.c_void_p(stream.ctypes.data), ctypes.c_void_p(back.ctypes.data)
        checked(library, library.sleek_decompress(source, used, target, size(back.nbytes), None, None))

    def seconds(work):
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    target = np.ones_like(data)
    compress()
    decompress()
    taken = np.array([[seconds(w) for w in (lambda: np.copyto(target, data), compress, decompress)] for _ in range(runs)])
    copy, there, again = np.median(taken, axis=0)
    return copy / there, data.nbytes / there / 1e9, copy / again, data.nbytes / again / 1e9
