#!/usr/bin/env bash
# examples/dask: two workers write and read one store by each profile; the example itself compares every value. Needs dask's
# distributed, xarray, zarr and the package in the Python of PATH.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
SLEEK_NUM_THREADS=1 python examples/dask/store.py --workers 2 --gigabytes 0.05 --json "$work/stores" > "$work/rows"
python - "$work/rows" << 'END'
import json, sys
rows = {row["way"]: row for row in map(json.loads, open(sys.argv[1]))}
assert set(rows) == {"none", "fast", "adaptive", "small"} and all(row["workers"] == 2 for row in rows.values()), rows
assert rows["none"]["ratio"] < 1.01 < 2 < rows["fast"]["ratio"] < rows["adaptive"]["ratio"] < rows["small"]["ratio"], rows
END
