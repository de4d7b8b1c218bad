"""Bins and multiples of codec interp (docs/reference/codecs/interp.md §1)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

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
