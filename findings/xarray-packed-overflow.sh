#!/usr/bin/env bash
# Surprise:  a value beyond what a packed variable can hold wraps around in silence: 601 K is saved as int16 with a
#            scale of 0.01 and read back as -54.36 K. And a value that happens to pack to the fill value is read as
#            missing.
# Where:     xarray 2026.9.0, to_netcdf with encoding dtype, scale_factor, add_offset, _FillValue (h5netcdf 1.8.2).
# Expected:  packing rounds to half a step. A value outside the range of the packed type raises, warns or becomes
#            missing; xarray does warn when a float is saved as an integer without a fill value.
# Seen:      2026-11-28
# Matters:   scale and offset are often taken from last year's file. Packing is the oldest lossy compression of this
#            field, and it has no bound as soon as one value is larger than foreseen.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    'xarray==2026.9.0' 'h5netcdf==1.8.2' 'h5py==3.16.0' 'numpy==2.3.5'
(cd "$work" && exec venv/bin/python - << 'PYTHON'
import sys, warnings
import numpy as np, xarray as xr
print("xarray", xr.__version__, "numpy", np.__version__)
step, offset, fill = 0.01, 273.15, -32768
kelvin = np.array([280.0, 600.0, 601.0, offset + fill * step])
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    xr.Dataset({"t": ("x", kelvin)}).to_netcdf("a.nc", engine="h5netcdf", encoding={
        "t": dict(dtype="int16", scale_factor=step, add_offset=offset, _FillValue=np.int16(fill))})
    with xr.open_dataset("a.nc", engine="h5netcdf") as f:
        back = f["t"].values
said = [w for w in said if issubclass(w.category, (UserWarning, RuntimeWarning)) or "overflow" in str(w.message)]
print("saved   ", kelvin.tolist())
print("restored", back.tolist())
print("warnings", [str(w.message) for w in said])
if said:
    sys.exit("CHANGED: xarray warns.")
if not np.allclose(back[:2], kelvin[:2], atol=step / 2, rtol=1e-12):
    sys.exit("CHANGED: values within the packed range are not restored.")
if not abs(back[2] - (601 - 65536 * step)) < step or not np.isnan(back[3]):
    sys.exit("CHANGED: the value beyond the range no longer wraps, or the fill value is told apart.")
PYTHON
)
