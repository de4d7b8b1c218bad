"""What a user gets who has shuffle and gzip today: every field and file of a folder, losslessly, by what a user types.

    python3 benches/user.py SLEEK PLUGIN_FOLDER DATA        # needs numpy and h5py; h5repack on the path

Three ways, each beside the same with shuffle and gzip -4: `sleek compress`, beside gzip of the shuffled bytes; h5py with
the filter; `sleek repack`, beside h5repack. Sizes are of whole files; times are processor time, which other work does
not lengthen, of the best of three, on one thread, with files in memory and the start of a process taken off. The last
lines have the shares of fields on which ours is smaller, and how many times as fast it is.
"""

import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import zlib

import numpy as np

COMMAND, PLUGINS, DATA = sys.argv[1:]
os.environ |= {"HDF5_PLUGIN_PATH": PLUGINS, "SLEEK_NUM_THREADS": "1"}
import h5py  # noqa: E402  (it reads the variable once)

FILTER = 47474
PROFILES = ["small", "adaptive"]
WAYS = ["command", "h5py", "repack", "repack --rechunk"]
ROUNDS = 3


def best(work) -> float:
    """Seconds of processor time of the fastest round, of this process and those that it starts."""
    times = []
    for _ in range(ROUNDS):
        start = processor()
        work()
        times.append(processor() - start)
    return min(times)


def processor() -> float:
    """Seconds that this process and those that it started have used."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def run(*arguments) -> None:
    subprocess.run([str(a) for a in arguments], check=True, capture_output=True)


def text(profile: str) -> tuple[int, ...]:
    """The filter's parameters."""
    out = subprocess.run([COMMAND, "h5args", "--lossless", "--profile", profile, "--json"], check=True, capture_output=True)
    return tuple(json.loads(out.stdout)["cd_values"])


Measured = tuple[int, float, float]


def measured(write, path: pathlib.Path, read=None, start: float = 0.0) -> Measured:
    """Bytes of the file that is made, seconds of that, and of reading it."""
    seconds = max(best(write) - start, 1e-4)
    return path.stat().st_size, seconds, max(best(read) - start, 1e-4) if read else 0.0


def by_command(path: pathlib.Path, data: np.ndarray, work: pathlib.Path) -> list[Measured]:
    out = work / "out"

    def gzip() -> None:
        raw = np.fromfile(path, data.dtype)
        shuffled = raw.view("u1").reshape(-1, raw.itemsize).T.tobytes()
        out.write_bytes(zlib.compress(shuffled, 4))

    def gunzip() -> None:
        np.frombuffer(zlib.decompress(out.read_bytes()), "u1").reshape(data.itemsize, -1).T.tobytes()

    rows = [measured(gzip, out, gunzip)]
    start = best(lambda: run(COMMAND, "--version"))
    dims = ["--dims", "x".join(map(str, data.shape))]
    for profile in PROFILES:
        arguments = [COMMAND, "compress", "-qf", "--lossless", "--profile", profile, *dims, path, out]
        back = [COMMAND, "decompress", "-qf", out, work / "back"]
        rows.append(measured(lambda: run(*arguments), out, lambda: run(*back), start))
    return rows


def by_h5py(_: pathlib.Path, data: np.ndarray, work: pathlib.Path) -> list[Measured]:
    out = work / "out.h5"

    def write(**options) -> None:
        with h5py.File(out, "w") as f:
            f.create_dataset("x", data=data, chunks=chunks, **options)

    def read() -> None:
        with h5py.File(out) as f:
            f["x"][()]

    # Whole rows of up to 1 MiB.
    chunks = list(data.shape)
    for k in range(data.ndim):
        rest = int(np.prod(chunks[k + 1 :])) * data.itemsize
        chunks[k] = min(chunks[k], max(1, (1 << 20) // rest))
        if chunks[k] > 1:
            break
    chunks = tuple(chunks)
    rows = [measured(lambda: write(shuffle=True, compression="gzip", compression_opts=4), out, read)]
    for values in map(text, PROFILES):
        rows.append(measured(lambda: write(compression=FILTER, compression_opts=values), out, read))
    return rows


def by_repack(plain: pathlib.Path, work: pathlib.Path, *more: str) -> list[Measured]:
    out = work / "new.h5"
    starts = [best(lambda: run(program, "--version")) for program in ("h5repack", COMMAND)]
    rows = [measured(lambda: run("h5repack", "-f", "SHUF", "-f", "GZIP=4", plain, out), out, start=starts[0])]
    for profile in PROFILES:
        arguments = [COMMAND, "repack", "-qf", "--lossless", *more, "--profile", profile, plain, out]
        rows.append(measured(lambda: run(*arguments), out, start=starts[1]))
    return rows


def cells(rows: list[Measured], raw: int) -> str:
    return " | ".join(f"{raw / size:.3f}" for size, *_ in rows)


def faster(rows: list[list[Measured]], profile: int, what: int) -> str:
    """How many times as fast as gzip, as a geometric mean."""
    if not rows[0][0][what]:
        return ""
    return f"{np.exp(np.mean([np.log(row[0][what] / row[profile][what]) for row in rows])):.1f}"


def main() -> None:
    all_rows: dict[str, list] = {way: [] for way in WAYS}
    heads = [f"{way}: gzip | {' | '.join(PROFILES)}" for way in WAYS]
    print(f"| field or file | {' | '.join(heads)} |\n|---|" + "---|" * 3 * len(WAYS))
    memory = pathlib.Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        work = pathlib.Path(folder)
        for path in sorted(pathlib.Path(DATA).iterdir()):
            raw, shown = path.stat().st_size, []
            if path.suffix in (".f32", ".f64"):
                shape = [int(n) for n in path.stem.rsplit("_", 1)[1].split("x") if n.isdigit()]
                kind = {".f32": "<f4", ".f64": "<f8"}[path.suffix]
                data = np.fromfile(path, kind)
                data = data.reshape(shape) if np.prod(shape) == data.size else data
                plain = work / "plain.h5"
                with h5py.File(plain, "w") as f:
                    f["x"] = data
                each = {"command": by_command(path, data, work), "h5py": by_h5py(path, data, work)}
            elif path.suffix in (".nc", ".nc4", ".h5", ".hdf5") and h5py.is_hdf5(path):
                plain, each = pathlib.Path(shutil.copy(path, work)), {}
            else:
                continue
            each |= {way: by_repack(plain, work, *way.split()[1:]) for way in WAYS[2:]}
            for way in WAYS:
                shown.append(cells(each[way], raw) if way in each else " | | ")
                all_rows[way] += [each[way]] if way in each else []
            print(f"| {path.name} | {' | '.join(shown)} |", flush=True)
    print("\n| | smaller than gzip on | writes so many times as fast | reads |\n|---|---|---|---|")
    for way in WAYS:
        for k, profile in enumerate(PROFILES, 1):
            rows = all_rows[way]
            smaller = sum(row[k][0] < row[0][0] for row in rows)
            print(f"| {way}, `{profile}` | {smaller} of {len(rows)} | {faster(rows, k, 1)} | {faster(rows, k, 2)} |")


if __name__ == "__main__":
    main()
