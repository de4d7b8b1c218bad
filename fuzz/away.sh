#!/usr/bin/env bash
# Runs the fuzz targets that fuzz/carry.sh put beside it on all cores: run.sh SECONDS [EXECUTIONS [TARGET[=EXECUTIONS]...]].
# A third of the time (GUIDED=33 percent) goes to the fuzzer, who looks for new code; what it finds joins the corpora, of
# which then the program `plain`, many times as quick, tries mutations until each target has had EXECUTIONS (10^8, or its own
# number), those of earlier runs in this folder counted too. Three quarters of its processes are `shipped`, the same with
# the library as a release has it, without assertions and overflow checks, which is quicker. GUIDED=0 leaves the fuzzer out.
# Prints a table; $OUT (or out) gets it, what crashed, and the corpora made small. Of targets that encode arrays an execution
# is an array that was encoded, decoded and judged; requests that were refused are counted apart, and arrays by their length.
set -uo pipefail
cd "$(dirname "$0")"
seconds=$1 goal=${2:-100000000}
shift $(($# < 2 ? $# : 2))
cores=${CORES:-$(nproc)}
out=$(mkdir -p "${OUT:-out}" && cd "${OUT:-out}" && pwd)
# The quick ones first: what they leave of their time is for the others.
[ $# -gt 0 ] || set -- header plane decode filter capi sealed roundtrip others boxes sleek predict
declare -A goals=()
names=()
for word; do
	names+=("${word%%=*}")
	goals[${word%%=*}]=$([ "$word" = "${word%%=*}" ] && echo "$goal" || echo "${word#*=}")
done
set -- "${names[@]}"
merging=60
guided=$((SECONDS + (seconds - merging) * ${GUIDED:-33} / 100)) end=$((SECONDS + seconds))
export SLEEK_NUM_THREADS=2
rm -rf parts
mkdir -p logs executions current parts "$out/crashes"

of() { # what has been counted for a target: of WAY TARGET
	cat executions/"$1.$2".* 2>/dev/null | awk '{ n += $1 } END { print n + 0 }'
}

lengths() { # what the mutations of TARGET came to besides, and how long its arrays were
	cat executions/plain."$1".* 2>/dev/null | awk '{ r += $2; a += $3; b += $4; c += $5; d += $6 } END { if (a + b + c + d)
		printf "%d requests refused, arrays below 256 B: %d, below 2 KiB: %d, below 16 KiB: %d, longer: %d", r, a, b, c, d }'
}

level() { # What the instructions are must make no difference: two processes of four go without the best.
	case $(($1 % 4)) in 1) export SLEEK_SIMD=scalar ;; 2) export SLEEK_SIMD=avx2 ;; esac
}

golden() { # TARGET: the folder that it starts from besides, if it takes streams
	! grep -qx "$1" of-streams || echo corpus/golden
}

plain() { # TARGET NUMBER RUNS DEADLINE: a part of the work after the other, until none is left; who is quick takes more
	local target=$1 number=$2 runs=$((($3 + 7) / 8)) deadline=$4 program=plain crashes=0 done left seed part
	level "$number"
	[ $((number / 4 % 4)) = 0 ] || program=shipped
	for ((part = 0; part < 8 * cores; part++)); do
		left=$((deadline - SECONDS)) seed=$((RANDOM * 32768 + RANDOM + 1))
		[ "$left" -gt 0 ] && [ "$runs" -gt 0 ] && [ "$crashes" -lt 5 ] || return 0
		mkdir "parts/$target.$part" 2>/dev/null || continue
		done=$("bin/$program" "$target" "$runs" "$left" "$seed" "current/$target.$number" "corpus/$target" \
			$(golden "$target") 2>"logs/plain.$target.$number.$part")
		[ -n "$done" ] && { echo "$done" >>"executions/plain.$target.$number"; continue; }
		crashes=$((crashes + 1))
		cp "current/$target.$number" "$out/crashes/$target-$program-$number-$part"
		cp "logs/plain.$target.$number.$part" "$out/crashes/$target-$program-$number-$part.log"
	done
}

fuzzer() { # TARGET NUMBER RUNS DEADLINE: one process after the other, since each ends where it finds something
	local target=$1 number=$2 runs=$3 deadline=$4 log done left crashed
	level "$number"
	for attempt in 1 2 3 4 5; do
		left=$((deadline - SECONDS))
		[ "$left" -gt 0 ] && [ "$runs" -gt 0 ] || return 0
		log=logs/$target.$number.$attempt crashed=
		"bin/$target" "found/$target" "corpus/$target" $(golden "$target") -seed=$((RANDOM * 32768 + RANDOM + 1)) -runs="$runs" \
			-max_total_time="$left" -max_len=2048 -timeout=20 -rss_limit_mb=4096 -print_final_stats=1 \
			-artifact_prefix="$out/crashes/$target-" >"$log" 2>&1 || crashed=yes
		done=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
		echo "${done:-0}" >>"executions/fuzzer.$target.$number"
		runs=$((runs - ${done:-0}))
		[ "$crashed" ] || return 0
		tail -n 80 "$log" >"$out/crashes/$target-fuzzer-$number-$attempt.log"
	done
}

small() { # TARGET: its corpus anew, of what reaches code that the golden streams do not
	mkdir -p "small/$1" "known/$1"
	[ -z "$(golden "$1")" ] || cp corpus/golden/* "known/$1"
	timeout "$merging" "bin/$1" "known/$1" "corpus/$1" "found/$1" -set_cover_merge=1 -use_counters=0 -max_len=2048 \
		>"logs/$1.small" 2>&1 || return 0
	find "known/$1" -type f ! -name '*.slk' -exec mv -t "small/$1" {} +
	rm -r "corpus/$1"
	mv "small/$1" corpus/
}

all() { # WAY DEADLINE TARGET...: each on all cores for its share of the time, or until it has had enough
	local way=$1 last=$2 target number before runs
	shift 2
	for target; do
		mkdir -p "found/$target"
		before=$(($(of plain "$target") + $(of fuzzer "$target")))
		runs=$(((${goals[$target]} - before + cores - 1) / cores))
		deadline=$((SECONDS + (last - SECONDS) / $#))
		shift
		for ((number = 0; number < cores; number++)); do "$way" "$target" "$number" "$runs" "$deadline" & done
		wait
	done
}

if [ "${GUIDED:-33}" != 0 ]; then
	all fuzzer "$guided" "$@"
	rm -rf small known
	for target; do small "$target" & done
	wait
	rm -rf small known
fi
all plain "$end" "$@"
for target; do
	crashes=$(find "$out/crashes" -type f -name "$target-*" ! -name '*.log' | wc -l)
	cover=$(grep -ho 'cov: [0-9]*' logs/"$target".[0-9]* 2>/dev/null | sort -k 2 -n | tail -n 1)
	printf '%-10s %12d executions by the fuzzer, %12d plain, %s, %d crashes; %s\n' "$target" "$(of fuzzer "$target")" \
		"$(of plain "$target")" "$cover" "$crashes" "$(lengths "$target")"
done | tee "$out/table.txt"
tar -cJf "$out/corpus.tar.xz" corpus
grep -m 1 'model name' /proc/cpuinfo
