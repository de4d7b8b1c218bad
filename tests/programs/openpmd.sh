#!/usr/bin/env bash
# openPMD-api writes HDF5 with the words of docs/guide/programs.md; run by tests/recipes.sh with tests/data/navy_uwnd_12x73x144.f32.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$1" "$work"
cd "$work"
export HDF5_PLUGIN_PATH=$HOME/sleek/lib/hdf5/plugin

cat > pmd.py <<'END'
import json

import numpy as np
import openpmd_api as io

wind = np.fromfile("navy_uwnd_12x73x144.f32", "<f4").reshape(12, 73, 144)
abs_f32 = [3 | 1 << 8, 1 | 3 << 9 | 4 << 15]  # mode 1; element type 1, 3 dimensions, 4 bytes
bound = [1202590843, 1065646817]  # of sleek h5args --abs 0.01
sleek = {"id": 47474, "flags": "mandatory", "cd_values": abs_f32 + bound + [3, 73, 144]}
options = {"backend": "hdf5", "hdf5": {"dataset": {"chunks": [3, 73, 144], "permanent_filters": [sleek]}}}

series = io.Series("pmd.h5", io.Access.create, json.dumps(options))
mesh = series.snapshots()[0].meshes["uwnd"]
mesh.axis_labels, mesh.grid_spacing, mesh.grid_global_offset = ["time", "y", "x"], [1.0] * 3, [0.0] * 3
mesh.reset_dataset(io.Dataset(wind.dtype, wind.shape))
mesh.store_chunk(wind)
series.close()

series = io.Series("pmd.h5", io.Access.read_only)
restored = series.snapshots()[0].meshes["uwnd"].load_chunk()
series.flush()
print("kept" if np.abs(wind.astype("f8") - restored).max() <= 0.01 else "broken")
END
[ "$(python3 pmd.py)" = kept ]
h5dump -pH -d /data/0/meshes/uwnd pmd.h5 > said
grep -q '(4.*:1 COMPRESSION)' said && grep -q 'COMMENT SLEEK' said
