#!/usr/bin/env bash
# Packs what `make install` puts, as a prefix that works wherever it is unpacked: tarball.sh FOLDER; prints the file's name.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p "$1"
version=$(sed -n 's/^version *= *"\(.*\)"/\1/p' Cargo.toml | head -n 1)
name=sleek-$version-linux-${SLEEK_MACHINE:-$(uname -m)}
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

make -s -o build -o static install PREFIX="/$name" DESTDIR="$stage" > /dev/null
# pkg-config's file says where it lies, as those of CMake do; nothing is left to uninstall by list.
sed -i -e 's|^prefix=.*|prefix=${pcfiledir}/../..|' -e 's|^libdir=.*|libdir=${prefix}/lib|' "$stage/$name/lib/pkgconfig/sleek.pc"
rm -r "$stage/$name/share/sleek"
find "$stage/$name" \( -name 'libsleek.so.*.*.*' -o -path '*/hdf5/plugin/libsleek.so' -o -path '*/bin/sleek' \) -exec "${STRIP:-strip}" --strip-unneeded {} +
install -D -m 644 -t "$stage/$name/share/doc/sleek" README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2> /dev/null || echo 0)}" \
    -C "$stage" -czf "$1/$name.tar.gz" "$name"
(cd "$1" && sha256sum "$name.tar.gz" > "$name.tar.gz.sha256")
echo "$1/$name.tar.gz"
