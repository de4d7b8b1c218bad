"""Element types, as docs/reference/format.md §1 numbers them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ._errors import DecodeError

Words = npt.NDArray[Any]
"""Elements, or what becomes of them, as unsigned words of their width."""


class Element(NamedTuple):
    name: str
    bytes: int
    mantissa: int  # bits; 0 of integers
    exponent: int

    @property
    def bits(self) -> int:
        return 8 * self.bytes

    @property
    def is_float(self) -> bool:
        return self.mantissa != 0

    @property
    def bias(self) -> int:
        return (1 << (self.exponent - 1)) - 1

    @property
    def words(self) -> np.dtype[Any]:
        """Little-endian unsigned words of this width, as streams hold them."""
        return np.dtype(f"<u{self.bytes}")

    @property
    def signed(self) -> np.dtype[Any]:
        return np.dtype(f"<i{self.bytes}")

    def dtype(self, big_endian: bool) -> np.dtype[Any]:
        """numpy's type; of bfloat16 that of ml_dtypes."""
        if self.name != "bf16":
            return np.dtype(f"{'>' if big_endian else '<'}{self.name[0]}{self.bytes}")
        if big_endian:
            raise DecodeError("bfloat16 elements are big-endian, which numpy cannot represent: decode_bytes gives their bytes")
        try:
            import ml_dtypes
        except ImportError:
            raise DecodeError("bfloat16 elements need the package ml_dtypes; decode_bytes gives their bytes without it") from None
        return np.dtype(ml_dtypes.bfloat16)


ELEMENTS = {
    1: Element("f32", 4, 23, 8),
    2: Element("f64", 8, 52, 11),
    3: Element("f16", 2, 10, 5),
    4: Element("bf16", 2, 7, 8),
    5: Element("i8", 1, 0, 0),
    6: Element("i16", 2, 0, 0),
    7: Element("i32", 4, 0, 0),
    8: Element("i64", 8, 0, 0),
    9: Element("u8", 1, 0, 0),
    10: Element("u16", 2, 0, 0),
    11: Element("u32", 4, 0, 0),
    12: Element("u64", 8, 0, 0),
}
