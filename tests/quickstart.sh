#!/usr/bin/env bash
# Runs the quick starts as they are printed, each in an empty folder, against what `make install`, `make dist`
# give; nothing of the repository is in sight. The page on GPUs runs on a GPU, or else on the stand-in driver of tests/gpu.
set -euo pipefail
cd "$(dirname "$0")/.."
repository=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
step() { echo "quickstart: $*"; }

export CARGO_HOME=${CARGO_HOME:-$HOME/.cargo} RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup} HOME=$work/home
unset PREFIX LIBDIR DESTDIR PKG_CONFIG_PATH LD_LIBRARY_PATH CMAKE_PREFIX_PATH HDF5_PLUGIN_PATH HDF5_PLUGIN_DIR MAKEFLAGS MAKELEVEL
unset SLEEK_PARAMS SLEEK_LOG SLEEK_NUM_THREADS PYTHONPATH VIRTUAL_ENV
mkdir "$HOME"

step "install, wheel and tarball"
make -s install PREFIX="$HOME/sleek" > "$work/log" 2>&1 && make -s dist DIST=wheel >> "$work/log" 2>&1 || { tail -n 40 "$work/log" >&2 && exit 1; }
tarball=$(bash packaging/tarball.sh "$work/dist")
if grep -rIl -e "$repository" "$HOME/sleek"; then
    echo "quickstart: an installed file names the repository" >&2
    exit 1
fi

# Without CUDA its runtime is what tests/gpu/runtime makes of the stand-in driver.
if ! { command -v nvidia-smi && [ -d "${CUDA_HOME:-/usr/local/cuda}/include" ]; } > /dev/null; then
    step "no GPU with CUDA here: its page runs on the stand-in driver"
    export CUDA_HOME=$work/cuda
    mkdir -p "$CUDA_HOME/include" "$CUDA_HOME/lib64"
    cp tests/gpu/runtime/cuda_runtime.h "$CUDA_HOME/include"
    bash tests/gpu/driver.sh "$CUDA_HOME/lib64"
    cc -shared -fPIC -I"$CUDA_HOME/include" tests/gpu/runtime/runtime.c "$CUDA_HOME/lib64/libcuda.so.1" -o "$CUDA_HOME/lib64/libcudart.so"
fi

step "the doctor tells of the GPU"
LD_LIBRARY_PATH=${CUDA_HOME:-/usr/local/cuda}/lib64 "$HOME/sleek/bin/sleek" doctor > "$work/said" || true
grep -q '^GPU: .*, compute capability [0-9.]*, driver for CUDA [0-9.]*$' "$work/said" || { cat "$work/said" >&2 && exit 1; }

python3 tests/pages.py --with examples/fortran/hdf5_write.f90 --with examples/cpp/compress.cpp docs/guide/c.md
python3 tests/pages.py --with examples/c/netcdf_write.c docs/guide/files.md
python3 tests/pages.py --with examples/fields.sh docs/guide/cli.md
if [ "${SLEEK_KERNELS:-}" = none ]; then
    step "without kernels (SLEEK_KERNELS=none): the page on GPUs is passed over"
else
    python3 tests/pages.py docs/guide/gpu.md
fi
python3 tests/pages.py --with "$tarball" 'docs/guide/install.md#clusters'
PKG_CONFIG_PATH=$HOME/apps/sleek/lib/pkgconfig pkg-config --cflags sleek | grep -q apps || { echo "quickstart: the tarball's sleek.pc" >&2 && exit 1; }
step "passed"
