#!/usr/bin/env bash
# Builds the documentation as a site into the folder that is the argument, with mdBook: of the path, or installed into build/tools.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(realpath -m "$1")
PATH=$PATH:$PWD/build/tools/bin
if ! command -v mdbook > /dev/null; then
    echo "installing mdbook into build/tools, once; minutes" >&2
    cargo install --quiet --locked --root build/tools --no-default-features --features search mdbook@0.5.4
fi
mdbook build --dest-dir "$out" . 2> >(grep -v ' INFO ' >&2)
echo "$out/index.html"
