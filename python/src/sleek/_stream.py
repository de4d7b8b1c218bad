"""CUDA streams: which one a call works on, and what has to wait for what."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

LEGACY = 1
"""CUDA's number for the default stream."""


def handle(stream: Any) -> int | None:
    """The number of a stream: of CuPy, PyTorch, Numba, cuda.core, or a number itself. None stays None."""
    if stream is None or isinstance(stream, int) and not isinstance(stream, bool):
        number = stream
    elif hasattr(stream, "__cuda_stream__"):
        protocol = stream.__cuda_stream__
        number = (protocol() if callable(protocol) else protocol)[1]
    elif hasattr(stream, "cuda_stream"):  # PyTorch
        number = stream.cuda_stream
    elif hasattr(stream, "ptr"):  # CuPy
        number = stream.ptr
    elif hasattr(stream, "handle"):  # Numba
        number = getattr(stream.handle, "value", stream.handle) or 0
    else:
        raise TypeError(f"cuda_stream is {stream!r}; a stream of CuPy, PyTorch or Numba, or its address as a number, is needed")
    if number is not None and number < 0:
        raise ValueError(f"cuda_stream is {number}; the address of a stream is needed, or 0, 1 or 2 for CUDA's default streams")
    return LEGACY if number == 0 else number


def current(array: Any) -> int | None:
    """The stream that PyTorch or CuPy, if an array is theirs, works on now; None of another library's array."""
    torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
    if torch is not None and isinstance(array, torch.Tensor):
        quick = getattr(torch._C, "_cuda_getCurrentRawStream", None)
        number = quick(array.device.index) if quick else torch.cuda.current_stream(array.device).cuda_stream
    elif cupy is not None and isinstance(array, cupy.ndarray):
        number = cupy.cuda.get_current_stream(array.device.id).ptr
    else:
        return None
    return number or LEGACY


def first(*streams: int | None) -> int | None:
    """The first stream that is one."""
    return next((s for s in streams if s is not None), None)


def wait(stream: int) -> None:
    """Returns when everything on the stream is done."""
    driver = ctypes.CDLL("libcuda.so.1")
    driver.cuStreamSynchronize.argtypes = [ctypes.c_void_p]
    code = driver.cuStreamSynchronize(stream)
    if code:
        raise RuntimeError(f"waiting for the CUDA stream {stream:#x} that an array names gave error {code} of the driver")
