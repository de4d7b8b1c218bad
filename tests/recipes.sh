#!/usr/bin/env bash
# What docs/guide's programs, archives and mpi print, other programs (tests/programs), and the examples with MPI in CMake, against what
# `make install` and `make dist` give. Needs what tests/hdf5/setup.sh installs.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=$(realpath "${SLEEK_VENVS:-build}")/venv-recipes
adios2=$(realpath "${SLEEK_VENVS:-build}")/venv-adios2
openpmd=$(realpath "${SLEEK_VENVS:-build}")/venv-openpmd
vtk=$(realpath "${SLEEK_VENVS:-build}")/venv-vtk
h5ad=$(realpath "${SLEEK_VENVS:-build}")/venv-h5ad
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
step() { echo "recipes: $*"; }
quiet() { "$@" > "$work/log" 2>&1 || { tail -n 40 "$work/log" >&2 && echo "recipes: FAILED: $*" >&2 && exit 1; }; }

export CARGO_HOME=${CARGO_HOME:-$HOME/.cargo} RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup} HOME=$work/home
unset PREFIX LIBDIR DESTDIR PKG_CONFIG_PATH LD_LIBRARY_PATH CMAKE_PREFIX_PATH HDF5_PLUGIN_PATH HDF5_PLUGIN_DIR MAKEFLAGS MAKELEVEL
unset SLEEK_PARAMS SLEEK_LOG SLEEK_NUM_THREADS PYTHONPATH VIRTUAL_ENV
mkdir "$HOME"
# More ranks than cores, by root in a container too.
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

step "install and wheel"
quiet make -s install PREFIX="$HOME/sleek"
quiet make -s dist DIST=wheel
quiet "$venv/bin/python" -m pip install --disable-pip-version-check --no-deps --target "$work/site" build/wheel/sleek_compress-*.whl

wind=tests/data/navy_uwnd_12x73x144.f32
step "openPMD-api, $("$venv/bin/python" -c 'import h5py, openpmd_api as o; print("h5py", h5py.__version__, "and openPMD-api", o.__version__)')"
PATH=$venv/bin:$PATH bash tests/programs/openpmd.sh $wind

step "without the plugin"
PATH=$venv/bin:$PATH PYTHONPATH=$work/site bash tests/programs/missing.sh $wind

step "dask $("$venv/bin/python" -c 'import dask; print(dask.__version__)'): two workers, one Zarr store"
PATH=$venv/bin:$PATH PYTHONPATH=$work/site bash tests/programs/dask.sh

step "ADIOS2 $("$adios2/bin/python" -c 'import adios2; print(adios2.__version__)')"
PATH=$adios2/bin:$PATH python3 tests/pages.py --with $wind \
    --with integrations/adios2/plugin.cpp --with integrations/adios2/CMakeLists.txt 'docs/guide/archives.md#adios2'

ADIOS2_PLUGIN_PATH=$HOME/sleek/lib "$adios2/bin/python" integrations/adios2/test.py modes

step "the operator through openPMD-api $("$openpmd/bin/python" -c 'import openpmd_api as o; print(o.__version__)')"
quiet cmake -S integrations/adios2 -B "$work/openpmd" -DCMAKE_PREFIX_PATH="$HOME/sleek" \
    -DADIOS2_INCLUDE_DIR="$("$openpmd/bin/python" -c 'import adios2; print(adios2.__path__[0])')/include"
quiet cmake --build "$work/openpmd"
ADIOS2_PLUGIN_PATH=$work/openpmd "$openpmd/bin/python" integrations/adios2/test.py openpmd 2> "$work/log" || { cat "$work/log" >&2 && exit 1; }

# Tools that are there; installing all of them would take longer than running the pages.
(
    cd "$work"
    export PATH=$HOME/sleek/bin:$PATH HDF5_PLUGIN_PATH=$HOME/sleek/lib/hdf5/plugin
    "$venv/bin/python" - "$OLDPWD/tests/data/navy_uwnd_12x73x144.f32" <<'END'
import sys, numpy, xarray
wind = numpy.fromfile(sys.argv[1], "<f4").reshape(12, 73, 144)
months = xarray.Dataset({"uwnd": (("time", "lat", "lon"), wind)}, {"time": numpy.arange(12)})
months.to_netcdf("wind.nc", engine="netcdf4", encoding={"uwnd": {"chunksizes": (1, 73, 144)}})
END
    quiet h5repack -f "uwnd:$(sleek h5args --ud --abs 0.01)" wind.nc small.nc
)
tool() { # section of the page, command that succeeds if the tool is there
    if "${@:2}" > /dev/null 2>&1; then
        step "docs/guide/programs.md#$1"
        PATH=$HOME/sleek/bin:$PATH python3 tests/pages.py --with "$work/small.nc" "docs/guide/programs.md#$1"
    else
        step "docs/guide/programs.md#$1: passed over, since its tool is not there"
    fi
}
tool nco ncks --version
tool cdo cdo --version
tool gdal-and-qgis gdalinfo --version
tool r-with-hdf5r Rscript -e 'library(hdf5r)'
tool r-with-rhdf5 Rscript -e 'library(rhdf5)'

program() { # script, folder of its Python, command that succeeds if the program is there
    if "${@:3}" > /dev/null 2>&1; then
        step "$1"
        quiet env PATH="$HOME/sleek/bin:$2:$PATH" PYTHONPATH="$work/site" bash "$1" $wind
    else
        step "$1: passed over, since its program is not there"
    fi
}
program tests/programs/octave.sh "$venv/bin" octave-cli --version
program tests/programs/pynwb.sh "$h5ad/bin" "$h5ad/bin/python" -c 'import pynwb'    # SLEEK_H5AD=1 bash tests/hdf5/setup.sh
program tests/programs/vtk.sh "$vtk/bin" "$vtk/bin/python" -c 'import vtkmodules'   # SLEEK_VTK=1
program tests/programs/paraview.sh "$venv/bin" pvpython --version

step "docs/guide/mpi.md"
python3 tests/pages.py $(printf -- '--with examples/mpi/%s ' heat.c file_per_rank.c together.c together.f90) docs/guide/mpi.md

step "examples/mpi with CMake"
quiet cmake -S examples/mpi -B "$work/mpi" -DCMAKE_PREFIX_PATH="$HOME/sleek"
quiet cmake --build "$work/mpi"
(cd "$work/mpi" && quiet ctest --output-on-failure && cp "$work/log" "$work/tests")
grep -q '^100% tests passed, 0 tests failed out of 5' "$work/tests" || { cat "$work/tests" >&2 && exit 1; }
step "passed"
