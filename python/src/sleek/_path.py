"""HDF5_PLUGIN_PATH: by it libraries that are loaded after sleek, and the processes that this one starts, find the filter."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterable

from ._library import PLUGIN_PATH

VARIABLE = "HDF5_PLUGIN_PATH"


def set_variable() -> None:
    """Adds our folder to the variable. What is in it stays and comes first; where it is not set, the folders that HDF5 would search by itself
    come first, as the variable takes their place. netCDF4 sets it too, but only where it is not set: so its folder is added. That of
    hdf5plugin is not: it registers its filters itself, and passes over those that HDF5 finds."""
    given = os.environ.get(VARIABLE)
    first = _defaults() if given is None else given.split(os.pathsep)
    os.environ[VARIABLE] = joined([*first, PLUGIN_PATH, *_of_netcdf4()])


def joined(folders: Iterable[str]) -> str:
    """The folders in their order, each once."""
    return os.pathsep.join(dict.fromkeys(folder for folder in folders if folder))


def _of_netcdf4() -> list[str]:
    try:
        spec = importlib.util.find_spec("netCDF4")
    except Exception:  # whatever a module or finder raises that somebody put in its place
        return []
    places = (spec.submodule_search_locations if spec else None) or []
    return [folder for folder in (os.path.join(place, "plugins") for place in places) if os.path.isdir(folder)]


def _defaults() -> list[str]:
    """The folders that are there of those that builds of HDF5 search: their own, conda's, Debian's, Fedora's."""
    debian = f"/usr/lib/{os.uname().machine}-linux-gnu/hdf5"
    folders = [
        "/usr/local/hdf5/lib/plugin",
        "/usr/local/lib/hdf5/plugin",
        "/usr/local/lib/plugin",
        os.path.join(sys.prefix, "lib/hdf5/plugin"),
        *(f"{debian}/{build}/plugins" for build in ("serial", "openmpi", "mpich")),
        f"{debian}/plugins",
        "/usr/lib64/hdf5/plugin",
        "/usr/lib/hdf5/plugin",
    ]
    return [folder for folder in folders if os.path.isdir(folder)]
