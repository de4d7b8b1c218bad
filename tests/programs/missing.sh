#!/usr/bin/env bash
# What programs say without the plugin: docs/guide/programs.md lists the sentences. Run by tests/recipes.sh with a field of wind,
# tests/data/navy_uwnd_12x73x144.f32.
set -euo pipefail
page=$(realpath docs/guide/programs.md)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$1" "$work/wind.f32"
cd "$work"

python3 - <<'END'
import h5py, numpy as np, sleek
wind = np.fromfile("wind.f32", "<f4").reshape(12, 73, 144)
with h5py.File("small.nc", "w") as f:
    f.create_dataset("uwnd", data=wind, chunks=(1, 73, 144), **sleek.h5(abs=0.01))
END
cat > read.c <<'END'
#include <hdf5.h>

int main(void)
{
    static float uwnd[12][73][144];
    hid_t file = H5Fopen("small.nc", H5F_ACC_RDONLY, H5P_DEFAULT), dset = H5Dopen2(file, "uwnd", H5P_DEFAULT);
    return H5Dread(dset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, uwnd) < 0;
}
END
h5cc read.c -o read

says() { # a sentence of the page, command
    "${@:2}" > said 2>&1 || true
    grep -qF "$1" said || { cat said && echo "not said: $1" && exit 1; } >&2
    grep -qF "\`$1\`" "$page" || { echo "docs/guide/programs.md has not: $1" && exit 1; } >&2
}
h5py=(python3 -c 'import h5py; h5py.File("small.nc")["uwnd"][0]')
export HDF5_PLUGIN_PATH=/
says 'unable to print data' h5dump -d uwnd small.nc
says 'cannot be read, user defined filter is not available' h5repack -f NONE small.nc plain.nc
if h5ls plain.nc/uwnd > left 2>&1; then echo 'uwnd is in plain.nc' >&2 && exit 1; fi
says 'NetCDF: Filter error: undefined filter encountered' ncdump -v uwnd small.nc
says 'NetCDF: Filter error: undefined filter encountered' nccopy small.nc copy.nc
says 'NetCDF: Filter error: undefined filter encountered' python3 -c 'import netCDF4; netCDF4.Dataset("small.nc")["uwnd"][0]'
says "can't find plugin. Check either HDF5_VOL_CONNECTOR, HDF5_PLUGIN_PATH, default location, or path set by H5PLxxx functions" "${h5py[@]}"
says "required filter 'SLEEK' is not registered" ./read
unset HDF5_PLUGIN_PATH
says "can't open directory (/usr/local/lib/plugin). Please verify its existence" "${h5py[@]}"
# The import reaches every HDF5 of the process.
python3 -c 'import netCDF4, h5py, sleek; assert netCDF4.Dataset("small.nc")["uwnd"].shape == (12, 73, 144) and h5py.File("small.nc")["uwnd"][0, 0, 0] < 1'
