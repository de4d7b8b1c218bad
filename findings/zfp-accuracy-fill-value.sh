#!/usr/bin/env bash
# Surprise:  one cell with the common missing mark 1e20 wipes out its neighbours: under a tolerance of 0.001, float64
#            values near 280 err by up to 214 in the same block of 4 by 4.
# Where:     zfpy 1.0.1.post0 (zfp 1.0.1), compress_numpy(float64, tolerance=0.001).
# Expected:  zfp calls the tolerance a bound of the absolute error for each value in fixed-accuracy mode; its exception,
#            a tolerance too small for the precision of the type, one would not look for at 0.001 beside 280.
# Seen:      2026-11-28
# Matters:   a block has one exponent, that of its largest value, so 64 bits cannot reach from 1e20 to 0.001. Coastlines
#            in climate files are full of such blocks. Values have to be taken apart from marks before a block
#            transform.
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
tolerance = 0.001
x = np.linspace(0, 6, 64)
kelvin = 280 + 10 * np.sin(x)[:, None] * np.cos(x)
masked = kelvin.copy()
masked[30, 30] = 1e20
valid = masked < 1e19
worst, hit = {}, {}
for name, data in (("no mark", kelvin), ("one cell of 1e20", masked)):
    back = zfpy.decompress_numpy(zfpy.compress_numpy(data, tolerance=tolerance))
    error = np.abs(back - data)[valid]
    worst[name], hit[name] = error.max(), int((error > tolerance).sum())
    print(f"{name}: tolerance {tolerance}, largest error of a valid value {worst[name]:.6f}, {hit[name]} values beyond")
if worst["no mark"] > tolerance:
    sys.exit("CHANGED: the tolerance does not hold without a mark either.")
if hit["one cell of 1e20"] == 0:
    sys.exit("CHANGED: a huge value no longer breaks the tolerance of its neighbours.")
PYTHON
)
