#!/usr/bin/env bash
# Installs what the tests of HDF5, Python and installing need and is missing: Debian packages, and virtual environments under build/ (or
# $SLEEK_VENVS); with SLEEK_RECIPES=1 also what tests/recipes.sh needs.
set -euo pipefail
cd "$(dirname "$0")/../.."
venvs=${SLEEK_VENVS:-build}

packages=()
need() { # program package...
    command -v "$1" > /dev/null || packages+=("${@:2}")
}
need cc gcc
need c++ g++
need pkg-config pkg-config
need cmake cmake
need h5repack hdf5-tools
need h5cc libhdf5-dev
need h5fc libhdf5-dev
need h5pcc libhdf5-openmpi-dev
need mpirun openmpi-bin
need nccopy netcdf-bin
need nc-config libnetcdf-dev
need gfortran gfortran
need python3 python3
if [ -n "${SLEEK_RECIPES:-}" ]; then   # of docs/guide/programs.md; the others of its tools are heavier
    need ncks nco
    need cdo cdo
fi
python3 -c 'import ensurepip' 2> /dev/null || packages+=(python3-venv)

if [ ${#packages[@]} -gt 0 ]; then
    sudo=
    [ "$(id -u)" = 0 ] || sudo=sudo
    echo "installing ${packages[*]}"
    $sudo apt-get update -qq
    DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "${packages[@]}"
fi

made=()   # pip waits for the network most of the time: all at once
venv() { # name, what to import, packages...
    make_venv "$@" &
    made+=($!)
}
make_venv() {
    local python=$venvs/$1/bin/python
    if ! "$python" -c "import $2" 2> /dev/null; then
        echo "making $venvs/$1"
        python3 -m venv --clear "$venvs/$1"
        "$python" -m pip install --quiet --disable-pip-version-check "${@:3}"
    fi
}
mkdir -p "$venvs"
venv venv-h5py-1.14 'h5py, hdf5plugin, h5netcdf, xarray' 'h5py==3.15.*' hdf5plugin h5netcdf xarray   # its wheel brings HDF5 1.14.6
venv venv-h5py-2 'h5py, hdf5plugin' 'h5py==3.16.*' hdf5plugin      # HDF5 2.0.0
venv venv-netcdf 'h5py, netCDF4' 'netCDF4==1.7.5.*' 'h5py==3.16.*'   # HDF5 2.2.0 beside 2.0.0
venv venv-numpy 'numpy, ml_dtypes, pytest' numpy ml_dtypes pytest   # no HDF5 at all
newer=()   # what needs Python 3.11
[ "$(python3 -c 'import sys; print(sys.version_info >= (3, 11))')" = False ] || newer=(virtualizarr kerchunk)
venv venv-python "h5py, hdf5plugin, netCDF4, tables, xarray, h5netcdf, zarr, dask.array, ml_dtypes, mypy, pytest, pyfive${newer:+, virtualizarr, kerchunk}" \
    h5py hdf5plugin netCDF4 tables xarray h5netcdf zarr dask ml_dtypes mypy pytest pyfive "${newer[@]}"   # all that the Python package works with, the newest
[ -z "${SLEEK_RECIPES:-}" ] || venv venv-recipes 'h5py, netCDF4, xarray, h5netcdf, openpmd_api, zarr, distributed' \
    h5py netCDF4 xarray h5netcdf openpmd-api zarr dask distributed   # what tests/programs names
[ -z "${SLEEK_RECIPES:-}" ] || venv venv-adios2 'adios2' 'adios2>=2.12' numpy   # what docs/guide/archives.md names
# openPMD-api's ADIOS2 is its own, of a version whose headers and library the package of that version has.
[ -z "${SLEEK_RECIPES:-}" ] || venv venv-openpmd 'adios2, openpmd_api' 'adios2==2.11.*' 'openpmd-api==0.17.*' numpy
# What tests/programs/pynwb.sh and tests/hdf5/trees.py name; only when asked for, as they bring 900 MB.
[ "${SLEEK_H5AD:-}" != 1 ] || venv venv-h5ad 'h5py, anndata, pynwb, silx, iris' h5py anndata pynwb silx scitools-iris
# What tests/programs/vtk.sh names; only when asked for, as the wheel of VTK has 130 MB.
[ "${SLEEK_VTK:-}" != 1 ] || venv venv-vtk 'h5py, h5netcdf, vtkmodules' --no-deps vtk numpy h5py h5netcdf packaging
# The oldest h5py with wheels for numpy 1 and this Python, if there is one: HDF5 1.14.2.
if python3 -c 'import sys; sys.exit(not (3, 8) <= sys.version_info < (3, 13))'; then
    venv venv-h5py-old 'h5py, h5netcdf, xarray' 'h5py==3.10.*' 'numpy<2' h5netcdf xarray
fi
for one in "${made[@]}"; do wait "$one"; done
