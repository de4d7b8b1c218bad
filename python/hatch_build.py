"""Puts libsleek.so and the command into the wheel, with its manual page and completions, and names the wheel after what they need."""

import os
import platform
import re
import subprocess
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


COMPLETIONS = {
    "bash": "share/bash-completion/completions/sleek",
    "zsh": "share/zsh/site-functions/_sleek",
    "fish": "share/fish/vendor_completions.d/sleek.fish",
    "man": "share/man/man1/sleek.1",
}
"""Where a shell looks, below the folder of an environment or of a user."""


class LibraryHook(BuildHookInterface):
    def initialize(self, version, build_data):
        library, command, third_party = map(named, ("SLEEK_LIBRARY", "SLEEK_COMMAND", "SLEEK_THIRD_PARTY"))
        build_data["pure_python"] = False
        # Any Python 3: the library is loaded with ctypes and knows nothing of Python's own interface.
        build_data["tag"] = f"py3-none-{platform_tag(Path(library).read_bytes() + Path(command).read_bytes())}"
        # A folder with nothing else in it, so that HDF5_PLUGIN_PATH can name it.
        build_data["force_include"][library] = "sleek/plugin/libsleek.so"
        build_data["shared_scripts"][command] = "sleek"
        build_data["force_include"][third_party] = f"sleek_compress-{self.metadata.version}.dist-info/licenses/THIRD-PARTY.txt"
        made = Path(tempfile.mkdtemp())
        for shell, place in COMPLETIONS.items():
            text = subprocess.run([*os.environ.get("SLEEK_RUNNER", "").split(), command, "completions", shell], check=True, capture_output=True).stdout
            (made / shell).write_bytes(text)
            build_data["shared_data"][str(made / shell)] = place


def named(variable):
    """The file that a variable names."""
    file = os.environ.get(variable, "")
    if not Path(file).is_file():
        raise FileNotFoundError(f"{variable} is {file!r}, which is not a file: build the wheel with make dist DIST=wheel")
    return file


def platform_tag(binaries: bytes) -> str:
    """manylinux_2_X for the newest glibc symbol that they ask for; they need libc, libm and libgcc_s only."""
    versions = {(int(major), int(minor)) for major, minor in re.findall(rb"GLIBC_(\d+)\.(\d+)", binaries)}
    if not versions:
        raise ValueError("the library names no version of glibc: this wheel is for Linux with glibc")
    major, minor = max(versions)
    return f"manylinux_{major}_{minor}_{os.environ.get('SLEEK_MACHINE') or platform.machine()}"
