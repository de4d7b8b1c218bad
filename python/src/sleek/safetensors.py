"""Compressed safetensors files, tensor by tensor (docs/guide/archives.md).

>>> import numpy as np, os, sleek.safetensors, tempfile
>>> path = os.path.join(tempfile.mkdtemp(), "model.slk")
>>> sleek.safetensors.save({"weight": np.eye(100, dtype="f4"), "steps": np.arange(5)}, path)
>>> sleek.safetensors.load(path)["steps"]
array([0, 1, 2, 3, 4])
>>> list(sleek.safetensors.load(path, ["weight"]))
['weight']

`pack` makes one of a safetensors file, `unpack` the safetensors file again, byte for byte.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ._array import compress, decompress
from ._library import SleekError
from ._params import UNSUPPORTED_TYPE, computed
from ._whole import replacing

MAGIC = b"\x89SLTNS\x01\x00" + bytes(8)
CORRUPT = 9
# Bytes 24 to 31 of a stream's header are its length; bit 2 of byte 11 says that another follows.
STREAM_BYTES_AT, FLAGS_AT, MORE, HEADER_BYTES = 24, 11, 4, 64

# Safetensors' types by numpy's names.
KINDS = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U64": "uint64",
    "U32": "uint32",
    "U16": "uint16",
    "U8": "uint8",
    "BOOL": "bool",
    "C64": "complex64",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
    "F8_E8M0": "float8_e8m0fnu",
}
FLOATS = ("F64", "F32", "F16", "BF16")


def load(path: str | os.PathLike[str], names: str | Iterable[str] | None = None) -> dict[str, np.ndarray[Any, Any]]:
    """The tensors of a compressed file, or the one or those that are named, which alone are read.

    BF16 and F8 need the package ml_dtypes. Tensors of types that numpy has no name for come as their bytes.
    """
    with _mapped(path) as data:
        head, at = _head(path, data)
        entries = _entries(head)
        wanted = {name for name, _ in entries} if names is None else {names} if isinstance(names, str) else set(names)
        if missing := wanted - {name for name, _ in entries}:
            raise KeyError(f"{path} has no tensors {sorted(missing)}; it has {sorted(name for name, _ in entries)[:10]}")
        tensors = {}
        for name, entry, streams in _tensors(path, data, at, entries):
            if name in wanted:
                tensors[name] = _array(_raw(path, data, streams, name, entry), entry)
        return tensors


def unpack(path: str | os.PathLike[str], model: str | os.PathLike[str]) -> None:
    """Writes the safetensors file of a compressed one, which takes its place when it is complete."""
    with _mapped(path) as data, replacing(model) as new, open(new, "wb") as file:
        head, at = _head(path, data)
        file.write(head)
        for name, entry, streams in _tensors(path, data, at, _entries(head)):
            file.write(_raw(path, data, streams, name, entry))


def pack(
    model: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    abs: float | None = None,
    noa: float | None = None,
    rel: float | None = None,
    profile: str = "small",
) -> None:
    """Writes the compressed file of a safetensors file; bounds are as those of `save`."""
    with _mapped(model) as data:
        [length] = struct.unpack_from("<Q", data) if len(data) >= 8 else [0]
        if length + 8 > len(data) or data[8:9] != b"{":
            raise _corrupt(model, "is no safetensors file")
        head, at = data[: 8 + length], 0
        for name, entry in _entries(head):
            if entry["data_offsets"][0] != at:
                raise _corrupt(model, f"tensor {name!r} begins at byte {entry['data_offsets'][0]} of the data, not at {at}")
            at = entry["data_offsets"][1]
        if 8 + length + at != len(data):
            raise _corrupt(model, f"its tensors have {at} bytes, and {len(data) - 8 - length} are there")

        def tensor(name: str, entry: dict[str, Any]) -> np.ndarray[Any, Any]:
            begin, end = (8 + length + offset for offset in entry["data_offsets"])
            return _array(data[begin:end], entry)

        _write(path, head, tensor, {"abs": abs, "noa": noa, "rel": rel}, profile)


def save(
    tensors: Mapping[str, Any],
    path: str | os.PathLike[str],
    *,
    metadata: Mapping[str, str] | None = None,
    abs: float | None = None,
    noa: float | None = None,
    rel: float | None = None,
    profile: str = "small",
) -> None:
    """Writes a compressed file of tensors, which takes its place when it is complete.

    Without a bound every bit comes back. A bound is for tensors of F64, F32, F16 and BF16 alone, if they are smaller with it; ``noa``
    is of the range of each.
    """
    header: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    if not all(isinstance(text, str) for item in dict(metadata or {}).items() for text in item):
        raise TypeError(f"metadata is {metadata}; names and values must be texts")
    kinds, arrays, at = {numpy: kind for kind, numpy in KINDS.items()}, {}, 0
    for name, tensor in tensors.items():
        tensor = computed(tensor)
        if np.ma.is_masked(tensor) or name == "__metadata__":
            raise TypeError(f"tensor {name!r}: a file of tensors has no masks, and no tensor of the name __metadata__")
        a = np.asarray(tensor)
        a = np.ascontiguousarray(a, a.dtype.newbyteorder("<") if a.dtype.kind in "iufc" else None).reshape(a.shape)
        if a.dtype.name not in kinds:
            raise TypeError(f"tensor {name!r} is of type {a.dtype}; safetensors has {', '.join(kinds)}")
        header[name] = {"dtype": kinds[a.dtype.name], "shape": list(a.shape), "data_offsets": [at, at + a.nbytes]}
        arrays[name], at = a, at + a.nbytes
    text = json.dumps(header, ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    _write(path, struct.pack("<Q", len(text)) + text, lambda name, _: arrays[name], {"abs": abs, "noa": noa, "rel": rel}, profile)


def _write(
    path: Any,
    head: bytes,
    tensor: Callable[[str, dict[str, Any]], np.ndarray[Any, Any]],
    bound: dict[str, Any],
    profile: str,
) -> None:
    is_lossless = all(value is None for value in bound.values())
    with replacing(path) as new, open(new, "wb") as file:
        file.write(MAGIC)
        file.write(compress(np.frombuffer(head, "u1"), lossless=True, profile="small"))
        for name, entry in _entries(head):
            elements = np.atleast_1d(tensor(name, entry))
            if elements.size:
                streams = [compress(elements, lossless=True, profile=profile)]
                if entry["dtype"] in FLOATS and not is_lossless:
                    streams.append(compress(elements, profile=profile, **bound))
                file.write(min(streams, key=len))


@contextlib.contextmanager
def _mapped(path: Any) -> Iterator[mmap.mmap]:
    with open(path, "rb") as file:
        if not os.fstat(file.fileno()).st_size:
            raise _corrupt(path, "is empty")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            yield data


def _head(path: Any, data: mmap.mmap) -> tuple[bytes, int]:
    """The safetensors file to the end of its header, and where the streams of its tensors begin."""
    if data[: len(MAGIC)] != MAGIC:
        raise _corrupt(path, "is no compressed file of tensors")
    streams, at = _streams(path, data, len(MAGIC))
    return b"".join(decompress(data[stream]).tobytes() for stream in streams), at


def _entries(head: bytes) -> list[tuple[str, dict[str, Any]]]:
    """The tensors in the order of their data."""
    header = json.loads(head[8:])
    header.pop("__metadata__", None)
    return sorted(header.items(), key=lambda item: (item[1]["data_offsets"], item[0]))


def _tensors(
    path: Any, data: mmap.mmap, at: int, entries: list[tuple[str, dict[str, Any]]]
) -> Iterator[tuple[str, dict[str, Any], list[slice]]]:
    """The tensors with their streams, which begin at a place; raises if something follows the last."""
    for name, entry in entries:
        streams, at = _streams(path, data, at, entry)
        yield name, entry, streams
    if at != len(data):
        raise _corrupt(path, f"something follows the last of its tensors, at byte {at}")


def _raw(path: Any, data: mmap.mmap, streams: list[slice], name: str, entry: dict[str, Any]) -> bytes:
    raw, (begin, end) = b"".join(decompress(data[stream]).tobytes() for stream in streams), entry["data_offsets"]
    if len(raw) != end - begin:
        raise _corrupt(path, f"tensor {name!r} has {len(raw)} bytes, its header says {end - begin}")
    return raw


def _streams(path: Any, data: mmap.mmap, at: int, entry: dict[str, Any] | None = None) -> tuple[list[slice], int]:
    """Where the streams of an array are that begin at a place, and where they end; a tensor without bytes has none."""
    streams: list[slice] = []
    if entry is not None and entry["data_offsets"][0] == entry["data_offsets"][1]:
        return streams, at
    while True:
        head = data[at : at + HEADER_BYTES]
        if len(head) < HEADER_BYTES:
            raise _corrupt(path, f"ends at byte {len(data)}, though a stream was to follow at byte {at}")
        [length] = struct.unpack_from("<Q", head, STREAM_BYTES_AT)
        if length < HEADER_BYTES or length > len(data) - at:
            raise _corrupt(path, f"has no whole stream at byte {at}")
        streams.append(slice(at, at + length))
        at += length
        if not head[FLAGS_AT] & MORE:
            return streams, at


def _array(raw: bytes, entry: dict[str, Any]) -> np.ndarray[Any, Any]:
    name = KINDS.get(entry["dtype"])
    if name is None:
        return np.frombuffer(bytearray(raw), "u1")
    return np.frombuffer(bytearray(raw), _dtype(name)).reshape(entry["shape"])


def _dtype(name: str) -> np.dtype[Any]:
    if name.startswith(("bfloat", "float8")):
        try:
            import ml_dtypes
        except ImportError:
            raise SleekError(f"tensors of {name} need the package ml_dtypes (pip install ml_dtypes)", UNSUPPORTED_TYPE) from None

        found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
        return found
    return np.dtype(name)


def _corrupt(path: Any, what: str) -> SleekError:
    return SleekError(f"{path}: {what}", CORRUPT)
