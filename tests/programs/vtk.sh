#!/usr/bin/env bash
# VTK reads VTKHDF, XDMF and netCDF files with the filter, and says where it is not there; run by tests/recipes.sh with that field of wind.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp tests/programs/wind.py "$@" "$work"
cd "$work"

export PATH=$HOME/sleek/bin:$PATH HDF5_PLUGIN_PATH=$HOME/sleek/lib/hdf5/plugin

cat > write.py <<'END'
from vtkmodules.vtkFiltersSources import vtkSphereSource
from vtkmodules.vtkIOHDF import vtkHDFWriter

sphere = vtkSphereSource(theta_resolution=300, phi_resolution=300)
vtkHDFWriter(file_name="sphere.vtkhdf", input_connection=sphere.output_port).Write()
END

cat > compare.py <<'END'
import numpy as np
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkIOHDF import vtkHDFReader


def read(name):
    reader = vtkHDFReader(file_name=name)
    reader.Update()
    mesh = reader.GetOutputDataObject(0)
    return vtk_to_numpy(mesh.GetPoints().GetData()), vtk_to_numpy(mesh.GetPointData().GetArray("Normals"))


(points, normals), (points_2, normals_2) = read("sphere.vtkhdf"), read("small.vtkhdf")
print(np.array_equal(points, points_2), 0 < np.abs(normals.astype("f8") - normals_2).max() <= 1e-3)
END

{
    python3 write.py
    sleek repack --quiet --dataset /VTKHDF/PointData/Normals=abs=1e-3 sphere.vtkhdf small.vtkhdf
    h5dump -pH -d /VTKHDF/PointData/Normals small.vtkhdf | grep COMMENT
    python3 compare.py
} > said
diff said - <<'END'
         COMMENT SLEEK
True True
END

cat > show.py <<'END'
import sys

import numpy as np
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkIONetCDF import vtkNetCDFCFReader
from vtkmodules.vtkIOXdmf2 import vtkXdmfReader

if sys.argv[1] == "xdmf":
    reader = vtkXdmfReader(file_name="wind.xmf")
else:
    reader = vtkNetCDFCFReader(file_name="wind.nc", spherical_coordinates=False)
    reader.UpdateInformation()
    reader.SetVariableArrayStatus("uwnd", 1)
reader.Update()
field = reader.GetOutputDataObject(0).GetPointData().GetArray("uwnd")
if field is None:
    sys.exit("no field")
wind = np.fromfile("navy_uwnd_12x73x144.f32", "<f4")
error = np.abs(wind.astype("f8") - vtk_to_numpy(field).ravel()).max()
print(sys.argv[1], "kept" if 0 < error <= 0.01 else "broken")
END

{
    python3 wind.py
    python3 show.py xdmf
} > said
diff said - <<'END'
xdmf kept
END

{
    python3 show.py netcdf
    if HDF5_PLUGIN_PATH=/ python3 show.py netcdf 2> reason.txt; then exit 1; fi
    tail -n 1 reason.txt
} > said
diff said - <<'END'
netcdf kept
no field
END
