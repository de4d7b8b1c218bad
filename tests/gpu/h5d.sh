#!/usr/bin/env bash
# Arrays in GPU memory to and from HDF5, on a machine with a GPU, nvcc and HDF5: the tests, the CUDA example, and with the argument
# bench a table of speeds against HDF5's own ways (BENCH_GIB, 4; BENCH_FOLDER, /dev/shm).
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
if [ "${1:-}" = bench ]; then
    cuda tests/gpu/h5d_bench.cu bench -DFIELD_F32='"'"${BENCH_F32:-navy_uwnd_12x73x144.f32}"'"' -DFIELD_F64='"'"${BENCH_F64:-pyro_density_256x256.f64}"'"'
    mkdir -p "${BENCH_FOLDER:-/dev/shm}/h5d"
    "$work/bench" "${BENCH_FOLDER:-/dev/shm}/h5d" "${BENCH_GIB:-4}"
fi
