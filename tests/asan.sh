#!/usr/bin/env bash
# The tests of the C functions and of HDF5 with libsleek.so under AddressSanitizer. Its runtime is put in front of every program
# that they run, from h5repack to Python, and what it reports is collected: a report counts even where the program was expected to
# fail. Needs a nightly toolchain and clang.
set -euo pipefail
cd "$(dirname "$0")/.."
bash examples/demo/need.sh clang:clang
target=${CARGO_TARGET_DIR:-target}
runtime=$(clang -print-file-name=libclang_rt.asan-x86_64.so)
RUSTFLAGS="-Zsanitizer=address -Clink-arg=$runtime -Clink-arg=-Wl,-rpath,$(dirname "$runtime")" cargo +nightly build --lib \
	--no-default-features --features plugin --target x86_64-unknown-linux-gnu --target-dir "$target/asan"
SLEEK_TEST_LIBRARY=$(realpath "$target/asan/x86_64-unknown-linux-gnu/debug/libsleek.so")
export SLEEK_TEST_LIBRARY

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER="env LD_PRELOAD=$runtime ASAN_OPTIONS=detect_leaks=0:log_path=$work/report"
status=0
# Left out: want of memory, where the address space is limited, of which the sanitizer needs terabytes; and two versions of HDF5,
# of which one is bound to its own symbols first, which the sanitizer refuses; and a program with an allocator of its own.
cargo test --all-features --test capi --test hdf5 -- --skip want_of_memory --skip two_versions --skip an_allocator "$@" || status=$?
if compgen -G "$work/report*" >/dev/null; then
	cat "$work"/report*
	exit 1
fi
[ $status = 0 ] && echo "AddressSanitizer has nothing to report"
exit $status
