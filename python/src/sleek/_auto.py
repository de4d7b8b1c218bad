"""The profile or the codec that suits an array."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ._array import without_mask
from ._library import Params, check, lib
from ._params import CODECS, MODES, PROFILES, as_elements, capacity, element, in_words, params, searching, shaped


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
    a = as_elements(np.asarray(array, order="C"))
    p = searching(params(element(a.dtype), request, abs, noa, rel, lossless, range, fill, PROFILES[0]))
    if request is None:
        words = [MODES[p.mode] + (f"={p.bound!r}" if p.mode else "")]
        words += [f"{name}={value!r}" for name, value in (("range", range), ("fill", fill)) if value is not None and value is not False]
        words += ["no-fill"] if fill is False else []
        request = ",".join(words)
    before = p.profile, p.codec
    shaped(p, a.shape)
    suit(p, a, auto)
    if (p.profile, p.codec) == before:
        return request
    return f"{request},codec={CODECS[p.codec]}" if p.codec else f"{request},profile={PROFILES[p.profile]}"


def suit(p: Params, a: np.ndarray[Any, Any], auto: str | float) -> None:
    """Sets the profile and the codec that suit an array, unless one of them is set."""
    speed = _least_speed(auto)
    capacity(p, a.size)  # raises what is wrong with the request
    if not (p.profile or p.codec):
        check(lib.sleek_choose(ctypes.byref(p), a.ctypes.data, a.size, speed))


def _least_speed(auto: str | float) -> float:
    """The MB/s that are needed; infinite where the fastest is wanted."""
    if auto in ("ratio", "speed"):
        return 0.0 if auto == "ratio" else math.inf
    if isinstance(auto, (int, float)) and not isinstance(auto, bool) and 0 < auto < math.inf:
        return float(auto)
    raise ValueError(f"auto is {auto!r}; 'ratio', 'speed', or a number of MB/s is needed")
