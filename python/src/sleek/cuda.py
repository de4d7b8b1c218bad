"""Many arrays on a GPU at once, enqueued on a CUDA stream: nothing is copied to the host or waited for, nor allocated but by profile
``small``, from the device's pool in the order of the stream.

The stream is `cuda_stream`, else the current one of PyTorch or CuPy, for arrays of theirs, else the default stream.

Lists of arrays, what is made of them and the workspace all lie on one GPU; each is anything with DLPack or
``__cuda_array_interface__``, contiguous in C order, and must stay until the stream has passed the work. What became of each array stands
in `results`, memory of the GPU for as many elements of `RESULT`, which `check` reads when a copy of it is on the host.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _stream
from ._library import Params, SleekError, lib
from ._library import check as _check
from ._params import CODEC_IDS, INT32, SIZE, gains_by_dims, in_words, natural, params, shaped, stored_as
from ._place import Place, of_gpu, on_gpu

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._params import Asked

__all__ = ["RESULT", "check", "compress_batch", "decompress_batch", "prepare", "workspace_bytes"]

RESULT = np.dtype([("bytes", "u8"), ("status", "i4"), ("reserved", "i4")])
"""An element of `results`: bytes of the stream or of the array, and a status code, 0 if all went well."""


def workspace_bytes(arrays: int) -> int:
    """Bytes of GPU memory, aligned to 16, that a call with so many arrays needs as its workspace."""
    size: int = lib.sleek_batch_workspace_bytes(natural("arrays", arrays, SIZE))
    return size


def prepare(device: int, dtype: str, request: str | None = None, /, *, cuda_stream: Any = None, **asked: Unpack[Asked]) -> None:
    """Loads onto a GPU what calls with this request need: before a stream is captured into a graph, or before something timed."""
    p = params((stored_as(dtype)[0], 0), in_words(request, asked))
    _check(lib.sleek_device_prepare(ctypes.byref(p), natural("device", device, INT32), _stream.handle(cuda_stream)))


def compress_batch(
    arrays: Sequence[Any],
    request: str | None = None,
    /,
    *,
    out: Sequence[Any],
    results: Any,
    workspace: Any,
    cuda_stream: Any = None,
    **asked: Unpack[Asked],
) -> None:
    """Enqueues the compression of each array into the buffer of bytes of the same place in `out`.

    The request is that of `sleek.compress` and holds for all; ``noa`` without a range takes each array's own. The streams are those
    of `sleek.compress` of the arrays as lines, but with ``codec=zfp``, where all arrays are of one shape. All are of one type. Each buffer of `out` has at least `sleek.compress_bound` bytes, and is aligned to 16.
    """
    stream = _work(cuda_stream, arrays)
    sources, targets = _places("arrays", arrays, stream, False), _places("out", out, stream, True)
    shapes = {place.shape for place in sources}
    p = params(_element("arrays", sources), in_words(request, asked))
    if gains_by_dims(p) and len(shapes) > 1:
        raise ValueError(f"arrays have the shapes {sorted(shapes)}; one shape is needed where the codec works along dimensions")
    if gains_by_dims(p):
        shaped(p, *shapes)
    _enqueue(
        lib.sleek_compress_batch_async, p, (sources, [a.size for a in sources]), (targets, [o.nbytes for o in targets]), results, workspace, stream
    )


def decompress_batch(
    streams: Sequence[Any], *, out: Sequence[Any], results: Any, workspace: Any, codec: str = "sleek", cuda_stream: Any = None
) -> None:
    """Enqueues the restoring of each stream into the array of the same place in `out`, which are of one type.

    A stream may be followed by more bytes, as in the buffer that it was compressed into. All streams are of one codec that has kernels, ``"sleek"`` or ``"zfp"``.
    """
    stream = _work(cuda_stream, out)
    sources, targets = _places("streams", streams, stream, False), _places("out", out, stream, True)
    p = params(_element("out", targets), "lossless")
    known = [name for name in CODEC_IDS if name != "default"]
    if codec not in known:
        raise ValueError(f"codec is {codec!r}; known are {', '.join(known)}")
    p.codec = CODEC_IDS[codec]
    _enqueue(
        lib.sleek_decompress_batch_async, p, (sources, [s.nbytes for s in sources]), (targets, [o.size for o in targets]), results, workspace, stream
    )


def check(results: Any) -> np.ndarray[Any, Any]:
    """The bytes of each stream or array, from a copy of the results in host memory; raises what the first that failed says.

    >>> import numpy as np, sleek.cuda
    >>> sleek.cuda.check(np.array([(4096, 0, 0)], sleek.cuda.RESULT))
    array([4096], dtype=uint64)
    >>> sleek.cuda.check(np.array([(4096, 0, 0), (0, 9, 0)], sleek.cuda.RESULT))
    Traceback (most recent call last):
    ...
    sleek.SleekError: array 1: ...
    """
    table = np.ascontiguousarray(results).reshape(-1).view("u1").view(RESULT)
    for at in np.flatnonzero(table["status"])[:1]:
        code = int(table["status"][at])
        raise SleekError(f"array {at}: {lib.sleek_strerror(code).decode()}", code)
    done: np.ndarray[Any, Any] = table["bytes"]
    return done


def _enqueue(
    function: Any,
    p: Params,
    sources: tuple[list[Place], list[int]],
    targets: tuple[list[Place], list[int]],
    results: Any,
    workspace: Any,
    stream: int,
) -> None:
    count = len(sources[0])
    if count != len(targets[0]):
        raise ValueError(f"out has {len(targets[0])} arrays; {count} are needed")
    (told, room) = _places("results and workspace", (results, workspace), stream, True)
    if told.nbytes < RESULT.itemsize * count:
        raise ValueError(f"results has {told.nbytes} bytes; {RESULT.itemsize * count} are needed for {count} arrays")
    lists = [a for places, sizes in (sources, targets) for a in (_pointers(places), (ctypes.c_size_t * count)(*sizes))]
    _check(function(ctypes.byref(p), count, *lists, told.address, room.address, room.nbytes, stream))


def _work(cuda_stream: Any, arrays: Sequence[Any]) -> int:
    return _stream.first(_stream.handle(cuda_stream), *map(_stream.current, arrays[:1])) or _stream.LEGACY


def _places(name: str, arrays: Sequence[Any], stream: int, writable: bool) -> list[Place]:
    for n, array in enumerate(arrays):
        if not on_gpu(array):
            raise ValueError(f"{name}: number {n}, a {type(array).__qualname__}, is not on a GPU")
    return [of_gpu(array, stream, writable) for array in arrays]


def _element(name: str, places: list[Place]) -> tuple[int, int]:
    elements = {place.element for place in places}
    if len(elements) != 1:
        raise ValueError(f"{name} has elements of {len(elements)} types; one type is needed")
    return elements.pop()


def _pointers(places: list[Place]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * len(places))(*(place.address for place in places))
