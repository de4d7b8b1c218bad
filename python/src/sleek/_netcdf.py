"""The filter for netCDF4-python, whose `createVariable` takes no filters by number."""

from __future__ import annotations

import ctypes
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._hdf5 import FILTER_ID, h5, register
from ._library import SleekError
from ._params import INVALID_ARGUMENT

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._params import Asked

_HDF5_ERROR = 13
# Filters of netCDF4 that come before ours once they are there; shuffle is taken out.
_OTHERS = ("zlib", "szip", "zstd", "bzip2", "blosc", "fletcher32")


def nc_def_var_filter(variable: Any, request: str | None = None, /, **asked: Unpack[Asked]) -> None:
    """Makes a variable of netCDF4 use the filter, before anything is written to it; the arguments are those of `h5`.

    It may be of a netCDF-4 file (not of its model NETCDF4_CLASSIC), or of a Zarr store that netCDF writes (NCZarr), for which sleek must be imported
    before netCDF4, or HDF5_PLUGIN_PATH name ``sleek.PLUGIN_PATH``. What the attributes ``_FillValue`` and ``missing_value`` of the variable name by
    now are missing values, unless `fill` names some, or is False for none. Values inside of its ``valid_range``, or of ``valid_min`` and
    ``valid_max``, stay inside.

    >>> import netCDF4, numpy as np, sleek
    >>> with netCDF4.Dataset("a.nc", "w", diskless=True) as file:
    ...     _ = file.createDimension("x", 1000)
    ...     variable = file.createVariable("a", "f8", ("x",), chunksizes=(300,))
    ...     sleek.nc_def_var_filter(variable, abs=1e-3)
    ...     variable[:] = np.linspace(0, 1, 1000)
    ...     bool(np.abs(variable[:] - np.linspace(0, 1, 1000)).max() <= 1e-3)
    True
    """
    import netCDF4

    if not isinstance(variable, netCDF4.Variable):
        raise TypeError(f"a variable of netCDF4 is needed, not {type(variable).__name__}")
    if variable.group().data_model == "NETCDF4_CLASSIC":
        raise SleekError(
            f"{variable.name!r} is of a file of NETCDF4_CLASSIC, to whose variables netCDF adds no filter: "
            "make the file with format='NETCDF4', or compress it afterwards with sleek repack",
            INVALID_ARGUMENT,
        )
    words = h5(request, variable=variable, **asked)["compression_opts"]
    others = [name for name, on in (variable.filters() or {}).items() if on and name in _OTHERS]
    is_float = getattr(variable.dtype, "kind", "") == "f"
    if others and is_float and "lossless" not in (request or "") and not asked.get("lossless"):
        raise SleekError(
            f"{variable.name!r} was made with {', '.join(others)}, which would come first and break the bound: create it without"
            " (zlib=False, compression=None, fletcher32=False)",
            INVALID_ARGUMENT,
        )
    register()
    # What netCDF4 is linked to, of which there may be several in a process.
    netcdf = ctypes.PyDLL(import_module("netCDF4._netCDF4").__file__)
    netcdf.nc_def_var_filter.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_uint, ctypes.c_size_t, ctypes.c_void_p]
    netcdf.nc_strerror.restype = ctypes.c_char_p
    status = netcdf.nc_def_var_filter(variable._grpid, variable._varid, FILTER_ID, len(words), (ctypes.c_uint * len(words))(*words))
    if status:
        reason = netcdf.nc_strerror(status).decode()
        needed = "it must have dimensions, and no data yet"
        raise SleekError(f"netCDF did not take the filter for {variable.name!r} ({needed}): {reason} ({status})", _HDF5_ERROR)
