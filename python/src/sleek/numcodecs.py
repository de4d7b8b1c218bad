"""The codec for numcodecs, and by it for Zarr arrays of format 2 and all else that takes a numcodecs codec."""

from __future__ import annotations

from typing import Any

import numpy as np
from numcodecs.abc import Codec
from numcodecs.compat import ensure_contiguous_ndarray, ndarray_copy

from ._array import compress, decompress
from ._params import params, refuse_if_wrong


class Sleek(Codec):  # type: ignore[misc]
    """Compresses each chunk of an array; the arguments are those of `sleek.compress`.

    ``noa`` without `range` takes the value range of each chunk.

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
        *,
        abs: float | None = None,
        noa: float | None = None,
        rel: float | None = None,
        lossless: bool = False,
        range: float | None = None,
        fill: float | None = None,
        profile: str = "adaptive",
    ) -> None:
        refuse_if_wrong(params(np.dtype("f4"), abs, noa, rel, lossless, range, fill, profile))
        self.abs, self.noa, self.rel, self.lossless = abs, noa, rel, lossless
        self.range, self.fill, self.profile = range, fill, profile

    def get_config(self) -> dict[str, Any]:
        config = {name: getattr(self, name) for name in ("abs", "noa", "rel", "range", "fill")}
        config = {name: value for name, value in config.items() if value is not None}
        if self.lossless:
            config["lossless"] = True
        return {"id": self.codec_id, **config, "profile": self.profile}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Sleek:
        return cls(**config)

    def encode(self, buf: Any) -> bytes:
        """The stream of an array of numbers, in the order of its memory."""
        a = ensure_contiguous_ndarray(buf)
        config = self.get_config()
        del config["id"]
        return compress(a, **config)

    def decode(self, buf: Any, out: Any = None) -> Any:
        """The array, of one dimension, or `out` with its memory filled."""
        return ndarray_copy(decompress(ensure_contiguous_ndarray(buf)), out)
