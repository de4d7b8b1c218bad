"""Files that claim far more than they hold: sparse.py make FILE LIBVER | huge FILE | same OLD NEW."""

import sys
import zlib

import h5py
import numpy as np

AT = 5, 2**30 + 7, 2**37


def make(name, libver):
    """Datasets with room for some 10^8 to 10^10 chunks, a few of which were written."""
    libver = None if libver == "default" else libver
    with h5py.File(name, "w", libver=libver) as f:
        for key, how in ("plain", {}), ("zipped", {"compression": "gzip", "shuffle": True}):
            dataset = f.create_dataset(key, (2**38,), "f4", chunks=(1024,), maxshape=(None,), **how)
            for at in AT if libver is None else AT[:2]:
                dataset[at : at + 3000] = np.sin(np.arange(3000) / 99)
        plane = f.create_dataset("plane", (2**18, 2**18), "f4", chunks=(64, 64), maxshape=(None, None))
        plane[70000:70200, 100:400] = np.sin(np.arange(300) / 30)
        f.create_dataset("nothing", (2**40,), "f8", chunks=(64,), maxshape=(None,))
        f.create_dataset("no_room", (2**40,), "f8")


def huge(name):
    """A chunk of 1 GiB in a few bytes."""
    with h5py.File(name, "w") as f:
        dataset = f.create_dataset("huge", (2**27,), "f8", chunks=(2**27,), compression="gzip")
        dataset.id.write_direct_chunk((0,), zlib.compress(bytes(2**30)))


def same(old, new):
    """Every chunk of the old file is in the new one, and nothing else."""
    with h5py.File(old) as a, h5py.File(new) as b:
        for key in ("plain", "zipped", "plane"):
            ours, theirs = a[key].id, b[key].id
            starts = [{x.get_chunk_info(k).chunk_offset for k in range(x.get_num_chunks())} for x in (ours, theirs)]
            assert starts[0] == starts[1] and len(starts[0]) > 3, f"{key}: {starts}"
            for start in starts[0]:
                box = tuple(slice(at, at + n) for at, n in zip(start, a[key].chunks))
                assert (a[key][box] == b[key][box]).all(), key
            assert theirs.get_create_plist().get_filter(0)[0] == 47474, key


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
