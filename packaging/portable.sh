#!/usr/bin/env bash
# What the wheel and the tarball are made of, for any Linux with glibc 2.17 (2012) or newer: portable.sh FOLDER, of the processor
# SLEEK_MACHINE (this machine's, or aarch64). FOLDER gets libsleek.so, libsleek.a, sleek and THIRD-PARTY.txt, as SLEEK_PREBUILT wants
# them. cargo-zigbuild links them against the old glibc's symbols; it and zig come from PyPI.
set -euo pipefail
cd "$(dirname "$0")/.."
oldest=2.17
target=${SLEEK_MACHINE:-$(uname -m)}-unknown-linux-gnu
out=$1
mkdir -p "$out"

tools=build/venv-zig
if ! [ -x "$tools/bin/cargo-zigbuild" ]; then
    python3 -m venv --clear "$tools"
    "$tools/bin/python" -m pip install --quiet --disable-pip-version-check 'cargo-zigbuild==0.24.1' 'ziglang==0.17.1'
fi
PATH=$PWD/$tools/bin:$PATH
built=$(realpath -m "${CARGO_TARGET_DIR:-target}")/portable
# Caches that do not move with HOME, since cargo builds anew for a linker of another place.
export CARGO_ZIGBUILD_CACHE_DIR=$built/cache ZIG_GLOBAL_CACHE_DIR=$built/cache
cargo zigbuild --release --target "$target.$oldest" --target-dir "$built"
cp "$built/$target/release/libsleek.so" "$built/$target/release/libsleek.a" "$built/$target/release/sleek" "$out"
python3 packaging/licences.py > "$out/THIRD-PARTY.txt"
bash packaging/glibc.sh "$oldest" "$out/libsleek.so" "$out/sleek"

field=tests/data/navy_uwnd_12x73x144.f32
${SLEEK_RUNNER:-} "$out/sleek" compress -q --force --dtype f32 --abs 0.01 "$field" "$out/wind.sleek"
${SLEEK_RUNNER:-} "$out/sleek" verify -q "$field" "$out/wind.sleek" > /dev/null
rm "$out/wind.sleek"
