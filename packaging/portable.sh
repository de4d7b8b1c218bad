#!/usr/bin/env bash
# Binaries that run on Linux with glibc 2.17 (CentOS 7, 2014) or newer, for the machine's own kind of processor: portable.sh FOLDER puts
# libsleek.so, sleek and a libsleek.a without the plugin's entry points there, as SLEEK_PREBUILT wants them. cargo-zigbuild links them
# against the old glibc's symbols; it and zig come from PyPI, as cargo-zigbuild and ziglang.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p "$1"
out=$(cd "$1" && pwd)
oldest=2.17
target=$(uname -m)-unknown-linux-gnu

tools=build/venv-zig
if ! [ -x "$tools/bin/cargo-zigbuild" ]; then
    python3 -m venv --clear "$tools"
    "$tools/bin/python" -m pip install --quiet --disable-pip-version-check 'cargo-zigbuild==0.24.*' 'ziglang==0.17.*'
fi
PATH=$PWD/$tools/bin:$PATH
built=$(realpath -m "${CARGO_TARGET_DIR:-target}")/portable
cargo zigbuild --release --target "$target.$oldest" --target-dir "$built"
cargo zigbuild --release --target "$target.$oldest" --target-dir "$built/static" -p sleek-compress --lib --no-default-features
cp "$built/$target/release/libsleek.so" "$built/$target/release/sleek" "$built/static/$target/release/libsleek.a" "$out"

for file in libsleek.so sleek; do
    asked=$(grep -aoE 'GLIBC_[0-9.]+' "$out/$file" | sed 's/GLIBC_//' | sort -uV | tail -n 1)
    if [ "$(printf '%s\n' "$asked" "$oldest" | sort -V | tail -n 1)" != "$oldest" ]; then
        echo "portable: $file asks for glibc $asked" >&2
        exit 1
    fi
done
echo "$out"
