#!/usr/bin/env bash
# A folder with the fuzz targets for a machine with many cores and without Rust: carry.sh FOLDER. It has the program `plain`
# (fuzz/examples/plain.rs), which tries mutations of the corpora without a fuzzer, `shipped`, the same without assertions, and
# run.sh (fuzz/away.sh). They need glibc 2.35 (Ubuntu 22.04). RUSTUP_TOOLCHAIN=nightly RUSTFLAGS=-Zsanitizer=address watches memory.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$1
target=$(realpath -m "${CARGO_TARGET_DIR:-fuzz/target}/fuzz")
rm -rf "$out"
mkdir -p "$out/bin"
# The C++ library within, so that none is needed there.
export CXXSTDLIB=static=stdc++ CARGO_PROFILE_RELEASE_DEBUG=0
export RUSTFLAGS="${RUSTFLAGS:-} -L native=$(dirname "$(${CXX:-c++} -print-file-name=libstdc++.a)")"
for profile in plain shipped; do
	(cd fuzz && cargo build --target-dir "$target" --profile $profile --example plain)
	program=$target/$profile/examples/plain
	newest=$(objdump -T "$program" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1)
	[ "$(printf '%s\n' GLIBC_2.35 "$newest" | sort -V | tail -n 1)" = GLIBC_2.35 ] || { echo "$program needs $newest" >&2; exit 1; }
	strip -o "$out/bin/$profile" "$program"
done
cp -r fuzz/corpus tests/vectors "$out/"
cp fuzz/away.sh "$out/run.sh"
du -sh "$out" | cut -f 1
