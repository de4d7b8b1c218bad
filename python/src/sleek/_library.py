"""libsleek.so: its functions and structures as sleek.h has them."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any

PLUGIN_PATH: str = str(Path(__file__).parent / "plugin")
"""The folder of the HDF5 plugin, for the environment variable HDF5_PLUGIN_PATH."""


class SleekError(Exception):
    """What the library refused, in its own words. ``code`` is the status code of sleek.h.

    >>> import sleek
    >>> sleek.decompress(b"no stream of ours")
    Traceback (most recent call last):
    ...
    sleek.SleekError: not a SLEEK stream: ...
    """

    __module__ = "sleek"

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[type[SleekError], tuple[str, int]]:
        return SleekError, (str(self), self.code)


def fields(**types: Any) -> list[tuple[str, Any]]:
    """The fields of a structure."""
    return list(types.items())


class Params(ctypes.Structure):
    """sleek_params"""

    _fields_ = fields(
        struct_size=c_size_t, dtype=c_int32, mode=c_int32, codec=c_int32, profile=c_int32, bound=c_double, range=c_double,
        fill_value=c_double, has_fill_value=c_int32, big_endian=c_int32, device=c_int32, threads=c_int32, dims=POINTER(c_uint64),
        rank=c_int32, missing_count=c_int32, missing=c_uint64 * 4, find_fill=c_int32, rewritten=c_int32, reserved=c_uint32 * 2,
    )  # fmt: skip


class StreamInfo(ctypes.Structure):
    """sleek_info"""

    _fields_ = fields(
        struct_size=c_size_t, format_version=c_int32, codec=c_int32, dtype=c_int32, element_bytes=c_int32, mode=c_int32, profile=c_int32,
        big_endian=c_int32, rank=c_int32, count=c_uint64, raw_bytes=c_uint64, stream_bytes=c_uint64, bound=c_double, range=c_double,
        abs_bound=c_double, chunks_packed=c_uint64, chunks_raw=c_uint64, chunks_constant=c_uint64, chunks_masked=c_uint64,
        missing_count=c_uint64, missing=c_uint64 * 4, missing_found=c_uint64,
    )  # fmt: skip


class DirectInfo(ctypes.Structure):
    """sleek_h5d_info"""

    _fields_ = fields(
        struct_size=c_size_t, route=c_int32, staged=c_int32, chunks=c_uint64, raw_bytes=c_uint64, stored_bytes=c_uint64,
        reserved=c_uint64 * 3, reason=c_char * 192,
    )  # fmt: skip


def _load() -> ctypes.CDLL:
    """The library, with what its functions return and take."""
    size, pointer, text, numbers = c_size_t, c_void_p, c_char_p, POINTER(c_uint64)
    asked, sizes, pointers, rank = POINTER(Params), POINTER(c_size_t), POINTER(c_void_p), POINTER(c_int32)
    stream = [pointer, size]
    array = [pointer, size]
    batch = [asked, size, pointers, sizes, pointers, sizes, pointer, pointer, size, pointer]
    transfer = [c_int64, c_int64, numbers, numbers, c_int64, pointer, pointer, POINTER(DirectInfo)]
    box = [pointer, numbers, numbers, pointer, size]
    signatures: dict[str, tuple[Any, list[Any]]] = {
        "params_init": (c_int32, [asked]),
        "params_parse": (c_int32, [asked, text]),
        "params_of_chunk": (c_int32, [asked, *array]),
        "find_bound": (c_int32, [asked, *array, c_int32, c_double]),
        "compress_bound": (size, [asked, size]),
        "compress": (c_int32, [asked, *array, *stream, sizes, pointer]),
        "decompress": (c_int32, [*stream, *array, sizes, pointer]),
        "decompress_as": (c_int32, [c_int32, c_int32, *stream, *array, pointer]),
        "decompress_range": (c_int32, [*stream, c_uint64, size, *array, pointer]),
        "decompress_coarse": (c_int32, [*stream, c_uint32, c_int32, numbers, numbers, *array, sizes, pointer]),
        "decompress_chunks": (c_int32, [*stream, pointer, size, *array]),
        "chunk_sides": (c_int32, [*stream, numbers, size, rank]),
        "chunk_ranges": (c_int32, [*stream, pointer, size, sizes]),
        "inspect": (c_int32, [*stream, POINTER(StreamInfo)]),
        "inspect_dims": (c_int32, [*stream, numbers, size, rank]),
        "device_info": (c_int32, [c_int32, pointer, pointer, text, size]),
        "device_prepare": (c_int32, [asked, c_int32, pointer]),
        "batch_workspace_bytes": (size, [size]),
        "compress_batch_async": (c_int32, batch),
        "decompress_batch_async": (c_int32, batch),
        "h5d_write": (c_int32, transfer),
        "h5d_read": (c_int32, transfer),
        "h5d_user": (None, [pointer]),
        "h5_class": (pointer, []),
        "array_create": (c_int32, [asked, size, pointers]),
        "array_read": (c_int32, box),
        "array_write": (c_int32, box),
        "array_flush": (c_int32, [pointer]),
        "array_bytes": (size, [pointer, sizes]),
        "array_free": (None, [pointer]),
        "last_error": (text, []),
        "strerror": (text, [c_int32]),
        "version": (text, []),
    }
    library = ctypes.CDLL(str(Path(PLUGIN_PATH) / "libsleek.so"))
    for name, (result, arguments) in signatures.items():
        function = getattr(library, f"sleek_{name}")
        function.restype, function.argtypes = result, arguments
    return library


lib = _load()
__version__: str = lib.sleek_version().decode()


def check(code: int) -> None:
    """Raises what a status code other than 0 stands for."""
    if code != 0:
        raise SleekError(lib.sleek_last_error().decode(), code)
