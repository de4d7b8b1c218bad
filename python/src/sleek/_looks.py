"""Looking before reading: what lies in each chunk of a stream, and where values are that answer a question."""

from __future__ import annotations

import ctypes
import itertools
import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from ._array import _dims, _masked, _opened, decompress, decompress_box, inspect
from ._attributes import beyond, declared, valid_limits
from ._hdf5 import FILTER_ID
from ._library import check, lib
from ._params import numpy_dtype, own_shape

if TYPE_CHECKING:
    from collections.abc import Iterator

_RANGE = np.dtype(
    {"names": ["least", "most", "sum", "count", "missing", "nan"], "formats": ["f8", "f8", "f8", "u8", "u8", "u8"], "itemsize": 64}
)

# Chunks that are decoded at once: so many, or this part of all.
_AT_ONCE, _PART = 64, 64
# Elements of a dataset that is made for its stream's header.
_ONE_CHUNK = (64,)


def ranges(stream: Any) -> np.ndarray[Any, Any]:
    """What each chunk of a stream holds: an array of records with the fields

    - ``least`` and ``most``: the smallest and the largest number that comes back, infinities among them (of integers beyond 2^53 the
      nearest f8 below and above),
    - ``sum``, rounded on the way, and ``count`` of all numbers,
    - ``missing`` values of the stream, and ``nan``, how many others are NaN.

    Chunk after chunk is decoded by several threads, and the array is never held. Keep the result: `where` takes it.

    >>> import numpy as np, sleek
    >>> found = sleek.ranges(sleek.compress(np.arange(10_000, dtype="f4"), lossless=True))
    >>> found["least"], found["most"]
    (array([   0., 4096., 8192.]), array([4095., 8191., 9999.]))
    """
    info, source, _ = _opened(stream, None)
    count = ctypes.c_size_t(info.chunks_packed + info.chunks_raw + info.chunks_constant + info.chunks_masked)
    found = np.zeros(count.value, _RANGE)
    check(lib.sleek_chunk_ranges(source.address, source.nbytes, found.ctypes.data, len(found), ctypes.byref(count)))
    return found


def where(stream: Any, *, above: float | None = None, below: float | None = None, ranges: Any = None) -> tuple[np.ndarray[Any, Any], ...]:
    """The indices of the values above, below or between two numbers, as ``np.nonzero`` gives them. NaN and missing values are none:
    those that were named, and those that were found when the stream was made.

    Only the chunks that may answer are decoded. Which ones may tells `ranges`, what the function of that name gave: without it each
    chunk is decoded once to find out.

    >>> import numpy as np, sleek
    >>> stream = sleek.compress(np.sin(np.arange(100_000) / 1e4), abs=1e-4)
    >>> known = sleek.ranges(stream)
    >>> [len(sleek.where(stream, above=x, ranges=known)[0]) for x in (0.5, 0.9999)]
    [41890, 698]
    """
    if above is None and below is None:
        raise TypeError("above, below or both are needed")
    info, source, _ = _opened(stream, None)
    dims, dtype = _dims(source, info), numpy_dtype(info.dtype, bool(info.big_endian))
    known = globals()["ranges"](stream) if ranges is None else ranges
    sides, rank = (ctypes.c_uint64 * max(1, len(dims)))(), ctypes.c_int32()
    check(lib.sleek_chunk_sides(source.address, source.nbytes, sides, len(sides), ctypes.byref(rank)))
    may = np.flatnonzero((known["count"] > 0) & _between(known["least"], known["most"], above, below))
    along = dims if rank.value else (info.count,)
    tiles = [-(-n // side) for n, side in zip(along, sides)]
    if len(known) != math.prod(tiles):
        raise ValueError(f"ranges has {len(known)} chunks, which are not those of this stream")
    found, at_once = [], max(_AT_ONCE, len(known) // _PART)
    for first in range(0, len(may), at_once):
        chunks = may[first : first + at_once]
        starts = np.array(np.unravel_index(chunks, tiles)).T * np.array(sides[: len(along)], "i8")
        lengths = np.minimum(sides[: len(along)], along - starts)
        sizes = lengths.prod(1)
        ends = sizes.cumsum()
        numbers, part = chunks.astype("u8"), np.empty(ends[-1], dtype)
        to = part.ctypes.data, part.nbytes
        check(lib.sleek_decompress_chunks(source.address, source.nbytes, numbers.ctypes.data, len(numbers), *to))
        yes = _between(part, part, above, below)
        if info.missing_count:
            yes &= ~np.ma.getmaskarray(_masked(part, info))
        # Numbers among those of the chunks become numbers in the array.
        inside = np.flatnonzero(yes)
        chunk = np.searchsorted(ends, inside, "right")
        inside -= (ends - sizes)[chunk]
        at: list[np.ndarray[Any, Any]] = []
        for start, length in zip(starts[chunk].T[::-1], lengths[chunk].T[::-1]):
            at.insert(0, start + inside % length)
            inside //= length
        found.append(_numbers(at, along))
    return np.unravel_index(np.sort(np.concatenate([np.empty(0, "i8"), *found])), own_shape(dims) or (info.count,))


def strided(dataset: Any, stride: int) -> np.ndarray[Any, Any]:
    """Every so many-th element of a dataset of h5py along its last three dimensions."""
    stride = operator.index(stride)
    if stride < 1 or stride & (stride - 1):
        raise ValueError(f"stride is {stride}; a power of two is needed, such as 2, 4 or 8")
    shape = dataset.shape
    steps = [stride if k + 3 >= len(shape) else 1 for k in range(len(shape))]
    out = np.empty([-(-n // step) for n, step in zip(shape, steps)], dataset.dtype)
    for corner, ends in _chunks(dataset):
        first = [-(-at // step) * step for at, step in zip(corner, steps)]
        if any(at >= end for at, end in zip(first, ends)):
            continue
        place = tuple(slice(at // step, -(-end // step)) for at, end, step in zip(first, ends, steps))
        inside = [at - begin for at, begin in zip(first, corner)]
        stream, info = _stored(dataset, corner)
        if stream is None:
            out[place] = dataset[tuple(slice(at, end, step) for at, end, step in zip(first, ends, steps))]
        elif info.shape == dataset.chunks:
            # Where the chunk begins between elements of the stride a finer one is decoded.
            own = min([stride] + [at & -at for at, step in zip(corner, steps) if at and step > 1])
            counts = tuple(end - at for at, end in zip(first, ends))
            part = decompress_box(stream, tuple(inside), counts, stride=own)
            out[place] = _of_type(part[tuple(slice(None, None, step // own if step > 1 else 1) for step in steps)], dataset.dtype)
        else:
            part = _of_type(decompress(stream), dataset.dtype).reshape(dataset.chunks)
            out[place] = part[tuple(slice(at, end - begin, step) for at, end, begin, step in zip(inside, ends, corner, steps))]
    return out


def which(dataset: Any, above: float | None, below: float | None) -> tuple[np.ndarray[Any, Any], ...]:
    """The indices of the values of a dataset of h5py above, below or between two numbers. Its fill value is none."""
    import h5py

    shape, found, marks = dataset.shape + dataset.dtype.shape, [], declared(dataset)
    if dataset.id.get_create_plist().fill_value_defined() == h5py.h5d.FILL_VALUE_USER_DEFINED:
        marks = [*marks, dataset.fillvalue]
    limits = valid_limits(dataset)
    edges = [] if limits is None else beyond(dataset, limits, 2 * len(limits))
    # What is next to a limit was named to be kept, and is a value.
    marks += [mark for mark in _named(dataset) if mark not in edges]
    for corner, ends in _chunks(dataset):
        box = tuple(slice(at, end) for at, end in zip(corner, ends))
        (stream, info), named = _stored(dataset, corner), marks
        if stream is None:
            values = dataset[box]
        else:
            inside = tuple(slice(0, end - at) for at, end in zip(corner, ends))
            values = _of_type(decompress(stream), dataset.dtype).reshape(dataset.chunks)[inside]
            # What it took for missing without being told is a value here, as in other chunks.
            told = info.missing[: len(info.missing) - info.missing_found]
            named = [*marks, *(mark for mark in told if mark not in edges)]
        absent = np.zeros(values.shape, bool)
        for mark in named:
            absent |= values == mark
        yes = ~absent & _between(values, values, above, below)
        found.append(_numbers([i + at for i, at in zip(np.nonzero(yes), corner + (0,) * len(dataset.dtype.shape))], shape))
    return np.unravel_index(np.sort(np.concatenate([np.empty(0, "i8"), *found])), shape)


def _between(least: np.ndarray[Any, Any], most: np.ndarray[Any, Any], above: float | None, below: float | None) -> Any:
    """Whether anything from `least` to `most` may be above one number and below another, whatever the types are; None is no question."""
    yes: Any = True
    if above is not None:
        yes = yes & _compared(np.greater, most, above, math.floor)
    if below is not None:
        yes = yes & _compared(np.less, least, below, math.ceil)
    return yes


def _compared(compare: Any, numbers: np.ndarray[Any, Any], limit: Any, rounded: Any) -> Any:
    limit = np.asarray(limit).item()
    if numbers.dtype.kind in "iu" and math.isfinite(limit):
        return compare(numbers, rounded(limit))
    # In the wider type, into which numpy does not bring a single number by itself; towards the side where it is no value.
    kind = np.result_type(numbers.dtype, np.float64)
    near = float(limit)
    if near > limit if compare is np.greater else near < limit:
        near = np.nextafter(near, -np.inf if compare is np.greater else np.inf)
    return compare(numbers, near, signature=(kind, kind, np.dtype(bool)))


def _numbers(at: list[np.ndarray[Any, Any]], dims: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """The elements' numbers in the array. numpy 1 does the same for fewer than 32 dimensions alone."""
    numbers = at[0]
    for i, n in zip(at[1:], dims[1:]):
        numbers = numbers * n + i
    return numbers


def _chunks(dataset: Any) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Where each chunk of a dataset begins and ends, or all of one that has none."""
    sides = dataset.chunks or [max(n, 1) for n in dataset.shape]
    for corner in itertools.product(*(range(0, n, side) for n, side in zip(dataset.shape, sides))):
        yield corner, tuple(min(at + side, n) for at, side, n in zip(corner, sides, dataset.shape))


def _stored(dataset: Any, corner: tuple[int, ...]) -> Any:
    """The stream that a chunk is stored as, and what it holds; nothing, so that HDF5 reads the chunk, if it is none, has other filters,
    too, is not one of this dataset, or has elements of a type that numpy does not have, as bfloat16 is."""
    from h5py import _objects, h5t

    properties, kind = dataset.id.get_create_plist(), dataset.id.get_type()
    if properties.get_nfilters() != 1 or properties.get_filter(0)[0] != FILTER_ID or kind != h5t.py_create(dataset.dtype, logical=True):
        return None, None
    try:
        with _objects.phil:  # h5py 3.10 does not lock itself here
            mask, stream = dataset.id.read_direct_chunk(corner)
        info = inspect(stream)
    except Exception:  # never written, plain, or reading it will say why; get_chunk_info_by_coord may take one chunk for another
        return None, None
    nbytes, part = math.prod(dataset.chunks) * kind.get_size(), np.empty(0, dataset.dtype).real.dtype
    # At the rim HDF5 may have stored a chunk plain without saying so. A stream of another type or length is an error, which HDF5 tells.
    is_ours = not mask and len(stream) != nbytes == info.raw_bytes and info.dtype == part and dataset.dtype.kind in "iufc"
    return (stream, info) if is_ours else (None, None)


def _named(dataset: Any) -> list[Any]:
    """The missing values that the filter of a dataset was given, wherever it stands: those of a stream that it makes with that request."""
    import h5py
    from h5py import _objects

    given = dataset.id.get_create_plist()
    filters = [given.get_filter(place) for place in range(given.get_nfilters())]
    for words in [words for id_, _, words, _ in filters if id_ == FILTER_ID][: dataset.dtype.kind == "f"]:
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        creation.set_chunk(_ONE_CHUNK)
        creation.set_filter(FILTER_ID, h5py.h5z.FLAG_MANDATORY, words)
        # Another thread may make a file of this name.
        with _objects.phil, h5py.File("named", "w", driver="core", backing_store=False) as f:
            one = h5py.h5d.create(f.id, b"one", dataset.id.get_type(), h5py.h5s.create_simple(_ONE_CHUNK), creation)
            one.write(h5py.h5s.ALL, h5py.h5s.ALL, np.zeros(_ONE_CHUNK, dataset.dtype))
            f.flush()
            return list(inspect(one.read_direct_chunk((0,))[1]).missing)
    return []


def _of_type(array: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Elements that went as ones of another type, or in another order, of the same size."""
    return array if array.dtype == dtype else np.ascontiguousarray(array).view(dtype)
