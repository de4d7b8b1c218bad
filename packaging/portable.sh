#!/usr/bin/env bash
# Tarball and wheel that run on Linux with glibc 2.17 (CentOS 7, 2014) or newer: portable.sh FOLDER [MACHINE]. MACHINE is aarch64, or
# without it the machine's own kind of processor; another one's command runs in the emulator, and its wheel lies in build/wheel/MACHINE.
# FOLDER/MACHINE gets libsleek.so, sleek, THIRD-PARTY.txt and libsleek.a, as SLEEK_PREBUILT wants them. cargo-zigbuild
# links them against the old glibc's symbols; it and zig come from PyPI, as cargo-zigbuild and ziglang.
set -euo pipefail
cd "$(dirname "$0")/.."
export SLEEK_MACHINE=${2:-$(uname -m)}
mkdir -p "$1/$SLEEK_MACHINE"
out=$(cd "$1/$SLEEK_MACHINE" && pwd)
oldest=2.17
target=$SLEEK_MACHINE-unknown-linux-gnu
wheels=build/wheel
if [ "$SLEEK_MACHINE" != "$(uname -m)" ]; then
    [ "$SLEEK_MACHINE" = aarch64 ] || { echo "portable: from here to $SLEEK_MACHINE nobody has built" >&2 && exit 1; }
    rustup target add "$target"
    bash examples/demo/need.sh aarch64-linux-gnu-strip:binutils-aarch64-linux-gnu qemu-aarch64:qemu-user \
        /usr/aarch64-linux-gnu/lib/libc.so.6:libc6-arm64-cross /usr/aarch64-linux-gnu/lib/libgcc_s.so.1:libgcc-s1-arm64-cross
    export STRIP=aarch64-linux-gnu-strip OBJCOPY=aarch64-linux-gnu-objcopy SLEEK_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu"
    wheels=build/wheel/$SLEEK_MACHINE
fi
runner=${SLEEK_RUNNER:-}

tools=build/venv-zig
if ! [ -x "$tools/bin/cargo-zigbuild" ]; then
    python3 -m venv --clear "$tools"
    "$tools/bin/python" -m pip install --quiet --disable-pip-version-check 'cargo-zigbuild==0.24.*' 'ziglang==0.17.*'
fi
PATH=$PWD/$tools/bin:$PATH
built=$(realpath -m "${CARGO_TARGET_DIR:-target}")/portable
make -s kernels
cargo zigbuild --release --target "$target.$oldest" --target-dir "$built"
python3 packaging/licences.py > "$out/THIRD-PARTY.txt"
cp "$built/$target/release/libsleek.so" "$built/$target/release/sleek" "$built/$target/release/libsleek.a" "$out"

for file in libsleek.so sleek; do
    asked=$(grep -aoE 'GLIBC_[0-9.]+' "$out/$file" | sed 's/GLIBC_//' | sort -uV | tail -n 1)
    if [ "$(printf '%s\n' "$asked" "$oldest" | sort -V | tail -n 1)" != "$oldest" ]; then
        echo "portable: $file asks for glibc $asked" >&2
        exit 1
    fi
done

field=tests/data/navy_uwnd_12x73x144.f32
$runner "$out/sleek" compress -q --force --dtype f32 --abs 0.01 "$field" "$out/wind.sleek"
$runner "$out/sleek" verify "$field" "$out/wind.sleek" | grep verdict
SLEEK_LIBRARY=$out/libsleek.so bash python/wheel.sh "$wheels"
make -s dist DIST=tarball SLEEK_PREBUILT="$out"
