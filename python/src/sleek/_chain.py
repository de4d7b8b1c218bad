"""What stands in front of a codec in a Zarr array. No codec is told, so whoever asks one for its configuration is looked at."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np

from ._library import SleekError
from ._params import FLOATS, INVALID_ARGUMENT

# Frames between metadata and a codec; a JSON encoder of zarr 3.0 may be between them.
_DEPTH = 40
_VARIABLES = ("filters", "compressor", "dtype")
# Codecs that leave every number as it is.
_HARMLESS = ("transpose",)


def refuse_filters(codec: Any, request: dict[str, Any]) -> None:
    """Refuses a bound behind filters of floats, or that make floats of integers: it would hold for what they give, not for the values.

    To be called by what writes the configuration of `codec` into the metadata of an array, which happens when the array is made.
    """
    if "lossless" in request or "lossless" in request.get("request", "").split(","):
        return
    metadata, filters = _filters_before(codec)
    is_float = _dtype(metadata).name in FLOATS
    names = [_name(one) for one in filters if is_float or _makes_floats(one)]
    if names := [name for name in names if name not in _HARMLESS]:
        words = ",".join(f"{name}={value}" for name, value in request.items())
        raise SleekError(
            f"{words} after the filter {', '.join(names)}: the bound would not hold; SLEEK must come first, or lossless=True",
            INVALID_ARGUMENT,
        )


def _filters_before(codec: Any) -> tuple[Any, list[Any]]:
    """The metadata that are being written, and what comes before the codec in them, in shards and in front of these."""
    filters: list[Any] = []
    frame, depth = sys._getframe(2).f_back, 0
    while frame is not None and depth < _DEPTH:
        # In zarr 2 it is the variables of a function that say what the metadata will be.
        variables = SimpleNamespace(**{name: frame.f_locals[name] for name in _VARIABLES if name in frame.f_locals})
        is_told = hasattr(variables, "dtype") and isinstance(getattr(variables, "filters", None), (list, tuple))
        for owner in frame.f_locals.get("self"), variables if is_told else None:
            for chain in getattr(owner, "codecs", None) or (), [*(getattr(owner, "filters", None) or ()), getattr(owner, "compressor", None)]:
                places = [n for n, one in enumerate(chain) if one is codec]
                if places:
                    filters += chain[: places[0]]
                    if hasattr(owner, "dtype"):
                        return owner, filters
                    codec, depth = owner, -1  # one of shards, in a chain of its own
        frame, depth = frame.f_back, depth + 1
    return None, filters


def _name(codec: Any) -> str:
    return str(getattr(codec, "codec_id", None) or getattr(codec, "codec_name", None) or type(codec).__name__.removesuffix("Codec").lower())


def _makes_floats(codec: Any) -> bool:
    config = codec.get_config() if hasattr(codec, "get_config") else codec.to_dict().get("configuration", {})
    return any(np.dtype(config[key]).kind == "f" for key in ("astype", "encode_dtype") if config.get(key))


def _dtype(metadata: Any) -> np.dtype[Any]:
    """The type of an array's elements; that of floats if it is not known."""
    dtype: Any = getattr(metadata, "dtype", None)
    native: np.dtype[Any] = dtype.to_native_dtype() if hasattr(dtype, "to_native_dtype") else np.dtype(dtype)
    return native
