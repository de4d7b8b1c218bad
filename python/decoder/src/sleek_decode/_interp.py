"""Codec interp: interpolated tiles behind 32 lanes of an entropy coder (docs/reference/codecs/interp.md). Many tiles go side by side."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import _interpolate
from ._bits import Bytes, Reader, set_bits, unpack, zigzag
from ._element import Element, Words
from ._errors import expect
from ._lattice import Lattice
from ._quantizer import Step, restore
from ._tables import CLASSES, FIRST, NARROW, TOKENS, Table, read_own, slots

if TYPE_CHECKING:
    from ._container import Stream

AXES, SMOOTH, ROUGH, SYMBOLS = range(4)
BITS, BINS, STEPS, MULTIPLES = range(4)
"""What numbers of a tile are."""
OWN = 11
"""The class whose table a tile may bring."""

LANES, GROUP = 32, 128
NEVER, DROP = 255, 4096
STATE_BITS, LENGTH_BITS = 28, 4
BATCH = 64
"""Tiles that are decoded side by side."""

Numbers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.uint64]


@dataclass
class Form:
    """How words become elements, where numbers are elements' bits."""

    shift: int
    order: int
    digits: int = 0
    places: Any = None
    listed: Any = None

    @staticmethod
    def read(reader: Reader, count: int, element: Element) -> Form:
        bits = reader.number(2)
        form = Form(bits & 63, bits >> 6)
        expect(form.shift < element.bits and form.order <= 2 and (form.order == 0 or form.shift == 0), "a tile's form")
        if form.order == 1:
            expect(element.name in ("f32", "f64"), f"decimals of {element.name}")
            form.digits, zero, listed = reader.number(1), reader.number(1), reader.number(2)
            form.places = np.array(reader.numbers(listed, "<u2"), np.int64)
            expect(form.digits <= 15 and zero == 0 and (np.diff(form.places) > 0).all() and (form.places < count).all(), "decimals of a tile")
            form.listed = reader.take(listed * element.bytes).view(element.words)
        if form.order == 2:
            distinct = reader.number(2)
            expect(1 <= distinct <= 256, f"a tile of {distinct} distinct elements")
            form.listed = reader.take(distinct * element.bytes).view(element.words)
            expect(distinct * element.bytes % 2 == 0 or reader.number(1) == 0, "what fills distinct elements up is not zero")
        return form

    def elements(self, words: Words, element: Element) -> Words:
        wrap: Any = words.dtype.type
        if self.order == 1:
            numbers = words.view(element.signed).astype("<f8") / 10.0**self.digits
            with np.errstate(over="ignore"):
                elements = numbers.astype(f"<f{element.bytes}").view(element.words)
            elements[self.places] = self.listed
            return elements
        if self.order == 2:
            expect((words < len(self.listed)).all(), "a rank that no element has")
            return self.listed[words.astype(np.int64)]
        if not element.is_float:
            return words << wrap(self.shift)
        low = wrap((1 << element.bits - 1) - 1)
        v = np.where(words > low, words ^ low, words)
        return (v << wrap(self.shift)) & low | v & ~low


@dataclass
class Patches:
    """What is added to multiples, and elements that replace others."""

    places: Numbers
    kinds: Numbers
    exceptions: Words

    @staticmethod
    def read(reader: Reader, count: int, element: Element) -> Patches:
        head = reader.number(2)
        expect(1 <= head & 0x7FFF <= count, f"{head & 0x7FFF} patches of a tile of {count} elements")
        both = np.array(reader.numbers(head & 0x7FFF, "<u2"), np.int64)
        places, kinds = np.cumsum((both >> 4) + 1) - 1, both & 15
        expect((places < count).all(), "a patch behind the end of a tile")
        exceptions = int(np.count_nonzero(kinds == 0))
        bits = reader.take((min(exceptions, 1) if head >> 15 else exceptions) * element.bytes).view(element.words)
        return Patches(places, kinds, np.resize(bits, exceptions))

    def apply(self, lattice: Lattice, elements: Words, multiples: Numbers, has_multiple: npt.NDArray[np.bool_]) -> Words:
        moved = (self.kinds != 0) & (self.kinds != 8)
        at = self.places[moved]
        expect(has_multiple[at].all(), "a patch adds to an element that is no multiple")
        elements = elements.copy()
        elements[at] = lattice.multiples((multiples[at] + self.kinds[moved] - 8).astype(np.int32))
        elements[self.places[self.kinds == 0]] = self.exceptions
        return elements


@dataclass
class Tile:
    """What stands in front of a tile's codes."""

    lengths: tuple[int, int, int]
    count: int
    axes: int
    predictor: int
    numbers: int
    base: int
    switch: int
    low: int
    form: Form | None
    patches: Patches | None
    table: Table | None
    states: Numbers
    rest: Bytes
    """The u16 of the codes, and low bits."""
    sparse: Codes | None
    """The codes, if they are sparse."""


def decode(stream: Stream, bodies: list[Bytes], sides: list[tuple[int, ...]]) -> list[Words]:
    element, log2 = stream.element, stream.tile_log2
    expect(log2 is not None and stream.wide and not stream.section, "codec interp has tiles, wide entries and no section")
    assert log2 is not None
    expect(stream.capacity <= 16384, "a tile of codec interp has at most 16384 elements")
    step = Step.of(stream.word[:3] + b"\0", element)
    lattice = Lattice.of(stream.word[3], step, element)
    axes = _axes(log2)
    full = _along(axes, tuple(1 << s for s in log2))
    found = []
    for first in range(0, len(bodies), BATCH):
        some = slice(first, first + BATCH)
        tiles = [_tile(body, _along(axes, tile), full, element, step, lattice) for body, tile in zip(bodies[some], sides[some])]
        lanes = [tile for tile in tiles if tile.sparse is None]
        codes = iter(_Lanes(lanes).decode() if lanes else ())
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
    axes, predictor, numbers = head & 7, head >> 3 & 3, head >> 5 & 3
    has_table, has_patches, is_sparse = bool(head >> 7 & 1), bool(head >> 8 & 1), bool(head >> 9 & 1)
    switch, longest, base_bytes, low = head >> 10 & 255, head >> 18 & 31, (0, 2, 4, 8)[head >> 23 & 3], head >> 25 & 63
    expect(all(full[2 - k] > 1 for k in set_bits(axes)), "sums along an axis that a tile does not have")
    interpolates = predictor in (SMOOTH, ROUGH)
    expect(not interpolates or full[2] >= 8 or math.prod(full) <= 2048, f"a tile has predictor {predictor}")
    expect(predictor != SYMBOLS or has_table and numbers == BITS and axes == 0, "a tile of symbols")
    expect((numbers == BITS) == (step.factor == 0), f"a tile's numbers are of kind {numbers}")
    expect(numbers < STEPS or lattice is not None and interpolates, "multiples that are not interpolated")
    expect(not has_patches or lattice is not None, "patches of a tile without a lattice")
    expect((switch <= -(-count // GROUP) or switch == NEVER) and longest <= STATE_BITS, "the head of a tile")
    expect(low <= _width(element) - 8 and head >> 31 == 0, "the head of a tile")
    expect(not is_sparse or not (has_table or predictor == SYMBOLS or switch or longest or low), "the head of a sparse tile")
    base = int.from_bytes(bytes(reader.take(base_bytes)), "little", signed=True)
    form = Form.read(reader, count, element) if numbers == BITS else None
    patches = Patches.read(reader, count, element) if has_patches else None
    table = read_own(reader, 256 if predictor == SYMBOLS else 180) if has_table else None
    sparse = _sparse(reader, count) if is_sparse else None
    states = _states(reader, longest)
    return Tile(lengths, count, axes, predictor, numbers, base, switch, low, form, patches, table, states, reader.rest(), sparse)


def _width(element: Element) -> int:
    """Bits of a number."""
    return max(element.bits, 32)


def _sparse(reader: Reader, count: int) -> Codes:
    """The codes that one lane has, §5."""
    head = reader.number(2)
    coded = (head & 127) + 1
    expect(coded <= -(-count // GROUP) and head >> 9 == 0, "the head of a sparse tile")
    state = reader.number(4 if head >> 7 & 1 else 2)
    words = reader.rest().view("<u2").tolist()
    if len(words) % 2 != head >> 8 & 1:
        expect(words and words.pop() == 0, "what fills a sparse tile up is not zero")
    words.reverse()
    symbols, frequencies, offsets = slots(TOKENS + CLASSES)
    codes = np.zeros(count, np.uint64)

    def refill(state: int) -> int:
        return state << 16 | words.pop() if state < DROP and words else state

    def symbol(table: int, state: int) -> tuple[int, int]:
        slot = (table << 10) + (state & 1023)
        return int(symbols[slot]), refill(int(frequencies[slot]) * (state >> 10) + int(offsets[slot]))

    known = FIRST
    for group in range(coded):
        known, state = symbol(len(TOKENS) + known, state)
        shift = max(0, known - NARROW)
        for at in range(group * GROUP, min(count, (group + 1) * GROUP)) if known else ():
            token, state = symbol(known, state)
            width = shift + (0 if token < 64 else 5 + (token - 64) // 2)
            raw = 0
            for done in range(0, width, 12):
                some = min(12, width - done)
                raw |= (state & ((1 << some) - 1)) << done
                state = refill(state >> some)
            codes[at] = ((token if token < 64 else 2 + token % 2) << width | raw) % (1 << 64)
    expect(state == 1 and not words, "the state of a sparse tile does not end where it begins")
    return codes


def _states(reader: Reader, longest: int) -> Numbers:
    """The final states of the lanes, §4."""
    if not longest:
        return np.ones(LANES, np.int64)
    room = np.zeros(LANES * (LENGTH_BITS + STATE_BITS) // 8, np.uint8)
    rest = reader.body[reader.at :][: len(room)]
    room[: len(rest)] = rest
    bits = np.unpackbits(room, bitorder="little").astype(np.int64)
    begin, floor = LENGTH_BITS * LANES, max(longest - (1 << LENGTH_BITS) + 1, 0)
    above = bits[:begin].reshape(-1, LENGTH_BITS) @ (1 << np.arange(LENGTH_BITS))
    counts = np.where(above > 0, floor + above - 1, floor)
    ends = np.cumsum(np.append(begin, counts))
    taken = -(-int(ends[-1]) // 16) * 2
    reader.take(taken)
    expect(not bits[ends[-1] : 8 * taken].any(), "what fills states up is not zero")
    column = np.arange(STATE_BITS - 1)
    places = np.minimum(ends[:-1, None] + column, len(bits) - 1)
    numbers = np.where(column < counts[:, None], bits[places], 0) @ (1 << column)
    return np.maximum(numbers | np.where(above > 0, 1 << counts, 0), 1)


class _Lanes:
    """The lanes of tiles that are not sparse: arrays with a row for each tile, and in it a number for each lane."""

    def __init__(self, tiles: list[Tile]) -> None:
        self.tiles = tiles
        counts = np.array([tile.count for tile in tiles])
        self.groups = -(-int(counts.max()) // GROUP)
        self.has = (np.arange(self.groups * GROUP) < counts[:, None]).reshape(len(tiles), -1, LANES, 4)
        self.states = np.array([tile.states for tile in tiles])
        self.switches = np.array([tile.switch for tile in tiles])
        self.thresholds = np.where(self.switches == NEVER, 0, DROP)[:, None]
        self.symbols = np.array([tile.predictor == SYMBOLS for tile in tiles])
        words = [tile.rest.view("<u2").astype(np.int64) for tile in tiles]
        lengths = np.array([len(some) for some in words])
        self.begins = np.cumsum(lengths) - lengths
        self.at = self.begins.copy()
        # Behind the end of a tile that is damaged too much may be taken.
        self.words = np.concatenate([*words, np.zeros(1, np.int64)])
        tables = TOKENS + CLASSES
        self.own = np.full(len(tiles), OWN)
        for i, tile in enumerate(tiles):
            if tile.table is not None:
                self.own[i] = len(tables)
                tables = [*tables, tile.table]
        self.symbol, self.frequency, self.offset = slots(tables)

    def decode(self) -> list[Codes]:
        classes = self._classes()
        codes = np.zeros(self.has.shape, np.uint64)
        for group in range(self.groups):
            self._change(group)
            active = self.has[:, group] & (classes[:, group] > 0)[:, None, None]
            if active.any():
                table = np.where(classes[:, group] == OWN, self.own, classes[:, group])[:, None]
                codes[:, group] = self._group(active, table)
        self._change(self.groups)
        expect((self.states == 1).all(), "a tile's states do not end where they begin")
        ends = 2 * (self.at - self.begins)
        return [_with_low(*each) for each in zip(self.tiles, codes.reshape(len(codes), -1), classes, ends.tolist())]

    def _classes(self) -> Numbers:
        tiles = len(self.states)
        classes = np.zeros((tiles, LANES, 4), np.int64)
        groups = np.zeros((tiles, LANES * 4), bool)
        groups[:, : self.groups] = self.has[:, :, 0, 0]
        some = groups.reshape(tiles, LANES, 4)
        for s in range(4):
            table = len(TOKENS) + (classes[:, :, s - 1] if s else np.full((tiles, LANES), FIRST))
            classes[:, :, s] = self._symbol(some[:, :, s], table)
        return classes.reshape(tiles, -1)

    def _group(self, active: npt.NDArray[np.bool_], table: Numbers) -> Codes:
        tokens = np.stack([self._symbol(active[:, :, j], table) for j in range(4)], axis=2)
        widths = np.where((tokens < 64) | self.symbols[:, None, None], 0, 5 + (tokens - 64) // 2)
        raw = np.zeros(tokens.shape, np.uint64)
        for k in range(0, int(widths.max()), 12):
            for j in range(4):
                raw[:, :, j] |= self._raw(np.clip(widths[:, :, j] - k, 0, 12)).astype(np.uint64) << np.uint64(k)
        tops = np.where(widths > 0, 2 + tokens % 2, tokens).astype(np.uint64)
        return (tops << widths.astype(np.uint64)) + raw

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


def _with_low(tile: Tile, codes: Codes, classes: Numbers, end: int) -> Codes:
    """Codes with the low bits of their groups; `end`: where the u16 of the codes end."""
    codes = codes[: tile.count]
    shifts = np.where(classes > 0, tile.low + np.maximum(classes - NARROW, 0), 0)
    each = np.repeat(shifts, GROUP)[: tile.count]
    bits = int(each.sum())
    begin = len(tile.rest) - -(-bits // 32) * 4
    expect(begin - end in (0, 2) and not tile.rest[end:begin].any(), "a tile has other u16 than it needs")
    packed = tile.rest[begin:]
    expect(not np.unpackbits(packed, bitorder="little")[bits:].any(), "what fills low bits up is not zero")
    codes = codes << each.astype(np.uint64)
    at = 0
    for group in np.flatnonzero(shifts).tolist():
        shift, some = int(shifts[group]), codes[group * GROUP : (group + 1) * GROUP]
        taken = -(-len(some) * shift // 8)
        some += unpack(packed[None, at : at + taken], len(some), shift, np.dtype("<u8"))[0]
        at += taken
    return codes


def _restore(tile: Tile, codes: Codes, element: Element, step: Step, lattice: Lattice | None) -> Words:
    """Codes to the bits of elements."""
    numbers = codes.astype(f"<u{_width(element) // 8}")
    unsigned: Any = numbers.dtype.type
    if tile.predictor == AXES:
        numbers = _sum(zigzag(numbers).reshape(tile.lengths), tile.axes)
    elif tile.predictor != SYMBOLS:
        differences = zigzag(numbers).astype("<u4").view("<i4")
        whole = _interpolate.restore(differences, tile.lengths, tile.predictor == ROUGH, tile.numbers == STEPS, tile.axes)
        numbers = whole.astype(numbers.dtype)
    numbers = numbers + unsigned(tile.base % (1 << _width(element)))
    if tile.form:
        return tile.form.elements(numbers.astype(element.words), element)
    if lattice is None:
        return restore(step, numbers.astype(element.words), element)
    signed = numbers.view(f"<i{_width(element) // 8}")
    if tile.numbers == BINS:
        has_multiple = (signed < lattice.first) & (signed > -lattice.first)
        elements, multiples = lattice.bins(numbers), np.where(has_multiple, signed, 0) * 15
    else:
        has_multiple, multiples = np.ones(tile.count, bool), signed.astype("<i4").astype(np.int64)
        elements = lattice.multiples(multiples.astype("<i4"))
    return tile.patches.apply(lattice, elements, multiples.astype(np.int64), has_multiple) if tile.patches else elements


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
