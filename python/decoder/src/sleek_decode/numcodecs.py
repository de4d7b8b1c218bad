"""The codec `sleek` for numcodecs, to read with: for Zarr arrays of format 2 and references to HDF5 files where the library is not to be had.

>>> import numcodecs, sleek_decode.numcodecs
>>> sleek_decode.numcodecs.register()
>>> numcodecs.get_codec({"id": "sleek", "abs": 0.001}).get_config()
{'id': 'sleek', 'abs': 0.001}
"""

from __future__ import annotations

from typing import Any

import numcodecs
import numpy as np
from numcodecs.abc import Codec
from numcodecs.compat import ensure_contiguous_ndarray, ensure_ndarray, ndarray_copy

from ._api import decode


class Sleek(Codec):  # type: ignore[misc]
    """Restores chunks; its arguments, which say what they were compressed with, are kept and not looked at."""

    codec_id = "sleek"

    def __init__(self, **request: Any) -> None:
        self.request = request

    def get_config(self) -> dict[str, Any]:
        return {"id": self.codec_id, **self.request}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Sleek:
        return cls(**config)

    def encode(self, buf: Any) -> bytes:
        raise NotImplementedError("sleek_decode only reads; the package sleek-compress writes")

    def decode(self, buf: Any, out: Any = None) -> Any:
        """The array in one dimension, one of Fortran's order in its own shape, or `out` with the elements in it."""
        a = _as_it_was(decode(ensure_contiguous_ndarray(buf)))
        if out is not None and a.ndim > 1 and np.shape(out) == a.shape[: np.ndim(out)]:
            np.copyto(ensure_ndarray(out).view(a.dtype), a.reshape(np.shape(out)))
            return out
        return ndarray_copy(a, out)


def _as_it_was(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The elements in one dimension; two more dimensions of 1 at the end tell the shape of an array in Fortran's order."""
    is_fortran = a.ndim > 3 and a.shape[-2:] == (1, 1)
    return a.reshape(a.shape[:-2]).T if is_fortran else a.reshape(-1)


def register() -> None:
    """Makes this the codec `sleek` of the process, instead of that of sleek-compress too."""
    numcodecs.register_codec(Sleek)
