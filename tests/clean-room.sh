#!/usr/bin/env bash
# A fresh Debian root in which nothing of the repository is but what users get: the Debian packages, the tarball, the wheel, the pages
# and the examples. Installs the packages there, uses them, takes them away; then runs the quick starts and builds the examples against
# the unpacked tarball. Needs root, a Debian mirror, and what `make dist` made. clean-room.sh RELEASE: in another release of Debian, for
# which the packages are not made.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(id -u)" = 0 ] || { echo "clean room: needs root, for chroot" >&2 && exit 1; }
bash examples/demo/need.sh mmdebstrap:mmdebstrap
here=$(. /etc/os-release && echo "$VERSION_CODENAME")
suite=${1:-$here}
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
step() { echo "clean room: $*"; }

step "Debian $suite"
packages=hdf5-tools,libhdf5-dev,libhdf5-openmpi-dev,gcc,g++,gfortran,make,cmake,pkg-config,netcdf-bin,libnetcdf-dev,python3,python3-venv,python3-h5py
base=${SLEEK_CLEAN_ROOT:-build/clean-root-$suite.tar}
if [ ! -f "$base" ]; then
    mkdir -p "$(dirname "$base")"
    mmdebstrap --quiet --format=tar --variant=apt --include=$packages "$suite" "$base.part" && mv "$base.part" "$base"
fi
tar -xf "$base" -C "$root"

room=$root/room
mkdir -p "$room"
[ "$suite" != "$here" ] || cp build/deb/*.deb "$room"
cp build/dist/sleek-*.tar.gz build/wheel/sleek_compress-*.whl tests/pages.py "$room"
cp -r docs/guide examples "$room"
cp tests/clean-room-inside.sh "$room"
# The room's programs reach the machine's package index of Python, by the machine's settings.
cp -L /etc/resolv.conf "$root/etc/resolv.conf" 2> /dev/null || true
[ ! -f /etc/ssl/certs/ca-certificates.crt ] || { mkdir -p "$root/etc/ssl/certs" && cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"; }
[ ! -f /etc/pip.conf ] || cp /etc/pip.conf "$root/etc/pip.conf"
env -i HOME=/room LC_ALL=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    ${PIP_INDEX_URL:+PIP_INDEX_URL="$PIP_INDEX_URL"} ${PIP_CERT:+PIP_CERT="$PIP_CERT"} \
    unshare --mount bash -euc 'mount --rbind /proc "$1/proc"; exec chroot "$1" bash /room/clean-room-inside.sh' room "$root"
step "passed"
