"""Makes and compares HDF5 files for tools.rs.

    python compare.py make_sample FILE
    python compare.py compare ORIGINAL PACKED REQUEST      REQUEST as in SLEEK_PARAMS
    python compare.py raw FIELD PACKED     every dataset of PACKED against a raw file, relative to each value
"""

import sys
from fractions import Fraction

import h5py
import numpy as np

from scenarios import SLEEK, field, same_bits, worst_error


def make_sample(path):
    shape, chunks = (120, 150), (50, 60)
    a = field(shape)
    a[3, 4] = np.nan
    with h5py.File(path, "w") as f:
        f.create_dataset("f4", data=a, chunks=chunks)
        f.create_dataset("f8", data=field(shape, "f8", 1), chunks=chunks, shuffle=True, compression="gzip")
        f.create_dataset("big", data=field(shape, ">f4", 2), chunks=chunks, fletcher32=True)
        f.create_dataset("i4", data=np.arange(20000, dtype="i4").reshape(100, 200), chunks=chunks)
        compound = np.array([(i, i / 7) for i in range(5000)], [("i", "i4"), ("x", "f8")])
        f.create_dataset("compound", data=compound, chunks=(700,))
        f.create_dataset("text", data=[f"line {i}" for i in range(10)])
        f.create_dataset("contiguous", data=a[:50, :50])


def compare(original, packed, request):
    mode, _, value = request.partition("=")
    bound = Fraction(float(value or 0))
    filtered = 0

    def visit(name, d):
        nonlocal filtered
        if not isinstance(d, h5py.Dataset):
            return
        e = packed_file[name]
        assert e.dtype == d.dtype and e.shape == d.shape, name
        plist = e.id.get_create_plist()
        has_filter = any(plist.get_filter(i)[0] == SLEEK for i in range(plist.get_nfilters()))
        # What can have no bound is stored losslessly.
        if not has_filter or mode == "lossless" or d.dtype.kind != "f":
            filtered += has_filter
            return None if d.dtype.hasobject else check_equal(name, d, e)
        filtered += 1
        a, b = d[()], e[()]
        finite = a[np.isfinite(a)]
        if mode == "noa" and finite.size:
            span = Fraction(float(finite.max())) - Fraction(float(finite.min()))
            assert worst_error(a, b) <= bound * span, name
        elif mode == "rel":
            with np.errstate(invalid="ignore"):
                error = np.abs(a.astype(np.longdouble) - b.astype(np.longdouble))
            assert np.all(error[np.isfinite(a)] <= float(bound) * np.abs(finite.astype(np.longdouble))), name

    def check_equal(name, d, e):
        assert same_bits(d[()], e[()]), name

    with h5py.File(original) as file, h5py.File(packed) as packed_file:
        file.visititems(visit)
    assert filtered > 0


def raw(field_path, packed):
    plain = np.fromfile(field_path, {"f32": "<f4", "f64": "<f8"}[field_path[-3:]])
    with h5py.File(packed) as file:
        assert len(file) > 0
        for name, d in file.items():
            restored = d[()].reshape(-1)
            a = plain[: restored.size]
            if not same_bits(a, restored):
                assert name not in ("interleaved", "grown"), f"{name} is lossless"
                wide = a.astype(np.longdouble)
                kept = np.abs(wide - restored) <= 1e-3 * np.abs(wide)
                assert np.all(kept | (np.isnan(a) & np.isnan(restored))), name


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
