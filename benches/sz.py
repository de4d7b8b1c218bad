"""Ratios of profile `small` beside those of SZ2 and SZ3 at the same absolute bounds, over the real fields: geometric
means, and for each codec the largest error / bound.

    pip install -r benches/performance/requirements.txt pysz==1.1.0
    SLEEK_DATA=folder python benches/sz.py [--ours FILE]

SZ2 is the HDF5 filter of hdf5plugin, SZ3 that of pysz with its own best settings; each field is one chunk of its own
shape. Ours come from `cargo bench --bench ratio -- --fields`, which the script runs, or from a FILE with what that
printed. Fill values, where a field has them, are left to the codecs as they are; only the range passes over them."""

import argparse
import io
import math
import multiprocessing
import os
import subprocess

import h5py
import hdf5plugin
import numpy as np
from pysz import sz, szAlgorithm, szConfig, szErrorBoundMode

BOUNDS = [1e-2, 1e-3, 1e-4, 1e-6]
FILL = {"levitus": -1e10}


def fields(folder):
    for name in sorted(os.listdir(folder)):
        if name.endswith((".f32", ".f64")):
            values = np.fromfile(os.path.join(folder, name), "<f4" if name.endswith("f32") else "<f8")
            shape = [int(n) for n in name[:-4].split("_")[-1].split("x") if n.isdigit()]
            yield name, values.reshape(shape) if math.prod(shape) == values.size else values


def value_range(name, values):
    fill = next((fill for start, fill in FILL.items() if name.startswith(start)), None)
    there = values[np.isfinite(values) & (values != (np.nan if fill is None else np.float32(fill)))].astype("f8")
    return there.max() - there.min()


def sz2(values, bound):
    memory = io.BytesIO()
    with h5py.File(memory, "w") as file:
        file.create_dataset("x", data=values, chunks=values.shape, **hdf5plugin.SZ(absolute=bound))
    with h5py.File(memory, "r") as file:
        return file["x"].id.get_storage_size(), file["x"][...]


def sz3(values, bound):
    config = szConfig(values.shape)
    config.errorBoundMode = szErrorBoundMode.ABS
    config.absErrorBound = bound
    config.cmprAlgo = szAlgorithm.INTERP_LORENZO
    packed, _ = sz.compress(np.ascontiguousarray(values), config)
    back, _ = sz.decompress(packed, values.dtype, values.shape)
    return packed.nbytes, back


def measured(codec, values, bound, queue):
    size, back = codec(values, bound)
    with np.errstate(invalid="ignore"):
        error = np.abs(values.astype("f8") - back.astype("f8")) / bound
    # What is not a number must come back as such.
    error[np.isnan(values) & np.isnan(back)] = 0
    worst = np.inf if np.isnan(error).any() else error.max()
    queue.put((values.nbytes / size, worst))


def result(codec, values, bound):
    """Ratio and largest error / bound, of a process of its own, since some die on some inputs; None then."""
    queue = multiprocessing.Queue()
    process = multiprocessing.Process(target=measured, args=(codec, values, bound, queue))
    process.start()
    process.join(120)
    if process.is_alive():
        process.kill()
    return queue.get(timeout=5) if process.exitcode == 0 else None


def ours(text):
    """(field, bound) to ratio and error, from what the bench printed."""
    found, key = {}, None
    for row in text.splitlines():
        cells = [cell.strip() for cell in row.strip().strip("|").split("|")]
        if len(cells) == 5 and cells[0] in ("f32", "f64"):
            key = cells[1:3]
        elif len(cells) == 5 and key and not cells[0] and key[0] == "ratio" and key[1] != "lossless":
            found[cells[1], float(key[1])] = (float(cells[3]), float(cells[4]))
    return found


def mean(results):
    return math.exp(sum(math.log(ratio) for ratio, _ in results) / len(results))


def cell(results, count):
    done = [r for r in results if r]
    if not done:
        return "–"
    worst = max(error for _, error in done)
    failed = f", {count - len(done)} died" if len(done) < count else ""
    return f"{mean(done):.2f} ({'NaN lost' if math.isinf(worst) else f'{worst:.3g}'}{failed})"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ours")
    path = parser.parse_args().ours
    bench = ["cargo", "bench", "--bench", "ratio", "--", "--fields"]
    text = open(path).read() if path else subprocess.run(bench, check=True, capture_output=True, text=True).stdout
    all_of_ours = ours(text)
    everything = list(fields(os.environ["SLEEK_DATA"]))
    print("| type | bound × range | profile small | SZ3 | SZ2 |\n|---|---|---|---|---|")
    for kind in ("f32", "f64"):
        chosen = [(name, values) for name, values in everything if name.endswith(kind)]
        for bound in BOUNDS:
            columns = [[all_of_ours[name, bound] for name, _ in chosen]]
            for codec in (sz3, sz2):
                columns.append([result(codec, v, float(bound * value_range(n, v))) for n, v in chosen])
            cells = [cell(column, len(chosen)) for column in columns]
            print(f"| {kind} | {bound:g} | {' | '.join(cells)} |", flush=True)


main()
