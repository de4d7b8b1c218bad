#!/usr/bin/env bash
# What tests/clean-room.sh runs inside the fresh root.
set -euo pipefail
cd /room
export PIP_DISABLE_PIP_VERSION_CHECK=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
step() { echo "clean room: $*"; }
fail() { echo "clean room: FAILED: $*" >&2 && exit 1; }

debian_packages() {
    step "Debian packages: installed"
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends ./*.deb > log 2>&1 || { cat log && exit 1; }
    sleek doctor | tail -n 1 | grep -x 'All is well.' || fail "$(sleek doctor)"
    sleek doctor | grep '^Plugin of this command: /usr/lib/.*/hdf5/' || fail "$(sleek doctor)"

    step "found by h5repack, h5dump and h5py with no variable set"
    python3 - << 'END'
import h5py, numpy as np
field = 280 + 10 * np.sin(np.linspace(0, 60, 100_000))
with h5py.File("a.h5", "w") as f:
    f.create_dataset("t", data=field, chunks=(1000,))
    f.create_dataset("u", data=field, chunks=(1000,), compression=47474, compression_opts=(1, 1, 3539053052, 1062232653, 0))
with h5py.File("a.h5") as f:
    assert 0 < np.abs(f["u"][:] - field).max() <= 1e-3
END
    h5repack -f "$(sleek h5args --ud --abs 1e-3)" a.h5 b.h5
    [ "$(h5dump -pH b.h5 | grep -c 'FILTER_ID 47474')" = 2 ] || fail "h5repack did not use the filter"
    h5diff --delta=0.001 a.h5 b.h5 || fail "the bound is broken"

    step "compiled against the packages: C, CMake"
    cc examples/c/compress.c $(pkg-config --cflags --libs sleek) -lm -o compress && ./compress
    cmake -S examples -B build > log 2>&1 && cmake --build build >> log 2>&1 && (cd build && ctest) >> log 2>&1 || { cat log && exit 1; }
    tail -n 4 log | grep 'tests passed'

    step "Debian packages: removed"
    apt-get purge -y -qq sleek libsleek0 libsleek-dev hdf5-filter-plugin-sleek > log 2>&1 || { cat log && exit 1; }
    left=$(find / -xdev \( -path /proc -o -path /room \) -prune -o -iname '*sleek*' -print)
    [ -z "$left" ] || fail "left behind: $left"
    if h5dump -d /u b.h5 > log 2>&1; then fail "the filter is still found"; fi
    rm -rf build
}
# They are there for the release that they were made on.
! ls ./*.deb > /dev/null 2>&1 || debian_packages

step "the tarball: unpacked, its quick starts and examples"
mkdir sleek-prefix && tar -xf sleek-*-linux-*.tar.gz -C sleek-prefix --strip-components 1 && mv sleek-prefix /room/sleek
python3 pages.py --with examples/fortran/hdf5_write.f90 --with examples/cpp/compress.cpp guide/c.md
# nccopy of 4.7 does not take a variable's filters away.
case $(nc-config --version) in
"netCDF 4.7."*) step "guide/files.md: passed over" ;;
*) python3 pages.py --with examples/c/netcdf_write.c guide/files.md ;;
esac
python3 pages.py --with examples/fields.sh guide/cli.md
python3 pages.py --with "$(ls sleek-*-linux-*.tar.gz)" 'guide/install.md#clusters'
python3 -m venv env && env/bin/python -m pip install -q h5py sleek_compress-*.whl
awk '/^```$/ { on = 0 } /^## / && seen { exit } on { print } /^```python$/ { on = seen = 1 }' guide/python.md > page.py && env/bin/python page.py
cmake -S examples -B build -DCMAKE_PREFIX_PATH=/room/sleek > log 2>&1 && cmake --build build >> log 2>&1 && (cd build && ctest) >> log 2>&1 || { cat log && exit 1; }
tail -n 4 log | grep 'tests passed'
