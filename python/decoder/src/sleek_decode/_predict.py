"""Codec predict: predicted tiles behind an entropy coder of 32 lanes (docs/reference/codecs/predict.md). Many tiles go side by side."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import _interpolate, _lossless
from ._bits import Bytes, Reader, set_bits, zigzag
from ._element import Element, Words
from ._errors import expect
from ._lattice import Lattice, Patches
from ._lossless import Form
from ._quantizer import Step, restore
from ._tables import CLASS_TABLES, FIRST, OWN, TABLES, Table, slots

if TYPE_CHECKING:
    from ._container import Stream

LANES, GROUP = 32, 128
NEVER, DROP = 255, 4096
PLAIN, COARSE, FINE, EXACT = range(4)
"""What numbers of a tile are."""
CLASSES = len(TABLES)
"""The first table of classes."""
STATE_BITS, LENGTH_BITS = 28, 4
BATCH = 64
"""Tiles that are decoded side by side."""

Numbers = npt.NDArray[np.int64]


@dataclass
class Tile:
    """What stands in front of a tile's words."""

    lengths: tuple[int, int, int]
    count: int
    axes: int
    predictor: int
    map: int
    bins: bool
    base: int
    switch: int
    form: Form
    patches: Patches | None
    states: Numbers
    words: Numbers
    sparse: Words | None
    """Differences, if it is sparse."""


def decode(stream: Stream, bodies: list[Bytes], sides: list[tuple[int, ...]]) -> list[Words]:
    element, log2 = stream.element, stream.tile_log2
    expect(log2 is not None and stream.wide and not stream.section, "codec predict has tiles, wide entries and no section")
    assert log2 is not None
    expect(stream.capacity <= 16384, "a tile of codec predict has at most 16384 elements")
    step = Step.of(stream.word[:3] + b"\0", element)
    lattice = Lattice.of(stream.word[3], step, element)
    axes, whole = _axes(log2), tuple(1 << s for s in log2)
    full = _along(axes, whole)
    found = []
    for first in range(0, len(bodies), BATCH):
        some = slice(first, first + BATCH)
        tiles = [_tile(body, _along(axes, tile), full, element, step, lattice) for body, tile in zip(bodies[some], sides[some])]
        coded = [tile for tile in tiles if tile.sparse is None]
        codes = iter(_Lanes(coded).decode() if coded else ())
        found += [_restore(tile, tile.sparse if tile.sparse is not None else next(codes), element, step, lattice) for tile in tiles]
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


def _tile(
    body: Bytes, lengths: tuple[int, int, int], full: tuple[int, int, int], element: Element, step: Step, lattice: Lattice | None
) -> Tile:
    reader, count = Reader(body), math.prod(lengths)
    head = reader.number(4)
    axes, predictor, map = head & 7, head >> 3 & 3, head >> 5 & 3
    own_table, has_patches, sparse = bool(head >> 7 & 1), bool(head >> 8 & 1), bool(head >> 9 & 1)
    switch, longest, masked, base_words = head >> 10 & 255, head >> 18 & 31, bool(head >> 23 & 1), (0, 1, 2, 4)[head >> 24 & 3]
    expect(all(full[2 - k] > 1 for k in set_bits(axes)), "differences along an axis that a tile does not have")
    expect(predictor == 0 or predictor < 3 and (full[2] >= 8 or math.prod(full) <= 2048), f"a tile has predictor {predictor}")
    expect(map != EXACT or step.factor != 0, "an exact tile in a stream without bins")
    expect(map not in (COARSE, FINE) or lattice is not None and predictor > 0, "multiples that are not interpolated")
    expect(not has_patches or lattice is not None and map != EXACT, "patches of a tile without a lattice")
    expect((switch <= -(-count // GROUP) or switch == NEVER) and longest <= STATE_BITS, "the head of a tile")
    expect(longest > 0 or not masked, "the head of a tile")
    expect(not sparse or not (own_table or switch or longest), "the head of a sparse tile")
    bins = step.factor != 0 and map == PLAIN
    form = Form(own_table=own_table)
    if map == EXACT or not step.factor:
        form = Form.read(reader.number(2), own_table, element, axes)
    expect(form.plain or not (predictor or sparse), "a tile's form goes with differences along axes only")
    bits = 6 + 16 * base_words
    base = head >> 26 | reader.number(2 * base_words) << 6
    base -= (base >> (bits - 1)) << bits
    patches = Patches.read(reader, count, element) if has_patches else None
    form.parts(reader, count, element)
    differences = _sparse(reader, count) if sparse else None
    states = _states(reader, longest, masked)
    words = reader.rest().view("<u2").astype(np.int64)
    return Tile(lengths, count, axes, predictor, map, bins, base, switch, form, patches, states, words, differences)


def _sparse(reader: Reader, count: int) -> Words:
    """The differences of codes that one lane has, §6."""
    coded, flags = reader.number(1), reader.number(1)
    expect(coded <= min(16, -(-count // GROUP)) and flags < 4, "the head of a sparse tile")
    state = reader.number(4 if flags & 1 else 2)
    words = reader.rest().view("<u2").tolist()
    if len(words) % 2 != flags >> 1:
        expect(len(words) > 0 and words.pop() == 0, "what fills a sparse tile up is not zero")
    words.reverse()
    symbols, frequencies, offsets = slots(TABLES + CLASS_TABLES)
    codes = np.zeros(count, np.int64)

    def take(bits: int, state: int) -> int:
        state >>= bits
        return state << 16 | words.pop() if state < DROP and words else state

    def decode(table: int, state: int) -> tuple[int, int]:
        slot = (table << 10) + (state & 1023)
        return int(symbols[slot]), take(0, int(frequencies[slot]) * (state >> 10) + int(offsets[slot]))

    known = FIRST
    for group in range(coded):
        known, state = decode(CLASSES + known, state)
        for at in range(group * GROUP, min(count, (group + 1) * GROUP)) if known else ():
            token, state = decode(known, state)
            width = 0 if token < 64 else 5 + (token - 64) // 2
            raw = 0
            for done in range(0, width, 12):
                some = min(12, width - done)
                raw |= (state & ((1 << some) - 1)) << done
                state = take(some, state)
            codes[at] = ((token if token < 64 else 2 + token % 2) << width | raw) & 0xFFFFFFFF
    expect(state == 1 and not words, "the state of a sparse tile does not end where it begins")
    return zigzag(codes.astype(np.uint32))


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

    def __init__(self, tiles: list[Tile]) -> None:
        counts = np.array([tile.count for tile in tiles])
        self.groups = -(-int(counts.max()) // GROUP)
        self.has = (np.arange(self.groups * GROUP) < counts[:, None]).reshape(len(tiles), -1, LANES, 4)
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
        self.symbol, self.frequency, self.offset = slots(TABLES + CLASS_TABLES + own)
        numbers = np.cumsum([tile.form.table is not None for tile in tiles]) - 1
        self.own = np.array([CLASSES + FIRST + 1 + n if tile.form.table is not None else OWN for tile, n in zip(tiles, numbers)])

    def decode(self) -> list[npt.NDArray[np.uint64]]:
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
        return [some[has] for some, has in zip(codes, self.has)]

    def _classes(self) -> Numbers:
        tiles = len(self.states)
        classes = np.zeros((tiles, LANES, 4), np.int64)
        groups = np.zeros((tiles, LANES * 4), bool)
        groups[:, : self.groups] = self.has[:, :, 0, 0]
        some = groups.reshape(tiles, LANES, 4)
        for s in range(4):
            table = CLASSES + (classes[:, :, s - 1] if s else np.full((tiles, LANES), FIRST))
            classes[:, :, s] = self._symbol(some[:, :, s], table)
        return classes.reshape(tiles, -1)

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


def _restore(tile: Tile, codes: Words, element: Element, step: Step, lattice: Lattice | None) -> Words:
    """Codes, or the differences of a sparse tile, to the bits of elements."""
    form, unsigned = tile.form, element.words
    base = unsigned.type(tile.base % (1 << element.bits))
    short = zigzag(codes.astype(unsigned)) if tile.sparse is None else codes.view(np.int32).astype(unsigned)
    if tile.predictor:
        # Those of a sparse tile have 32 bits whatever the element's type.
        steps = short.view(element.signed).astype(np.int32) if tile.sparse is None else codes.view(np.int32)
        whole = _interpolate.restore(steps, tile.lengths, tile.predictor == 2, tile.map == COARSE, tile.axes)
        if lattice is not None and tile.map in (COARSE, FINE):
            elements = lattice.multiples(whole + np.array([tile.base % (1 << 32)], np.uint32).view(np.int32))
            return tile.patches.apply(lattice, elements) if tile.patches else elements
        numbers = whole.astype(unsigned)
    elif form.symbols:
        numbers = form.complete(codes.astype(unsigned))
    elif form.lags is not None:
        numbers = _lossless.follow(form.lags, zigzag(form.complete(codes.astype(unsigned))))
    else:
        if form.slope_length:
            short = form.complete(codes.astype(unsigned))
        elif form.has_low:
            short = zigzag(form.complete(codes.astype(unsigned)))
        numbers = _sum(short.reshape(tile.lengths), tile.axes)
        if form.slope_length:
            numbers = numbers + np.arange(tile.count).astype(unsigned) * unsigned.type(form.slope % (1 << element.bits))
    words = numbers + base
    if not tile.bins:
        return form.elements(words, element)
    elements = restore(step, words, element) if lattice is None else lattice.bins(words)
    return tile.patches.apply(lattice, elements) if lattice is not None and tile.patches else elements


def _sum(differences: Words, axes: int) -> Words:
    """Differences back to what they are of, §7."""
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
