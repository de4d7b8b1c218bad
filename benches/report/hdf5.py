"""Write and read through HDF5 on a RAM disk against no filter: what benches/hdf5/ram.c and ram.py measure, for every codec."""

import os
import subprocess
import sys
import tempfile

import hdf5plugin
import numpy as np
import sleek

import results
from fields import chunk_shape
from tables import LOSSLESS, PROFILES, geometric_mean

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


class Ours:
    """A profile of the library's filter."""

    bounded = lossless = True

    def __init__(self, profile):
        self.name, self.folder = profile, str(sleek.PLUGIN_PATH)

    def options(self, bound):
        return sleek.h5(**({"lossless": True} if bound == LOSSLESS else {"abs": bound}), profile=self.name)


class Peer:
    """A filter of hdf5plugin: `bounded(abs)` and `lossless()` give create_dataset's arguments, or are None."""

    def __init__(self, name, library, bounded=None, lossless=None):
        self.name, self.bounded, self.lossless = name, bounded, lossless
        self.folder = os.path.dirname(hdf5plugin.get_config().registered_filters[library])

    def options(self, bound):
        return dict(self.lossless() if bound == LOSSLESS else self.bounded(bound))


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
        own = codec.name in PROFILES
        for b in [bound] * bool(codec.bounded) + [LOSSLESS] * bool(codec.lossless):
            for size in chunk_sizes if own or isinstance(codec, Instant) else [1024 * KIB]:
                for n in threads if own and size >= 1024 * KIB else [1]:
                    yield Case(codec, b, size, n)


def measure(program, case, fields, size, rounds):
    """Rows of results, one for each field: medians of write and read against no filter; or the reason of failure."""
    lines = [case.dataset(f, size // len(fields)) for f in fields]
    environment = dict(os.environ, HDF5_PLUGIN_PATH=case.codec.folder, SLEEK_NUM_THREADS=str(case.threads))
    if len(program) > 1 and not case.codec.name in PROFILES:
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


def peers():
    h = hdf5plugin
    return [
        Peer("ZFP", "zfp", lambda e: h.Zfp(accuracy=e), lambda: h.Zfp(reversible=True)),
        Peer("SZ3", "sz3", lambda e: h.SZ3(absolute=e)),
        Peer("Blosc2 lz4 shuffle", "blosc2", None, lambda: h.Blosc2("lz4", 5, h.Blosc2.SHUFFLE)),
        Peer("Bitshuffle lz4", "bshuf", None, lambda: h.Bitshuffle(cname="lz4")),
    ]


SLOW = ("ZFP", "SZ3", "small")  # on a quarter of the array: they would take most of the time


def rows(fields, bound, program, quick, progress):
    """A row for each way through HDF5: means over the fields."""
    size, rounds, chunks = (32 << 20, 1, [1 << 20]) if quick else (256 << 20, 5, [256 << 10, 1 << 20, 4 << 20])
    threads = [n for n in (1, 2) if n <= len(os.sched_getaffinity(0))]
    ours, python = [Ours(profile) for profile in PROFILES], [sys.executable, str(results.ROOT / "benches/hdf5/ram.py")]
    limits = [Instant(ratio) for ratio in (1, 2, 10)]
    for language, by, codecs in (("C", [program], ours + peers() + limits), ("h5py", python, ours + peers())):
        for case in cases(codecs, bound, chunks, threads):
            progress(f"HDF5 from {language}: {case.codec.name} {case.bound} {case.chunk_bytes >> 10} KiB {case.threads} threads")
            part = size // 4 if case.codec.name in SLOW else size
            answers = [measure(by, case, [f for f in fields if f.dtype == kind], part, rounds) for kind in ("f32", "f64")]
            good = [row for answer in answers if not isinstance(answer, str) for row in answer]
            figures = {f: geometric_mean(row[f] for row in good) for f in ("write", "read", "plain_write", "plain_read")} if good else {}
            failed = {"failed": len(fields) - len(good)} if len(good) < len(fields) else {}
            key = dict(language=language, codec=case.codec.name, bound=case.bound, chunk=case.chunk_bytes, threads=case.threads)
            yield {**key, **figures, **failed}
