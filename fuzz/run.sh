#!/usr/bin/env bash
# Runs every fuzz target for a while: run.sh SECONDS [TARGET...], SLEEK_FUZZ_AT_ONCE (1) of them side by side; run.sh build only
# compiles them. Each starts from fuzz/corpus, those that take streams from the golden ones too, and from what earlier runs found
# (fuzz/found, not in the repository). An input that fails goes into fuzz/corpus with the mend, so that tests/streams/fuzz.rs has it.
# Needs a nightly toolchain and cargo-fuzz (fuzz/setup.sh); without them it says so and is content, unless SLEEK_FUZZ=required.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=$1
shift
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-fuzz/target}/fuzz"
skip() {
	echo "fuzzing is passed over: $1" >&2
	[ "${SLEEK_FUZZ:-}" != required ]
	exit
}
cargo +nightly --version >/dev/null 2>&1 || skip "no nightly toolchain; rustup toolchain install nightly"
cargo +nightly fuzz --version >/dev/null 2>&1 || skip "no cargo-fuzz; cargo install --locked cargo-fuzz"

[ $# -gt 0 ] || set -- $(ls fuzz/corpus)
fuzz() { # target
	local target=$1 log golden=
	mkdir -p "fuzz/found/$target"
	log=$(mktemp)
	case $target in decode | sealed | header | filter | capi) golden=tests/vectors ;; esac
	cargo +nightly fuzz run "$target" "fuzz/found/$target" "fuzz/corpus/$target" $golden -- -max_total_time="$seconds" \
		-max_len=8192 -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 >"$log" 2>&1 || { tail -n 60 "$log"; exit 1; }
	echo "fuzzing $target for $seconds s"
	grep -E 'number_of_executed_units| cov: ' "$log" | tail -n 2
	rm "$log"
}
cargo +nightly fuzz build
[ "$seconds" != build ] || exit 0
running=()
for target; do
	if [ ${#running[@]} -ge "${SLEEK_FUZZ_AT_ONCE:-1}" ]; then
		wait "${running[0]}"
		running=("${running[@]:1}")
	fi
	fuzz "$target" &
	running+=($!)
done
for one in "${running[@]}"; do wait "$one"; done
