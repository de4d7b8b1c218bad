#!/usr/bin/env bash
# Builds the plugin into the folder that is the argument: libH5Zsleek.so, a side module of WebAssembly. Needs a nightly compiler
# with rust-src, as ThreadSanitizer does; no Emscripten.
set -euo pipefail
cd "$(dirname "$0")"
target=${CARGO_TARGET_DIR:-../../target}/h5wasm
# The compiler has no shared libraries of this target; the linker has. What serves other systems alone is not used here.
export RUSTFLAGS="-A dead_code -C relocation-model=pic -C link-arg=--experimental-pic -C link-arg=-shared -C link-arg=--unresolved-symbols=import-dynamic"
cargo +nightly build --release --locked --target wasm32-unknown-unknown -Z build-std=std,panic_abort --target-dir "$target" "${@:2}"
mkdir -p "$1"
cp "$target/wasm32-unknown-unknown/release/sleek_h5wasm.wasm" "$1/libH5Zsleek.so"
