#!/usr/bin/env bash
# Builds the stand-in for CUDA's driver, libcuda.so.1, into the folder that is the argument, for programs that are not Rust. What
# `cargo test --test cuda` built is taken if no source is newer.
set -euo pipefail
cd "$(dirname "$0")/../.."
mkdir -p "$1"
out=$(cd "$1" && pwd)
built=${CARGO_TARGET_DIR:-target}/tmp/libcuda.so.1
if [ -f "$built" ] && [ -z "$(find kernels tests/gpu tests/codecs \( -name '*.cu*' -o -name '*.h' -o -name '*.cpp' -o -name '*.toml' \) -newer "$built")" ]; then
    cp "$built" "$out/libcuda.so.1"
    exit
fi
sed -n 's|^source *= *"\(.*\)"|#include "'"$PWD"'/kernels/\1"|p' kernels/modules.toml | sort -u > "$out/kernel_sources.h"
"${CXX:-c++}" -std=c++17 -O1 -w -ffp-contract=off -shared -fPIC -pthread -Wl,-soname,libcuda.so.1 \
    -I "$out" -o "$out/libcuda.so.1" tests/gpu/driver.cpp
