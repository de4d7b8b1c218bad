#!/usr/bin/env bash
# Instructions that a value takes, by level, as the emulator counts them: of AArch64, and of x86-64 without AVX-512, which it lacks.
# For machines that nobody here has; needs SLEEK_DATA. Minutes.
#     benches/instructions/run.sh [PARAMETERS OF A REQUEST]
set -euo pipefail
cd "$(dirname "$0")/../.."
request=${1:-noa=1e-3,profile=small}
arm=aarch64-unknown-linux-gnu
bash examples/demo/need.sh cc:gcc aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu /usr/aarch64-linux-gnu/lib/crti.o:libc6-dev-arm64-cross \
    qemu-aarch64:qemu-user
rustup target add $arm > /dev/null
target=${CARGO_TARGET_DIR:-target}
work=$target/instructions
mkdir -p "$work"

cargo build -p sleek-compress --release --lib
CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
    cargo rustc -p sleek-compress --release --lib --crate-type cdylib --no-default-features --target $arm --target-dir "$target/aarch64"
cc -O2 -shared -fPIC benches/instructions/plugin.c -o "$work/plugin.so"
program() { # COMPILER LIBRARY NAME
    mkdir -p "$work/$3"
    cp "$2" "$work/$3/libsleek.so.0"
    "$1" -O2 -Iinclude benches/instructions/program.c -o "$work/$3/program" -L"$work/$3" -l:libsleek.so.0
}
program cc "$target/release/libsleek.so" x86_64
program aarch64-linux-gnu-gcc "$target/aarch64/$arm/release/libsleek.so" aarch64

counted() { # MACHINE LEVEL PROGRAM'S ARGUMENTS
    local machine=$1 level=$2 options=(-cpu max)
    shift 2
    [ "$machine" = x86_64 ] || options=(-L /usr/aarch64-linux-gnu)
    LD_LIBRARY_PATH=$work/$machine SLEEK_SIMD=$level "qemu-$machine" "${options[@]}" -plugin "$work/plugin.so" \
        "$work/$machine/program" "$@" 2>&1 | tail -n 1
}
# Field, type, bytes of it, dimensions; whole rounds apart leave out what is done once.
while read -r field type bytes size dims; do
    for level in x86_64:scalar x86_64:avx2 aarch64:scalar aarch64:neon; do
        of=(${level/:/ } "$request" "$type" "$bytes" "$SLEEK_DATA/$field")
        once=$(counted "${of[@]}" 1 1 $dims)
        compress=$((($(counted "${of[@]}" 3 1 $dims) - once) * 5 * size / bytes))
        decompress=$((($(counted "${of[@]}" 1 3 $dims) - once) * 5 * size / bytes))
        printf '%-8s %-14s compress %d.%d, decompress %d.%d instructions a value\n' "${field%%_*}" "$level" \
            $((compress / 10)) $((compress % 10)) $((decompress / 10)) $((decompress % 10))
    done
done << 'FIELDS'
gals_mr19_x_1235904.f32 1 1048576 4 262144
navy_uwnd_132x73x144.f32 1 1513728 4 36 73 144
pyro_quad_state_4x256x256.f64 2 2097152 8 4 256 256
FIELDS
