#!/usr/bin/env bash
# The tests of the C functions and of HDF5 with libsleek.so under AddressSanitizer. Its runtime is put in front of every program
# that they run (the HDF5 tools, Python, what they compile, which is instrumented too), and what it reports is collected: a
# report counts even where the program was expected to fail. Needs a nightly toolchain and clang.
set -euo pipefail
cd "$(dirname "$0")/.."
bash examples/demo/need.sh clang:clang
target=${CARGO_TARGET_DIR:-target}
RUSTFLAGS=-Zsanitizer=address cargo +nightly build --lib --no-default-features --features plugin \
	--target x86_64-unknown-linux-gnu --target-dir "$target/asan"
library=$(realpath "$target/asan/x86_64-unknown-linux-gnu/debug/libsleek.so")

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
for pair in cc:clang c++:clang++; do
	printf '#!/bin/sh\nexec env -u LD_PRELOAD %s -fsanitize=address -shared-libasan "$@"\n' "${pair#*:}" >"$work/bin/${pair%:*}"
	chmod +x "$work/bin/${pair%:*}"
done

# The address space is limited in the test of want of memory, where the sanitizer needs terabytes of it.
export SLEEK_TEST_LIBRARY=$library HDF5_CC=$work/bin/cc HDF5_CLINKER=$work/bin/cc
export CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER="env PATH=$work/bin:$PATH \
	LD_PRELOAD=$(clang -print-file-name=libclang_rt.asan-x86_64.so) ASAN_OPTIONS=detect_leaks=0:log_path=$work/report"
status=0
cargo test --all-features --test capi --test hdf5 -- --skip want_of_memory "$@" || status=$?
if compgen -G "$work/report*" >/dev/null; then
	cat "$work"/report*
	exit 1
fi
[ $status = 0 ] && echo "AddressSanitizer has nothing to report"
exit $status
