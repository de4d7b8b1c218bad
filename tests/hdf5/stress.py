"""Everything at once in one process: threads that write and read through HDF5, threads that call libsleek past it, children forked.

    python stress.py LIBSLEEK      the same file that HDF5 loads as its plugin, hence the same pool
"""

import ctypes
import os
import struct
import sys
import threading

import h5py
import numpy as np

from scenarios import ABS, SLEEK, opts

COUNT, BOUND, ROUNDS, FORKS = 1 << 18, 1e-3, 12, 10
FIELD = (np.arange(COUNT) % 1009 * 0.1003).astype("f4")
LIBRARY = ctypes.CDLL(sys.argv[1])
SIZE = ctypes.c_size_t
done, failed, calls = threading.Event(), [], 0


def kept(back):
    assert np.abs(FIELD.astype("f8") - back).max() <= BOUND


def writer(n):
    for _ in range(ROUNDS):
        with h5py.File(f"{n}.h5", "w") as f:
            f.create_dataset("t", data=FIELD, chunks=(COUNT // 8,), compression=SLEEK, compression_opts=opts(ABS, BOUND))
        with h5py.File(f"{n}.h5") as f:
            kept(f["t"][:])


def past_hdf5(threads):
    params, n, back = ctypes.create_string_buffer(128), SIZE(), np.empty_like(FIELD)
    assert LIBRARY.sleek_params_init(params) == 0 and LIBRARY.sleek_params_parse(params, b"abs=1e-3") == 0
    struct.pack_into("<i", params, 8, 1)  # f32: tests/abi/layout.txt
    struct.pack_into("<i", params, 60, threads)
    stream = ctypes.create_string_buffer(2 * FIELD.nbytes)
    source, target = (ctypes.c_void_p(array.ctypes.data) for array in (FIELD, back))
    assert LIBRARY.sleek_compress(params, source, SIZE(COUNT), stream, SIZE(len(stream)), ctypes.byref(n), None) == 0
    assert LIBRARY.sleek_decompress(stream, n, target, SIZE(back.nbytes), ctypes.byref(n), None) == 0
    kept(back)


def caller(n):
    global calls
    while not done.is_set():
        past_hdf5(1 + calls % 4)
        calls += 1


def guarded(work, n):
    try:
        work(n)
    except BaseException as error:
        failed.append(error)


writers = [threading.Thread(target=guarded, args=(writer, n)) for n in range(6)]
callers = [threading.Thread(target=guarded, args=(caller, n)) for n in range(2)]
for thread in writers + callers:
    thread.start()
for i in range(FORKS):
    # A child may not use HDF5, whose lock another thread of the parent may have held; libsleek it may.
    child = os.fork()
    if child == 0:
        try:
            past_hdf5(1 + i % 3)
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
for thread in writers:
    thread.join()
done.set()
for thread in callers:
    thread.join()
assert not failed, failed
print(f"{calls} calls past HDF5: kept")
