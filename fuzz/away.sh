#!/usr/bin/env bash
# Runs the fuzz targets that fuzz/carry.sh put beside it, one after the other, each on all cores: run.sh SECONDS [EXECUTIONS
# [TARGET...]]. SECONDS is for all of them together; a target that has had EXECUTIONS (10^8) in this run and those before
# leaves its time to the next. Prints a table; $OUT (or out) gets it, what crashed, and the corpora made small.
set -uo pipefail
cd "$(dirname "$0")"
seconds=$1 goal=${2:-100000000}
shift $(($# < 2 ? $# : 2))
cores=${CORES:-$(nproc)}
out=$(mkdir -p "${OUT:-out}" && cd "${OUT:-out}" && pwd)
# The quick ones first.
[ $# -gt 0 ] || set -- header plane decode capi filter toy ratio sleek sealed boxes roundtrip
merging=$((seconds / 10 + 5))
end=$((SECONDS + seconds - merging))
export SLEEK_NUM_THREADS=2
mkdir -p logs executions "$out/crashes"

of() { # what has been counted for a target
	cat executions/"$1".* 2>/dev/null | awk '{ n += $1 } END { print n + 0 }'
}

work() { # TARGET NUMBER RUNS DEADLINE: one process after the other, since each ends where it finds something
	local target=$1 number=$2 runs=$3 deadline=$4 log done left golden= crashed
	# What the instructions are must make no difference: two processes of four go without the best.
	case $((number % 4)) in 1) export SLEEK_SIMD=scalar ;; 2) export SLEEK_SIMD=avx2 ;; esac
	grep -qx "$target" of-streams && golden=corpus/golden
	for attempt in 1 2 3 4 5; do
		left=$((deadline - SECONDS))
		[ "$left" -gt 0 ] && [ "$runs" -gt 0 ] || return 0
		log=logs/$target.$number.$attempt crashed=
		"bin/$target" "found/$target" "corpus/$target" $golden -seed=$((RANDOM * 32768 + RANDOM + 1)) -runs="$runs" \
			-max_total_time="$left" -max_len=2048 -timeout=20 -rss_limit_mb=4096 -print_final_stats=1 \
			-artifact_prefix="$out/crashes/$target-" >"$log" 2>&1 || crashed=yes
		done=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
		echo "${done:-0}" >>"executions/$target.$number"
		runs=$((runs - ${done:-0}))
		[ "$crashed" ] || return 0
		tail -n 80 "$log" >"$out/crashes/$target-$number-$attempt.log"
	done
}

small() { # the corpus of a target: what reaches code that the golden streams do not
	local golden=
	mkdir -p "small/$1" "known/$1"
	grep -qx "$1" of-streams && cp corpus/golden/* "known/$1"
	timeout "$merging" "bin/$1" "known/$1" "corpus/$1" "found/$1" -set_cover_merge=1 -use_counters=0 -max_len=2048 >"logs/$1.small" 2>&1
	find "known/$1" -type f ! -name '*.slk' -exec mv -t "small/$1" {} +
}

count=$#
for target; do
	mkdir -p "found/$target"
	before=$(of "$target") from=$SECONDS
	deadline=$((SECONDS + (end - SECONDS) / count))
	count=$((count - 1))
	runs=$(((goal - before + cores - 1) / cores))
	for ((number = 0; number < cores; number++)); do work "$target" "$number" "$runs" "$deadline" & done
	wait
	total=$(of "$target")
	crashes=$(find "$out/crashes" -type f -name "$target-*" ! -name '*.log' | wc -l)
	cover=$(grep -ho 'cov: [0-9]*' logs/"$target".[0-9]* | sort -k 2 -n | tail -n 1)
	printf '%-10s %12d executions now, %12d in all, %4d s, %s, %d crashes\n' "$target" $((total - before)) "$total" \
		$((SECONDS - from)) "$cover" "$crashes" | tee -a "$out/table.txt"
done
rm -rf small known
for target; do small "$target" & done
wait
tar -cJf "$out/corpus.tar.xz" -C small . && rm -rf small known
grep -m 1 'model name' /proc/cpuinfo
