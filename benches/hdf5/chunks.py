"""Ratios of fields in chunks of one map, of 16 points' series, and as `sleek repack --rechunk` chooses them.

    python3 benches/hdf5/chunks.py SLEEK DATA        # needs numpy and h5py
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import h5py
import numpy as np

FIELDS = ["ccsm_trefht", "cth_pressure", "mitgcm_ocean_pickup", "muse_cube", "navy_uwnd"]
REQUESTS = {"lossless": ["--lossless"], "noa=1e-3": ["--noa", "1e-3", "--no-fill"]}


def repacked(command: str, old: pathlib.Path, request: list[str], *more: str) -> tuple[float, str]:
    """Ratio and chunks of the only dataset."""
    new = old.with_name("new.h5")
    arguments = ["--profile", "small", "--json", "--force", "--quiet", "--even-if-larger", *request, *more]
    out = subprocess.run([command, "repack", *arguments, old, new], check=True, capture_output=True, text=True).stdout
    [row] = json.loads(out)
    with h5py.File(new) as f:
        chunks = "x".join(map(str, f["x"].chunks))
    return row["raw_bytes"] / row["stored_after"], chunks


def main() -> None:
    command, folder = sys.argv[1:]
    print("| field | bound | a map | ratio | a series | ratio | `--rechunk` | ratio |\n|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as work:
        old = pathlib.Path(work) / "old.h5"
        for name in FIELDS:
            [path] = pathlib.Path(folder).glob(f"{name}_*")
            shape = [int(n) for n in path.stem.rsplit("_", 1)[1].split("x")]
            data = np.fromfile(path, {".f32": "<f4", ".f64": "<f8"}[path.suffix]).reshape(shape)
            for bound, request in REQUESTS.items():
                cells = []
                for chunks in ((1, *shape[1:]), (shape[0], 4, 4)):
                    with h5py.File(old, "w") as f:
                        f.create_dataset("x", data=data, chunks=chunks)
                    cells.append(repacked(command, old, request))
                cells.append(repacked(command, old, request, "--rechunk"))
                shown = " | ".join(f"{chunks} | {ratio:.2f}" for ratio, chunks in cells)
                print(f"| {name}, {'x'.join(map(str, shape))} | {bound} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
