"""Puts libsleek.so into the wheel, and names the wheel after what the library needs."""

import os
import platform
import re
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class LibraryHook(BuildHookInterface):
    def initialize(self, version, build_data):
        library = os.environ.get("SLEEK_LIBRARY", "")
        if not Path(library).is_file():
            raise FileNotFoundError(f"SLEEK_LIBRARY is {library!r}, which is not a file: build the wheel with make wheel")
        build_data["pure_python"] = False
        # Any Python 3: the library is loaded with ctypes and knows nothing of Python's own interface.
        build_data["tag"] = f"py3-none-{platform_tag(Path(library).read_bytes())}"
        # A folder with nothing else in it, so that HDF5_PLUGIN_PATH can name it.
        build_data["force_include"][library] = "sleek/plugin/libsleek.so"


def platform_tag(library: bytes) -> str:
    """manylinux_2_X for the newest glibc symbol that the library asks for; it needs libc, libm and libgcc_s only."""
    versions = {(int(major), int(minor)) for major, minor in re.findall(rb"GLIBC_(\d+)\.(\d+)", library)}
    if not versions:
        raise ValueError("the library names no version of glibc: this wheel is for Linux with glibc")
    major, minor = max(versions)
    return f"manylinux_{major}_{minor}_{platform.machine()}"
