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
from ._predict import BATCH, DROP, GROUP, LANES, NEVER, STATE_BITS, Numbers, _along, _axes, _states, _sum
from ._quantizer import Step, restore
from ._tables import Table, read, read_own, slots

if TYPE_CHECKING:
    from ._container import Stream

AXES, SMOOTH, ROUGH, SYMBOLS = range(4)
BITS, BINS, STEPS, MULTIPLES = range(4)
"""What numbers of a tile are."""
OWN = 11
"""The class whose table a tile may bring."""
NARROW = 12
"""The last class without low bits of its own."""

Codes = npt.NDArray[np.uint64]

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
TOKENS = [read(written) for written in _TOKENS]
TOKENS[NARROW:NARROW] = [TOKENS[NARROW]] * 6  # of classes 12 to 18
CLASSES = [read(written) for written in _CLASSES]
"""Of classes by the class of the group before; the last one where there is none."""
FIRST = len(CLASSES) - 1


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
    states = _states(reader, longest, False)
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
