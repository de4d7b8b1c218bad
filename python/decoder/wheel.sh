#!/usr/bin/env bash
# Builds the wheel of sleek-decode, which is the same for every system, into the folder that is the argument.
set -euo pipefail
cd "$(dirname "$0")/../.."
mkdir -p "$1"
out=$(cd "$1" && pwd)

python=build/venv-wheel/bin/python
if ! "$python" -c 'import hatchling.build' 2> /dev/null; then
    rm -rf build/venv-wheel
    python3 -m venv build/venv-wheel
    "$python" -m pip install --quiet --disable-pip-version-check 'hatchling>=1.27'
fi
rm -f "$out"/sleek_decode-*.whl
"$python" -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps --wheel-dir "$out" ./python/decoder
ls "$out"/sleek_decode-*.whl
