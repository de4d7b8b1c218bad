#!/usr/bin/env bash
# Surprise:  Blosc2 with the documented choice TRUNC_PREC compresses nothing: an array of zeros takes all its bytes. The
#            file still names the filter; only the mask of each chunk tells that it was left out.
# Where:     hdf5plugin 7.1.0 (filter Blosc2, filters=Blosc2.TRUNC_PREC), h5py 3.16.0 (HDF5 2.0.0).
# Expected:  hdf5plugin lists TRUNC_PREC as setting low bits of the mantissa to zero before Blosc2 compresses; there is
#            no argument for how many. Either that happens or a request that cannot be met is refused.
# Seen:      2026-11-28
# Matters:   h5py marks filters as optional, so HDF5 keeps a chunk as it is when the filter fails, without a word. What
#            `dataset.compression` or h5dump names is a request: only chunk sizes or masks tell what happened.
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
zeros = np.zeros((64, 64), "f4")
found = {}
for name in ("SHUFFLE", "TRUNC_PREC"):
    with h5py.File("a.h5", "w") as f:
        f.create_dataset("a", data=zeros, chunks=zeros.shape,
                         compression=hdf5plugin.Blosc2(filters=getattr(hdf5plugin.Blosc2, name)))
    with h5py.File("a.h5") as f:
        chunk = f["a"].id.get_chunk_info(0)
        listed = f["a"].id.get_create_plist().get_filter(0)[0]
    found[name] = (chunk.size, chunk.filter_mask)
    print(f"{name}: the file names filter {listed}; {zeros.nbytes} bytes in {chunk.size}, mask {chunk.filter_mask}")
if found["SHUFFLE"][0] > 1000 or found["SHUFFLE"][1] != 0:
    sys.exit("CHANGED: Blosc2 with SHUFFLE does not compress zeros.")
if found["TRUNC_PREC"] != (zeros.nbytes, 1):
    sys.exit("CHANGED: with TRUNC_PREC the chunk is no longer stored raw.")
PYTHON
)
