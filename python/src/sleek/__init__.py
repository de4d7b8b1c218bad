"""Compression of arrays of floating-point numbers, lossless or with an error bound that holds for every value.

Arrays in memory:

>>> import numpy as np, sleek
>>> field = np.sin(np.linspace(0, 60, 100_000, dtype="f4"))
>>> stream = sleek.compress(field, abs=1e-3)
>>> restored = sleek.decompress(stream)
>>> bool(np.abs(field.astype("f8") - restored).max() <= 1e-3)
True

HDF5: importing this module registers the filter with h5py, if h5py is there, and changes nothing else.
``sleek.h5(abs=1e-3)`` gives the arguments for ``create_dataset`` and for xarray's ``encoding``. Other HDF5 libraries, such as that of
netCDF4, find the filter when the environment variable HDF5_PLUGIN_PATH names ``sleek.PLUGIN_PATH`` before they are loaded.
"""

from ._array import Info, compress, decompress, decompress_range, inspect
from ._hdf5 import FILTER_ID, h5, register
from ._library import PLUGIN_PATH, SleekError, __version__
from ._sentinel import MissingValueWarning
from ._target import find_bound

__all__ = [
    "FILTER_ID",
    "PLUGIN_PATH",
    "Info",
    "MissingValueWarning",
    "SleekError",
    "__version__",
    "compress",
    "decompress",
    "decompress_range",
    "find_bound",
    "h5",
    "inspect",
]

register()
del register
