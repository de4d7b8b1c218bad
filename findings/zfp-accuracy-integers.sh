#!/usr/bin/env bash
# Surprise:  whole numbers compressed with a tolerance of 0.001 come back changed by several units. No error is raised.
# Where:     zfpy 1.0.1.post0 (zfp 1.0.1), compress_numpy(int32 or int64, tolerance=...).
# Expected:  zfp calls the tolerance an absolute error; below 1 an integer could not change at all. zfp's manual has
#            fixed accuracy for floating-point numbers only, but the binding takes the pair of arguments.
# Seen:      2026-11-28
# Matters:   an option that has no meaning for a type must be refused: here it is dropped, and all bit planes are coded
#            with a transform that rounds. Reversible mode (no argument) is exact.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    'zfpy==1.0.1.post0' 'numpy==2.3.5'
(cd "$work" && exec venv/bin/python - << 'PYTHON'
import sys
import numpy as np, zfpy
from importlib.metadata import version
print("zfpy", version("zfpy"), "numpy", np.__version__)
x = np.linspace(0, 6, 64)
for kind in ("int32", "int64"):
    data = np.round(1000 * np.sin(x)[:, None] * np.cos(x)).astype(kind)
    worst = {}
    for tolerance in (None, 0.001, 100.0):
        packed = zfpy.compress_numpy(data) if tolerance is None else zfpy.compress_numpy(data, tolerance=tolerance)
        back = zfpy.decompress_numpy(packed)
        worst[tolerance] = int(np.abs(back - data).max())
        print(f"{kind}, tolerance {tolerance}: largest error {worst[tolerance]}, {data.nbytes} bytes in {len(packed)}")
    if worst[None] != 0:
        sys.exit("CHANGED: reversible mode is not exact for whole numbers.")
    if worst[0.001] == 0:
        sys.exit("CHANGED: whole numbers keep the tolerance.")
    if worst[100.0] != worst[0.001]:
        sys.exit("CHANGED: the size of the tolerance has an effect on whole numbers.")
PYTHON
)
