"""The missing values that a variable declares: `_FillValue` and `missing_value`, as netCDF's conventions have them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ._library import SleekError
from ._params import FLOATS, INVALID_ARGUMENT, MODES, NAMED

_NAMES = ("_FillValue", "missing_value")
_MOST = 4


def with_declared(variable: Any, request: str | None, given: dict[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """A request, in words or by arguments, and what the variable declares besides.

    What the caller names goes before: with a `fill` nothing is read, and with ``fill=False`` there is none.
    """
    named = given.get("fill") is not None or "fill" in (request or "")
    marks = [] if named else declared(variable)
    if not marks:
        return request, given
    if request is None and len(marks) == 1:
        return request, {**given, "fill": float(marks[0])}
    words = [*(_words(given) if request is None else [request]), f"fill={float(marks[0])!r}"]
    # In words one is a number, further ones are an element's bits.
    words += [f"fill={int(mark.view(f'u{mark.itemsize}')):#x}" for mark in marks[1:]]
    return ",".join(words), {name: NAMED[name] for name in given if name in NAMED}


def declared(variable: Any) -> list[Any]:
    """The missing values of a variable of floats, of netCDF4, xarray or h5py, each once, as its elements.

    NaN and infinities come back exactly in any case, and so do integers.
    """
    attributes = _attributes(variable)
    kind = getattr(variable, "encoding", {}).get("dtype") or getattr(variable, "dtype", "f8")
    dtype = np.dtype("f8" if kind is str else kind).newbyteorder("=")
    found: list[Any] = []
    for value in (number for name in _NAMES for number in _numbers(attributes, name)) if dtype.name in FLOATS else ():
        with np.errstate(over="ignore"):
            element = np.asarray(value).astype(dtype)[()]
        if np.isfinite(element) and element not in found:
            found.append(element)
    if len(found) > _MOST:
        raise SleekError(
            f"{', '.join(_NAMES)} name {[float(v) for v in found]}; a variable can have up to {_MOST} missing values", INVALID_ARGUMENT
        )
    return found


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
        return [{name: variable.getncattr(name) for name in variable.ncattrs() if name in _NAMES}]
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
