"""Arrays in memory."""

from __future__ import annotations

import ctypes
import operator
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from ._library import Params, StreamInfo, check, lib
from ._params import DTYPES, MODES, PROFILES, capacity, in_words, numpy_dtype, of_chunk, params
from ._sentinel import MissingValueWarning, undeclared

if TYPE_CHECKING:
    import numpy.typing as npt

Buffer = Union[bytes, bytearray, memoryview, "np.ndarray[Any, Any]"]


@dataclass(frozen=True)
class Info:
    """What a stream holds."""

    format_version: int
    dtype: np.dtype[Any]
    """Type of the elements."""
    count: int
    """Elements of the array."""
    raw_bytes: int
    """Bytes of the array."""
    stream_bytes: int
    """Bytes of the stream."""
    mode: str
    """``"lossless"``, ``"abs"``, ``"noa"`` or ``"rel"``"""
    bound: float
    """The bound that was asked for."""
    range: float
    """The value range that ``noa`` used, else 0."""
    abs_bound: float
    """The absolute bound that is guaranteed; 0 if there is none (lossless, rel, or no error at all)."""
    profile: str
    """``"adaptive"`` or ``"fast"``"""
    chunks_packed: int
    chunks_raw: int
    chunks_constant: int

    @property
    def ratio(self) -> float:
        """Bytes of the array by bytes of the stream."""
        return self.raw_bytes / self.stream_bytes


def compress(
    array: npt.ArrayLike,
    request: str | None = None,
    /,
    *,
    abs: float | None = None,
    noa: float | None = None,
    rel: float | None = None,
    rate: float | None = None,
    precision: int | None = None,
    lossless: bool = False,
    range: float | None = None,
    fill: float | None = None,
    profile: str = "adaptive",
    threads: int = 0,
) -> bytes:
    """Compresses an array into a stream that describes itself, except for its shape.

    Exactly one of:

    - ``abs=E``: no value changes by more than E,
    - ``noa=E``: no value changes by more than E times the value range, which is `range`, or else the largest minus the smallest
      value, NaN, infinities and missing values not counted,
    - ``rel=E``: no value v changes by more than E times its own magnitude,
    - ``lossless=True``: every bit comes back, also of integers,
    - ``rate=R``: each value takes R bits, by codec zfp; ``precision=P``: each block of values keeps its P highest bits. They promise
      no bound,

    or all of it in words, as in ``"abs=1e-3"``, ``"noa=1e-4,range=50,fill=-9999"``, ``"rel=1e-2,profile=fast"``, ``"lossless"``.

    `fill` is a missing value, such as -9999: it comes back bit for bit, nothing else comes back equal to it, and it does not count
    for the range. A masked array's own fill value stands for what is masked. A value that looks like a missing one and was not
    named is warned of (``sleek.MissingValueWarning``), since a bound may change it.

    NaN and infinities always come back as they were. ``profile="fast"`` is a little faster, at a smaller ratio. `threads` is the
    most threads to use; 0 leaves it to the environment variable SLEEK_NUM_THREADS, else to the number of cores.

    The elements are taken in C order. The global lock of Python is released meanwhile.

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
    request = in_words(request, rate, precision)
    # ascontiguousarray would make a scalar an array of one dimension, which is the same sequence.
    array, request, fill = _without_mask(array, request, fill)
    a = np.ascontiguousarray(array)
    p = params(a.dtype, request, abs, noa, rel, lossless, range, fill, profile, threads)
    if p.mode and p.bound:
        _warn_of_missing_values(a, p)
    return compress_with(p, a)


def compress_with(p: Params, a: np.ndarray[Any, Any]) -> bytes:
    """The stream of a contiguous array by parameters of its type."""
    stream = np.empty(capacity(p, a.size), "u1")
    written = ctypes.c_size_t()
    check(
        lib.sleek_compress(
            ctypes.byref(p), a.ctypes.data, a.size, stream.ctypes.data, stream.size, ctypes.byref(written), None
        )
    )
    return stream[: written.value].tobytes()


def compress_chunk(request: dict[str, Any], chunk: npt.ArrayLike, fill: Any = None) -> bytes:
    """The stream of a chunk of an array, of any type: what is no number goes as bytes."""
    a = np.ascontiguousarray(chunk)
    a = a if a.dtype.name in DTYPES else a.reshape(-1).view("u1")
    return compress_with(of_chunk(request, a, fill), a)


def _without_mask(
    array: npt.ArrayLike, request: str | None, fill: float | None
) -> tuple[npt.ArrayLike, str | None, float | None]:
    """A masked array with its fill value, or the one that is given, where the mask is, and the request with that fill value."""
    if not isinstance(array, np.ma.MaskedArray) or not np.ma.is_masked(array):
        return array, request, fill
    if fill is None:
        fill = array.fill_value
    filled = array.filled(fill)
    if filled.dtype.kind in "iub":
        return filled, request, None  # integers all come back anyway
    if isinstance(request, str):
        return filled, f"{request},fill={float(fill)!r}", None
    return filled, request, float(fill)


def _warn_of_missing_values(a: np.ndarray[Any, Any], p: Any) -> None:
    message = undeclared(a, p.fill_value if p.has_fill_value else None)
    if message is not None:
        warnings.warn(message, MissingValueWarning, stacklevel=3)


def decompress(stream: Buffer, shape: int | tuple[int, ...] | None = None) -> np.ndarray[Any, Any]:
    """Restores the whole array: of one dimension, or of `shape`.

    >>> import numpy as np, sleek
    >>> table = np.arange(12, dtype="i2").reshape(3, 4)
    >>> sleek.decompress(sleek.compress(table, lossless=True), (3, 4))
    array([[ 0,  1,  2,  3],
           [ 4,  5,  6,  7],
           [ 8,  9, 10, 11]], dtype=int16)
    """
    source = _bytes(stream)
    info = inspect(source)
    array = np.empty(info.count, info.dtype)
    check(lib.sleek_decompress(source.ctypes.data, source.size, array.ctypes.data, array.nbytes, None, None))
    return array if shape is None else array.reshape(shape)


def decompress_range(stream: Buffer, first: int, count: int) -> np.ndarray[Any, Any]:
    """Restores the elements first … first + count − 1, and decodes only the chunks (16 KiB of data each) that hold them.

    >>> import numpy as np, sleek
    >>> stream = sleek.compress(np.arange(1e6), lossless=True)
    >>> sleek.decompress_range(stream, 777_777, 3)
    array([777777., 777778., 777779.])
    >>> sleek.decompress_range(stream, 999_999, 3)
    Traceback (most recent call last):
    ...
    sleek.SleekError: element range outside the array: ...
    """
    source = _bytes(stream)
    info = inspect(source)
    first, count = operator.index(first), operator.index(count)
    if not (0 <= first < 2**63 and 0 <= count < 2**63):
        raise ValueError(f"first is {first} and count {count}; both must be from 0 to 2**63 - 1")
    # No more than the array has, plus one for the library to refuse: a wild count is not a wild allocation.
    array = np.empty(min(count, info.count + 1), info.dtype)
    check(
        lib.sleek_decompress_range(
            source.ctypes.data, source.size, first, count, array.ctypes.data, array.nbytes, None
        )
    )
    return array


def inspect(stream: Buffer) -> Info:
    """Tells what a stream holds without decoding it.

    >>> import numpy as np, sleek
    >>> info = sleek.inspect(sleek.compress(np.zeros(1000, "f4"), abs=0.5))
    >>> info.dtype, info.count, info.mode, info.bound
    (dtype('float32'), 1000, 'abs', 0.5)
    """
    source = _bytes(stream)
    info = StreamInfo(struct_size=ctypes.sizeof(StreamInfo))
    check(lib.sleek_inspect(source.ctypes.data, source.size, ctypes.byref(info)))
    same = ("format_version", "count", "raw_bytes", "stream_bytes", "bound", "range", "abs_bound")
    chunks = ("chunks_packed", "chunks_raw", "chunks_constant")
    return Info(
        dtype=numpy_dtype(info.dtype, bool(info.big_endian)),
        mode=MODES[info.mode],
        profile=PROFILES[info.profile],
        **{name: getattr(info, name) for name in same + chunks},
    )


def _bytes(stream: Buffer) -> np.ndarray[Any, Any]:
    if isinstance(stream, np.ndarray):
        return np.ascontiguousarray(stream).reshape(-1).view("u1")
    return np.frombuffer(stream, "u1")
