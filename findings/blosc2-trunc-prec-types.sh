#!/usr/bin/env bash
# Surprise:  the filter that shortens mantissas goes by the size of an element alone: of a complex64 array the real
#            parts become 0 and the imaginary parts lose nothing, and int64 counts from 1000 to 1999 all become 0.
# Where:     blosc2 4.14.1, Filter.TRUNC_PREC with 20 bits to keep.
# Expected:  Blosc2 documents it as truncating floats to a number of bits. An element of 8 bytes that is no float64 is
#            refused, or passed on as it is; elements of 2 bytes are refused.
# Seen:      2026-11-28
# Matters:   8 bytes may be a double, two floats or a count. A lossy filter that is told sizes and not types cannot keep
#            any promise about values.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check 'blosc2==4.14.1' 'numpy==2.3.5'
(cd "$work" && exec venv/bin/python - << 'PYTHON'
import sys
import blosc2, numpy as np
print("blosc2", blosc2.__version__, "numpy", np.__version__)
settings = blosc2.CParams(filters=[blosc2.Filter.TRUNC_PREC, blosc2.Filter.SHUFFLE], filters_meta=[20, 0])
def through(data):
    return blosc2.asarray(data, cparams=settings)[:]
floats = np.linspace(1, 2, 1000)
print("float64: largest relative error", np.abs(through(floats) / floats - 1).max())
spectrum = np.array([3 + 4j, 1000 - 2j, -0.5 + 100j] * 100, "c8")
back = through(spectrum)
print("complex64:", spectrum[:3], "come back as", back[:3])
counts = np.arange(1000, 2000, dtype="i8")
kept = through(counts)
print("int64:", counts[:3], "come back as", kept[:3])
if np.abs(through(floats) / floats - 1).max() > 2.0**-20:
    sys.exit("CHANGED: float64 keeps fewer than 20 bits.")
if (back.real != 0).any() or (back.imag != spectrum.imag).any():
    sys.exit("CHANGED: the real parts of complex64 are no longer set to 0.")
if (kept != 0).any():
    sys.exit("CHANGED: int64 is no longer set to 0.")
PYTHON
)
