#!/usr/bin/env bash
# Surprise:  rounding bits turns a NaN into a number: 0x7fffffff, the NaN that NVIDIA GPUs compute, becomes -0.0; a NaN
#            whose payload is in the low bits becomes infinity. numpy's own NaN, 0x7fc00000, stays one.
# Where:     numcodecs 0.16.6, BitRound(keepbits=10), float32.
# Expected:  NaN in, NaN out: BitRound is described as rounding the mantissa to a number of bits.
# Seen:      2026-11-28
# Matters:   half a unit is added to the bits, and from a mantissa of all ones the carry runs through the exponent into
#            the sign. A field with gaps that a GPU wrote has zeros for gaps afterwards, while a test with np.nan
#            passes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    'numcodecs==0.16.6' 'numpy==2.3.5'
(cd "$work" && exec venv/bin/python - << 'PYTHON'
import sys
import numcodecs, numpy as np
print("numcodecs", numcodecs.__version__, "numpy", np.__version__)
bits = np.array([0x7FC00000, 0xFFC00000, 0x7FFFFFFF, 0xFFFFFFFF, 0x7F800001], "u4")
data = bits.view("f4")
assert np.isnan(data).all()
codec = numcodecs.BitRound(keepbits=10)
back = np.asarray(codec.decode(codec.encode(data.copy()))).view("f4")
for one, value in zip(bits, back):
    print(f"NaN {one:#010x} comes back as {value}")
if not np.isnan(back[:2]).all():
    sys.exit("CHANGED: the ordinary NaN is lost too.")
if not (back[2:4] == 0).all():
    sys.exit("CHANGED: the NaN of all ones is no longer turned into 0.")
if not np.isinf(back[4]):
    sys.exit("CHANGED: a NaN with a low payload is no longer turned into infinity.")
PYTHON
)
