"""Programs that write trees of datasets with one request, and one that reads masks.

    python trees.py PACKAGE      in a folder with months.nc and packed.nc of netcdf.py; any failure is an exception
"""

import sys

import h5py
import numpy as np

from scenarios import ABS, SLEEK, opts

BOUND = 1e-3


def anndata():
    import anndata

    rng = np.random.default_rng(1)
    a = anndata.AnnData(rng.random((200, 60)).astype("f4"))
    a.obs["kind"] = [f"kind {i % 3}" for i in range(200)]
    a.obs["count"] = np.arange(200)
    a.layers["counts"] = rng.integers(0, 9, (200, 60)).astype("i4")
    a.write_h5ad("a.h5ad", compression=SLEEK, compression_opts=opts(ABS, BOUND))
    b = anndata.read_h5ad("a.h5ad")
    assert 0 < np.abs(a.X.astype("f8") - b.X).max() <= BOUND
    assert a.obs["kind"].tolist() == b.obs["kind"].tolist() and np.array_equal(a.obs["count"], b.obs["count"])
    assert np.array_equal(a.layers["counts"], b.layers["counts"]) and a.obs_names.tolist() == b.obs_names.tolist()


def silx():
    from silx.io.dictdump import dicttoh5, h5todict

    rng = np.random.default_rng(2)
    tree = {
        "scan": {"image": rng.random((100, 120)).astype("f4"), "frames": np.arange(500), "good": rng.random(300) < 0.5},
        "names": np.array([f"motor {i}".encode() for i in range(50)]),
        "title": "a scan",
        "energy": 12.5,
    }
    more = {"compression": SLEEK, "compression_opts": opts(ABS, BOUND), "chunks": True}
    dicttoh5(tree, "s.h5", create_dataset_args=more)
    back = h5todict("s.h5")
    with h5py.File("s.h5") as f:
        assert f["scan/image"].id.get_create_plist().get_filter(0)[0] == SLEEK
    assert 0 < np.abs(tree["scan"]["image"].astype("f8") - back["scan"]["image"]).max() <= BOUND
    for name in ("frames", "good"):
        assert np.array_equal(tree["scan"][name], back["scan"][name]), name
    assert np.array_equal(tree["names"], back["names"]) and back["energy"] == 12.5


def iris():
    import iris

    for name in ("t", "u"):
        a, b = (iris.load_cube(path, iris.NameConstraint(var_name=name)).data for path in ("months.nc", "packed.nc"))
        assert np.ma.getmaskarray(a).any() and np.array_equal(np.ma.getmaskarray(a), np.ma.getmaskarray(b)), name
        assert 0 < np.abs(a.astype("f8") - b).max() <= 0.01, name
        assert abs(float(a.mean()) - float(b.mean())) < 0.01, name


if __name__ == "__main__":
    globals()[sys.argv[1]]()
