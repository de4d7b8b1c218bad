"""libsleek.so: its functions and structures as sleek.h has them."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path

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


class Params(ctypes.Structure):
    """sleek_params"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("dtype", c_int32),
        ("mode", c_int32),
        ("codec", c_int32),
        ("profile", c_int32),
        ("bound", c_double),
        ("range", c_double),
        ("fill_value", c_double),
        ("has_fill_value", c_int32),
        ("big_endian", c_int32),
        ("device", c_int32),
        ("threads", c_int32),
        ("dims", POINTER(c_uint64)),
        ("rank", c_int32),
        ("missing_count", c_int32),
        ("missing", c_uint64 * 4),
        ("find_fill", c_int32),
        ("reserved", c_uint32 * 3),
    ]


class StreamInfo(ctypes.Structure):
    """sleek_info"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("format_version", c_int32),
        ("codec", c_int32),
        ("dtype", c_int32),
        ("element_bytes", c_int32),
        ("mode", c_int32),
        ("profile", c_int32),
        ("big_endian", c_int32),
        ("rank", c_int32),
        ("count", c_uint64),
        ("raw_bytes", c_uint64),
        ("stream_bytes", c_uint64),
        ("bound", c_double),
        ("range", c_double),
        ("abs_bound", c_double),
        ("chunks_packed", c_uint64),
        ("chunks_raw", c_uint64),
        ("chunks_constant", c_uint64),
        ("chunks_masked", c_uint64),
        ("missing_count", c_uint64),
        ("missing", c_uint64 * 4),
        ("missing_found", c_uint64),
    ]


class DirectInfo(ctypes.Structure):
    """sleek_h5d_info"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("route", c_int32),
        ("staged", c_int32),
        ("chunks", c_uint64),
        ("raw_bytes", c_uint64),
        ("stored_bytes", c_uint64),
        ("reserved", c_uint64 * 3),
        ("reason", c_char * 192),
    ]


class Result(ctypes.Structure):
    """sleek_result"""

    _fields_ = [("bytes", c_uint64), ("status", c_int32), ("reserved", c_int32)]


def _load() -> ctypes.CDLL:
    transfer = [c_int64, c_int64, POINTER(c_uint64), POINTER(c_uint64), c_int64, c_void_p, c_void_p, POINTER(DirectInfo)]
    pointers, sizes = POINTER(c_void_p), POINTER(c_size_t)
    library = ctypes.CDLL(str(Path(PLUGIN_PATH) / "libsleek.so"))
    signatures = {
        "sleek_params_init": (c_int32, [POINTER(Params)]),
        "sleek_params_parse": (c_int32, [POINTER(Params), c_char_p]),
        "sleek_params_of_chunk": (c_int32, [POINTER(Params), c_void_p, c_size_t]),
        "sleek_find_bound": (c_int32, [POINTER(Params), c_void_p, c_size_t, c_int32, c_double]),
        "sleek_compress_bound": (c_size_t, [POINTER(Params), c_size_t]),
        "sleek_compress": (
            c_int32,
            [POINTER(Params), c_void_p, c_size_t, c_void_p, c_size_t, POINTER(c_size_t), c_void_p],
        ),
        "sleek_decompress": (c_int32, [c_void_p, c_size_t, c_void_p, c_size_t, POINTER(c_size_t), c_void_p]),
        "sleek_decompress_as": (c_int32, [c_int32, c_int32, c_void_p, c_size_t, c_void_p, c_size_t, c_void_p]),
        "sleek_decompress_range": (
            c_int32,
            [c_void_p, c_size_t, c_uint64, c_size_t, c_void_p, c_size_t, c_void_p],
        ),
        "sleek_decompress_box": (
            c_int32,
            [c_void_p, c_size_t, c_int32, POINTER(c_uint64), POINTER(c_uint64), c_void_p, c_size_t, c_void_p],
        ),
        "sleek_decompress_coarse": (
            c_int32,
            [c_void_p, c_size_t, c_uint32, c_int32, POINTER(c_uint64), POINTER(c_uint64)]
            + [c_void_p, c_size_t, POINTER(c_size_t), c_void_p],
        ),
        "sleek_chunk_sides": (c_int32, [c_void_p, c_size_t, POINTER(c_uint64), c_size_t, POINTER(c_int32)]),
        "sleek_chunk_ranges": (c_int32, [c_void_p, c_size_t, c_void_p, c_size_t, POINTER(c_size_t)]),
        "sleek_decompress_chunks": (c_int32, [c_void_p, c_size_t, c_void_p, c_size_t, c_void_p, c_size_t]),
        "sleek_inspect": (c_int32, [c_void_p, c_size_t, POINTER(StreamInfo)]),
        "sleek_inspect_dims": (c_int32, [c_void_p, c_size_t, POINTER(c_uint64), c_size_t, POINTER(c_int32)]),
        "sleek_device_info": (c_int32, [c_int32, c_void_p, c_void_p, c_char_p, c_size_t]),
        "sleek_batch_workspace_bytes": (c_size_t, [c_size_t]),
        "sleek_compress_batch_async": (
            c_int32,
            [POINTER(Params), c_size_t, pointers, sizes, pointers, sizes, c_void_p, c_void_p, c_size_t, c_void_p],
        ),
        "sleek_decompress_batch_async": (
            c_int32,
            [POINTER(Params), c_size_t, pointers, sizes, pointers, sizes, c_void_p, c_void_p, c_size_t, c_void_p],
        ),
        "sleek_device_prepare": (c_int32, [POINTER(Params), c_int32, c_void_p]),
        "sleek_strerror": (c_char_p, [c_int32]),
        "sleek_h5d_write": (c_int32, transfer),
        "sleek_h5d_read": (c_int32, transfer),
        "sleek_h5d_user": (None, [c_void_p]),
        "sleek_last_error": (c_char_p, []),
        "sleek_version": (c_char_p, []),
        "sleek_h5_class": (c_void_p, []),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


lib = _load()
__version__: str = lib.sleek_version().decode()


def check(code: int) -> None:
    """Raises what a status code other than 0 stands for."""
    if code != 0:
        raise SleekError(lib.sleek_last_error().decode(), code)
