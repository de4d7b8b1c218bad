"""Where the bytes of lossless streams of profile small are: of each file the forms of its tiles and, in bytes a tile,
what is in front of the coder's words and these themselves. Beside them what entropy allows: signs and exponents, with
the mantissas as they are; then, by tile, with so many bits of the mantissa in the symbols and zeros as a symbol of
their own, a byte of table for each symbol and 32 for head and states.

    python3 benches/lossless/parts.py LIBRARY FILE…        # needs what benches/lossless/compare.py needs

The stream is taken apart as docs/reference/format.md and docs/reference/codecs/predict.md have it.
"""

import collections
import ctypes
import pathlib
import struct
import sys

import numpy as np

from compare import TYPES, Sleek, bound, lengths

TILE = 16384
MORE = (0, 1, 2, 3)
PARTS = ("head", "form's own", "table", "low bits", "states", "words")


def bodies(stream: bytes):
    """Kind, body and elements of each chunk of a stream that is cut into tiles."""
    count = struct.unpack_from("<Q", stream, 16)[0]
    length, geometry, entries, _, rank = struct.unpack_from("<IBBBB", stream, 64)
    assert geometry == 1 and entries == 1, "tiles with wide entries"
    lens = struct.unpack_from(f"<{rank}Q", stream, 80) if rank > 1 else (count,)
    sides = stream[80 + (8 * rank if rank > 1 else 0) :][:rank]
    grid = [-(-n // (1 << s)) for n, s in zip(lens, sides)]
    chunks = int(np.prod(grid))
    at = 64 + length + 16 * -(-chunks // 64)
    table = struct.unpack_from(f"<{chunks}I", stream, at)
    at = -(-(at + 4 * chunks) // 16) * 16
    for place, entry in zip(np.ndindex(*grid), table):
        box = [min(1 << s, n - (c << s)) for s, n, c in zip(sides, lens, place)]
        size = 4 * (entry & (1 << 30) - 1)
        yield entry >> 30, stream[at : at + size], int(np.prod(box))
        at += size


def table_bytes(body: bytes) -> int:
    """Bytes of the table at the start."""
    at = total = 0
    while total < 1024:
        frequency = body[at]
        if frequency >= 128:
            at += 1
            frequency = (frequency - 128) * 256 + body[at]
        at += 1
        at += frequency == 0
        total += frequency
    return at + at % 2


def states_bytes(body: bytes, longest: int, mask: int) -> int:
    """Bytes of the final states at the start."""
    if not longest:
        return 0
    listed = struct.unpack_from("<I", body)[0].bit_count() if mask else 32
    bits, floor, at = 4 * listed, max(0, longest - 15), 32 * mask
    number = int.from_bytes(body[:512], "little")
    for lane in range(listed):
        k = number >> (at + 4 * lane) & 15
        bits += floor + max(0, k - 1)
    return 4 * mask + 2 * -(-bits // 16)


def taken_apart(body: bytes, elements: int, size: int) -> tuple[str, list[int]]:
    """The name of a packed tile's form, and the bytes of its parts."""
    head, form = struct.unpack_from("<IH", body)
    order, prediction, low = form >> 6 & 3, form >> 8 & 3, form >> 10 & 1
    base = 2 * (0, 1, 2, 4)[head >> 24 & 3]
    at = start = 6 + base
    if order == 2:
        at += 4 + (2 + size) * struct.unpack_from("<H", body, at + 2)[0]
    if order == 3:
        at += 2 + -(-struct.unpack_from("<H", body, at)[0] * size // 2) * 2
    if prediction == 2:
        flags = -(-(-(-elements // 16)) // 16)
        words = struct.unpack_from(f"<{flags}H", body, at)
        at += 2 * (flags + sum(w.bit_count() for w in words))
    own, table = at - start, table_bytes(body[at:]) if head >> 7 & 1 else 0
    at += table
    lows = 0
    if low:
        bits, bare = struct.unpack_from("<BxH", body, at)
        lows = 4 + 2 * -(-(elements - bare) * bits // 16)
    at += lows
    states = states_bytes(body[at:], head >> 18 & 31, head >> 23 & 1)
    name = ("numbers", "magnitudes", "decimals", "ranks")[order]
    name += ("", ", symbols", ", lags")[prediction] + (f", axes {head & 7}" if not prediction else "")
    name += (", low bits" if low else "") + (", table" if table else "")
    return name, [6 + base, own, table, lows, states, len(body) - at - states]


def finer(run: np.ndarray, mantissa_bits: int, more: int) -> float:
    """Bytes with symbols of sign, exponent and `more` bits of the mantissa, and zeros apart."""
    width = 8 * run.itemsize
    bits = run.view(f"<u{run.itemsize}").astype("u8")
    magnitude, low = bits & (1 << width - 1) - 1, mantissa_bits - more
    symbols = np.where(magnitude == 0, 0, (magnitude >> low) * 2 + (bits >> width - 1) + 2)
    _, counts = np.unique(symbols, return_counts=True)
    coded = -(counts * np.log2(counts / run.size)).sum() + np.count_nonzero(magnitude) * low
    return coded / 8 + counts.size + 32


def main() -> None:
    library, *files = sys.argv[1:]
    sleek = Sleek(ctypes.CDLL(library), "small")
    print(f"| file | tiles | forms | {' | '.join(PARTS)} | all | exponents | by tile |"
          + "".join(f" {more} bits more |" for more in MORE))
    print("|---|---|---|" + "---|" * (len(PARTS) + 3 + len(MORE)))
    for path in map(pathlib.Path, files):
        kind, mantissa_bits = TYPES[path.suffix[1:]]
        data = np.fromfile(path, kind)
        data = data.reshape(lengths(path, data.size))
        stream = sleek.compress(data, path.suffix[1:]).tobytes()
        forms, sums, packed = collections.Counter(), np.zeros(len(PARTS)), 0
        for chunk, body, elements in bodies(stream):
            if chunk == 0:
                name, parts = taken_apart(body, elements, data.itemsize)
                forms[name] += 1
                sums += parts
                packed += 1
        named = "; ".join(f"{n} {name}" for name, n in forms.most_common(3))
        flat = data.reshape(-1)
        runs = [flat[i : i + TILE] for i in range(0, flat.size, TILE)]
        whole = bound(flat, mantissa_bits) * flat.size / 8 / len(runs)
        each = sum(bound(run, mantissa_bits) * run.size for run in runs) / 8 / len(runs)
        fine = [sum(finer(run, mantissa_bits, more) for run in runs) / len(runs) for more in MORE]
        cells = [f"{x:.0f}" for x in [*sums / max(packed, 1), sums.sum() / max(packed, 1), whole, each, *fine]]
        print(f"| {path.name} | {packed} | {named} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
