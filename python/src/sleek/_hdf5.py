"""The HDF5 filter, for h5py."""

from __future__ import annotations

import ctypes
import os
import re
import struct
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ._attributes import with_declared
from ._library import SleekError, lib
from ._params import F64, INVALID_ARGUMENT, MODES, asks_for_integers, in_words, params, refuse_if_wrong

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._params import Asked

FILTER_ID = 47474
"""The filter's id in HDF5."""

_VERSION, _TEXT, _RANGE, _FILL, _INTEGERS, _NO_FILL = 1, 2, 1 << 8, 1 << 9, 1 << 10, 1 << 11


def h5(request: str | None = None, /, *, variable: Any = None, **asked: Unpack[Asked]) -> dict[str, Any]:
    """The arguments that make ``create_dataset`` of h5py use the filter; also for the ``encoding`` of xarray with h5netcdf.

    What they mean is said at `compress`, also in words, but for one thing: ``noa`` without `range` takes the value range of each HDF5 chunk, not
    that of the whole dataset, and spends up to two bits for each value more, so that chunks can be written again. The fill value that a
    dataset was given is known without `fill`. What can have no bound, integers and strings, is stored losslessly;
    a rate or a precision is for integers too where a request in words says so: ``sleek.h5("rate=8,codec=zfp,integers")``.

    `variable` is one of xarray (or h5py, or netCDF4) that the arguments are for: what its ``_FillValue`` and ``missing_value`` name are
    missing values, unless `fill` names some, or is False: then no value is a missing one, whatever it looks like. And what is inside of
    its ``valid_range``, or of ``valid_min`` and ``valid_max``, stays inside, as with ``sleek.h5("abs=1e-3,limits=0:1")``. The bound
    counts for numbers as they are stored: for packed ones, not for what ``scale_factor`` makes of them.

    >>> import sleek
    >>> sleek.h5(abs=1e-3)
    {'compression': 47474, 'compression_opts': (1, 1, 3539053052, 1062232653, 0)}
    >>> sleek.h5("abs=1e-3") == sleek.h5(abs=1e-3)
    True
    """
    words = in_words(request, asked) if variable is None else with_declared(variable, request, asked, with_limits=True)
    # The library's parameters are for one array, and have no limits.
    plain = ",".join(item for item in words.split(",") if not is_limits(item))
    p = params(F64, plain)
    refuse_if_wrong(p)
    if p.missing_count or plain != words:
        text = words.encode()
        return {"compression": FILTER_ID, "compression_opts": (_TEXT, *struct.unpack(f"<{-(-len(text) // 4)}I", text + bytes(-len(text) % 4)))}
    flags = p.profile | (_RANGE if p.range else 0) | (_FILL if p.has_fill_value else 0) | (_NO_FILL if p.find_fill < 0 else 0) | p.codec << 16
    # The library's parameters are for one array, whose type is known: they do not have this word.
    flags |= _INTEGERS if asks_for_integers(words) else 0
    # The filter takes no bound of 0, which forgotten words would be.
    mode = p.mode if p.bound else MODES.index("lossless")
    numbers = [p.bound] + [p.range] * bool(p.range) + [p.fill_value] * bool(p.has_fill_value)
    low, high, *more = struct.unpack(f"<{2 * len(numbers)}I", struct.pack(f"<{len(numbers)}d", *numbers))
    return {"compression": FILTER_ID, "compression_opts": (_VERSION, mode, low, high, flags, *more)}


def is_limits(item: str) -> bool:
    """Whether an item of a request is one of valid limits; raises what is wrong with it."""
    key, _, value = item.partition("=")
    if key.strip() != "limits":
        return False
    ends = value.split(":")
    try:
        low, high = (float(end) if end.strip() else default for end, default in zip(ends, (float("-inf"), float("inf"))))
        right = len(ends) == 2 and low <= high
    except ValueError:
        right = False
    if not right:
        raise SleekError(f"'{item}' needs two numbers, the smaller one first, as in 'limits=0:1' or 'limits=0:'", INVALID_ARGUMENT)
    return True


def register() -> list[str]:
    """Registers the filter with every HDF5 library that the process has loaded so far, and tells which; the import does it too.

    Libraries that are loaded after `sleek` find the filter by HDF5_PLUGIN_PATH, which the import sets. An HDF5 that is a part of another
    library, as in openPMD-api, must be one of these: it is not found here. No other thread may be using HDF5 meanwhile.

    >>> import h5py, sleek
    >>> any("hdf5" in library for library in sleek.register())
    True
    """
    done = {}
    for path in _libraries():
        try:
            library = ctypes.PyDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
            function = library.H5Zregister
        except (OSError, AttributeError):  # unloaded meanwhile, or another library of the name
            continue
        function.restype, function.argtypes = ctypes.c_int, [ctypes.c_void_p]
        # Libraries above HDF5 lead to the same function.
        address = ctypes.cast(function, ctypes.c_void_p).value
        if address not in done and function(lib.sleek_h5_class()) >= 0:
            done[address] = path
    return list(done.values())


def _libraries() -> list[str]:
    """The libraries of the process that are called after HDF5, those with the shortest names first."""
    paths: set[bytes] = set()
    with suppress(OSError), open("/proc/self/maps", "rb") as maps:
        paths.update(line.split(maxsplit=5)[5].rstrip(b"\n") for line in maps if b"/" in line)
    named = [os.fsdecode(path) for path in paths if re.search(rb"/libhdf5[^/]*\.so[^/]*$", path)]
    return sorted(named, key=lambda path: (len(path), path))


def register_at_import() -> None:
    """Registers the filter with the HDF5 of h5py, if h5py can be imported, and with all others that are there."""
    try:
        import h5py
    except Exception:  # not there, or broken, which whoever imports it is going to see
        register()
        return
    try:
        done = h5py.h5z.register_filter(lib.sleek_h5_class())
    except (AttributeError, RuntimeError, ValueError) as e:
        done, reason = False, f": {e}"
    else:
        reason = ""
    if not done:
        warnings.warn(
            f"h5py {h5py.__version__} did not take the SLEEK filter{reason}; set HDF5_PLUGIN_PATH to sleek.PLUGIN_PATH instead",
            RuntimeWarning,
            stacklevel=3,
        )
    register()
