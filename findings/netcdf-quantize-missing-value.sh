#!/usr/bin/env bash
# Surprise:  quantizing a variable that marks missing cells by the attribute missing_value makes them valid: the mark
#            itself is rounded, equals the attribute no more, and 9.97e19 is read as a measured value.
# Where:     netCDF4 1.7.5.1.post1 (netCDF-C 4.10.1), createVariable(significant_digits=..., quantize_mode=...).
# Expected:  masked cells stay masked. The library spares the value of _FillValue; the conventions for climate files
#            give missing_value the same meaning, and the same package masks and unmasks by it.
# Seen:      2026-11-28
# Matters:   means and sums are wrong by nineteen orders of magnitude. Any lossy step must know every mark that readers
#            know, not the one that the format has a slot for.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    'netCDF4==1.7.5.1.post1' 'numpy==2.3.5'
(cd "$work" && exec venv/bin/python - << 'PYTHON'
import sys
import numpy as np
import netCDF4
print("netCDF4", netCDF4.__version__, "netCDF-C", netCDF4.__netcdf4libversion__)
mark = np.float32(1e20)
data = np.ma.array([280.0, 281.0, 282.0, 283.0], mask=[0, 1, 0, 0], dtype="f4")
means = {}
for digits in (None, 3):
    for name in ("missing_value", "_FillValue"):
        with netCDF4.Dataset("a.nc", "w") as f:
            f.createDimension("x", data.size)
            options = {} if digits is None else dict(significant_digits=digits, quantize_mode="GranularBitRound")
            fill = mark if name == "_FillValue" else None
            v = f.createVariable("t", "f4", ("x",), zlib=True, fill_value=fill, **options)
            if name == "missing_value":
                v.missing_value = mark
            v[:] = data
        with netCDF4.Dataset("a.nc") as f:
            back = f["t"][:]
        means[digits, name] = float(back.mean())
        print(f"significant digits {digits}, mark in {name}: {back}, mean {means[digits, name]:.6g}")
if any(abs(means[case] - 281.67) > 1 for case in means if case != (3, "missing_value")):
    sys.exit("CHANGED: a mark is lost without quantizing, or in _FillValue.")
if means[3, "missing_value"] < 1e18:
    sys.exit("CHANGED: cells marked by missing_value stay masked.")
PYTHON
)
