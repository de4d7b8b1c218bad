#!/usr/bin/env bash
# What `make dist` packs, in build/: dist.sh PART… of the release in $RELEASE. Parts that need a tool say which.
set -euo pipefail
cd "$(dirname "$0")/.."
for part; do
    case $part in
        wheel) SLEEK_LIBRARY=$RELEASE/libsleek.so bash python/wheel.sh build/wheel ;;
        decoder) bash python/decoder/wheel.sh build/decoder ;;
        tarball) bash packaging/tarball.sh build/dist ;;
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
