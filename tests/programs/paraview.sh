#!/usr/bin/env bash
# ParaView's readers, by pvpython, read files with the filter; run by tests/recipes.sh with tests/data/navy_uwnd_12x73x144.f32.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp tests/programs/wind.py "$@" "$work"
cd "$work"

export HDF5_PLUGIN_PATH=$HOME/sleek/lib/hdf5/plugin

cat > show.py <<'END'
import os

import numpy as np
from paraview import servermanager
from paraview.simple import NetCDFReader, VTKHDFReader, XDMFReader, Xdmf3ReaderS
from paraview.vtk.util.numpy_support import vtk_to_numpy

here = os.getcwd()
wind = np.fromfile("navy_uwnd_12x73x144.f32", "<f4").reshape(12, 73, 144)
readers = {
    "VTKHDF": VTKHDFReader(FileName=f"{here}/wind.vtkhdf"),
    "netCDF": NetCDFReader(FileName=[f"{here}/wind.nc"], SphericalCoordinates=0),
    "XDMF 2": XDMFReader(FileNames=[f"{here}/wind.xmf"]),
    "XDMF 3": Xdmf3ReaderS(FileName=[f"{here}/wind.xmf"]),
}
for name, reader in readers.items():
    reader.UpdatePipeline()
    data = servermanager.Fetch(reader)
    while data.IsA("vtkMultiBlockDataSet"):
        data = data.GetBlock(0)
    field = data.GetPointData().GetArray("uwnd")
    values = np.zeros(1) if field is None else vtk_to_numpy(field).ravel().astype("f8")
    error = np.abs(wind.ravel()[: values.size] - values).max()
    print(name, "kept" if 0 < error <= 0.01 else "broken")
END

{
    python3 wind.py
    pvpython show.py 2> /dev/null | grep -E 'kept|broken'
} > said
diff said - <<'END'
VTKHDF kept
netCDF kept
XDMF 2 kept
XDMF 3 kept
END

{
    HDF5_PLUGIN_PATH=/ pvpython show.py > printed.txt 2>&1 || true
    grep -c kept printed.txt || true
    grep -o "required filter 'SLEEK' is not registered" printed.txt | sort -u
} > said
diff said - <<'END'
0
required filter 'SLEEK' is not registered
END
