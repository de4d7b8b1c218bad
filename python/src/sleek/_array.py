"""Arrays in memory, the host's or a GPU's."""

from __future__ import annotations

import ctypes
import math
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _stream
from ._library import Params, SleekError, StreamInfo, check, lib
from ._params import (
    CODECS, DTYPES, FLOATS, INVALID_ARGUMENT, MODES, PROFILES, as_elements, capacity, computed, element, gains_by_dims, in_words,
    is_bytes, number, numpy_dtype, missing_of, of_chunk, own_shape, params, searching, shaped,
)  # fmt: skip
from ._place import Place, of_gpu, of_host, of_output, on_gpu, part

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Unpack

    from ._params import Asked

_MOST_DIMS = 32
# Lengths of a header, of which one makes a stream that is not as long as plain data.
_TRIES = 5


@dataclass(frozen=True)
class Info:
    """What a stream holds."""

    format_version: int
    dtype: np.dtype[Any]
    """Type of the elements."""
    shape: tuple[int, ...]
    """Lengths of the dimensions; one for a stream that was made without them."""
    count: int
    """Elements of the array."""
    raw_bytes: int
    """Bytes of the array."""
    stream_bytes: int
    """Bytes of the stream."""
    codec: str
    """``"sleek"``, ``"interp"`` or ``"zfp"``"""
    mode: str
    """``"lossless"``, ``"abs"``, ``"noa"``, ``"rel"``, ``"rate"`` or ``"precision"``"""
    bound: float
    """The bound that was asked for."""
    range: float
    """The value range that ``noa`` used, else 0."""
    abs_bound: float
    """The absolute bound that is guaranteed; 0 if there is none (lossless, rel, or no error at all)."""
    profile: str
    """``"adaptive"``, ``"fast"`` or ``"small"``"""
    missing: tuple[Any, ...]
    """The missing values that the stream names."""
    missing_found: int
    """How many of them, the last ones, nobody named."""
    chunks_packed: int
    chunks_raw: int
    chunks_constant: int
    chunks_masked: int
    """Chunks with missing values and other ones."""

    @property
    def ratio(self) -> float:
        """Bytes of the array by bytes of the stream."""
        return self.raw_bytes / self.stream_bytes


def compress(
    array: Any, request: str | None = None, /, *, threads: int = 0, out: Any = None, cuda_stream: Any = None, **asked: Unpack[Asked]
) -> Any:
    """Compresses an array into a stream that describes itself.

    Exactly one of:

    - ``abs=E``: no value changes by more than E,
    - ``noa=E``: no value changes by more than E times the value range, which is `range`, or else the largest minus the smallest
      value, NaN, infinities and missing values not counted,
    - ``rel=E``: no value v changes by more than E times its own magnitude,
    - ``lossless=True``: every bit comes back, also of integers,
    - ``rate=R``: each value takes R bits, by codec zfp; ``precision=P``: each block of values keeps its P highest bits. They promise
      no bound, and are for integers (i4, i8) where words say so, as in ``"rate=8,codec=zfp,integers"``,

    or all of it in words, as in ``"abs=1e-3"``, ``"noa=1e-4,range=50,fill=-9999"``, ``"rel=1e-2,profile=fast"``, ``"lossless"``.

    `fill` is a missing value, such as -9999: it comes back bit for bit, nothing else comes back equal to it, and it does not count
    for the range. A masked array's own fill value stands for what is masked. Under a bound a pass over an array on the host finds
    undeclared fill values, such as -9999 among values from 0 to 1, which are kept in the same way; ``fill=False`` leaves it out.

    NaN and infinities always come back as they were. ``profile="fast"`` is a little faster, at a smaller ratio.
    ``profile="small"`` makes the smallest stream.
    `threads` is the most threads to use; 0 leaves it to the environment variable SLEEK_NUM_THREADS, else to the number of cores.

    The elements are taken in C order. The global lock of Python is released meanwhile. Complex numbers go as pairs, which are one more
    dimension of the stream: a bound holds for each part. Truth values and floats of 8 bits go as bytes, which are lossless only.

    An array on a GPU (of CuPy, PyTorch, JAX, Numba: whatever has DLPack or ``__cuda_array_interface__``) is compressed there; it must be
    contiguous in C order. `out` is a buffer of bytes on the host or a GPU that receives the
    stream, `compress_bound` tells how large; the filled part of it is returned instead of bytes. `cuda_stream` is the CUDA
    stream to work on, by default PyTorch's or CuPy's current one for an array of theirs, else the array's own or the default stream;
    it is idle when the call returns.

    >>> import numpy as np, sleek
    >>> wave = np.sin(np.linspace(0, 60, 100_000))
    >>> stream = sleek.compress(wave, noa=1e-4)
    >>> len(stream) < wave.nbytes / 5
    True
    >>> stream == sleek.compress(wave, "noa=1e-4")
    True
    >>> sleek.compress(wave, abs=-1)
    Traceback (most recent call last):
    ...
    sleek.SleekError: ...
    """
    stream, words = _stream.handle(cuda_stream), in_words(request, asked)
    if on_gpu(array):
        source = of_gpu(array, stream)
    else:
        array, words = without_mask(array, words)
        source = of_host(as_elements(np.asarray(array, order="C")))
    p = params(source.element, words, threads)
    shaped(p, source.shape)
    if not on_gpu(array):
        searching(p)
    return compress_with(p, source, out, stream)


def compress_bound(array: Any, request: str | None = None, /, **asked: Unpack[Asked]) -> int:
    """The most bytes that `compress` can make of an array like this one, whatever its values: a size for `out`.

    >>> import numpy as np, sleek
    >>> room = np.empty(sleek.compress_bound(np.zeros(1000), abs=0.5), "u1")
    >>> stream = sleek.compress(np.zeros(1000), abs=0.5, out=room)
    >>> stream.base is room, stream.size == sleek.inspect(stream).stream_bytes
    (True, True)
    """
    array, words = without_mask(array, in_words(request, asked))
    source = of_gpu(array, None) if on_gpu(array) else of_host(np.asarray(array))
    p = searching(params(source.element, words))
    shaped(p, source.shape)
    return capacity(p, source.size)


def compress_with(p: Params, source: Place, out: Any = None, stream: int | None = None) -> Any:
    """The stream of an array by parameters of its type: bytes, or the filled part of `out`."""
    written = ctypes.c_size_t()
    room = np.empty(capacity(p, source.size), "u1") if out is None else out
    to = of_output(room, _stream.first(stream, source.stream))
    if to.itemsize != 1 or len(to.shape) != 1:
        raise ValueError(f"out has the shape {to.shape}, of elements of {to.itemsize} bytes; bytes in one dimension are needed")
    work = _stream.first(stream, source.stream, to.stream)
    check(lib.sleek_compress(ctypes.byref(p), source.address, source.size, to.address, to.nbytes, ctypes.byref(written), work))
    return room[: written.value].tobytes() if out is None else part(out, written.value)


def compress_chunk(
    request: dict[str, Any], chunk: Any, fill: Any = None, dims: tuple[int, ...] | None = None, plain_bytes: int | None = None
) -> bytes:
    """The stream of a chunk of an array, of any type: what is no number goes as bytes. It says `dims`, if they are given.

    It is not as long as plain data, `plain_bytes` if they are not as long as the chunk, for which a damaged one might be taken: dimensions
    of 1 in front make its header longer.
    """
    a = chunk if on_gpu(chunk) else np.ascontiguousarray(chunk)
    a = a if a.dtype.name in DTYPES else a.reshape(-1).view("u1")
    p = of_chunk(request, a, fill)
    if dims is not None or gains_by_dims(p):
        shaped(p, a.shape if dims is None else dims)
    source = of_gpu(a, None) if on_gpu(a) else of_host(a)
    stream: bytes = compress_with(p, source)
    shape = a.shape if dims is None else dims
    for ones in range(1, min(_TRIES, _MOST_DIMS + 1 - len(shape))):
        if len(stream) != (source.nbytes if plain_bytes is None else plain_bytes):
            break
        shaped(p, (1,) * ones + shape)
        stream = compress_with(p, source)
    return stream


def without_mask(array: npt.ArrayLike, words: str) -> tuple[npt.ArrayLike, str]:
    """A masked array with the missing value that a request names first where the mask is, or with its own fill value, which the request
    names then. Streams of integers name no missing values."""
    array = computed(array)
    if not isinstance(array, np.ma.MaskedArray) or not np.ma.is_masked(array):
        return array, words
    array = np.ma.array(array, copy=False)  # np.ma.masked itself cannot be filled
    # numpy has text for the fill value of a type that is not its own, such as bfloat16.
    own = array.fill_value if not isinstance(array.fill_value, bytes) else np.ma.default_fill_value(1.0)
    if array.dtype.name not in FLOATS:
        raise TypeError(
            f"a masked array of {array.dtype}: a stream keeps masks of {', '.join(FLOATS)} alone; "
            f"compress array.filled({own}), and mask what is equal to that again"
        )
    p = params(element(array.dtype), words)
    fill = p.fill_value if p.has_fill_value else next(missing_of(p, array.dtype), None)
    return (array.filled(own), f"{words},fill={number('fill', own)}") if fill is None else (array.filled(fill), words)


def decompress(
    stream: Any,
    shape: int | tuple[int, ...] | None = None,
    *,
    dtype: npt.DTypeLike | None = None,
    out: Any = None,
    masked: bool = False,
    stride: int = 1,
    cuda_stream: Any = None,
) -> Any:
    """Restores the whole array, in the shape that it had, or in `shape`. What is no stream, or is damaged, raises `SleekError`.

    `dtype` is what went as elements of another type: complex numbers, truth values, floats of 8 bits. `out` may be of such a type.

    The stream is bytes, or a buffer on the host or a GPU. The array is one of numpy, or `out`, an array of the same type and as many
    elements on the host or a GPU. With `masked` it is a masked array, in which missing values are masked. `cuda_stream` is as for
    `compress`.

    `stride`, a power of two, gives every so many-th element along the last three dimensions of the stream: the ones of the whole at
    these places, for a small part of the time where the stream is of codec interp (``profile="small"``).

    >>> import numpy as np, sleek
    >>> table = np.arange(12, dtype="i2").reshape(3, 4)
    >>> sleek.decompress(sleek.compress(table, lossless=True))
    array([[ 0,  1,  2,  3],
           [ 4,  5,  6,  7],
           [ 8,  9, 10, 11]], dtype=int16)
    >>> gaps = np.ma.masked_equal([1.5, -9999, 2.5], -9999)
    >>> sleek.decompress(sleek.compress(gaps, abs=0.1), masked=True).mask
    array([False,  True, False])
    >>> sleek.decompress(sleek.compress(np.array([1j, 2]), abs=0.1), dtype=complex)
    array([0.+1.j, 2.+0.j])
    >>> sleek.decompress(sleek.compress(table, lossless=True), stride=2)
    array([[ 0,  2],
           [ 8, 10]], dtype=int16)
    """
    if stride != 1:
        if shape is not None or dtype is not None:
            raise TypeError("stride is along the dimensions of the stream: it goes with neither shape nor dtype")
        return _boxed(stream, None, out, stride, masked, cuda_stream)
    if masked + (dtype is not None) + (out is not None) > 1:
        raise TypeError("at most one of masked, dtype and out is needed: out has its own type, and masks are of floats")
    if out is not None:
        return _restored_into(out, stream, cuda_stream)
    info, source, work = _opened(stream, cuda_stream)
    array = np.empty(_shape(source, info), numpy_dtype(info.dtype, bool(info.big_endian)))
    seen = array if dtype is None else _seen_as(array, np.dtype(dtype))
    seen = seen if shape is None else seen.reshape(shape)
    to = _target(array, info, info.count, None)
    check(lib.sleek_decompress(source.address, source.nbytes, to.address, to.nbytes, None, _stream.first(work, source.stream)))
    return _masked(seen, info) if masked else seen


def _seen_as(array: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """The same memory as elements that `as_elements` made of it."""
    seen = array
    if dtype.kind == "c" and array.shape[-1:] == (2,) and array.dtype.kind == "f" and 2 * array.itemsize == dtype.itemsize:
        seen = array.view(dtype.newbyteorder(array.dtype.byteorder))[..., 0]
    elif is_bytes(dtype.name):
        seen = array.view(dtype) if array.dtype == np.uint8 else array
    if seen.dtype.name != dtype.name:
        raise ValueError(f"dtype is {dtype}; the stream has elements of type {array.dtype} in the shape {array.shape}")
    return seen


def _restored_into(out: Any, stream: Any, cuda_stream: Any) -> Any:
    """The array `out`, which a stream of its type and length has filled; in one call, without a look at the stream before."""
    work = _stream.handle(cuda_stream)
    source = _source(stream, work)
    work = _stream.first(work, source.stream)
    to = of_output(out, work)
    work = _stream.first(work, to.stream)
    code = lib.sleek_decompress_as(*to.element, source.address, source.nbytes, to.address, to.nbytes, work)
    if code:
        error = SleekError(lib.sleek_last_error().decode(), code)
        if code == INVALID_ARGUMENT:
            info, *_ = _opened(stream, cuda_stream)
            _target(out, info, info.count, work)  # says it in Python's words
        raise error
    return out


def decompress_range(stream: Any, first: int, count: int, *, out: Any = None, cuda_stream: Any = None) -> Any:
    """Restores the elements first … first + count − 1 in C order, and decodes only the chunks (16 KiB of data each) that hold them.

    `out` and `cuda_stream` are as for `decompress`.

    >>> import numpy as np, sleek
    >>> stream = sleek.compress(np.arange(1e6), lossless=True)
    >>> sleek.decompress_range(stream, 777_777, 3)
    array([777777., 777778., 777779.])
    >>> sleek.decompress_range(stream, 999_999, 3)
    Traceback (most recent call last):
    ...
    sleek.SleekError: element range outside the array: ...
    """
    info, source, work = _opened(stream, cuda_stream)
    first, count = operator.index(first), operator.index(count)
    if not (0 <= first < 2**63 and 0 <= count < 2**63):
        raise ValueError(f"first is {first} and count {count}; both must be from 0 to 2**63 - 1")
    if out is None:
        # No more than the array has, plus one for the library to refuse: a wild count is not a wild allocation.
        array = np.empty(min(count, info.count + 1), numpy_dtype(info.dtype, bool(info.big_endian)))
        to = of_host(array)
    else:
        array = out
        to = _target(array, info, count, _stream.first(work, source.stream))
    work = _stream.first(work, source.stream, to.stream)
    check(lib.sleek_decompress_range(source.address, source.nbytes, first, count, to.address, to.nbytes, work))
    return array


def decompress_box(
    stream: Any, start: tuple[int, ...], count: tuple[int, ...], *, out: Any = None, stride: int = 1, cuda_stream: Any = None
) -> Any:
    """Restores the box of `count` elements along each dimension from `start` on, and decodes only the chunks that hold them.

    `out`, `stride` and `cuda_stream` are as for `decompress`. With `stride` the elements of the box are those at multiples of it in the
    array, not in the box.

    >>> import numpy as np, sleek
    >>> stream = sleek.compress(np.arange(12).reshape(3, 4), lossless=True)
    >>> sleek.decompress_box(stream, (1, 2), (2, 2))
    array([[ 6,  7],
           [10, 11]])
    """
    return _boxed(stream, (start, count), out, stride, False, cuda_stream)


def _boxed(stream: Any, box: Any, out: Any, stride: int, masked: bool, cuda_stream: Any) -> Any:
    """The elements of a box, or of the whole, that are at multiples of a stride along the last three dimensions."""
    info, source, work = _opened(stream, cuda_stream)
    shape = _shape(source, info)
    start, count = (tuple(operator.index(n) for n in given) for given in box or ((0,) * len(shape), shape))
    if not len(shape) == len(start) == len(count):
        raise ValueError(f"start is {start} and count {count}; the array has the shape {shape}")
    if any(first < 0 or n < 0 or first + n > whole for first, n, whole in zip(start, count, shape)):
        raise ValueError(f"the box of {count} elements from {start} on is not inside the array of shape {shape}")
    level = (stride := operator.index(stride)).bit_length() - 1
    if stride < 1 or stride != 1 << level:
        raise ValueError(f"stride is {stride}; a power of two is needed, such as 2, 4 or 8")
    steps = [stride if k >= len(shape) - 3 else 1 for k in range(len(shape))]
    lengths = tuple(-(-(first + n) // step) - -(-first // step) for first, n, step in zip(start, count, steps))
    array = np.empty(lengths, numpy_dtype(info.dtype, bool(info.big_endian))) if out is None else out
    to = _target(array, info, math.prod(lengths), _stream.first(work, source.stream))
    # An array without dimensions has 32 of length 1 in the stream.
    part = (len(shape), *((ctypes.c_uint64 * len(shape))(*n) for n in (start, count))) if shape else (0, None, None)
    work = _stream.first(work, source.stream, to.stream)
    check(lib.sleek_decompress_coarse(source.address, source.nbytes, level, *part, to.address, to.nbytes, None, work))
    return _masked(array, info) if masked else array


def inspect(stream: Any) -> Info:
    """Tells what a stream holds without decoding it.

    >>> import numpy as np, sleek
    >>> info = sleek.inspect(sleek.compress(np.zeros((20, 50), "f4"), abs=0.5))
    >>> info.dtype, info.shape, info.mode, info.bound
    (dtype('float32'), (20, 50), 'abs', 0.5)
    """
    info, source, _ = _opened(stream, None)
    same = ("format_version", "count", "raw_bytes", "stream_bytes", "bound", "range", "abs_bound")
    chunks = ("chunks_packed", "chunks_raw", "chunks_constant", "chunks_masked")
    return Info(
        dtype=numpy_dtype(info.dtype, bool(info.big_endian)),
        shape=_shape(source, info),
        codec=CODECS[info.codec],
        mode=MODES[info.mode],
        profile=PROFILES[info.profile],
        missing=tuple(_missing(info)),
        missing_found=info.missing_found,
        **{name: getattr(info, name) for name in same + chunks},
    )


def _opened(stream: Any, cuda_stream: Any) -> tuple[StreamInfo, Place, int | None]:
    """What a stream says of itself, where it lies, and the number of the CUDA stream to work on."""
    work = _stream.handle(cuda_stream)
    info = StreamInfo(struct_size=ctypes.sizeof(StreamInfo))
    if on_gpu(stream):
        # The header is read on the default stream, all else on that of the call.
        head = of_gpu(stream, _stream.LEGACY)
        check(lib.sleek_inspect(head.address, head.nbytes, ctypes.byref(info)))
        return info, of_gpu(stream, work), work
    source = _source(stream, work)
    check(lib.sleek_inspect(source.address, source.nbytes, ctypes.byref(info)))
    return info, source, work


def _source(stream: Any, work: int | None) -> Place:
    """Where a stream lies."""
    if on_gpu(stream):
        return of_gpu(stream, work)
    flat = np.ascontiguousarray(stream).reshape(-1).view("u1") if hasattr(stream, "__array__") else np.frombuffer(stream, "u1")
    return of_host(flat)


def _shape(source: Place, info: StreamInfo) -> tuple[int, ...]:
    return own_shape(_dims(source, info))


def _dims(source: Place, info: StreamInfo) -> tuple[int, ...]:
    lengths, rank = (ctypes.c_uint64 * max(1, info.rank))(), ctypes.c_int32()
    check(lib.sleek_inspect_dims(source.address, source.nbytes, lengths, len(lengths), ctypes.byref(rank)))
    return tuple(lengths[: rank.value])


def _target(array: Any, info: StreamInfo, count: int, stream: int | None) -> Place:
    """The place for `count` elements of a stream; raises if they do not fit it exactly."""
    to = of_output(array, stream)
    if to.element != (info.dtype, info.big_endian):
        raise ValueError(f"out has elements of type {_type(*to.element)}; the stream's are of type {_type(info.dtype, info.big_endian)}")
    if to.size != count:
        raise ValueError(f"out has the shape {to.shape}, {to.size} elements; {count} are restored")
    return to


def _type(code: int, big_endian: int) -> str:
    return next(name for name, c in DTYPES.items() if c == code) + (" in big-endian order" if big_endian else "")


def _missing(info: StreamInfo) -> list[Any]:
    """The missing values of a stream as numbers of its type."""
    dtype = numpy_dtype(info.dtype, False)
    bits = np.array(info.missing[: info.missing_count], "u8").astype(f"u{dtype.itemsize}")
    return list(bits.view(dtype))


def _masked(array: np.ndarray[Any, Any], info: StreamInfo) -> np.ma.MaskedArray[Any, Any]:
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    marks = info.missing[: info.missing_count]
    found = np.isin(native.view(f"u{native.itemsize}"), np.array(marks, "u8").astype(f"u{native.itemsize}"))
    values = _missing(info)
    return np.ma.MaskedArray(array, found, fill_value=values[0] if values else None)
