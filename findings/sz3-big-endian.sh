#!/usr/bin/env bash
# Surprise:  a field of big-endian numbers comes back as nothing but zeros: the filter reads the bytes in the machine's
#            order, so 280.25 K looks like a number near 0, and zero lies within the bound of that.
# Where:     hdf5plugin 7.1.0 (filter SZ3, absolute=...), h5py 3.16.0 (HDF5 2.0.0), on a little-endian machine.
# Expected:  hdf5plugin says that absolute=0.01 keeps the restored values within 0.01. HDF5 hands a filter the bytes as
#            they lie in the file, in the order that the type says; the same values in little-endian order keep the
#            bound.
# Seen:      2026-11-28
# Matters:   big-endian floats are an ordinary type of HDF5 (fields from FITS, GRIB decoders or old netCDF). The ratio
#            is splendid and no error is raised. A lossy filter has to ask for the order of bytes, not for the size
#            alone.
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
bound = 0.01
x = np.linspace(0, 6, 60)
kelvin = np.round((280 + 10 * np.sin(x)[:, None] * np.cos(x)) * 4) / 4   # quarters of a degree: exact in float32
worst = {}
for order in ("<f4", ">f4"):
    with h5py.File("a.h5", "w") as f:
        f.create_dataset("t", data=kelvin.astype(order), chunks=kelvin.shape,
                         compression=hdf5plugin.SZ3(absolute=bound))
    with h5py.File("a.h5") as f:
        back, size = f["t"][...], f["t"].id.get_storage_size()
    worst[order] = np.abs(back.astype("f8") - kelvin).max()
    print(f"{order}: bound {bound}, largest error {worst[order]:.6f}, {kelvin.size * 4} bytes in {size},"
          f" restored values {back.min()} to {back.max()}")
if worst["<f4"] > bound:
    sys.exit("CHANGED: the bound does not hold for little-endian numbers either.")
if worst[">f4"] < 200:
    sys.exit("CHANGED: big-endian numbers are no longer lost.")
PYTHON
)
