"""A request in Python's words as sleek_params."""

from __future__ import annotations

import ctypes
import operator
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ._library import Params, SleekError, check, lib

MODES = ("lossless", "abs", "noa", "rel", "rate", "precision")
PROFILES = ("adaptive", "fast", "small")
CODECS = {0: "default", 1: "sleek", 3: "zfp", 5: "interp"}
CODEC_IDS = {name: codec for codec, name in CODECS.items()}

FLOATS = ("float32", "float64", "float16", "bfloat16")
_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
# Element types of sleek.h by numpy's names.
DTYPES = {name: code for code, name in enumerate(FLOATS + _INTEGERS, 1)}
# What goes as elements of another type: complex numbers as pairs along one more dimension, where a bound holds for each part.
PAIRS = {"complex64": "float32", "complex128": "float64"}
ITEM_BYTES = {code: int("".join(c for c in name if c.isdigit())) // 8 for name, code in DTYPES.items()}
F64 = (DTYPES["float64"], 0)
# The arguments of a request, where nothing is asked for.
NAMED: dict[str, Any] = {
    **dict.fromkeys((*MODES[1:], "range", "fill")),
    "lossless": False,
    "profile": PROFILES[0],
}
if TYPE_CHECKING:
    from typing import TypedDict

    class Asked(TypedDict, total=False):
        """The arguments of a request, which `compress` explains."""

        abs: float | None
        noa: float | None
        rel: float | None
        rate: float | None
        precision: int | None
        lossless: bool
        range: float | None
        fill: float | None
        profile: str


# Of integers, those that a rate or a precision can round.
_ROUNDED = ("int32", "int64")
# The dimensions that tell of a stream that the array has none, as a stream has one at least: as many as there can be.
_NO_DIMS = (1,) * 32
INVALID_ARGUMENT = 2
# The greatest numbers of C's types.
INT32, SIZE = 2**31 - 1, 2**64 - 1
UNSUPPORTED_TYPE = 4


def in_words(request: str | None, asked: Mapping[str, Any]) -> str:
    """A request as the library takes it: as it is, or what the arguments ask for. Bounds are for the library to check."""
    asked = {name: bool(value) if isinstance(value, np.bool_) else value for name, value in asked.items()}
    unknown = asked.keys() - NAMED.keys()
    if unknown:
        raise TypeError(f"{sorted(unknown)[0]} is no argument of a request; known are {', '.join(NAMED)}")
    given = {name: value for name, value in asked.items() if value is not None and (NAMED[name] is None or value != NAMED[name])}
    if given.get("lossless", True) is not True:
        raise TypeError(f"lossless is {given['lossless']!r}; True or False is needed")
    if request is not None and not isinstance(request, str):
        raise TypeError(f"the request is {request!r}; a text such as 'abs=1e-3' is needed, or an argument such as abs=1e-3")
    if request is not None:
        words = [request] + ["no-fill"] * (given.get("fill") is False)
        if len(given) >= len(words):
            raise TypeError(f"the request {request!r} goes with no further arguments ({_told(given)}): write them into it")
        return ",".join(words)
    modes = [name for name in MODES if name in given]
    if len(modes) != 1:
        raise TypeError(f"exactly one of {', '.join(MODES)} is needed, not {_told(given)}; or a text such as 'abs=1e-3'")
    if "range" in given and modes != ["noa"]:
        raise TypeError(f"range={given['range']} goes with noa, not with {modes[0]}")
    if given.get("profile", PROFILES[0]) not in PROFILES:
        raise ValueError(f"profile is {given['profile']!r}; known are {', '.join(PROFILES)}")
    words = ["lossless"] if modes == ["lossless"] else []
    words += [f"{name}={number(name, given[name], True)}" for name in (*modes, "range") if name in given and name != "lossless"]
    words += ["codec=zfp"] if modes[0] in ("rate", "precision") else []
    words += ["no-fill" if given["fill"] is False else f"fill={number('fill', given['fill'])}"] if "fill" in given else []
    return ",".join(words + ([f"profile={given['profile']}"] if "profile" in given else []))


def number(name: str, value: Any, down: bool = False) -> str:
    """A number in words: as a float holds it, which is the nearest one, or, for bounds, the one below."""
    try:
        if isinstance(value, bool):
            raise TypeError
        x = float(value)
    except (TypeError, ValueError, OverflowError):
        several = "; several go in words, as in 'abs=1e-3,fill=-9999,fill=1e20'" if name == "fill" else ""
        raise TypeError(f"{name} is {value!r}; a number is needed, such as {name}=1e-3, which a float can hold{several}") from None
    # Fractions, decimals, long doubles and integers may lie between two floats.
    if down and not isinstance(value, (str, bytes)) and np.isfinite(x) and x > value:
        x = float(np.nextafter(x, -np.inf))
    return repr(x).removesuffix(".0")


def asks_for_integers(words: str) -> bool:
    """Whether a request in words is for integers too, which only those of a rate or a precision can be."""
    return "integers" in (word.strip() for word in words.split(","))


def natural(name: str, value: Any, most: int) -> int:
    """A number from 0 to `most`, which C takes as an integer of so many bits."""
    whole = operator.index(value)
    if not 0 <= whole <= most:
        raise SleekError(f"{name} is {value}; it must be from 0 to {most}", INVALID_ARGUMENT)
    return whole


def _told(given: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in given.items()) or "none"


def params(kind: tuple[int, int], request: str, threads: int = 0) -> Params:
    """A request in words as parameters for elements of `kind`."""
    return Params.from_buffer_copy(_parsed(kind, request, natural("threads", threads, INT32)))


@lru_cache(maxsize=64)
def _parsed(kind: tuple[int, int], request: str, threads: int) -> bytes:
    """The parameters that a text asks for; programs ask for few."""
    if "\0" in request:
        raise SleekError(f"the request {request!r} has a NUL character, where C's texts end", INVALID_ARGUMENT)
    p = Params()
    check(lib.sleek_params_init(ctypes.byref(p)))
    p.dtype, p.big_endian = kind
    p.threads = threads
    check(lib.sleek_params_parse(ctypes.byref(p), request.encode()))
    if MODES[p.mode] in ("rate", "precision") and p.dtype in map(DTYPES.get, _ROUNDED) and not asks_for_integers(request):
        raise SleekError(f"{request!r} would round integers; where it is to do so, it is {request + ',integers'!r}", UNSUPPORTED_TYPE)
    return bytes(p)


def searching(p: Params) -> Params:
    """The same with the search for undeclared fill values, which the host does unless ``fill=False`` forbids it."""
    p.find_fill = p.find_fill or 1
    return p


def refuse_if_wrong(p: Params) -> None:
    """Lets the library check a request before there is data: it compresses nothing."""
    stream = ctypes.create_string_buffer(capacity(p, 0))
    written = ctypes.c_size_t()
    check(lib.sleek_compress(ctypes.byref(p), None, 0, stream, len(stream), ctypes.byref(written), None))


def arguments(request: str) -> dict[str, Any]:
    """The keyword arguments of a request in words without those that are at their defaults, after the library has checked it."""
    p = params(F64, request)
    refuse_if_wrong(p)
    if p.missing_count or p.codec or (p.has_fill_value and (p.find_fill < 0 or not np.isfinite(p.fill_value))):
        # Arguments have no names for these, JSON no number; the words have.
        return {"request": request}
    given: dict[str, Any] = {MODES[p.mode]: p.bound if p.mode else True}
    if p.range:
        given["range"] = p.range
    if p.has_fill_value or p.find_fill < 0:
        given["fill"] = p.fill_value if p.has_fill_value else False
    if p.profile:
        given["profile"] = PROFILES[p.profile]
    return given


def of_chunk(request: dict[str, Any], chunk: np.ndarray[Any, Any], fill: Any = None) -> Params:
    """The parameters for a chunk of an array whose fill value, if it is known, is `fill`.

    Fill values fill the rim of chunks at the edge, and what was never written. One that is not 0 is a missing value: it comes back
    as it was, and does not count for the range of ``noa``. Where no range is given, the library measures it, as the HDF5 filter does
    it: zeros do not count either, nor what the last element of the chunk, which is part of any rim, is equal to, nor values that look
    like missing ones; and the step is a power of two, at most the bound, so that a chunk that is written again and again keeps its
    bound.
    """
    kind, floats = chunk.dtype, chunk.dtype.name in FLOATS
    p = requested(kind if floats else np.dtype("f4"), request)
    if isinstance(chunk, np.ndarray):
        searching(p)
    p.dtype, p.big_endian = element(kind)
    if not floats and not (kind.name in _ROUNDED and asks_for_integers(request.get("request", ""))):
        # Integers can have no bound; every bit keeps any, and a rate or a precision is for them where the request says so.
        p.mode, p.bound, p.range, p.codec, p.has_fill_value, p.missing_count = 0, 0.0, 0.0, 0, 0, 0
        return p
    marks = [p.fill_value] if p.has_fill_value else []
    known = [*marks, *missing_of(p, kind)]
    if fill is not None and fill != 0:
        bits = np.asarray(fill, kind)
        if not any(same(bits, np.asarray(mark, kind)) for mark in known):
            if p.missing_count + p.has_fill_value == 4:
                raise SleekError(f"four missing values are named, and the array's fill value {fill} is a fifth", INVALID_ARGUMENT)
            p.missing[p.missing_count] = int(bits.astype(kind.newbyteorder("=")).view(f"u{kind.itemsize}"))
            p.missing_count += 1
    if MODES[p.mode] == "noa" and not p.range and chunk.size:
        check(lib.sleek_params_of_chunk(ctypes.byref(p), chunk.ctypes.data, chunk.size))
    return p


def requested(dtype: np.dtype[Any], request: Mapping[str, Any]) -> Params:
    """The request of `arguments` as parameters."""
    asked = dict(request)
    return params(element(dtype), in_words(asked.pop("request", None), asked))


def same(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    """Whether two numbers have the same bits."""
    return a.tobytes() == b.tobytes()


def missing_of(p: Params, dtype: np.dtype[Any]) -> Iterator[Any]:
    """The missing values that are named by their bits, as elements."""
    for bits in p.missing[: p.missing_count]:
        yield np.array(bits, f"u{dtype.itemsize}").view(dtype.newbyteorder("="))[()]


def shaped(p: Params, shape: tuple[int, ...]) -> None:
    """Sets the lengths of the dimensions, where there is more than one, or none."""
    shape = shape or _NO_DIMS
    if len(shape) > 1:
        p.dims, p.rank = (ctypes.c_uint64 * len(shape))(*shape), len(shape)


def own_shape(dims: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of an array whose stream has these dimensions."""
    return () if dims == _NO_DIMS else dims


def gains_by_dims(p: Params) -> bool:
    """Whether the codec works along dimensions; of others the shape changes nothing but the header."""
    return CODECS[p.codec] in ("interp", "zfp") or p.codec == 0 and PROFILES[p.profile] == "small"


def capacity(p: Params, count: int) -> int:
    """The most bytes that a stream of `count` elements takes; raises what is wrong with the parameters."""
    size: int = lib.sleek_compress_bound(ctypes.byref(p), count)
    if size == 0:
        raise SleekError(lib.sleek_last_error().decode(), INVALID_ARGUMENT)
    return size


def element(dtype: np.dtype[Any]) -> tuple[int, int]:
    """The element type of sleek.h, and whether it is big-endian."""
    if dtype.name not in DTYPES:
        raise unknown_type(dtype.name)
    return DTYPES[dtype.name], big_endian(dtype)


def big_endian(dtype: np.dtype[Any]) -> int:
    """Whether elements are big-endian, which is 1 or 0."""
    return int((dtype == dtype.newbyteorder("=")) == (sys.byteorder == "big"))


def is_bytes(name: str) -> bool:
    """Whether elements of a type, by numpy's name, go as their bytes: truth values and floats of 8 bits."""
    return name == "bool" or name.startswith("float8_")


def stored_as(name: str) -> tuple[int, tuple[int, ...]]:
    """The element type of sleek.h as which elements go that numpy, PyTorch or DLPack call so, and the lengths of one."""
    code = DTYPES.get("uint8" if is_bytes(name) else PAIRS.get(name, name))
    if code is None:
        raise unknown_type(name)
    return code, (2,) if name in PAIRS else ()


def as_elements(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """An array that is contiguous in C order, as elements of the type as which it goes."""
    if a.dtype.name in PAIRS:
        return a[..., None].view(f"{a.dtype.byteorder}f{a.itemsize // 2}")
    return a.view("u1") if is_bytes(a.dtype.name) else a


def computed(array: Any) -> Any:
    """An array whose mask numpy knows: of arrays of dask, and of lists of masked arrays, it takes the elements alone."""
    if isinstance(getattr(array, "_meta", None), np.ma.MaskedArray):
        return array.compute()
    if isinstance(array, (list, tuple)):
        parts = [computed(part) if isinstance(part, (list, tuple)) or hasattr(part, "_meta") else part for part in array]
        return np.ma.array(parts) if any(isinstance(part, np.ma.MaskedArray) for part in parts) else array
    return array


def unknown_type(name: str) -> SleekError:
    known = ", ".join((*DTYPES, *PAIRS, "bool", "float8_*"))
    return SleekError(f"elements of type {name} are not known; known are {known}", UNSUPPORTED_TYPE)


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
