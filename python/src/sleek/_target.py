"""The bound that meets a ratio, a size or a figure of quality."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

from ._array import without_mask
from ._library import SleekError, check, lib
from ._params import INVALID_ARGUMENT, MODES, as_elements, element, in_words, params, searching, shaped

_TARGETS = ("ratio", "size", "psnr", "ssim")


def find_bound(
    array: npt.ArrayLike,
    *,
    ratio: float | None = None,
    size: int | None = None,
    psnr: float | None = None,
    ssim: float | None = None,
    fill: float | bool | None = None,
    profile: str = "adaptive",
) -> dict[str, Any]:
    """The bound with which an array meets a target, as arguments for ``compress`` and ``h5``.

    Exactly one of:

    - ``ratio=R``: at least so many times smaller, and at most 2 % more if there is a bound that gives it,
    - ``size=N``: at most so many bytes, and at most 2 % less,
    - ``psnr=P``: at least so many dB, 20 log10(value range / RMS error) of the values that count,
    - ``ssim=S``: at least this structural similarity, the mean over windows of 8 x 8 values of the two fastest dimensions.

    The bound is searched for on a sample and then tried on the whole array, in memory. NaN, infinities and `fill` do not count.
    A ratio or a size that no bound gives is a ValueError, which names the nearest that can be met.

    >>> import numpy as np, sleek
    >>> wave = np.sin(np.linspace(0, 60, 100_000)) + np.random.default_rng(1).normal(size=100_000) * 1e-3
    >>> bound = sleek.find_bound(wave, ratio=6)
    >>> 6 <= wave.nbytes / len(sleek.compress(wave, **bound)) <= 6.2
    True
    """
    targets = zip(_TARGETS, (ratio, size, psnr, ssim))
    given = {name: value for name, value in targets if value is not None}
    if len(given) != 1:
        raise ValueError(f"one of {', '.join(_TARGETS)} is needed, not {', '.join(given) or 'none'}")
    name, value = next(iter(given.items()))
    array, words = without_mask(array, in_words(None, {"lossless": True, "fill": fill, "profile": profile}))
    a = as_elements(np.asarray(array, order="C"))
    p = searching(params(element(a.dtype), words))
    shaped(p, a.shape)
    try:
        check(lib.sleek_find_bound(ctypes.byref(p), a.ctypes.data, a.size, _TARGETS.index(name), value))
    except SleekError as e:
        if e.code != INVALID_ARGUMENT:
            raise
        raise ValueError(str(e)) from None
    return {"abs": p.bound} if MODES[p.mode] == "abs" else {"lossless": True}
