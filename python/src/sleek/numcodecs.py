"""The codec for numcodecs, and by it for Zarr arrays of format 2 and all else that takes a numcodecs codec. For format 3: `sleek.zarr`."""

from __future__ import annotations

from typing import Any

from numcodecs.abc import Codec
from numcodecs.compat import ensure_contiguous_ndarray, ndarray_copy

from ._array import compress_chunk, decompress
from ._params import arguments, in_words


class Sleek(Codec):  # type: ignore[misc]
    """Compresses each chunk of an array; the arguments are those of `sleek.compress`.

    Zarr does not tell the fill value of the array: name it as `fill`, then it comes back as it was. ``noa`` without `range` takes the
    value range of each chunk, in which zeros and what is equal to the chunk's last element, which the rim of a chunk at the edge
    holds, do not count; it spends up to two bits for each value more than with a given range, so that chunks can be written
    again. Integers are kept losslessly under any bound.

    >>> import numpy as np
    >>> from sleek.numcodecs import Sleek
    >>> codec = Sleek(abs=1e-3)
    >>> restored = codec.decode(codec.encode(np.linspace(0, 1, 5000)))
    >>> bool(np.abs(restored - np.linspace(0, 1, 5000)).max() <= 1e-3)
    True
    """

    codec_id = "sleek"

    def __init__(
        self,
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
    ) -> None:
        self.request = arguments(in_words(request, rate, precision), abs, noa, rel, lossless, range, fill, profile)

    def get_config(self) -> dict[str, Any]:
        return {"id": self.codec_id, **self.request}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Sleek:
        request = dict(config)
        return cls(request.pop("request", None), **request)

    def encode(self, buf: Any) -> bytes:
        """The stream of an array of numbers, in the order of its memory."""
        a = ensure_contiguous_ndarray(buf, flatten=False)
        return compress_chunk(self.request, a if a.flags.c_contiguous else a.T)

    def decode(self, buf: Any, out: Any = None) -> Any:
        """The array, of one dimension, or `out` with its memory filled."""
        return ndarray_copy(decompress(ensure_contiguous_ndarray(buf)).reshape(-1), out)
