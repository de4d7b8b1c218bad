"""Several filters on numbers that nothing makes smaller: chains.py make FILE | same OLD NEW."""

import sys

import h5py
import numpy as np
from h5py import h5p, h5z

SLEEK, DEFLATE, SHUFFLE = 47474, h5z.FILTER_DEFLATE, h5z.FILTER_SHUFFLE
CHAINS = [(SLEEK, DEFLATE), (SLEEK, SHUFFLE, DEFLATE), (DEFLATE, SLEEK), (SLEEK, DEFLATE, DEFLATE), (SHUFFLE, DEFLATE, SLEEK, DEFLATE)]


def make(name):
    noise = np.random.default_rng(5).integers(0, 2**32, (100, 300), "u4").view("f4")
    with h5py.File(name, "w") as f:
        for n, chain in enumerate(CHAINS):
            dcpl = h5p.create(h5p.DATASET_CREATE)
            dcpl.set_chunk((50, 100))
            for code in chain:
                dcpl.set_filter(code, h5z.FLAG_MANDATORY, (1,) if code == DEFLATE else ())
            space = h5py.h5s.create_simple((100, 300))
            h5py.Dataset(h5py.h5d.create(f.id, str(n).encode(), h5py.h5t.IEEE_F32LE, space, dcpl))[...] = noise


def same(old, new):
    with h5py.File(old) as a, h5py.File(new) as b:
        for key in a:
            assert a[key][...].tobytes() == b[key][...].tobytes(), key
            plist = b[key].id.get_create_plist()
            assert (plist.get_nfilters(), plist.get_filter(0)[0]) == (1, SLEEK), key


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
