#!/usr/bin/env bash
# Surprise:  64-bit whole numbers, such as times in nanoseconds since 1970, are changed by more than a hundred under an
#            absolute bound of 1, and more than half of the distinct times fall together.
# Where:     hdf5plugin 7.1.0 (filter SZ, absolute=...), h5py 3.16.0 (HDF5 2.0.0).
# Expected:  hdf5plugin says that the restored values stay within the absolute tolerance. The numbers seem to pass
#            through doubles, which step by 256 at this size.
# Seen:      2026-11-28
# Matters:   pandas and xarray keep times as such integers. A bound promised for an integer type must be kept in integer
#            arithmetic, or the type be refused.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    'hdf5plugin==7.1.0' 'h5py==3.16.0' 'numpy==2.3.5'
(cd "$work" && exec venv/bin/python - << 'PYTHON'
import sys
import h5py, hdf5plugin, numpy as np
print("hdf5plugin", hdf5plugin.version, "h5py", h5py.__version__, "HDF5", h5py.version.hdf5_version)
bound = 1.0
worst = {}
for start in (0, 1_732_752_000_000_000_000):   # the second: 2024-11-28 in nanoseconds
    times = start + 7 * np.arange(4096, dtype="i8")
    with h5py.File("a.h5", "w") as f:
        f.create_dataset("t", data=times, chunks=times.shape, compression=hdf5plugin.SZ(absolute=bound))
    with h5py.File("a.h5") as f:
        back = f["t"][...]
    worst[start] = max(abs(int(a) - int(b)) for a, b in zip(times, back))
    print(f"from {start}: bound {bound}, largest error {worst[start]},"
          f" {len(np.unique(back))} of {times.size} times distinct")
if worst[0] > bound:
    sys.exit("CHANGED: the bound does not hold for small numbers either.")
if worst[1_732_752_000_000_000_000] <= bound:
    sys.exit("CHANGED: the bound holds for large 64-bit numbers.")
PYTHON
)
