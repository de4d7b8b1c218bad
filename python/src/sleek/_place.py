"""Arrays where they lie: in host memory, or on a GPU as ``__cuda_array_interface__`` and DLPack tell of it."""

from __future__ import annotations

import ctypes
import math
import sys
from typing import Any, NamedTuple

import numpy as np

from . import _dlpack, _stream
from ._library import check, lib
from ._params import DTYPES, ITEM_BYTES, PAIRS, big_endian, is_bytes, stored_as

# What the library says of a pointer.
_Words = ctypes.c_char * 512
_AUTO, _CPU = 0, 1


class Place(NamedTuple):
    """Where an array lies, and what keeps it there."""

    address: int
    shape: tuple[int, ...]
    """In elements of sleek.h, of which complex numbers have two."""
    element: tuple[int, int]
    """The element type of sleek.h, and whether it is big-endian."""
    itemsize: int
    kind: str
    """What the array's library calls its elements."""
    stream: int | None
    """The CUDA stream that the data is ready on; none where it is ready."""
    owner: Any

    @property
    def size(self) -> int:
        """Elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize


def on_gpu(array: Any) -> bool:
    """Whether an array is on a GPU; it is on another device, or says too little, where this raises."""
    if isinstance(array, (np.ndarray, bytes, bytearray, memoryview)):
        return False
    if hasattr(array, "__dlpack_device__"):
        kind, number = array.__dlpack_device__()
        kind = int(kind)
        if kind in (_dlpack.CUDA, _dlpack.MANAGED):
            return True
        if kind not in (1, 3):
            raise BufferError(
                f"the {_name(array)} lies on {_dlpack.DEVICES.get(kind, 'the device of DLPack type')} {number} (DLPack type {kind}); "
                "host memory or an NVIDIA GPU is needed"
            )
        return False
    return getattr(array, "__cuda_array_interface__", None) is not None


def of_gpu(array: Any, stream: int | None, writable: bool = False) -> Place:
    """The place of an array on a GPU, ready on `stream`, or where that is None on the stream that the place names: the one that
    the array's library works on now, where that is known."""
    current = _stream.current(array)
    stream = current if stream is None else stream
    place = _by_name(array, stream) if stream is not None and stream == current else None
    if place is not None:
        pass
    elif hasattr(array, "__dlpack__"):
        place = _by_dlpack(array, _stream.LEGACY if stream is None else stream, writable)
    else:
        place = _by_interface(array, stream, writable)
    if not place.nbytes:
        return place._replace(address=0)
    _refuse_unknown(place.address, array)
    return place


def of_host(array: np.ndarray[Any, Any]) -> Place:
    """The place of an array of numpy that is contiguous in C order."""
    code, one = stored_as(array.dtype.name)
    return Place(array.ctypes.data, array.shape + one, (code, big_endian(array.dtype)), ITEM_BYTES[code], array.dtype.name, None, array)


def of_output(array: Any, stream: int | None) -> Place:
    """The place of an array, or of a buffer, to be written to, wherever it lies."""
    if on_gpu(array):
        return of_gpu(array, stream, writable=True)
    host = np.asarray(array) if hasattr(array, "__array__") else np.frombuffer(array, "u1")
    if not host.flags.writeable:
        raise ValueError(f"out is a {_name(array)} that is read-only")
    if host.size and not isinstance(array, np.ndarray) and hasattr(array, "__array__") and not np.may_share_memory(host, np.asarray(array)):
        raise ValueError(f"out is a {_name(array)}, of which numpy gets copies alone: give an array, and assign that")
    if not host.flags.c_contiguous:
        raise ValueError(f"out is not contiguous in C order: its shape is {host.shape} and its strides {host.strides} bytes")
    return of_host(host)


def part(array: Any, count: int) -> Any:
    """The first bytes of an array of bytes or of a buffer, without a copy."""
    return array[:count] if on_gpu(array) or hasattr(array, "__array__") else memoryview(array).cast("B")[:count]


def _by_name(array: Any, stream: int) -> Place | None:
    """The place of an array of PyTorch or CuPy that is as most are: contiguous, and of a library that works on `stream` now, so that
    nothing has to wait. None for any other, which DLPack tells of, or why it does not, in ten times the time."""
    kind = type(array)
    if kind.__module__ == "torch" and kind.__name__ == "Tensor":
        name = str(array.dtype)[len("torch.") :]
        lazy = array.requires_grad or array.is_neg() or array.is_conj()
        if lazy or array.layout is not sys.modules["torch"].strided or not array.is_contiguous():
            return None
        address = array.data_ptr()
    elif kind.__module__ == "cupy" and kind.__name__ == "ndarray":
        name = array.dtype.name
        if not array.dtype.isnative or not array.flags.c_contiguous:
            return None
        address = array.data.ptr
    else:
        return None
    if not (name in DTYPES or name in PAIRS or is_bytes(name)):
        return None
    code, one = stored_as(name)
    return Place(address, tuple(array.shape) + one, (code, 0), ITEM_BYTES[code], name, stream, array)


def _by_dlpack(array: Any, stream: int, writable: bool) -> Place:
    tensor = _dlpack.export(array, stream)
    code, one = stored_as(tensor.type)
    if writable and tensor.read_only:
        raise ValueError(f"out is a {_name(array)} that is read-only")
    if tensor.strides is not None:
        _refuse_gaps(array, tensor.shape, tensor.strides, 1, ITEM_BYTES[code] * math.prod(one))
    return Place(tensor.address, tensor.shape + one, (code, 0), ITEM_BYTES[code], tensor.type, stream, tensor)


def _by_interface(array: Any, stream: int | None, writable: bool) -> Place:
    told = array.__cuda_array_interface__
    if told.get("mask") is not None:
        raise ValueError(f"the {_name(array)} has a mask; put a missing value in its place and name that as fill")
    (address, read_only), ready_on = told["data"], told.get("stream")
    if ready_on == 0:
        raise ValueError(f"the {_name(array)} names the CUDA stream 0, which __cuda_array_interface__ disallows as it has two meanings")
    if writable and read_only:
        raise ValueError(f"out is a {_name(array)} that is read-only")
    dtype, shape = np.dtype(told["typestr"]), tuple(told["shape"])
    if told.get("strides") is not None:
        _refuse_gaps(array, shape, told["strides"], dtype.itemsize, 1)
    if stream is not None and ready_on not in (None, stream):
        _stream.wait(ready_on)
    code, one = stored_as(dtype.name)
    ready_on = ready_on if stream is None else stream
    return Place(address or 0, shape + one, (code, big_endian(dtype)), ITEM_BYTES[code], dtype.name, ready_on, array)


def _refuse_gaps(array: Any, shape: tuple[int, ...], strides: tuple[int, ...], expected: int, unit: int) -> None:
    """Raises if elements do not follow each other in C order: the last stride is the expected one. Dimensions of one element may have any."""
    if 0 in shape:
        return
    for length, stride in zip(reversed(shape), reversed(strides)):
        if length != 1 and stride != expected:
            raise ValueError(
                f"the {_name(array)} of shape {shape} is not contiguous in C order, its strides are {tuple(s * unit for s in strides)} bytes; "
                "make a contiguous copy, as cupy.ascontiguousarray(a) or t.contiguous() do"
            )
        expected *= length


def _refuse_unknown(address: int, array: Any) -> None:
    """Raises if the driver does not know an address: reading it as memory of the host would end the process."""
    # What the CPU cannot reach is a GPU's, which is told at once; only of the rest the whole answer is needed.
    if not _said(_CPU, address).startswith(b"cpu") or not _said(_AUTO, address).startswith(b"cpu"):
        return
    raise ValueError(
        f"the {_name(array)} says that its data lies on a GPU at {address:#x}, which the CUDA driver does not know: "
        f"its memory was freed, or is another process's"
    )


def _said(device: int, address: int) -> bytes:
    """Where the library would work with a pointer."""
    text = _Words()
    check(lib.sleek_device_info(device, address, None, text, len(text)))
    words: bytes = text.value
    return words


def _name(array: Any) -> str:
    return f"{type(array).__module__.partition('.')[0]}.{type(array).__qualname__}"
