"""What tiles of codec predict have whose words are elements' bits (docs/reference/codecs/predict.md §3, §9 to §13)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ._bits import Reader, unpack
from ._element import Element, Words
from ._errors import expect
from ._tables import Table, read_own

NUMBERS, MAGNITUDES, DECIMALS, RANKS = range(4)
AXES, SYMBOLS, LAGS = range(3)
SEGMENT = 16


@dataclass
class Form:
    shift: int = 0
    order: int = NUMBERS
    prediction: int = AXES
    own_table: bool = False
    has_low: bool = False
    slope_length: int = 0
    slope: int = 0
    digits: int = 0
    places: Any = None
    listed: Any = None
    lags: Any = None
    table: Table | None = None
    low: Any = None

    @property
    def symbols(self) -> bool:
        return self.prediction == SYMBOLS

    @property
    def plain(self) -> bool:
        return self.order == NUMBERS and self.prediction == AXES and not self.has_low and not self.slope_length

    @staticmethod
    def read(bits: int, own_table: bool, element: Element, axes: int) -> Form:
        form = Form(bits & 63, bits >> 6 & 3, bits >> 8 & 3, own_table, bool(bits >> 10 & 1), bits >> 11 & 3)
        expect(bits >> 13 == 0 and form.shift < element.bits and form.prediction <= LAGS, "a tile's form")
        expect(form.order in (NUMBERS, MAGNITUDES) or form.shift == 0, "a tile's form has a shift")
        expect(form.order != DECIMALS or element.name in ("f32", "f64"), f"decimals of {element.name}")
        expect(form.prediction == AXES or axes == 0, "a tile has two predictions")
        expect(form.prediction == AXES or not form.slope_length, "a tile with a slope has another prediction")
        expect(form.prediction != SYMBOLS or form.own_table, "a tile of symbols has no table")
        return form

    def parts(self, reader: Reader, count: int, element: Element) -> None:
        """What form and head say that there is, for a tile of `count` elements."""
        if self.slope_length:
            self.slope = int.from_bytes(bytes(reader.take(1 << self.slope_length)), "little", signed=True)
        if self.order == DECIMALS:
            self.digits, zero = reader.number(1), reader.number(1)
            listed = reader.number(2)
            self.places = np.array(reader.numbers(listed, "<u2"), np.int64)
            expect(self.digits <= 15 and zero == 0 and (np.diff(self.places) > 0).all() and (self.places < count).all(), "decimals of a tile")
            self.listed = reader.take(listed * element.bytes).view(element.words)
        if self.order == RANKS:
            self.listed = self._ranks(reader, element)
        if self.prediction == LAGS:
            self.lags = _lags(reader, count)
        if self.own_table:
            self.table = read_own(reader, 256 if self.symbols else 180)
        if self.has_low:
            self.low = _low(reader, count, element)

    @staticmethod
    def _ranks(reader: Reader, element: Element) -> Words:
        distinct = reader.number(2)
        expect(1 <= distinct <= 256, f"a tile of {distinct} distinct elements")
        listed = reader.take(distinct * element.bytes)
        if len(listed) % 2:
            expect(reader.number(1) == 0, "what fills distinct elements up is not zero")
        return listed.view(element.words)

    def complete(self, codes: Words) -> Words:
        """Codes with their low bits."""
        if self.low is None:
            return codes
        width, bare, without, numbers = self.low
        high = codes << codes.dtype.type(width)
        if without:
            with_low = codes != bare
            expect(len(codes) - np.count_nonzero(with_low) == without, "codes without low bits")
            high[with_low] += numbers
            return high
        return high + numbers

    def elements(self, words: Words, element: Element) -> Words:
        """The bits of elements of words."""
        wrap: Any = words.dtype.type
        top = wrap(element.bits - 1)
        if self.order == DECIMALS:
            return self._decimals(words, element)
        if self.order == RANKS:
            expect((words < len(self.listed)).all(), "a rank that no element has")
            return self.listed[words.astype(np.int64)]
        shifted = words << wrap(self.shift)
        if self.order == MAGNITUDES:
            return (shifted >> wrap(1)) | (shifted << top)
        if not element.is_float:
            return shifted
        low = wrap((1 << element.bits - 1) - 1)
        v = np.where(words >> top != 0, words ^ low, words)
        return (v << wrap(self.shift)) & low | v & ~low

    def _decimals(self, words: Words, element: Element) -> Words:
        number = words.view(element.signed).astype("<f8") / 10.0**self.digits
        with np.errstate(over="ignore"):
            elements = number.astype(f"<f{element.bytes}").view(element.words)
        elements[self.places] = self.listed
        return elements


def _lags(reader: Reader, count: int) -> list[tuple[int, int, int]]:
    """Runs of segments with one lag: the first element, the one behind the last, and the lag."""
    segments = -(-count // SEGMENT)
    flags = np.unpackbits(reader.take(-(-segments // 16) * 2), bitorder="little")
    expect(not flags[segments:].any(), "what fills lags up is not zero")
    runs, lag, begin = [], 1, 0
    for s in np.flatnonzero(flags).tolist():
        runs.append((begin, SEGMENT * s, lag))
        begin, lag = SEGMENT * s, reader.number(2)
        expect(lag <= 1 or SEGMENT <= lag <= begin, f"lag {lag} of segment {s}")
    return [*runs, (begin, count, lag)]


def follow(lags: list[tuple[int, int, int]], steps: Words) -> Words:
    """The numbers whose differences from those a lag before them are `steps`."""
    numbers = steps.copy()
    for begin, end, lag in lags:
        if lag == 1:
            start = max(begin - 1, 0)
            numbers[start:end] = np.cumsum(numbers[start:end], dtype=numbers.dtype)
        elif lag:
            for at in range(begin, end, lag):  # what was restored just now is used further on
                stop = min(end, at + lag)
                numbers[at:stop] += numbers[at - lag : stop - lag]
    return numbers


def _low(reader: Reader, count: int, element: Element) -> tuple[int, int, int, Words]:
    width, bare, without = reader.number(1), reader.number(1), reader.number(2)
    expect(1 <= width < element.bits and without <= count and (without or not bare), "low bits of a tile")
    packed = reader.take(-(-(count - without) * width // 16) * 2)
    spare = np.unpackbits(packed, bitorder="little")[(count - without) * width :]
    expect(not spare.any(), "what fills low bits up is not zero")
    return width, bare, without, unpack(packed[None], count - without, width, element.words)[0]
