"""The bound that meets a ratio, a size, a PSNR or an SSIM."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ._array import compress_with, decompress
from ._params import element, params, shaped
from ._place import of_host

# What a result may have beyond what was asked for: 2 % of its size, a tenth of a dB, 5 % of what an SSIM lacks to 1.
_SLACK, _PSNR_SLACK, _SSIM_SLACK = math.log(1.02), 0.1, 0.05
_SMALLEST = 1e-17
# The smallest bound at all, for an array of which one value is so far from all others that a part of its range is coarse for these.
_TINIEST = sys.float_info.min
_SAMPLE_BYTES, _PIECE_BYTES = 8 << 20, 512 << 10
_NEAR = 2e-3


def find_bound(
    array: npt.ArrayLike,
    *,
    ratio: float | None = None,
    size: int | None = None,
    psnr: float | None = None,
    ssim: float | None = None,
    fill: float | None = None,
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
    targets = {"ratio": ratio, "size": size, "psnr": psnr, "ssim": ssim}
    given = {name: value for name, value in targets.items() if value is not None}
    if len(given) != 1:
        raise ValueError(f"one of ratio, size, psnr, ssim is needed, not {', '.join(given) or 'none'}")
    if not next(iter(given.values())) > 0:
        raise ValueError(f"{given}: a number above 0 is needed")
    if ssim is not None and ssim >= 1:
        raise ValueError(f"{given}: a number between 0 and 1 is needed")
    a = np.ascontiguousarray(array)
    if size is not None:
        ratio = a.nbytes / size
    values = np.isfinite(a) if fill is None else np.isfinite(a) & (a != a.dtype.type(fill))
    counted = a[values].astype("f8")
    value_range = _range(counted)
    scale = 0.5 ** min(max(math.frexp(value_range)[1], -1000), 1000)  # squares of values are numbers still

    def reached(part: np.ndarray[Any, Any], bound: float | None) -> tuple[float, bytes]:
        """The ratio that a bound gives, or no loss, and the stream."""
        p = params(element(a.dtype), None, bound, None, None, bound is None, None, fill, profile, 0)
        shaped(p, part.shape)
        stream: bytes = compress_with(p, of_host(part))
        return part.nbytes / len(stream), stream

    def unmet(by: str, found: float) -> ValueError:
        near = f"size={math.ceil(a.nbytes / found - 1e-6)}" if size is not None else f"ratio={math.floor(found * 100) / 100:.2f}"
        return ValueError(f"{given}: cannot be met: {by} gives ratio {found:.2f}; the nearest that can be met is {near}")

    if value_range == 0.0:
        found = reached(a, None)[0]
        if ratio is not None and a.size and found < ratio:
            raise unmet("the values have no range, of which a bound could be a part, and lossless=True", found)
        return {"lossless": True}

    def score(part: np.ndarray[Any, Any], bound: float) -> float:
        """How far something is beyond the target; it grows with the bound. What cannot be told is beyond any."""
        found, stream = reached(part, bound)
        if ratio is not None:
            return math.log(found / ratio)
        back = decompress(stream, part.shape).astype("f8")
        counts = np.isfinite(part) if fill is None else np.isfinite(part) & (part != part.dtype.type(fill))
        if ssim is not None:
            lacks = 1 - _similarity(scale * part.astype("f8"), scale * back, counts, scale * value_range)
            return math.inf if math.isnan(lacks) else math.log(max(lacks, 5e-324) / (1 - ssim))
        errors = scale * (part[counts].astype("f8") - back[counts])
        rms = math.sqrt(float(np.mean(errors**2))) if counts.any() else 0.0
        decibels = 20 * math.log10(scale * value_range / rms) if rms > 0 else 1e4
        return math.inf if math.isnan(decibels) else float(psnr or 0) - decibels

    quality_slack = _PSNR_SLACK if ssim is None else _SSIM_SLACK
    low, high = (0.0, _SLACK) if ratio is not None else (-quality_slack, 0.0)
    sample = _sample(a.reshape(-1))
    smallest = _SMALLEST * value_range

    def search(ends: tuple[float, float]) -> tuple[float, float]:
        return _search(ends, (low, high), ratio is not None, lambda b: score(sample, b), lambda b: score(a, b))

    bound, came_to = search((smallest, value_range))
    if came_to > high and (ratio is None or bound <= 2 * smallest):
        if ratio is None or reached(a, None)[0] >= ratio:
            return {"lossless": True}
        bound, came_to = search((_TINIEST, smallest))
    if ratio is not None and came_to < low:
        raise unmet("a bound as large as the value range", ratio * math.exp(came_to))
    return {"abs": bound}


def _range(values: np.ndarray[Any, Any]) -> float:
    """The largest value minus the smallest, as far as there are such numbers."""
    with np.errstate(over="ignore"):
        return min(float(values.max() - values.min()), sys.float_info.max) if values.size else 0.0


def _similarity(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], counts: np.ndarray[Any, Any], value_range: float) -> float:
    """The mean of the structural similarity over windows, as ``sleek diff`` has it."""
    height, width = a.shape[-2:] if a.ndim > 1 else (1, a.size)
    tall = min(8, max(height, 1))
    wide = 64 // tall

    def windows(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        x = np.pad(x.reshape(-1, height, width), ((0, 0), (0, -height % tall), (0, -width % wide)))
        x = x.reshape(len(x), x.shape[1] // tall, tall, x.shape[2] // wide, wide)
        return x.transpose(0, 1, 3, 2, 4).reshape(-1, tall * wide)

    c = windows(counts).astype("f8")
    n = c.sum(axis=1)
    c, n = c[n > 0], n[n > 0]
    if not n.size:
        return 1.0
    left, right = (windows(np.where(counts, x, 0.0))[windows(counts).any(axis=1)] for x in (a, b))
    means = [(x * c).sum(axis=1) / n for x in (left, right)]
    left, right = (c * (x - m[:, None]) for x, m in zip((left, right), means))
    squares = [(x * x).sum(axis=1) / n for x in (left, right)]
    both = (left * right).sum(axis=1) / n
    c1, c2 = (0.01 * value_range) ** 2, (0.03 * value_range) ** 2
    light = (2 * means[0] * means[1] + c1) / (means[0] ** 2 + means[1] ** 2 + c1)
    return float(np.sum(n * light * (2 * both + c2) / (squares[0] + squares[1] + c2)) / n.sum())


def _sample(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Pieces from all over a long array."""
    if a.nbytes <= _SAMPLE_BYTES:
        return a
    count = _PIECE_BYTES // a.itemsize
    starts = np.linspace(0, a.size - count, _SAMPLE_BYTES // _PIECE_BYTES).astype(int)
    return np.concatenate([a[start : start + count] for start in starts])


def _search(
    ends: tuple[float, float],
    window: tuple[float, float],
    not_below: bool,
    sample: Callable[[float], float],
    whole: Callable[[float], float],
) -> tuple[float, float]:
    """The bound with a score in the window, else the nearest on the side that is allowed, and its score."""
    (low, high), middle = ends, sum(window) / 2
    best = None
    bound = _short(_on_sample((low, high), middle, sample))
    for tries in range(16):
        score = whole(bound)
        if window[0] <= score <= window[1]:
            return bound, score
        low, high = (max(bound, low), high) if score < window[0] else (low, min(bound, high))
        allowed = score >= window[0] if not_below else score <= window[1]
        rank = (not allowed, abs(score - middle))
        if best is None or rank < best[0]:
            best = rank, bound, score
        if high <= low * (1 + _NEAR):
            break
        halfway = _short(math.sqrt(low) * math.sqrt(high))
        # The sample, put right by what the whole says here, is near; halving always gets there.
        bound = _short(_on_sample((low, high), middle - score + sample(bound), sample)) if tries < 3 else halfway
        bound = bound if low < bound < high else halfway
        if not low < bound < high:
            bound = high if not_below else low
    assert best is not None  # there was a try
    return best[1], best[2]


def _on_sample(ends: tuple[float, float], wanted: float, sample: Callable[[float], float]) -> float:
    low, high = ends
    while high > low * (1 + _NEAR):
        middle = math.sqrt(low) * math.sqrt(high)
        low, high = (middle, high) if sample(middle) < wanted else (low, middle)
    return math.sqrt(low) * math.sqrt(high)


def _short(bound: float) -> float:
    """As many digits as people type."""
    return float(f"{bound:.3e}")
