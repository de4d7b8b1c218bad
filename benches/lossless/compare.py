"""Lossless ratios of the command beside pcodec, zstd and gzip on the same files, as rows of a table.

    python3 benches/lossless/compare.py SLEEK FILE…   # needs numpy, pcodec and zstandard

A file is NAME_DIMS.TYPE, as benches/lossless/tensors.py makes them. zstd and gzip get the bytes shuffled. The last
column is what a table of signs and exponents would reach that costs nothing, with all bits of the mantissas behind it,
but for those of exponents whose mantissas are all zero.
"""

import collections
import pathlib
import subprocess
import sys
import tempfile
import zlib

import numpy as np
import zstandard
from pcodec import ChunkConfig, standalone

TYPES = {"f32": ("<f4", 23), "f64": ("<f8", 52), "f16": ("<f2", 10), "bf16": ("<u2", 7)}


def dims(path: pathlib.Path, count: int) -> list[int]:
    """The lengths that end the file's name, if they make up its elements."""
    lens = [int(n) for n in path.stem.rsplit("_", 1)[-1].split("x") if n.isdigit()]
    return lens if lens and np.prod(lens) == count else [count]


def sleek(command: str, path: pathlib.Path, lens: list[int], profile: str) -> int:
    """Bytes of the compressed file."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out"
        shape = ["--dims", "x".join(map(str, lens)), "--dtype", path.suffix[1:], "--no-fill", "-q"]
        subprocess.run([command, "compress", "--lossless", "--profile", profile, *shape, path, out], check=True)
        return out.stat().st_size


def bound(data: np.ndarray, mantissa_bits: int) -> float:
    """Bits of an element with its sign and exponent at their entropy."""
    bits = data.view(f"<u{data.itemsize}")
    tops, at, counts = np.unique(bits >> np.array(mantissa_bits, bits.dtype), return_inverse=True, return_counts=True)
    mantissas = np.bincount(at, bits & np.array((1 << mantissa_bits) - 1, bits.dtype), minlength=tops.size)
    parts = counts / data.size
    return (parts * (mantissa_bits * (mantissas > 0) - np.log2(parts))).sum()


def row(command: str, path: pathlib.Path) -> list[float]:
    kind, mantissa_bits = TYPES[path.suffix[1:]]
    raw = path.read_bytes()
    data = np.frombuffer(raw, kind)
    lens = dims(path, data.size)
    shuffled = np.frombuffer(raw, np.uint8).reshape(-1, data.itemsize).T.tobytes()
    sizes = [sleek(command, path, lens, profile) for profile in ("ratio", "adaptive", "fast")]
    sizes += [len(standalone.simple_compress(data, ChunkConfig(compression_level=level))) for level in (8, 12)]
    sizes += [len(zstandard.compress(shuffled, 19)), len(zlib.compress(shuffled, 4))]
    return [len(raw) / size for size in sizes] + [8 * data.itemsize / bound(data, mantissa_bits)]


def main() -> None:
    command, *files = sys.argv[1:]
    print("| file | ratio | adaptive | fast | pcodec 8 | pcodec 12 | zstd -19 | gzip -4 | exponents |")
    print("|---|---|---|---|---|---|---|---|---|")
    groups = collections.defaultdict(list)
    for path in sorted(map(pathlib.Path, files)):
        ratios = row(command, path)
        print(f"| {path.name} | " + " | ".join(f"{r:.3f}" for r in ratios) + " |", flush=True)
        if not path.name.startswith("levitus"):
            groups[path.suffix[1:]].append(ratios)
    for kind, all_ratios in groups.items():
        means = np.exp(np.log(all_ratios).mean(axis=0))
        print(f"| geometric mean, {kind} | " + " | ".join(f"{r:.3f}" for r in means) + " |")
    wins = [(r[0] > r[6]) for ratios in groups.values() for r in ratios]
    print(f"\nsmaller than gzip on {sum(wins)} of {len(wins)}")


if __name__ == "__main__":
    main()
