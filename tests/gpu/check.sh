#!/usr/bin/env bash
# Checks the GPU path on a machine with a GPU. Takes the program from SLEEK_GPU where it was built elsewhere.
set -euo pipefail
cd "$(dirname "$0")/../.."
# A program that was built elsewhere knows another folder.
export SLEEK_DATA=${SLEEK_DATA:-$PWD/tests/data}
gpu=${SLEEK_GPU:-}
if [ -z "$gpu" ]; then
    cargo build --release --example gpu
    gpu=${CARGO_TARGET_DIR:-target}/release/examples/gpu
fi
"$gpu" check
"$gpu" check-matrix 60
bash tests/gpu/devices.sh
bash tests/gpu/contexts.sh
bash tests/gpu/lost.sh
bash tests/gpu/array.sh
bash tests/gpu/h5d.sh
bash tests/gpu/python.sh
if command -v compute-sanitizer >/dev/null; then
    export SLEEK_GPU_SMALL=1
    # Warnings of racecheck are of words in shared memory that a warp has used before one of its lanes writes them.
    for tool in memcheck racecheck initcheck synccheck; do
        compute-sanitizer --tool "$tool" --print-level error --error-exitcode 1 --print-limit 5 "$gpu" check
    done
else
    echo "compute-sanitizer is not installed: its checks were left out"
fi
