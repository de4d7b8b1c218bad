"""Codec zfp: each tile is a stream of blocks of 4^d values (docs/reference/codecs/zfp.md)."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ._bits import Bytes
from ._element import Element, Words
from ._errors import expect

if TYPE_CHECKING:
    from ._container import Stream

REVERSIBLE, RATE, PRECISION, ACCURACY = range(4)
BITS, COEFFICIENTS, EMPTY = range(3)  # what a block's integers are
LEAST = 1074


class Kind(NamedTuple):
    kind: int
    parameter: int

    @staticmethod
    def of(word: bytes, element: Element) -> Kind:
        kind, zero = word[0], word[1]
        (parameter,) = struct.unpack("<h" if kind == ACCURACY else "<H", word[2:])
        least_rate = {"f32": 9, "f64": 12}.get(element.name, 1)
        ranges = {REVERSIBLE: (0, 0), RATE: (least_rate, 16658), PRECISION: (1, 64), ACCURACY: (-LEAST, 1023)}
        expect(kind in ranges and zero == 0 and (kind != ACCURACY or element.is_float), "the parameters of codec zfp")
        low, high = ranges[kind]
        expect(low <= parameter <= high, f"{parameter} as the parameter of kind {kind} of codec zfp")
        return Kind(kind, parameter)


def decode(stream: Stream, bodies: list[Bytes], sides: list[tuple[int, ...]]) -> list[Words]:
    element, log2 = stream.element, stream.tile_log2
    expect(log2 is not None and stream.wide and not stream.section, "codec zfp has tiles, wide entries and no section")
    assert log2 is not None
    axes = [k for k, s in enumerate(log2) if s]
    expect(element.name in ("f32", "f64", "i32", "i64"), f"codec zfp has no elements of type {element.name}")
    expect(1 <= len(axes) <= 4 and all(log2[k] >= 2 for k in axes) and stream.capacity <= 4096, "the tiles of codec zfp")
    kind = Kind.of(stream.word, element)
    found = []
    for body, lengths in zip(bodies, sides):
        own = len(body) % 8 != 0
        with_kind = Kind.of(body[:4].tobytes(), element) if own else kind
        found.append(_tile(body[4 if own else 0 :].tobytes(), tuple(lengths[k] for k in axes), element, with_kind))
    return found


def _tile(data: bytes, lengths: tuple[int, ...], element: Element, kind: Kind) -> Words:
    d = len(lengths)
    grid = [-(-n // 4) for n in lengths]
    blocks = _Blocks(data, element, kind, d)
    for _ in range(int(np.prod(grid))):
        blocks.next()
    expect(-(-blocks.at // 64) * 8 == len(data), "a tile's blocks do not end where it does")
    values = blocks.values().reshape(grid + [4] * d)
    # Blocks beside each other, to the tile.
    values = values.transpose([k // 2 + (d if k % 2 else 0) for k in range(2 * d)]).reshape([4 * n for n in grid])
    return values[tuple(slice(0, n) for n in lengths)].reshape(-1)


class _Blocks:
    """The blocks of a tile: bit planes of each, first, and then all values at once."""

    def __init__(self, data: bytes, element: Element, kind: Kind, d: int) -> None:
        self.data, self.at = data, 0
        self.element, self.kind, self.d, self.size = element, kind, d, 4**d
        self.planes: list[int] = []
        self.forms: list[int] = []
        self.exponents: list[int] = []

    def take(self, bits: int) -> int:
        window = int.from_bytes(self.data[self.at >> 3 : (self.at + bits + 7) >> 3], "little") >> (self.at & 7)
        self.at += bits
        return window & ((1 << bits) - 1)

    def next(self) -> None:
        """Reads a block."""
        element, (kind, parameter), begin = self.element, self.kind, self.at
        form, exponent, precision = COEFFICIENTS, 0, 64 if kind == RATE else parameter
        if element.is_float:
            form = COEFFICIENTS if self.take(1) else EMPTY
            if form == COEFFICIENTS and kind == REVERSIBLE and self.take(1):
                form = BITS
            if form == COEFFICIENTS:
                exponent = self.take(element.exponent) - element.bias
                most = {RATE: 64, PRECISION: parameter, ACCURACY: 64}.get(kind, 0)
                lowest = parameter if kind == ACCURACY else -LEAST
                precision = min(most, max(0, exponent - lowest + 2 * self.d + 2))
        if kind == REVERSIBLE and form != EMPTY:
            precision = self.take(5 if element.bits == 32 else 6) + 1
        budget = parameter - (self.at - begin) if kind == RATE else 1 << 62
        self.planes += [0] * element.bits if form == EMPTY else self._planes(min(precision, element.bits), budget)
        self.forms.append(form)
        self.exponents.append(exponent)
        if kind == RATE:
            self.at = begin + parameter

    def _planes(self, precision: int, budget: int) -> list[int]:
        """The bit planes of a block, the lowest first (§4)."""
        size, bits, n = self.size, self.element.bits, 0
        planes = [0] * bits
        for k in range(bits - 1, bits - 1 - precision, -1):
            if budget <= 0:
                break
            begin = self.at >> 3
            window = int.from_bytes(self.data[begin : begin + size // 2 + 16], "little") >> (self.at & 7)
            m = min(n, budget)
            plane, window, used = window & (1 << m) - 1, window >> m, m
            while n < size and used < budget:
                tested, window, used = window & 1, window >> 1, used + 1
                if not tested:
                    break
                # Zeros up to the next one, which is the last value's where nothing says so.
                most = min(size - 1 - n, budget - used)
                zeros = (window & -window).bit_length() - 1 if window else most
                n, taken = n + min(zeros, most), min(zeros + 1, most)
                window, used = window >> taken, used + taken
                plane |= 1 << n
                n += 1
            planes[k] = plane
            self.at += used
            budget -= used
        return planes

    def values(self) -> Words:
        """The bits of all values, a row for each block."""
        element, unsigned = self.element, self.element.words
        blocks = len(self.forms)
        packed = b"".join(plane.to_bytes(max(1, self.size // 8), "little") for plane in self.planes)
        rows = np.frombuffer(packed, np.uint8).reshape(blocks, element.bits, -1)
        bits = np.unpackbits(rows, axis=2, bitorder="little", count=self.size)
        u = np.packbits(np.ascontiguousarray(bits.transpose(0, 2, 1)), axis=2, bitorder="little").view(unsigned).reshape(blocks, self.size)
        mask = unsigned.type(int("aa" * element.bytes, 16))
        q = np.empty_like(u)
        q[:, _PLACES[self.d]] = (u ^ mask) - mask
        integers = _inverse(q.view(element.signed), self.d, self.kind.kind == REVERSIBLE)
        if not element.is_float:
            return integers.view(unsigned)
        forms = np.array(self.forms)[:, None]
        low = (1 << element.bits - 1) - 1
        as_bits = np.where(integers < 0, integers ^ element.signed.type(low), integers).view(unsigned)
        scaled = self._scaled(integers).view(unsigned)
        return np.where(forms == BITS, as_bits, np.where(forms == COEFFICIENTS, scaled, unsigned.type(0)))

    def _scaled(self, integers: Any) -> Any:
        kind = f"<f{self.element.bytes}"
        exponents = np.array(self.exponents)[:, None] - self.element.bits + 2
        with np.errstate(all="ignore"):  # numbers too small or too large for the type, as the page has it
            factors = np.ldexp(np.float64(1), exponents).astype(kind)
            return integers.astype(kind) * factors


def _inverse(q: Any, d: int, reversible: bool) -> Any:
    """The inverse transform of blocks, along w, z, y and at last x."""
    blocks = q.reshape(-1, *[4] * d)
    for axis in range(1, d + 1):
        a, b, c, e = (blocks.take(i, axis=axis) for i in range(4))
        if reversible:
            e = e + c
            c = c + b
            e = e + c
            b = b + a
            c = c + b
            e = e + c
        else:
            b = b + (e >> 1)
            e = e - (b >> 1)
            b = b + e
            e = e + e - b
            c = c + a
            a = a + a - c
            b = b + c
            c = c + c - b
            e = e + a
            a = a + a - e
        blocks = np.stack([a, b, c, e], axis=axis)
    return blocks.reshape(q.shape)


_D3 = """
   0  1  4 16 20 17  5  2  8 32 21  6 18 24  9 33
  36  3 12 48 22 25 37 40 34 10  7 19 28 13 49 52
  41 38 26 23 29 53 11 35 44 14 50 56 42 27 39 45
  30 54 57 60 51 15 43 46 58 61 55 31 62 59 47 63"""
_D4 = """
    0   1   4  16  64   5  80  17  68  65  20   2   8  32 128  84  81  69  21   6
   18  66  24  72   9  96  33  36 129 132 144   3  12  48 192  85  82  70  22  73
   25  88  37 100  97 148 145 133  10 160  34 136 130  40   7  19  67  28  76  13
  112  49  52 193 196 208  86  89 101 149 161 137  41 134  38 164  26 152 146 104
   98  74  83  71  23  77  29  92  53 116 113 212 209 197  11  35 131  44 140  14
  176  50  56 194 200 224  90 165 102 153 150 105 168 162 138  42  87  93 117 213
   27  75  99  39 135 147 108  45 141 156  30  78 177 180  54 114 120  57 198 210
  216 201 225 228  15 240  51 204 195  60 169 166 154 106  91 103 151 109 157  94
  181 118 121 214 217 229 163 139  43 142  46 172  58 184 178 232 226 202 241 205
   61 199  55 244  31 220 211 124 115  79 170 167 155 107 158 110 173 122 185 182
  233 230 218  95 245 119 221 215 125 242 206  62 203  59 248  47 236 227 188 179
  143 171 174 186 234 246 222 126 219 123 249 111 237 231 189 183 159 252 243 207
   63 175 250 187 238 235 190 253 247 223 127 254 251 239 191 255"""
_PLACES = {
    1: np.arange(4),
    2: np.array([0, 1, 4, 5, 2, 8, 6, 9, 3, 12, 10, 7, 13, 11, 14, 15]),
    3: np.array(_D3.split(), np.int64),
    4: np.array(_D4.split(), np.int64),
}
