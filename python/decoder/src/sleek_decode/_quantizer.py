"""The quantizer's inverse, and the codecs' word in the header (docs/reference/codecs/sleek.md §1, §6)."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import numpy as np

from ._element import Element, Words
from ._errors import UnsupportedError, expect

_EXPONENTS = {"f32": (-126, 100), "f64": (-1022, 960), "f16": (-24, 5), "bf16": (-126, 100)}


class Step(NamedTuple):
    """A step of factor · 2^exponent, or of nothing if the factor is 0."""

    exponent: int
    factor: int

    @staticmethod
    def of(word: bytes, element: Element) -> Step:
        exponent, factor, zero = struct.unpack("<hBB", word)
        if zero:
            raise UnsupportedError("the stream uses a form of its codec that this package does not know")
        if factor == 0:
            expect(exponent == 0, "a quantizer's step without a factor")
        else:
            expect(factor in (4, 5, 6, 7) and element.is_float, f"a quantizer's step of factor {factor} for {element.name}")
            low, high = _EXPONENTS[element.name]
            expect(low <= exponent <= high, f"a quantizer's step of 2^{exponent} for {element.name}")
        return Step(exponent, factor)


def restore(step: Step, bins: Words, element: Element) -> Words:
    """The bits of the elements of bins, which are words."""
    unsigned: Any = element.words.type
    bits = element.bits
    negative = bins >> unsigned(bits - 1) != 0
    magnitude = np.where(negative, ~bins + unsigned(1), bins)
    near = ((1 << element.mantissa) + 3) // step.factor + 1
    top = (step.exponent + element.mantissa + element.bias) << element.mantissa
    far = magnitude + unsigned((top - near) % (1 << bits))
    far = np.where(negative, far | unsigned(1 << (bits - 1)), far)
    return np.where(magnitude < unsigned(near), _product(step, bins, element), far)


def _product(step: Step, bins: Words, element: Element) -> Words:
    """bin · step, exact where the bin is near enough."""
    signed = bins.view(element.signed)
    with np.errstate(all="ignore"):  # those that are too far off
        value = np.ldexp(signed.astype("f8"), step.exponent) * step.factor
        if element.name == "bf16":
            return (value.astype("<f4").view("<u4") >> np.uint32(16)).astype("<u2")
        return value.astype(f"<f{element.bytes}").view(element.words)
