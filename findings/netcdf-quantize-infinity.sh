#!/usr/bin/env bash
# Surprise:  netCDF's quantization turns infinity into a number or into NaN: GranularBitRound makes it 0, BitGroom makes
#            every other one NaN. Only BitRound keeps it. The largest finite float32 becomes infinity in two modes.
# Where:     netCDF4 1.7.5.1.post1 (netCDF-C 4.10.1), createVariable(significant_digits=..., quantize_mode=...).
# Expected:  netCDF describes quantizing as keeping a number of significant digits; infinity has no digits to lose, and
#            0 agrees with it in none.
# Seen:      2026-11-28
# Matters:   an overflow of a model, or a mark such as the infinite depth of an open boundary, reads as an ordinary 0
#            afterwards. Rounding of bits has to leave the exponent of all ones alone.
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
inf, largest = np.float32(np.inf), np.finfo("f4").max
data = np.array([inf, inf, -inf, -inf, np.nan, largest, 1.5], "f4")
back = {}
for mode in ("BitRound", "BitGroom", "GranularBitRound"):
    with netCDF4.Dataset("a.nc", "w") as f:
        f.createDimension("x", data.size)
        v = f.createVariable("v", "f4", ("x",), zlib=True, significant_digits=3, quantize_mode=mode)
        v.set_auto_maskandscale(False)
        v[:] = data
    with netCDF4.Dataset("a.nc") as f:
        f["v"].set_auto_maskandscale(False)
        back[mode] = f["v"][:]
    print(mode, back[mode].tolist())
if not np.array_equal(back["BitRound"][:5], data[:5], equal_nan=True):
    sys.exit("CHANGED: BitRound does not keep infinity.")
if not (back["GranularBitRound"][:4] == 0).all():
    sys.exit("CHANGED: GranularBitRound no longer turns infinity into 0.")
if np.isnan(back["BitGroom"][:4]).sum() != 2:
    sys.exit("CHANGED: BitGroom no longer turns half of the infinities into NaN.")
if not (np.isinf(back["GranularBitRound"][5]) and np.isinf(back["BitRound"][5])):
    sys.exit("CHANGED: the largest finite number stays finite.")
PYTHON
)
