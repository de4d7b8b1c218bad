"""DLPack: the description of an array that CuPy, PyTorch, JAX and others hand out in a capsule, as its specification has it."""

from __future__ import annotations

import ctypes
from ctypes import c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from functools import lru_cache
from typing import Any, NamedTuple

from ._library import fields

DEVICES = {1: "CPU", 2: "CUDA", 3: "CUDA host", 7: "Vulkan", 8: "Metal", 10: "ROCm", 11: "ROCm host", 13: "CUDA managed", 14: "oneAPI"}
CUDA, MANAGED = 2, 13
_READ_ONLY = 1
_KINDS = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex"}
# Types of 8 bits, by numpy's names.
_BYTES = ("bool", "e3m4", "e4m3", "e4m3b11fnuz", "e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0fnu")
_FIRST_OF_BYTES = 6


class _Tensor(ctypes.Structure):
    """DLTensor"""

    _fields_ = fields(
        data=c_void_p, device_type=c_int32, device_id=c_int32, ndim=c_int32, code=c_uint8, bits=c_uint8, lanes=c_uint16,
        shape=ctypes.POINTER(c_int64), strides=ctypes.POINTER(c_int64), byte_offset=c_uint64,
    )  # fmt: skip


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned; the older DLManagedTensor begins with its tensor."""

    _fields_ = fields(major=c_uint32, minor=c_uint32, manager=c_void_p, deleter=c_void_p, flags=c_uint64, tensor=_Tensor)


class Tensor(NamedTuple):
    """What a capsule describes. The capsule is kept: when it goes, so may the memory."""

    address: int
    type: str
    """Name of the element type, as numpy has it."""
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    """In elements; none for C order."""
    read_only: bool
    capsule: Any


# Functions of our own, whose types nobody else sets. This is all done for every array of a call: it has to be quick.
_name = ctypes.PYFUNCTYPE(c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_pointer = ctypes.PYFUNCTYPE(c_void_p, ctypes.py_object, c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))


def export(array: Any, stream: int) -> Tensor:
    """The array's own description, after it has seen to it that a CUDA stream finds the data ready."""
    try:
        capsule = array.__dlpack__(stream=stream, max_version=(1, 0))
    except TypeError:  # of an array that knows no versions
        capsule = array.__dlpack__(stream=stream)
    name = _name(capsule)
    flags = 0
    if name == b"dltensor_versioned":
        versioned = _Versioned.from_address(_pointer(capsule, name))
        if versioned.major != 1:
            raise BufferError(f"DLPack {versioned.major}.{versioned.minor} is not known; 1.0 was asked for")
        tensor, flags = versioned.tensor, versioned.flags
    elif name == b"dltensor":
        tensor = _Tensor.from_address(_pointer(capsule, name))
    else:
        raise BufferError(f"__dlpack__ of {type(array).__name__} gave a capsule named {name!r}; 'dltensor' is needed")
    ndim, strides = tensor.ndim, tensor.strides
    return Tensor(
        (tensor.data or 0) + tensor.byte_offset,
        _type(tensor.code, tensor.bits, tensor.lanes),
        tuple(tensor.shape[:ndim]) if ndim else (),
        tuple(strides[:ndim]) if strides and ndim else None,
        bool(flags & _READ_ONLY),
        capsule,
    )


@lru_cache(maxsize=64)
def _type(code: int, bits: int, lanes: int) -> str:
    byte = code - _FIRST_OF_BYTES
    if (bits, lanes) == (8, 1) and 0 <= byte < len(_BYTES):
        return f"float8_{_BYTES[byte]}" if byte else _BYTES[0]
    kind = _KINDS.get(code, f"DLPack type {code}, ")
    return f"{kind}{bits}" + ("" if lanes == 1 else f"x{lanes}")
