#!/usr/bin/env bash
# Says how large the stripped library is, and what of it are kernels; fails where it is larger than it is to be: 7.25 MB with one codec, and
# 3.6 for each other one that is shipped. Takes another library than that of `make build`.
set -euo pipefail
cd "$(dirname "$0")/.."
library=${1:-${CARGO_TARGET_DIR:-target}/release/libsleek.so}
copy=$(mktemp)
trap 'rm -f "$copy"' EXIT
strip -o "$copy" "$library"
codecs=$(sed -n '/^registry! {/,/^}/p' src/codec/mod.rs | grep -c '^    [a-z]*::[A-Za-z]*;$')
kernels=$(cat "${SLEEK_KERNELS:-${CARGO_TARGET_DIR:-target}/kernels}"/*.lzma 2> /dev/null | wc -c)
bytes=$(wc -c < "$copy") most=$((7250000 + 3600000 * (codecs - 1)))
echo "size: $bytes bytes stripped, $kernels of them kernels; at most $most with $codecs codecs"
[ "$bytes" -le "$most" ]
