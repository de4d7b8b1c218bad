"""Datasets of h5py from and to arrays where they lie: chunks are compressed on the GPU, or by all threads, and handed to HDF5 finished."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from . import _stream
from ._library import DirectInfo, check, lib
from ._params import computed, is_bytes, numpy_dtype
from ._place import Place, of_gpu, of_host, of_output, on_gpu

ROUTES = ("nothing", "ordinary", "threads", "gpu")


@dataclass(frozen=True)
class Transfer:
    """What `write` or `read` did."""

    route: str
    """``"gpu"``, ``"threads"``, ``"ordinary"``, that is, by HDF5's own pipeline, or ``"nothing"``"""
    reason: str
    """Why that way."""
    staged: bool
    """Whether GPU memory was copied to or from the host uncompressed."""
    chunks: int
    """Chunks of the dataset; 0 on the ordinary route."""
    raw_bytes: int
    """Bytes of the array."""
    stored_bytes: int
    """Bytes of its chunks in the file; 0 on the ordinary route."""


def write(dataset: Any, array: Any, *, start: tuple[int, ...] | None = None, cuda_stream: Any = None) -> Transfer:
    """Writes an array in host or GPU memory to a dataset of h5py, or to the box of the array's shape that begins at `start`.

    With the filter's chunks it compresses where the data is, on the GPU or by all threads, and copies compressed bytes only; the
    file is the one that ``dataset[...] = array`` makes, but that undeclared missing values are not searched for. Where that cannot be
    (docs/guide/gpu.md) HDF5 does it, and `reason` says why.

    >>> import h5py, numpy as np, sleek, tempfile
    >>> with h5py.File(tempfile.TemporaryFile(), "w") as f:
    ...     dataset = f.create_dataset("x", (4, 500), "f4", chunks=(2, 500), **sleek.h5(abs=1e-3))
    ...     done = sleek.write(dataset, np.zeros((4, 500), "f4"))
    ...     done.route, done.chunks
    ('threads', 2)
    """
    stream = _stream.handle(cuda_stream)
    array = computed(array)
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        raise TypeError("the array has masked values, and a dataset no mask: write array.filled(x), where x is what the dataset declares missing")
    place = of_gpu(array, stream) if on_gpu(array) else of_host(np.asarray(array, order="C"))
    _refuse_bytes(place, dataset, ("bool",))
    return _transfer(lib.sleek_h5d_write, dataset, array, place, start, stream)


def read(
    dataset: Any,
    *,
    out: Any = None,
    start: tuple[int, ...] | None = None,
    stride: int = 1,
    above: float | None = None,
    below: float | None = None,
    cuda_stream: Any = None,
) -> Any:
    """Reads a dataset of h5py, or the box of the shape of `out` that begins at `start`, into `out`, an array in host or GPU memory.

    `write` the other way round: compressed bytes are copied to where `out` is, and restored there.

    With `stride`, a power of two, in the place of `out`, an array of every so many-th element along the last three dimensions. With
    `above`, `below` or both the indices of the values that are so, as ``np.nonzero`` gives them. Both go chunk by chunk, as the chunks
    are stored, and hold no more of the dataset. Missing values are passed over, if they are named or declared.

    >>> import h5py, numpy as np, sleek, tempfile
    >>> with h5py.File(tempfile.TemporaryFile(), "w") as f:
    ...     dataset = f.create_dataset("x", data=np.arange(1000.0), chunks=(300,), **sleek.h5(abs=1e-3))
    ...     sleek.read(dataset, stride=256).round(), sleek.read(dataset, above=997.5)
    (array([  0., 256., 512., 768.]), (array([998, 999]),))
    """
    if stride != 1 or above is not None or below is not None:
        if out is not None or start is not None:
            raise TypeError("stride, above and below give a new array of the whole dataset: they go with neither out nor start")
        if stride != 1 and (above is not None or below is not None):
            raise TypeError("stride gives values, above and below give indices: one of them")
        from ._looks import strided, which

        return strided(dataset, stride) if stride != 1 else which(dataset, above, below)
    if out is None:
        raise TypeError("out, stride, above or below is needed")
    stream = _stream.handle(cuda_stream)
    place = of_output(out, stream)
    _refuse_bytes(place, dataset)
    return _transfer(lib.sleek_h5d_read, dataset, out, place, start, stream)


def _refuse_bytes(place: Place, dataset: Any, numbers: tuple[str, ...] = ()) -> None:
    """Raises where HDF5 would take elements that go as bytes for numbers, which truth values are where they are written."""
    if is_bytes(place.kind) and place.kind not in numbers and dataset.dtype.name not in ("uint8", place.kind):
        raise TypeError(f"the array has elements of type {place.kind}, the dataset of type {dataset.dtype}: HDF5 does not convert these; use array.astype")


def _transfer(function: Any, dataset: Any, array: Any, place: Place, start: tuple[int, ...] | None, stream: int | None) -> Transfer:
    from h5py import _objects

    shape = tuple(dataset.shape)
    is_complex = dataset.dtype.kind == "c" and _is_complex(array)
    if is_complex:
        place = place._replace(shape=place.shape[:-1])  # without the dimension of the two parts
    if start is None and place.shape != shape:
        raise ValueError(f"the array has the shape {place.shape}, the dataset {shape}; start=(...) says where a part begins")
    corner = (0,) * len(shape) if start is None else tuple(start)
    if not len(corner) == len(place.shape) == len(shape):
        raise ValueError(f"start is {corner} and the array has the shape {place.shape}; the dataset has {len(shape)} dimensions")
    for first, length, whole in zip(corner, place.shape, shape):
        if first < 0 or first + length > whole:
            raise ValueError(f"the box of {place.shape} elements from {corner} on is not inside the dataset of shape {shape}")
    numbers = [(ctypes.c_uint64 * len(shape))(*given) for given in (corner, place.shape)]
    info = DirectInfo(struct_size=ctypes.sizeof(DirectInfo))
    work = place.stream if stream is None else stream
    # HDF5 takes one thread at a time: h5py's lock is held, Python's is not.
    with _objects.phil:
        kind = _memory_type(place.element, is_complex)
        lib.sleek_h5d_user(_code_of_h5py())
        try:
            check(function(dataset.id.id, kind.id, *numbers, 0, place.address or None, work, ctypes.byref(info)))
        finally:
            lib.sleek_h5d_user(None)
    return Transfer(
        ROUTES[info.route], info.reason.decode(), bool(info.staged), info.chunks, info.raw_bytes, info.stored_bytes
    )


@cache
def _code_of_h5py() -> int | None:
    """The address of a function of h5py, which is linked to the HDF5 that its datasets are of: ctypes is to none, and others may be here."""
    from h5py import h5d

    return ctypes.cast(ctypes.PyDLL(h5d.__file__).PyInit_h5d, ctypes.c_void_p).value


def _is_complex(array: Any) -> bool:
    """Whether an array of any library has complex numbers, of which its place tells the two parts."""
    dtype = getattr(array, "dtype", None)
    return "complex" in getattr(dtype, "name", str(dtype))


def _memory_type(element: tuple[int, int], is_complex: bool) -> Any:
    """The HDF5 type of elements in memory."""
    from h5py import h5t

    code, big_endian = element
    if is_complex:
        part = numpy_dtype(code, bool(big_endian))
        return h5t.py_create(np.dtype(f"c{2 * part.itemsize}").newbyteorder(part.byteorder))
    if code != 4:
        return h5t.py_create(numpy_dtype(code, bool(big_endian)))
    kind = (h5t.IEEE_F32BE if big_endian else h5t.IEEE_F32LE).copy()  # bfloat16, which numpy does not know
    kind.set_fields(15, 7, 8, 0, 7)
    kind.set_ebias(127)
    kind.set_precision(16)
    kind.set_size(2)
    return kind
