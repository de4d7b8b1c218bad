#!/usr/bin/env bash
# Surprise:  with scale-offset and D decimal digits, a value that lies within 10^-D of the fill value becomes the fill
#            value: the error is up to twice the half unit that rounding to D digits gives, and the value turns missing.
# Where:     h5py 3.16.0 (HDF5 2.0.0); h5py 3.10 to 3.15 do the same.
# Expected:  HDF5 describes the filter as rounding each value times 10^D, which errs by at most half a unit of digit D,
#            and as keeping apart only the cells that hold the fill value.
# Seen:      2026-11-28
# Matters:   the fill value is 0 unless said otherwise, so small rain rates are cut to nought at twice the bound, and
#            measured values beside a mark such as -999 are read as missing.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check 'h5py==3.16.0' 'numpy==2.3.5'
(cd "$work" && exec venv/bin/python - << 'PYTHON'
import sys
import h5py, numpy as np
print("h5py", h5py.__version__, "HDF5", h5py.version.hdf5_version)
digits = 3
def restored(value, fill):
    data = 10 + np.sin(np.linspace(0, 9, 1000))
    data[7] = value
    with h5py.File("a.h5", "w") as f:
        f.create_dataset("a", data=data, chunks=data.shape, scaleoffset=digits, fillvalue=fill)
    with h5py.File("a.h5") as f:
        return f["a"][7]
for fill, value in ((None, 0.0009), (-999.0, -998.9991)):   # None: HDF5's own, 0
    near, far = restored(value, fill), restored(value, 5e9)
    half = 0.5 * 10.0 ** -digits
    print(f"{value} with fill value {fill or 0}: back as {near}, error {abs(near - value):.4f}, half a unit is {half};"
          f" with fill value 5e9: back as {far:.4f}, error {abs(far - value):.4f}")
    if not (near == (fill or 0) and abs(near - value) > half >= abs(far - value)):
        sys.exit("CHANGED: a value near the fill value keeps to half a unit of the last digit.")
PYTHON
)
