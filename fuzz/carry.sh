#!/usr/bin/env bash
# All fuzz targets as programs for a machine without Rust, in a folder with their corpora and run.sh (fuzz/away.sh):
# carry.sh FOLDER.
# They need glibc 2.35 (Ubuntu 22.04) and nothing else that a bare system does not have. They do not trace comparisons,
# which takes half of the time and finds little where a corpus has been there for long. With SANITIZER=address they watch
# memory too.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$1
SLEEK_FUZZ=required
. fuzz/targets.sh
CARGO_TARGET_DIR=$(realpath -m "$CARGO_TARGET_DIR")

# The C++ library within, so that none is needed there.
export CXXSTDLIB=static=stdc++ CARGO_PROFILE_RELEASE_DEBUG=0
libstdcxx=$(dirname "$(${CXX:-c++} -print-file-name=libstdc++.a)")
export RUSTFLAGS="${RUSTFLAGS:-} -L native=$libstdcxx"
cargo +nightly fuzz build --sanitizer "${SANITIZER:-none}" --no-trace-compares
for profile in plain shipped; do (cd fuzz && cargo build --profile $profile --example plain); done

mkdir -p "$out/bin" "$out/corpus/golden"
for stream in tests/vectors/*.slk tests/vectors/*/*.slk; do
	folder=${stream%/*}
	cp "$stream" "$out/corpus/golden/${folder##*/}-${stream##*/}"
done
cp fuzz/away.sh "$out/run.sh"
take() { # PROGRAM [NAME]
	local program=$1 name=${2:-${1##*/}} newest
	newest=$(objdump -T "$program" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1)
	[ "$(printf '%s\n' GLIBC_2.35 "$newest" | sort -V | tail -n 1)" = GLIBC_2.35 ] || { echo "$program needs $newest" >&2; exit 1; }
	! ldd "$program" | grep libstdc++ || { echo "$program needs a C++ library" >&2; exit 1; }
	strip -o "$out/bin/$name" "$program"
}
for profile in plain shipped; do take "$CARGO_TARGET_DIR/$profile/examples/plain" $profile; done
for target in "${targets[@]}"; do
	take "$CARGO_TARGET_DIR/x86_64-unknown-linux-gnu/release/$target"
	rm -rf "$out/corpus/$target"
	cp -r "fuzz/corpus/$target" "$out/corpus/"
	[[ $of_streams != *" $target "* ]] || echo "$target"
done >"$out/of-streams"
ls "$out/bin" | tr '\n' ' '
du -sh "$out" | cut -f 1
