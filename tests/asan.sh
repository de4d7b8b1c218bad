#!/usr/bin/env bash
# The tests of the C functions and of HDF5 with libsleek.so under AddressSanitizer. Its runtime is put in front of every program
# that they run, from h5repack to Python, and what it reports is collected: a report counts even where the program was expected to
# fail. Needs a nightly toolchain and clang.
set -euo pipefail
cd "$(dirname "$0")/.."
bash examples/demo/need.sh clang:clang
make -s kernels
target=${CARGO_TARGET_DIR:-target}
# Where clang has no runtime, it prints its name without a path.
bash examples/demo/need.sh "$(clang -print-file-name=libclang_rt.asan-x86_64.so)":libclang-rt-dev
runtime=$(clang -print-file-name=libclang_rt.asan-x86_64.so)
RUSTFLAGS="-Zsanitizer=address -Clink-arg=$runtime -Clink-arg=-Wl,-rpath,$(dirname "$runtime")" cargo +nightly build -p sleek-compress --lib \
	--no-default-features --features plugin,cuda,test-codecs --target x86_64-unknown-linux-gnu --target-dir "$target/asan"
SLEEK_TEST_LIBRARY=$(realpath "$target/asan/x86_64-unknown-linux-gnu/debug/libsleek.so")
export SLEEK_TEST_LIBRARY

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The runtime starts at the first malloc. In the constructor of p11-kit, which libcurl brings and HDF5 libcurl, that is under a lock of
# libc, which the runtime's start unlocks, so that the program hangs when it ends. This library comes before every other.
echo '#include <stdlib.h>
__attribute__((constructor)) static void start(void) { void *volatile memory = malloc(1); free(memory); }' |
	clang -shared -fPIC -Wl,-z,initfirst -x c - -o "$work/start.so"
# Let through: who asks for more memory than there can be gets none, as of any allocator; the filter of SZ3 gives HDF5 memory of C++'s
# new, which HDF5 gives to free; h5diff 1.10 takes the length of texts in attributes that have no zero at their end.
echo interceptor_via_lib:h5diff >"$work/known"
export CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER="env LD_PRELOAD=$runtime:$work/start.so \
	ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:alloc_dealloc_mismatch=0:suppressions=$work/known:log_path=$work/report"
status=0
# Left out: want of memory, where the address space is limited, of which the sanitizer needs terabytes; two versions of HDF5, of
# which one is bound to its own symbols first, which the sanitizer refuses; programs with an allocator of their own; programs with
# rights of their owner, whose loader takes no runtime before them; a full disk in the middle of repack, where HDF5 1.10 crashes in a
# child, which the runtime ends otherwise; and many forks beside busy threads, since the runtime of clang 14 leaves locks of its own
# allocator locked in a child.
tests() { cargo test --all-features --no-fail-fast --test "$@" || status=$?; }
tests capi -- --skip abi:: --skip header:: --skip want_of_memory --skip an_allocator --skip any_allocation --skip first_uses --skip closed_and_opened_again "$@"
tests hdf5 -- --skip two_versions --skip threads_of_hdf5_and_past_it --skip forks_and_constructors --skip programs_with_rights \
	--skip limits "$@"
# Want of memory is noted down where faults are.
for report in "$work"/report*; do
	[ ! -e "$report" ] || grep -qv 'WARNING: AddressSanitizer failed to allocate' "$report" || rm "$report"
done
if compgen -G "$work/report*" >/dev/null; then
	cat "$work"/report*
	exit 1
fi
[ $status = 0 ] && echo "AddressSanitizer has nothing to report"
exit $status
