#!/usr/bin/env bash
# Measures the GPU path on a machine with a GPU, and nvCOMP on the same arrays where it is installed. Tables and plot go to build/gpu; what is
# worth keeping goes to docs/gpu.md and docs/gpu.png by hand, with the date. SLEEK_GPU as in check.sh, SLEEK_OUT for another folder.
set -euo pipefail
cd "$(dirname "$0")/../.."
gpu=${SLEEK_GPU:-}
if [ -z "$gpu" ]; then
    cargo build --release --example gpu
    gpu=${CARGO_TARGET_DIR:-target}/release/examples/gpu
fi
out=${SLEEK_OUT:-build/gpu}
mkdir -p "$out"
{
    "$gpu" bench "$@"
    "$gpu" batches
    "$gpu" calls
    if python3 -c 'import cupy; from nvidia import nvcomp' 2>/dev/null; then
        echo
        python3 tests/gpu/nvcomp.py
    else
        echo "nvCOMP and cupy are not installed: their table was left out"
    fi
} | tee "$out/tables.md"
if python3 -c 'import matplotlib' 2>/dev/null; then
    python3 tests/gpu/plot.py "$out/tables.md" "$out/gpu.png"
fi
