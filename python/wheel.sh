#!/usr/bin/env bash
# Builds the wheel around the library that SLEEK_LIBRARY names, and the command and THIRD-PARTY.txt that lie beside it, into the folder
# that is the argument.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p "$1"
out=$(cd "$1" && pwd)

python=build/venv-wheel/bin/python
if ! "$python" -c 'import hatchling.build' 2> /dev/null; then
    rm -rf build/venv-wheel
    python3 -m venv build/venv-wheel
    "$python" -m pip install --quiet --disable-pip-version-check 'hatchling>=1.27'
fi
# Without the tables for debuggers they take a tenth.
stripped=$(mktemp -d)
trap 'rm -r "$stripped"' EXIT
"${STRIP:-strip}" --strip-unneeded -o "$stripped/libsleek.so" "$SLEEK_LIBRARY"
"${STRIP:-strip}" -o "$stripped/sleek" "$(dirname "$SLEEK_LIBRARY")/sleek"

rm -f "$out"/sleek_compress-*.whl
SLEEK_THIRD_PARTY=$(realpath "$(dirname "$SLEEK_LIBRARY")/THIRD-PARTY.txt") SLEEK_LIBRARY=$stripped/libsleek.so SLEEK_COMMAND=$stripped/sleek "$python" -m pip wheel --quiet \
    --disable-pip-version-check --no-build-isolation --no-deps --wheel-dir "$out" ./python
ls "$out"/sleek_compress-*.whl
