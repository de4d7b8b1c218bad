"""Interpolation of codec interp (docs/reference/codecs/interp.md §6). All arithmetic is modulo 2^32."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int32]
Lengths = tuple[int, int, int]

X, Y, Z = 2, 1, 0  # axes of arrays
_CLASSES = ((X,), (Y,), (Z,), (X, Y), (X, Z), (Y, Z), (X, Y, Z))
_STEPS = {0: (15, 15, 15, 13, 13, 11), 1: (15, 15, 15, 13, 13, 11), 2: (15, 15, 13, 11), 3: (15, 13, 11)}
_EVEN, _MEAN = (-64, 576, 576, -64), (0, 512, 512, 0)


def restore(differences: Numbers, lengths: Lengths, rough: bool, in_steps: bool, axes: int) -> Numbers:
    """The numbers of a tile with these lengths along z, y and x, in raster order."""
    levels = _levels(lengths)
    steps = _STEPS[sum(n > 2 for n in lengths)] if in_steps else (1,)
    tile = _Tile(differences, lengths, rough, axes)
    tile.anchors(levels[-1], steps[min(len(levels), len(steps)) - 1])
    for k in reversed(range(len(levels))):
        for new in _CLASSES:
            tile.nodes(k, levels[k], new, steps[min(k, len(steps) - 1)])
    return tile.numbers.reshape(-1)


@functools.lru_cache(64)
def _levels(lengths: Lengths) -> list[list[tuple[Any, Any]]]:
    """Of each level and axis the places of coarse and of new nodes."""
    levels: list[list[tuple[Any, Any]]] = []
    nodes = [np.arange(n) for n in lengths]
    while not levels or any(len(places) > 2 for places in nodes):
        coarse = [np.append(places[:-1:2], places[-1]) for places in nodes]
        levels.append([(c, places[1:-1:2]) for c, places in zip(coarse, nodes)])
        nodes = coarse
    return levels


@functools.lru_cache(512)
def _weights(coarse: tuple[int, ...], new: tuple[int, ...], rough: bool) -> Numbers:
    """What coarse nodes j - 1 … j + 2 count for new node j; a row for each."""
    rows = np.tile(np.array(_MEAN if rough else _EVEN, np.int32), (len(new), 1))
    for j in {0, len(new) - 2, len(new) - 1} & set(range(len(new))):
        first, last = (j, j + 1) if rough else (max(j - 1, 0), min(j + 2, len(coarse) - 1))
        places, row = coarse[first : last + 1], [0] * 4
        for i, place in enumerate(places):
            others = [other for other in places if other != place]
            top, bottom = math.prod(new[j] - other for other in others), math.prod(place - other for other in others)
            row[first + i + 1 - j] = (2048 * top + bottom) // (2 * bottom) if bottom > 0 else (-2048 * top - bottom) // (-2 * bottom)
        row[max(range(4), key=lambda i: abs(row[i]))] += 1024 - sum(row)
        rows[j] = row
    return rows


class _Tile:
    def __init__(self, differences: Numbers, lengths: Lengths, rough: bool, axes: int) -> None:
        self.differences, self.at = differences, 0
        self.rough, self.axes = rough, axes
        self.numbers, self.errors = np.zeros(lengths, np.int32), np.zeros(lengths, np.int32)

    def _take(self, lengths: list[int]) -> Numbers:
        count = math.prod(lengths)
        self.at += count
        return self.differences[self.at - count : self.at].reshape(lengths)

    def anchors(self, level: list[tuple[Any, Any]], step: int) -> None:
        places = [coarse for coarse, _ in level]
        numbers = self._take([len(p) for p in places]) * np.int32(step)
        for axis in range(3):
            numbers = np.cumsum(numbers, axis=axis, dtype=np.int32)
        self.numbers[np.ix_(*places)] = numbers

    def nodes(self, k: int, level: list[tuple[Any, Any]], new: tuple[int, ...], step: int) -> None:
        """The nodes of a class."""
        places = [level[axis][axis in new] for axis in range(3)]
        if not all(map(len, places)):
            return
        errors = self._take([len(p) for p in places]) * np.int32(step)
        if k < 2 and len(new) == 1:
            for axis in {2 - bit for bit in range(3) if self.axes >> bit & 1} - set(new):
                errors = np.cumsum(errors, axis=axis, dtype=np.int32)

        def make(axis: int, of: Numbers) -> Numbers:
            return self._make(level, places, axis, of)

        v, e = self.numbers, self.errors
        apart = first = make(new[-1], v)
        if len(new) == 2:
            other = new[0]
            first = (3 * apart + make(other, v) + 2 * make(other, e)) >> 2 if self.rough else apart + make(other, e)
        elif len(new) == 3:
            first = apart + make(Y, e) + make(X, e)
            if self.rough:
                first = (((2 * apart + make(Y, v) + make(X, v)) >> 2) + first) >> 1
        predicted = (first + 8) >> 4
        here = np.ix_(*places)
        restored = predicted + errors
        self.numbers[here] = restored
        self.errors[here] = restored - ((apart + 8) >> 4) if new == (X, Z) else errors

    def _make(self, level: list[tuple[Any, Any]], places: list[Any], axis: int, of: Numbers) -> Numbers:
        """16 times what coarse nodes along an axis make of the new ones between them."""
        coarse, new = level[axis]
        weights = _weights(tuple(coarse.tolist()), tuple(new.tolist()), self.rough)
        nodes = np.clip(np.arange(-1, 3)[:, None] + np.arange(len(new)), 0, len(coarse) - 1)
        a, b, c, d = (of[np.ix_(*(coarse[row] if k == axis else places[k] for k in range(3)))] for row in nodes)
        shape = [-1 if k == axis else 1 for k in range(3)]
        wa, _, wc, wd = (column.reshape(shape) for column in weights.T)
        made = 16 * b + (((a - b) * wa + (c - b) * wc + (d - b) * wd + 32) >> 6)
        is_even, is_mean = ((weights == kind).all(1).reshape(shape) for kind in (_EVEN, _MEAN))
        return np.where(is_even, 9 * (b + c) - (a + d), np.where(is_mean, 8 * (b + c), made))
