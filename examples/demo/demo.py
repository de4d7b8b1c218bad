"""The demo: real fields into HDF5, through h5repack with the SLEEK filter, and back through h5dump and h5py.

    demo.py SLEEK_COMMAND DATA_DIRECTORY WORK_DIRECTORY

WORK_DIRECTORY/simulated has further fields. Where hdf5plugin is there, the table has a row of its SZ3 for each field.
Every number printed is measured in this run. The exit status is 1 if SLEEK breaks a bound anywhere.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import h5py
import numpy as np

try:
    import hdf5plugin
except ImportError:
    hdf5plugin = None

# The bound that a user of the field might ask for, in its own unit; other fields get 1e-4 of their value range.
BOUNDS = {
    "navy_uwnd": (0.01, "m/s"),
    "levitus_temp": (0.001, "°C"),
    "gals_x": (0.001, "Mpc/h"),
    "mitgcm_theta": (0.0001, "°C"),
    "pyro_density": (1e-6, ""),
    "pic_ez": (1e6, "V/m"),
    "gray_scott": (1e-4, ""),
}
# What marks cells without data. The file says it as its fill value, and such cells come back bit for bit.
MISSING = {"levitus_temp": -1e10}
PROFILES = ("fast", "adaptive", "small")
CHUNK_BYTES = 4 << 20
SPEED_BYTES = 64 << 20  # the small fields are repeated to this size for the speed of the command, never for the ratio
SPEED_RUNS = 3


def run(*command):
    """Runs a command and returns its output and its seconds; a failure ends the demo with its message."""
    start = time.perf_counter()
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    seconds = time.perf_counter() - start
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout, seconds


def fields(directory):
    """The arrays of NAME_4x5x6.f32 and .f64 files."""
    for path in sorted(pathlib.Path(directory).iterdir()):
        match = re.fullmatch(r"(.+)_(\d+(?:x\d+)*)\.(f32|f64)", path.name)
        if match:
            shape = [int(n) for n in match[2].split("x")]
            yield match[1], np.fromfile(path, {"f32": "<f4", "f64": "<f8"}[match[3]]).reshape(shape)


def chunk_shape(data):
    """Whole planes of at most CHUNK_BYTES."""
    shape = list(data.shape)
    for axis in range(data.ndim):
        rest = int(np.prod(shape[axis + 1 :])) * data.itemsize
        shape[axis] = min(shape[axis], max(1, CHUNK_BYTES // rest))
        if rest < CHUNK_BYTES:
            break
    return tuple(shape)


def write_original(path, data, missing):
    """The field as an HDF5 file without a filter."""
    with h5py.File(path, "w") as f:
        f.create_dataset("field", data=data, chunks=chunk_shape(data), fillvalue=missing)


def read_back(path):
    """The field and the bytes that it takes in the file."""
    with h5py.File(path) as f:
        return f["field"][...], f["field"].id.get_storage_size()


def largest_error(data, back, missing):
    """max |v − r|, or infinity if what is no number or missing did not come back bit for bit, or anything became it."""
    finite = np.isfinite(data) & (data != missing)
    if data[~finite].tobytes() != back[~finite].tobytes() or not np.isfinite(back[finite]).all():
        return np.inf
    if (back[finite] == missing).any():
        return np.inf
    wide = np.longdouble if data.dtype == np.float64 else np.float64
    return float(np.abs(data[finite].astype(wide) - back[finite]).max(initial=0))


def write_by_sz3(path, data, abs_bound):
    """The field through SZ3 at the same bound, and the seconds that took."""
    start = time.perf_counter()
    with h5py.File(path, "w") as f:
        f.create_dataset("field", data=data, chunks=chunk_shape(data), **hdf5plugin.SZ3(absolute=abs_bound))
    return time.perf_counter() - start


def speed(sleek, data, request):
    """GB/s of the command compressing and decompressing: files read and written, the process started, all counted."""
    dtype = {4: "f32", 8: "f64"}[data.itemsize]
    there, again = [], []
    times = max(1, SPEED_BYTES // data.nbytes)
    dims = "x".join(map(str, (times * data.shape[0], *data.shape[1:])))
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as place:
        raw, packed, back = (f"{place}/{name}" for name in ("raw", "sleek", "back"))
        with open(raw, "wb") as f:
            f.write(data.tobytes() * times)
        size = os.path.getsize(raw) / 1e9
        for _ in range(SPEED_RUNS):
            there.append(run(sleek, "compress", "--force", "--dtype", dtype, "--dims", dims, *request, raw, packed)[1])
            again.append(run(sleek, "decompress", "--force", packed, back)[1])
    return size / sorted(there)[SPEED_RUNS // 2], size / sorted(again)[SPEED_RUNS // 2]


def first_values(path, data):
    """A few values from the middle of the field, as h5dump sees them."""
    start = [n // 2 for n in data.shape]
    count = [1] * (data.ndim - 1) + [min(4, data.shape[-1] - start[-1])]
    text, _ = run(
        "h5dump", "-y", "-m", "%.9g", "-d", "/field",
        "-s", ",".join(map(str, start)), "-c", ",".join(map(str, count)), path,
    )  # fmt: skip
    return " ".join(text.split("DATA {")[1].split("}")[0].split())


WIDTHS = (14, 5, 14, 8, 8, 11, 10, 9, 9)


def table_row(cells):
    print("  ".join(c.ljust(w) if i in (0, 2, 3) else c.rjust(w) for i, (c, w) in enumerate(zip(cells, WIDTHS))))


def requests(name, data):
    """What is asked for: a label, the profile, the command's options, the bound."""
    abs_bound, unit = BOUNDS.get(name, (None, ""))
    if abs_bound is None:
        valid = data[np.isfinite(data) & (data != MISSING.get(name))]
        abs_bound = 1e-4 * (float(valid.max()) - float(valid.min()))
    label = f"{abs_bound:.3g} {unit}".strip()
    for profile in PROFILES:
        yield label, profile, ["--abs", repr(abs_bound), "--profile", profile], abs_bound
    yield "lossless", "adaptive", ["--lossless"], 0.0


def main():
    sleek, data_directory, work = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    inputs = list(fields(data_directory))
    simulated = [*fields(work / "simulated")]
    if not inputs:
        sys.exit(f"no NAME_DIMS.f32 or .f64 file in {data_directory}")

    shown = []
    broken = []
    print()
    table_row(["field", "type", "bound", "profile", "ratio", "error/bound", "h5repack s", "comp GB/s", "dec GB/s"])
    table_row(["─" * w for w in WIDTHS])
    for name, data in inputs + simulated:
        original, missing = work / f"{name}.h5", MISSING.get(name)
        write_original(original, data, missing)
        for label, profile, options, limit in requests(name, data):
            packed = work / f"{name}.{profile if limit > 0 else 'lossless'}.h5"
            arguments = run(sleek, "h5args", "--ud", *options)[0].strip()
            seconds = run("h5repack", "-f", arguments, original, packed)[1]
            back, stored = read_back(packed)
            error = largest_error(data, back, missing)
            if limit > 0:
                kept, relation = error <= limit, f"{error / limit:.4f}"
            else:
                kept = data.tobytes() == back.tobytes()
                relation = "exact" if kept else "NOT EXACT"
            if not kept:
                broken.append(f"{name}, {profile}, at {label}")
            if limit > 0 and profile == "adaptive" and len(shown) < 3:
                shown.append((name, label, arguments, first_values(original, data), first_values(packed, data)))
            fill = [] if missing is None else ["--fill", repr(missing)]
            there, again = speed(sleek, data, [*options, *fill])
            dtype, ratio = f"f{8 * data.itemsize}", f"{data.nbytes / stored:.2f}"
            speeds = [f"{seconds:.2f}", f"{there:.2f}", f"{again:.2f}"]
            table_row([name[:14], dtype, label, profile, ratio, relation, *speeds])
            if hdf5plugin and profile == "small":
                packed = work / f"{name}.sz3.h5"
                seconds = write_by_sz3(packed, data, limit)
                back, stored = read_back(packed)
                of_sz3 = [f"{data.nbytes / stored:.2f}", f"{largest_error(data, back, missing) / limit:.4f}"]
                table_row([name[:14], dtype, label, "SZ3", *of_sz3, f"({seconds:.2f})", "–", "–"])

    print()
    print("ratio: bytes of the array / bytes that its dataset takes in the HDF5 file.  error/bound: largest over all values.")
    print("GB/s: the command on the field repeated to 64 MiB, from file to file; process start, reading and writing included.")
    if hdf5plugin:
        print(f"SZ3: that of hdf5plugin {hdf5plugin.version}, in the same chunks; in brackets the seconds in which h5py writes.")
    else:
        print("Without the Python package hdf5plugin there are no rows of SZ3.")
    print("gray_scott: a reaction that examples/demo/solver.py simulated, as a simulation would write it.")
    print("\nWhat h5dump reads (four values from the middle of the field; above the original, below through the filter):")
    for name, label, arguments, before, after in shown:
        print(f"\n  {name}, {label}:  h5repack -f {arguments} {name}.h5 {name}.adaptive.h5")
        print(f"    {before}\n    {after}")

    print()
    if broken:
        sys.exit("BOUND BROKEN: " + "; ".join(broken))
    count = len(inputs + simulated)
    print(f"SLEEK kept the bound for every value of all {count} fields, and every lossless copy is exact.")
    print(f"The files are in {work}. Other programs read them with  export HDF5_PLUGIN_PATH=$PWD/{work / 'plugin'}")


if __name__ == "__main__":
    main()
