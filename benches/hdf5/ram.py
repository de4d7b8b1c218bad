"""ram.c in Python: HDF5 write and read through a filter against no filter, with h5py. Same arguments, input and output.

    ram.py DIRECTORY ROUNDS wall|cpu < datasets
"""

import os
import sys
import time

import h5py
import hdf5plugin  # noqa: F401  registers the peers' filters
import numpy as np


class Dataset:
    """A line of the input."""

    def __init__(self, line):
        self.name, path, kind, shape, chunk, bound, number, *values = line.split()
        self.shape, self.chunk = (tuple(map(int, text.split("x"))) for text in (shape, chunk))
        self.bound, self.filter, self.values = float(bound), int(number), tuple(map(int, values))
        self.data = np.resize(np.fromfile(path, {"f32": np.float32, "f64": np.float64}[kind]), self.shape)
        self.back = np.ones_like(self.data)

    def options(self, filtered):
        if not filtered or self.filter == 0:
            return {}
        return {"compression": self.filter, "compression_opts": self.values}

    def check(self, filtered):
        if not filtered or self.bound == 0:
            if self.data.tobytes() != self.back.tobytes():
                sys.exit(f"{self.name}: filter {self.filter if filtered else 0} did not restore it")
        else:
            finite = np.isfinite(self.data)
            wide = np.longdouble if self.data.itemsize == 8 else np.float64
            error = np.abs(self.data[finite].astype(wide) - self.back[finite]).max(initial=0)
            if error > self.bound:
                print(f"{self.name}: filter {self.filter} breaks its bound: {error} / {self.bound}", file=sys.stderr)


def run(path, sets, filtered, now, checked):
    """Writes and reads all datasets once: seconds to write and to read, and stored bytes, of each."""
    results = []
    with h5py.File(path, "w") as f:
        for d in sets:
            start = now()
            f.create_dataset(d.name, data=d.data, chunks=d.chunk, **d.options(filtered))
            results.append([now() - start])
    with h5py.File(path) as f:
        for d, result in zip(sets, results):
            start = now()
            dataset = f[d.name]
            dataset.read_direct(d.back)
            result += [now() - start, dataset.id.get_storage_size()]
            if checked:
                d.check(filtered)
    os.unlink(path)
    return results


def main():
    directory, rounds, clock = sys.argv[1:]
    now = time.process_time if clock == "cpu" else time.perf_counter
    sets = [Dataset(line) for line in sys.stdin]
    path = os.path.join(directory, f"sleek-ram-{os.getpid()}.h5")
    for number in range(int(rounds) + 1):
        results = {}
        for turn in (number % 2, 1 - number % 2):
            results[turn] = run(path, sets, bool(turn), now, number == 0)
        if number > 0:
            for d, plain, own in zip(sets, results[0], results[1]):
                print(d.name, *(f"{t:.6f}" for t in (*plain[:2], *own[:2])), own[2], flush=True)


if __name__ == "__main__":
    main()
