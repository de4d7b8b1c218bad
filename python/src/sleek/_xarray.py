"""netCDF files of xarray, with the filter for every variable of numbers."""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import Any

from ._hdf5 import h5
from ._params import NAMED

# What an opened file's encoding says of how it was stored there. The rest of it tells what the numbers mean, and stays.
_STORAGE = (
    "zlib", "szip", "bzip2", "blosc", "zstd", "complevel", "compression", "compression_opts", "shuffle", "blosc_shuffle", "fletcher32",
    "szip_coding", "szip_pixels_per_block", "contiguous", "least_significant_digit", "significant_digits", "quantize_mode",
)  # fmt: skip
_CHUNK_BYTES = 4 << 20


def to_netcdf(
    dataset: Any, path: Any, request: str | None = None, /, *, encoding: dict[Any, dict[str, Any]] | None = None, **options: Any
) -> None:
    """Saves a dataset or a variable of xarray as a netCDF file whose data variables of numbers have the filter.

    The request is that of `h5`, by the same arguments, for all of them: floats keep the bound, integers and packed numbers every bit. What they declare missing
    or valid is kept. Coordinates stay as they are. A dataset that was opened from a file is saved anew, whatever its filters were, over
    that file too: a new file takes the place of the old one when it is whole.
    `encoding` has more for some variables, `options` go to xarray's ``to_netcdf``. It is h5netcdf that writes.

    >>> import numpy as np, os, sleek, tempfile, xarray
    >>> path = os.path.join(tempfile.mkdtemp(), "a.nc")
    >>> data = xarray.Dataset({"t": (("y", "x"), np.linspace(0, 1, 40_000).reshape(200, 200))})
    >>> sleek.to_netcdf(data, path, abs=1e-3)
    >>> bool(abs(xarray.open_dataset(path, engine="h5netcdf")["t"] - data["t"]).max() <= 1e-3)
    True
    """
    if not hasattr(dataset, "data_vars"):
        dataset = dataset.to_dataset(name=dataset.name or "data")
    if not options.get("compute", True):
        raise TypeError("compute=False is an option of data.to_netcdf alone; here the file is whole at the return")
    dataset = dataset.copy()
    asked: dict[str, Any] = {name: options.pop(name) for name in NAMED if name in options}
    for name, variable in dataset.variables.items():
        is_data = name in dataset.data_vars and variable.ndim > 0 and variable.size > 0 and variable.dtype.kind in "fiu"
        if is_data or variable.encoding.get("compression") == "unknown":
            said = {**variable.attrs, **variable.encoding, **(encoding or {}).get(name, {})}
            is_packed = not said.keys().isdisjoint(("scale_factor", "add_offset"))
            words = h5(request, variable=variable, **asked) if is_data and not is_packed else h5(lossless=True)
            chunks = variable.encoding.get("chunksizes") or _chunks(variable.shape, variable.dtype.itemsize)
            kept = {key: value for key, value in variable.encoding.items() if key not in _STORAGE}
            variable.encoding = {**kept, "chunksizes": chunks, **words}
        variable.encoding.update((encoding or {}).get(name, {}))
    if isinstance(path, (str, os.PathLike)) and options.get("mode", "w") == "w":
        _replace(dataset, path, options)
    else:
        dataset.to_netcdf(path, engine="h5netcdf", **options)


def _replace(dataset: Any, path: Any, options: dict[str, Any]) -> None:
    """Writes a file beside `path`, and gives it that name when it is whole: values may still be to be read from the file that has it now."""
    target = os.path.realpath(os.path.expanduser(path))
    with tempfile.TemporaryDirectory(prefix=".sleek-", dir=os.path.dirname(target)) as folder:
        written = os.path.join(folder, os.path.basename(target))
        dataset.to_netcdf(written, engine="h5netcdf", **options)
        if os.path.exists(target):
            shutil.copymode(target, written)
        os.replace(written, target)


def _chunks(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Lengths of chunks of at most 4 MiB, which are cut along the slowest dimensions."""
    chunks, bytes_ = list(shape), itemsize
    for axis in reversed(range(len(shape))):
        chunks[axis] = max(1, min(shape[axis], _CHUNK_BYTES // bytes_))
        bytes_ *= chunks[axis]
    return tuple(chunks)
