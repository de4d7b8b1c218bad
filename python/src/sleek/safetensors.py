"""Compressed safetensors files, as ``sleek compress model.safetensors`` makes them, tensor by tensor (docs/guide/archives.md).

>>> import numpy as np, os, sleek.safetensors, tempfile
>>> path = os.path.join(tempfile.mkdtemp(), "model.slk")
>>> sleek.safetensors.save({"weight": np.eye(100, dtype="f4"), "steps": np.arange(5)}, path)
>>> sleek.safetensors.load(path)["steps"]
array([0, 1, 2, 3, 4])
>>> list(sleek.safetensors.load(path, ["weight"]))
['weight']

``sleek decompress model.slk model.safetensors`` makes a safetensors file of what `save` wrote.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ._array import compress, decompress
from ._library import SleekError
from ._params import UNSUPPORTED_TYPE

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


def load(path: str | os.PathLike[str], names: Iterable[str] | None = None) -> dict[str, np.ndarray[Any, Any]]:
    """The tensors of a compressed file, or those that are named, which alone are read.

    BF16 and F8 need the package ml_dtypes. Tensors of types that numpy has no name for come as their bytes.
    """
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if data[: len(MAGIC)] != MAGIC:
            raise _corrupt(path, "is no compressed file of tensors")
        [head], at = _streams(path, data, len(MAGIC))
        header = json.loads(decompress(data[head]).tobytes()[8:])
        header.pop("__metadata__", None)
        wanted = set(header) if names is None else set(names)
        if not wanted <= set(header):
            raise KeyError(f"{path} has no tensors {sorted(wanted - set(header))}; it has {sorted(header)[:10]}")
        tensors = {}
        for name, entry in sorted(header.items(), key=lambda item: (item[1]["data_offsets"], item[0])):
            begin, end = entry["data_offsets"]
            streams, at = _streams(path, data, at) if end > begin else ([], at)
            if name in wanted:
                raw = b"".join(decompress(data[stream]).tobytes() for stream in streams)
                if len(raw) != end - begin:
                    raise _corrupt(path, f"tensor {name!r} has {len(raw)} bytes, its header says {end - begin}")
                tensors[name] = _array(raw, entry)
        return tensors


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
    kinds, arrays, at = {numpy: kind for kind, numpy in KINDS.items()}, {}, 0
    for name, tensor in tensors.items():
        a = np.asarray(tensor)
        a = np.ascontiguousarray(a, a.dtype.newbyteorder("<") if a.dtype.kind in "iufc" else None).reshape(a.shape)
        if a.dtype.name not in kinds:
            raise TypeError(f"tensor {name!r} is of type {a.dtype}; safetensors has {', '.join(kinds)}")
        header[name] = {"dtype": kinds[a.dtype.name], "shape": list(a.shape), "data_offsets": [at, at + a.nbytes]}
        arrays[name], at = a, at + a.nbytes
    text = json.dumps(header, ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    bound: dict[str, Any] = {"abs": abs, "noa": noa, "rel": rel}
    is_lossless = all(value is None for value in bound.values())
    temporary = f"{os.fspath(path)}.{os.getpid()}"
    try:
        with open(temporary, "xb") as file:
            file.write(MAGIC)
            whole = np.frombuffer(struct.pack("<Q", len(text)) + text, "u1")
            file.write(compress(whole, lossless=True, profile="small"))
            for name, entry in sorted(header.items(), key=lambda item: (item[1].get("data_offsets", []), item[0])):
                if name != "__metadata__" and arrays[name].size:
                    elements = np.atleast_1d(arrays[name])
                    streams = [compress(elements, lossless=True, profile=profile)]
                    if entry["dtype"] in FLOATS and not is_lossless:
                        streams.append(compress(elements, profile=profile, **bound))
                    file.write(min(streams, key=len))
        os.replace(temporary, path)
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)


def _streams(path: Any, data: mmap.mmap, at: int) -> tuple[list[slice], int]:
    """Where the streams of an array are that begin at a place, and where they end."""
    streams = []
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
