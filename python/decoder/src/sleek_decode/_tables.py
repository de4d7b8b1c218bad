"""The tables of codec interp, and those that tiles bring (docs/reference/codecs/interp.md §9)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ._bits import Reader
from ._errors import expect

Table = list[int]
"""Frequencies of symbols 0, 1, …, which add up to 1024."""

TOTAL = 1024
NARROW = 12
"""The last class without low bits of its own."""

_TOKENS = (
    "1023, 1",
    "1012, 2×5, 2×1",
    "990, 2×17",
    "925, 2×48, 3×1",
    "982, 2×9, 6×2, 2×4, 4×1",
    "796, 2×107, 2×6, 2×1",
    "509, 2×205, 38, 37, 2×9, 2×3, 6×1",
    "934, 2×7, 1, 2, 59×1, 3, 5, 6×1",
    "790, 2×56, 15, 16, 2×8, 2×5, 2×2, 61×1",
    "297, 2×152, 2×88, 44, 45, 2×23, 2×13, 2×8, 2×5, 2×3, 54×1",
    "945, 79×1",
    "742, 2×8, 2×2, 59×1, 10, 7, 16, 4, 8, 4, 10, 5, 12, 4, 7, 4, 6, 3, 2, 101×1",
    "98, 60, 55, 45, 44, 38, 37, 35, 33, 31, 29, 27, 26, 25, 23, 22, 21, 20, 19, 17, 16, 2×15, 2×13, 12, "
    "11, 10, 9, 2×8, 2×7, 2×6, 3×5, 4×4, 7×3, 14×2, 1, 31, 13, 12, 5, 4, 2×2, 13×1",
    "15, 2×8, 2×7, 3×6, 11×5, 15×4, 3, 4, 3, 4, 16×3, 3×2, 3, 4×2, 3, 2, 98, 72, 93, 57, 68, 45, 56, 32, "
    "35, 23, 44, 35, 104×1",
)
_CLASSES = (
    "905, 48, 13, 6, 7, 3, 2, 2×5, 2, 5, 7, 8×2",
    "331, 400, 144, 43, 31, 13, 3, 6, 27, 3, 4, 3, 8×2",
    "145, 246, 360, 95, 54, 21, 8, 9, 59, 5, 3, 2, 3, 7×2",
    "55, 116, 118, 222, 145, 103, 16, 22, 197, 7, 3, 2, 4, 7×2",
    "104, 93, 101, 169, 183, 70, 12, 34, 217, 12, 7, 3, 5, 7×2",
    "21, 30, 34, 113, 65, 265, 98, 5, 360, 12, 3×2, 3, 6×2",
    "10, 8, 9, 19, 10, 123, 360, 3, 338, 118, 2, 3, 6, 5×2, 3, 2",
    "101, 21, 24, 50, 44, 8, 2, 519, 108, 7, 39, 79, 6, 3, 2×2, 3, 3×2",
    "11, 17, 22, 55, 43, 81, 66, 14, 604, 58, 2, 2×16, 6, 3, 5×2",
    "2, 2×3, 5, 4, 5, 31, 3, 85, 793, 2, 3, 63, 7, 3×3, 3×2",
    "292, 24, 8, 5, 22, 4, 3, 160, 18, 10, 343, 104, 8, 5, 6×3",
    "58, 6×2, 12, 16, 3, 5, 893, 5, 2×2, 3, 4, 3×3",
    "6×2, 3, 4, 41, 166, 3, 10, 598, 136, 21, 13, 9, 2×3, 2",
    "8×2, 7, 11, 2, 3, 132, 726, 90, 17, 11, 4, 3, 2",
    "3×2, 3, 2, 3, 2×2, 4, 10, 3, 7, 58, 308, 385, 172, 41, 12, 4, 2",
    "6×2, 3, 2, 4, 5, 2, 10, 36, 78, 217, 459, 159, 23, 11, 3",
    "4, 3, 4×2, 3, 2, 3, 4, 2, 2×14, 24, 39, 117, 587, 150, 39, 11",
    "8×2, 4, 3, 2, 7, 6, 11, 13, 42, 224, 594, 81, 21",
    "10×2, 3, 5, 2×2, 4, 3, 18, 36, 802, 129",
    "11×2, 5, 3, 3×2, 2×5, 131, 847",
    "305, 50, 28, 2×21, 22, 20, 21, 99, 82, 5, 85, 40, 51, 18, 15, 26, 17, 47, 51",
)


def read(written: str) -> Table:
    """A table as pages write it."""
    runs = [run.split("×") for run in written.split(", ")]
    return [int(run[-1]) for run in runs for _ in range(int(run[0]) if len(run) > 1 else 1)]


TOKENS = [read(written) for written in _TOKENS]
TOKENS[NARROW:NARROW] = [TOKENS[NARROW]] * 6  # of classes 12 to 18
CLASSES = [read(written) for written in _CLASSES]
"""Of classes by the class of the group before; the last one where there is none."""
FIRST = len(CLASSES) - 1


def read_own(reader: Reader, symbols: int) -> Table:
    """A tile's own table, of at most so many symbols."""
    table: Table = []
    total, begin = 0, reader.at
    while total < TOTAL:
        frequency = reader.number(1)
        if frequency >= 128:
            frequency = (frequency - 128) << 8 | reader.number(1)
        table += [frequency] + ([0] * reader.number(1) if frequency == 0 else [])
        total += frequency
        expect(len(table) <= symbols and frequency < TOTAL, "a tile's table")
    expect(total == TOTAL, "the frequencies of a tile's table")
    if (reader.at - begin) % 2:
        expect(reader.number(1) == 0, "what fills a tile's table up is not zero")
    return table


def slots(tables: list[Table]) -> tuple[Any, Any, Any]:
    """Of each slot of each table the symbol, its frequency, and the slot's place among the symbol's."""
    symbol = np.concatenate([np.repeat(np.arange(len(table)), table) for table in tables])
    frequency = np.concatenate([np.repeat(table, table) for table in tables])
    starts: npt.NDArray[np.int64] = np.concatenate([np.repeat(np.cumsum([0, *table[:-1]]), table) for table in tables])
    return symbol, frequency, np.arange(len(symbol)) % TOTAL - starts
