import os

from spack_repo.builtin.build_systems.makefile import MakefilePackage

from spack.package import *


class Sleek(MakefilePackage):
    """Error-bounded and lossless compression of floating-point arrays: an HDF5 filter and a
    C library, on CPUs and NVIDIA GPUs."""

    # The repository that this recipe lies in, until there is a public one.
    git = "file://" + os.path.realpath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 6))

    license("MIT OR Apache-2.0")

    version("main", branch="main")
    version("0.4.0", tag="v0.4.0")

    depends_on("c", type="build")
    depends_on("rust@1.89:", type="build")
    depends_on("gmake", type="build")
    # Fetches the compilers of the kernels from PyPI; SLEEK_KERNELS=none builds without kernels.
    depends_on("python@3.8:", type="build")

    # HDF5 is not linked: the plugin serves every HDF5 from 1.10 on.
    variant("tools", default=False, description="Install HDF5's tools beside it")
    depends_on("hdf5@1.10:", type="run", when="+tools")

    # Not `make test`, which installs packages of Debian.
    build_time_test_callbacks = []

    def build(self, spec, prefix):
        make("build")

    def install(self, spec, prefix):
        make("-o", "build", "install", f"PREFIX={prefix}")

    def setup_run_environment(self, env):
        env.prepend_path("HDF5_PLUGIN_PATH", join_path(self.prefix.lib, "hdf5", "plugin"))

    def test_command(self):
        """the command runs, and its arguments of h5repack are those of the documentation"""
        sleek = which(self.prefix.bin.sleek)
        out = sleek("h5args", "--abs", "1e-3", output=str.split, error=str.split)
        assert "UD=47474,0,5,1,1,3539053052,1062232653,0" in out
