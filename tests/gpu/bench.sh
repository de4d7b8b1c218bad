#!/usr/bin/env bash
# Measures the GPU path on a machine with a GPU, with nvCOMP on the same arrays where SLEEK_NVCOMP names a folder with it (nvcomp.cu
# says how to get it) and there is nvcc, and fields of simulations where there is cupy. Tables go to build/gpu, those of
# simulations to simulated.md there; benches/bench.py gpu takes tables over. SLEEK_GPU as in check.sh, SLEEK_OUT for another folder.
set -euo pipefail
cd "$(dirname "$0")/../.."
gpu=${SLEEK_GPU:-}
if [ -z "$gpu" ]; then
    cargo build --release --example gpu
    gpu=${CARGO_TARGET_DIR:-target}/release/examples/gpu
fi
out=${SLEEK_OUT:-build/gpu}
mkdir -p "$out"

# nvCOMP's table, or a line that says why there is none.
nvcomp() {
    if [ -z "${SLEEK_NVCOMP:-}" ] || ! command -v nvcc > /dev/null; then
        echo "SLEEK_NVCOMP is not set, or nvcc is not installed: nvCOMP's table was left out"
        return
    fi
    local lib=("$SLEEK_NVCOMP"/lib*/libnvcomp.so*)
    nvcc -O2 -std=c++17 -I"$SLEEK_NVCOMP/include" tests/gpu/nvcomp.cu -o "$out/nvcomp" \
        -Xlinker "${lib[0]}" -Xlinker -rpath -Xlinker "$(dirname "${lib[0]}")"
    "$out/nvcomp" "${SLEEK_DATA:-tests/data}"
}

# Simulation fields of 256^3 by all profiles, or a line that says why there are none.
simulated() {
    if ! python3 -c 'import cupy' 2>/dev/null; then
        echo "cupy is not installed: fields of simulations were left out"
        return
    fi
    python3 tests/gpu/simulate.py "$out/cubes"
    {
        SLEEK_DATA=$out/cubes "$gpu" bench 512 5
        SLEEK_DATA=$out/cubes "$gpu" interp-quick 512 3 1e-1 1e-3 1e-6 0
    } > "$out/simulated.md"
    rm -r "$out/cubes"
}

simulated
{
    "$gpu" bench "$@"
    "$gpu" interp-quick 512 3 1e-1 1e-3 1e-6 0
    "$gpu" batches
    "$gpu" calls
    "$gpu" previews
    echo
    nvcomp
} | tee "$out/tables.md"
