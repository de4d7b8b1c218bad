"""Compression of arrays of floating-point numbers, lossless or with an error bound that holds for every value.

An array has any shape, of at most 32 dimensions, and elements of float16, bfloat16, float32, float64 or integers, which are lossless
only. An absolute bound is in the unit of the values; ``noa`` is a part of the value range, ``rel`` a part of each value. NaN,
infinities and missing values come back bit for bit. What is refused or damaged raises `SleekError`, whose ``code`` is the status of
``sleek.h``. The method is SLEEK (Akathoott, Rodriguez, Burtscher, IPDPS'26); the same streams are read from C, HDF5 and the command.

Arrays in memory:

>>> import numpy as np, sleek
>>> field = np.sin(np.linspace(0, 60, 100_000, dtype="f4"))
>>> stream = sleek.compress(field, abs=1e-3)
>>> restored = sleek.decompress(stream)
>>> bool(np.abs(field.astype("f8") - restored).max() <= 1e-3)
True

HDF5: importing this module registers the filter with h5py, if h5py is there, and with every other HDF5 library that is loaded. It adds
``sleek.PLUGIN_PATH`` to the environment variable HDF5_PLUGIN_PATH, for libraries that are loaded later, as netCDF4's, and for children.
``sleek.h5(abs=1e-3)`` gives the arguments for ``create_dataset``, and ``sleek.to_netcdf`` saves a dataset of xarray. Other programs find the filter when
HDF5_PLUGIN_PATH names ``sleek.PLUGIN_PATH`` before they start.
"""

from ._array import Info, compress, compress_bound, decompress, decompress_box, decompress_range, inspect
from ._compressed import CompressedArray
from ._direct import Transfer, read, write
from ._hdf5 import FILTER_ID, h5, register, register_at_import
from ._library import PLUGIN_PATH, SleekError, __version__
from ._looks import ranges, where
from ._netcdf import nc_def_var_filter
from ._path import set_variable
from ._target import find_bound
from ._xarray import to_netcdf

__all__ = [
    "FILTER_ID",
    "PLUGIN_PATH",
    "CompressedArray",
    "Info",
    "SleekError",
    "Transfer",
    "__version__",
    "compress",
    "compress_bound",
    "decompress",
    "decompress_box",
    "decompress_range",
    "find_bound",
    "h5",
    "inspect",
    "nc_def_var_filter",
    "ranges",
    "read",
    "register",
    "to_netcdf",
    "where",
    "write",
]

set_variable()
register_at_import()
del set_variable, register_at_import
