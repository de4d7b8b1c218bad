#!/usr/bin/env bash
# Calls on every GPU of a machine that has nvcc, from one process. SLEEK_LIBRARY is a libsleek.so built elsewhere.
set -euo pipefail
cd "$(dirname "$0")/../.."
left_out() { echo "$1: the checks of several GPUs were left out" && exit 0; }
command -v nvcc > /dev/null || left_out "nvcc is not installed"
library=${SLEEK_LIBRARY:-}
if [ -z "$library" ]; then
    command -v cargo > /dev/null || left_out "cargo is not installed and SLEEK_LIBRARY not set"
    cargo build --release --lib
    library=${CARGO_TARGET_DIR:-target}/release/libsleek.so
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$library" "$work/libsleek.so.0"
ln -s libsleek.so.0 "$work/libsleek.so"
nvcc -O2 -std=c++17 -Iinclude tests/gpu/devices.cu -o "$work/devices" -L"$work" -lsleek -ldl
LD_LIBRARY_PATH=$work:${LD_LIBRARY_PATH:-} "$work/devices"
