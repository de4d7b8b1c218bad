"""Missing values that nobody declared: a value far outside of all others, again and again. docs/guide/cli.md has the rules."""

from __future__ import annotations

from typing import Any

import numpy as np

# Elements of a page, and of how many pages one is looked at, beyond as many as are looked at in any case.
_PAGE, _STEP, _HEAD = 1024, 64, 64
# Count, share and distance, in ranges of the others, that any value takes to be found, and how many others there must be.
_ANY = (16, 0.001, 10.0, 16)
_USUAL = (4, 0.0, 1.0, 2)
_MARKS = np.array(
    [10.0**n - 1 for n in range(2, 10)]
    + [(10.0**n - 1) / 10 for n in range(3, 7)]
    + [(10.0**n - 1) / 100 for n in range(4, 7)]
    + [float(f"1e{e}") for e in range(10, 38)]
    + [9.969209968386869e36, 32767.0, 32768.0, 2147483647.0, 2147483648.0, float(np.finfo("f4").max), np.finfo("f8").max]
)


class MissingValueWarning(UserWarning):
    """A value looks as if it marked missing ones, and was not named with ``fill``: it may change, and it stretches the range."""

    __module__ = "sleek"


def undeclared(array: np.ndarray[Any, Any], declared: float | None) -> str | None:
    """What is to be said of a value that stands apart, if there is one: of some pages first, then of all elements."""
    flat = array.reshape(-1)
    pages = flat[: flat.size // _PAGE * _PAGE].reshape(-1, _PAGE)
    step = max(1, min(_STEP, len(pages) // _HEAD))
    some = flat if step == 1 else pages[::step]
    if not _found(some, declared, False):
        return None
    found = _found(flat, declared, True)
    return None if found is None else _message(*found, flat.size)


def _found(some: np.ndarray[Any, Any], declared: float | None, whole: bool) -> tuple[Any, int, Any, Any] | None:
    """The value, how often it is there, and the smallest and the largest of the others."""
    some = some.reshape(-1)
    stored = some.dtype.newbyteorder("=")
    dtype = stored if stored.itemsize > 2 else np.dtype("f4")
    with np.errstate(invalid="ignore", over="ignore"):
        values = some.astype(dtype, copy=False)
        values = values[np.isfinite(values)]
        if declared is not None:
            values = values[values != dtype.type(declared)]
        if values.size == 0:
            return None
        ends = values.min(), values.max()
        others = values[(values > ends[0]) & (values < ends[1])]
        if others.size == 0:
            return None
        least, most = others.min(), others.max()
        span = float(most) - float(least)
        rules = [_USUAL if _is_usual(end, stored) else _ANY for end in ends]
        apart = [
            float(least) - float(ends[0]) > rules[0][2] * span,
            float(ends[1]) - float(most) > rules[1][2] * span,
        ]
        # An end that does not stand apart is one of the others.
        least, most = (least if apart[0] else ends[0]), (most if apart[1] else ends[1])
        span = float(most) - float(least)
        for end, rule, distance in zip(ends, rules, (float(least) - float(ends[0]), float(ends[1]) - float(most))):
            is_small = end == 0 or (abs(end) <= max(abs(least), abs(most)) and (end < 0) == (least < 0))
            if is_small or not distance > rule[2] * span:
                continue
            count = int((values == end).sum())
            if not whole and count > 1:
                return end, count, least, most
            if whole and count >= max(rule[0], rule[1] * some.size) and np.unique(others).size >= rule[3]:
                return end, count, least, most
    return None


def _is_usual(value: Any, dtype: np.dtype[Any]) -> bool:
    return bool((_MARKS.astype(dtype).astype("f8") == abs(float(value))).any())


def _message(value: Any, count: int, least: Any, most: Any, size: int) -> str:
    return (
        f"{value:g} in {count} of {size} elements ({100 * count / size:.2f} %), far outside of all other values, which are "
        f"from {least:g} to {most:g}: if it marks missing values pass fill={value:g}, if it is data ignore "
        "sleek.MissingValueWarning"
    )
