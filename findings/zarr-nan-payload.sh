#!/usr/bin/env bash
# Surprise:  a chunk in which every value is R's NA, a NaN that carries the number 1954, comes back as plain NaN from an
#            array without any lossy step. Beside one number in its chunk the same NA keeps all of its bits.
# Where:     zarr 3.1.5, create_array(fill_value=nan, filters=None, compressors=None), formats 2 and 3.
# Expected:  without a lossy codec bits come back as they were, as they do for -0.0 beside a fill value of 0.0.
# Seen:      2026-11-29
# Matters:   chunks equal to the fill value are not stored, and one NaN counts as equal to any other: R and whoever
#            marks kinds of gaps by payloads finds NaN for NA, as the chunks fall. write_empty_chunks=True helps.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    'zarr==3.1.5' 'numcodecs==0.16.6' 'numpy==2.3.5'
(cd "$work" && exec venv/bin/python - << 'PYTHON'
import sys
import numpy as np
import zarr
print("zarr", zarr.__version__)
NA = np.uint64(0x7FF00000000007A2)
gaps = np.full(8, NA).view("f8")
beside = gaps.copy()
beside[::4] = 280.25  # one number in each chunk
zeros = np.full(8, -0.0)

def kept(form, values, fill, **config):
    array = zarr.create_array(zarr.storage.MemoryStore(), shape=(8,), chunks=(4,), dtype="f8", fill_value=fill,
                              filters=None, compressors=None, zarr_format=form, config=config or None)
    array[:] = values
    same = int((array[:].view("u8") == values.view("u8")).sum())
    print(f"format {form}, fill value {fill}, {config}: {same} of 8 keep their bits; last {array[:].view('u8')[-1]:#x}")
    return same

for form in (2, 3):
    others = [kept(form, beside, np.nan), kept(form, zeros, 0.0), kept(form, gaps, np.nan, write_empty_chunks=True)]
    if others != [8, 8, 8]:
        sys.exit("CHANGED: bits are lost beside numbers, of -0.0, or though empty chunks are written.")
    if kept(form, gaps, np.nan) != 0:
        sys.exit("CHANGED: a chunk of NA alone keeps its bits.")
PYTHON
)
