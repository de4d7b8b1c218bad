#!/usr/bin/env bash
# Arrays of CuPy and PyTorch, on a machine with a GPU. PYTHON is the interpreter (python3), SLEEK_LIBRARY a libsleek.so built elsewhere.
set -euo pipefail
cd "$(dirname "$0")/../.."
left_out() { echo "$1: arrays of Python on a GPU were left out" && exit 0; }
python=${PYTHON:-python3}
"$python" -c 'import numpy' 2> /dev/null || left_out "numpy is not installed"
"$python" -c 'import torch' 2> /dev/null || "$python" -c 'import cupy' 2> /dev/null || left_out "neither torch nor cupy is installed"
library=${SLEEK_LIBRARY:-}
if [ -z "$library" ]; then
    command -v cargo > /dev/null || left_out "cargo is not installed and SLEEK_LIBRARY not set"
    cargo build --release --lib
    library=${CARGO_TARGET_DIR:-target}/release/libsleek.so
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r python/src/sleek "$work"
mkdir -p "$work/sleek/plugin"
cp "$library" "$work/sleek/plugin/libsleek.so"
export PYTHONPATH=$work:${PYTHONPATH:-}
"$python" tests/gpu/libraries.py
