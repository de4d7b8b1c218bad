#!/usr/bin/env bash
# Surprise:  a chunk that H5Dwrite_chunk replaces, as it is and with the filter's bit in the mask, cannot be read until the
#            file is closed: HDF5 goes by the mask that it knew before. Opened again, the file has the new values.
# Where:     HDF5 2.0.0 (h5py 3.16.0) and 1.14.6 (h5py 3.15.1), deflate.
# Expected:  what write_direct_chunk wrote is what the next read gives.
# Seen:      2026-11-29
# Matters:   a writer that changes a chunk from compressed to plain, or back, must open the dataset again, or leave that
#            chunk to H5Dwrite.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for versions in "h5py==3.16.0 2.0.0" "h5py==3.15.1 1.14.6"; do
    set -- $versions
    rm -rf "$folder/venv"
    python3 -m venv "$folder/venv"
    "$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$1" numpy==2.3.5
    "$folder/venv/bin/python" - "$folder/a.h5" "$2" <<'END'
import sys

import h5py
import numpy as np

path, version = sys.argv[1:]
assert h5py.version.hdf5_version == version, h5py.version.hdf5_version
new = np.arange(1000, dtype="f4")
with h5py.File(path, "w") as f:
    f.create_dataset("x", data=np.zeros(1000, "f4"), chunks=(1000,), compression="gzip")
with h5py.File(path, "a") as f:
    x = f["x"]
    x.id.write_direct_chunk((0,), new.tobytes(), filter_mask=1)
    try:
        x[:]
        said = "read"
    except OSError as error:
        said = f"not read: {error}"
with h5py.File(path) as f:
    again = np.array_equal(f["x"][:], new)
print(f"HDF5 {version}: in the same session {said}; opened again {'right' if again else 'wrong'}")
if not said.startswith("not read") or not again:
    sys.exit("CHANGED: the chunk is read in the same session, or the file is wrong.")
END
done
