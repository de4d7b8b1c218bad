#!/usr/bin/env bash
# Surprise:  records with big-endian fields, written to an array of format 3 with its default codecs, come back byte-swapped when the
#            array is opened anew: 1 is 16777216. The object that wrote them still reads them right.
# Where:     zarr 3.1.6, create_array(dtype=[("a", ">i4"), ("b", ">f4")], zarr_format=3).
# Expected:  what was written, as an array of plain ">i4" in format 3 gives it, and the same records in format 2.
# Seen:      2026-11-30
# Matters:   metadata of format 3 tell no byte order, and the codec "bytes" turns no records round: tables of detectors, of FITS or of
#            network data are big-endian. Whoever writes a codec has to store bytes of anything but plain numbers in one order.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check 'zarr==3.1.6' 'numcodecs==0.16.6' 'numpy==2.3.5'
(cd "$work" && exec venv/bin/python -W ignore - << 'PYTHON'
import sys
import numpy as np
import zarr
print("zarr", zarr.__version__)

def comes_back(form, values):
    store = zarr.storage.MemoryStore()
    array = zarr.create_array(store, shape=values.shape, chunks=values.shape, dtype=values.dtype, zarr_format=form)
    array[:] = values
    back = zarr.open_array(store, mode="r")[:]
    print(f"format {form}, {values.dtype}: {back[0]} for {values[0]}; by the writer {array[:][0]}")
    return back.tolist() == values.tolist()

pairs = [(1, 2.5), (3, 4.5)]
big, little = (np.array(pairs, [("a", f"{order}i4"), ("b", f"{order}f4")]) for order in "><")
if not (comes_back(2, big) and comes_back(3, little) and comes_back(3, np.array([1, 3], ">i4"))):
    sys.exit("CHANGED: little-endian records, plain numbers or format 2 come back as others.")
if comes_back(3, big):
    sys.exit("CHANGED: big-endian records come back as they were.")
PYTHON
)
