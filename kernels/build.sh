#!/usr/bin/env bash
# Makes the archives of kernels that are stale; with --check makes all and compares. Fetches NVRTC 12.0 and ptxas 12.9 into .venv once. Needs Python 3.11.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! .venv/bin/python -c 'import nvidia.cuda_nvrtc, nvidia.cuda_nvcc' 2>/dev/null; then
    python3 -m venv .venv
    .venv/bin/pip install --quiet nvidia-cuda-nvrtc-cu12==12.0.76 nvidia-cuda-nvcc-cu12==12.9.86
fi
folder() { .venv/bin/python -c "import nvidia.$1 as n; print(list(n.__path__)[0])"; }
.venv/bin/python kernels/build.py "$(folder cuda_nvrtc)/lib/libnvrtc.so.12" "$(folder cuda_nvcc)/bin/ptxas" "$@"
