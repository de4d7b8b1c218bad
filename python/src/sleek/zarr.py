"""The codec for Zarr arrays of format 3: a serializer, which makes the bytes of a chunk from its numbers."""

from __future__ import annotations

import asyncio
import math
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from zarr.abc.codec import ArrayBytesCodec, BytesBytesCodec

from ._array import compress_chunk, decompress
from ._attributes import with_declared
from ._chain import refuse_filters
from ._params import DTYPES, INVALID_ARGUMENT, MODES, arguments, in_words, requested
from ._library import SleekError
from ._place import on_gpu

# Statuses of sleek.h: what is no stream, and what is a wrong one.
_NOT_SLEEK, _CORRUPT = 6, 9

if TYPE_CHECKING:
    from typing_extensions import Unpack
    from zarr.core.array_spec import ArraySpec
    from zarr.core.buffer import Buffer, NDBuffer

    from ._params import Asked


@dataclass(frozen=True)
class Sleek(ArrayBytesCodec):
    """Compresses each chunk of an array; the arguments are those of `sleek.compress`.

    The array's fill value, if it is not 0, marks missing values and comes back as it was. ``noa`` without `range` takes the value
    range of each chunk, in which neither the fill value nor zeros count, and spends up to two bits for each value more than
    with a given range, so that chunks can be written again. Integers are kept losslessly under any bound, and under a rate or
    precision unless the request says ``integers``. Chunks in zarr's buffers of GPU memory are compressed and restored there.

    >>> import numpy as np, zarr
    >>> from sleek.zarr import Sleek
    >>> z = zarr.create_array({}, shape=5000, chunks=1000, dtype="f8", serializer=Sleek(abs=1e-3), compressors=None)
    >>> z[:] = np.linspace(0, 1, 5000)
    >>> bool(np.abs(z[:] - np.linspace(0, 1, 5000)).max() <= 1e-3)
    True
    """

    is_fixed_size = False
    request: tuple[tuple[str, Any], ...]

    def __init__(self, request: str | None = None, /, **asked: Unpack[Asked]) -> None:
        object.__setattr__(self, "request", tuple(arguments(in_words(request, asked)).items()))

    @classmethod
    def of(cls, variable: Any, request: str | None = None, /, **asked: Unpack[Asked]) -> Sleek:
        """The codec for a variable of xarray: what its ``_FillValue`` and ``missing_value`` name are missing values.

        Where `fill` names some, or is False, they are not read.
        """
        return cls(with_declared(variable, request, asked))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Sleek:
        request = dict(data.get("configuration") or {})
        return cls(request.pop("request", None), **request)

    def to_dict(self) -> dict[str, Any]:
        refuse_filters(self, dict(self.request))
        return {"name": "sleek", "configuration": dict(self.request)}

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: ArraySpec) -> int:
        raise NotImplementedError("the size of a compressed chunk depends on the data")

    async def _encode_single(self, chunk_data: NDBuffer, chunk_spec: ArraySpec) -> Buffer:
        array: Any = chunk_data.as_ndarray_like()
        p = requested(np.dtype("f4"), dict(self.request))
        if on_gpu(array) and MODES[p.mode] == "noa" and not p.range:
            array = chunk_data.as_numpy_array()  # a chunk's range is measured on the host
        elif on_gpu(array) and not array.flags.c_contiguous:
            array = array.copy()
        kind = _dtype(chunk_spec)
        if array.dtype.newbyteorder("=") != kind.newbyteorder("="):
            self._refuse_unlike(array.dtype, kind)
            array = array.view(kind.newbyteorder(array.dtype.byteorder))  # the bits that a filter made: the stream has the array's type
        if array.dtype.name not in DTYPES:
            array = array.astype(_little(array.dtype), copy=False)  # bytes, of whose order format 3 says nothing
        stream = await asyncio.to_thread(compress_chunk, dict(self.request), array, chunk_spec.fill_value)
        return chunk_spec.prototype.buffer.from_bytes(stream)

    def _refuse_unlike(self, made: np.dtype[Any], kind: np.dtype[Any]) -> None:
        """Raises where elements that a filter made could not come back as those of the array, or not bit for bit."""
        if made.itemsize != kind.itemsize:
            raise SleekError(
                f"a filter made {made} of {kind}, of which it tells Zarr nothing: numcodecs.astype tells it, "
                f"or a filter that makes elements of {kind.itemsize} bytes is needed",
                INVALID_ARGUMENT,
            )
        if not self._is_lossless():
            words = ",".join(f"{name}={value}" for name, value in self.request)
            raise SleekError(f"{words} after a filter that makes {made} of {kind}: SLEEK must come first, or lossless=True", INVALID_ARGUMENT)

    def _is_lossless(self) -> bool:
        return MODES[requested(np.dtype("f4"), dict(self.request)).mode] == "lossless"

    async def _decode_single(self, chunk_data: Buffer, chunk_spec: ArraySpec) -> NDBuffer:
        stream: Any = chunk_data.as_array_like()
        kind = _dtype(chunk_spec)
        if on_gpu(stream) and kind.name in DTYPES:
            # What zarr reads into memory of a GPU is restored there, but for what a machine of the other byte order wrote.
            restored = chunk_spec.prototype.nd_buffer.create(shape=chunk_spec.shape, dtype=kind)
            with suppress(ValueError):
                await asyncio.to_thread(decompress, stream, out=restored.as_ndarray_like())
                return restored
        array = await asyncio.to_thread(decompress, np.asarray(chunk_data.as_numpy_array()))
        if array.dtype == np.uint8 and kind.name not in DTYPES:
            array = array.reshape(-1).view(_little(kind))
        elif array.dtype.newbyteorder("=") != kind.newbyteorder("="):
            raise SleekError(f"the stream has elements of type {array.dtype}, the array of type {kind}", _CORRUPT)
        return chunk_spec.prototype.nd_buffer.from_numpy_array(array.reshape(chunk_spec.shape))


@dataclass(frozen=True)
class SleekBytes(BytesBytesCodec):
    """The same streams where a codec from bytes to bytes is wanted: in references to HDF5 files (`sleek.references`), and as `compressors`.

    Its name in metadata is ``numcodecs.sleek``, as numcodecs' codecs are called in format 3. It restores every stream. A codec of bytes
    cannot know what is between it and the numbers, so it compresses losslessly, and with a bound only reads; `Sleek` is the one for
    bounds.

    >>> import numpy as np, zarr
    >>> from sleek.zarr import SleekBytes
    >>> z = zarr.create_array({}, shape=5000, chunks=1000, dtype="f8", compressors=SleekBytes(lossless=True))
    >>> z[:] = np.linspace(0, 1, 5000)
    >>> bool((z[:] == np.linspace(0, 1, 5000)).all())
    True
    """

    is_fixed_size = False
    request: tuple[tuple[str, Any], ...]

    def __init__(self, request: str | None = None, /, **asked: Unpack[Asked]) -> None:
        object.__setattr__(self, "request", Sleek(request, **asked).request)

    @property
    def codec_config(self) -> dict[str, Any]:
        """What numcodecs calls it, for format 2."""
        return {"id": "sleek", **dict(self.request)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> SleekBytes:
        request = dict(data.get("configuration") or {})
        return cls(request.pop("request", None), **request)

    def to_dict(self) -> dict[str, Any]:
        return {"name": "numcodecs.sleek", "configuration": dict(self.request)}

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: ArraySpec) -> int:
        raise NotImplementedError("the size of a compressed chunk depends on the data")

    async def _encode_single(self, chunk_data: Buffer, chunk_spec: ArraySpec) -> Buffer:
        if dict(self.request).keys() - {"lossless", "profile"}:
            raise ValueError(
                f"the codec numcodecs.sleek compresses bytes, which have no bound ({dict(self.request)}): "
                "SleekBytes(lossless=True), or serializer=sleek.zarr.Sleek(...) and compressors=None for a bound"
            )
        words = self._words(chunk_data.as_numpy_array(), chunk_spec)
        stream = await asyncio.to_thread(compress_chunk, dict(self.request), words, plain_bytes=_plain_bytes(chunk_spec))
        return chunk_spec.prototype.buffer.from_bytes(stream)

    @staticmethod
    def _words(data: Any, chunk_spec: ArraySpec) -> Any:
        """The bytes as the numbers that they most likely are; every bit of which comes back in any case."""
        kind = _dtype(chunk_spec)
        data = np.ascontiguousarray(data).reshape(-1).view("u1")
        return data.view(kind) if kind.kind in "fiu" and data.size and data.size % kind.itemsize == 0 else data

    async def _decode_single(self, chunk_data: Buffer, chunk_spec: ArraySpec) -> Buffer:
        data = np.asarray(chunk_data.as_numpy_array())
        try:
            array = await asyncio.to_thread(decompress, data)
        except SleekError as e:
            # HDF5 stored the chunk without the filter, which references of VirtualiZarr do not tell. No stream is as long as its data
            # that was made by a codec of ours, or by the filter where HDF5 may store chunks without it.
            if e.code == _NOT_SLEEK and data.nbytes == _plain_bytes(chunk_spec):
                return chunk_data
            raise
        return chunk_spec.prototype.buffer.from_bytes(array.tobytes())


def _plain_bytes(chunk_spec: ArraySpec) -> int:
    return math.prod(chunk_spec.shape) * _dtype(chunk_spec).itemsize


def _little(kind: np.dtype[Any]) -> np.dtype[Any]:
    return kind.newbyteorder("<")


def _dtype(chunk_spec: ArraySpec) -> np.dtype[Any]:
    given: Any = chunk_spec.dtype
    kind: np.dtype[Any] = given.to_native_dtype() if hasattr(given, "to_native_dtype") else given
    return kind
