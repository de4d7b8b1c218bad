#!/usr/bin/env bash
# Measures the GPU path on a machine with a GPU; the tables go to docs/gpu.md by hand, with the date. SLEEK_GPU as in check.sh.
set -euo pipefail
cd "$(dirname "$0")/../.."
gpu=${SLEEK_GPU:-}
if [ -z "$gpu" ]; then
    cargo build --release --example gpu
    gpu=${CARGO_TARGET_DIR:-target}/release/examples/gpu
fi
"$gpu" bench "$@"
"$gpu" calls
