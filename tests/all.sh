#!/usr/bin/env bash
# Every kind of test that needs no GPU: Rust, C, Fortran, HDF5, Python, MPI, make install, quick starts, pages.
# One build serves all of them. The release as it ships is for `make nightly PROOFS=release`.
#     tests/all.sh       `make test`
#     tests/all.sh ci    lints, the recipes and the demo too (`.ci/run`)
# SLEEK_LONG=1 takes all cases of each kind, which is for a night (`make nightly PROOFS=cases`).
set -euo pipefail
cd "$(dirname "$0")/.."
kind=${1:-test}
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
unset SLEEK_PREBUILT MAKEFLAGS
begin=$SECONDS
step() { echo; echo "=== $* ($((SECONDS - begin)) s)"; }
logs=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$logs"' EXIT

# Commands at once: what each says comes when it has ended, and one that fails ends all.
declare -A at_work=()
beside() { # a word for it, command...
    "${@:2}" > "$logs/$1" 2>&1 &
    at_work[$1]=$!
}
done_with() { # a word
    local status=0
    wait "${at_work[$1]}" || status=$?
    step "$1"
    cat "$logs/$1"
    [ $status = 0 ] || { echo "all.sh: FAILED: $1" >&2 && exit 1; }
}

# What compiling the tests needs of the system: nothing is compiled before it is there. What tests need is fetched meanwhile.
bash examples/demo/need.sh cc:gcc pkg-config:pkg-config h5cc:libhdf5-dev
beside "tools" env SLEEK_RECIPES="$([ "$kind" != ci ] || echo 1)" bash tests/hdf5/setup.sh
make -s kernels
# What is in the library's own sources is compiled with all of it, and without optimisation in a tenth of the time.
programs=(--bins --test '*')
step "Rust tests: build"
CARGO_PROFILE_TEST_OPT_LEVEL=0 cargo test --all-features -p sleek-compress --lib --no-run
cargo test --all-features --no-run "${programs[@]}"
done_with "tools"

# The library that the Rust tests link and load, and the command.
export SLEEK_PREBUILT=$target/prebuilt
mkdir -p "$SLEEK_PREBUILT"
python3 packaging/licences.py > "$SLEEK_PREBUILT/THIRD-PARTY.txt"
cp -lf "$target"/debug/deps/libsleek.so "$target"/debug/deps/libsleek.a "$target"/debug/sleek "$SLEEK_PREBUILT"
step "Rust tests"
# One more than there are cores: some wait for others.
export RUST_TEST_THREADS=$(($(nproc) + 1))
cargo test --all-features "${programs[@]}"
CARGO_PROFILE_TEST_OPT_LEVEL=0 cargo test --all-features -p sleek-compress --lib
cargo test --all-features --doc

# Only one at a time makes a wheel.
installed() {
    bash tests/docs.sh && bash tests/packages.sh && bash tests/install.sh && { [ "$kind" != ci ] || make -s demo; }
}
step "scripts"
[ "$kind" != ci ] || beside "lints" make lint
beside "pages, packages, install" installed
bash tests/python.sh
bash tests/quickstart.sh
[ "$kind" != ci ] || bash tests/recipes.sh
[ "$kind" != ci ] || done_with "lints"
done_with "pages, packages, install"
step "all tests passed"
