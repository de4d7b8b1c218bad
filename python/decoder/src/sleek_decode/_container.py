"""The container of streams: header, extension, index, checksums, and where chunks lie in the array (docs/reference/format.md)."""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np
import numpy.typing as npt

from ._bits import Bytes, Reader
from ._element import ELEMENTS, Words
from ._errors import DamagedError, UnsupportedError, expect
from ._missing import Planes

MAGIC = b"\x89SLEEK"
MODES = ("lossless", "abs", "noa", "rel", "rate", "precision")
CODECS = {1: "sleek", 3: "zfp", 5: "interp"}
RETIRED = {2: ("ratio", "0.2"), 4: ("predict", "0.4")}
"""Codecs that only pre-releases of a version had."""
HEADER = 64
GROUP = 64
RUN_LOG2 = 14
PACKED, RAW, CONSTANT, MASKED = range(4)
CONTINUES, EXTENDED = 4, 8
KNOWN_FLAGS = 15

_GOLDEN, _STEP = 0x9E3779B97F4A7C15, 0x9E3779B1
_M64 = (1 << 64) - 1


class Stream:
    """A stream whose header and index are as they were written; its chunks are verified when they are used."""

    def __init__(self, data: Any) -> None:
        self.data: Any = np.frombuffer(memoryview(data).cast("B"), np.uint8)
        self._header()
        self._extension()
        self._index()
        self.verified: set[int] = set()

    def _header(self) -> None:
        data = self.data
        if len(data) < HEADER or data[:6].tobytes() != MAGIC:
            raise DamagedError(f"not a SLEEK stream: {len(data)} bytes that begin with {data[:6].tobytes().hex(' ') or 'nothing'}")
        version, codec, dtype, mode, flags = struct.unpack_from("<H4B", data, 6)
        self.word = data[12:16].tobytes()
        self.count, self.stream_bytes = struct.unpack_from("<QQ", data, 16)
        self.bound, self.range, self.abs_bound = struct.unpack_from("<3d", data, 32)
        (self.checksum,) = struct.unpack_from("<Q", data, 56)
        if version != 1:
            raise UnsupportedError(f"the stream has format version {version}; this package reads version 1")
        if codec in RETIRED:
            name, release = RETIRED[codec]
            raise UnsupportedError(f"codec {codec} ({name}) was written by a pre-release of {release}; this package does not read it")
        if codec not in CODECS:
            raise UnsupportedError(f"the stream has codec {codec}; this package knows {', '.join(CODECS.values())}")
        if flags & ~KNOWN_FLAGS:
            raise UnsupportedError(f"the stream has flags {flags:#04x}, of which this package does not know all")
        expect(dtype in ELEMENTS, f"there is no element type {dtype}")
        expect(mode < len(MODES), f"there is no mode {mode}")
        expect(self.stream_bytes == len(data), f"it says that it has {self.stream_bytes} bytes, and has {len(data)}")
        self.codec, self.element, self.mode = CODECS[codec], ELEMENTS[dtype], MODES[mode]
        self.big_endian, self.flags = bool(flags & 1), flags

    def _extension(self) -> None:
        self.shape: tuple[int, ...] = (self.count,)
        self.missing: tuple[int, ...] = ()
        self.named: tuple[int, ...] = ()    # those of them that nobody had to find
        self.following = False    # packed elements that are restored as one are the next larger numbers
        self.tile_log2: tuple[int, ...] | None = None
        self.wide, self.body_at, self.section = False, HEADER, b""
        self.capacity = (1 << RUN_LOG2) // self.element.bytes
        if not self.flags & EXTENDED:
            return
        expect(len(self.data) >= HEADER + 16, "it ends within its extension")
        length, geometry, entries, run_log2, rank, missing, found, following, zero, section = struct.unpack_from("<I8BI", self.data, HEADER)
        if geometry > 1 or entries > 1 or following > 1 or zero:
            raise UnsupportedError("the stream has an extension that this package does not know")
        expect(length % 16 == 0 and 16 <= length <= 1 << 20 and HEADER + length <= len(self.data), f"an extension of {length} bytes")
        expect(1 <= rank <= 32, f"{rank} dimensions")
        expect(missing <= (4 if self.element.is_float else 0), f"{missing} missing values")
        expect(found <= missing, f"{found} of {missing} missing values were found")
        reader = Reader(self.data[HEADER + 16 : HEADER + length])
        if rank > 1:
            self.shape = tuple(reader.numbers(rank, "<u8"))
        expect(math.prod(self.shape) == self.count, "its dimensions do not multiply to its elements")
        expect(math.prod(d for d in self.shape if d) < 1 << 63, "its dimensions are too long")
        expect(not following or missing, "numbers next to missing values")
        self.following = bool(following)
        self.missing = tuple(reader.numbers(missing, "<u8"))
        self.named = self.missing[: missing - found]
        expect(all(bits >> self.element.bits == 0 for bits in self.missing), "a missing value is wider than an element")
        expect(len(set(self.missing)) == missing, "a missing value is there twice")
        if geometry == 1:
            self.tile_log2 = tuple(reader.numbers(rank, "u1"))
            expect(self.element.bytes << sum(self.tile_log2) <= 1 << 17, "its tiles are too large")
            expect(run_log2 == 0, "it has runs and tiles")
            self.capacity = 1 << sum(self.tile_log2)
        else:
            expect(12 <= run_log2 <= 17, f"runs of 2^{run_log2} bytes")
            self.capacity = (1 << run_log2) // self.element.bytes
        self.section = reader.take(section).tobytes()
        reader.zeros(16)
        self.wide, self.body_at = entries == 1, HEADER + length
        default = rank == 1 and geometry == 0 and run_log2 == RUN_LOG2 and not self.wide and not missing and not section
        expect(not default, "its extension says nothing")

    def _index(self) -> None:
        if self.tile_log2 is None:
            self.grid: tuple[int, ...] = (-(-self.count // self.capacity),)
        else:
            self.grid = tuple(-(-d >> s) for d, s in zip(self.shape, self.tile_log2)) if self.count else (0,)
        self.chunks = math.prod(self.grid)
        groups = -(-self.chunks // GROUP)
        entry, unit = (4, 4) if self.wide else (2, 16)
        records_at, entries_at = self.body_at, self.body_at + 16 * groups
        entries_end = entries_at + entry * self.chunks
        bodies_at = -(-entries_end // 16) * 16
        expect(bodies_at <= len(self.data), "its index is longer than the stream")
        self._check_index(bodies_at)
        expect(not self.data[entries_end:bodies_at].any(), "what fills its index up is not zero")

        records = self.data[records_at:entries_at].view("<u8").reshape(groups, 2)
        entries = self.data[entries_at:entries_end].view(f"<u{entry}").astype(np.int64)
        size_bits = 8 * entry - 2
        self.unit = unit
        self.kinds = entries >> size_bits
        self.sizes = (entries & (1 << size_bits) - 1) * unit
        ends = bodies_at + np.cumsum(self.sizes)
        self.starts = ends - self.sizes
        expect((ends[-1] if self.chunks else bodies_at) == len(self.data), "its chunks do not end where it does")
        expect(np.array_equal(records[:, 0], self.starts[::GROUP].astype("u8")), "the places of its groups are wrong")
        self.group_sums = records[:, 1]
        self._check_sizes()

    def _check_index(self, bodies_at: int) -> None:
        head = self.data[:bodies_at].copy()
        head[56:64] = 0
        total = int(_sums(head.view("<u4"), np.zeros(1, np.int64))[0])
        found = int(_mix(np.array([total + _GOLDEN * bodies_at & _M64], "u8"))[0])
        expect(found == self.checksum, "the checksum of its header and index does not hold")

    def _check_sizes(self) -> None:
        raw = -(-self._lengths() * self.element.bytes // self.unit) * self.unit
        kinds, sizes = self.kinds, self.sizes
        one = -(-self.element.bytes // self.unit) * self.unit
        packed = (sizes >= self.unit) & (sizes <= self.capacity * self.element.bytes)
        masked = (sizes >= 2 * self.unit) & (sizes < raw) & bool(self.missing)
        expect(np.select([kinds == PACKED, kinds == RAW, kinds == CONSTANT], [packed, sizes == raw, sizes == one], masked).all(), "a chunk's size")

    def _lengths(self) -> npt.NDArray[np.int64]:
        """Elements of each chunk."""
        lengths = np.ones(1, np.int64)
        for side, sides in enumerate(self._sides()):
            lengths = (lengths[:, None] * sides).reshape(-1)
        return lengths if self.chunks else lengths[:0]

    def _sides(self) -> list[npt.NDArray[np.int64]]:
        """Along each dimension of the grid the elements that chunks have."""
        pairs = [(self.count, self.capacity)] if self.tile_log2 is None else [(d, 1 << s) for d, s in zip(self.shape, self.tile_log2)]
        return [np.minimum(side, d - side * np.arange(n, dtype=np.int64)) for (d, side), n in zip(pairs, self.grid)]

    def sides(self, chunk: int) -> tuple[int, ...]:
        """The lengths of a tile, or the elements of a run."""
        sides = self._sides()
        return tuple(int(sides[k][i]) for k, i in enumerate(np.unravel_index(chunk, self.grid)))

    def place(self, chunk: int) -> tuple[slice, ...]:
        """Where its elements stand, in the array or, of a run, in the sequence of its elements."""
        log2 = self.tile_log2
        steps = (self.capacity,) if log2 is None else tuple(1 << s for s in log2)
        starts = [int(i) * step for i, step in zip(np.unravel_index(chunk, self.grid), steps)]
        return tuple(slice(at, at + n) for at, n in zip(starts, self.sides(chunk)))

    def verify(self, chunks: npt.NDArray[np.int64]) -> None:
        """Checks the groups of these chunks against their checksums."""
        for group in np.unique(chunks // GROUP).tolist():
            if group in self.verified:
                continue
            first, last = group * GROUP, min(self.chunks, (group + 1) * GROUP)
            at, end = int(self.starts[first]), int(self.starts[last - 1] + self.sizes[last - 1])
            sums = _sums(self.data[at:end].view("<u4"), (self.starts[first:last] - at) // 4)
            k = np.arange(1, last - first + 1, dtype=np.uint64)
            found = np.add.reduce(_mix((sums + k * np.uint64(_GOLDEN)).astype(np.uint64)))
            expect(found == self.group_sums[group], f"the checksum of chunks {first} to {last - 1} does not hold")
            self.verified.add(group)

    def restore(self, chunks: npt.NDArray[np.int64]) -> list[Words]:
        """The elements of chunks."""
        from . import _interp, _sleek, _zfp

        self.verify(chunks)
        found: list[Words | None] = [None] * len(chunks)
        masks: dict[int, Planes] = {}
        packed: list[tuple[int, Bytes]] = []
        for i, chunk in enumerate(chunks.tolist()):
            body = self.data[self.starts[chunk] : self.starts[chunk] + self.sizes[chunk]]
            kind, count = int(self.kinds[chunk]), math.prod(self.sides(chunk))
            if kind == MASKED:
                masks[i] = Planes(body, self.capacity, self.unit, len(self.missing))
                kind, body = masks[i].kind, body[masks[i].bytes :]
            if kind == PACKED:
                expect(len(body) >= self.unit, "nothing stands behind a plane")
                packed.append((i, body))
            else:
                found[i] = self._plain(body, count, kind)
        codec = {"sleek": _sleek, "zfp": _zfp, "interp": _interp}[self.codec]
        for (i, _), words in zip(packed, codec.decode(self, [body for _, body in packed], [self.sides(int(chunks[i])) for i, _ in packed])):
            found[i] = self._beside(words) if self.following else words
        for i, planes in masks.items():
            words = found[i]
            assert words is not None
            found[i] = planes.put(words, self.missing)
        return [words for words in found if words is not None]

    def _beside(self, words: Words) -> Words:
        """The next larger numbers in the places of those that equal a missing value."""
        top = 1 << (self.element.bits - 1)
        special = ((1 << self.element.exponent) - 1) << self.element.mantissa
        for bits in self.missing:
            following = 1 if bits & ~top == 0 else bits - 1 if bits & top else bits + 1
            if special in (bits & special, following & special):
                continue    # no number
            same = (words == bits) | (bits & ~top == 0) & (words & (top - 1) == 0)
            words = np.where(same, words.dtype.type(following), words)
        return words

    def _plain(self, body: Bytes, count: int, kind: int) -> Words:
        element = self.element
        held = element.bytes * (1 if kind == CONSTANT else count)
        expect(len(body) == -(-held // self.unit) * self.unit and not body[held:].any(), "what fills a chunk up is not zero")
        words = body[:held].view(element.words)
        return np.repeat(words, count) if kind == CONSTANT else words


def _sums(words: Words, starts: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """sum(w) of §7 of each body, whose first words are at `starts`."""
    lengths = np.diff(starts, append=len(words))
    i = np.arange(len(words), dtype=np.uint64) - np.repeat(starts, lengths).astype(np.uint64)
    factors = ((2 * i + np.uint64(1)) * np.uint64(_STEP)) & np.uint64(0xFFFFFFFF)
    return np.add.reduceat(words * factors, starts)


def _mix(x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
