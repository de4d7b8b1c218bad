"""Bins and multiples of codec predict, and what is put over them (docs/reference/codecs/predict.md §1, §8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ._bits import Reader
from ._element import Element, Words
from ._errors import expect
from ._quantizer import Step, restore

FINEST = 15
_LEAST_EXPONENTS = {"f32": -100, "f64": -960}
_BORDERS = {"f32": 124_000, "f64": 1 << 28}


class Lattice(NamedTuple):
    """The multiples of a fine step, of which each 15th is a bin, and the quantizer's bins beyond a border."""

    step: Step
    element: Element
    fine: float
    border: int
    first: int
    offset: int

    @staticmethod
    def of(multiplier: int, step: Step, element: Element) -> Lattice | None:
        if multiplier == 0:
            return None
        is_for = step.factor != 0 and step.exponent >= _LEAST_EXPONENTS.get(element.name, 1 << 15)
        expect(is_for and 67 <= multiplier <= 135, f"a multiplier of {multiplier}")
        border = _BORDERS[element.name]
        first = border // FINEST + 1
        offset = first - border * multiplier // (256 * step.factor)
        return Lattice(step, element, float(np.ldexp(float(multiplier), step.exponent - 8)), border, first, offset)

    def multiples(self, numbers: Any) -> Words:
        """The bits of multiples, which have 32 bits."""
        type = f"<f{self.element.bytes}"
        with np.errstate(over="ignore"):
            return (numbers.astype(type) * np.dtype(type).type(self.fine)).view(self.element.words)

    def bins(self, bins: Words) -> Words:
        """The bits of bins."""
        unsigned: Any = self.element.words.type
        signed = bins.view(self.element.signed)
        offset = unsigned(self.offset % (1 << self.element.bits))
        within = (signed < self.first) & (signed > -self.first)
        near = self.multiples((np.where(within, signed, 0) * FINEST).astype(np.int32))
        return np.where(within, near, restore(self.step, np.where(signed < 0, bins + offset, bins - offset), self.element))

    def correct(self, elements: Words, corrections: Any) -> Words:
        """Multiples that are so many from some."""
        type = np.dtype(f"<f{self.element.bytes}").type
        with np.errstate(all="ignore"):
            quotients = elements.view(type) * (type(1) / type(self.fine))
            expect((np.abs(quotients) < 2 * self.border).all(), "a correction of an element that is no multiple")
        return self.multiples((np.rint(quotients).astype(np.int64) + corrections).astype(np.int32))


@dataclass
class Patches:
    """Corrections and exceptions of a tile."""

    corrected: Any
    corrections: Any
    excepted: Any
    exceptions: Any

    @staticmethod
    def read(reader: Reader, count: int, element: Element) -> Patches:
        begin, corrections, exceptions = reader.at, reader.number(2), reader.number(2)
        expect(0 < corrections + exceptions and corrections <= min(count, 4096) and exceptions <= min(count, 1024), "patches of a tile")
        corrected = Patches.places(reader, corrections, count)
        by = reader.take(corrections).view(np.int8)
        expect((by != 0).all() and (np.abs(by.astype(np.int64)) <= 7).all(), "corrections of a tile")
        excepted = Patches.places(reader, exceptions, count)
        differ = reader.number(1) if exceptions else 0
        expect(differ <= 1, "exceptions of a tile")
        distinct = exceptions if differ else min(exceptions, 1)
        bits = np.resize(reader.take(distinct * element.bytes).view(element.words), exceptions)
        if (reader.at - begin) % 2:
            expect(reader.number(1) == 0, "what fills patches up is not zero")
        return Patches(corrected, by, excepted, bits)

    @staticmethod
    def places(reader: Reader, patches: int, count: int) -> Any:
        """The elements that gaps tell."""
        places, place = [], -1
        for _ in range(patches):
            gap = 255
            place += 1
            while gap == 255:
                gap = reader.number(1)
                place += gap
            places.append(place)
        expect(place < count, "patches of a tile")
        return np.array(places, np.int64)

    def apply(self, lattice: Lattice, elements: Words) -> Words:
        elements = elements.copy()
        elements[self.corrected] = lattice.correct(elements[self.corrected], self.corrections)
        elements[self.excepted] = self.exceptions
        return elements
