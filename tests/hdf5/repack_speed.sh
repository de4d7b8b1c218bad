#!/usr/bin/env bash
# How fast `sleek repack` is, against what the disk and the codecs allow: `make repack-speed`. Files of 500 MB, made of a
# field of SLEEK_DATA, on a RAM disk, so that no disk is waited for; the best of five times.
set -euo pipefail
cd "$(dirname "$0")/../.."
sleek=${SLEEK_BINARY:-target/release/sleek}
python=${SLEEK_VENVS:-build}/venv-h5py-1.14/bin/python
field=${SLEEK_DATA:?names the folder of real fields}/navy_uwnd_132x73x144.f32
[ -x "$python" ] || { echo "$python is missing: run bash tests/hdf5/setup.sh" >&2; exit 1; }
work=$(mktemp -d "${SLEEK_SPEED_DIR:-/dev/shm}/sleek-speed.XXXXXX")
trap 'rm -rf "$work"' EXIT

"$python" - "$field" "$work" << 'END'
import sys
import h5py, numpy as np
field, work = sys.argv[1:]
one = np.fromfile(field, "f4").reshape(132, 73, 144)
all = np.concatenate([one + np.float32(0.01 * i) for i in range(90)])
all.tofile(f"{work}/plain.f32")
for name, how in ("plain", {}), ("deflate", {"shuffle": True, "compression": 4}):
    with h5py.File(f"{work}/{name}.h5", "w") as f:
        f.create_dataset("u", data=all, chunks=(25, 73, 144), **how)
END

# The shortest of five times of a command, in seconds.
best() {
    for _ in 1 2 3 4 5; do
        start=$(date +%s.%N)
        "$@" > "$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }
        echo "$(date +%s.%N) $start" | awk '{ print $1 - $2 }'
    done | sort -g | head -1
}
# As many processes as there are cores, each with its share of the chunks: HDF5 lets one thread in at a time.
cores=$(nproc)
share='
import sys, h5py
name, part, parts = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
u = h5py.File(name)["u"]
for at in range(25 * part, len(u) if part >= 0 else 0, 25 * parts):
    u[at:at + 25]
'
inflate() {
    for part in $(seq 0 $((cores - 1))); do "$python" -c "$share" "$work/deflate.h5" "$part" "$cores" & done
    wait
}
start_python() { "$python" -c "$share" "$work/deflate.h5" -1 1; }

"$sleek" repack -q --abs 0.01 "$work/plain.h5" "$work/small.h5"
# What there is to wait for: the old file read, the new one written.
disk() { cat "$work/$1.h5" > /dev/null; cp "$work/small.h5" "$work/copy"; }
codec=$(best "$sleek" compress -q -f --dtype f32 --abs 0.01 "$work/plain.f32" "$work/plain.sleek")
inflate=$(awk "BEGIN { print $(best inflate) - $(best start_python) }")
raw=$(stat -c %s "$work/plain.f32")
row() { awk "BEGIN { printf \"%-44s %7.3f s %8.2f GB/s\n\", \"$1\", $2, $raw / $2 / 1e9 }"; }
row "compress of the plain array" "$codec"
row "inflate by HDF5 in $cores processes" "$inflate"
for kind in plain deflate; do
    waits=$(best disk $kind)
    took=$(best "$sleek" repack -q -f --abs 0.01 "$work/$kind.h5" "$work/out.h5")
    row "$kind: the old file read, the new one written" "$waits"
    row "$kind: sleek repack" "$took"
    # Whichever is slowest, with all cores at work.
    limit=$(awk "BEGIN { i = \"$kind\" == \"deflate\" ? $inflate : 0; m = $waits; if ($codec > m) m = $codec; if (i > m) m = i; print m }")
    awk "BEGIN { printf \"%-44s %7.0f %% of what the slowest of them allows\n\", \"\", 100 * $limit / $took }"
done
