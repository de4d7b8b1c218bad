"""What stands in front of a codec in a Zarr array. No codec is told, so whoever asks one for its configuration is looked at."""

from __future__ import annotations

import sys
from typing import Any

from ._library import SleekError
from ._params import FLOATS, INVALID_ARGUMENT

# Frames between an array's metadata and its codec.
_DEPTH = 4
# Codecs that leave every number as it is.
_HARMLESS = ("transpose",)


def refuse_filters(codec: Any, request: dict[str, Any]) -> None:
    """Refuses a bound behind filters of floats: it would hold for what they make of the values, not for the values.

    To be called by what writes the configuration of `codec` into the metadata of an array, which happens when the array is made.
    """
    if "lossless" in request or "lossless" in request.get("request", "").split(","):
        return
    metadata, names = _filters_before(codec)
    if names and _dtype_name(metadata) in FLOATS:
        words = ",".join(f"{name}={value}" for name, value in request.items())
        raise SleekError(
            f"{words} after the filter {', '.join(names)}: the bound would not hold; SLEEK must come first, or lossless=True",
            INVALID_ARGUMENT,
        )


def _filters_before(codec: Any) -> tuple[Any, list[str]]:
    """The metadata that are being written, and the names of what comes before the codec in them."""
    frame = sys._getframe(2)
    for _ in range(_DEPTH):
        owner: Any = frame.f_locals.get("self")
        if getattr(owner, "compressor", None) is codec:
            return owner, [_name(f) for f in owner.filters or ()]
        codecs = getattr(owner, "codecs", None) or ()
        places = [n for n, one in enumerate(codecs) if one is codec]
        if places:
            names = [_name(one) for one in codecs[: places[0]]]
            return owner, [name for name in names if name not in _HARMLESS]
        if frame.f_back is None:
            break
        frame = frame.f_back
    return None, []


def _name(codec: Any) -> str:
    return str(getattr(codec, "codec_id", None) or getattr(codec, "codec_name", None) or type(codec).__name__.removesuffix("Codec").lower())


def _dtype_name(metadata: Any) -> str:
    dtype: Any = getattr(metadata, "dtype", None)
    native = dtype.to_native_dtype() if hasattr(dtype, "to_native_dtype") else dtype
    return str(getattr(native, "name", ""))
