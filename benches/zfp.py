"""Codec zfp on one core against the C library: zfp.py LIBSLEEK DATA.

Needs numpy and zfpy 1.0.1. Megabytes of the array a second, the best of seven times, taken in turn; the C library makes
one stream of the whole array, ours one for each tile, checks bounds, and adds checksums and an index.
"""

import ctypes
import pathlib
import struct
import sys
import time

import numpy as np
import zfpy

ROUNDS = 7
FIELDS = [("cth_pressure_64x64x128.f32", "f4"), ("ccsm_trefht_110x64x128.f32", "f4"), ("pic3d_ez_26x26x201.f64", "f8"), ("mitgcm_ocean_pickup_138x40x90.f64", "f8")]
TYPES = {"f4": 1, "f8": 2}


def best(*actions):
    """The shortest time of each, all of them in turn."""
    times = [[] for _ in actions]
    for _ in range(ROUNDS):
        for each, action in zip(times, actions):
            start = time.perf_counter()
            action()
            each.append(time.perf_counter() - start)
    return [min(each) for each in times]


lib = ctypes.CDLL(sys.argv[1])
means = {}
lib.sleek_compress_bound.restype = ctypes.c_size_t
print(f"{'field':32} {'request':14} {'ratio':>13} {'compress MB/s':>22} {'decompress MB/s':>22}   ours | C, ours / C")
for name, dtype in FIELDS:
    shape = [int(n) for n in name.split(".")[0].rsplit("_", 1)[-1].split("x")]
    array = np.tile(np.fromfile(pathlib.Path(sys.argv[2]) / name, dtype).reshape(shape), (4, 1, 1))
    spread = float(array.max() - array.min())
    for request, how in [("rate=8", {"rate": 8}), ("rate=16", {"rate": 16}), ("precision=20", {"precision": 20}),
                         (f"abs={spread * 1e-3}", {"tolerance": spread * 1e-3}), ("lossless", {})]:
        params = ctypes.create_string_buffer(128)
        lib.sleek_params_init(params)
        assert lib.sleek_params_parse(params, f"{request},codec=zfp".encode()) == 0
        dims = (ctypes.c_uint64 * 3)(*array.shape)
        struct.pack_into("<i", params, 8, TYPES[dtype])
        struct.pack_into("<i", params, 60, 1)
        struct.pack_into("<Qi", params, 64, ctypes.addressof(dims), 3)
        room = lib.sleek_compress_bound(params, ctypes.c_size_t(array.size))
        stream, n, back = np.zeros(room, "u1"), ctypes.c_size_t(), np.empty_like(array)
        at = lambda a: a.ctypes.data_as(ctypes.c_void_p)
        compress = lambda: lib.sleek_compress(params, at(array), ctypes.c_size_t(array.size), at(stream), ctypes.c_size_t(room), ctypes.byref(n), None)
        assert compress() == 0
        used = ctypes.c_size_t(n.value)
        decompress = lambda: lib.sleek_decompress(at(stream), used, at(back), ctypes.c_size_t(back.nbytes), ctypes.byref(n), None)
        assert decompress() == 0
        theirs = zfpy.compress_numpy(array, **how)
        ours_in, c_in, ours_out, c_out = best(compress, lambda: zfpy.compress_numpy(array, **how), decompress, lambda: zfpy.decompress_numpy(theirs))
        rate = lambda t: array.nbytes / t / 1e6
        label = "abs 1e-3" if request.startswith("abs") else request
        means.setdefault(label, []).append((c_in / ours_in, c_out / ours_out))
        print(f"{name:32} {request[:14]:14} {array.nbytes / used.value:6.2f}|{array.nbytes / len(theirs):6.2f}"
              f" {rate(ours_in):7.0f}|{rate(c_in):6.0f} {c_in / ours_in:6.2f} {rate(ours_out):7.0f}|{rate(c_out):6.0f} {c_out / ours_out:6.2f}")
print("\ngeometric means, ours / C")
for request, rows in means.items():
    there, back = np.exp(np.log(rows).mean(axis=0))
    print(f"{request:16} {there:6.2f} {back:6.2f}")
there, back = np.exp(np.log([row for rows in means.values() for row in rows]).mean(axis=0))
print(f"{'all':16} {there:6.2f} {back:6.2f}")
