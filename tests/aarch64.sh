#!/usr/bin/env bash
# Cross-builds the library for AArch64 and runs its tests in the emulator: NEON against the portable code function by function, golden
# streams both ways, every level's bytes, bounds. Installs cross-compiler, emulator and the target's standard library where they are
# missing; where that cannot be had it is built by a nightly toolchain with rust-src, and without one the script says so and is
# content, unless SLEEK_AARCH64=required.
#     tests/aarch64.sh [ARGUMENTS OF cargo test]
set -euo pipefail
cd "$(dirname "$0")/.."
target=aarch64-unknown-linux-gnu

if rustup target add $target > /dev/null 2>&1; then
    cargo=(cargo test)
elif ls "$(rustc +nightly --print sysroot 2> /dev/null)/lib/rustlib/src/rust/library/Cargo.lock" > /dev/null 2>&1; then
    cargo=(cargo +nightly test -Zbuild-std)
else
    echo "aarch64: no standard library of $target and no nightly toolchain with rust-src here: rustup toolchain install nightly --component rust-src"
    [ "${SLEEK_AARCH64:-}" != required ]
    exit
fi
bash examples/demo/need.sh aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu /usr/aarch64-linux-gnu/lib/crti.o:libc6-dev-arm64-cross \
    qemu-aarch64:qemu-user

export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export SLEEK_TEST_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu"   # for tests that run themselves again
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER=$SLEEK_TEST_RUNNER
export CARGO_PROFILE_DEV_DEBUG=0
[ $# -gt 0 ] || set -- --lib --test streams
"${cargo[@]}" --target $target --target-dir "${CARGO_TARGET_DIR:-target}/aarch64" --no-default-features "$@"
