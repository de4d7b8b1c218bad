"""What a user gets who has shuffle and gzip today: every field and file of a folder, losslessly, by what a user types.

    python3 benches/user.py SLEEK PLUGIN_FOLDER DATA        # needs numpy and h5py; h5repack on the path

Three ways, each beside the same with shuffle and gzip -4: `sleek compress`, beside gzip of the shuffled bytes; h5py with
the filter; `sleek repack`, beside h5repack. Sizes are of whole files, times the best of three on one thread, files in
memory. The last lines have the shares of fields on which ours is smaller, and how many times as fast it is.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import zlib

import numpy as np

COMMAND, PLUGINS, DATA = sys.argv[1:]
os.environ |= {"HDF5_PLUGIN_PATH": PLUGINS, "SLEEK_NUM_THREADS": "1"}
import h5py  # noqa: E402  (it reads the variable once)

FILTER = 47474
PROFILES = ["ratio", "adaptive"]
WAYS = ["command", "h5py", "repack"]
ROUNDS = 3


def best(work) -> float:
    """Seconds of the fastest round."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def run(*arguments) -> None:
    subprocess.run([str(a) for a in arguments], check=True, capture_output=True)


def text(profile: str) -> tuple[int, ...]:
    """The filter's parameters."""
    out = subprocess.run([COMMAND, "h5args", "--lossless", "--profile", profile, "--json"], check=True, capture_output=True)
    import json

    return tuple(json.loads(out.stdout)["cd_values"])


def measured(make, path: pathlib.Path) -> tuple[int, float]:
    """Bytes of the file that is made, and seconds."""
    seconds = best(make)
    return path.stat().st_size, seconds


def by_command(path: pathlib.Path, data: np.ndarray, work: pathlib.Path) -> list[tuple[int, float]]:
    out = work / "out"

    def gzip() -> None:
        raw = np.fromfile(path, data.dtype)
        shuffled = raw.view("u1").reshape(-1, raw.itemsize).T.tobytes()
        out.write_bytes(zlib.compress(shuffled, 4))

    rows = [measured(gzip, out)]
    dims = ["--dims", "x".join(map(str, data.shape))]
    for profile in PROFILES:
        arguments = [COMMAND, "compress", "-qf", "--lossless", "--profile", profile, *dims, path, out]
        rows.append(measured(lambda: run(*arguments), out))
    return rows


def by_h5py(_: pathlib.Path, data: np.ndarray, work: pathlib.Path) -> list[tuple[int, float]]:
    out = work / "out.h5"

    def write(**options) -> None:
        with h5py.File(out, "w") as f:
            f.create_dataset("x", data=data, chunks=chunks, **options)

    # Whole rows of up to 1 MiB.
    chunks = list(data.shape)
    for k in range(data.ndim):
        rest = int(np.prod(chunks[k + 1 :])) * data.itemsize
        chunks[k] = min(chunks[k], max(1, (1 << 20) // rest))
        if chunks[k] > 1:
            break
    chunks = tuple(chunks)
    rows = [measured(lambda: write(shuffle=True, compression="gzip", compression_opts=4), out)]
    for values in map(text, PROFILES):
        rows.append(measured(lambda: write(compression=FILTER, compression_opts=values), out))
    return rows


def by_repack(plain: pathlib.Path, work: pathlib.Path) -> list[tuple[int, float]]:
    out = work / "new.h5"
    rows = [measured(lambda: run("h5repack", "-f", "SHUF", "-f", "GZIP=4", plain, out), out)]
    for profile in PROFILES:
        arguments = [COMMAND, "repack", "-qf", "--lossless", "--rechunk", "--profile", profile, plain, out]
        rows.append(measured(lambda: run(*arguments), out))
    return rows


def cells(rows: list[tuple[int, float]], raw: int) -> str:
    (gzip, _), *ours = rows
    return " | ".join(f"{raw / size:.3f}" for size, _ in (rows[0], *ours))


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
                each = {"command": by_command(path, data, work), "h5py": by_h5py(path, data, work), "repack": by_repack(plain, work)}
            elif path.suffix in (".nc", ".nc4", ".h5", ".hdf5") and h5py.is_hdf5(path):
                each = {"repack": by_repack(pathlib.Path(shutil.copy(path, work)), work)}
            else:
                continue
            for way in WAYS:
                shown.append(cells(each[way], raw) if way in each else "| | ")
                all_rows[way] += [each[way]] if way in each else []
            print(f"| {path.name} | {' | '.join(shown)} |", flush=True)
    print("\n| | smaller than gzip on | times as fast, geometric mean |\n|---|---|---|")
    for way in WAYS:
        for k, profile in enumerate(PROFILES, 1):
            rows = all_rows[way]
            smaller = sum(row[k][0] < row[0][0] for row in rows)
            faster = np.exp(np.mean([np.log(row[0][1] / row[k][1]) for row in rows]))
            print(f"| {way}, `{profile}` | {smaller} of {len(rows)} | {faster:.1f} |")


if __name__ == "__main__":
    main()
