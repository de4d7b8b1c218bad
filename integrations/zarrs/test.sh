#!/usr/bin/env bash
# The codec for zarrs in this folder: its tests, and its arrays against those of zarr-python. Needs what tests/hdf5/setup.sh
# installs, and zarrs from crates.io, which is passed over with a word where it cannot be had.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=${SLEEK_VENVS:-build}/venv-python/bin/python
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
step() { echo "zarrs: $*"; }

cargo=(--manifest-path integrations/zarrs/Cargo.toml --target-dir "${CARGO_TARGET_DIR:-target}/zarrs" --locked)
if ! cargo fetch --manifest-path integrations/zarrs/Cargo.toml --locked > "$work/log" 2>&1; then
    tail -n 3 "$work/log"
    step "passed over, since its crates cannot be had"
    exit 0
fi
step "its tests"
cargo test "${cargo[@]}"
if ! "$python" -c 'import zarr; zarr.create_array' 2> /dev/null; then
    step "zarr-python passed over, since it is not there (Zarr 3 needs Python 3.11)"
    exit 0
fi
step "against zarr-python"
make -s dist DIST=wheel > "$work/log" 2>&1 || { tail -n 40 "$work/log" >&2 && exit 1; }
"$python" -m pip install --disable-pip-version-check -q --no-deps --target "$work/site" build/wheel/sleek_compress-*.whl
PYTHONPATH=$work/site "$python" integrations/zarrs/check.py "${CARGO_TARGET_DIR:-target}/zarrs/debug/examples/store"
step "passed"
