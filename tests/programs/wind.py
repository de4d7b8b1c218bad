"""The field of wind as wind.vtkhdf, wind.nc and wind.xmf, for VTK and ParaView."""

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

open("wind.xmf", "w").write("""<?xml version="1.0" ?>
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
""")
