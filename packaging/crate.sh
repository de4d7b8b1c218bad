#!/usr/bin/env bash
# cargo while the compiled kernels lie where the crate takes them from: crate.sh package|publish [OPTIONS]. A package has no file from
# outside its folder and none of the target folder, so they are copied into kernels/built: git ignores it, `include` in Cargo.toml not.
set -euo pipefail
cd "$(dirname "$0")/.."
make -s kernels
trap 'rm -rf kernels/built' EXIT
mkdir -p kernels/built
from=${SLEEK_KERNELS:-${CARGO_TARGET_DIR:-target}/kernels}
cp "$from/built" "$from"/*.lzma kernels/built
# The kernels of tests' codecs stay here.
rm -f kernels/built/toy-*
env -u SLEEK_KERNELS cargo "$@"
