#!/usr/bin/env bash
# Proofs that take minutes to hours, and checks before a release: each by itself, with its time and outcome in
# docs/results/release.tsv. One whose tool cannot be had counts as not run, never as passed.
#   bash tests/proofs.sh [NAME…]     those named, or the proofs; "release" stands for the checks before a release
set -uo pipefail
cd "$(dirname "$0")/.."
table=docs/results/release.tsv logs=build/proofs
mkdir -p "$logs"

# NAME | the program it needs, and where to have it | what it runs
proofs=(
    "fuzz       | cargo-fuzz | bash fuzz/setup.sh                    | SLEEK_FUZZ=required bash fuzz/run.sh $((60 * ${MINUTES:-10}))"
    "cases      | cargo     | rustup                                  | bash tests/hdf5/setup.sh && make -s kernels && SLEEK_LONG=1 cargo test --all-features --no-fail-fast && SLEEK_LONG=1 bash tests/install.sh"
    "zarrs      | cargo     | rustup                                  | bash tests/hdf5/setup.sh && bash integrations/zarrs/test.sh"
    "matrix     | cargo     | rustup                                  | SLEEK_MATRIX=$((60 * ${MINUTES:-10})) cargo test --release -p sleek-compress --test matrix"
    "damage     | cargo     | rustup                                  | SLEEK_DAMAGE=1000000 cargo test --test streams corruption::random_damage"
    "memcheck   | valgrind  | apt install valgrind                    | cargo test --all-features --test capi -- --ignored"
    "asan       | rustup    | rustup                                  | bash tests/hdf5/setup.sh && bash tests/asan.sh"
    "ubsan      | cc        | apt install gcc                         | make -s kernels && SLEEK_TEST_CFLAGS='-fsanitize=undefined -fno-sanitize-recover=undefined' cargo test --all-features --test capi --test cuda"
    "tsan       | rustup    | rustup                                  | RUSTFLAGS=-Zsanitizer=thread cargo +nightly test -p sleek-compress -Zbuild-std --no-default-features --features test-codecs --target x86_64-unknown-linux-gnu --target-dir target/tsan --test streams threads::"
    "miri       | cargo-miri | rustup component add miri              | bash tests/miri.sh"
    "aarch64    | qemu-aarch64 | apt install qemu-user                | bash tests/aarch64.sh"
    "kills      | h5repack  | apt install hdf5-tools                  | SLEEK_KILLS=${KILLS:-500} cargo test --all-features --test hdf5 -- killed_at_any_moment"
    "subfiling  | python3   | apt install python3                     | bash tests/hdf5/setup.sh && bash tests/hdf5/subfiling.sh"
    "exhaustive | cargo     | rustup                                  | SLEEK_EXHAUSTIVE=1 cargo test --release --test streams exhaustive::"
    "checksum   | cargo     | rustup                                  | cargo bench --bench checksum"
    "h5wasm     | node      | apt install nodejs                      | bash integrations/h5wasm/test.sh build/h5wasm"
)
checks=(
    "abi        | cc        | apt install gcc                         | cargo test --all-features --test capi"
    "install    | cargo     | rustup                                  | make -s build && SLEEK_PREBUILT=\$(realpath \${CARGO_TARGET_DIR:-target}/release) bash tests/install.sh release"
    "publish    | cargo     | rustup                                  | make -s dist DIST=crates"
    "deny       | cargo-deny | cargo install cargo-deny               | cargo deny --all-features check licenses bans sources"
    "advisories | cargo-deny | cargo install cargo-deny               | cargo deny --all-features check advisories"
    "sbom       | cargo-cyclonedx | cargo install cargo-cyclonedx     | make -s dist DIST=sbom"
    "reproducible | python3 | apt install python3                     | bash packaging/reproducible.sh"
    "wheel      | python3   | apt install python3                     | make -s dist DIST='wheel tarball' && bash tests/bare.sh"
    "wheel-arm  | python3   | apt install python3                     | SLEEK_MACHINE=aarch64 make -s dist DIST='wheel tarball'"
    "decoder    | python3   | apt install python3                     | make -s dist DIST=decoder"
    "debian     | dpkg-deb  | apt install dpkg-dev                    | make -s dist DIST=deb"
    # The maintainer's address is still to come: CONTRIBUTING.md §1.
    "lintian    | lintian   | apt install lintian                     | lintian --fail-on error --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog build/deb/*.deb"
    "recipes    | python3   | apt install python3                     | bash tests/packages.sh"
    "clean-room | debootstrap | apt install debootstrap               | make -s dist DIST='deb tarball wheel' && bash tests/clean-room.sh"
)

commit=$(git describe --always)$(git diff --quiet HEAD -- . ":!$table" || echo -dirty)
set -f    # commands are told as they are written
trim() { local text=$*; echo "${text%"${text##*[![:space:]]}"}"; }
failed=0 rows=$(mktemp)
trap 'rm -f "$rows"' EXIT
all=("${proofs[@]}")
if [ "$*" = release ]; then
    all=("${checks[@]}")
    shift
elif [ $# -gt 0 ]; then
    all+=("${checks[@]}")
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
