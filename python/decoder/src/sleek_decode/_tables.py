"""The tables of codec predict, and those that tiles bring (docs/reference/codecs/predict.md §12, §14)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ._bits import Reader
from ._errors import expect

Table = list[int]
"""Frequencies of symbols 0, 1, …, which add up to 1024."""

TOTAL = 1024
OWN = 15
"""The class whose table a tile may bring."""

_TOKENS = (
    "1023, 1",
    "1012, 2×5, 2×1",
    "990, 2×17",
    "925, 2×48, 3×1",
    "973, 13, 12, 2×3, 4×2, 2×4, 4×1",
    "787, 111, 110, 2×7, 2×1",
    "494, 2×209, 2×39, 2×9, 2×4, 2×2, 4×1",
    "931, 9, 10, 2×2, 60×1, 4, 6×1",
    "749, 2×69, 2×19, 2×9, 2×7, 2×3, 61×1",
    "271, 2×143, 2×82, 2×48, 2×28, 2×17, 2×11, 2×8, 2×6, 2×4, 2×3, 2×2, 41×1, 2, 6×1",
    "945, 79×1",
    "72, 2×43, 2×34, 2×29, 2×26, 2×23, 2×20, 2×19, 2×17, 2×16, 2×14, 2×13, 2×12, 2×11, 2×10, 2×9, 2×10, 9, 3×8, 2×7, 6×6, 6×5, 10×4, 3×3, 70, "
    "34, 31, 12, 10, 2×4, 2×2, 9×1",
    "19, 2×5, 4×4, 24×3, 4×4, 8×3, 20×2, 4, 73, 65, 111, 88, 129, 91, 111, 53, 44, 18, 14, 2×6, 2×3, 8×1",
    "64×1, 8, 7, 2×15, 29, 28, 52, 46, 84, 72, 118, 91, 124, 70, 79, 43, 44, 16, 9, 2, 8×1",
    "730, 2×6, 4×2, 57×1, 13, 8, 17, 4, 10, 5, 13, 6, 13, 3, 6, 4, 6, 2, 3, 1, 4, 99×1",
    "74×1, 8, 7, 21, 20, 38, 34, 67, 60, 100, 74, 112, 70, 73, 40, 73, 63, 90×1",
)
_CLASSES = (
    "963, 26, 6, 2×3, 5×2, 3, 5×2",
    "567, 305, 79, 27, 18, 5, 2×2, 4, 2, 3, 5×2",
    "277, 269, 338, 74, 13, 18, 5, 6, 8, 2×3, 5×2",
    "137, 145, 224, 259, 41, 142, 10, 17, 30, 4×3, 2, 3, 2",
    "398, 75, 42, 59, 293, 27, 4, 83, 24, 2×4, 3×2, 3, 2",
    "28, 47, 142, 189, 15, 483, 46, 5, 47, 7, 2×3, 2×2, 3, 2",
    "16, 4, 69, 22, 6, 243, 447, 4, 107, 80, 4, 6, 4×4",
    "40, 280, 43, 68, 191, 14, 5, 281, 23, 6, 32, 5, 2×3, 27, 3",
    "21, 19, 58, 102, 97, 133, 63, 42, 388, 49, 5, 18, 2×3, 20, 3",
    "5, 4, 5, 10, 4, 30, 115, 7, 86, 671, 4, 67, 4, 3, 6, 3",
    "189, 8, 5, 7, 157, 2×4, 50, 17, 5, 530, 4, 5, 4, 31, 4",
    "3×4, 5, 4, 2×5, 4, 47, 108, 6, 742, 57, 5, 20, 4",
    "7, 4×5, 2×6, 5, 8, 7, 6, 114, 748, 64, 27, 6",
    "2×5, 7×4, 5, 7, 5, 51, 876, 13, 29",
    "38, 2×4, 5, 2×6, 8, 84, 40, 13, 55, 26, 23, 9, 696, 7",
    "12×10, 12, 94, 19, 779",
    "870, 49, 19, 12, 16, 10, 5, 9, 7, 2×5, 4, 3, 2×4, 2",
)


def read(written: str) -> Table:
    """A table as pages write it."""
    runs = [run.split("×") for run in written.split(", ")]
    return [int(run[-1]) for run in runs for _ in range(int(run[0]) if len(run) > 1 else 1)]


TABLES = [read(written) for written in _TOKENS]
CLASS_TABLES = [read(written) for written in _CLASSES]
"""Of classes by the class of the group before; the last one where there is none."""
FIRST = len(CLASS_TABLES) - 1


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
