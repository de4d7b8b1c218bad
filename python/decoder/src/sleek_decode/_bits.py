"""Numbers of any width that stand bit after bit, each from its lowest bit on."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ._element import Words
from ._errors import expect

Bytes = npt.NDArray[np.uint8]


def unpack(packed: Bytes, count: int, width: int, words: np.dtype[Any]) -> Words:
    """`count` numbers of `width` bits from each row of bytes."""
    if width == 0:
        return np.zeros((len(packed), count), words)
    full = 8 * words.itemsize
    bits = np.unpackbits(packed, axis=1, bitorder="little", count=count * width).reshape(len(packed), count, width)
    if width < full:
        bits = np.pad(bits, ((0, 0), (0, 0), (0, full - width)))
    return np.packbits(bits, axis=2, bitorder="little").view(words).reshape(len(packed), count)


def zigzag(codes: Words) -> Words:
    """0, -1, 1, -2, 2, … of 0, 1, 2, …, modulo the width."""
    one = codes.dtype.type(1)
    return (codes >> one) ^ (~(codes & one) + one)


class Reader:
    """Takes parts of a body one after another."""

    def __init__(self, body: Bytes) -> None:
        self.body, self.at = body, 0

    def take(self, count: int) -> Bytes:
        expect(count <= len(self.body) - self.at, f"a chunk of {len(self.body)} bytes ends too early")
        part = self.body[self.at : self.at + count]
        self.at += count
        return part

    def number(self, count: int) -> int:
        return int.from_bytes(self.take(count).tobytes(), "little")

    def numbers(self, count: int, type: str) -> Any:
        """`count` numbers as Python's integers."""
        return self.take(count * np.dtype(type).itemsize).view(type).tolist()

    def rest(self) -> Bytes:
        return self.take(len(self.body) - self.at)

    def zeros(self, fewer_than: int) -> None:
        """Zero bytes to the end."""
        rest = self.rest()
        expect(len(rest) < fewer_than and not rest.any(), "what fills a chunk up is not zero")


def set_bits(number: int) -> list[int]:
    """The places of the bits that are set, from the lowest on."""
    return [k for k in range(number.bit_length()) if number >> k & 1]
