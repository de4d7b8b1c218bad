#!/usr/bin/env bash
# Surprise:  with a bound relative to the range of the values, the last chunk of a dataset loses everything: HDF5 pads
#            it with the fill value before the filter runs, and the filter takes the padding for data, so for range.
# Where:     hdf5plugin 7.1.0 (filter SZ, relative=...), h5py 3.16.0 (HDF5 2.0.0).
# Expected:  hdf5plugin documents the tolerance as the argument times the range of the data's values. The values that
#            were written hold no fill value.
# Seen:      2026-11-28
# Matters:   netCDF's own fill value is 9.97e36. A field whose shape is no multiple of its chunks, and most are not,
#            comes back as zeros along two edges. A bound relative to the range is unsafe in any chunked format.
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
relative = 1e-3
data = (20 + np.sin(np.linspace(0, 6, 100))).astype("f4")
bound = relative * (float(data.max()) - float(data.min()))
worst = {}
for chunk in (100, 64):
    with h5py.File("a.h5", "w") as f:
        f.create_dataset("a", data=data, chunks=(chunk,), fillvalue=9.969209968386869e36,
                         compression=hdf5plugin.SZ(relative=relative))
    with h5py.File("a.h5") as f:
        back = f["a"][...]
    worst[chunk] = np.abs(back.astype("f8") - data.astype("f8")).max()
    print(f"100 values in chunks of {chunk}: bound {bound:.6f}, largest error {worst[chunk]:.6f},"
          f" last values {back[-3:]}")
if worst[100] > bound:
    sys.exit("CHANGED: the bound does not hold in a whole chunk either.")
if worst[64] < 1000 * bound:
    sys.exit("CHANGED: the padding of the last chunk no longer counts as data.")
print("in the padded chunk the error is", round(worst[64] / bound), "times the bound")
PYTHON
)
