"""What a variable declares, as netCDF's conventions have it: missing values, by `_FillValue` and `missing_value`, and a valid range."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ._library import SleekError
from ._params import FLOATS, INVALID_ARGUMENT, MODES, NAMED, same

_NAMES = ("_FillValue", "missing_value")
_VALID = ("valid_range", "valid_min", "valid_max")
_MOST = 4


def with_declared(
    variable: Any, request: str | None, given: dict[str, Any], with_limits: bool = False
) -> tuple[str | None, dict[str, Any]]:
    """A request, in words or by arguments, and what the variable declares besides.

    What the caller names goes before: with a `fill` no missing value is read, and with ``fill=False`` there is none. With limits, which
    only HDF5's filter takes, it has those of the valid range under a bound.
    """
    fill = given.get("fill")
    marks = [] if fill is not None or "fill" in (request or "") else declared(variable)
    bounded = any(f"{name}=" in (request or "") or given.get(name) is not None for name in ("abs", "noa", "rel"))
    limits = _limits(variable) if with_limits and bounded and "limits" not in (request or "") else None
    if not marks and limits is None:
        return request, given
    if request is None and len(marks) == 1 and limits is None:
        return request, {**given, "fill": float(marks[0])}
    words = _words(given) if request is None else [request]
    words += [] if limits is None else [f"limits={limits}"]
    words += [] if fill is None else ["no-fill" if fill is False else f"fill={float(fill)!r}"]
    # In words one is a number, further ones are an element's bits.
    words += [f"fill={float(mark)!r}" for mark in marks[:1]]
    words += [f"fill={int(mark.view(f'u{mark.itemsize}')):#x}" for mark in marks[1:]]
    return ",".join(words), {name: NAMED[name] for name in given if name in NAMED}


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
    if len(found) > _MOST:
        raise SleekError(
            f"{', '.join(_NAMES)} name {[float(v) for v in found]}; a variable can have up to {_MOST} missing values", INVALID_ARGUMENT
        )
    return specials[: _MOST - len(found)] + found


def _limits(variable: Any) -> str | None:
    """The valid range of a variable of floats in words, such as ``0.0:1.0`` or ``0.0:``."""
    attributes = _attributes(variable)
    if _dtype(variable).name not in FLOATS:
        return None
    both = list(_numbers(attributes, "valid_range"))
    low, high = both if len(both) == 2 else [next(_numbers(attributes, name), None) for name in _VALID[1:]]
    low, high = (None if end is None or not np.isfinite(end) else end for end in (low, high))
    if low is None and high is None or low is not None and high is not None and low > high:
        return None
    return ":".join("" if end is None else repr(float(end)) for end in (low, high))


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
            yield from np.atleast_1d(np.asarray(value).astype("f8")).tolist()
        except (TypeError, ValueError):
            continue  # a text of words


def _attributes(variable: Any) -> list[Mapping[str, Any]]:
    if hasattr(variable, "ncattrs"):
        return [{name: variable.getncattr(name) for name in variable.ncattrs() if name in _NAMES + _VALID}]
    owners = [getattr(variable, "attrs", None), getattr(variable, "encoding", None)]
    if not any(isinstance(owner, Mapping) for owner in owners):
        raise TypeError(f"variable is a {type(variable).__name__}; one of xarray, netCDF4 or h5py is needed, which has attributes")
    return [owner for owner in owners if isinstance(owner, Mapping)]


def _words(given: dict[str, Any]) -> list[str]:
    """Arguments as a request in words."""
    words = ["lossless"] if given.get("lossless") else []
    numbers = (*MODES[1:], "range")
    words += [f"{name}={given[name]!r}" for name in numbers if given.get(name) is not None]
    words += ["codec=zfp"] if any(given.get(name) is not None for name in ("rate", "precision")) else []
    profile = given.get("profile") or NAMED["profile"]
    return words + ([f"profile={profile}"] if profile != NAMED["profile"] else [])
