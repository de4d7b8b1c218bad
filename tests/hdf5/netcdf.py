"""h5py and netCDF4 in one process: two HDF5 libraries of different versions, one filter.

    python netcdf.py              runs the scenarios, as scenarios.py
    python netcdf.py NAME WORD...      calls a function of this file in the current folder
"""

import ctypes
import glob
import os
import sys
from fractions import Fraction

import h5py
import netCDF4
import numpy as np

from bounds import kept
from scenarios import ABS, NOA, SLEEK, field, long, main, opts, scenario, stored_cd, worst_error

BOUND = 1e-3


def libnetcdf():
    folder = os.path.join(os.path.dirname(netCDF4.__file__), os.pardir, "netcdf4.libs")
    (path,) = glob.glob(os.path.join(folder, "libnetcdf-*.so*"))
    return ctypes.CDLL(path)


def define(f, v, cd):
    """nc_def_var_filter from C, since netCDF4 does not offer filters by number."""
    assert libnetcdf().nc_def_var_filter(f._grpid, v._varid, SLEEK, ctypes.c_size_t(len(cd)), (ctypes.c_uint * len(cd))(*cd)) == 0


def write_netcdf(path, a, cd):
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("y", a.shape[0])
        f.createDimension("x", a.shape[1])
        v = f.createVariable("a", a.dtype, ("y", "x"), chunksizes=(100, 100))
        define(f, v, cd)
        v[:] = a


@scenario
def both_ways_in_one_process():
    assert h5py.version.hdf5_version != netCDF4.__hdf5libversion__, "the wheels bring the same HDF5: nothing is shown"
    a = field((250, 170))
    for i in range(3):
        with h5py.File("h.h5", "w") as f:
            f.create_dataset("a", data=a, chunks=(100, 100), compression=SLEEK, compression_opts=opts(ABS, BOUND))
        write_netcdf("n.nc", a, opts(ABS, BOUND))
        with netCDF4.Dataset("h.h5") as f:
            assert 0 < worst_error(a, np.asarray(f["a"][:])) <= Fraction(BOUND)
        with netCDF4.Dataset("n.nc") as f:
            assert 0 < worst_error(a, np.asarray(f["a"][:])) <= Fraction(BOUND)
        with h5py.File("n.nc") as f:
            assert 0 < worst_error(a, f["a"][:]) <= Fraction(BOUND)
            assert stored_cd(f["a"]) == long(ABS, BOUND, "<f4", (100, 100), fills=(9.969209968386869e36,))


@scenario
def fill_values_and_growth():
    """A variable that grows by a record at a time: what netCDF masks stays masked, and records keep the bound of all of them."""
    rng = np.random.default_rng(1)
    for fill_value in (None, -9999.0, np.float32(1e20)):
        fill = np.float32(netCDF4.default_fillvals["f4"] if fill_value is None else fill_value)
        a = (300 + np.cumsum(rng.normal(size=(40, 300)), axis=0)).astype("f4")
        a[rng.random(a.shape) < 0.1] = fill
        with netCDF4.Dataset("g.nc", "w") as f:
            f.createDimension("time", None)
            f.createDimension("x", 300)
            v = f.createVariable("a", "f4", ("time", "x"), chunksizes=(32, 200), fill_value=fill_value)
            define(f, v, opts(NOA, BOUND))
        with h5py.File("g.nc") as f:
            f["a"]  # a process that only writes does not load the filter
        for i in range(40):
            with netCDF4.Dataset("g.nc", "a") as f:
                assert libnetcdf().nc_inq_filter_avail(f._grpid, SLEEK) == 0
                f["a"][i] = a[i]
        with netCDF4.Dataset("g.nc") as f:
            back = f["a"][:]
        assert np.array_equal(np.ma.getmaskarray(back), a == fill), fill
        kept(a, back.filled(fill), (32, 200), BOUND, [fill])


def make_sample():
    """sample.nc: a float variable with a fill value and room to grow, and others."""
    with netCDF4.Dataset("sample.nc", "w") as f:
        f.createDimension("time", None)
        f.createDimension("x", 170)
        t = f.createVariable("t", "f4", ("time", "x"), chunksizes=(40, 60), fill_value=1e20)
        a = field((130, 170))
        a[10:30, 20:50] = 1e20
        t[:] = a
        t.units = "K"
        f.createVariable("time", "i4", ("time",))[:] = np.arange(130)
        f.createVariable("x", "f8", ("x",))[:] = np.arange(170)
        f.createVariable("name", str, ("x",))[0] = "text"


def make_marked():
    """marked.nc: a variable whose missing values are near the data."""
    rng = np.random.default_rng(2)
    with netCDF4.Dataset("marked.nc", "w") as f:
        f.createDimension("y", 130)
        f.createDimension("x", 170)
        t = f.createVariable("t", "f4", ("y", "x"), chunksizes=(64, 64), fill_value=-9999.0)
        t[:] = np.where(rng.random((130, 170)) < 0.2, -9999, 20 * rng.random((130, 170)))


def make_months():
    """months.nc: records of two variables with fill values of their own, one of each type."""
    rng = np.random.default_rng(3)
    with netCDF4.Dataset("months.nc", "w") as f:
        for name, n in (("time", None), ("lat", 18), ("lon", 36)):
            f.createDimension(name, n)
        axes = {"time": (np.arange(6), "days since 2000-01-01"), "lat": (np.linspace(-85, 85, 18), "degrees_north")}
        for name, (values, units) in {**axes, "lon": (np.arange(0, 360, 10), "degrees_east")}.items():
            v = f.createVariable(name, "f8", (name,))
            v.units, v.standard_name = units, {"lat": "latitude", "lon": "longitude"}.get(name, name)
            v[:] = values
        land = rng.random((18, 36)) < 0.3
        for name, dtype, fill in (("t", "f4", -9999.0), ("u", "f8", 1e20)):
            v = f.createVariable(name, dtype, ("time", "lat", "lon"), chunksizes=(2, 18, 36), fill_value=fill)
            v[:] = np.where(land | (rng.random((6, 18, 36)) < 0.05), fill, 280 + np.cumsum(rng.normal(size=(6, 18, 36)), axis=2))


def same_results(old, new, most):
    """The variables of both files, if they have the same masks, and no values that are further apart."""
    with netCDF4.Dataset(old) as f, netCDF4.Dataset(new) as g:
        names = [name for name in ("t", "u") if name in f.variables]
        for name in names:
            a, b = (np.ma.array(file[name][:], "f8") for file in (f, g))
            assert a.count() and np.array_equal(np.ma.getmaskarray(a), np.ma.getmaskarray(b)), name
            assert np.abs(a - b).max() <= float(most), name
    return names


def read_file(original, packed, bound):
    """Whether netCDF4 reads from both the same, within this bound."""
    compared = 0
    with netCDF4.Dataset(original) as f, netCDF4.Dataset(packed) as g:
        for file in f, g:
            file.set_auto_mask(False)
            file.set_auto_scale(False)
        for name, v in f.variables.items():
            if v.dtype != str and np.issubdtype(v.dtype, np.floating):
                assert worst_error(v[:], g[name][:]) <= Fraction(float(bound)), name
                compared += 1
            else:
                assert np.array_equal(v[:], g[name][:]), name
    assert compared > 0


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:]) if sys.argv[1:] else main()
