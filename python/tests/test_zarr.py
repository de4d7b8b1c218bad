"""The numcodecs codec, and Zarr arrays of both formats."""

import numpy as np
import pytest

numcodecs = pytest.importorskip("numcodecs")


def field():
    y, x = np.mgrid[:300, :400]
    return (280 + 10 * np.sin(0.02 * x) * np.cos(0.03 * y)).astype("f4")


def worst(a, b):
    return np.abs(a.astype("f8") - b.astype("f8")).max()


def test_numcodecs_knows_the_codec_by_its_name():
    for config in ({"abs": 1e-3}, {"noa": 1e-4, "range": 20.0, "fill": -1.0}, {"rel": 1e-5, "profile": "fast"}, {"lossless": True}):
        codec = numcodecs.get_codec({"id": "sleek", **config})
        assert codec.get_config().items() >= config.items()
        assert numcodecs.get_codec(codec.get_config()) == codec
        a = field()
        stream = codec.encode(a)
        out = np.empty_like(a)
        codec.decode(stream, out)
        assert np.array_equal(out.reshape(-1), codec.decode(stream))
        assert (worst(a, out) == 0) == ("lossless" in config) and worst(a, out) < 0.01
        assert len(stream) < a.nbytes


def test_requests_in_words():
    from sleek.numcodecs import Sleek

    text, arguments = "noa=1e-4,range=20,fill=-1,profile=fast", {"noa": 1e-4, "range": 20, "fill": -1, "profile": "fast"}
    assert Sleek(text) == Sleek(**arguments) == numcodecs.get_codec({"id": "sleek", **arguments})
    pytest.importorskip("zarr", minversion="3")
    import sleek.zarr

    assert sleek.zarr.Sleek(text) == sleek.zarr.Sleek(**arguments)


def test_zarr_format_2(tmp_path):
    zarr = pytest.importorskip("zarr", minversion="3")
    from sleek.numcodecs import Sleek

    z = zarr.create_array(
        store=str(tmp_path / "z"), shape=(300, 400), chunks=(100, 130), dtype="f4", zarr_format=2, compressors=Sleek(abs=1e-3)
    )
    z[:] = field()
    back = zarr.open_array(str(tmp_path / "z"), mode="r")[:]
    assert 0 < worst(field(), back) <= 1e-3
    assert sum(p.stat().st_size for p in (tmp_path / "z").iterdir()) < field().nbytes / 2


@pytest.mark.parametrize("dtype", ["f4", "f8", ">f4", "f2"])
def test_zarr_format_3(tmp_path, dtype):
    zarr = pytest.importorskip("zarr", minversion="3")
    from sleek.zarr import Sleek

    a = (field() - 280).astype(dtype)
    path = str(tmp_path / "z")
    z = zarr.create_array(path, shape=a.shape, chunks=(100, 130), dtype=dtype, serializer=Sleek(abs=0.1), compressors=None)
    z[:] = a
    z[5:7, 100:200] = a[5:7, 100:200]
    back = zarr.open_array(path, mode="r")
    assert back.metadata.codecs == (Sleek(abs=0.1),) and back.dtype == a.dtype.newbyteorder("=")
    assert 0 < worst(a, back[:]) <= 0.1  # in the reader's byte order, which is no part of format 3
    assert np.array_equal(back[7, 120:140], back[:][7, 120:140])
    assert sum(p.stat().st_size for p in (tmp_path / "z" / "c").rglob("*") if p.is_file()) < a.nbytes / 2


def test_zarr_shards_and_integers(tmp_path):
    zarr = pytest.importorskip("zarr", minversion="3")
    import sleek
    from sleek.zarr import Sleek

    a = np.arange(120_000, dtype="i4").reshape(300, 400)
    path = str(tmp_path / "z")
    z = zarr.create_array(
        path, shape=a.shape, chunks=(50, 50), shards=(100, 200), dtype="i4", serializer=Sleek(lossless=True), compressors=None
    )
    z[:] = a
    assert np.array_equal(zarr.open_array(path)[:], a)
    z = zarr.create_array(
        str(tmp_path / "refused"), shape=a.shape, chunks=a.shape, dtype="i4", serializer=Sleek(abs=1), compressors=None
    )
    with pytest.raises(sleek.SleekError, match="mode abs on i32"):
        z[:] = a
