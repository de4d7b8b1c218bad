"""Profile `small` beside SZ3, SZ2 and memcpy, in one run: ratio, largest error, speed; then shapes and missing values.

    peers.py [--rounds N] [--only PARTS] [--json FILE] [FOLDER]...

Fields are the raw files of each FOLDER, a class for each: shape and type stand at the end of a name. Without any they
are those of SLEEK_DATA, or of `tests/data`, and those that `heldout.py` makes. All that a stream has is counted. Each
codec has one thread, and the field as one chunk of its own shape. SZ3 is that of pysz with interpolation and Lorenzo;
the older one of hdf5plugin stands beside it, and SZ2 of hdf5plugin. Fill values are left to peers as they are; only the
range passes over them. Speeds are the best of N rounds (5) in which all take turns, on the field repeated along its
slowest axis to 8 MiB. Tables go to stdout, everything to FILE."""

import argparse
import io
import json
import math
import multiprocessing
import os
import platform
import time
import warnings

os.environ["SLEEK_NUM_THREADS"] = "1"

import h5py
import hdf5plugin
import heldout
import numpy as np
import sleek
from pysz import sz, szAlgorithm, szConfig, szErrorBoundMode

BOUNDS = [1e-1, 1e-2, 1e-3, 1e-4, 1e-6]
FILL = {"levitus": -1e10}
HERE = os.path.dirname(os.path.abspath(__file__))


def fields(folder):
    """Name and values of each raw file."""
    for name in sorted(os.listdir(folder)):
        if name.endswith((".f32", ".f64")):
            values = np.fromfile(os.path.join(folder, name), "<f4" if name.endswith("f32") else "<f8")
            shape = [int(n) for n in name[:-4].split("_")[-1].split("x") if n.isdigit()]
            yield name[:-4], values.reshape(shape) if math.prod(shape) == values.size else values


def fill_of(name):
    return next((fill for start, fill in FILL.items() if name.startswith(start)), None)


def value_range(name, values):
    fill = fill_of(name)
    there = values[np.isfinite(values) & (values != (np.nan if fill is None else np.float32(fill)))].astype("f8")
    return float(there.max() - there.min())


class Small:
    def __init__(self, values, bound, fill=None):
        self.values, self.request = values, {"abs": bound, "profile": "small", "fill": fill, "threads": 1}
        self.room = np.zeros(sleek.compress_bound(values, abs=bound, profile="small"), "u1")
        self.restored = np.zeros_like(values)

    def compress(self):
        return sleek.compress(self.values, **self.request, out=self.room)

    def decompress(self, stream):
        return sleek.decompress(stream, out=self.restored)


class SZ3:
    def __init__(self, values, bound, fill=None):
        self.values, self.config = np.ascontiguousarray(values), szConfig(values.shape)
        self.config.errorBoundMode = szErrorBoundMode.ABS
        self.config.absErrorBound = bound
        self.config.cmprAlgo = szAlgorithm.INTERP_LORENZO

    def compress(self):
        return sz.compress(self.values, self.config)[0].tobytes()

    def decompress(self, stream):
        return sz.decompress(np.frombuffer(stream, "u1"), self.values.dtype, self.values.shape)[0]


class Filter:
    """A codec of hdf5plugin, in a file in memory."""

    def __init__(self, values, bound, fill=None):
        self.values, self.filter = values, self.of(absolute=bound)

    def compress(self):
        memory = io.BytesIO()
        with h5py.File(memory, "w") as file:
            d = file.create_dataset("x", data=self.values, chunks=self.values.shape, **self.filter)
            return d.id.read_direct_chunk((0,) * self.values.ndim)[1]

    def decompress(self, stream):
        memory = io.BytesIO()
        with h5py.File(memory, "w") as file:
            d = file.create_dataset("x", self.values.shape, self.values.dtype, chunks=self.values.shape, **self.filter)
            d.id.write_direct_chunk((0,) * self.values.ndim, stream)
        with h5py.File(memory, "r") as file:
            return file["x"][...]


class OldSZ3(Filter):
    of = hdf5plugin.SZ3


class SZ2(Filter):
    of = hdf5plugin.SZ


CODECS = {"small": Small, "SZ3": SZ3, "SZ3 of hdf5plugin": OldSZ3, "SZ2": SZ2}


def work(codec, values, bound, fill, queue):
    """Ratio and largest error / bound of one codec."""
    one = CODECS[codec](values, bound, fill)
    stream = one.compress()
    back = np.asarray(one.decompress(stream)).reshape(values.shape)
    with np.errstate(invalid="ignore"):
        error = np.abs(values.astype("f8") - back.astype("f8")) / bound
    error[np.isnan(values) & np.isnan(back)] = 0  # what is not a number must come back as such
    queue.put((values.nbytes / len(stream), math.inf if np.isnan(error).any() else float(error.max())))


def in_child(codec, values, bound, fill):
    """The same by a process of its own, since some peers die on some inputs; None then."""
    queue = multiprocessing.Queue()
    child = multiprocessing.Process(target=work, args=(codec, values, bound, fill, queue))
    child.start()
    child.join(120)
    if child.is_alive():
        child.kill()
    return queue.get(timeout=5) if child.exitcode == 0 else None


def mean(numbers):
    numbers = list(numbers)
    return math.exp(sum(map(math.log, numbers)) / len(numbers)) if numbers else math.nan


def show(x):
    return "–" if x is None or math.isnan(x) else f"{x:.3g}"


def ratios(classes, results):
    """Ratios and errors of all fields at all bounds."""
    print(f"\n| fields | bound × range | {' | '.join(CODECS)} | small / SZ3 | least |\n" + "|---" * (len(CODECS) + 4) + "|")
    largest = dict.fromkeys(CODECS, 0)
    for title, members in classes.items():
        for bound in BOUNDS:
            rows = []
            for name, values in members:
                absolute = bound * value_range(name, values)
                rows.append({c: in_child(c, values, absolute, fill_of(name)) for c in CODECS})
                for codec, found in rows[-1].items():
                    ratio, error = found or (None, None)
                    results.append({"class": title, "field": name, "bound": bound, "codec": codec, "ratio": ratio, "error": error})
            cells = []
            for codec in CODECS:
                died = sum(r[codec] is None for r in rows)
                cells.append(show(mean(r[codec][0] for r in rows if r[codec])) + (f" ({died} died)" if died else ""))
            beside = [r["small"][0] / r["SZ3"][0] for r in rows if r["SZ3"]]
            cells += [show(mean(beside)), show(min(beside, default=math.nan))]
            for codec in CODECS:
                largest[codec] = max([largest[codec], *(r[codec][1] for r in rows if r[codec])])
            print(f"| {title} | {bound:g} | {' | '.join(cells)} |", flush=True)
    print("\nlargest errors / bound: " + ", ".join(f"{codec} {show(error)}" for codec, error in largest.items()))


def by_field(classes, results):
    print("\n| field | " + " | ".join(f"{b:g}: small·SZ3" for b in BOUNDS) + " |\n|---|" + "---|" * len(BOUNDS))
    of = {(r["field"], r["bound"], r["codec"]): r["ratio"] for r in results if "bound" in r}
    for members in classes.values():
        for name, _ in members:
            cells = (f"{show(of[name, b, 'small'])}·{show(of[name, b, 'SZ3'])}" for b in BOUNDS)
            print(f"| {name} | {' | '.join(cells)} |")


def repeated(values, size=8 << 20):
    times = max(1, size // values.nbytes)
    return np.concatenate([values] * times) if times > 1 else values


def timed(action):
    start = time.perf_counter()
    result = action()
    return time.perf_counter() - start, result


def best_times(codecs, values, rounds):
    """Best seconds of a copy, and of each codec's both ways."""
    target, best = np.empty_like(values), {}
    target[...] = values
    for _ in range(rounds):
        seconds, _ = timed(lambda: np.copyto(target, values))
        best["memcpy"] = min(best.get("memcpy", math.inf), seconds)
        for name, codec in codecs.items():
            there, stream = timed(codec.compress)
            back, _ = timed(lambda: codec.decompress(stream))
            old = best.get(name, (math.inf, math.inf))
            best[name] = (min(old[0], there), min(old[1], back))
    return best


def speeds(classes, rounds, results):
    print("\n| fields | memcpy GB/s | small × memcpy | least | small × SZ3 |\n|---|---|---|---|---|")
    for title, members in classes.items():
        rows, copies = [], []
        for name, values in members:
            whole = repeated(values)
            bound = 1e-3 * value_range(name, values)
            dead = in_child("SZ3", values, bound, None) is None
            codecs = {c: CODECS[c](whole, bound, fill_of(name)) for c in ("small", "SZ3") if not (c == "SZ3" and dead)}
            best = best_times(codecs, whole, rounds)
            copies.append(whole.nbytes / best["memcpy"] / 1e9)
            small, peer = best["small"], best.get("SZ3", (math.nan, math.nan))
            rows.append([best["memcpy"] / small[0], best["memcpy"] / small[1], peer[0] / small[0], peer[1] / small[1]])
            results.append({"class": title, "field": name, "speed": best, "bytes": whole.nbytes})
        columns = list(zip(*rows))
        means = [mean(x for x in column if not math.isnan(x)) for column in columns]
        least = f"{min(columns[0]):.3g}·{min(columns[1]):.3g}"
        print(f"| {title} | {mean(copies):.3g} | {means[0]:.3g}·{means[1]:.3g} | {least} | {means[2]:.3g}·{means[3]:.3g} |", flush=True)


def smooth(shape, kind="f4"):
    """A smooth field with some noise, whatever its shape."""
    rng, total = np.random.RandomState(5), np.zeros(shape)
    for axis, n in enumerate(shape):
        at = np.arange(n).reshape([-1 if a == axis else 1 for a in range(len(shape))])
        total = total + np.sin(at * (0.05 + 0.02 * axis) + axis)
    return (total + 3e-3 * rng.standard_normal(shape)).astype(kind)


SHAPES = [(64, 256, 256), (4, 53, 6, 201, 2), (300000, 3), (40, 40, 300), (500, 90, 90), (1081, 721), (1500000,)]


SHARES = {0: "nothing missing", 0.01: "1 % missing", 0.45: "45 % missing"}


def shapes(rounds, results):
    """Ratio, and speed as a multiple of that of the first shape without missing values."""
    columns = " | ".join(f"ratio, {name} | compress | decompress" for name in SHARES.values())
    print(f"\n| shape | {columns} |\n|---|" + "---|" * (3 * len(SHARES)))
    whole = None
    for shape in SHAPES:
        cells = []
        for share in SHARES:
            values = smooth(shape)
            if share == 0.01:
                values[np.random.RandomState(6).random_sample(shape) < share] = -9999
            elif share:  # land lies together
                values[smooth(shape) > np.quantile(smooth(shape), 1 - share)] = -9999
            codec = Small(values, 4e-3, -9999.0 if share else None)
            best = best_times({"small": codec}, values, rounds)["small"]
            speed = [values.nbytes / seconds / 1e9 for seconds in best]
            whole = whole or speed
            ratio = values.nbytes / len(codec.compress())
            results.append({"shape": shape, "missing": share, "GB/s": speed, "ratio": ratio})
            cells += [f"{ratio:.3g}", *(f"{s / w:.2f}" for s, w in zip(speed, whole))]
        print(f"| {'x'.join(map(str, shape))} | {' | '.join(cells)} |", flush=True)


def main():
    warnings.simplefilter("ignore", sleek.MissingValueWarning)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json")
    parser.add_argument("--only", default="ratios,speeds,shapes", help="some of them")
    options = parser.parse_args()
    folders = options.folders
    if not folders:
        made = os.path.join(HERE, "../../build/heldout")
        heldout.make(made)
        folders = [os.environ.get("SLEEK_DATA", os.path.join(HERE, "../../tests/data")), made]
    classes = {}
    for folder in folders:
        for name, values in fields(folder):
            title = f"{os.path.basename(os.path.normpath(folder))}, f{8 * values.itemsize}"
            classes.setdefault(title, []).append((name, values))
    print(f"{time.strftime('%Y-%m-%d')}, {platform.processor() or platform.machine()}, sleek {sleek.__version__}, one thread")
    results = []
    if "ratios" in options.only:
        ratios(classes, results)
        by_field(classes, results)
    if "speeds" in options.only:
        speeds(classes, options.rounds, results)
    if "shapes" in options.only:
        shapes(options.rounds, results)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(results, file, indent=1)


main()
