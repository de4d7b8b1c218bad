#!/usr/bin/env bash
# Surprise:  missing values given as NaN come back as 0.0 from the LERC codec, with no error and no warning. The stream
#            holds a mask of them, but the decoder hands it out only when asked, and the codec for Zarr never asks.
# Where:     imagecodecs 2026.3.6 (lerc_encode, lerc_decode and imagecodecs.numcodecs.Lerc; LERC 4.0.0).
# Expected:  NaN comes back as NaN, as it does when GDAL writes and reads LERC, or is refused.
# Seen:      2026-11-28
# Matters:   0 is a valid height, rain rate and temperature. A codec for Zarr sees only encode and decode: what these
#            two lose is lost for good.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    'imagecodecs==2026.3.6' 'numcodecs==0.16.6' 'numpy==2.3.5'
(cd "$work" && exec venv/bin/python - << 'PYTHON'
import sys
import imagecodecs, numpy as np
from imagecodecs.numcodecs import Lerc
print("imagecodecs", imagecodecs.__version__, imagecodecs.lerc_version())
data = np.full((64, 64), 280, "f4") + np.arange(64, dtype="f4")
data[3:9, 4:20] = np.nan
gap = np.isnan(data)
bound = 0.01
codec = Lerc(level=bound)
for name, back in (("lerc_decode", imagecodecs.lerc_decode(imagecodecs.lerc_encode(data, level=bound))),
                   ("the codec for Zarr", codec.decode(codec.encode(data)))):
    print(f"{name}: {gap.sum()} NaN went in, {np.isnan(back).sum()} came back, in their place {np.unique(back[gap])};"
          f" largest error elsewhere {np.abs(back - data)[~gap].max()}")
    if np.isnan(back).any() or (back[gap] != 0).any():
        sys.exit("CHANGED: NaN is no longer turned into 0.")
    if np.abs(back - data)[~gap].max() > bound:
        sys.exit("CHANGED: the bound does not hold beside NaN.")
mask = imagecodecs.lerc_decode(imagecodecs.lerc_encode(data, level=bound), masks=True)[1]
print("asked for masks, the decoder tells where:", np.array_equal(np.asarray(mask) == 0, gap))
PYTHON
)
