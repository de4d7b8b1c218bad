"""Planes: where a chunk's missing values are (docs/reference/format.md §5)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ._bits import Bytes, Reader, set_bits
from ._element import Words
from ._errors import expect


class Planes:
    """The plane at the start of a body in a stream with `missing` such values."""

    def __init__(self, body: Bytes, capacity: int, unit: int, missing: int) -> None:
        head = Reader(body)
        which, zero, units = head.number(1), head.number(1), head.number(2)
        self.kind, self.bytes = which >> 6, units * unit
        expect(which & 0x30 == 0 and zero == 0 and self.kind in (0, 2), "the head of a plane")
        expect(4 <= self.bytes <= len(body), "a plane is longer than its chunk")
        self.values = set_bits(which & 15)
        expect(self.values and self.values[-1] < missing, "a plane names a missing value that is not there")
        reader = Reader(body[: self.bytes])
        reader.take(4)
        block = max(64, capacity // 32)
        blocks = -(-capacity // block)
        self.masks = [_mask(reader, block, blocks) for _ in self.values]
        reader.zeros(unit)
        twice = np.add.reduce(np.array(self.masks, np.uint8)) > 1
        expect(not twice.any(), "an element has two missing values")

    def put(self, words: Words, missing: tuple[int, ...]) -> Words:
        """The words with the missing values in their places."""
        words = words.copy()
        for value, mask in zip(self.values, self.masks):
            words[mask[: len(words)]] = missing[value]
        return words


def _mask(reader: Reader, block: int, blocks: int) -> npt.NDArray[np.bool_]:
    first, mixed = reader.number(4), reader.number(4)
    expect((first | mixed) and (first | mixed) >> blocks == 0, "a mask's blocks")
    flags = [reader.number(block // 64) for _ in set_bits(mixed)]
    changes = np.zeros((blocks, block // 8), np.uint8)
    for b, flag in zip(set_bits(mixed), flags):
        expect(flag, "a mixed block does not change")
        places = set_bits(flag)
        changes[b, places] = reader.take(len(places))
        expect(changes[b, places].all() and not changes[b, 0] & 1, "a mask's changes")
    bits = np.unpackbits(changes, axis=1, bitorder="little")
    bits[:, 0] = [first >> b & 1 for b in range(blocks)]
    return (np.cumsum(bits, axis=1, dtype=np.uint32) & 1).astype(bool).reshape(-1)
