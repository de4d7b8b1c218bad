"""Profile `small` on arrays of odd shapes and with missing values: ratio, and speed beside whole tiles without missing values."""

import math

import numpy as np
import sleek

import results
from peers import timed

SHAPES = [(64, 256, 256), (4, 53, 6, 201, 2), (300000, 3), (40, 40, 300), (500, 90, 90), (1081, 721), (1500000,)]
SHARES = {0: "nothing missing", 0.01: "1 % missing", 0.45: "45 % missing"}
BOUND, MISSING, ROUNDS = 4e-3, -9999.0, 5


def smooth(shape):
    """A smooth field with some noise, whatever its shape."""
    rng, total = np.random.RandomState(5), np.zeros(shape)
    for axis, n in enumerate(shape):
        at = np.arange(n).reshape([-1 if a == axis else 1 for a in range(len(shape))])
        total = total + np.sin(at * (0.05 + 0.02 * axis) + axis)
    return (total + 3e-3 * rng.standard_normal(shape)).astype("f4")


def with_gaps(shape, share):
    values = smooth(shape)
    if share == 0.01:
        values[np.random.RandomState(6).random_sample(shape) < share] = MISSING
    elif share:  # land lies together
        values[values > np.quantile(values, 1 - share)] = MISSING
    return values


def figures(values, share):
    """Ratio, and bytes a second both ways, the best of all rounds."""
    asked = {"abs": BOUND, "profile": "small", "fill": MISSING if share else None, "threads": 1}
    room, restored = np.zeros(2 * values.nbytes + 4096, "u1"), np.zeros_like(values)
    best = [math.inf, math.inf]
    for _ in range(ROUNDS):
        there, stream = timed(sleek.compress, values, **asked, out=room)
        back, _ = timed(sleek.decompress, stream, out=restored)
        best = [min(best[0], there), min(best[1], back)]
    return values.nbytes / len(stream), [values.nbytes / seconds for seconds in best]


def measure():
    whole, rows = None, []
    for shape in SHAPES:
        row = ["x".join(map(str, shape))]
        for share in SHARES:
            ratio, speeds = figures(with_gaps(shape, share), share)
            whole = whole or speeds
            row += results.short([ratio, *(round(s / w, 2) for s, w in zip(speeds, whole))])
        rows.append(row)
    columns = ["shape"] + [c for name in SHARES.values() for c in (f"ratio, {name}", "compress", "decompress")]
    about = results.this_run("`make report`")
    results.save_grid("cpu", "shapes", {"about": about, "speaks": {"*": "small"}, "columns": columns, "rows": rows})
