#!/usr/bin/env bash
# Graphs, contexts, and several processes on one GPU, by its multi-process service (MPS) too, on a machine that has nvcc. SLEEK_LIBRARY
# is a libsleek.so built elsewhere.
set -euo pipefail
cd "$(dirname "$0")/../.."
what="the check of graphs and contexts"
source tests/gpu/library.sh
make_work
nvcc -O2 -std=c++17 -Iinclude tests/gpu/contexts.cu -o "$work/contexts" -L"$work" -lsleek -lcuda
"$work/contexts"

# together WORD: three processes at once.
together() {
    local pids=() pid
    for _ in 1 2 3; do "$work/contexts" >"$work/out" & pids+=($!); done
    for pid in "${pids[@]}"; do wait "$pid"; done
    echo "three processes at once, $1: the same"
}
together "sharing the GPU in turns"
if ! command -v nvidia-cuda-mps-control >/dev/null; then
    echo "nvidia-cuda-mps-control is not installed: MPS was left out" && exit 0
fi
export CUDA_MPS_PIPE_DIRECTORY=$work/mps CUDA_MPS_LOG_DIRECTORY=$work/mps-log
mkdir -p "$CUDA_MPS_PIPE_DIRECTORY" "$CUDA_MPS_LOG_DIRECTORY"
if ! nvidia-cuda-mps-control -d; then
    echo "the control daemon of MPS does not start: MPS was left out" && exit 0
fi
trap 'echo quit | nvidia-cuda-mps-control >/dev/null || true; rm -rf "$work"' EXIT
together "by MPS"
grep -h "Server" "$CUDA_MPS_LOG_DIRECTORY"/*.log | tail -3 || echo "MPS has logged no server"
