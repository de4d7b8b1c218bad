#!/usr/bin/env bash
# What `make peers` runs: pinned packages in a venv, the release build, the bench. Options go to peers.py; with --quick the
# results go to build/peers instead of docs.
set -euo pipefail
cd "$(dirname "$0")/../.."

out=docs
for option in "$@"; do [ "$option" = --quick ] && out=build/peers; done

bash examples/demo/need.sh cc:gcc python3:python3 python-venv:python3-venv
python=build/peers/venv/bin/python
wanted=$(sha256sum benches/peers/requirements.txt)
if [ "$(cat build/peers/installed 2>/dev/null)" != "$wanted" ]; then
    rm -rf build/peers/venv
    python3 -m venv build/peers/venv
    "$python" -m pip install --quiet --disable-pip-version-check -r benches/peers/requirements.txt
    echo "$wanted" >build/peers/installed
fi

cargo build --release --quiet
target=${CARGO_TARGET_DIR:-target}/release
mkdir -p build/peers/plugin
install -m 755 "$target/libsleek.so" build/peers/plugin/
export HDF5_PLUGIN_PATH=$PWD/build/peers/plugin SLEEK_NUM_THREADS=1
exec "$python" benches/peers/peers.py --sleek "$target/sleek" --library build/peers/plugin/libsleek.so \
    --data "${SLEEK_DATA:-tests/data}" --out "$out" "$@"
