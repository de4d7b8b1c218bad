#!/usr/bin/env bash
# Packs what `make install` puts, as a prefix that works wherever it is unpacked: tarball.sh FOLDER; prints the file's name.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p "$1"
version=$(sed -n 's/^version *= *"\(.*\)"/\1/p' Cargo.toml | head -n 1)
name=sleek-$version-linux-${SLEEK_MACHINE:-$(uname -m)}
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

make -s -o build install PREFIX="/$name" DESTDIR="$stage" STATIC=yes > /dev/null
# Nothing is left to uninstall by list.
rm -r "$stage/$name/share/sleek"
install -m 644 -t "$stage/$name/share/doc/sleek" README.md CHANGELOG.md
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2> /dev/null || echo 0)}" \
    -C "$stage" -czf "$1/$name.tar.gz" "$name"
(cd "$1" && sha256sum "$name.tar.gz" > "$name.tar.gz.sha256")
echo "$1/$name.tar.gz"
