#!/usr/bin/env bash
# Calls on every GPU of a machine that has nvcc, from one process. SLEEK_LIBRARY is a libsleek.so built elsewhere.
set -euo pipefail
cd "$(dirname "$0")/../.."
what="the check of several GPUs"
source tests/gpu/library.sh
make_work
nvcc -O2 -std=c++17 -Iinclude tests/gpu/devices.cu -o "$work/devices" -L"$work" -lsleek -ldl
"$work/devices"
