#!/usr/bin/env bash
# ParaView's readers, by pvpython, read files with the filter; run by tests/recipes.sh with tests/data/navy_uwnd_12x73x144.f32.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$@" "$work"
cd "$work"

export HDF5_PLUGIN_PATH=$HOME/sleek/lib/hdf5/plugin

cat > image.py <<'END'
import h5py
import numpy as np
import sleek

wind = np.fromfile("navy_uwnd_12x73x144.f32", "<f4").reshape(12, 73, 144)
bounded = {"data": wind, "chunks": (1, 73, 144), **sleek.h5(abs=0.01)}

with h5py.File("wind.vtkhdf", "w") as f:
    root = f.create_group("VTKHDF")
    root.attrs["Version"] = (1, 0)
    root.attrs.create("Type", b"ImageData", dtype=h5py.string_dtype("ascii", 9))
    root.attrs["WholeExtent"] = (0, 143, 0, 72, 0, 11)
    root.attrs["Origin"] = (0.0, 0.0, 0.0)
    root.attrs["Spacing"] = (2.5, 2.5, 1.0)
    root.attrs["Direction"] = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    root.create_dataset("PointData/uwnd", **bounded)

with h5py.File("wind.nc", "w") as f:
    for name, size in ("time", 12), ("lat", 73), ("lon", 144):
        f[name] = np.arange(size, dtype="f8")
        f[name].make_scale(name)
    uwnd = f.create_dataset("uwnd", **bounded)
    for axis, name in enumerate(("time", "lat", "lon")):
        uwnd.dims[axis].attach_scale(f[name])
END

cat > wind.xmf <<'END'
<?xml version="1.0" ?>
<Xdmf Version="2.0">
  <Domain>
    <Grid Name="wind" GridType="Uniform">
      <Topology TopologyType="3DCoRectMesh" Dimensions="12 73 144"/>
      <Geometry GeometryType="ORIGIN_DXDYDZ">
        <DataItem Dimensions="3" Format="XML">0 -90 0</DataItem>
        <DataItem Dimensions="3" Format="XML">1 2.5 2.5</DataItem>
      </Geometry>
      <Attribute Name="uwnd" AttributeType="Scalar" Center="Node">
        <DataItem Dimensions="12 73 144" NumberType="Float" Precision="4" Format="HDF">wind.vtkhdf:/VTKHDF/PointData/uwnd</DataItem>
      </Attribute>
    </Grid>
  </Domain>
</Xdmf>
END

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
    python3 image.py
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
