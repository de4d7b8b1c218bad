#!/usr/bin/env bash
# Surprise:  with H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS the chunks at the rim pass no filter, and H5Dread_chunk,
#            H5Dget_chunk_info and H5Dchunk_iter give the filter mask 0 for them, which says that they passed all.
# Where:     HDF5 2.0.0 (h5py 3.16.0) and 1.14.6 (h5py 3.15.1); 1.10.8, 1.14.2 and 2.2.0 are the same.
# Expected:  the mask has the bits of the filters that were not applied, as for chunks that a filter refuses.
# Seen:      2026-11-29
# Matters:   whoever decodes chunks past HDF5 by that mask fails, or undoes a shuffle that was never done, and no
#            checksum tells. H5Pget_chunk_opts and the chunk's place decide, not the mask.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for versions in "h5py==3.16.0 2.0.0" "h5py==3.15.1 1.14.6"; do
    set -- $versions
    rm -rf "$folder/venv"
    python3 -m venv "$folder/venv"
    "$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$1" numpy==2.3.5
    "$folder/venv/bin/python" - "$folder/a.h5" "$2" << 'END'
import ctypes
import sys

import h5py
import numpy as np

path, version = sys.argv[1:]
assert h5py.version.hdf5_version == version, h5py.version.hdf5_version
# h5py has no name for the option: the HDF5 that it has loaded is called.
library = next(line.split()[-1] for line in open("/proc/self/maps") if "h5py.libs/libhdf5-" in line)
set_options = ctypes.CDLL(library).H5Pset_chunk_opts
set_options.argtypes = [ctypes.c_int64, ctypes.c_uint]


def rim(options):
    """Mask and bytes of the chunk at the rim, of 8 elements of which 4 lie in the dataset."""
    with h5py.File(path, "w", libver=("v110", "v110")) as f:
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        creation.set_chunk((8,))
        creation.set_shuffle()
        assert set_options(creation.id, options) >= 0
        x = h5py.h5d.create(f.id, b"x", h5py.h5t.STD_I32LE, h5py.h5s.create_simple((12,)), creation)
        x.write(h5py.h5s.ALL, h5py.h5s.ALL, np.arange(1, 13, dtype="i4"))
    with h5py.File(path) as f:
        assert np.array_equal(f["x"][:], np.arange(1, 13))
        x, masks = f["x"], []
        x.id.chunk_iter(lambda chunk: masks.append(chunk.filter_mask))
        mask, stored = x.id.read_direct_chunk((8,))
        assert {mask} == {*masks, x.id.get_chunk_info(1).filter_mask}
        return mask, stored


(mask, shuffled), (plain_mask, plain) = rim(0), rim(2)
print(f"HDF5 {version}: filtered, mask {mask}: {list(shuffled[:8])}; without, mask {plain_mask}: {list(plain[:8])}")
if mask != 0 or shuffled[:4] != bytes([9, 10, 11, 12]) or plain[:8] != bytes([9, 0, 0, 0, 10, 0, 0, 0]):
    sys.exit("CHANGED: the chunks are stored otherwise.")
if plain_mask != 0:
    sys.exit("CHANGED: the mask says that the chunk passed no filter.")
END
done
