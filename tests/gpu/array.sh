#!/usr/bin/env bash
# Compressed arrays in GPU memory, on a machine with a GPU and nvcc: the check and the example.
# SLEEK_LIBRARY is a libsleek.so built elsewhere.
set -euo pipefail
cd "$(dirname "$0")/../.."
what="the check of compressed arrays in GPU memory"
source tests/gpu/library.sh
make_work
cuda() { nvcc -O3 -std=c++17 -arch=native -Iinclude "$1" -o "$2" -L"$work" -lsleek -ldl; }
cuda tests/gpu/array.cu "$work/array"
cuda examples/cuda/diffusion.cu "$work/diffusion"
"$work/array"
"$work/diffusion" 512 100
