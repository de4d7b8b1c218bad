"""Lossless ratios and speeds of profile small, adaptive and fast beside other compressors on the same files, in one run
by one thread, as tables.

    python3 benches/lossless/compare.py [--round] [--no-speed] [--before LIBRARY] [--alone] LIBRARY FILE…

LIBRARY is libsleek.so of a release; the others are the Python packages pcodec, zstandard, fpzip and blosc2, and zlib.
With --before profile small of another build stands beside, and the worst field of each kind is named; with --alone no
other compressor does. A file is NAME_DIMS.TYPE, as benches/lossless/tensors.py and benches/lossless/kinds.py make
them; of a folder all such files are taken, and its name is the kind of data. With --round the fields in f32 and f64
are also rounded to f16 and bf16. zstd and gzip get the bytes shuffled, Blosc2 (zstd, level 5) shuffles them itself;
pcodec and Blosc2 take bf16 as integers of 16 bits, and fpzip has f32 and f64 alone. Every compressor has to give the
bytes back. `exponents` is what a table of signs and exponents would reach that costs nothing, with all bits of the mantissas behind
it, but for those of exponents whose mantissas are all zero.

Speeds are of bytes of the array by processor time, the shuffle in it, medians of three rounds (one round for what takes
longer than half a second), as multiples of a copy of 64 MiB in the same rounds; geometric means over the fields.
"""

import argparse
import collections
import ctypes
import pathlib
import sys
import time
import zlib

import blosc2
import fpzip
import numpy as np
import pcodec
import zstandard
from pcodec import ChunkConfig, standalone

from tensors import bf16

TYPES = {"f32": ("<f4", 23), "f64": ("<f8", 52), "f16": ("<f2", 10), "bf16": ("<u2", 7),
         "i32": ("<i4", 0), "i64": ("<i8", 0), "u16": ("<u2", 0)}
DTYPES = {"f32": 1, "f64": 2, "f16": 3, "bf16": 4, "i32": 7, "i64": 8, "u16": 10}   # as sleek.h has them
ROUNDS, SLOW = 3, 0.5
COPY = 64 << 20


class Params(ctypes.Structure):
    """The head of sleek_params; its rest is `more`."""

    _fields_ = [("struct_size", ctypes.c_size_t), ("dtype", ctypes.c_int32), ("before", ctypes.c_int32 * 3),
                ("numbers", ctypes.c_double * 3), ("flags", ctypes.c_int32 * 3), ("threads", ctypes.c_int32),
                ("dims", ctypes.POINTER(ctypes.c_uint64)), ("rank", ctypes.c_int32), ("more", ctypes.c_char * 256)]


class Sleek:
    """A profile of the library, on arrays in memory."""

    def __init__(self, library: ctypes.CDLL, profile: str) -> None:
        self.library, self.words = library, f"lossless,profile={profile}".encode()
        library.sleek_compress_bound.restype = ctypes.c_size_t

    def params(self, data: np.ndarray, kind: str) -> Params:
        params = Params()
        self.checked(self.library.sleek_params_init(ctypes.byref(params)))
        self.checked(self.library.sleek_params_parse(ctypes.byref(params), self.words))
        params.dtype, params.threads, params.rank = DTYPES[kind], 1, data.ndim
        params.dims = (ctypes.c_uint64 * data.ndim)(*data.shape)
        return params

    def checked(self, status: int) -> None:
        if status:
            sys.exit(f"the library refuses: status {status}")

    def compress(self, data: np.ndarray, kind: str):
        params, done = self.params(data, kind), ctypes.c_size_t()
        bound = self.library.sleek_compress_bound(ctypes.byref(params), ctypes.c_size_t(data.size))
        out = np.empty(bound, "u1")
        self.checked(self.library.sleek_compress(
            ctypes.byref(params), ctypes.c_void_p(data.ctypes.data), ctypes.c_size_t(data.size),
            ctypes.c_void_p(out.ctypes.data), ctypes.c_size_t(bound), ctypes.byref(done), None))
        return out[: done.value]

    def decompress(self, stream: np.ndarray, data: np.ndarray) -> np.ndarray:
        out, done = np.empty_like(data), ctypes.c_size_t()
        self.checked(self.library.sleek_decompress(
            ctypes.c_void_p(stream.ctypes.data), ctypes.c_size_t(stream.size), ctypes.c_void_p(out.ctypes.data),
            ctypes.c_size_t(out.nbytes), ctypes.byref(done), None))
        return out


class Pcodec:
    def __init__(self, level: int) -> None:
        self.level = level

    def compress(self, data: np.ndarray, kind: str):
        return standalone.simple_compress(data.reshape(-1), ChunkConfig(compression_level=self.level))

    def decompress(self, stream, data: np.ndarray):
        return standalone.simple_decompress(stream)


class Shuffled:
    """A compressor of bytes behind a shuffle."""

    def __init__(self, compress, decompress) -> None:
        self.there, self.back = compress, decompress

    def compress(self, data: np.ndarray, kind: str):
        return self.there(np.ascontiguousarray(data.reshape(-1).view("u1").reshape(-1, data.itemsize).T).data)

    def decompress(self, stream, data: np.ndarray):
        return np.ascontiguousarray(np.frombuffer(self.back(stream), "u1").reshape(data.itemsize, -1).T)


class Fpzip:
    def compress(self, data: np.ndarray, kind: str):
        # At most four dimensions; leading ones together.
        return fpzip.compress(data.reshape(-1, *data.shape[-3:]) if data.ndim > 4 else data)

    def decompress(self, stream, data: np.ndarray):
        return fpzip.decompress(stream)


class Blosc2:
    def compress(self, data: np.ndarray, kind: str):
        return blosc2.compress2(data.reshape(-1), codec=blosc2.Codec.ZSTD, clevel=5, typesize=data.itemsize, nthreads=1,
                                filters=[blosc2.Filter.SHUFFLE], filters_meta=[0])

    def decompress(self, stream, data: np.ndarray):
        return np.frombuffer(blosc2.decompress2(stream, nthreads=1), "u1")


def compressors(library: ctypes.CDLL, before: ctypes.CDLL | None, alone: bool) -> dict:
    ours = {profile: Sleek(library, profile) for profile in ("small", "adaptive", "fast")}
    if before:
        ours["small before"] = Sleek(before, "small")
    if alone:
        return ours
    return {
        **ours,
        "pcodec 8": Pcodec(8),
        "pcodec 12": Pcodec(12),
        "zstd -19": Shuffled(lambda raw: zstandard.compress(raw, 19), zstandard.decompress),
        "gzip -4": Shuffled(lambda raw: zlib.compress(raw, 4), zlib.decompress),
        "fpzip": Fpzip(),
        "Blosc2": Blosc2(),
    }


def lengths(path: pathlib.Path, count: int) -> list[int]:
    """The lengths that end the file's name, if they make up its elements."""
    lens = [int(n) for n in path.stem.rsplit("_", 1)[-1].split("x") if n.isdigit()]
    return lens if lens and np.prod(lens) == count else [count]


def bound(data: np.ndarray, mantissa_bits: int) -> float:
    """Bits of an element with its sign and exponent at their entropy."""
    bits = data.reshape(-1).view(f"<u{data.itemsize}")
    tops, at, counts = np.unique(bits >> np.array(mantissa_bits, bits.dtype), return_inverse=True, return_counts=True)
    mantissas = np.bincount(at, bits & np.array((1 << mantissa_bits) - 1, bits.dtype), minlength=tops.size)
    parts = counts / data.size
    return (parts * (mantissa_bits * (mantissas > 0) - np.log2(parts))).sum()


def timed(work):
    """What it gives, and seconds of processor time."""
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


class Copy:
    """Bytes a second of a copy, in every round anew."""

    def __init__(self) -> None:
        self.source, self.target = np.ones(COPY, "u1"), np.empty(COPY, "u1")
        self.speeds: list[float] = []
        timed(self.round)

    def round(self) -> None:
        np.copyto(self.target, self.source)

    def speed(self) -> float:
        self.speeds.append(COPY / timed(self.round)[1])
        return self.speeds[-1]


def measured(coder, data: np.ndarray, kind: str, copy: Copy | None) -> tuple[float, float, float]:
    """The ratio, and speeds of compressing and restoring as multiples of a copy."""
    if isinstance(coder, Fpzip) and kind not in ("f32", "f64"):
        return (float("nan"),) * 3
    raw, speeds = data.tobytes(), []
    for _ in range(ROUNDS if copy else 1):
        stream, there = timed(lambda: coder.compress(data, kind))
        values, back = timed(lambda: coder.decompress(stream, data))
        speeds.append([data.nbytes / seconds / copy.speed() for seconds in (there, back)] if copy else [0, 0])
        if there > SLOW:
            break
    if np.ascontiguousarray(values).tobytes() != raw:
        sys.exit("what came back is not what was compressed")
    return len(raw) / len(stream), *np.median(speeds, axis=0)


def versions(path: pathlib.Path, rounded: bool):
    """The name, type, group and values of a file, and of its roundings to 16 bits."""
    kind = path.suffix[1:]
    data = np.fromfile(path, TYPES[kind][0])
    data = data.reshape(lengths(path, data.size))
    name, folder = path.stem.rsplit("_", 1)[0], path.parent.name
    yield name, kind, f"{folder} {kind}", data
    if rounded and kind in ("f32", "f64"):
        with np.errstate(over="ignore"):
            yield name, "f16", f"{folder} f16 of {kind}", data.astype("<f2")
            yield name, "bf16", f"{folder} bf16 of {kind}", bf16(data)


def paths(given: list[pathlib.Path]) -> list[pathlib.Path]:
    """The files, and those of folders."""
    inside = [list(path.iterdir()) if path.is_dir() else [path] for path in given]
    return sorted(path for some in inside for path in some if path.suffix[1:] in TYPES)


def table(head: list[str], rows: list[tuple[str, list[float]]], digits: str) -> None:
    print(f"\n| {' | '.join(head)} |\n|" + "---|" * len(head))
    for name, row in rows:
        print(f"| {name} | " + " | ".join("–" if np.isnan(r) else f"{r:{digits}}" for r in row) + " |")


def means(groups: dict, what: int) -> list[tuple[str, list[float]]]:
    """Geometric means of each group: 0 of the ratio, 1 and 2 of the speeds."""
    return [(f"{kind}, {len(rows)}", list(np.exp(np.mean([[np.log(c[what]) for c in row] for row in rows], axis=0))))
            for kind, rows in groups.items()]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("library")
    options.add_argument("files", nargs="+", type=pathlib.Path)
    options.add_argument("--round", action="store_true", help="also the fields rounded to f16 and bf16")
    options.add_argument("--no-speed", action="store_true", help="ratios alone, each compressor once")
    options.add_argument("--before", help="libsleek.so of another build, of which profile small stands beside")
    options.add_argument("--alone", action="store_true", help="no other compressors")
    options = options.parse_args()
    coders = compressors(ctypes.CDLL(options.library), options.before and ctypes.CDLL(options.before), options.alone)
    copy = None if options.no_speed else Copy()
    names, groups = list(coders), collections.defaultdict(list)
    packages = (("numpy", np), ("pcodec", pcodec), ("zstandard", zstandard), ("blosc2", blosc2), ("fpzip", fpzip))
    print(", ".join(f"{name} {getattr(package, '__version__', '?')}" for name, package in packages))
    print(f"\n| field | type | {' | '.join(names)} | exponents |\n|---|---|" + "---|" * (len(names) + 1))
    for path in paths(options.files):
        for name, kind, group, data in versions(path, options.round):
            row = [measured(coder, data, kind, copy) for coder in coders.values()]
            entropy = 8 * data.itemsize / bound(data, TYPES[kind][1]) if TYPES[kind][1] else float("nan")
            ratios = " | ".join("–" if np.isnan(r) else f"{r:.3f}" for r, *_ in [*row, (entropy,)])
            print(f"| {name} | {group} | {ratios} |", flush=True)
            # Decimals to within a rounding error beside a fill value, of which no bound is asked.
            if not name.startswith("levitus"):
                groups[group].append((name, [*row, (entropy, float("nan"), float("nan"))]))
    rows = {group: [row for _, row in named] for group, named in groups.items()}
    table(["geometric mean of the ratios", *names, "exponents"], means(rows, 0), ".3f")
    if options.before:
        at, old = names.index("small"), names.index("small before")
        print("\n| ratio of small beside before | mean | worst field | |\n|---|---|---|---|")
        for group, named in groups.items():
            parts = [(row[at][0] / row[old][0], name) for name, row in named]
            mean = np.exp(np.mean([np.log(part) for part, _ in parts]))
            print(f"| {group}, {len(named)} | {mean:.4f} | {min(parts)[1]} | {min(parts)[0]:.4f} |")
    if copy:
        speed = np.median(copy.speeds)
        for what, verb in ((1, "compress"), (2, "decompress")):
            figures = [(name, row[:-1]) for name, row in means(rows, what)]
            table([f"{verb} × memcpy", *names], figures, ".2g")
            table([f"{verb}, MB/s", *names], [(name, [x * speed / 1e6 for x in row]) for name, row in figures], ".0f")
        print(f"\nmemcpy {speed / 1e9:.1f} GB/s, processor time")
    if "gzip -4" in names:
        gzip = names.index("gzip -4")
        for group, of_group in rows.items():
            smaller = sum(row[0][0] > row[gzip][0] for row in of_group)
            print(f"{group}: smaller than gzip on {smaller} of {len(of_group)}")


if __name__ == "__main__":
    main()
