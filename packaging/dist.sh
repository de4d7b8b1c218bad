#!/usr/bin/env bash
# What `make dist` packs, in build/: dist.sh PART… Parts that need a tool say which. Wheel and tarball are for any Linux (portable.sh),
# or of what SLEEK_PREBUILT names. SLEEK_MACHINE=aarch64 makes those two for another processor, whose command runs in the emulator.
set -euo pipefail
cd "$(dirname "$0")/.."
host=$(uname -m)
machine=${SLEEK_MACHINE:-$host}
wheels=build/wheel
if [ "$machine" != "$host" ]; then
    [ "$machine" = aarch64 ] || { echo "dist: from here to $machine nobody has built" >&2 && exit 2; }
    rustup target add "$machine-unknown-linux-gnu"
    bash examples/demo/need.sh aarch64-linux-gnu-strip:binutils-aarch64-linux-gnu qemu-aarch64:qemu-user \
        /usr/aarch64-linux-gnu/lib/libc.so.6:libc6-arm64-cross /usr/aarch64-linux-gnu/lib/libgcc_s.so.1:libgcc-s1-arm64-cross
    export STRIP=aarch64-linux-gnu-strip OBJCOPY=aarch64-linux-gnu-objcopy SLEEK_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu"
    wheels=build/wheel/$machine
fi
packed=${SLEEK_PREBUILT:-build/portable/$machine}
case " $* " in
*" wheel "* | *" tarball "*)
    [ -n "${SLEEK_PREBUILT:-}" ] || bash packaging/portable.sh "$packed"
    ;;
esac
for part; do
    case $part in
        wheel) SLEEK_LIBRARY=$packed/libsleek.so bash python/wheel.sh "$wheels" ;;
        decoder) bash python/decoder/wheel.sh build/decoder ;;
        tarball) SLEEK_PREBUILT=$packed bash packaging/tarball.sh build/dist ;;
        deb) bash packaging/deb.sh build/deb ;;
        crates) cargo publish --dry-run --allow-dirty --workspace ;;
        sbom) # build/sleek.cdx.json, which lists everything that the library and the command are built from; needs cargo-cyclonedx
            cargo cyclonedx --quiet --format json --spec-version 1.5 --override-filename sleek.cdx
            mkdir -p build
            sed "s#file://$PWD#file:///sleek#" cli/sleek.cdx.json >build/sleek.cdx.json
            rm -f sleek.cdx.json cli/sleek.cdx.json
            ;;
        *) echo "dist: there is no part $part: wheel decoder tarball deb crates sbom" >&2 && exit 2 ;;
    esac
done
