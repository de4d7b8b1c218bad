"""The tables of codec predict, and those that tiles bring (docs/codecs/predict.md §10, §12)."""

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

_WRITTEN = (
    "840, 50, 23, 8, 2×3, 5×2, 2×3, 8, 23, 50",
    "1006, 2×7, 4×1",
    "946, 2×20, 38×1",
    "874, 2×51, 2×2, 44×1",
    "630, 2×161, 2×5, 62×1",
    "778, 2×83, 2×6, 6×2, 56×1",
    "430, 2×203, 2×46, 2×12, 2×5, 2×2, 58×1",
    "715, 2×55, 2×24, 2×14, 2×10, 2×7, 2×5, 4×3, 4×2, 6×1, 2×2, 35×1, 2×4, 6×1",
    "264, 2×133, 2×83, 2×52, 2×33, 2×20, 2×13, 2×8, 2×5, 2×4, 4×2, 50×1",
    "107, 60, 61, 2×56, 2×47, 2×40, 2×35, 2×31, 4×27, 2×20, 2×17, 2×14, 2×12, 2×10, 2×8, 2×7, 2×6, 2×5, 2×4, 4×3, 6×2, 17×1, 10, 3, 2, 8×1",
    "586, 2×52, 2×20, 2×13, 2×9, 4×7, 4×5, 4×4, 14×3, 22×2, 7×1, 28, 17, 15, 6, 8, 3, 4, 3, 4, 5×1",
    "81, 2×23, 2×20, 2×18, 2×16, 2×15, 4×14, 2×13, 4×12, 4×11, 8×10, 2×9, 6×8, 6×7, 8×6, 9×5, 110, 58, 61, 30, 23, 6, 4, 12×1",
    "17, 2×3, 28×2, 2×3, 31×2, 49, 45, 84, 75, 132, 109, 151, 83, 69, 31, 23, 9, 6, 2, 9×1",
    "97, 63×1, 2×11, 20, 19, 35, 33, 58, 52, 89, 74, 115, 84, 111, 63, 49, 16, 10, 3, 2, 9×1",
    "334, 2×21, 2×13, 2×9, 2×7, 2×6, 2×5, 4×4, 8×3, 6×2, 2×3, 10×2, 20×1, 2, 29, 21, 31, 23, 33, 24, 31, 21, 25, 14, 18, 12, 16, 11, 14, 8, "
    "10, 7, 8, 6, 7, 4, 2, 93×1",
    "2, 63×1, 2×2, 2×4, 2×7, 13, 12, 24, 23, 44, 42, 73, 64, 3×74, 55, 50, 27, 36, 22, 26, 18, 30, 24, 31, 9, 88×1",
)


def _read(written: str) -> Table:
    runs = [run.split("×") for run in written.split(", ")]
    return [int(run[-1]) for run in runs for _ in range(int(run[0]) if len(run) > 1 else 1)]


TABLES = [_read(written) for written in _WRITTEN]


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


def slots(own: list[Table]) -> tuple[Any, Any, Any]:
    """Of each slot of each table the symbol, its frequency, and the slot's place among the symbol's."""
    tables = TABLES + own
    symbol = np.concatenate([np.repeat(np.arange(len(table)), table) for table in tables])
    frequency = np.concatenate([np.repeat(table, table) for table in tables])
    starts: npt.NDArray[np.int64] = np.concatenate([np.repeat(np.cumsum([0, *table[:-1]]), table) for table in tables])
    return symbol, frequency, np.arange(len(symbol)) % TOTAL - starts
