"""compare.py FIELD PACKED: every dataset of PACKED against a raw file, relative to each value."""

import sys

import h5py
import numpy as np

from scenarios import same_bits

plain = np.fromfile(sys.argv[1], {"f32": "<f4", "f64": "<f8"}[sys.argv[1][-3:]])
with h5py.File(sys.argv[2]) as file:
    assert len(file) > 0
    for name, d in file.items():
        restored = d[()].reshape(-1)
        a = plain[: restored.size]
        if not same_bits(a, restored):
            assert name not in ("interleaved", "grown"), f"{name} is lossless"
            wide = a.astype(np.longdouble)
            kept = np.abs(wide - restored) <= 1e-3 * np.abs(wide)
            assert np.all(kept | (np.isnan(a) & np.isnan(restored))), name
