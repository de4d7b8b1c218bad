#!/usr/bin/env bash
# Surprise:  nccopy -F drops the filter that it was asked for when the variable is deflated already: deflate stays, the
#            new filter is nowhere, exit status 0 and no word. It does not even look whether the filter exists.
# Where:     netcdf-bin 4.9.0 of Debian 12 (1:4.9.0-3+b1), with the LZ4 filter of hdf5plugin 7.1.0.
# Expected:  the manual says that -F sets the filter of the named variable of the output. The same command on a plain
#            variable does so. A filter that is not there fails there, and should fail here.
# Seen:      2026-11-28
# Matters:   nearly every netCDF-4 file is deflated, so the obvious command to change a file's compression changes
#            nothing. `nccopy -F none` first, then a second copy with the filter. Look at the result with ncdump -hs.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
installed=$(dpkg-query -W -f '${Version}' netcdf-bin 2> /dev/null) || installed=none
echo "netcdf-bin $installed"
[ "$installed" = 1:4.9.0-3+b1 ] || { echo "Needs Debian's netcdf-bin 1:4.9.0-3+b1." >&2; exit 1; }
python3 -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check 'hdf5plugin==7.1.0' 'h5py==3.16.0'
HDF5_PLUGIN_PATH=$("$work/venv/bin/python" -c 'import hdf5plugin; print(hdf5plugin.PLUGIN_PATH)')
export HDF5_PLUGIN_PATH
cd "$work"

values=$(seq -s ', ' 1 4096)
ncgen -k nc4 -o a.nc << CDL
netcdf a {
dimensions: x = 4096 ;
variables:
    float deflated(x) ; deflated:_DeflateLevel = 4 ; deflated:_ChunkSizes = 4096 ;
    float plain(x) ; plain:_ChunkSizes = 4096 ;
data: deflated = $values ; plain = $values ;
}
CDL
lz4=32004 absent=32767
filters() { ncdump -hs "$1" | grep -E '_(Filter|DeflateLevel)' | tr -d '\t;' | tr '\n' ' '; }

nccopy -F "plain,$lz4" a.nc plain.nc
echo "LZ4 for the plain variable: $(filters plain.nc)"
changed() { echo "CHANGED: $1" >&2; exit 1; }
[[ $(filters plain.nc) = *"plain:_Filter = \"$lz4"* ]] || changed "a plain variable does not get the filter."
! nccopy -F "plain,$absent" a.nc absent.nc 2> /dev/null || changed "an absent filter is taken for a plain variable."
echo "an absent filter for the plain variable: refused"
for filter in "$lz4" "$absent"; do
    nccopy -F "deflated,$filter" a.nc deflated.nc || changed "filter $filter is refused."
    echo "filter $filter for the deflated variable: exit status 0, $(filters deflated.nc)"
    [[ $(filters deflated.nc) != *deflated:_Filter* ]] || changed "a deflated variable gets the new filter."
    [[ $(filters deflated.nc) = *"deflated:_DeflateLevel = 4"* ]] || changed "deflate is taken away."
done
nccopy -F none a.nc bare.nc
nccopy -F "deflated,$lz4" bare.nc both.nc
echo "after -F none: $(filters both.nc)"
