"""Write and read through HDF5 on a RAM disk against no filter: what benches/hdf5/ram.c and ram.py measure, for every codec."""

import os
import subprocess
import tempfile

import numpy as np

from fields import chunk_shape
from report import LOSSLESS

KIB = 1 << 10
RAM_DISK = os.environ.get("SLEEK_RAM_DISK", "/dev/shm")
TIMEOUT_SECONDS = 240


class Case:
    """A codec at a bound with chunks of a size and a number of threads."""

    def __init__(self, codec, bound, chunk_bytes, threads):
        self.codec, self.bound, self.chunk_bytes, self.threads = codec, bound, chunk_bytes, threads

    def dataset(self, field, size):
        """A line for ram.c: the field repeated along its first axis to about `size` bytes."""
        row = field.data[:1].nbytes
        shape = (max(1, size // row), *field.data.shape[1:])
        chunk = chunk_shape(shape, field.data.itemsize, self.chunk_bytes)
        bound = self.bound * field.range
        options = self.codec.options(bound)
        by = ["x".join(map(str, s)) for s in (shape, chunk)]
        numbers = [options["compression"], *options["compression_opts"]]
        return " ".join(map(str, [field.name, field.path, field.dtype, *by, repr(bound), *numbers]))


class Instant:
    """The filter of ram.c that takes no time: what HDF5 leaves to a filter of some ratio."""

    bounded, lossless, folder = False, True, ""

    def __init__(self, ratio):
        self.name, self.ratio = f"no time at all, ratio {ratio}", ratio

    def options(self, _bound):
        return dict(compression=256, compression_opts=(self.ratio,))


def cases(codecs, bound, chunk_sizes, threads):
    """Ours in every way; what takes no time in all sizes of chunks; peers with chunks of 1 MiB and on one thread."""
    for codec in codecs:
        own = codec.name.startswith("SLEEK")
        for b in [bound] * bool(codec.bounded) + [LOSSLESS] * bool(codec.lossless):
            for size in chunk_sizes if own or isinstance(codec, Instant) else [1024 * KIB]:
                for n in threads if own and size >= 1024 * KIB else [1]:
                    yield Case(codec, b, size, n)


def measure(program, case, fields, size, rounds):
    """Rows of results, one for each field: medians of write and read against no filter; or the reason of failure."""
    lines = [case.dataset(f, size // len(fields)) for f in fields]
    environment = dict(os.environ, HDF5_PLUGIN_PATH=case.codec.folder, SLEEK_NUM_THREADS=str(case.threads))
    if len(program) > 1 and not case.codec.name.startswith("SLEEK"):
        # To Python the peers come by hdf5plugin, which leaves out what HDF5 finds by itself but cannot use.
        del environment["HDF5_PLUGIN_PATH"]
    try:
        with tempfile.TemporaryDirectory(dir=RAM_DISK) as folder:
            done = subprocess.run(
                [*program, folder, str(rounds), "wall"],
                input="\n".join(lines) + "\n",
                env=environment,
                capture_output=True,
                text=True,
                timeout=TIMEOUT_SECONDS,
            )
    except subprocess.TimeoutExpired:
        return "takes too long"
    if done.returncode != 0:
        return f"fails ({done.stderr.strip().splitlines()[-1] if done.stderr.strip() else done.returncode})"
    times = {}
    for line in done.stdout.splitlines():
        name, *figures = line.split()
        times.setdefault(name, []).append([float(x) for x in figures])
    rows = []
    for f, line in zip(fields, lines):
        count = np.prod([int(n) for n in line.split()[3].split("x")])
        gb = float(count) * f.data.itemsize / 1e9
        t = np.array(times[f.name])
        figures = [t[:, 0] / t[:, 2], t[:, 1] / t[:, 3], gb / t[:, 0], gb / t[:, 1], gb * 1e9 / t[:, 4]]
        names = ["write", "read", "plain_write", "plain_read", "ratio"]
        rows.append({"field": f.name, **{n: float(np.median(v)) for n, v in zip(names, figures)}})
    return rows
