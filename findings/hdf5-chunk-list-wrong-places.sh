#!/usr/bin/env bash
# Surprise:  HDF5 lists the chunks of a dataset at wrong places where one dimension is unlimited, and not the first,
#            in the latest format (extensible array). H5Dget_chunk_info, H5Dchunk_iter and H5Dget_chunk_info_by_coord
#            agree on it; H5Dread and H5Dread_chunk take the right chunk.
# Where:     HDF5 2.0.0 (h5py 3.16.0) and 1.14.6 (h5py 3.15.1); 1.10.8, 1.14.2 and 2.2.0 are the same.
# Expected:  the coordinates of a listed chunk are those of its first element, as in the earliest format.
# Seen:      2026-11-29
# Matters:   tools that list chunks and copy them as they are put values elsewhere, or take a chunk for missing. Asking
#            for each place with H5Dget_chunk_storage_size is right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for versions in "h5py==3.16.0 2.0.0" "h5py==3.15.1 1.14.6"; do
    set -- $versions
    rm -rf "$folder/venv"
    python3 -m venv "$folder/venv"
    "$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$1" numpy==2.3.5
    "$folder/venv/bin/python" - "$folder/a.h5" "$2" << 'END'
import sys

import h5py
import numpy as np

path, version = sys.argv[1:]
assert h5py.version.hdf5_version == version, h5py.version.hdf5_version
written = {(2, 0), (4, 3)}


def listed(libver, limits):
    """Where HDF5 says that the chunks of a dataset are, of which two were written; and where it finds one if asked."""
    with h5py.File(path, "w", libver=(libver, "v110")) as f:
        x = f.create_dataset("x", (6, 9), "f4", chunks=(2, 3), maxshape=limits, compression="gzip")
        for i, j in written:
            x[i : i + 2, j : j + 3] = 10 * i + j
    with h5py.File(path) as f:
        x, found = f["x"], set()
        by_index = {x.id.get_chunk_info(n).chunk_offset for n in range(x.id.get_num_chunks())}
        by_walk = set()
        x.id.chunk_iter(lambda chunk: by_walk.add(chunk.chunk_offset))
        for at in np.ndindex(3, 3):
            at = 2 * at[0], 3 * at[1]
            if x.id.get_chunk_info_by_coord(at).byte_offset is not None:
                found.add(at)
        values = all((x[i : i + 2, j : j + 3] == 10 * i + j).all() for i, j in written)
        for at in written:
            x.id.read_direct_chunk(at)  # fails where there is none
    print(f"HDF5 {version}, {libver}, {limits}: listed {sorted(by_index)}, by coordinates {sorted(found)}")
    assert by_index == by_walk and values
    return by_index == found == written


if not listed("earliest", (6, None)) or not listed("v110", (None, 9)) or not listed("v110", (None, None)):
    sys.exit("CHANGED: chunks of other indexes are listed at wrong places, too.")
if listed("v110", (6, None)):
    sys.exit("CHANGED: the chunks are listed at their places.")
END
done
