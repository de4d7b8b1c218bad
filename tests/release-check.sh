#!/usr/bin/env bash
# What comes before a release beside the tests: each check by itself, with its time and outcome in docs/results/release.tsv, which
# docs/internals/release.md speaks of. A check whose tool cannot be had counts as not run, never as passed.
#   bash tests/release-check.sh [CHECK…]     what is packed; or those named; or "proofs", the slow ones
set -uo pipefail
cd "$(dirname "$0")/.."
table=docs/results/release.tsv logs=build/release-check
mkdir -p "$logs"

# NAME | the program it needs, and where to have it | what it runs
checks=(
    "abi        | cc        | apt install gcc                         | cargo test --all-features --test abi --test header"
    "publish    | cargo     | rustup                                  | cargo publish --dry-run --all-features --allow-dirty --workspace"
    "deny       | cargo-deny | cargo install cargo-deny               | cargo deny --all-features check licenses bans sources"
    "advisories | cargo-deny | cargo install cargo-deny               | cargo deny --all-features check advisories"
    "sbom       | cargo-cyclonedx | cargo install cargo-cyclonedx     | make -s sbom"
    "reproducible | python3 | apt install python3                     | make -s reproducible"
    "wheel      | python3   | apt install python3                     | make -s portable"
    "wheel-arm  | python3   | apt install python3                     | make -s portable MACHINE=aarch64"
    "decoder    | python3   | apt install python3                     | make -s decoder"
    "debian     | dpkg-deb  | apt install dpkg-dev                    | make -s deb"
    # The maintainer's address is still to come: docs/internals/release.md §1.
    "lintian    | lintian   | apt install lintian                     | lintian --fail-on error --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog build/deb/*.deb"
    "recipes    | python3   | apt install python3                     | bash tests/packages.sh"
    "h5wasm     | node      | apt install nodejs                      | make -s h5wasm"
    "clean-room | debootstrap | apt install debootstrap               | make -s clean-room"
)
# Each takes from minutes to an hour on two cores.
proofs=(
    "miri       | cargo-miri | rustup component add miri              | make -s miri"
    "asan       | rustup    | rustup                                  | make -s asan"
    "ubsan      | cc        | apt install gcc                         | make -s ubsan"
    "tsan       | rustup    | rustup                                  | make -s tsan"
    "memcheck   | cargo     | rustup                                  | make -s memcheck"
    "aarch64    | cargo     | rustup                                  | make -s aarch64"
    "kills      | h5repack  | apt install hdf5-tools                  | make -s kills"
    "subfiling  | python3   | apt install python3                     | make -s subfiling"
    "damage     | cargo     | rustup                                  | make -s damage"
    "exhaustive | cargo     | rustup                                  | make -s exhaustive"
)

commit=$(git describe --always)$(git diff --quiet HEAD -- . ":!$table" || echo -dirty)
set -f    # commands are told as they are written
trim() { local text=$*; echo "${text%"${text##*[![:space:]]}"}"; }
failed=0 rows=$(mktemp)
trap 'rm -f "$rows"' EXIT
all=("${checks[@]}")
if [ "$*" = proofs ]; then
    all=("${proofs[@]}")
    shift
elif [ $# -gt 0 ]; then
    all+=("${proofs[@]}")
fi
for check in "${all[@]}"; do
    IFS='|' read -r name tool source command <<<"$check"
    name=$(trim $name) tool=$(trim $tool) source=$(trim $source) command=$(trim $command)
    if [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then continue; fi
    begin=$SECONDS
    if ! command -v "$tool" >/dev/null; then
        outcome="not run: $tool is not there ($source)"
    elif bash -c "$command" >"$logs/$name.log" 2>&1 </dev/null; then
        # What a script could not have it passes over with a word.
        over=$(grep -h 'passed over' "$logs/$name.log" | tail -n 1)
        outcome=${over:+"in part: $over"}
        outcome=${outcome:-passed}
    elif grep -q 'Could not resolve host' "$logs/$name.log"; then
        outcome="not run: $(grep -ho 'Could not resolve host.*' "$logs/$name.log" | tail -n 1)"
    else
        outcome="failed: $logs/$name.log" failed=1
    fi
    echo "$name: $outcome ($((SECONDS - begin)) s)"
    printf '%s\t%s\t%s\t%s\t%s\n' "$name" "$(date +%F)" "$commit" "$outcome" "$command" >>"$rows"
done

# Rows of checks that were not asked for stay.
{
    printf 'check\tdate\tcommit\toutcome\tcommand\n'
    { cat "$rows"; [ ! -f "$table" ] || tail -n +2 "$table"; } | sort -s -u -t $'\t' -k1,1
} >"$table.new"
mv "$table.new" "$table"
exit "$failed"
