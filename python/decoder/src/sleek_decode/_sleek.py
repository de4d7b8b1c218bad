"""Codec sleek: chunks of 32 subchunks (docs/reference/codecs/sleek.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._bits import Bytes, Reader, set_bits, unpack, zigzag
from ._element import Element, Words
from ._errors import expect
from ._quantizer import Step, restore

if TYPE_CHECKING:
    from ._container import Stream

SUBCHUNKS, SUBCHUNK_BYTES = 32, 512
OFFSET, ZIGZAG, DELTA, SPECIAL = range(4)
EXPONENT_MAP, SECOND_DIFFERENCE, COUNTDOWN = range(3)


def decode(stream: Stream, bodies: list[Bytes], sides: list[tuple[int, ...]]) -> list[Words]:
    element = stream.element
    plain = stream.tile_log2 is None and not stream.wide and stream.capacity * element.bytes == SUBCHUNKS * SUBCHUNK_BYTES
    expect(plain and not stream.section, "codec sleek has runs of 16384 bytes, narrow entries and no section")
    step = Step.of(stream.word, element)
    return [_chunk(body, element, step)[: lengths[0]] for body, lengths in zip(bodies, sides)]


def _chunk(body: Bytes, element: Element, step: Step) -> Words:
    bits, unsigned = element.bits, element.words
    wrap: Any = unsigned.type
    reader = Reader(body)
    active, patched = reader.number(4), reader.number(4)
    payload_bytes, base_width, shift, base = 16 * reader.number(2), reader.number(1), reader.number(1), reader.number(4)
    exact, base_width = base_width >> 7, base_width & 127
    special, shift = shift >> 6, shift & 63
    quantized = step.factor != 0 and not exact
    expect(patched & ~active == 0 and not (bits == 8 and patched), "subchunks that have exceptions")
    expect(base_width <= bits and not (exact and not step.factor), "bases of a chunk")
    expect(shift < bits and special < 3 and not (quantized and shift), "a chunk's shift")
    payload = Reader(reader.take(payload_bytes))
    if bits == 64:
        base |= reader.number(4) << 32
    expect(base >> bits == 0, "a chunk's base is wider than an element")
    bases = wrap(base) + unpack(reader.take(4 * base_width)[None], SUBCHUNKS, base_width, unsigned)[0]

    live = set_bits(active)
    descriptors = reader.take(len(live)).astype(np.int64)
    modes, is_patched = descriptors >> 6, np.array([patched >> s & 1 for s in live], np.int64)
    widths = (descriptors & 63) + 1 - is_patched
    expect((widths <= bits).all(), "a code is wider than an element")
    codes = _payload(payload, widths, SUBCHUNK_BYTES // element.bytes, unsigned)
    _exceptions(reader, codes, widths, [row for row, s in enumerate(live) if patched >> s & 1], bits)
    reader.zeros(16)
    plain = element.is_float and not quantized and not shift
    expect(special == SECOND_DIFFERENCE or plain or not (modes == SPECIAL).any(), "a mode of floats where there can be none")

    words = np.repeat(bases[:, None], codes.shape[1], axis=1)
    words[live] = _words(codes, modes, bases[live][:, None], special, element)
    words = words.reshape(-1)
    return restore(step, words, element) if quantized else words << wrap(shift)


def _payload(payload: Reader, widths: Any, count: int, unsigned: np.dtype[Any]) -> Words:
    """The codes of active subchunks, without what exceptions add."""
    codes = np.zeros((len(widths), count), unsigned)
    lengths = widths * count // 8
    starts = np.cumsum(lengths) - lengths
    packed = payload.take(int(lengths.sum()))
    payload.zeros(16)
    for width in np.unique(widths).tolist():
        rows = np.flatnonzero(widths == width)
        each = starts[rows][:, None] + np.arange(width * count // 8)
        codes[rows] = unpack(packed[each], count, width, unsigned)
    return codes


def _exceptions(reader: Reader, codes: Words, widths: Any, rows: list[int], bits: int) -> None:
    """Adds the high parts of the exceptions of patched subchunks."""
    highs = reader.take(len(rows)).tolist()
    for row, high in zip(rows, highs):
        expect(1 <= high <= bits - widths[row], "the width of exceptions")
    flags = [reader.number(codes.shape[1] // 64) for _ in rows]
    masks = np.zeros((len(rows), codes.shape[1] // 8), np.uint8)
    for mask, flag in zip(masks, flags):
        expect(flag, "a subchunk without exceptions among those that have some")
        eights = set_bits(flag)
        mask[eights] = reader.take(len(eights))
        expect(mask[eights].all(), "an eight without exceptions among those that have some")
    for row, high, mask in zip(rows, highs, masks):
        places = np.flatnonzero(np.unpackbits(mask, bitorder="little"))
        packed = reader.take(-(-len(places) * high // 8))
        spare = 8 * len(packed) - len(places) * high
        expect(int(packed[-1]) >> (8 - spare) == 0, "what fills exceptions up is not zero")
        codes[row, places] += unpack(packed[None], len(places), high, codes.dtype)[0] << codes.dtype.type(widths[row])


def _words(codes: Words, modes: Any, bases: Words, special: int, element: Element) -> Words:
    """Codes, a row for each subchunk, to words."""
    unsigned = codes.dtype
    words = codes + bases
    for mode in np.unique(modes).tolist():
        at = modes == mode
        if mode == SPECIAL and special == EXPONENT_MAP:
            words[at] = _exponents(codes[at], element)
        elif mode == SPECIAL and special == COUNTDOWN:
            words[at] = _countdown(codes[at], bases[at], element)
        elif mode != OFFSET:
            steps = zigzag(codes[at])
            for _ in range({ZIGZAG: 0, DELTA: 1, SPECIAL: 2}[mode]):
                steps = np.cumsum(steps, axis=1, dtype=unsigned)
            words[at] = bases[at] + steps
    return words


def _exponents(codes: Words, element: Element) -> Words:
    """The inverse of the exponent map, §4."""
    wrap: Any = codes.dtype.type
    low, top = wrap(element.bits - element.exponent), element.bits - 1
    x = zigzag(codes)
    mapped = np.where(x >> wrap(top) != 0, x + (wrap(1) << low), x) + wrap(1 << top)
    x = np.where(x >> low != 0, mapped, x)
    return (x >> wrap(1)) | (x << wrap(top))


def _countdown(codes: Words, bases: Words, element: Element) -> Words:
    """Words that are counted down from what their bases tell, §5."""
    wrap: Any = codes.dtype.type
    top = ((bases + wrap(1)) << wrap(element.bits - element.exponent - 2)) + wrap(1)
    x = np.where(codes >= 2, top - codes, codes)
    return (x >> wrap(1)) | (x << wrap(element.bits - 1))
