#!/usr/bin/env bash
# The plugin for h5wasm: built, packed for npm into the folder that is the argument, used in Node.js, and by a page in headless
# Chromium where that is there. Passed over with a word where a nightly compiler with rust-src, Node.js or h5wasm cannot be had.
# Needs what tests/hdf5/setup.sh installs; SLEEK_SITE, a folder with the Python package, saves building the wheel.
set -euo pipefail
cd "$(dirname "$0")/../.."
step() { echo "h5wasm: $*"; }
over() { step "passed over, since $*" && exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=$(realpath "${SLEEK_VENVS:-build}")/venv-python/bin/python

[ -d "$(rustc +nightly --print sysroot 2> /dev/null)/lib/rustlib/src/rust/library/std" ] || over "there is no nightly compiler with rust-src"
command -v npm > /dev/null || over "there is no Node.js"
step "build"
bash integrations/h5wasm/build.sh "$work/plugin" > "$work/log" 2>&1 || { tail -n 40 "$work/log" >&2 && exit 1; }
cp integrations/h5wasm/index.mjs integrations/h5wasm/package.json "$work/plugin"
cp LICENSE-* "$work/plugin"
(cd "$work/plugin" && npm pack --silent --pack-destination "$work" > /dev/null)
mkdir -p "${1:-build/h5wasm}"
cp "$work"/sleek-h5wasm-*.tgz "${1:-build/h5wasm}"

mkdir "$work/page"
cd "$work/page"
echo '{"private": true, "type": "module"}' > package.json
npm install --silent --no-audit --no-fund "h5wasm@${H5WASM:-0.10.3}" "$work"/sleek-h5wasm-*.tgz > "$work/log" 2>&1 || {
    cat "$work/log"
    over "h5wasm cannot be had"
}
cd - > /dev/null
cp integrations/h5wasm/tests/read.mjs integrations/h5wasm/tests/page.html "$work/page"
if [ -z "${SLEEK_SITE:-}" ]; then
    make -s dist DIST=wheel > "$work/log" 2>&1 || { tail -n 40 "$work/log" >&2 && exit 1; }
    SLEEK_SITE=$work/site
    "$python" -m pip install --disable-pip-version-check -q --no-deps --target "$SLEEK_SITE" build/wheel/sleek_compress-*.whl
fi
PYTHONPATH=$SLEEK_SITE "$python" integrations/h5wasm/tests/files.py "$work/page"

step "h5wasm $(sed -n 's/.*"version": "\(.*\)".*/\1/p' "$work/page/node_modules/h5wasm/package.json"), plugin of $(stat -c %s "$work/plugin/libH5Zsleek.so") bytes"
(cd "$work/page" && node read.mjs "$PWD") | tee "$work/said"
grep -q '^SLEEK: corrupt stream: ' "$work/said" || { echo "h5wasm: the reason of a damaged chunk was not said" >&2 && exit 1; }

chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || over "there is no Chromium for the page"
python3 -m http.server --bind 127.0.0.1 --directory "$work/page" 0 > "$work/served" 2>&1 &
server=$!
trap 'kill $server; rm -rf "$work"' EXIT
for _ in $(seq 50); do grep -q 'port [0-9]' "$work/served" && break || sleep 0.1; done
port=$(grep -o 'port [0-9]*' "$work/served" | cut -d ' ' -f 2)
timeout 120 "$chromium" --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
    --disable-component-update --disable-sync --user-data-dir="$work/profile" --virtual-time-budget=60000 \
    --dump-dom "http://127.0.0.1:$port/page.html" > "$work/dom" 2> "$work/log" || { tail -n 5 "$work/log" >&2 && exit 1; }
said=$(sed -n 's|.*<pre>\(.*\)</pre>.*|\1|p' "$work/dom")
count=$(python3 -c 'import json, sys; print(len(json.load(open(sys.argv[1]))))' "$work/page/names.json")
[ "$said" = "$count of $count datasets as h5py reads them" ] || { cat "$work/dom" >&2 && echo "h5wasm: the page says: $said" >&2 && exit 1; }
step "in $("$chromium" --version 2> /dev/null): $said"

# h5web, as it is, and with the line that it lacks.
mkdir "$work/h5web" "$work/page/plain" "$work/page/patched"
cp integrations/h5wasm/tests/h5web/* "$work/h5web"
cd "$work/h5web"
echo '{"private": true, "type": "module"}' > package.json
npm install --silent --no-audit --no-fund --legacy-peer-deps @h5web/app@16.0.1 @h5web/h5wasm@16.0.1 react@18 react-dom@18 esbuild playwright-core \
    > "$work/log" 2>&1 || { cat "$work/log" && over "h5web cannot be had"; }
provider=node_modules/@h5web/h5wasm/dist/index.mjs
shown() { # folder, what the page is to say
    npx esbuild app.jsx --bundle --format=esm --target=es2022 --jsx=automatic --log-level=error --outfile="$work/page/$1/app.js"
    cp index.html "$work/page/plane.h5" "$work/plugin/libH5Zsleek.so" "$work/page/$1"
    node see.mjs "$chromium" "http://127.0.0.1:$port/$1/index.html" "$2" "$work/$1.png"
}
shown plain "equired filter 'SLEEK' is not registered"
sed -i 's/32026: \([^ ,}]*\)/32026: \1, 47474: "sleek"/' "$provider"
grep -q '47474' "$provider" || { echo "h5wasm: h5web has another table of plugins" >&2 && exit 1; }
shown patched "$(cat "$work/page/ends")"
step "h5web shows a dataset from $(tr ' ' '/' < "$work/page/ends"), with one more line in its table of filters"
