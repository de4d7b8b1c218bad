"""Codec predict: tiles of differences behind an entropy coder of 32 lanes (docs/codecs/predict.md). Many tiles go side by side."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import _lossless
from ._bits import Bytes, Reader, set_bits, zigzag
from ._element import Element, Words
from ._errors import expect
from ._lossless import Form
from ._quantizer import Step, restore
from ._tables import OWN, Table, slots

if TYPE_CHECKING:
    from ._container import Stream

LANES, GROUP = 32, 128
NEVER, DROP = 255, 4096
STATE_BITS, LENGTH_BITS = 28, 4
BATCH = 64
"""Tiles that are decoded side by side."""

Numbers = npt.NDArray[np.int64]


@dataclass
class Tile:
    """What stands in front of a tile's words."""

    lengths: tuple[int, int, int]
    axes: int
    bins: bool
    base: int
    switch: int
    form: Form
    states: Numbers
    words: Numbers


def decode(stream: Stream, bodies: list[Bytes], sides: list[tuple[int, ...]]) -> list[Words]:
    element, log2 = stream.element, stream.tile_log2
    expect(log2 is not None and stream.wide and not stream.section, "codec predict has tiles, wide entries and no section")
    assert log2 is not None
    expect(stream.capacity <= 16384, "a tile of codec predict has at most 16384 elements")
    step = Step.of(stream.word, element)
    axes, whole = _axes(log2), tuple(1 << s for s in log2)
    full = _along(axes, whole)
    found = []
    for first in range(0, len(bodies), BATCH):
        some = slice(first, first + BATCH)
        tiles = [_tile(body, _along(axes, tile), full, element, step) for body, tile in zip(bodies[some], sides[some])]
        has = np.array([_elements(tile.lengths, full) for tile in tiles]).reshape(len(tiles), -1)
        codes = _Lanes(tiles, has).decode() if tiles else np.zeros((0, 0), np.uint64)
        found += [_restore(tile, some_codes[here], element, step) for tile, some_codes, here in zip(tiles, codes, has)]
    return found


def _axes(log2: tuple[int, ...]) -> tuple[int, int]:
    """Which dimensions x and y are; -1 if there is none."""
    long = [k for k, s in enumerate(log2) if s > 0]
    return (long[-1] if long else -1, long[-2] if len(long) > 1 else -1)


def _along(axes: tuple[int, int], sides: tuple[int, ...]) -> tuple[int, int, int]:
    """A box's lengths along z, y and x."""
    x, y = axes
    before = y if y >= 0 else 0
    return math.prod(sides[:before]), sides[y] if y >= 0 else 1, sides[x] if x >= 0 else 1


def _elements(lengths: tuple[int, int, int], full: tuple[int, int, int]) -> npt.NDArray[np.bool_]:
    """Which places, up to a whole number of groups for every lane, have an element."""
    groups = 4 * -(-math.prod(full) // 512)
    has = np.zeros(groups * GROUP, bool)
    box = has[: math.prod(full)].reshape(full)
    box[: lengths[0], : lengths[1], : lengths[2]] = True
    return has


def _tile(body: Bytes, lengths: tuple[int, int, int], full: tuple[int, int, int], element: Element, step: Step) -> Tile:
    reader, count = Reader(body), math.prod(lengths)
    groups = 4 * -(-math.prod(full) // 512)
    head = reader.number(4)
    axes, exact, base_words = head & 7, head >> 3 & 1, (0, 1, 2, 4)[head >> 4 & 3]
    own_table = bool(head >> 6 & 1)
    switch, longest, masked = head >> 7 & 255, head >> 15 & 31, bool(head >> 20 & 1)
    expect(all(full[2 - k] > 1 for k in set_bits(axes)), "differences along an axis that a tile does not have")
    expect(not (exact and not step.factor), "an exact tile in a stream without bins")
    expect((switch <= groups or switch == NEVER) and longest <= STATE_BITS, "the head of a tile")
    expect(longest > 0 or not masked, "the head of a tile")
    bins = step.factor != 0 and not exact
    form = Form(own_table=own_table) if bins else Form.read(reader.number(2), own_table, element, axes)
    bits = 11 + 16 * base_words
    base = head >> 21 | reader.number(2 * base_words) << 11
    base -= (base >> (bits - 1)) << bits
    form.parts(reader, count, element)
    states = _states(reader, longest, masked)
    return Tile(lengths, axes, bins, base, switch, form, states, reader.rest().view("<u2").astype(np.int64))


def _states(reader: Reader, longest: int, masked: bool) -> Numbers:
    """The final states of the lanes, §4."""
    states = np.ones(LANES, np.int64)
    if not longest:
        return states
    lanes = set_bits(reader.number(4)) if masked else list(range(LANES))
    room = np.zeros(LANES * (LENGTH_BITS + STATE_BITS) // 8, np.uint8)
    rest = reader.body[reader.at :][: len(room)]
    room[: len(rest)] = rest
    bits = np.unpackbits(room, bitorder="little").astype(np.int64)
    begin, floor = LENGTH_BITS * len(lanes), max(longest - (1 << LENGTH_BITS) + 1, 0)
    above = bits[:begin].reshape(-1, LENGTH_BITS) @ (1 << np.arange(LENGTH_BITS))
    counts = np.where(above > 0, floor + above - 1, floor)
    ends = np.cumsum(np.append(begin, counts))
    taken = -(-int(ends[-1]) // 16) * 2
    reader.take(taken)
    expect(not bits[ends[-1] : 8 * taken].any(), "what fills states up is not zero")
    column = np.arange(STATE_BITS - 1)
    places = np.minimum(ends[:-1, None] + column, len(bits) - 1)
    numbers = np.where(column < counts[:, None], bits[places], 0) @ (1 << column)
    states[lanes] = np.maximum(numbers | np.where(above > 0, 1 << counts, 0), 1)
    return states


class _Lanes:
    """The lanes of all tiles: arrays with a row for each tile, and in it a number for each lane."""

    def __init__(self, tiles: list[Tile], has: npt.NDArray[np.bool_]) -> None:
        self.has = has.reshape(len(tiles), -1, LANES, 4)
        self.groups = self.has.shape[1]
        self.states = np.array([tile.states for tile in tiles])
        self.switches = np.array([tile.switch for tile in tiles])
        self.thresholds = np.where(self.switches == NEVER, 0, DROP)[:, None]
        self.symbols = np.array([tile.form.symbols for tile in tiles])
        lengths = np.array([len(tile.words) for tile in tiles])
        self.ends = np.cumsum(lengths)
        self.at = self.ends - lengths
        # Behind the end of a tile that is damaged too much may be taken.
        self.words = np.concatenate([*(tile.words for tile in tiles), np.zeros(1, np.int64)])
        own: list[Table] = [tile.form.table for tile in tiles if tile.form.table is not None]
        self.symbol, self.frequency, self.offset = slots(own)
        numbers = np.cumsum([tile.form.table is not None for tile in tiles]) - 1
        self.own = np.array([OWN + 1 + n if tile.form.table is not None else OWN for tile, n in zip(tiles, numbers)])

    def decode(self) -> npt.NDArray[np.uint64]:
        classes = self._classes()
        codes = np.zeros((*self.has.shape,), np.uint64)
        for group in range(self.groups):
            self._change(group)
            active = self.has[:, group] & (classes[:, group] > 0)[:, None, None]
            if active.any():
                table = np.where(classes[:, group] == OWN, self.own, classes[:, group])[:, None]
                codes[:, group] = self._group(active, table)
        self._change(self.groups)
        left = self.ends - self.at
        expect(((left == 0) | (left == 1)).all(), "a tile has other words than it needs")
        last = self.words[np.where(left == 1, self.at, len(self.words) - 1)]
        expect((self.states == 1).all() and not last.any(), "a tile's states do not end where they begin")
        return codes.reshape(len(codes), -1)

    def _classes(self) -> Numbers:
        tiles = len(self.states)
        differences = np.zeros((tiles, LANES, 4), np.int64)
        groups = np.zeros((tiles, LANES * 4), bool)
        groups[:, : self.groups] = self.has.reshape(tiles, self.groups, GROUP).any(2)
        some = groups.reshape(tiles, LANES, 4)
        for s in range(4):
            differences[:, :, s] = self._symbol(some[:, :, s], np.zeros((tiles, 1), np.int64))
        return np.cumsum(differences.reshape(tiles, -1), axis=1) % 16

    def _group(self, active: npt.NDArray[np.bool_], table: Numbers) -> npt.NDArray[np.uint64]:
        tokens = np.stack([self._symbol(active[:, :, j], table) for j in range(4)], axis=2)
        widths = np.where((tokens < 64) | self.symbols[:, None, None], 0, 5 + (tokens - 64) // 2)
        raw = np.zeros(tokens.shape, np.uint64)
        if widths.any():
            together = widths.sum(2)
            wide = together.max(1, keepdims=True) > 12
            self._narrow(np.where(wide, 0, together), widths, raw)
            if wide.any():
                self._wide(np.where(wide[:, :, None], widths, 0), raw)
        tops = np.where(widths > 0, 2 + tokens % 2, tokens).astype(np.uint64)
        return (tops << widths.astype(np.uint64)) + raw

    def _narrow(self, together: Numbers, widths: Numbers, raw: npt.NDArray[np.uint64]) -> None:
        """The raw bits of all four values of a lane in one step."""
        if not together.any():
            return
        bits = self._raw(together)
        for j in range(4):
            width = np.where(together > 0, widths[:, :, j], 0)
            raw[:, :, j] = (bits & (1 << width) - 1).astype(np.uint64)
            bits >>= width

    def _wide(self, widths: Numbers, raw: npt.NDArray[np.uint64]) -> None:
        for k in range(-(-int(widths.max()) // 12)):
            for j in range(4):
                bits = self._raw(np.clip(widths[:, :, j] - 12 * k, 0, 12))
                raw[:, :, j] |= bits.astype(np.uint64) << np.uint64(12 * k)

    def _symbol(self, active: npt.NDArray[np.bool_], table: Numbers) -> Numbers:
        states = self.states
        slot = (states & 1023) + (table << 10)
        taken = self.frequency[slot] * (states >> 10) + self.offset[slot]
        self.states = np.where(active, taken, states)
        self._refill(active)
        return np.where(active, self.symbol[slot], 0)

    def _raw(self, widths: Numbers) -> Numbers:
        bits = self.states & ((1 << widths) - 1)
        self.states = self.states >> widths
        self._refill(widths > 0)
        return bits

    def _refill(self, active: npt.NDArray[np.bool_]) -> None:
        hungry = active & (self.states < self.thresholds)
        taken = np.cumsum(hungry, axis=1)
        at = np.minimum(self.at[:, None] + taken - 1, len(self.words) - 1)
        self.states = np.where(hungry, (self.states << 16) + self.words[at], self.states)
        self.at = self.at + taken[:, -1]

    def _change(self, group: int) -> None:
        now = self.switches == group
        if now.any():
            expect((self.states[now] > DROP).all(), "a tile's states are too small where they change")
            self.states[now] -= DROP
            self.thresholds[now] = 0


def _restore(tile: Tile, codes: npt.NDArray[np.uint64], element: Element, step: Step) -> Words:
    """Codes, in the order of elements, to the bits of these."""
    form, unsigned = tile.form, element.words
    short = form.complete(codes.astype(unsigned))
    if form.symbols:
        numbers = short
    elif form.lags is not None:
        numbers = _lossless.follow(form.lags, zigzag(short))
    else:
        numbers = _sum(zigzag(short).reshape(tile.lengths), tile.axes)
    words = numbers + unsigned.type(tile.base % (1 << element.bits))
    return restore(step, words, element) if tile.bins else form.elements(words, element)


def _sum(differences: Words, axes: int) -> Words:
    """Differences back to what they are of, §6."""
    if axes == 0:
        return differences.reshape(-1)
    taken = [axis for axis in range(3) if axes >> (2 - axis) & 1]  # of z, y, x
    corner = differences[tuple(slice(0, 1) if axis in taken else slice(None) for axis in range(3))]
    for axis in range(3):
        if axis not in taken:
            np.cumsum(corner, axis=axis, dtype=corner.dtype, out=corner)
    for axis in taken:
        differences = np.cumsum(differences, axis=axis, dtype=differences.dtype)
    return differences.reshape(-1)
