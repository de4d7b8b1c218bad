#!/usr/bin/env python3
"""The table of docs/guide/rounded-bits.md: ratios of fields whose bits were rounded before (BitRound), and of a bound with the same error.

rounded.py SLEEK DATA    needs numcodecs
"""

import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

import numpy as np
from numcodecs import BitRound, Zstd

FIELDS = {
    "ccsm_trefht": (110, 64, 128),
    "navy_uwnd": (132, 73, 144),
    "levitus_temp": (20, 180, 360),
    "cth_pressure": (64, 64, 128),
}


def ratio(sleek, folder, array, shape, *how):
    array.tofile(folder / "field.f32")
    arguments = ["compress", "-q", "-f", "--no-fill", "--dims", "x".join(map(str, shape)), *how]
    subprocess.run([sleek, *arguments, folder / "field.f32", folder / "field.sleek"], check=True)
    return array.nbytes / (folder / "field.sleek").stat().st_size


def main(sleek, data):
    print("| field | bits kept | error | lossless | `small` | shuffle, zstd 5 | shuffle, deflate 6 | `--rel`, `small` |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for field, shape in FIELDS.items():
            original = np.fromfile(Path(data) / f"{field}_{'x'.join(map(str, shape))}.f32", "<f4")
            for bits in (23, 12, 9, 6):
                codec = BitRound(bits)
                rounded = np.asarray(codec.decode(codec.encode(original))).view("<f4")
                error = 2.0 ** -(bits + 1) if bits < 23 else 0
                shuffled = rounded.view("u1").reshape(-1, 4).T.tobytes()
                ratios = [
                    ratio(sleek, folder, rounded, shape, "--lossless"),
                    ratio(sleek, folder, rounded, shape, "--lossless", "--profile", "small"),
                    rounded.nbytes / len(Zstd(5).encode(shuffled)),
                    rounded.nbytes / len(zlib.compress(shuffled, 6)),
                ]
                if error:
                    ratios.append(ratio(sleek, folder, original, shape, "--rel", str(error), "--profile", "small"))
                cells = " | ".join(f"{r:.2f}" for r in ratios) + ("" if error else " | –")
                print(f"| {field} | {bits} | {f'{error:.1e}' if error else 'none'} | {cells} |")


if __name__ == "__main__":
    main(*sys.argv[1:])
