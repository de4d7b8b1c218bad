#!/usr/bin/env bash
# tests/streams/miri.rs in Miri, which watches each access: each test in a process of its own, JOBS at once (as many as there are cores),
# each ended after LIMIT seconds (none). The first argument is a part of the names of those that are wanted. Needs a nightly
# toolchain with miri and rust-src.
set -euo pipefail
cd "$(dirname "$0")/.."
export MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-tree-borrows"
# Overflow checks are the other tests' to make.
miri() {
	cargo +nightly miri test -p sleek-compress --quiet --no-default-features --test streams \
		--config profile.dev.package.sleek-compress.debug-assertions=false \
		--config profile.dev.package.sleek-compress.overflow-checks=false "$@"
}
one() {
	local start=$SECONDS log status=0
	log=$(mktemp)
	timeout "${LIMIT:-0}" bash -c 'miri -- --exact --nocapture "$1"' miri "$1" >"$log" 2>&1 || status=$?
	if [ $status = 0 ] && grep -q "1 passed" "$log"; then
		echo "$1: nothing found, $((SECONDS - start)) s"
	else
		cat "$log"
		[ $status != 124 ] || echo "$1: not at its end after $LIMIT s"
		echo "$1: FAILED" && exit 1
	fi
	rm "$log"
}
export -f miri one
list=$(mktemp -d)
trap 'rm -rf "$list"' EXIT
miri -- --list >"$list/all" 2>"$list/log" || { cat "$list/log"; exit 1; }
sed -n "s/^\(miri::.*\): test\$/\1/p" "$list/all" | grep -e "${1:-}" >"$list/wanted"
xargs -P "${JOBS:-$(nproc)}" -I{} bash -c 'one {}' <"$list/wanted"
echo "Miri has nothing to report: $(wc -l <"$list/wanted") tests"
