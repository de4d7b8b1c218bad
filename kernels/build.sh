#!/usr/bin/env bash
# Makes kernels/*.ptx; with --check compares instead. Fetches NVRTC 12.0 into .venv once.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! .venv/bin/python -c 'import nvidia.cuda_nvrtc' 2>/dev/null; then
    python3 -m venv .venv
    .venv/bin/pip install --quiet nvidia-cuda-nvrtc-cu12==12.0.76
fi
library=$(.venv/bin/python -c 'import nvidia.cuda_nvrtc as n; print(list(n.__path__)[0] + "/lib/libnvrtc.so.12")')
.venv/bin/python kernels/build.py "$library" "$@"
