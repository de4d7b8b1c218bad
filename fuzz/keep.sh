#!/usr/bin/env bash
# Takes into fuzz/corpus those inputs of fuzz/found that reach code which the golden streams and the corpus do not: keep.sh [TARGET...]
set -euo pipefail
cd "$(dirname "$0")/.."
SLEEK_FUZZ=required
. fuzz/targets.sh

[ $# -gt 0 ] || set -- "${targets[@]}"
for target; do
	known=$(mktemp -d) kept=$(mktemp -d)
	mkdir -p "fuzz/found/$target" "fuzz/corpus/$target"
	[[ $of_streams != *" $target "* ]] || find tests/vectors -name '*.slk' -exec cp --parents -t "$known" {} +
	# Only which code is reached counts, not how often: the corpus stays small.
	cargo +nightly fuzz run "$target" "$known" "fuzz/corpus/$target" "fuzz/found/$target" -- -set_cover_merge=1 -use_counters=0 -max_len=2048 \
		>/dev/null 2>&1
	find "$known" -type f ! -name '*.slk' -exec mv -t "$kept" {} +
	rm -r "fuzz/corpus/$target" "$known"
	mv "$kept" "fuzz/corpus/$target"
	chmod 755 "fuzz/corpus/$target"
	echo "$target: $(find "fuzz/corpus/$target" -type f | wc -l) inputs, $(cat "fuzz/corpus/$target"/* | wc -c) bytes"
done
