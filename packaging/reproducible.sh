#!/usr/bin/env bash
# Builds kernels and release twice, from copies of this tree in folders of different names, and compares what came out byte by byte.
# The names of the folders must not get into the files: what a build has to say for that stands in `build`.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

one=$work/one two=$work/a/folder/of/another/name
for folder in "$one" "$two"; do
	mkdir -p "$folder"
	git ls-files -z --cached --others --exclude-standard | tar --null --files-from=- --create | tar --extract --directory "$folder"
done

build() { # folder
	cd "$1"
	export CARGO_TARGET_DIR=$PWD/target
	export RUSTFLAGS="--remap-path-prefix=$PWD=/sleek --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo"
	make --silent kernels SLEEK_KERNELS=
	SLEEK_KERNELS= cargo build --quiet --release --locked
}
(build "$one")
(build "$two")

status=0
for file in release/libsleek.so release/libsleek.a release/sleek $(cd "$one/target" && echo kernels/*.lzma); do
	here=$one/target/$file there=$two/target/$file
	cmp "$here" "$there" || status=1
	if grep -q -a -F "$work" "$here"; then echo "$file names the folder that it was built in"; status=1; fi
	echo "$(sha256sum <"$here" | cut -d ' ' -f 1)  $file"
done
[ $status = 0 ] && echo "both builds gave the same bytes"
exit $status
