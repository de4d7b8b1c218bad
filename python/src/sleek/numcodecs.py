"""The codec for numcodecs, and by it for Zarr arrays of format 2 and all else that takes a numcodecs codec. For format 3: `sleek.zarr`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numcodecs.abc import Codec
from numcodecs.compat import ensure_contiguous_ndarray, ensure_ndarray, ndarray_copy

from ._array import compress_chunk, decompress
from ._attributes import with_declared
from ._chain import refuse_filters
from ._params import DTYPES, arguments, in_words

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._params import Asked

# Two more dimensions of 1 behind those of its memory tell an array in Fortran's order (docs/guide/zarr.md).
_FORTRAN = (1, 1)
_MOST_DIMS = 32


class Sleek(Codec):  # type: ignore[misc]
    """Compresses each chunk of an array; the arguments are those of `sleek.compress`.

    Zarr does not tell the fill value of the array: name it as `fill`, then it comes back as it was. ``noa`` without `range` takes the
    value range of each chunk, in which zeros and what is equal to the chunk's last element, which the rim of a chunk at the edge
    holds, do not count; it spends up to two bits for each value more than with a given range, so that chunks can be written
    again. Integers are kept losslessly under any bound, and under a rate or precision unless the request says ``integers``. A Zarr
    array of floats with filters in front takes no bound.

    >>> import numpy as np
    >>> from sleek.numcodecs import Sleek
    >>> codec = Sleek(abs=1e-3)
    >>> restored = codec.decode(codec.encode(np.linspace(0, 1, 5000)))
    >>> bool(np.abs(restored - np.linspace(0, 1, 5000)).max() <= 1e-3)
    True
    """

    codec_id = "sleek"

    def __init__(self, request: str | None = None, /, **asked: Unpack[Asked]) -> None:
        self.request = arguments(in_words(request, asked))

    @classmethod
    def of(cls, variable: Any, request: str | None = None, /, **asked: Unpack[Asked]) -> Sleek:
        """The codec for a variable of xarray: what its ``_FillValue`` and ``missing_value`` name are missing values.

        Where `fill` names some, or is False for none, they are not read.
        """
        return cls(with_declared(variable, request, asked))

    def get_config(self) -> dict[str, Any]:
        refuse_filters(self, self.request)
        return {"id": self.codec_id, **self.request}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Sleek:
        request = dict(config)
        return cls(request.pop("request", None), **request)

    def encode(self, buf: Any) -> bytes:
        """The stream of an array of numbers, which need not be contiguous. It has the order of the memory."""
        a = ensure_ndarray(buf)
        a = a if a.flags.f_contiguous else np.ascontiguousarray(a)
        a = ensure_contiguous_ndarray(a, flatten=False)
        if a.flags.c_contiguous:
            return compress_chunk(self.request, a.reshape(_without_ones(a.shape)))
        memory = a.T if a.dtype.name in DTYPES or a.itemsize > 1 else a.T.view("u1")
        can_tell = memory.dtype.name in DTYPES and a.ndim + len(_FORTRAN) <= _MOST_DIMS
        return compress_chunk(self.request, memory, dims=memory.shape + _FORTRAN if can_tell else None)

    def decode(self, buf: Any, out: Any = None) -> Any:
        """The array in one dimension, one of Fortran's order in its own shape, or `out` with the elements in it."""
        a = _as_it_was(decompress(ensure_contiguous_ndarray(buf)))
        if out is not None and a.ndim > 1 and np.shape(out) == a.shape[: np.ndim(out)]:
            np.copyto(ensure_ndarray(out).view(a.dtype), a.reshape(np.shape(out)))
            return out
        return ndarray_copy(a, out)


def _without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape without what would say Fortran's order."""
    while len(shape) > 1 and shape[-1] == 1:
        shape = shape[:-1]
    return shape


def _as_it_was(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The elements in one dimension, or in the shape of an array in Fortran's order."""
    is_fortran = a.ndim > 3 and a.shape[-2:] == _FORTRAN
    return a.reshape(a.shape[:-2]).T if is_fortran else a.reshape(-1)
