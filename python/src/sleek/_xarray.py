"""netCDF files of xarray, with the filter for every variable of numbers."""

from __future__ import annotations

import itertools
import os
from typing import Any

from ._hdf5 import FILTER_ID, h5
from ._params import NAMED
from ._whole import replacing

# What an opened file's encoding says of how it was stored there. The rest of it tells what the numbers mean, and stays.
_STORAGE = (
    "zlib", "szip", "bzip2", "blosc", "zstd", "complevel", "compression", "compression_opts", "shuffle", "blosc_shuffle", "fletcher32",
    "szip_coding", "szip_pixels_per_block", "contiguous", "least_significant_digit", "significant_digits", "quantize_mode",
)  # fmt: skip
_OF_FILTER = ("sleek_mode", "sleek_bound", "sleek_range")
_CHUNK_BYTES = 4 << 20


def to_netcdf(
    dataset: Any, path: Any, request: str | None = None, /, *, encoding: dict[Any, dict[str, Any]] | None = None, **options: Any
) -> None:
    """Saves a dataset or a variable of xarray as a netCDF file whose data variables of numbers have the filter.

    The request is that of `h5`, by the same arguments, for all of them: floats keep the bound, integers and packed numbers every bit. What they declare missing
    or valid is kept. Coordinates stay as they are. A dataset that was opened from a file is saved anew, whatever its filters were, over
    that file too: a new file takes the place of the old one when it is whole. With ``mode="a"`` no data variable may be there already.
    `encoding` has more for some variables, `options` go to xarray's ``to_netcdf``. It is h5netcdf that writes.

    >>> import numpy as np, os, sleek, tempfile, xarray
    >>> path = os.path.join(tempfile.mkdtemp(), "a.nc")
    >>> data = xarray.Dataset({"t": (("y", "x"), np.linspace(0, 1, 40_000).reshape(200, 200))})
    >>> sleek.to_netcdf(data, path, abs=1e-3)
    >>> bool(abs(xarray.open_dataset(path, engine="h5netcdf")["t"] - data["t"]).max() <= 1e-3)
    True
    """
    if type(dataset).__name__ == "DataTree":
        raise TypeError("a DataTree has several datasets: save each with group=..., the first with mode='w' and the others with mode='a'")
    if not hasattr(dataset, "data_vars"):
        taken = (None, *dataset.dims, *dataset.coords)
        names = itertools.chain([dataset.name, "data"], (f"data{n}" for n in itertools.count(1)))
        dataset = dataset.to_dataset(name=next(name for name in names if name not in taken))
    if not options.get("compute", True):
        raise TypeError("compute=False is an option of data.to_netcdf alone; here the file is whole at the return")
    if options.pop("engine", "h5netcdf") != "h5netcdf":
        raise TypeError("h5netcdf writes the file, which any engine reads: no other engine can be named")
    if path is None:
        raise TypeError("path is None; the path of a file is needed, or a file")
    dataset = dataset.copy()
    path = os.fsdecode(path) if isinstance(path, bytes) else path
    _refuse_filled(dataset, path, options)
    asked: dict[str, Any] = {name: options.pop(name) for name in NAMED if name in options}
    for name, variable in dataset.variables.items():
        more = (encoding or {}).get(name, {})
        variable.encoding = {**variable.encoding, **more}
        is_data = name in dataset.data_vars and variable.ndim > 0 and variable.size > 0 and variable.dtype.kind in "fiu"
        if is_data or variable.encoding.get("compression") == "unknown":
            is_packed = not {**variable.attrs, **variable.encoding}.keys().isdisjoint(("scale_factor", "add_offset"))
            words = h5(request, variable=variable, **asked) if is_data and not is_packed else h5(lossless=True)
            chunks = variable.encoding.get("chunksizes") or _chunks(variable.shape, variable.dtype.itemsize)
            kept = {key: value for key, value in variable.encoding.items() if key not in _STORAGE}
            variable.encoding = {**kept, "chunksizes": chunks, **words, **more}
            # What the command told of another filter; of losses it stays.
            variable.attrs = {key: value for key, value in variable.attrs.items() if key not in _OF_FILTER}
    if isinstance(path, (str, os.PathLike)) and options.get("mode", "w") == "w":
        # Values may still be to be read from the file that has the name now.
        with replacing(os.path.expanduser(path)) as new:
            dataset.to_netcdf(new, engine="h5netcdf", **options)
    else:
        dataset.to_netcdf(path, engine="h5netcdf", **options)


def _refuse_filled(dataset: Any, path: Any, options: dict[str, Any]) -> None:
    """Raises where a variable is in the file that is added to: it would keep the filter and the type that it was made with. Coordinates,
    which are exact, may be there without the filter."""
    import h5py

    if options.get("mode", "w") == "w":
        return
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError("mode='a' is for a file that a path names")
    if not os.path.exists(os.path.expanduser(path)):
        return
    with h5py.File(os.path.expanduser(path), "r") as file:
        group = file.get(options.get("group") or "/", {})
        there = [name for name in dataset.variables if name in group and (name in dataset.data_vars or _has_filter(group[name]))]
    if there:
        raise ValueError(f"{path} has {', '.join(map(repr, there))} already, with a filter that would stay: write another file")


def _has_filter(dataset: Any) -> bool:
    properties = dataset.id.get_create_plist()
    return any(properties.get_filter(place)[0] == FILTER_ID for place in range(properties.get_nfilters()))


def _chunks(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Lengths of chunks of at most 4 MiB, which are cut along the slowest dimensions."""
    chunks, bytes_ = list(shape), itemsize
    for axis in reversed(range(len(shape))):
        chunks[axis] = max(1, min(shape[axis], _CHUNK_BYTES // bytes_))
        bytes_ *= chunks[axis]
    return tuple(chunks)
