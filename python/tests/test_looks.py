"""Looking before reading: ranges by chunk, where, and strides of datasets."""

import numpy as np
import pytest
import sleek

h5py = pytest.importorskip("h5py")


def test_looks_at_datasets(tmp_path):
    a = np.sin(np.arange(50 * 61 * 70, dtype="f4") / 3000).reshape(50, 61, 70)
    a[3, 4, :60] = -9999
    shapes = [((50, 61, 70), (16, 20, 32)), ((50, 61, 70), (10, 61, 7)), ((5, 10, 61, 70), (2, 5, 30, 32))]
    requests = ({"abs": 1e-3, "profile": "small"}, {"abs": 1e-3}, None)
    with h5py.File(tmp_path / "a.h5", "w") as f:
        for k, (shape, chunks) in enumerate(shapes):
            for r, request in enumerate(requests):
                options = sleek.h5(**request) if request else {"compression": "gzip"}
                data = f.create_dataset(f"x{k}{r}", data=a.reshape(shape), chunks=chunks, fillvalue=None if k else -9999, **options)
                if k:
                    data.attrs["_FillValue"] = np.float32(-9999)
        f.create_dataset("plain", data=a)
        f.create_dataset("never", (100, 100), "f4", chunks=(30, 30), fillvalue=7, **sleek.h5(abs=1e-3))
    with h5py.File(tmp_path / "a.h5") as f:
        for data in (f[name] for name in f if name.startswith("x")):
            whole = data[...]
            for stride in (2, 4, 16):
                places = (slice(None),) * (whole.ndim - 3) + (slice(None, None, stride),) * 3
                assert np.array_equal(sleek.read(data, stride=stride), whole[places])
            for low, high in ((0.9, None), (None, -0.95), (-0.1, 0.1)):
                yes = (whole != -9999) & (whole > (-9e9 if low is None else low)) & (whole < (9e9 if high is None else high))
                got = sleek.read(data, above=low, below=high)
                assert len(got) == whole.ndim
                assert all(np.array_equal(mine, right) for mine, right in zip(got, np.nonzero(yes)))
        plain, never = f["plain"], f["never"]
        assert np.array_equal(sleek.read(plain, stride=4), a[::4, ::4, ::4])
        assert (sleek.read(never, stride=8) == 7).all() and len(sleek.read(never, below=8)[0]) == 0
        with pytest.raises(TypeError, match="neither out nor start"):
            sleek.read(plain, stride=2, out=a)
        with pytest.raises(TypeError, match="is needed"):
            sleek.read(plain)
        with pytest.raises(ValueError, match="power of two"):
            sleek.read(plain, stride=6)
