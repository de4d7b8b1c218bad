#!/usr/bin/env bash
# Arrays in GPU memory to and from HDF5, on a machine with a GPU, nvcc and HDF5: the tests and the CUDA example.
# KEEP is a folder for a file that is worth reading elsewhere.
# Where HDF5 is not known to pkg-config, HDF5_CFLAGS and HDF5_LIBS tell how to compile and link; SLEEK_LIBRARY is a libsleek.so built elsewhere.
set -euo pipefail
cd "$(dirname "$0")/../.."
what="HDF5 from GPU memory"
source tests/gpu/library.sh
if [ -z "${HDF5_LIBS:-}" ]; then
    for module in hdf5-serial hdf5 none; do
        pkg-config --exists "$module" 2> /dev/null && break
    done
    [ "$module" != none ] || left_out "HDF5 is not known to pkg-config"
    HDF5_CFLAGS=$(pkg-config --cflags "$module")
    HDF5_LIBS=$(pkg-config --libs "$module")
fi
read -ra cflags <<< "${HDF5_CFLAGS:-}"
read -ra libs <<< "$HDF5_LIBS"
make_work
mkdir "$work/plugin"
cp "$work/libsleek.so.0" "$work/plugin/libsleek.so"
export HDF5_PLUGIN_PATH=$work/plugin
build() { # compiler, source, program, options...
    "$1" -O2 -Iinclude "${cflags[@]}" "${@:4}" "$2" -o "$work/$3" -L"$work" -lsleek "${libs[@]}" -ldl -lm
}
# Without an architecture named, what nvcc makes is translated by the driver.
cuda() { build nvcc "$1" "$2" -std=c++17 "${@:3}"; }

build cc tests/hdf5/direct.c direct -std=gnu11
"$work/direct" "$work" gpu 400
if command -v compute-sanitizer > /dev/null; then
    compute-sanitizer --tool memcheck --report-api-errors no --error-exitcode 1 "$work/direct" "$work" gpu 40
fi
# A file for a machine without a GPU.
[ -z "${KEEP:-}" ] || "$work/direct" "$KEEP" gpu 24
cuda examples/cuda/heat.cu heat
"$work/heat" "$work/heat.h5"
