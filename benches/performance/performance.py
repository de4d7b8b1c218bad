"""SLEEK and the filters of hdf5plugin: ratio, bound, speed, and HDF5 on a RAM disk. `make performance` runs it.

    performance.py measure --sleek COMMAND --library LIBSLEEK_SO --ram PROGRAM --cpu JSON --large JSON --data DIRECTORY --out DIRECTORY [--quick]
    performance.py report --out DIRECTORY

`measure` writes performance.json into the directory, and both make performance.md and performance.png from it. What an earlier
run there gave for other processors stays in it.
"""

import argparse
import datetime
import json
import os
import pathlib
import sys
import time

import h5py
import hdf5plugin
import numpy as np

import fields as inputs
import filters
import hdf5
import measure
import report

BOUNDS = [1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6]
SPEED_BOUND = 1e-3
SPEED_BYTES = 32 << 20
SECONDS = 0.1  # CPU time after which a slow filter's share of a round ends
HDF5_BYTES = 256 << 20
SLOW = ("ZFP", "SZ3", "SLEEK small")  # on a quarter of the array: they would take most of the time
HDF5_PEERS = ("ZFP", "SZ3", "Blosc2 lz4 shuffle", "Bitshuffle lz4")

started = time.monotonic()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["measure", "report"])
    parser.add_argument("--out", required=True, type=pathlib.Path, help="where the results go")
    parser.add_argument("--sleek", help="the command")
    parser.add_argument("--library", help="libsleek.so")
    parser.add_argument("--ram", help="the program of benches/hdf5/ram.c")
    parser.add_argument("--cpu", help="what `cargo bench --bench cpu -- --json` wrote")
    parser.add_argument("--large", help="the same for arrays that no cache holds")
    parser.add_argument("--data", help="directory of NAME_DIMS.f32 and .f64 files")
    parser.add_argument("--quick", action="store_true", help="few fields, one round: a test of the bench")
    return parser.parse_args()


def progress(text):
    print(f"{time.monotonic() - started:5.0f} s  {text}", file=sys.stderr, flush=True)


def bounds_of(codec, bounds):
    return (bounds if codec.bounded else []) + ([filters.LOSSLESS] if codec.lossless else [])


def entry(names, answer, **key):
    """A record: what was measured and its figures, or why there are none."""
    figures = {"failed": answer} if isinstance(answer, str) else dict(zip(names, map(float, answer)))
    return {**key, **figures}


def ratios(all_fields, codecs, bounds):
    for field in all_fields:
        progress(f"ratio: {field.name}")
        for codec in codecs:
            for bound in bounds_of(codec, bounds):
                answer = measure.in_child(measure.ratio, codec, field, bound * field.range)
                yield entry(["ratio", "error"], answer, codec=codec.name, field=field.name, bound=bound)


def speeds(all_fields, codecs, rounds):
    for field in all_fields:
        progress(f"speed: {field.name}")
        data = field.tiled(SPEED_BYTES)
        cases = {
            (codec.name, bound): (codec, data, bound * field.range, SECONDS)
            for codec in codecs
            for bound in bounds_of(codec, [SPEED_BOUND])
        }
        for (codec, bound), answer in measure.interleaved(measure.callback_speed, cases, rounds).items():
            yield entry(["compress", "decompress"], answer, codec=codec, field=field.name, bound=bound)


def through_hdf5(groups, codecs, program, language, chunk_sizes, threads, size, rounds):
    for case in hdf5.cases(codecs, SPEED_BOUND, chunk_sizes, threads):
        name = f"{case.codec.name}, {report.bound_name(case.bound)}, {case.chunk_bytes >> 10} KiB, {case.threads} threads"
        progress(f"HDF5 from {language}: {name}")
        part = size // 4 if case.codec.name in SLOW else size
        for members in groups:
            key = dict(language=language, codec=case.codec.name, bound=case.bound)
            key |= dict(chunk=case.chunk_bytes, threads=case.threads)
            answer = hdf5.measure(program, case, members, part, rounds)
            if isinstance(answer, str):
                yield from ({**key, "field": f.name, "failed": answer} for f in members)
            else:
                yield from ({**key, **row} for row in answer)


def run(a):
    """Everything, as what goes into performance.json."""
    library = str(pathlib.Path(a.library).resolve())
    real = list(inputs.real(a.data))
    if not real:
        sys.exit(f"no NAME_DIMS.f32 or .f64 file in {a.data}")
    bounds, rounds, hdf5_rounds, side = BOUNDS, 3, 5, 256
    chunk_sizes, threads, size = [256 << 10, 1 << 20, 4 << 20], [1, 2], HDF5_BYTES
    if a.quick:
        real = list({f.dtype: f for f in real if not f.has_fill}.values())
        bounds, rounds, hdf5_rounds, side, chunk_sizes, size = [1e-2, SPEED_BOUND], 1, 1, 64, [1 << 20], 32 << 20
    threads = [n for n in threads if n <= len(os.sched_getaffinity(0))]
    turbulence = inputs.turbulence(side)
    turbulence.path = pathlib.Path(a.ram).with_name("turbulence.f32")
    turbulence.data.tofile(turbulence.path)
    everything = [*real, turbulence]
    groups = [[f for f in real if f.dtype == "f32"], [f for f in real if f.dtype == "f64"], [turbulence]]
    groups = [g for g in groups if g]

    ours = [filters.Sleek(a.sleek, library, profile) for profile in ("adaptive", "fast", "small")]
    codecs = ours + filters.peers()
    timed = [c for c in codecs if c in ours or c.name in HDF5_PEERS]
    copies = [measure.in_child(filters.memcpy_seconds) for _ in range(5)]
    name, cores = report.machine()
    result = {
        "when": datetime.date.today().isoformat(),
        "machine": name,
        "cores": cores,
        "load": os.getloadavg()[0],
        "memcpy": 1e-9 / float(np.median(copies)),
        "versions": f"hdf5plugin {hdf5plugin.version}, h5py {h5py.__version__} with HDF5 {h5py.version.hdf5_version}",
        "quick": a.quick,
        "bounds": bounds,
        "speed_bound": SPEED_BOUND,
        "fields": [dict(name=f.name, dtype=f.dtype, has_fill=f.has_fill, shape=f.data.shape) for f in everything],
        "cpu": json.loads(pathlib.Path(a.cpu).read_text()),
        "large": json.loads(pathlib.Path(a.large).read_text()),
    }
    result["ratios"] = list(ratios(everything, codecs, bounds))
    result["speeds"] = list(speeds(everything, codecs, rounds))
    result["hdf5"] = []
    limits = [hdf5.Instant(ratio) for ratio in (1, 2, 10)]
    python = [sys.executable, str(pathlib.Path(__file__).parents[1] / "hdf5/ram.py")]
    for language, program, codecs in (("C", [a.ram], timed + limits), ("h5py", python, timed)):
        result["hdf5"] += through_hdf5(groups, codecs, program, language, chunk_sizes, threads, size, hdf5_rounds)
    turbulence.path.unlink()
    return result


def main():
    a = arguments()
    a.out.mkdir(parents=True, exist_ok=True)
    path = a.out / "performance.json"
    if a.what == "measure":
        before = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(report.as_json(report.with_processor(run(a), before)))
    report.write(json.loads(path.read_text()), a.out)
    progress(f"written: {a.out}/performance.md, .png and .json")
    for r in json.loads(path.read_text())["ratios"]:
        if r["codec"].startswith("SLEEK") and r.get("error", 2) > 1:
            sys.exit(f"{r['codec']} on {r['field']} at {report.bound_name(r['bound'])}: {r}")


if __name__ == "__main__":
    main()
