#!/usr/bin/env bash
# What `make performance` runs: pinned packages in a venv, release builds, the benches, the page. With --quick the results go to
# build/performance instead of docs; with --setup nothing is measured, and a later run needs no network.
set -euo pipefail
cd "$(dirname "$0")/../.."

out=docs mib=64 large_mib=1024 rounds=5 large_rounds=3 setup=
for option in "$@"; do
    case $option in
        --quick) out=build/performance mib=8 large_mib=64 rounds=1 large_rounds=1 ;;
        --setup) setup=yes ;;
        *) echo "$option is not known; --quick and --setup are" >&2; exit 1 ;;
    esac
done

bash examples/demo/need.sh cc:gcc h5cc:libhdf5-dev python3:python3 python-venv:python3-venv
place=build/performance
python=$place/venv/bin/python
wanted=$(sha256sum benches/performance/requirements.txt)
if [ "$(cat $place/installed 2>/dev/null)" != "$wanted" ]; then
    rm -rf $place/venv
    python3 -m venv $place/venv
    "$python" -m pip install --quiet --disable-pip-version-check -r benches/performance/requirements.txt
    echo "$wanted" >$place/installed
fi
"$python" -c 'import matplotlib.pyplot'   # it makes a font cache when first used

cargo build --release --quiet
cargo bench --quiet --bench cpu --no-run
target=${CARGO_TARGET_DIR:-target}/release
mkdir -p $place/plugin
install -m 755 "$target/libsleek.so" $place/plugin/
h5cc -shlib -O2 -std=gnu11 -Wall -Wextra benches/hdf5/ram.c -o $place/ram -lm
[ -n "$setup" ] && exit

cargo bench --quiet --bench cpu -- --mib $mib --rounds $rounds --json "$PWD/$place/cpu.json" >&2
cargo bench --quiet --bench cpu -- --mib $large_mib --rounds $large_rounds --threads 1 --level best --profile adaptive,fast \
    --json "$PWD/$place/large.json" >&2
export HDF5_PLUGIN_PATH=$PWD/$place/plugin SLEEK_NUM_THREADS=1
exec "$python" benches/performance/performance.py measure --sleek "$target/sleek" --library $place/plugin/libsleek.so \
    --ram $place/ram --cpu $place/cpu.json --large $place/large.json --data "${SLEEK_DATA:-tests/data}" --out "$out" \
    $([ $out = docs ] || echo --quick)
