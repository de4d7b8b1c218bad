"""The figures of `sleek verify --quality`, computed apart from it, by numpy alone and by their definitions.

quality.py make FILE          writes fields with and without gaps
quality.py figures OLD NEW    prints the figures of all datasets as JSON
"""

import json
import sys

import h5py
import numpy as np

MARK = np.float32(-9999)


def make(path):
    rng = np.random.default_rng(11)
    z, y, x = np.mgrid[:3, :37, :50]
    field = 280 + 10 * np.sin(x / 7 + z) * np.cos(y / 5) + np.cumsum(rng.normal(size=x.shape), axis=2) * 0.2
    gaps = field.astype("f4")
    gaps[:, 5:9, 20:31] = MARK
    gaps[1, 30, ::3] = MARK
    with h5py.File(path, "w") as f:
        f.create_dataset("whole", data=field, chunks=(1, 37, 50))
        f.create_dataset("cut", data=field, chunks=(2, 20, 13))
        f.create_dataset("gaps", data=gaps, chunks=(1, 37, 50), fillvalue=MARK)
        f.create_dataset("plane", data=field[0].astype("f4"))
        f["line"] = field[0].ravel()


def figures(a, b):
    a, b = a.astype("f8"), b.astype("f8")
    missing = (a == MARK) | (b == MARK)
    a[missing] = b[missing] = np.nan
    p, q = a[~missing], b[~missing]
    rms = np.sqrt(np.mean((p - q) ** 2))
    found = {
        "max_error": np.abs(p - q).max(),
        "mean_absolute_error": np.abs(p - q).mean(),
        "rms_error": rms,
        "psnr": 20 * np.log10((p.max() - p.min()) / rms) if rms else None,
        "pearson": np.corrcoef(p, q)[0, 1],
    }
    return {key: value if value is not None and np.isfinite(value) else None for key, value in found.items()}


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2])
    else:
        with h5py.File(sys.argv[2]) as old, h5py.File(sys.argv[3]) as new:
            print(json.dumps({name: figures(old[name][...], new[name][...]) for name in old}))
