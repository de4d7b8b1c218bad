#!/usr/bin/env bash
# Surprise:  h5repack leaves a dataset out of the new file when the filter that wrote it is not installed: one warning,
#            exit status 0, and the copy is a sound file with fewer datasets.
# Where:     hdf5-tools 1.10.8 of Debian 12 (1.10.8+repack1-1), a file with the LZ4 filter of hdf5plugin 7.1.0.
# Expected:  the copy holds everything, or the program fails. Without -f it copies the same dataset byte for byte.
# Seen:      2026-11-28
# Matters:   "repack, check the exit status, move the copy over the original" is in many scripts; it deletes the data of
#            whoever has no plugin on that machine. Ask h5repack -v or count the datasets.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
installed=$(dpkg-query -W -f '${Version}' hdf5-tools 2> /dev/null) || installed=none
echo "hdf5-tools $installed"
[ "$installed" = 1.10.8+repack1-1 ] || { echo "Needs Debian's hdf5-tools 1.10.8+repack1-1." >&2; exit 1; }
python3 -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    'hdf5plugin==7.1.0' 'h5py==3.15.1' 'numpy==2.3.5'
cd "$work"
venv/bin/python - << 'PYTHON'
import h5py, hdf5plugin, numpy as np
with h5py.File("a.h5", "w") as f:
    f["plain"] = np.arange(1000.0)
    f.create_dataset("packed", data=np.arange(1000.0), chunks=(1000,), compression=hdf5plugin.LZ4())
PYTHON
mkdir empty
export HDF5_PLUGIN_PATH=$PWD/empty   # no plugin is found

names() { h5ls "$1" | cut -d ' ' -f 1 | tr '\n' ' '; }
h5repack a.h5 same.h5
echo "h5repack: $(names same.h5)"
[ "$(names same.h5)" = "packed plain " ] || { echo "CHANGED: a copy without -f is not complete." >&2; exit 1; }
status=0
h5repack -f GZIP=4 a.h5 smaller.h5 > said.txt 2>&1 || status=$?
echo "h5repack -f GZIP=4: exit status $status, $(names smaller.h5)"
cat said.txt
if [ "$status" != 0 ] || [ "$(names smaller.h5)" != "plain " ]; then
    echo "CHANGED: h5repack fails, or copies the dataset whose filter is missing." >&2
    exit 1
fi
