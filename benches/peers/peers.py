"""SLEEK and the filters of hdf5plugin on the same fields: ratio, bound and speed. `make peers` runs it.

    peers.py --sleek COMMAND --library LIBSLEEK_SO --data DIRECTORY --out DIRECTORY [--quick]

Writes peers.md and peers.png into the output directory.
"""

import argparse
import pathlib
import sys

import h5py
import hdf5plugin
import numpy as np

import fields as inputs
import filters
import library
import measure
import report

BOUNDS = [1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6]
SPEED_BOUND = 1e-3
ROUNDS = 5
SPEED_BYTES = 64 << 20
SECONDS = 0.15  # CPU time after which a slow filter's share of a round ends


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, what in (
        ("sleek", "the command"),
        ("library", "libsleek.so"),
        ("data", "directory of NAME_DIMS.f32 and .f64 files"),
        ("out", "where peers.md and peers.png go"),
    ):
        parser.add_argument(f"--{name}", required=True, help=what)
    parser.add_argument("--quick", action="store_true", help="two fields, two bounds, one round: a test of the bench")
    return parser.parse_args()


def progress(text):
    print(text, file=sys.stderr, flush=True)


def bounds_of(codec, bounds):
    return (bounds if codec.bounded else []) + ([filters.LOSSLESS] if codec.lossless else [])


def absolute(bound, field):
    """A bound relative to the value range, as an absolute one."""
    return bound * field.range


def measure_ratios(result, codecs, bounds):
    for field in result.fields:
        progress(f"ratio: {field.name}")
        for codec in codecs:
            for bound in bounds_of(codec, bounds):
                answer = measure.in_child(measure.ratio, codec, field, absolute(bound, field))
                result.ratios[codec.name, field.name, bound] = answer


def measure_speeds(result, codecs, rounds):
    for field in result.fields:
        progress(f"speed: {field.name}")
        data = field.tiled(SPEED_BYTES)
        cases = {
            (codec.name, field.name, bound): (codec, data, absolute(bound, field), SECONDS)
            for codec in codecs
            for bound in bounds_of(codec, [SPEED_BOUND])
        }
        result.speeds.update(measure.interleaved(measure.callback_speed, cases, rounds))


def measure_hdf5(result, codecs, chosen, chunk_sizes, rounds):
    for field in chosen:
        progress(f"through HDF5: {field.name}")
        data = field.tiled(SPEED_BYTES)
        data = data[: max(1, data.shape[0] // 2)]
        cases = {
            (codec.name, field.name, bound, size): (codec, data, absolute(bound, field), size)
            for codec in [filters.Unfiltered(), *codecs]
            for bound in bounds_of(codec, [SPEED_BOUND])
            for size in chunk_sizes
        }
        result.hdf5.update(measure.interleaved(measure.hdf5_speed, cases, rounds))


def measure_library(result, path, chosen, rounds):
    cores = report.machine()[1]
    for field in chosen:
        progress(f"library: {field.name}")
        data = field.tiled(SPEED_BYTES)
        cases = {
            (profile, field.name, bound, threads): (path, data, profile, absolute(bound, field), threads)
            for profile in library.PROFILES
            for bound in (SPEED_BOUND, filters.LOSSLESS)
            for threads in dict.fromkeys((1, cores))
        }
        result.library.update(measure.interleaved(library.speed, cases, rounds))


def main():
    a = arguments()
    path = str(pathlib.Path(a.library).resolve())
    real = list(inputs.real(a.data))
    if not real:
        sys.exit(f"no NAME_DIMS.f32 or .f64 file in {a.data}")
    by_type = {f.dtype: f for f in real if not f.has_fill}  # the last of each type stands for it where one field has to do
    bounds, rounds, side, chunk_sizes = BOUNDS, ROUNDS, 256, (1 << 20, 4 << 20)
    if a.quick:
        real, bounds, rounds, side, chunk_sizes = list(by_type.values()), [1e-2, SPEED_BOUND], 1, 64, (4 << 20,)
    synthetic = inputs.turbulence(side)

    codecs = [filters.Sleek(a.sleek, path, profile) for profile in library.PROFILES] + filters.peers()
    versions = f"hdf5plugin {hdf5plugin.version}, h5py {h5py.__version__}, HDF5 {h5py.version.hdf5_version}, numpy {np.__version__}"
    copies = [measure.in_child(filters.memcpy_seconds) for _ in range(rounds)]
    result = report.Report([*real, synthetic], bounds, SPEED_BOUND, versions, 1 / float(np.median(copies)))
    measure_ratios(result, codecs, bounds)
    measure_speeds(result, codecs, rounds)
    measure_hdf5(result, codecs, [synthetic, *list(by_type.values())[-1:]], chunk_sizes, rounds)
    measure_library(result, path, [synthetic, *by_type.values()], rounds)

    out = pathlib.Path(a.out)
    out.mkdir(parents=True, exist_ok=True)
    (out / "peers.md").write_text(result.markdown("peers.png"))
    result.plot(out / "peers.png")
    progress(f"written: {out / 'peers.md'} and {out / 'peers.png'}")
    for (codec, field, bound), answer in result.ratios.items():
        if codec.startswith("SLEEK") and (isinstance(answer, str) or answer[1] > 1):
            sys.exit(f"{codec} on {field} at {report.bound_name(bound)}: {answer}")


if __name__ == "__main__":
    main()
