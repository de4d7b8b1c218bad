#!/usr/bin/env bash
# Surprise:  a dataset that grows by one row a day has errors of nearly three times the bound after 32 rows: each append
#            decodes the chunk, changes it, and rounds all of its earlier rows once more.
# Where:     hdf5plugin 7.1.0 (filters SZ3, SZ and Sperr, absolute=0.01), h5py 3.16.0 (HDF5 2.0.0).
# Expected:  hdf5plugin says that restored values stay within the absolute tolerance. The bound is an attribute of the
#            dataset, every write goes through it, and no row was written twice.
# Seen:      2026-11-29
# Matters:   HDF5 rewrites whole chunks, so a bound of a filter holds for each writing, not for the dataset. Append
#            whole chunks, or use a quantizer that maps its own output to itself.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    'hdf5plugin==7.1.0' 'h5py==3.16.0' 'numpy==2.3.5'
(cd "$work" && exec venv/bin/python - << 'PYTHON'
import sys
import h5py
import hdf5plugin
import numpy as np
print("h5py", h5py.__version__, "HDF5", h5py.version.hdf5_version, "hdf5plugin", hdf5plugin.version)
BOUND, ROWS, N = 0.01, 32, 4096
rng = np.random.default_rng(1)
field = 280 + 10 * np.sin(np.arange(N) / 90) + np.cumsum(rng.normal(0, 0.3, (ROWS, N)), 0)
field = field.astype("f4")

def worst(rows, options):
    """The largest error, in bounds, of a dataset that so many rows are appended to at once."""
    with h5py.File("a.h5", "w") as f:
        f.create_dataset("t", (0, N), maxshape=(None, N), chunks=(ROWS, N), dtype="f4", **options)
    for k in range(0, ROWS, rows):
        with h5py.File("a.h5", "a") as f:
            f["t"].resize(k + rows, 0)
            f["t"][k:] = field[k:k + rows]
    with h5py.File("a.h5") as f:
        return float(np.abs(f["t"][:].astype("f8") - field).max() / BOUND)

for name, make in (("SZ3", hdf5plugin.SZ3), ("SZ", hdf5plugin.SZ), ("Sperr", hdf5plugin.Sperr)):
    once, daily = (worst(rows, make(absolute=BOUND)) for rows in (ROWS, 1))
    print(f"{name}: largest error {once:.3f} bounds written at once, {daily:.3f} row by row")
    if once > 1.01:
        sys.exit(f"CHANGED: {name} breaks the bound when all is written at once.")
    if daily < 1.5:
        sys.exit(f"CHANGED: {name} keeps the bound, or nearly so, row by row.")
PYTHON
)
