#!/usr/bin/env bash
# Installs what fuzzing needs and is missing: a nightly toolchain and cargo-fuzz. Where they cannot be had, fuzzing is passed over.
set -uo pipefail
cargo +nightly --version >/dev/null 2>&1 || timeout 600 rustup toolchain install nightly --profile minimal --no-self-update
cargo +nightly fuzz --version >/dev/null 2>&1 || timeout 900 cargo install --quiet --locked --debug cargo-fuzz
exit 0
