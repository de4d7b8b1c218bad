#!/usr/bin/env bash
# What `make demo` runs: get the tools, build, and let demo.py show the filter on real fields.
set -euo pipefail
cd "$(dirname "$0")/../.."

step() { printf '\033[1m%s\033[0m\n' "$*"; }
[ -t 1 ] || step() { echo "$*"; }

step "1/5  tools"
command -v cargo >/dev/null || {
    echo "cargo is missing: install a stable Rust toolchain, $(sed -n 's/^rust-version *= *"\([^"]*\)".*/\1/p' Cargo.toml) or newer." >&2
    exit 1
}
bash examples/demo/need.sh cc:gcc h5repack:hdf5-tools h5dump:hdf5-tools python3:python3 python-venv:python3-venv

step "2/5  Python packages (h5py and numpy, and hdf5plugin if it can be had, in build/venv)"
python=build/venv/bin/python
if ! "$python" -c 'import h5py, numpy' 2>/dev/null; then
    rm -rf build/venv
    python3 -m venv build/venv
    "$python" -m pip install --quiet --disable-pip-version-check h5py numpy
    # For SZ3 beside ours.
    "$python" -m pip install --quiet --disable-pip-version-check hdf5plugin 2>/dev/null || true
fi

step "3/5  build"
make -s build
target=${SLEEK_PREBUILT:-${CARGO_TARGET_DIR:-target}/release}
mkdir -p build/demo/plugin
install -m 755 "$target/libsleek.so" build/demo/plugin/

step "4/5  a simulation (Gray-Scott, 96^3 points, 1000 steps)"
mkdir -p build/demo/simulated
"$python" examples/demo/solver.py build/demo/simulated/gray_scott_96x96x96.f32

step "5/5  real fields through HDF5"
export HDF5_PLUGIN_PATH=$PWD/build/demo/plugin
exec "$python" examples/demo/demo.py "$target/sleek" "${SLEEK_DATA:-tests/data}" build/demo
