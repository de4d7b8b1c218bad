# Sourced by run.sh and keep.sh: the targets, and the tools that they need.
# Those of them that take streams start from the golden ones too.
of_streams=" decode sealed header filter capi "
targets=(decode sealed header plane sleek predict others roundtrip boxes marks quest arrays filter capi)

skip() {
	echo "fuzzing is passed over: $1" >&2
	[ "${SLEEK_FUZZ:-}" != required ]
	exit
}
cargo +nightly --version >/dev/null 2>&1 || skip "no nightly toolchain; rustup toolchain install nightly"
cargo +nightly fuzz --version >/dev/null 2>&1 || skip "no cargo-fuzz; cargo install --locked cargo-fuzz"

export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-fuzz/target}/fuzz"
