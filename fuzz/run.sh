#!/usr/bin/env bash
# Runs every fuzz target for a while, each from the golden streams and what earlier runs found: run.sh SECONDS [TARGET...]
# Needs a nightly toolchain and cargo-fuzz; without them it says so and is content, unless SLEEK_FUZZ=required.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=$1
shift

skip() {
	echo "fuzzing is passed over: $1" >&2
	[ "${SLEEK_FUZZ:-}" != required ]
	exit
}
cargo +nightly --version >/dev/null 2>&1 || skip "no nightly toolchain; rustup toolchain install nightly"
cargo +nightly fuzz --version >/dev/null 2>&1 || skip "no cargo-fuzz; cargo install --locked cargo-fuzz"

export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-fuzz/target}/fuzz"
[ $# -gt 0 ] || set -- decode sealed header roundtrip filter capi
for target; do
	echo "fuzzing $target for $seconds s"
	mkdir -p "fuzz/corpus/$target"
	log=$(mktemp)
	cargo +nightly fuzz run "$target" "fuzz/corpus/$target" tests/vectors -- -max_total_time="$seconds" -max_len=8192 \
		-timeout=20 -rss_limit_mb=2048 -print_final_stats=1 >"$log" 2>&1 || { tail -n 60 "$log"; exit 1; }
	grep -E 'number_of_executed_units| cov: ' "$log" | tail -n 2
	rm "$log"
done
