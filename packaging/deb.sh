#!/usr/bin/env bash
# Makes the Debian packages from what `make build` has built into CARGO_TARGET_DIR: deb.sh FOLDER. Installs debhelper if needed.
set -euo pipefail
cd "$(dirname "$0")/.."
bash examples/demo/need.sh dh:debhelper dpkg-buildpackage:dpkg-dev fakeroot:fakeroot make:make
version=$(sed -n 's/^version *= *"\(.*\)"/\1/p' Cargo.toml | head -n 1)
if [ "$(dpkg-parsechangelog -l packaging/debian/changelog -S Version)" != "${version/-/\~}" ]; then
    echo "packaging/debian/changelog is not about version $version" >&2
    exit 1
fi
rm -rf "$1"
mkdir -p "$1/sleek-$version"
git ls-files -z -- . ':!tests/data' ':!shared' | tar --null -T - -cf - | tar -xf - -C "$1/sleek-$version"
cd "$1/sleek-$version"
cp -r packaging/debian debian
# The compiler comes from rustup as a rule, which dpkg knows nothing of: -d.
SLEEK_BUILT=yes DEB_BUILD_OPTIONS=noautodbgsym dpkg-buildpackage -b -us -uc -d > ../build.log 2>&1 || { tail -n 40 ../build.log >&2 && exit 1; }
cd ..
rm -r "sleek-$version"
sha256sum -- *.deb > SHA256SUMS
ls "$PWD"/*.deb
