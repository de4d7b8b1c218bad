"""What a variable declares, as netCDF's conventions have it: missing values, by `_FillValue` and `missing_value`, and a valid range."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ._library import SleekError
from ._params import FLOATS, INVALID_ARGUMENT, in_words, number, same

_NAMES = ("_FillValue", "missing_value")
_VALID = ("valid_range", "valid_min", "valid_max")
_MOST = 4
_MOST_KNOWN = 2  # as many may be named where undeclared ones are still searched for


def with_declared(variable: Any, request: str | None, asked: Mapping[str, Any], with_limits: bool = False) -> str:
    """A request in words, and what the variable declares besides.

    What the caller names goes before: with a `fill` no missing value is read, and with ``fill=False`` there is none. With limits, which
    only HDF5's filter takes, it has those of the valid range under a bound.
    """
    words = in_words(request, asked)
    keys = [item.partition("=")[0].strip() for item in words.split(",")]
    marks = [] if "fill" in keys or "no-fill" in keys else declared(variable)
    limits = valid_limits(variable) if with_limits and "limits" not in keys and not {"abs", "noa", "rel"}.isdisjoint(keys) else None
    more = [] if limits is None else ["limits=" + ":".join("" if end is None else number("limits", end) for end in limits)]
    if limits is not None and "fill" not in keys:
        marks += beyond(variable, limits, _MOST_KNOWN - len(marks) - (0 in marks))
    # As numbers, since the array may be stored as elements of another type.
    return ",".join([words, *more, *(f"fill={number('fill', mark)}" for mark in marks)])


def declared(variable: Any) -> list[Any]:
    """The missing values of a variable of floats, of netCDF4, xarray or h5py, each once, as its elements.

    NaN and infinities come back exactly in any case, and are told as far as there is room; so do integers.
    """
    attributes = _attributes(variable)
    dtype = _dtype(variable)
    found: list[Any] = []
    specials: list[Any] = []
    for value in (number for name in _NAMES for number in _numbers(attributes, name)) if dtype.name in FLOATS else ():
        with np.errstate(over="ignore"):
            element = np.asarray(value).astype(dtype)[()]
        if not np.isfinite(value):
            specials += [element] if not any(same(element, known) for known in specials) else []
        elif np.isfinite(element) and element not in found:
            found.append(element)
    taken = len(found) + (0 in found)  # a zero is two elements, 0 and -0
    if taken > _MOST:
        raise SleekError(
            f"{', '.join(_NAMES)} name {[float(v) for v in found]}; a variable can have up to {_MOST} missing values, of which 0 counts twice", INVALID_ARGUMENT
        )
    return specials[: _MOST - taken] + found


def beyond(variable: Any, limits: tuple[float | None, float | None], room: int) -> list[Any]:
    """The elements nearest to the limits that lie beyond them, as far as there is room: they are valid to who reads the limits in the type of
    the variable, and stay what they are to anybody where they are kept exactly, and apart from all others."""
    dtype = _dtype(variable)
    found: list[Any] = []
    for end, sign in zip(limits, (-1, 1)):
        with np.errstate(over="ignore"):
            element = None if end is None else np.asarray(end).astype(dtype)[()]
        places = 1 + (element == 0)  # as above
        if element is not None and np.isfinite(element) and sign * float(element) > sign * float(end or 0) and places <= room:
            found.append(element)
            room -= places
    return found


def valid_limits(variable: Any) -> tuple[float | None, float | None] | None:
    """The valid range of a variable of floats: None where there is no end."""
    attributes = _attributes(variable)
    if _dtype(variable).name not in FLOATS:
        return None
    both = list(_numbers(attributes, "valid_range"))
    low, high = both if len(both) == 2 else [next(_numbers(attributes, name), None) for name in _VALID[1:]]
    low, high = (None if end is None or not np.isfinite(end) else end for end in (low, high))
    if low is None and high is None or low is not None and high is not None and low > high:
        return None
    return low, high


def _dtype(variable: Any) -> np.dtype[Any]:
    """The type of a variable's elements in the file."""
    kind = getattr(variable, "encoding", {}).get("dtype") or getattr(variable, "dtype", "f8")
    return np.dtype("f8" if kind is str else kind).newbyteorder("=")


def _numbers(attributes: list[Mapping[str, Any]], name: str) -> Iterator[float]:
    """The numbers of an attribute, whatever their type; a text counts if it is a number."""
    for owner in attributes:
        value = owner.get(name)
        if value is None:
            continue
        if isinstance(value, (str, bytes)):
            text = value.decode(errors="replace") if isinstance(value, bytes) else value
            value = text.strip().rstrip("fFdDL")
        try:
            yield from np.asarray(value).astype("f8").ravel().tolist()
        except (TypeError, ValueError):
            continue  # a text of words


def _attributes(variable: Any) -> list[Mapping[str, Any]]:
    if hasattr(variable, "ncattrs"):
        return [{name: variable.getncattr(name) for name in variable.ncattrs() if name in _NAMES + _VALID}]
    owners = [getattr(variable, "attrs", None), getattr(variable, "encoding", None)]
    if not any(isinstance(owner, Mapping) for owner in owners):
        raise TypeError(f"variable is a {type(variable).__name__}; one of xarray, netCDF4 or h5py is needed, which has attributes")
    return [owner for owner in owners if isinstance(owner, Mapping)]
