"""A request in Python's words as sleek_params."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np

from ._library import Params, SleekError, check, lib

MODES = ("lossless", "abs", "noa", "rel")
PROFILES = ("adaptive", "fast", "ratio")

# Element types of sleek.h by numpy's names.
DTYPES = {
    "float32": 1,
    "float64": 2,
    "float16": 3,
    "bfloat16": 4,
    "int8": 5,
    "int16": 6,
    "int32": 7,
    "int64": 8,
    "uint8": 9,
    "uint16": 10,
    "uint32": 11,
    "uint64": 12,
}
INVALID_ARGUMENT = 2
UNSUPPORTED_TYPE = 4


def params(
    dtype: np.dtype[Any],
    request: str | None,
    abs: float | None,
    noa: float | None,
    rel: float | None,
    lossless: bool,
    range: float | None,
    fill: float | None,
    profile: str,
    threads: int = 0,
) -> Params:
    """The request, in words or by arguments, as parameters for elements of `dtype`. Bounds are for the library to check."""
    p = Params()
    check(lib.sleek_params_init(ctypes.byref(p)))
    p.dtype, p.big_endian = element(dtype)
    p.threads = threads
    if request is not None:
        if not isinstance(request, str):
            raise TypeError(f"the request is {request!r}; a text such as 'abs=1e-3' is needed, or an argument such as abs=1e-3")
        if lossless or profile != PROFILES[0] or any(v is not None for v in (abs, noa, rel, range, fill)):
            raise TypeError(f"the request {request!r} goes with no further arguments: write them into it, as in 'noa=1e-4,range=50'")
        check(lib.sleek_params_parse(ctypes.byref(p), request.encode()))
        return p
    given = [(mode, bound) for mode, bound in (("abs", abs), ("noa", noa), ("rel", rel)) if bound is not None]
    if len(given) + bool(lossless) != 1:
        raise TypeError("exactly one of abs=E, noa=E, rel=E and lossless=True is needed, or a text such as 'abs=1e-3'")
    mode, bound = given[0] if given else ("lossless", 0.0)
    for name, value in (("range", range), ("fill", fill)):
        if value is not None and mode != "noa":
            raise TypeError(f"{name}={value} goes with noa, not with {mode}")
    if profile not in PROFILES:
        raise ValueError(f"profile is {profile!r}; known are {', '.join(PROFILES)}")
    if range is not None and not range > 0:
        # The library takes 0 for a range to be measured.
        raise SleekError(f"range is {range}; a number above 0 is needed", INVALID_ARGUMENT)
    p.mode, p.bound, p.profile = MODES.index(mode), bound, PROFILES.index(profile)
    p.range = 0.0 if range is None else range
    p.has_fill_value, p.fill_value = (0, 0.0) if fill is None else (1, fill)
    return p


def refuse_if_wrong(p: Params) -> None:
    """Lets the library check a request before there is data: it compresses nothing."""
    stream = ctypes.create_string_buffer(capacity(p, 0))
    written = ctypes.c_size_t()
    check(lib.sleek_compress(ctypes.byref(p), None, 0, stream, len(stream), ctypes.byref(written), None))


def arguments(
    request: str | None,
    abs: float | None,
    noa: float | None,
    rel: float | None,
    lossless: bool,
    range: float | None,
    fill: float | None,
    profile: str,
) -> dict[str, Any]:
    """The keyword arguments of a request without those that are at their defaults, after the library has checked it."""
    p = params(np.dtype("f4"), request, abs, noa, rel, lossless, range, fill, profile)
    refuse_if_wrong(p)
    given: dict[str, Any] = {MODES[p.mode]: p.bound if p.mode else True}
    if p.range:
        given["range"] = p.range
    if p.has_fill_value:
        given["fill"] = p.fill_value
    if p.profile:
        given["profile"] = PROFILES[p.profile]
    return given


def capacity(p: Params, count: int) -> int:
    """The most bytes that a stream of `count` elements takes; raises what is wrong with the parameters."""
    size: int = lib.sleek_compress_bound(ctypes.byref(p), count)
    if size == 0:
        raise SleekError(lib.sleek_last_error().decode(), INVALID_ARGUMENT)
    return size


def element(dtype: np.dtype[Any]) -> tuple[int, int]:
    """The element type of sleek.h, and whether it is big-endian."""
    code = DTYPES.get(dtype.name)
    if code is None:
        raise SleekError(f"elements of type {dtype} are not known; known are {', '.join(DTYPES)}", UNSUPPORTED_TYPE)
    native = dtype == dtype.newbyteorder("=")
    return code, int(native == (sys.byteorder == "big"))


def numpy_dtype(code: int, big_endian: bool) -> np.dtype[Any]:
    """The numpy type of an element type of sleek.h."""
    name = next(n for n, c in DTYPES.items() if c == code)
    if name == "bfloat16":
        if big_endian:
            raise SleekError("bfloat16 elements are big-endian, which numpy cannot represent", UNSUPPORTED_TYPE)
        try:
            import ml_dtypes
        except ImportError:
            raise SleekError("bfloat16 elements need the package ml_dtypes", UNSUPPORTED_TYPE) from None
        bfloat16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
        return bfloat16
    dtype = np.dtype(name)
    return dtype if big_endian == (sys.byteorder == "big") else dtype.newbyteorder()
