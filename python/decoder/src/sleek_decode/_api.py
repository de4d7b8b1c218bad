"""What a caller asks for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ._container import CONTINUES, HEADER, Stream
from ._element import Words
from ._errors import DecodeError, expect

BATCH = 256
"""Chunks that are restored at a time."""


@dataclass(frozen=True)
class Info:
    """What a stream's header says."""

    codec: str
    dtype: str
    shape: tuple[int, ...]
    mode: str
    bound: float
    range: float
    abs_bound: float
    big_endian: bool
    missing: tuple[int, ...]
    stream_bytes: int


def inspect(stream: Any) -> Info:
    """What the header and the extension of a stream say; its index is verified, its chunks are not looked at."""
    s = Stream(stream)
    return Info(
        s.codec, s.element.name, _own_shape(s.shape), s.mode, s.bound, s.range, s.abs_bound, s.big_endian, s.missing, s.stream_bytes
    )


def decode(stream: Any) -> npt.NDArray[Any]:
    """The array of a stream: anything with the buffer protocol. In the shape and the byte order that the stream tells."""
    s = Stream(stream)
    dtype = s.element.dtype(s.big_endian)
    return _elements(s, _words(s), dtype).reshape(_own_shape(s.shape))


def _own_shape(dims: tuple[int, ...]) -> tuple[int, ...]:
    """Of an array without dimensions a stream has as many of length 1 as there can be."""
    return () if dims == (1,) * 32 else dims


def decode_bytes(stream: Any) -> bytes:
    """The bytes of a stream's elements in their byte order, as the HDF5 filter gives them."""
    s = Stream(stream)
    words = _words(s)
    return (words.byteswap() if s.big_endian else words).tobytes()


def decode_range(stream: Any, first: int, count: int) -> npt.NDArray[Any]:
    """Elements first … first + count - 1 of the array in one dimension; only chunks that hold some are verified and restored."""
    s = Stream(stream)
    dtype = s.element.dtype(s.big_endian)
    _within([first], [count], (s.count,), "range")
    words = np.zeros(s.count, s.element.words)
    _put(s, words, _chunks_with(s, np.array([first]), count))
    return _elements(s, words[first : first + count].copy(), dtype)


def decode_box(stream: Any, start: Sequence[int], count: Sequence[int]) -> npt.NDArray[Any]:
    """A box of the array; only chunks that hold some of it are verified and restored."""
    s = Stream(stream)
    dtype = s.element.dtype(s.big_endian)
    _within(start, count, s.shape, "box")
    words = np.zeros(s.count, s.element.words)
    if math.prod(count):
        lines = np.zeros(1, np.int64)
        for at, n, d in zip(start[:-1], count[:-1], s.shape[:-1]):
            lines = (lines[:, None] * d + np.arange(at, at + n)).reshape(-1)
        _put(s, words, _chunks_with(s, lines * s.shape[-1] + start[-1], count[-1]))
    else:
        _put(s, words, np.zeros(0, np.int64))
    box = words.reshape(s.shape)[tuple(slice(at, at + n) for at, n in zip(start, count))]
    return _elements(s, box.copy(), dtype).reshape(tuple(count))


def decode_file(data: Any) -> npt.NDArray[Any]:
    """The array, of one dimension, of a file that `sleek compress` wrote: one stream or several."""
    rest = memoryview(data).cast("B")
    streams: list[Stream] = []
    while rest or not streams:
        size = int.from_bytes(rest[24:32], "little") if len(rest) >= HEADER else len(rest)
        streams.append(Stream(rest[: min(size, len(rest))] if size else rest))
        rest = rest[streams[-1].stream_bytes :]
    # Along this dimension the streams follow each other.
    along = next((k for k, d in enumerate(streams[0].shape) if d > 1), 0)
    others = {s.shape[:along] + s.shape[along + 1 :] for s in streams}
    kinds = {(s.codec, s.element, s.big_endian, s.mode, s.bound, s.range, s.named, len(s.shape)) for s in streams}
    expect(len(kinds) == 1 and len(others) == 1, "the streams of the file are of different kinds")
    goes_on = [bool(s.flags & CONTINUES) for s in streams]
    expect(all(goes_on[:-1]) and not goes_on[-1], "the file lacks streams at its end, or has others behind it")
    dtype = streams[0].element.dtype(streams[0].big_endian)
    return np.concatenate([_elements(s, _words(s), dtype) for s in streams], dtype=dtype)


def _within(start: Sequence[int], count: Sequence[int], shape: tuple[int, ...], what: str) -> None:
    if len(start) != len(shape) or len(count) != len(shape):
        raise DecodeError(f"a {what} of {len(start)} starts and {len(count)} counts of an array with {len(shape)} dimensions")
    if any(at < 0 or n < 0 or at + n > d for at, n, d in zip(start, count, shape)):
        raise DecodeError(f"a {what} from {list(start)} with {list(count)} elements does not lie within {list(shape)}")


def _words(s: Stream) -> Words:
    words = np.zeros(s.count, s.element.words)
    _put(s, words, np.arange(s.chunks))
    return words


def _put(s: Stream, words: Words, chunks: npt.NDArray[np.int64]) -> None:
    """Restores chunks to their places."""
    array = words if s.tile_log2 is None else words.reshape(s.shape)
    # Of no chunks too the codec says whether the header is one of its own.
    for first in range(0, max(1, len(chunks)), BATCH):
        some = chunks[first : first + BATCH]
        for chunk, restored in zip(some.tolist(), s.restore(some)):
            place = s.place(chunk)
            array[place] = restored.reshape(array[place].shape)


def _chunks_with(s: Stream, lines: npt.NDArray[np.int64], length: int) -> npt.NDArray[np.int64]:
    """The chunks that hold elements of lines of `length`, which begin at these elements."""
    if length == 0 or not s.count:
        return np.zeros(0, np.int64)
    if s.tile_log2 is None:
        edges = np.zeros(s.chunks + 1, np.int64)
        np.add.at(edges, lines // s.capacity, 1)
        np.add.at(edges, (lines + length - 1) // s.capacity + 1, -1)
        return np.flatnonzero(np.cumsum(edges[:-1]))
    some = np.zeros(s.grid, bool)
    for line in lines.tolist():
        _mark(s, some, line, line + length)
    return np.flatnonzero(some)


def _mark(s: Stream, some: npt.NDArray[np.bool_], begin: int, end: int) -> None:
    """Marks the tiles that hold elements begin … end - 1: of each dimension all, from where these two differ on."""
    assert s.tile_log2 is not None
    first, last = np.unravel_index(begin, s.shape), np.unravel_index(end - 1, s.shape)
    same = next((k for k in range(len(s.shape)) if first[k] != last[k]), len(s.shape) - 1)
    fixed = tuple(int(first[k]) >> s.tile_log2[k] for k in range(same))
    log2 = s.tile_log2[same]
    some[fixed][int(first[same]) >> log2 : (int(last[same]) >> log2) + 1] = True


def _elements(s: Stream, words: Words, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Words as numbers in the byte order of the stream."""
    words = np.ascontiguousarray(words)
    return (words.byteswap() if s.big_endian else words).view(dtype)
