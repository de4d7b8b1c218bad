#!/usr/bin/env bash
# Calls behind a context that is lost, on a machine that has nvcc. SLEEK_LIBRARY is a libsleek.so built elsewhere.
set -euo pipefail
cd "$(dirname "$0")/../.."
what="the check of a lost context"
source tests/gpu/library.sh
make_work
nvcc -O2 -std=c++17 -Iinclude tests/gpu/lost.cu -o "$work/lost" -L"$work" -lsleek -lcuda -ldl
"$work/lost"
