"""The profile or the codec that suits an array."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import numpy.typing as npt

from ._array import compress_with, decompress, without_mask
from ._library import Params, SleekError
from ._params import CODEC_IDS, CODECS, MODES, PROFILES, capacity, element, in_words, params, shaped
from ._place import of_host

# Bytes that all of them are tried on, in pieces of about so many.
_SAMPLE_BYTES, _PIECE_BYTES = 8 << 20, 512 << 10
# What is tried: each profile, and the codecs that go with none.
_CANDIDATES = [(profile, 0) for profile in range(len(PROFILES))] + [(0, CODEC_IDS["zfp"])]


def choose(
    array: npt.ArrayLike,
    request: str | None = None,
    /,
    *,
    auto: str | float = "ratio",
    abs: float | None = None,
    noa: float | None = None,
    rel: float | None = None,
    rate: float | None = None,
    precision: int | None = None,
    lossless: bool = False,
    range: float | None = None,
    fill: float | None = None,
) -> str:
    """A request with the profile or the codec that suits an array, in the words that ``compress``, ``h5`` and all others take.

    The request is that of `compress`. All profiles and codec zfp are tried on 8 MB of the array: ``auto="ratio"`` takes the
    smallest, ``"speed"`` the one that compresses and restores fastest, and a number such as 500 the smallest of those that do both at
    so many MB/s, else the fastest. Speeds differ from one time to the next; the words say what was chosen, and so give the same
    stream again. A request that names a profile or a codec stays as it is.

    >>> import numpy as np, sleek
    >>> y, x = np.mgrid[0:300, 0:400]
    >>> field = np.sin(x / 30) * np.cos(y / 20)
    >>> words = sleek.choose(field, noa=1e-4)
    >>> words
    'noa=0.0001,profile=small'
    >>> len(sleek.compress(field, words)) < len(sleek.compress(field, noa=1e-4))
    True
    """
    array, request, fill = without_mask(array, in_words(request, rate, precision), fill)
    a = np.ascontiguousarray(array)
    p = params(element(a.dtype), request, abs, noa, rel, lossless, range, fill, PROFILES[0])
    if request is None:
        words = [MODES[p.mode] + (f"={p.bound!r}" if p.mode else "")]
        words += [f"{name}={value!r}" for name, value in (("range", range), ("fill", fill)) if value is not None and value is not False]
        words += ["no-fill"] if fill is False else []
        request = ",".join(words)
    before = p.profile, p.codec
    suit(p, a, auto)
    if (p.profile, p.codec) == before:
        return request
    return f"{request},codec={CODECS[p.codec]}" if p.codec else f"{request},profile={PROFILES[p.profile]}"


def suit(p: Params, a: np.ndarray[Any, Any], auto: str | float) -> None:
    """Sets the profile and the codec that suit an array, unless one of them is set."""
    least = _least_speed(auto)
    capacity(p, a.size)  # raises what is wrong with the request
    if p.profile or p.codec:
        return
    span = _span(a, p) if MODES[p.mode] == "noa" and not p.range else p.range
    if MODES[p.mode] == "noa" and span == 0.0:
        return  # nothing to choose by: every value is the same
    pieces = _pieces(a)
    trials = []
    for profile, codec in _CANDIDATES:
        q = Params.from_buffer_copy(p)
        q.profile, q.codec, q.range = profile, codec, span
        try:
            trials.append((profile, codec, *_tried(q, pieces)))
        except SleekError:
            continue  # not for this type or mode
    if not trials:
        return  # the library will say why
    raw = sum(piece.nbytes for piece in pieces)
    enough = [t for t in trials if all(raw >= 1e6 * least * seconds for seconds in t[3:])]
    best = min(enough, key=lambda t: t[2]) if enough else min(trials, key=lambda t: t[3] + t[4])
    p.profile, p.codec = best[:2]


def _least_speed(auto: str | float) -> float:
    """The MB/s that are needed; infinite where the fastest is wanted."""
    if auto in ("ratio", "speed"):
        return 0.0 if auto == "ratio" else math.inf
    if isinstance(auto, (int, float)) and not isinstance(auto, bool) and 0 < auto < math.inf:
        return float(auto)
    raise ValueError(f"auto is {auto!r}; 'ratio', 'speed', or a number of MB/s is needed")


def _span(a: np.ndarray[Any, Any], p: Params) -> float:
    """The value range of the array."""
    counts = np.isfinite(a)
    marks = [np.asarray(p.fill_value, a.dtype)] if p.has_fill_value else []
    named = np.array(p.missing[: p.missing_count], "u8").astype(f"u{a.itemsize}")
    for mark in (*marks, *named.view(a.dtype.newbyteorder("="))):
        counts &= a != mark
    values = a[counts]
    return float(values.max()) - float(values.min()) if values.size else 0.0


def _pieces(a: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """Pieces from all over an array, each whole along all dimensions but the first that is longer than 1."""
    axis = next((k for k, length in enumerate(a.shape) if length > 1), 0)
    slabs = a.reshape(-1, *a.shape[axis + 1 :]) if a.ndim else a.reshape(1)
    slab = slabs[:1].nbytes
    length = max(1, _PIECE_BYTES // max(slab, 1))
    step = max(1, a.nbytes // _SAMPLE_BYTES)
    starts = range(step // 2 * length, len(slabs), step * length)
    return [slabs[start : start + length] for start in starts]


def _tried(p: Params, pieces: list[np.ndarray[Any, Any]]) -> tuple[int, float, float]:
    """Bytes of the pieces' streams, and the seconds to make them and to restore them."""
    start = time.perf_counter()
    streams = []
    for piece in pieces:
        shaped(p, piece.shape)
        streams.append(compress_with(p, of_host(piece)))
    there = time.perf_counter()
    for stream, piece in zip(streams, pieces):
        decompress(stream, out=np.empty_like(piece))
    return sum(map(len, streams)), there - start, time.perf_counter() - there
