#!/usr/bin/env bash
# What `make demo` runs: get the tools, build, and let demo.py show the filter on real fields.
set -euo pipefail
cd "$(dirname "$0")/../.."

step() { printf '\033[1m%s\033[0m\n' "$*"; }
[ -t 1 ] || step() { echo "$*"; }

step "1/4  tools"
command -v cargo >/dev/null || {
    echo "cargo is missing: install a stable Rust toolchain, $(sed -n 's/^rust-version *= *"\([^"]*\)".*/\1/p' Cargo.toml) or newer." >&2
    exit 1
}
bash examples/demo/need.sh cc:gcc h5repack:hdf5-tools h5dump:hdf5-tools python3:python3 python-venv:python3-venv

step "2/4  Python packages (h5py and numpy, in build/venv)"
python=build/venv/bin/python
if ! "$python" -c 'import h5py, numpy' 2>/dev/null; then
    rm -rf build/venv
    python3 -m venv build/venv
    "$python" -m pip install --quiet --disable-pip-version-check h5py numpy
fi

step "3/4  build"
cargo build --release --quiet
target=${CARGO_TARGET_DIR:-target}/release
mkdir -p build/demo/plugin
install -m 755 "$target/libsleek.so" build/demo/plugin/

step "4/4  real fields through HDF5"
export HDF5_PLUGIN_PATH=$PWD/build/demo/plugin
exec "$python" examples/demo/demo.py "$target/sleek" "${SLEEK_DATA:-tests/data}" build/demo
