"""Makes streams of codec interp from random numbers: all that its page allows, and much that our encoder never writes. What they
hold is whatever comes of it; decoders are to say the same of it (docs/reference/codecs/interp.md)."""

import math
import random
import struct

import numpy as np
from sleek_decode import _container, _interp
from sleek_decode._element import ELEMENTS
from sleek_decode._interp import AXES, BINS, BITS, MULTIPLES, ROUGH, SMOOTH, STEPS, SYMBOLS

STEP_RANGES = {1: (-126, 100), 2: (-1022, 960), 3: (-24, 5), 4: (-126, 100)}
LATTICE_FROM = {1: -100, 2: -960}
RANKS = struct.pack("<H", 2 << 6)
MOST = 1 << 28
"""What states are below."""


def stream(seed):
    """One of a single tile; None if its codes take more room than a body has."""
    rng = random.Random(seed)
    dtype = rng.choice([1, 2, 1, 2, *ELEMENTS])  # most forms and predictors are for f32 and f64
    element = ELEMENTS[dtype]
    log2, dims = _shape(rng, element)
    word, multiplier = _word(rng, dtype)
    body = _Tile(rng, element, log2, math.prod(dims), word[2] != 0, multiplier != 0).body()
    return body and _around(dtype, word, dims, log2, body, rng.choice([0, 1]))


def _shape(rng, element):
    rank = rng.choice([1, 1, 2, 2, 3, 3, 4])
    while True:
        log2 = [rng.randint(0, {1: 14, 2: 8, 3: 6, 4: 5}[rank]) for _ in range(rank)]
        if sum(log2) <= (14 if rng.random() < 0.2 else 11):
            break
    dims = [rng.choice([1 << s, rng.randint(1, 1 << s)]) for s in log2]
    return log2, dims if math.prod(dims) * element.bytes > 40 else [1 << s for s in log2]


def _word(rng, dtype):
    """The codec's own in the header."""
    if dtype not in STEP_RANGES or rng.random() < 0.4:
        return bytes(4), 0
    low, high = STEP_RANGES[dtype]
    multiplier = rng.randint(67, 135) if dtype in LATTICE_FROM and rng.random() < 0.7 else 0
    low = LATTICE_FROM[dtype] if multiplier else low
    exponent = rng.choice([rng.randint(low, high), rng.randint(max(low, -20), min(high, 3)), low, high])
    return struct.pack("<hBB", exponent, rng.randint(4, 7), multiplier), multiplier


def _around(dtype, word, dims, log2, body, flags):
    """The container around the body of one tile."""
    inner = b"".join(struct.pack("<Q", d) for d in dims if len(dims) > 1) + bytes(log2)
    inner += bytes(-len(inner) % 16)
    extension = struct.pack("<I8BI", 16 + len(inner), 1, 1, 0, len(dims), 0, 0, 0, 0, 0) + inner
    begin = -(-(64 + len(extension) + 20) // 16) * 16
    head = b"\x89SLEEK" + struct.pack("<H4B4sQQ", 1, 5, dtype, 0, 8 | flags, word, math.prod(dims), begin + len(body))
    index = struct.pack("<QQI", begin, _sum(body, 1), len(body) // 4)
    front = (head + bytes(32) + extension + index).ljust(begin, b"\0")
    return front[:56] + struct.pack("<Q", _sum(front, begin)) + front[64:] + body


def _sum(part, times):
    """A checksum of §7 of the format."""
    total = int(_container._sums(np.frombuffer(part, "<u4"), np.zeros(1, np.int64))[0]) + _container._GOLDEN * times
    return int(_container._mix(np.array([total % (1 << 64)], "u8"))[0])


class _Tile:
    def __init__(self, rng, element, log2, count, bins, lattice):
        self.rng, self.element, self.log2, self.count = rng, element, log2, count
        self.bins, self.lattice = bins, lattice
        self.groups = -(-count // 128)

    def body(self):
        rng, element = self.rng, self.element
        long = [s for s in self.log2 if s > 0]
        x, y = (long[-1] if long else 0), (long[-2] if len(long) > 1 else 0)
        sides = x, y, sum(self.log2) - x - y
        smooth = [SMOOTH, ROUGH] if x >= 3 or sum(self.log2) <= 11 else []
        predictor = rng.choice([AXES, *smooth, *([] if self.bins else [SYMBOLS])])
        axes = 0 if predictor == SYMBOLS else sum(1 << k for k in range(3) if sides[k] and rng.random() < 0.5)
        with_multiples = self.lattice and predictor in (SMOOTH, ROUGH)
        numbers = rng.choice([BINS, STEPS, MULTIPLES]) if with_multiples else BINS if self.bins else BITS
        self.symbols = predictor == SYMBOLS
        sparse = not self.symbols and rng.random() < 0.25
        with_table = self.symbols or not sparse and rng.random() < 0.4
        self.table, table = self.own_table() if with_table else (None, b"")
        words = rng.randrange(4)
        base = rng.choice([rng.randbytes((0, 2, 4, 8)[words]), bytes((0, 2, 4, 8)[words])])
        form = self.form() if numbers == BITS else b""
        patches = self.patches() if self.lattice and rng.random() < 0.6 else b""
        pools = [0], [0, 1, 2], range(1, 7), range(7, 11), [11], [0, 11], range(12, 20), range(20), [19]
        pool = list(rng.choice(pools))
        if form[:2] == RANKS and rng.random() < 0.8:
            base, words, pool = b"", 0, [0]  # what is a rank of one element
        self.low = 0 if sparse else rng.choice([0, 0, 0, rng.randint(0, max(element.bits, 32) - 8)])
        classes = [rng.choice(pool) for _ in range(self.groups)]
        made = self.sparse(classes) if sparse else self.lanes(classes)
        if made is None:
            return None
        switch, longest, codes, low_bits = made
        flags = with_table << 7 | bool(patches) << 8 | sparse << 9
        head = axes | predictor << 3 | numbers << 5 | flags | switch << 10 | longest << 18 | words << 23 | self.low << 25
        body = struct.pack("<I", head) + base + form + patches + table + codes
        body += bytes(-len(body) % 4) + low_bits
        return body if len(body) <= element.bytes << sum(self.log2) else None

    def own_table(self):
        """Frequencies, and a tile's table of them, not always as short as can be."""
        rng = self.rng
        top = 255 if self.symbols else 179
        symbols = sorted(rng.sample(range(top + 1), rng.randint(2, 40)))
        cuts = [0, *sorted(rng.sample(range(1, 1024), len(symbols) - 1)), 1024]
        table = [0] * (symbols[-1] + 1)
        for symbol, begin, end in zip(symbols, cuts, cuts[1:]):
            table[symbol] = end - begin
        out, at = b"", 0
        while at < len(table):
            frequency = table[at]
            wide = frequency >= 128 or rng.random() < 0.1
            out += bytes([128 + (frequency >> 8), frequency & 255] if wide else [frequency])
            at += 1
            if frequency == 0:
                more = next(n for n, f in enumerate(table[at:]) if f)
                more = min(255, more if rng.random() < 0.7 else rng.randint(0, more))
                out += bytes([more])
                at += more
        return table, out + bytes(len(out) % 2)

    def form(self):
        rng, size = self.rng, self.element.bytes
        order = rng.choice([0, 0, 1, 2] if self.element.name in ("f32", "f64") else [0, 0, 2])
        if order == 0:
            return struct.pack("<H", rng.choice([0, rng.randrange(8 * size)]))
        if order == 1:
            places = sorted(rng.sample(range(self.count), min(self.count, rng.choice([0, 1, 5]))))
            head = struct.pack("<HBBH", 1 << 6, rng.choice([0, 2, 15]), 0, len(places))
            return head + struct.pack(f"<{len(places)}H", *places) + rng.randbytes(size * len(places))
        listed = rng.randbytes(size * rng.choice([1, 3, 256]))
        return RANKS + struct.pack("<H", len(listed) // size) + listed + bytes(len(listed) % 2)

    def patches(self):
        rng, found, at = self.rng, [], -1
        while len(found) < 60:
            gap = rng.choice([0, 1, rng.randint(0, 200), 4095])
            at += 1 + gap
            if at >= self.count:
                break
            found.append(gap << 4 | rng.choice([0, 8, rng.randint(0, 15)]))
        found = found or [8]
        exceptions = sum(patch & 15 == 0 for patch in found)
        same = rng.random() < 0.4
        head = struct.pack(f"<{1 + len(found)}H", len(found) | same << 15, *found)
        return head + self.rng.randbytes((min(exceptions, 1) if same else exceptions) * self.element.bytes)

    def symbol(self, table):
        """One of a table, by its frequencies or whichever."""
        some = [s for s, f in enumerate(table) if f]
        return self.rng.choices(some, [table[s] for s in some])[0] if self.rng.random() < 0.7 else self.rng.choice(some)

    def token(self, known):
        """One that a group of a class has: its place in a table, and its raw bits."""
        table = self.table if self.table and known == _interp.OWN else _interp.TOKENS[known]
        token = self.symbol(table)
        return _slots(table, token), 0 if token < 64 or self.symbols else 5 + (token - 64) // 2

    def raw(self, bits):
        return 1, self.rng.getrandbits(bits), bits

    def sparse(self, classes):
        """Switch, longest, codes of one lane, and no low bits."""
        coded, behind, steps = classes[: self.rng.randint(1, self.groups)], _interp.FIRST, []
        for group, known in enumerate(coded):
            steps.append((0, *_slots(_interp.CLASSES[behind], known)))
            behind = known
            for _ in range(min(128, self.count - 128 * group) if known else 0):
                slots, bits = self.token(known)
                bits += max(0, known - _interp.NARROW)
                steps += [(0, *slots), *((0, *self.raw(min(12, bits - k))) for k in range(0, bits, 12))]
        [state], words = _backwards(steps, 1, len(steps), 0)
        long = state >> 16 > 0 or self.rng.random() < 0.2
        head = struct.pack("<H", len(coded) - 1 | long << 7 | len(words) % 2 << 8) + state.to_bytes(4 if long else 2, "little")
        return 0, 0, head + struct.pack(f"<{len(words)}H", *words), b""

    def lanes(self, classes):
        """Switch, longest, final states with the u16, and low bits."""
        rng = self.rng
        steps, marks = self.steps(classes)
        switches = [*rng.sample(range(self.groups), min(3, self.groups)), self.groups]
        for switch in [255, *switches] if rng.random() < 0.4 else switches:
            made = _backwards(steps, 32, marks[switch] if switch < 255 else -1, _interp.DROP)
            if made:
                longest, states = self.states(made[0])
                each = (min(128, self.count - 128 * g) * (self.low + max(0, c - 12)) for g, c in enumerate(classes) if c)
                bits = sum(each)
                low_bits = rng.getrandbits(bits).to_bytes(-(-bits // 32) * 4, "little")
                return switch, longest, states + struct.pack(f"<{len(made[1])}H", *made[1]), low_bits
        return None

    def steps(self, classes):
        """What lanes decode: the lane, a symbol's frequency and start, and the bits of the table; and where groups begin."""
        steps, marks = [], []
        for s in range(4):
            for g in range(s, self.groups, 4):
                table = _interp.CLASSES[classes[g - 1] if s else _interp.FIRST]
                steps.append((g // 4, *_slots(table, classes[g])))
        for g, known in enumerate(classes):
            marks.append(len(steps))
            some = [at for j in range(4) for at in range(j, min(128, self.count - 128 * g), 4)] if known else []
            raw = {}
            for at in some:
                slots, raw[at] = self.token(known)
                steps.append((at // 4, *slots))
            for k in range(0, max(raw.values(), default=0), 12):
                steps += [(at // 4, *self.raw(min(12, raw[at] - k))) for at in some if raw[at] > k]
        return steps, [*marks, len(steps)]

    def states(self, states):
        """Longest, and the states' bytes."""
        if max(states) == 1 and self.rng.random() < 0.5:
            return 0, b""
        need = max(state.bit_length() for state in states)
        longest = min(28, need + self.rng.choice([0, 0, self.rng.randint(0, 5)]))
        floor = max(0, longest - 15)
        lengths = [max(0, state.bit_length() - floor) for state in states]
        fields = [(k, 4) for k in lengths]
        for k, state in zip(lengths, states):
            rest = state - (1 << floor + k - 1) if k else state if state > 1 or floor and self.rng.random() < 0.5 else 0
            fields.append((rest, floor + max(0, k - 1)))
        whole, at = 0, 0
        for number, bits in fields:
            whole |= number << at
            at += bits
        return longest, whole.to_bytes(-(-at // 16) * 2, "little")


def _slots(table, symbol):
    return table[symbol], sum(table[:symbol]), 10


def _backwards(steps, lanes, change, drop):
    """The final states of lanes that end at 1, and the u16 they take; None if one gets too large. States change by `drop` in front
    of step `change`, and nothing is refilled from there on."""
    states, words = [1] * lanes, []
    for at in range(len(steps), -1, -1):
        if at == change:
            states = [state + drop for state in states]
        if max(states) >= MOST:
            return None
        if at > 0:
            lane, frequency, start, bits = steps[at - 1]
            state = states[lane]
            if at <= change and state >= frequency << 28 - bits:
                words.append(state & 0xFFFF)
                state >>= 16
            states[lane] = (state // frequency << bits) + start + state % frequency
    return states, words[::-1]
