"""Sleek beside other compressors and a plain copy, as a user has them: one core, defaults. `make bench` installs what it needs.

    bench.py measure [--quick] [--cores N] [FIELD…]    # ratio, error and speed of arrays in memory, into docs/results/bench.json;
                                           # N codecs at once, each on a core of its own
    bench.py hdf5 [--quick]                # the same through h5py on a RAM disk
    bench.py gpu COMMIT TABLES             # takes over what tests/gpu/bench.sh printed
    bench.py page                          # docs/performance.md and docs/speed.svg, of docs/results/bench.json
    bench.py two OLD NEW [--rounds N] [--worse]   # two builds by turns: folders of `pip install --target FOLDER WHEEL`, or programs `gpu`;
                                           # a folder with python/src/sleek and libsleek.so as sleek/plugin/libsleek.so will do
    bench.py ratios OLD NEW [--quick] [FIELD…]   # `small` of two libraries, files libsleek.so: NEW's ratios ÷ OLD's; FILE:5 names codec 5 of it

Fields are those of tests/data and of the folder SLEEK_DATA ("real"), of the folder SLEEK_SIMULATED (tests/gpu/simulate.py makes it),
and those that heldout.py makes, on which nothing was tuned. `measure` and `hdf5` replace their own rows alone.
"""

import concurrent.futures
import ctypes
import datetime
import json
import math
import os
import pathlib
import pickle
import queue
import re
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import textwrap
import threading
import time

os.environ["SLEEK_NUM_THREADS"] = "1"
os.environ.pop("HDF5_PLUGIN_PATH", None)  # both packages bring their own filters
import numpy as np  # noqa: E402

import heldout  # noqa: E402

ROOT = pathlib.Path(__file__).parents[1]
RESULTS = ROOT / "docs/results/bench.json"
LOSSLESS = 0.0
BOUNDS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-6)  # parts of the value range
TIMED = (1e-3, LOSSLESS)
PROFILES = ("small", "adaptive", "fast")
COLUMNS = ("run", "part", "class", "field", "type", "codec", "bound", "ratio", "error", "psnr", "memcpy", "compress", "decompress")


# ---- fields ----


class Field:
    """A named array of at most three dimensions: leading ones are merged, since some peers refuse or die on more."""

    def __init__(self, where, name, data):
        self.where, self.name = where, name
        self.data = np.ascontiguousarray(data.reshape((-1, *data.shape[-2:])) if data.ndim > 3 else data)
        finite = self.data[np.isfinite(self.data)]
        # A fill value that nobody declared is no part of the range; -1e10 marks land in levitus_temp.
        finite = finite[finite != np.float32(-1e10)]
        self.range = float(finite.max()) - float(finite.min())
        self.type = f"f{8 * self.data.itemsize}"


def read(folder, where):
    """Every NAME_4x5x6.f32 and .f64 of a folder, in the order of the names."""
    for path in sorted(pathlib.Path(folder).iterdir()):
        match = re.fullmatch(r"(.+)_(\d+(?:x\d+)*)\.(f32|f64)", path.name)
        if match:
            shape = [int(n) for n in match[2].split("x")]
            yield Field(where, match[1], np.fromfile(path, {"f32": "<f4", "f64": "<f8"}[match[3]]).reshape(shape))


def fields(quick, names=()):
    """Real fields, simulated ones if there is a folder of them, and those held out; of the larger ones of a name one."""
    made = ROOT / "build/heldout"
    found = list(read(os.environ.get("SLEEK_DATA") or ROOT / "tests/data", "real"))
    if not quick:
        heldout.make(made)
        found += list(read(made, "held out"))
        if os.environ.get("SLEEK_SIMULATED"):
            found += read(os.environ["SLEEK_SIMULATED"], "simulated")
    return [field for field in found if not names or field.name in names]


# ---- codecs: compress(values) and decompress(stream, target) give seconds and a result ----


def timed(work, *arguments, **named):
    start = time.perf_counter()  # on a quiet machine; time of the process goes by ticks of 4 ms in some virtual machines
    result = work(*arguments, **named)
    return time.perf_counter() - start, result


class Sleek:
    """A profile of the library with nothing told but the bound; at a SIMD level, if one is named."""

    def __init__(self, profile, level=None):
        self.profile, self.level = profile, level

    def prepare(self, field, bound):
        if self.level:
            os.environ["SLEEK_SIMD"] = self.level
        import sleek

        self.sleek = sleek
        self.request = {"lossless": True} if bound == LOSSLESS else {"abs": bound}
        self.request |= {"profile": self.profile, "threads": 1}
        self.room = np.zeros(sleek.compress_bound(field.data, **{k: v for k, v in self.request.items() if k != "threads"}), "u1")

    def compress(self, values):
        return timed(self.sleek.compress, values, **self.request, out=self.room)

    def decompress(self, stream, target):
        return timed(self.sleek.decompress, stream, out=target)


class SZ3:
    """The newest SZ3, of the package pysz."""

    def prepare(self, field, bound):
        from pysz import sz, szAlgorithm, szConfig, szErrorBoundMode

        self.sz, self.config = sz, szConfig(field.data.shape)
        self.config.errorBoundMode, self.config.absErrorBound = szErrorBoundMode.ABS, bound
        self.config.cmprAlgo = szAlgorithm.INTERP_LORENZO

    def compress(self, values):
        seconds, found = timed(self.sz.compress, values, self.config)
        return seconds, found[0].tobytes()

    def decompress(self, stream, target):
        seconds, found = timed(self.sz.decompress, np.frombuffer(stream, "u1"), target.dtype, target.shape)
        return seconds, found[0]


SIZE, INT = ctypes.POINTER(ctypes.c_size_t), ctypes.c_uint
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_size_t, INT, ctypes.c_size_t, ctypes.POINTER(INT), ctypes.c_size_t, SIZE, ctypes.POINTER(ctypes.c_void_p))


class FilterClass(ctypes.Structure):
    """H5Z_class2_t."""

    _fields_ = [
        ("version", ctypes.c_int),
        ("id", ctypes.c_int),
        ("encoder_present", INT),
        ("decoder_present", INT),
        ("name", ctypes.c_char_p),
        ("can_apply", ctypes.c_void_p),
        ("set_local", ctypes.c_void_p),
        ("filter", CALLBACK),
    ]


libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]


class Filter:
    """A filter of hdf5plugin. Its call-back is called as HDF5 calls it: on a malloc'ed chunk, which it replaces."""

    def __init__(self, library, bounded=None, lossless=None):
        self.library, self.bounded, self.lossless = library, bounded, lossless

    def options(self, bound):
        import hdf5plugin

        return dict(self.lossless(hdf5plugin) if bound == LOSSLESS else self.bounded(hdf5plugin, bound))

    def prepare(self, field, bound):
        import h5py
        import hdf5plugin

        data = field.data
        with h5py.File("values", "w", driver="core", backing_store=False) as f:
            made = f.create_dataset("x", shape=data.shape, dtype=data.dtype, chunks=data.shape, **self.options(bound))
            values = made.id.get_create_plist().get_filter(0)[2]
        info = ctypes.CDLL(hdf5plugin.get_config().registered_filters[self.library]).H5PLget_plugin_info
        info.restype = ctypes.POINTER(FilterClass)
        self.call = info().contents.filter
        self.values, self.count = (INT * max(1, len(values)))(*values), len(values)

    def run(self, flags, address, size):
        """Seconds, and what came out of a copy of these bytes."""
        room, buffer = ctypes.c_size_t(size), ctypes.c_void_p(libc.malloc(size))
        ctypes.memmove(buffer.value, address, size)
        seconds, used = timed(self.call, flags, self.count, self.values, size, ctypes.byref(room), ctypes.byref(buffer))
        if used == 0:
            raise RuntimeError("the filter failed")
        found = ctypes.string_at(buffer.value, used)
        libc.free(buffer.value)
        return seconds, found

    def compress(self, values):
        return self.run(0, values.ctypes.data, values.nbytes)

    def decompress(self, stream, target):
        seconds, found = self.run(0x0100, stream, len(stream))  # H5Z_FLAG_REVERSE
        return seconds, np.frombuffer(found, target.dtype).reshape(target.shape)


class Shuffled:
    """zstd of a level behind a shuffle."""

    def __init__(self, level):
        self.level = level

    def prepare(self, field, bound):
        import zstandard

        self.there, self.back = zstandard.ZstdCompressor(level=self.level).compress, zstandard.decompress

    def compress(self, values):
        return timed(lambda: self.there(np.ascontiguousarray(values.reshape(-1).view("u1").reshape(-1, values.itemsize).T).data))

    def decompress(self, stream, target):
        def work():
            planes = np.frombuffer(self.back(stream), "u1").reshape(target.itemsize, -1)
            return np.ascontiguousarray(planes.T).view(target.dtype).reshape(target.shape)

        return timed(work)


class Rounded(Shuffled):
    """Bits rounded to the bound, as by nccopy, NCO and xbitinfo, then shuffle and zstd: as few bits of the mantissa as keep it."""

    def prepare(self, field, bound):
        super().prepare(field, bound)
        self.bits, mantissa = {4: ("u4", 23), 8: ("u8", 52)}[field.data.itemsize]
        exponent = math.frexp(float(np.abs(field.data[np.isfinite(field.data)]).max()))[1] - 1
        # A value below 2^(exponent+1) with k bits is off by at most 2^(exponent-k-1); rounding may carry into the next exponent.
        self.dropped = mantissa - min(mantissa, max(0, math.ceil(exponent - 1 - math.log2(bound))))

    def compress(self, values):
        return timed(lambda: super(Rounded, self).compress(self.rounded(values))[1])

    def rounded(self, values):
        if self.dropped == 0:
            return values
        bits = values.view(self.bits)
        half = bits.dtype.type((1 << (self.dropped - 1)) - 1)
        up = (bits >> bits.dtype.type(self.dropped)) & bits.dtype.type(1)
        kept = (bits + half + up) & ~bits.dtype.type((1 << self.dropped) - 1)
        return np.where(np.isfinite(values), kept, bits).view(values.dtype)


class Pcodec:
    def prepare(self, field, bound):
        from pcodec import ChunkConfig, standalone

        self.pcodec, self.config = standalone, ChunkConfig(compression_level=8)

    def compress(self, values):
        return timed(self.pcodec.simple_compress, values.reshape(-1), self.config)

    def decompress(self, stream, target):
        seconds, found = timed(self.pcodec.simple_decompress, stream)
        return seconds, found.reshape(target.shape)


OURS = {profile: Sleek(profile) for profile in PROFILES}
BOUNDED = {
    **OURS,
    "SZ3": SZ3(),
    "SZ3 of hdf5plugin": Filter("sz3", lambda h, e: h.SZ3(absolute=e)),
    "ZFP": Filter("zfp", lambda h, e: h.Zfp(accuracy=e)),
    # Without `swap` it takes the slowest dimension for the fastest one, and files are twice as large.
    "SPERR": Filter("sperr", lambda h, e: h.Sperr(absolute=e, swap=True)),
    "bit rounding + zstd": Rounded(3),
}
WITHOUT_BOUND = {
    **OURS,
    "pcodec": Pcodec(),
    "zstd -3 + shuffle": Shuffled(3),
    "Blosc2 zstd": Filter("blosc2", None, lambda h: h.Blosc2("zstd", 5, h.Blosc2.SHUFFLE)),
    "Blosc2 lz4": Filter("blosc2", None, lambda h: h.Blosc2("lz4", 5, h.Blosc2.SHUFFLE)),
    "ZFP": Filter("zfp", None, lambda h: h.Zfp(reversible=True)),
}
LEVELS = {f"{profile}, {level}": Sleek(profile, level) for level in ("avx2", "scalar") for profile in PROFILES}


def codecs_of(bound):
    return WITHOUT_BOUND if bound == LOSSLESS else BOUNDED


# ---- measuring ----

PATIENCE = 15  # seconds of processor time: the slowest takes 3 on the largest field
SPEED_BYTES = 64 << 20
SECONDS = 0.1  # after which a codec's share of a round ends


forking = threading.Lock()


def in_child(core, work, *arguments):
    """`work(*arguments)` in a forked child on a core, since a peer may die or hang: its result, or why there is none, as a string."""
    with forking:  # no child of another thread inherits this pipe
        reader, writer = os.pipe()
        pid = os.fork()
        if pid:
            os.close(writer)
    if pid == 0:
        os.sched_setaffinity(0, {core})
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            signal.alarm(20 * PATIENCE)
            resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE, PATIENCE + 1))
            os.close(reader)
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            try:
                answer = work(*arguments)
            except Exception as e:
                answer = " ".join(str(e).split())[:80] or type(e).__name__
            with os.fdopen(writer, "wb") as pipe:
                pickle.dump(answer, pipe)
        os._exit(0)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read()
    status = os.waitpid(pid, 0)[1]
    return pickle.loads(answer) if answer else f"dies (status {status})"


def errors(field, back, bound):
    """max |v − r| / bound and PSNR. The first is infinite where NaN or infinities are not kept; of lossless coding it is 0 or
    infinite."""
    data = field.data
    if bound == LOSSLESS:
        return (0.0 if data.tobytes() == back.tobytes() else math.inf), math.inf
    finite = np.isfinite(data)
    if data[~finite].tobytes() != back[~finite].tobytes() or not np.isfinite(back[finite]).all():
        return math.inf, math.nan
    wide = np.longdouble if data.dtype == np.float64 else np.float64
    off = np.abs(data[finite].astype(wide) - back[finite])
    squares = float(np.mean(np.square(off[data[finite] != np.float32(-1e10)] / wide(field.range))))
    return float(off.max(initial=0) / bound), -10 * math.log10(squares) if squares else math.inf


def quality(codec, field, bound):
    """Ratio, largest error / bound and PSNR of a field as one array."""
    codec.prepare(field, bound * field.range)
    stream = codec.compress(field.data)[1]
    size = len(stream)
    back = np.asarray(codec.decompress(stream, np.zeros_like(field.data))[1]).reshape(field.data.shape)
    largest, psnr = errors(field, back, bound * field.range)
    return {"ratio": field.data.nbytes / size, "error": largest, "psnr": psnr}


def speed(codec, field, bound):
    """GB/s of a copy, and multiples of it that compressing and restoring reach: of copies of the field that lie one behind the other,
    64 MiB in all, until SECONDS are over. The copy is timed before and after, in the same memory."""
    data = field.data
    codec.prepare(field, bound * field.range)
    count = max(2, SPEED_BYTES // data.nbytes)
    sources, targets = (np.empty((count, *data.shape), data.dtype) for _ in range(2))
    sources[...] = data
    targets[...] = data
    codec.decompress(codec.compress(sources[0])[1], targets[0])  # warms what the codec keeps

    def copy():
        return timed(lambda: [np.copyto(t, s) for s, t in zip(sources, targets)])[0] / sources.nbytes

    before, there, again, done = copy(), 0.0, 0.0, 0
    for source, target in zip(sources, targets):
        seconds, stream = codec.compress(source)
        there += seconds
        again += codec.decompress(stream, target)[0]
        done += data.nbytes
        if there + again > SECONDS:
            break
    memcpy = (before + copy()) / 2
    return {"memcpy": 1e-9 / memcpy, "compress": memcpy * done / there, "decompress": memcpy * done / again}


def side_by_side(cases, cores):
    """`(key, answer)` of cases `(key, work, *arguments)`, each in a child on one of so many cores that it has alone."""
    free = queue.SimpleQueue()
    for core in sorted(os.sched_getaffinity(0))[:cores]:
        free.put(core)

    def run(case):
        core = free.get()
        try:
            return case[0], in_child(core, *case[1:])
        finally:
            free.put(core)

    with concurrent.futures.ThreadPoolExecutor(free.qsize()) as pool:
        yield from pool.map(run, cases)


def measure(quick, names, cores):
    """Rows of every field, codec and bound: qualities, then speeds in rounds, medians of them."""
    all_fields, rounds = fields(quick, names), 1 if quick else 3
    bounds = TIMED if quick else (*BOUNDS, LOSSLESS)

    def cases(work, bounds, levels, without=()):
        for field in all_fields:
            for bound in bounds:
                for name, codec in (codecs_of(bound) | (levels if field.where == "real" else {})).items():
                    if name not in without:
                        yield (field.where, field.name, field.type, name, bound), work, codec, field, bound

    rows, found = {}, {}
    for key, answer in side_by_side(cases(quality, bounds, {}), cores):
        rows[key] = {"error": answer} if isinstance(answer, str) else answer
    print("ratios and errors", file=sys.stderr)
    for turn in range(rounds):
        # The slowest have one round.
        slowest = ("SPERR", "SZ3", "SZ3 of hdf5plugin") if turn else ()
        for key, answer in side_by_side(cases(speed, TIMED, LEVELS, slowest), cores):
            if not isinstance(answer, str):
                found.setdefault(key, []).append(answer)
        print(f"round {turn + 1} of {rounds}", file=sys.stderr)
    for key, answers in found.items():
        rows.setdefault(key, {}).update({k: statistics.median(a[k] for a in answers) for k in answers[0]})
    keys = "class", "field", "type", "codec", "bound"
    return [{"part": "cpu", **dict(zip(keys, key)), **row} for key, row in rows.items()]


def hdf5(quick):
    """Rows of h5py on a RAM disk in chunks of 1 MiB: multiples of the speed without a filter, in turns with it."""
    import h5py
    import hdf5plugin as h  # before sleek: later it finds none of its own filters
    import sleek

    ours = lambda p, e: sleek.h5(**({"lossless": True} if e == LOSSLESS else {"abs": e}), profile=p)
    cases = {(p, b): (lambda e, p=p: ours(p, e)) for p in PROFILES for b in TIMED}
    cases |= {("ZFP", 1e-3): lambda e: h.Zfp(accuracy=e), ("SZ3", 1e-3): lambda e: h.SZ3(absolute=e)}
    cases |= {("ZFP", LOSSLESS): lambda e: h.Zfp(reversible=True), ("Blosc2 lz4", LOSSLESS): lambda e: h.Blosc2("lz4", 5, h.Blosc2.SHUFFLE)}
    rows = []
    for field in fields(True):
        data = np.resize(field.data, (max(2, (8 << 20) // field.data[0].nbytes), *field.data.shape[1:]))
        row = data[0].nbytes
        chunks = (min(len(data), max(1, (1 << 20) // row)), *data.shape[1:]) if row <= 4 << 20 else True

        def go(options, folder):
            path = f"{folder}/x.h5"

            def write():
                with h5py.File(path, "w") as f:
                    f.create_dataset("x", data=data, chunks=chunks, **options)

            def load():
                with h5py.File(path) as f:
                    f["x"][()]

            return timed(write)[0], timed(load)[0], os.path.getsize(path)

        for (name, bound), options in cases.items():
            key = {"part": "hdf5", "class": "real", "field": field.name, "type": field.type, "codec": name, "bound": bound}
            try:
                with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
                    turns = [(go({}, folder), go(dict(options(bound * field.range)), folder)) for _ in range(2 if quick else 6)][1:]
            except (OSError, RuntimeError, ValueError) as failed:
                rows.append({**key, "error": " ".join(str(failed).split())[:80]})
                continue
            times = [statistics.median(plain[k] / packed[k] for plain, packed in turns) for k in (0, 1)]
            memcpy = statistics.median(data.nbytes / plain[0] / 1e9 for plain, _ in turns)
            ratio = data.nbytes / turns[0][1][2]
            rows.append({**key, "ratio": ratio, "memcpy": memcpy, "compress": times[0], "decompress": times[1]})
        print(field.name, file=sys.stderr)
    return rows


NVCOMP = ("Bitcomp", "ANS of floats", "ANS", "Cascaded", "LZ4")


def gpu(text):
    """Rows of the tables of `gpu bench` (9 cells), `gpu interp-quick` and nvcomp.cu (7), and the device with its copy."""
    copy = re.search(r"^memcpy: (\d+) GB/s", text, re.M)
    device = next(line.split(",")[0] for line in text.splitlines() if "compute capability" in line)
    rows = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        end = re.search(r"^(.*)\.(f32|f64)$", cells[0])
        if not line.startswith("| ") or not end or len(cells) not in (7, 9):
            continue
        if len(cells) == 9 and cells[2] in PROFILES:
            name, figures = cells[2], (cells[3], cells[4], cells[7])
        elif len(cells) == 7 and cells[2] in NVCOMP:
            name, figures = f"nvCOMP {cells[2]}", cells[3:6]
        elif len(cells) == 7:
            name, figures = "small", (cells[2], cells[3], cells[5])
        else:
            continue
        bound = LOSSLESS if cells[1] in ("lossless", "0") else float(cells[1])
        ratio, compress, decompress = map(float, figures)
        key = {"part": "gpu", "class": "real", "field": end[1], "type": end[2], "codec": name, "bound": bound}
        rows.append({**key, "ratio": ratio, "memcpy": int(copy[1]) if copy else None, "compress": compress, "decompress": decompress})
    return device, rows


# ---- two builds by turns ----


TURNS = (1e-1, 1e-3, 1e-6, LOSSLESS)


def one():
    """(ratio, then GB/s: compress, decompress, copy) of each profile on real and simulated fields, with defaults."""
    found, simulated = {}, os.environ.get("SLEEK_SIMULATED")
    for field in [*fields(True), *(read(simulated, "simulated") if simulated else [])]:
        for profile in PROFILES:
            for bound in TURNS:
                codec = Sleek(profile)
                codec.prepare(field, bound * field.range)
                ratio = field.data.nbytes / len(codec.compress(field.data)[1])
                row = speed(codec, field, bound)
                found[field.where, field.name, field.type, profile, bound] = by_copy(ratio, row)
    return found


def by_copy(ratio, row):
    return [ratio, *(row[way] * row["memcpy"] for way in ("compress", "decompress")), row["memcpy"]]


def of_build(build):
    """The same of a build: a folder with the Python package, or the program `gpu`, for calls in GPU memory."""
    if os.path.isfile(build):
        text = subprocess.run([build, "bench", "512", "5"], capture_output=True, text=True, check=True).stdout
        rows = gpu(text)[1]
        return {(r["class"], r["field"], r["type"], r["codec"], r["bound"]): by_copy(r["ratio"], r) for r in rows}
    environment = {**os.environ, "PYTHONPATH": os.path.abspath(build)}
    done = subprocess.run([sys.executable, __file__, "one"], env=environment, stdout=subprocess.PIPE, check=True)
    return pickle.loads(done.stdout)


def two(old, new, rounds, worse):
    """Two builds by turns, the best of `rounds`: old and new GB/s, × copy. With `worse` fields that lost 3 % too."""
    best = [{}, {}]
    for turn in range(rounds):
        for side in (0, 1) if turn % 2 == 0 else (1, 0):
            for key, found in of_build((old, new)[side]).items():
                best[side][key] = [max(pair) for pair in zip(found, best[side].get(key, found))]
    both = {key: [side[key] for side in best] for key in best[0] if key in best[1]}

    def cells(keys):
        kept = [[mean(both[key][side][k] for key in keys) for k in range(4)] for side in (0, 1)]
        pair = lambda k: f"{short(kept[0][k])} → {short(kept[1][k])}"
        times = lambda k: " → ".join(short(side[k] / side[3]) for side in kept)
        return [pair(0), pair(1), times(1), pair(2), times(2)]

    name = lambda bound: "lossless" if bound == LOSSLESS else f"{bound:.0e}".replace("e-0", "e-")
    groups = {}
    for where, field, kind, profile, bound in both:
        groups.setdefault((where, kind, profile, bound), []).append((where, field, kind, profile, bound))
    lines = [[f"{k[0]}, {k[1]}", f"`{k[2]}`", name(k[3]), *cells(keys)] for k, keys in sorted(groups.items())]
    if worse:
        lost = [key for key, (a, b) in both.items() if min(y / x for x, y in zip(a[:3], b)) < 0.97]
        lines += [[f"{key[1]}, {key[2]}", f"`{key[3]}`", name(key[4]), *cells([key])] for key in lost]
    print(table(["fields", "profile", "bound", "ratio", "compress GB/s", "× copy", "decompress GB/s", "× copy"], lines))


class Params(ctypes.Structure):
    """sleek_params."""

    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        *((name, ctypes.c_int32) for name in ("dtype", "mode", "codec", "profile")),
        *((name, ctypes.c_double) for name in ("bound", "range", "fill_value")),
        *((name, ctypes.c_int32) for name in ("has_fill_value", "big_endian", "device", "threads")),
        ("dims", ctypes.POINTER(ctypes.c_uint64)),
        *((name, ctypes.c_int32) for name in ("rank", "missing_count")),
        ("missing", ctypes.c_uint64 * 4),
        ("find_fill", ctypes.c_int32),
        ("reserved", ctypes.c_uint32 * 3),
    ]


class Library:
    """`small` of a library, or another codec of it."""

    def __init__(self, name):
        path, _, codec = name.partition(":")
        self.library, self.codec = ctypes.CDLL(os.path.abspath(path)), int(codec or 0)
        self.library.sleek_last_error.restype = ctypes.c_char_p

    def bytes(self, values, bound):
        """What the stream of an array has, within an absolute bound."""
        params, used = Params(), ctypes.c_size_t()
        self.library.sleek_params_init(ctypes.byref(params))
        params.dtype, params.mode, params.bound = {4: 1, 8: 2}[values.itemsize], int(bound > 0), bound
        params.fill_value, params.has_fill_value = -1e10, int((values == -1e10).any())
        params.codec, params.profile = self.codec, 0 if self.codec else 2
        params.dims, params.rank = (ctypes.c_uint64 * values.ndim)(*values.shape), values.ndim
        room = np.empty(2 * values.nbytes + (1 << 16), "u1")
        status = self.library.sleek_compress(
            ctypes.byref(params),
            ctypes.c_void_p(values.ctypes.data),
            ctypes.c_size_t(values.size),
            ctypes.c_void_p(room.ctypes.data),
            ctypes.c_size_t(room.nbytes),
            ctypes.byref(used),
            None,
        )
        if status:
            raise RuntimeError(self.library.sleek_last_error().decode())
        return used.value


RATIO_BYTES = 8 << 20  # a field has no more, so that a table takes a minute


def ratios(old, new, quick, names):
    """Ratios of a library ÷ those of another one, field by field; their mean and the worst by kind."""
    libraries, bounds, rows = [Library(old), Library(new)], (*BOUNDS, LOSSLESS), []
    print(f"| field | {' | '.join(str(b or 'lossless') for b in bounds)} |\n|{'---|' * (1 + len(bounds))}")
    for field in fields(quick, names):
        values = field.data[: max(1, RATIO_BYTES // field.data[0].nbytes)]
        row = [of_old / of_new for of_old, of_new in ([lib.bytes(values, b * field.range) for lib in libraries] for b in bounds)]
        rows.append((field.where, row))
        print(f"| {field.name} {field.type} | {' | '.join(f'{x:.3f}' for x in row)} |", flush=True)
    for where in dict.fromkeys(where for where, _ in rows):
        columns = list(zip(*(row for w, row in rows if w == where)))
        for name, of in (("mean", mean), ("worst", min)):
            print(f"| {where}: {name} | {' | '.join(f'{of(column):.3f}' for column in columns)} |")


# ---- results ----


def machine():
    info = pathlib.Path("/proc/cpuinfo").read_text()
    get = lambda key: re.search(rf"^{key}\s*: (.*)", info, re.M)[1]
    return f"{get('model name')}, family {get('cpu family')} model {get('model')}, {os.cpu_count()} cores"


def commit():
    return subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def versions():
    from importlib.metadata import version

    names = ("sleek-compress", "pysz", "hdf5plugin", "pcodec", "zstandard", "numpy")
    return ", ".join(f"{name} {version(name)}" for name in names)


def load():
    found = json.loads(RESULTS.read_text())
    return found["runs"], [dict(zip(found["columns"], row)) for row in found["rows"]]


def save(run, about, rows):
    """Puts the rows of a run in the place of those that it had."""
    runs, old = load() if RESULTS.exists() else ({}, [])
    runs[run] = about
    runs.pop("speeds" if run == "cpu" else "", None)
    rows = [row for row in old if row["run"] != run] + [{"run": run, **row} for row in rows]

    def cell(value):
        if isinstance(value, float):
            return None if math.isnan(value) else "inf" if math.isinf(value) else float(f"{value:.7g}" if 0.9 < value < 1.1 else f"{value:.4g}")
        return value

    lines = [json.dumps([cell(row.get(c)) for c in COLUMNS]) for row in rows]
    head = json.dumps({"runs": runs, "columns": COLUMNS}, indent=1)[:-2]
    RESULTS.write_text(head + ',\n "rows": [\n' + ",\n".join(lines) + "\n]}\n")


# ---- the page ----


def mean(values):
    values = [v for v in values if v and not isinstance(v, str)]
    return statistics.geometric_mean(values) if values else None


def short(x, digits=3):
    if x is None:
        return ""
    x = float(f"{x:.{digits}g}")
    return f"{x:.0f}" if x >= 100 else f"{x:g}"


def table(head, rows):
    """Columns in which nothing stands are left out."""
    there = [k for k, _ in enumerate(head) if any(row[k] for row in rows)]
    lines = [f"|{'|'.join(cells[k] for k in there)}|" for cells in (head, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(there), *lines[1:]])


def of(rows, **wanted):
    return [row for row in rows if all(row.get(k) == v for k, v in wanted.items())]


def failures(rows):
    """On how many fields a codec breaks its bound, loses a NaN or fails."""
    error = [row["error"] for row in rows]
    broken = {row["field"] for row, e in zip(rows, error) if isinstance(e, float) and 1 + 1e-6 < e}
    lost = {row["field"] for row, e in zip(rows, error) if e == "inf"}
    failed = {row["field"] for row, e in zip(rows, error) if isinstance(e, str) and e != "inf"}
    worst = max((e for e in error if isinstance(e, float)), default=None)
    said = [f"**{what}** on {len(of_)}" for what, of_ in (("broken", broken), ("NaN lost", lost), ("fails", failed)) if of_]
    return "; ".join(said) or (f"{worst:.3f}" if worst is not None else "")


def speeds(rows):
    there, back = mean(r.get("compress") for r in rows), mean(r.get("decompress") for r in rows)
    if there is None:
        return "", ""
    copy = mean(r.get("memcpy") for r in rows)
    return f"{short(there, 2)}/{short(back, 2)}", f"{short(there * copy, 2)}/{short(back * copy, 2)}" if copy else ""


def ticked(codec):
    return f"`{codec}`" if codec in PROFILES else codec


OLDER = "SZ3 of hdf5plugin"  # a table of all bounds has the newest alone


def with_bound(rows):
    lines = []
    for where in dict.fromkeys(r["class"] for r in rows):
        for kind in ("f32", "f64"):
            group, first = of(rows, **{"class": where, "type": kind}), f"{where}, {kind}"
            for codec in (c for c in BOUNDED if c != OLDER and of(group, codec=c)):
                mine = [r for r in of(group, codec=codec) if r["bound"] != LOSSLESS]
                at = {b: of(mine, bound=b) for b in BOUNDS}
                ratios = [short(mean(r["ratio"] for r in at[b])) for b in BOUNDS]
                lines.append([first, ticked(codec), *ratios, *speeds(at[1e-3]), failures(mine)])
                first = ""
    head = ["fields", "codec", *(f"{b:.0e}".replace("e-0", "e-") for b in BOUNDS), "× memcpy", "GB/s", "largest error / bound"]
    return table(head, lines)


def lossless(rows):
    kinds = [(w, k) for w in dict.fromkeys(r["class"] for r in rows) for k in ("f32", "f64") if of(rows, **{"class": w, "type": k})]
    lines = []
    for codec in WITHOUT_BOUND:
        groups = [of(rows, **{"class": w, "type": k}, codec=codec, bound=LOSSLESS) for w, k in kinds]
        cells = [cell for group in groups for cell in (short(mean(r["ratio"] for r in group)), speeds(group)[0])]
        if any(cells):
            lines.append([ticked(codec), *cells])
    return table(["codec", *(cell for w, k in kinds for cell in (f"{w}, {k}", "× memcpy"))], lines)


def better(rows):
    """Peers whose mean ratio is larger than that of `small`."""
    lines, kinds = [], dict.fromkeys((r["class"], r["type"]) for r in rows)
    for where, kind in kinds:
        for codec in dict.fromkeys((*BOUNDED, *WITHOUT_BOUND)):
            cells = []
            for bound in (*BOUNDS, LOSSLESS):
                at = of(rows, **{"class": where, "type": kind}, bound=bound)
                theirs = {r["field"]: r["ratio"] for r in of(at, codec=codec) if r["ratio"]}
                ours = {r["field"]: r["ratio"] for r in of(at, codec="small") if r["ratio"] and r["field"] in theirs}
                a, b = mean(theirs.values()), mean(ours.values())
                cells.append(f"{short(a)}:{short(b)}" if codec not in OURS and a and b and a > b else "")
            if any(cells):
                lines.append([f"{where}, {kind}", codec, *cells])
    head = ["fields", "smaller than `small`", *(f"{b:.0e}".replace("e-0", "e-") for b in BOUNDS), "lossless"]
    return table(head, lines) if lines else "No peer has a larger mean ratio than `small`."


def by_kind(rows, codecs, bounds):
    """Ratio and speeds by type, bound and codec."""
    lines = []
    for kind in dict.fromkeys(r["type"] for r in rows):
        for bound in bounds:
            at = of(rows, type=kind, bound=bound)
            cells = []
            for codec in codecs:
                mine = of(at, codec=codec)
                cells += [short(mean(r.get("ratio") for r in mine)), *speeds(mine)]
            if any(cells):
                lines.append([kind, "lossless" if bound == LOSSLESS else f"{bound:.0e}".replace("e-0", "e-"), *cells])
    return table(["type", "bound", *(f"{ticked(c)} {cell}" for c in codecs for cell in ("ratio", "×", "GB/s"))], lines)


def about(runs, run):
    a = runs[run]
    return f"{a['date']}, {a['machine']}, commit {a['commit']}, `{a['command']}`" + (f". {a['versions']}" if a.get("versions") else "") + "."


def wrapped(text):
    """Prose in lines of 120 columns; tables, headings and pictures as they are."""
    fill = lambda line: textwrap.fill(line, 120, subsequent_indent="  " * line.startswith("- "), break_long_words=False, break_on_hyphens=False)
    return text if text.startswith("|") else "\n".join(map(fill, text.split("\n")))


def picture(rows):
    """Ratio against speed of real f32 at 1e-3, both on a logarithmic scale; a circle compresses, a triangle restores."""
    at = of(rows, **{"class": "real", "type": "f32"}, bound=1e-3)
    points = {}
    for codec in (c for c in BOUNDED if of(at, codec=c)):
        mine = of(at, codec=codec)
        points[codec] = [mean(r[k] for r in mine) for k in ("ratio", "compress", "decompress")]
    points = {codec: p for codec, p in points.items() if all(p)}
    x = lambda v: 70 + 570 * (math.log10(v) + 2.5) / 2.7
    y = lambda v: 400 - 360 * (math.log10(v) - 0.5) / 1.1
    svg = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 450" font-family="sans-serif" font-size="16">']
    svg.append('<rect width="760" height="450" fill="white"/>')
    for v in (0.01, 0.1, 1):
        svg.append(f'<path d="M{x(v):.0f} 40V400" stroke="#ccc"/><text x="{x(v):.0f}" y="420" text-anchor="middle">{v:g}</text>')
    for v in (5, 10, 20, 30):
        svg.append(f'<path d="M70 {y(v):.0f}H690" stroke="#ccc"/><text x="62" y="{y(v) + 5:.0f}" text-anchor="end">{v}</text>')
    svg.append('<text x="380" y="444" text-anchor="middle">speed, × memcpy: ● compress, ▲ restore</text>')
    svg.append('<text x="70" y="26">ratio, real f32 fields at 1e-3 of the range</text>')
    for codec, (ratio, there, back) in points.items():
        ink = "#c02000" if codec in PROFILES else "#204080"
        a, b, h = x(there), x(back), y(ratio)
        svg.append(f'<path d="M{a:.0f} {h:.0f}H{b:.0f}" stroke="{ink}"/><circle cx="{a:.0f}" cy="{h:.0f}" r="6" fill="{ink}"/>')
        svg.append(f'<path d="M{b:.0f} {h - 7:.0f}l7 12h-14z" fill="{ink}"/>')
        svg.append(f'<text x="{max(a, b) + 12:.0f}" y="{h + 5:.0f}" fill="{ink}">{codec}</text>')
    return "\n".join([*svg, "</svg>", ""])


def page():
    runs, rows = load()
    cpu, through, cards = ([r for r in rows if r["part"] == part] for part in ("cpu", "hdf5", "gpu"))
    plain = [r for r in cpu if ", " not in r["codec"]]
    level = [{**r, "codec": r["codec"].split(", ")[0]} for r in cpu if r["codec"].endswith(", avx2")]
    parts = [
        INTRO,
        about(runs, "cpu") + ("" if "speeds" not in runs else " Speeds: " + about(runs, "speeds")),
        "![Ratio against speed](speed.svg)",
        "## Where others are better\n\nMean ratios, theirs : ours, on the fields that both take.",
        better(plain),
        "SZ3 and SPERR see the whole field. A tile of Sleek stands alone.",
        "## With a bound\n\nRatios by bound, then speeds at 1e-3, compressing / decompressing.",
        with_bound(plain),
        "## Lossless\n\nRatio, and compressing / decompressing × memcpy.",
        lossless(plain),
    ]
    if level:
        parts += ["## AVX2\n\nThe same processor without AVX-512: compressing / decompressing × memcpy.", by_kind(level, PROFILES, TIMED)]
    if through:
        parts += ["## Through HDF5\n\nh5py on a RAM disk, chunks of 1 MiB: multiples of the speed without a filter, write / read.", about(runs, "hdf5")]
        parts.append(by_kind(through, [c for c in dict.fromkeys(r["codec"] for r in through)], TIMED))
    for run in (r for r in runs if r.startswith("gpu")):
        mine = of(cards, run=run)
        peers = [c for c in dict.fromkeys(r["codec"] for r in mine) if c.startswith("nvCOMP")]
        parts.append(f"## GPU: {runs[run]['machine']}\n\nRatio, and compressing / decompressing × a device-to-device copy of the same bytes.")
        parts += [about(runs, run), by_kind(mine, [*(p for p in ("fast", "adaptive", "small") if of(mine, codec=p)), *peers], (*BOUNDS, LOSSLESS))]
    (ROOT / "docs/performance.md").write_text("\n\n".join(map(wrapped, parts)) + "\n")
    (ROOT / "docs/speed.svg").write_text(picture(plain))


INTRO = """# Performance

Sleek beside other compressors and a plain copy, with the defaults of a user. `make bench` measures, and makes this page of `docs/results/bench.json`; `tests/gpu/bench.sh` measures a GPU, by the program `gpu`.

- Speeds are multiples of a copy of the same memory in the same run, on one core. 1 is memcpy. Times include the search for missing values; calls in GPU memory make none.
- Bounds are absolute: the stated part of the field's value range. Nothing but the bound is told.
- `adaptive` (the default), `fast` and `small` are Sleek's profiles. SZ3 is the newest, of pysz; hdf5plugin has an older one.
- Fields: `real` were published. Nothing of Sleek was tuned on those held out, which `benches/heldout.py` makes. Means are geometric."""


def main():
    command, *words = sys.argv[1:] or ["help"]
    quick = "--quick" in words
    cores = int(words.pop(words.index("--cores") + 1)) if "--cores" in words else 1
    names = [word for word in words if not word.startswith("--")]
    today = datetime.date.today().isoformat()
    here = lambda what: {"machine": machine(), "date": today, "commit": commit(), "command": f"make bench BENCH={what}", "versions": versions()}
    if command == "measure":
        rows = measure(quick, names, cores)
        print(with_bound(rows), lossless(rows), sep="\n\n") if quick or names else save("cpu", here("measure"), rows)
    elif command == "hdf5":
        rows = hdf5(quick)
        print(by_kind(rows, dict.fromkeys(r["codec"] for r in rows), TIMED)) if quick else save("hdf5", here("hdf5"), rows)
    elif command == "gpu":
        device, rows = gpu(pathlib.Path(names[1]).read_text())
        save(f"gpu {device}", {"machine": device, "date": today, "commit": names[0], "command": "bash tests/gpu/bench.sh"}, rows)
    elif command == "two":
        two(*names[:2], int(words[words.index("--rounds") + 1]) if "--rounds" in words else 4, "--worse" in words)
    elif command == "one":
        sys.stdout.buffer.write(pickle.dumps(one()))
    elif command == "ratios":
        ratios(*names[:2], quick, names[2:])
    elif command == "page":
        page()
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
