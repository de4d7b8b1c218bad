#!/usr/bin/env bash
# Surprise:  the float scaling filter turns NaN, infinity and 1e20 into plausible numbers: with 2 bytes they all come
#            back as 0.0, with 4 bytes as the smallest number that fits. Nothing is raised.
# Where:     tiledb 0.36.1 (TileDB 2.30.0), FloatScaleFilter(factor=0.01, offset=0, bytewidth=2 or 4).
# Expected:  TileDB documents the filter as storing round((value - offset) / factor) as an integer of that width, with
#            some loss of precision. What has no such integer would have to raise or to stay missing.
# Seen:      2026-11-28
# Matters:   0.0 is a valid measurement. NaN converted to an integer is whatever the processor gives. A fixed-point
#            codec needs an escape for what it cannot hold.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check 'tiledb==0.36.1' 'numpy==2.3.5'
(cd "$work" && exec venv/bin/python - << 'PYTHON'
import sys
import numpy as np, tiledb
print("tiledb", tiledb.__version__, "TileDB", ".".join(map(str, tiledb.libtiledb.version())))
data = np.array([281.504, -5.006, np.nan, np.inf, 1e20])
back = {}
for width in (2, 4):
    name = f"array{width}"
    filters = tiledb.FilterList([tiledb.FloatScaleFilter(factor=0.01, offset=0.0, bytewidth=width)])
    domain = tiledb.Domain(tiledb.Dim("x", domain=(0, data.size - 1), tile=data.size, dtype="i4"))
    tiledb.Array.create(name, tiledb.ArraySchema(domain=domain, attrs=[tiledb.Attr("v", dtype="f8", filters=filters)]))
    with tiledb.open(name, "w") as array:
        array[:] = data
    with tiledb.open(name) as array:
        found = array[:]
    back[width] = found["v"] if isinstance(found, dict) else found
    print(f"{width} bytes: {data.tolist()} come back as {back[width].tolist()}")
    if np.abs(back[width][:2] - data[:2]).max() > 0.00501:
        sys.exit("CHANGED: finite values within the range are not restored to half a step.")
    if not np.isfinite(back[width]).all():
        sys.exit("CHANGED: NaN or infinity stays, or is refused.")
if (back[2][2:] != 0).any():
    sys.exit("CHANGED: with 2 bytes what has no integer is no longer turned into 0.")
PYTHON
)
