"""sleek_h5d_write and sleek_h5d_read with the HDF5 inside h5py, called through ctypes: chunks are those of the filter.

    python direct.py LIBSLEEK
"""
import ctypes
import sys

import h5py
import numpy as np


class Info(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t), ("route", ctypes.c_int32), ("staged", ctypes.c_int32),
        ("chunks", ctypes.c_uint64), ("raw_bytes", ctypes.c_uint64), ("stored_bytes", ctypes.c_uint64),
        ("reserved", ctypes.c_uint64 * 3), ("reason", ctypes.c_char * 192),
    ]


lib = ctypes.CDLL(sys.argv[1])
lib.sleek_last_error.restype = ctypes.c_char_p
for f in (lib.sleek_h5d_write, lib.sleek_h5d_read):
    dims = ctypes.POINTER(ctypes.c_uint64)
    f.argtypes = [ctypes.c_int64, ctypes.c_int64, dims, dims, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(Info)]
ORDINARY, THREADS = 1, 2


def transfer(function, dataset, array, start=None, count=None):
    dims = lambda d: None if d is None else (ctypes.c_uint64 * len(d))(*d)
    info = Info(struct_size=ctypes.sizeof(Info))
    kind = h5py.h5t.py_create(array.dtype)
    status = function(dataset.id.id, kind.id, dims(start), dims(count), 0, array.ctypes.data, None, ctypes.byref(info))
    assert status == 0, lib.sleek_last_error()
    return info


def chunks(dataset):
    found = [dataset.id.get_chunk_info(i) for i in range(dataset.id.get_num_chunks())]
    return {c.chunk_offset: dataset.id.read_direct_chunk(c.chunk_offset) for c in found}


random = np.random.default_rng(5)
words = {"lossless": (1, 0), "abs": (1, 1, 3539053052, 1062232653, 2048)}
with h5py.File("direct.h5", "w", libver="latest") as f:
    cases = [((1000,), (64,)), ((50, 70), (16, 32)), ((9, 20, 30), (4, 20, 30)), ((3, 4, 5, 6, 7), (2, 3, 2, 6, 7))]
    for n, (shape, chunk) in enumerate(cases):
        for dtype in ("<f4", ">f8", "<i2"):
            mode = "abs" if "f" in dtype else "lossless"
            data = (100 + 20 * np.sin(np.arange(np.prod(shape)) * 0.01) + random.random(np.prod(shape))).reshape(shape)
            data = data.astype(np.dtype(dtype).newbyteorder("<"))
            options = dict(dtype=dtype, chunks=chunk, compression=47474, compression_opts=words[mode], maxshape=(None,) * len(shape))
            a, b = (f.create_dataset(f"{side}{n}{dtype}", shape, **options) for side in "ab")
            a[...] = data
            info = transfer(lib.sleek_h5d_write, b, data)
            assert info.route == THREADS, info.reason
            f.flush()
            assert chunks(a) == chunks(b) and len(chunks(b)) == info.chunks
            back = np.full_like(data, 77)
            assert transfer(lib.sleek_h5d_read, a, back).route == THREADS
            assert np.array_equal(back, b[...])
            # Dimensions that grow leave chunks that were never written.
            b.resize((shape[0] + 2 * chunk[0],) + shape[1:])
            back = np.full(b.shape, 77, data.dtype)
            assert transfer(lib.sleek_h5d_read, b, back).route == THREADS
            assert np.array_equal(back, b[...])
            info = transfer(lib.sleek_h5d_write, b, np.ascontiguousarray(data[:1]), (1,) + (0,) * (len(shape) - 1), (1,) + shape[1:])
            assert info.route == ORDINARY and b"cuts chunks" in info.reason, info.reason
    # Of an extensible array whose unlimited dimension is not the first HDF5 lists chunks at wrong places.
    for shape, chunk, limits in ((50, 70), (16, 32), (50, None)), ((9, 20, 30), (4, 7, 8), (9, None, 40)):
        data = random.normal(size=shape).astype("f4")
        options = dict(dtype="f4", chunks=chunk, compression=47474, compression_opts=words["abs"], maxshape=limits, fillvalue=5)
        a, b = (f.create_dataset(f"{side}{limits}", shape, **options) for side in "ab")
        for written in (slice(0, 0),), (slice(chunk[0], None), slice(0, 1)), (...,):
            a[written] = b[written] = data[written]
            back = np.full_like(data, 77)
            assert transfer(lib.sleek_h5d_read, a, back).route == THREADS
            assert np.array_equal(back, a[...])
        info = transfer(lib.sleek_h5d_write, b, data)
        assert info.route == THREADS and np.array_equal(a[...], b[...])
    # Complex numbers go the same way, by their parts.
    for dtype in ("<c8", ">c16"):
        data = (random.random((50, 70)) + 1j * random.random((50, 70))).astype(dtype)
        options = dict(dtype=dtype, chunks=(16, 32), compression=47474, compression_opts=words["abs"], fillvalue=9e9 + 1j)
        a, b = (f.create_dataset(f"{side}{dtype}", data.shape, **options) for side in "ab")
        a[...] = data
        info = transfer(lib.sleek_h5d_write, b, data)
        assert info.route == THREADS, info.reason
        f.flush()
        assert chunks(a) == chunks(b) and len(chunks(b)) == info.chunks
        back = np.zeros_like(data)
        assert transfer(lib.sleek_h5d_read, a, back).route == THREADS
        error = np.abs((back - data).view(f"{dtype[0]}f{data.itemsize // 2}")).max()
        assert np.array_equal(back, b[...]) and error > 0, error
# Where the index is damaged no chunk counts as one that was never written.
with h5py.File("damaged.h5", "w", libver=("v110", "v110")) as f:
    options = dict(chunks=(2, 2), compression=47474, compression_opts=words["abs"], maxshape=(40, None))
    f.create_dataset("x", data=random.normal(size=(40, 400)).astype("f4"), **options)
with open("damaged.h5", "r+b") as f:
    bytes_ = f.read()
    f.seek(bytes_.rindex(b"EADB") + 20)
    f.write(bytes([bytes_[f.tell()] ^ 255]))
with h5py.File("damaged.h5") as f:
    kind, back = h5py.h5t.py_create(np.dtype("f4")), np.full((40, 400), 77, "f4")
    assert lib.sleek_h5d_read(f["x"].id.id, kind.id, None, None, 0, back.ctypes.data, None, None) != 0
print("passed with HDF5", h5py.version.hdf5_version)
