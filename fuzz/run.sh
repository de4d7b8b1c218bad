#!/usr/bin/env bash
# Runs every fuzz target for a while: run.sh SECONDS [TARGET...], SLEEK_FUZZ_AT_ONCE (1) of them side by side; run.sh build only
# compiles them. Each starts from fuzz/corpus, the golden streams and what earlier runs found (fuzz/found, not in the repository).
# Needs a nightly toolchain and cargo-fuzz (fuzz/setup.sh); without them it says so and is content, unless SLEEK_FUZZ=required.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=$1
shift
. fuzz/targets.sh

[ $# -gt 0 ] || set -- "${targets[@]}"
fuzz() { # target
	local target=$1 log golden
	mkdir -p "fuzz/found/$target"
	log=$(mktemp)
	golden=$([[ $of_streams != *" $target "* ]] || echo tests/vectors)
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
