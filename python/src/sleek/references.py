"""References to HDF5 files, which kerchunk and VirtualiZarr make, so that Zarr and xarray read the chunks where they lie."""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

from ._hdf5 import FILTER_ID
from .numcodecs import Sleek

# To restore a stream takes no more than the stream. kerchunk encodes what it inlines, which a bound would round once more.
_CODEC = Sleek(lossless=True)


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
        return [*before, _CODEC, *behind]

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
        return _CODEC if str(filter_id) == str(FILTER_ID) else original(filter_id, filter_properties)

    codec_of.knows_sleek = True  # type: ignore[attr-defined]
    return codec_of
