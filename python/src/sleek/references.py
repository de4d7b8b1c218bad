"""References to HDF5 files, which kerchunk and VirtualiZarr make, so that Zarr and xarray read the chunks where they lie."""

from __future__ import annotations

import functools
import struct
from types import SimpleNamespace
from typing import Any

from ._hdf5 import FILTER_ID
from ._params import PROFILES
from .numcodecs import Sleek

_MODES = ("lossless", "abs", "noa", "rel", "rate", "precision")
_LONG, _HAS_RANGE, _LOSSLESS = 3, 1 << 30, 1 << 31


def register() -> list[str]:
    """Teaches kerchunk and VirtualiZarr, those of them that are installed, the filter, and tells which.

    Neither has a way to add filters: the functions that name a codec for a filter are wrapped. What they make then names the codec
    ``sleek`` of numcodecs (in Zarr's format 3 ``numcodecs.sleek``); whoever opens it needs `sleek`, but no import of it.

    >>> import sleek.references
    >>> sleek.references.register()
    ['kerchunk', 'virtualizarr']
    """
    done = []
    try:
        from kerchunk.hdf import SingleHdf5ToZarr
    except ImportError:
        pass
    else:
        SingleHdf5ToZarr._decode_filters = _in_kerchunk(SingleHdf5ToZarr._decode_filters)
        done.append("kerchunk")
    try:
        from virtualizarr.parsers.hdf import filters
    except ImportError:
        pass
    else:
        filters._filter_to_codec = _in_virtualizarr(filters._filter_to_codec)
        done.append("virtualizarr")
    if not done:
        raise ImportError("neither kerchunk nor virtualizarr is installed, or not as kerchunk 0.2 and virtualizarr 2 are")
    return done


def codec(cd_values: Any) -> Sleek:
    """The codec of chunks that the filter wrote with these `cd_values`, as h5py gives them."""
    words = tuple(int(word) for word in cd_values or ())
    if words and words[0] & 0xFF == _LONG and len(words) > 2:
        return _of_long_form(words)
    return Sleek(lossless=True)  # nothing is said; to restore a stream takes no more than the stream


def _of_long_form(words: tuple[int, ...]) -> Sleek:
    """What docs/reference/api.md has, but for missing values, which streams name themselves."""
    mode = _MODES[min(words[0] >> 8 & 15, len(_MODES) - 1)]
    if mode == "lossless" or words[0] & _LOSSLESS or len(words) < 4:
        return Sleek(lossless=True)
    (bound,) = struct.unpack("<d", struct.pack("<2I", *words[2:4]))
    if mode in ("rate", "precision"):
        return Sleek(f"{mode}={bound:g},codec=zfp")
    request: dict[str, Any] = {mode: bound}
    if words[0] & _HAS_RANGE:
        (request["range"],) = struct.unpack("<f", struct.pack("<I", words[4]))
    profile = PROFILES[min(words[0] >> 12 & 15, len(PROFILES) - 1)]
    return Sleek(**request, profile=profile)


def _in_kerchunk(original: Any) -> Any:
    if hasattr(original, "knows_sleek"):
        return original

    @functools.wraps(original)
    def filters_of(self: Any, dataset: Any) -> Any:
        pipeline = list(getattr(dataset, "_filters", {}).items())
        ours = [k for k, (name, _) in enumerate(pipeline) if str(name) == str(FILTER_ID)]
        if not ours:
            return original(self, dataset)
        at = ours[0]
        before, behind = (original(self, _with(dataset, part)) for part in (pipeline[:at], pipeline[at + 1 :]))
        return [*before, codec(pipeline[at][1]), *behind]

    filters_of.knows_sleek = True  # type: ignore[attr-defined]
    return filters_of


def _with(dataset: Any, pipeline: list[Any]) -> Any:
    """What kerchunk looks at, of a dataset that has these filters only."""
    names = [str(name) for name, _ in pipeline]
    return SimpleNamespace(
        name=dataset.name,
        dtype=dataset.dtype,
        _filters=dict(pipeline),
        shuffle="shuffle" in names,
        scaleoffset="scaleoffset" in names or None,
        compression=next((name for name in names if name in ("gzip", "szip", "lzf")), None),
    )


def _in_virtualizarr(original: Any) -> Any:
    if hasattr(original, "knows_sleek"):
        return original

    @functools.wraps(original)
    def codec_of(filter_id: Any, filter_properties: Any = None) -> Any:
        return codec(filter_properties) if str(filter_id) == str(FILTER_ID) else original(filter_id, filter_properties)

    codec_of.knows_sleek = True  # type: ignore[attr-defined]
    return codec_of
