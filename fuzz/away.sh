#!/usr/bin/env bash
# Runs the fuzz targets of fuzz/carry.sh's folder on all cores: run.sh SECONDS [EXECUTIONS [TARGET...]]. Each target takes its
# part of the time, or less once it has had EXECUTIONS (10^8), those of earlier runs in this folder counted too. Every fourth
# process has the library's assertions. Prints a table; $OUT (or out) gets it and what crashed. Of targets that encode arrays an
# execution is an array that was encoded, decoded and judged.
set -uo pipefail
cd "$(dirname "$0")"
seconds=$1 goal=${2:-100000000} cores=${CORES:-$(nproc)}
shift $(($# < 2 ? $# : 2))
out=$(mkdir -p "${OUT:-out}/crashes" && cd "${OUT:-out}" && pwd)
[ $# -gt 0 ] || set -- $(ls corpus)
export SLEEK_NUM_THREADS=2
mkdir -p executions current logs

of() { awk '{ n += $1 } END { print n + 0 }' $(ls executions/"$1".* 2>/dev/null) </dev/null; } # executions of TARGET

plain() { # TARGET NUMBER RUNS DEADLINE: in eight parts, each with a seed of its own
	local target=$1 number=$2 runs=$((($3 + 7) / 8)) deadline=$4 program=shipped golden= part left done
	[ $((number % 4)) != 0 ] || program=plain
	# What the instructions are must make no difference.
	case $((number % 4)) in 1) export SLEEK_SIMD=scalar ;; 2) export SLEEK_SIMD=avx2 ;; esac
	case $target in decode | sealed | header | filter | capi) golden="vectors vectors/lossless vectors/zfp" ;; esac
	for part in 1 2 3 4 5 6 7 8; do
		left=$((deadline - SECONDS))
		[ "$left" -gt 0 ] && [ "$runs" -gt 0 ] || return 0
		done=$("bin/$program" "$target" "$runs" "$left" $((RANDOM * 32768 + RANDOM + 1)) "current/$target.$number" \
			"corpus/$target" $golden 2>"logs/$target.$number.$part")
		[ -n "$done" ] && { echo "$done" >>"executions/$target.$number"; continue; }
		cp "current/$target.$number" "$out/crashes/$target-$program-$number-$part"
		cp "logs/$target.$number.$part" "$out/crashes/$target-$program-$number-$part.log"
	done
}

end=$((SECONDS + seconds)) rest=$#
for target; do
	runs=$(((goal - $(of "$target") + cores - 1) / cores)) deadline=$((SECONDS + (end - SECONDS) / rest))
	rest=$((rest - 1))
	for ((number = 0; number < cores; number++)); do plain "$target" "$number" "$runs" "$deadline" & done
	wait
	crashes=$(find "$out/crashes" -type f -name "$target-*" ! -name '*.log' | wc -l)
	printf '%-10s %12d executions, %d crashes\n' "$target" "$(of "$target")" "$crashes"
done | tee "$out/table.txt"
grep -m 1 'model name' /proc/cpuinfo
