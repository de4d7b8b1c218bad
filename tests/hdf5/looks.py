"""Looks at datasets by h5py and numpy, beside those of the command.

looks.py strided FILE NAME STRIDE OUT    writes every so many-th element along the last three dimensions
looks.py figures FILE NAME               prints what numpy says of the values that are not missing, as JSON
"""

import json
import sys

import h5py
import numpy as np


def strided(path, name, stride, out):
    with h5py.File(path) as f:
        values, n = f[name][...], f[name].ndim
    values[tuple(slice(None, None, int(stride) if k + 3 >= n else 1) for k in range(n))].tofile(out)


def figures(path, name):
    with h5py.File(path) as f:
        values, fill = f[name][...].astype("f8"), float(f[name].fillvalue)
    there = values[values != fill] if fill else values
    print(json.dumps({"count": there.size, "missing": values.size - there.size, "min": there.min(), "max": there.max(), "mean": there.mean()}))


if __name__ == "__main__":
    {"strided": strided, "figures": figures}[sys.argv[1]](*sys.argv[2:])
