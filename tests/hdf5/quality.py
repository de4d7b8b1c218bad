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


def dssim(a, b):
    """Of a plane, window by window: scaled to [0, 1] and on 256 levels, Gaussian weights, missing values left out of each window."""
    low, high = np.nanmin([a, b]), np.nanmax([a, b])
    a, b = (np.round((side - low) / (high - low) * 255) / 255 for side in (a, b))
    offsets = np.arange(-5, 6)
    weights = np.exp(-(offsets[:, None] ** 2 + offsets[None, :] ** 2) / (2 * 1.5**2))
    found = []
    for i in range(5, a.shape[0] - 5):
        for j in range(5, a.shape[1] - 5):
            if np.isnan(a[i, j]) or np.isnan(b[i, j]):
                continue
            p, q = a[i - 5 : i + 6, j - 5 : j + 6], b[i - 5 : i + 6, j - 5 : j + 6]
            here = ~(np.isnan(p) | np.isnan(q))
            w = weights[here] / weights[here].sum()
            p, q = p[here], q[here]
            mp, mq = (w * p).sum(), (w * q).sum()
            vp, vq, pq = (w * (p - mp) ** 2).sum(), (w * (q - mq) ** 2).sum(), (w * (p - mp) * (q - mq)).sum()
            c = 1e-8
            found.append((2 * mp * mq + c) * (2 * pq + c) / ((mp**2 + mq**2 + c) * (vp + vq + c)))
    return np.mean(found)


def figures(a, b):
    a, b = a.astype("f8"), b.astype("f8")
    missing = (a == MARK) | (b == MARK)
    a[missing] = b[missing] = np.nan
    p, q = a[~missing], b[~missing]
    at = np.sort(np.concatenate([p, q]))
    shares = [np.searchsorted(np.sort(side), at, "right") / side.size for side in (p, q)]
    has_planes = a.ndim > 1
    planes = [side.reshape(-1, *side.shape[-2:]) for side in (a, b)] if has_planes else [[], []]
    rms = np.sqrt(np.mean((p - q) ** 2))
    found = {
        "max_error": np.abs(p - q).max(),
        "mean_absolute_error": np.abs(p - q).mean(),
        "rms_error": rms,
        "psnr": 20 * np.log10((p.max() - p.min()) / rms) if rms else None,
        "pearson": np.corrcoef(p, q)[0, 1],
        "ks_distance": np.abs(shares[0] - shares[1]).max(),
        "dssim": min(dssim(x, y) for x, y in zip(*planes)) if has_planes else None,
    }
    return {key: value if value is not None and np.isfinite(value) else None for key, value in found.items()}


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2])
    else:
        with h5py.File(sys.argv[2]) as old, h5py.File(sys.argv[3]) as new:
            print(json.dumps({name: figures(old[name][...], new[name][...]) for name in old}))
