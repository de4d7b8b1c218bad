"""Filters behind SLEEK: what gives every byte back is taken and keeps the bound, everything else is refused when the dataset is made."""

import h5py
import hdf5plugin
import numpy as np
from h5py import h5p

SLEEK = 47474
FIELD = (280 + 10 * np.sin(np.arange(30000) * 1e-2)).astype("f4").reshape(100, 300)
LOSSLESS = {
    "deflate": {"compression": "gzip", "shuffle": True, "fletcher32": True},
    "lzf": {"compression": "lzf"},
    "blosc": hdf5plugin.Blosc("lz4", clevel=5, shuffle=hdf5plugin.Blosc.BITSHUFFLE),
    "blosc2": hdf5plugin.Blosc2("zstd", clevel=5, filters=hdf5plugin.Blosc2.SHUFFLE),
    "zstd": hdf5plugin.Zstd(),
    "lz4": hdf5plugin.LZ4(),
    "bzip2": hdf5plugin.BZip2(),
    "bitshuffle": hdf5plugin.Bitshuffle(),
}
OTHERS = {
    "scaleoffset": {"scaleoffset": 3},
    "zfp": hdf5plugin.Zfp(accuracy=0.01),
    "zfp reversible": hdf5plugin.Zfp(reversible=True),
    "sz": hdf5plugin.SZ(absolute=0.1),
    "sz3": hdf5plugin.SZ3(absolute=0.1),
    "sperr": hdf5plugin.Sperr(rate=2),
    "blosc2, cut": hdf5plugin.Blosc2("zstd", clevel=5, filters=4),
    "fcidecomp": hdf5plugin.FciDecomp(),
}


def dataset(name, options):
    """Whether the dataset is made, written and read back within the bound."""
    with h5py.File(name, "w") as f:
        # h5py puts its own filters behind those of a property list that it is given.
        dcpl = h5p.create(h5p.DATASET_CREATE)
        dcpl.set_chunk((50, 100))
        dcpl.set_filter(SLEEK, 0, (1, 1, 3539053052, 1062232653, 0))
        dcpl = h5py._hl.filters.fill_dcpl(
            dcpl, (100, 300), FIELD.dtype, (50, 100), options.get("compression"), options.get("compression_opts"),
            options.get("shuffle"), options.get("fletcher32"), None, options.get("scaleoffset"), None, None)
        assert dcpl.get_filter(0)[0] == SLEEK and dcpl.get_nfilters() > 1
        try:
            d = h5py.Dataset(h5py.h5d.create(f.id, b"d", h5py.h5t.IEEE_F32LE, h5py.h5s.create_simple((100, 300)), dcpl))
        except (OSError, ValueError, RuntimeError):
            return "refused"
        d[...] = FIELD
    try:
        with h5py.File(name) as f:
            error = np.abs(f["d"][...].astype("f8") - FIELD.astype("f8")).max()
    except OSError:
        return "lost"
    return "kept" if error <= 1e-3 else "lost"


for name, options in LOSSLESS.items():
    found = dataset("a.h5", dict(options))
    assert found == "kept", f"{name}: {found}"
for name, options in OTHERS.items():
    found = dataset("a.h5", dict(options))
    assert found == "refused", f"{name}: {found}"
print("kept")
