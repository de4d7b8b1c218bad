"""Arrays in memory that are kept compressed."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from ctypes import c_uint64, c_void_p
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.ma  # at the end of a process nothing is imported any more

from ._library import Params, check, lib
from ._params import CODEC_IDS, MODES, SIZE, computed, element, natural

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt


class _Handle(int):
    """The library's array, freed with the last reference to it, which a call that is at work has too.

    That is in an array of numpy, which hides it from the garbage collector: in a cycle the finalizers of others, which may use it, come first.
    """

    __slots__ = ()

    def __del__(self, free: Any = lib.sleek_array_free) -> None:
        free(self)

    def __reduce__(self) -> Any:
        raise TypeError("the blocks of a CompressedArray are neither copied nor pickled")


class CompressedArray:
    """An array of one to four dimensions in memory, `rate` bits for each value, zeros at first.

    Any element is read and written by itself: the array is coded in blocks of 4^d values (codec zfp at a fixed rate, rounded up so that a
    block has a multiple of 64 bits), and decoded ones are kept in a cache of `cache_bytes`, by default as many as the square root of the
    number of blocks. A rate promises a size, not a bound. Numbers must be finite.

    >>> import numpy as np, sleek
    >>> x = np.sin(np.linspace(0, 9, 10_000)).reshape(100, 100)
    >>> a = sleek.CompressedArray(x.shape, x.dtype, rate=16)
    >>> a[...] = x
    >>> a.nbytes * 4 == x.nbytes
    True
    >>> bool(abs(a[3, 4] - x[3, 4]) < 1e-3 and np.abs(a[10:20, ::2] - x[10:20, ::2]).max() < 1e-3)
    True
    """

    def __init__(self, shape: int | tuple[int, ...], dtype: npt.DTypeLike = "f8", *, rate: float, cache_bytes: int = 0) -> None:
        if hasattr(self, "_owner"):
            raise TypeError("a CompressedArray keeps its shape: make another one")
        sides = shape if isinstance(shape, Iterable) else (shape,)
        self._shape: tuple[int, ...] = tuple(natural("a length of shape", n, SIZE) for n in sides)
        self._dtype: np.dtype[Any] = np.dtype(dtype)
        p = Params()
        check(lib.sleek_params_init(ctypes.byref(p)))
        p.dtype, p.big_endian = element(self.dtype)
        p.codec, p.mode, p.bound = CODEC_IDS["zfp"], MODES.index("rate"), rate
        p.dims, p.rank = _numbers(self.shape), len(self.shape)
        made = c_void_p()
        check(lib.sleek_array_create(ctypes.byref(p), natural("cache_bytes", cache_bytes, SIZE), ctypes.byref(made)))
        self._owner = np.array(_Handle(made.value or 0), object)

    @property
    def _handle(self) -> Any:
        return self._owner[()]

    @property
    def shape(self) -> tuple[int, ...]:
        return self._shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the compressed blocks."""
        size: int = lib.sleek_array_bytes(self._handle, None)
        return size

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        start, count, shape, steps = self._box(key)
        box = np.empty(count, self.dtype)
        check(lib.sleek_array_read(self._handle, _numbers(start), _numbers(count), _address(box), box.nbytes))
        return box[steps].reshape(shape)[()]

    def __setitem__(self, key: Any, value: npt.ArrayLike) -> None:
        value = computed(value)
        if np.ma.is_masked(value):
            raise TypeError("the values are masked, and an array has no mask: write filled(x) of them")
        start, count, shape, steps = self._box(key)
        if any(step.step != 1 for step in steps):
            raise IndexError("elements are written in boxes; slices of other steps than 1 can only be read")
        box = np.ascontiguousarray(np.broadcast_to(np.asarray(value, self.dtype), shape))
        check(lib.sleek_array_write(self._handle, _numbers(start), _numbers(count), _address(box), box.nbytes))

    def __reduce__(self) -> Any:
        raise TypeError("a CompressedArray is neither copied nor pickled: its blocks are the library's; make another one and assign to other[...]")

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError("a CompressedArray is decoded into a new array, which copy=False refuses")
        whole = np.asarray(self[...])
        return whole if dtype is None else whole.astype(dtype)

    def flush(self) -> None:
        """Encodes what was written and is in the cache still."""
        check(lib.sleek_array_flush(self._handle))

    def _box(self, key: Any) -> tuple[list[int], list[int], tuple[int, ...], tuple[slice, ...]]:
        """Where the box of an index begins, its lengths, the shape of what it selects, and the steps in it."""
        keys = list(key) if isinstance(key, tuple) else [key]
        if sum(k is Ellipsis for k in keys) > 1 or len(keys) - (Ellipsis in keys) > self.ndim:
            raise IndexError(f"{key!r} is no index of an array of {self.ndim} dimensions")
        if Ellipsis not in keys:
            keys.append(Ellipsis)
        at = keys.index(Ellipsis)
        keys[at : at + 1] = [slice(None)] * (self.ndim - len(keys) + 1)
        start, count, shape, steps = [], [], [], []
        for k, n in zip(keys, self.shape):
            try:
                taken: Any = range(n)[k]
            except IndexError:
                raise IndexError(f"index {k} of a dimension of {n}") from None
            if isinstance(taken, range):
                if taken.step < 1:
                    raise IndexError(f"a step of {taken.step}; steps are 1 or more")
                shape.append(len(taken))
            else:
                taken = range(taken, taken + 1)
            start.append(taken[0] if taken else 0)
            count.append(taken[-1] - taken[0] + 1 if taken else 0)
            steps.append(slice(None, None, taken.step))
        return start, count, tuple(shape), tuple(steps)


def _address(box: np.ndarray[Any, Any]) -> int:
    """For the end of a process, too: `ctypes` of an array would import, which Python refuses by then."""
    address: int = box.__array_interface__["data"][0]
    return address


def _numbers(numbers: Sequence[int]) -> ctypes.Array[c_uint64]:
    return (c_uint64 * len(numbers))(*numbers)
