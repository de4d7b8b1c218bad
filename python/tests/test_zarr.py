"""The numcodecs codec, and Zarr arrays of both formats."""

import contextlib

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


@pytest.mark.parametrize("dtype", ["f4", ">f8", "i2", "?"])
def test_arrays_come_back_as_they_went_in(dtype):
    """Whatever the order of their memory, by the library and by the decoder in Python."""
    from sleek.numcodecs import Sleek

    codecs = [Sleek(lossless=True)]
    with contextlib.suppress(ImportError):
        from sleek_decode.numcodecs import Sleek as Decoder

        codecs.append(Decoder())
    cube = (1000 * np.random.default_rng(1).random((6, 7, 8)) > 500 if dtype == "?" else field()[:6, :56] * 100).astype(dtype).reshape(6, 7, 8)
    views = [
        cube, cube.T, np.asfortranarray(cube), cube.transpose(1, 0, 2), cube[::2, 1:, ::-3], cube[3].T, cube[:1].T, cube[..., :1],
        cube[:, :1, :1].T, cube[:1, :1], cube[:1, :1].T, cube[2, 3], cube[2, :0].T, cube[1, 2, 3],
    ]  # fmt: skip
    for view in views:
        stream = codecs[0].encode(view)
        for codec in codecs:
            back = codec.decode(stream).reshape(view.shape)
            assert np.array_equal(back.view(view.dtype), view), (view.shape, view.strides)
            out = np.empty_like(view)
            assert codec.decode(stream, out) is out and np.array_equal(out, view), (view.shape, view.strides)
    stream = codecs[0].encode(cube.T)
    out = np.zeros((8, 7, 6), cube.dtype)
    assert all(np.array_equal(codec.decode(stream, out), cube.T) for codec in codecs)


def test_requests_in_words():
    from sleek.numcodecs import Sleek

    text, arguments = "noa=1e-4,range=20,fill=-1,profile=fast", {"noa": 1e-4, "range": 20, "fill": -1, "profile": "fast"}
    assert Sleek(text) == Sleek(**arguments) == numcodecs.get_codec({"id": "sleek", **arguments})
    for fill in "nan", "inf":  # numbers that JSON has not
        config = Sleek(abs=0.5, fill=float(fill)).get_config()
        assert config == {"id": "sleek", "request": f"abs=0.5,fill={fill}"} and numcodecs.get_codec(config).get_config() == config
    pytest.importorskip("zarr", minversion="3")
    import sleek.zarr

    assert sleek.zarr.Sleek(text) == sleek.zarr.Sleek(**arguments)
    with pytest.raises(TypeError, match="exactly one of"):
        sleek.zarr.Sleek.from_dict({"name": "sleek"})


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


@pytest.mark.parametrize("dtype", [">c8", ">c16", ">M8[s]", ">U4", ">i4", ">u8", "<c8", "<M8[s]"])
def test_byte_orders_of_format_3(tmp_path, dtype):
    """Its metadata has none: what a reader sees is what was written."""
    zarr = pytest.importorskip("zarr", minversion="3")
    from sleek.zarr import Sleek

    a = np.arange(1000).astype(dtype)
    zarr.create_array(tmp_path / "z", shape=1000, chunks=300, dtype=dtype, serializer=Sleek(lossless=True), compressors=None)[:] = a
    assert (zarr.open_array(tmp_path / "z", mode="r")[:] == a).all()


def test_zarr_shards_and_integers(tmp_path):
    zarr = pytest.importorskip("zarr", minversion="3")
    from sleek.zarr import Sleek

    a = np.arange(120_000, dtype="i4").reshape(300, 400)
    path = str(tmp_path / "z")
    z = zarr.create_array(
        path, shape=a.shape, chunks=(50, 50), shards=(100, 200), dtype="i4", serializer=Sleek(lossless=True), compressors=None
    )
    z[:] = a
    assert np.array_equal(zarr.open_array(path)[:], a)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u1", "bool", "M8[s]", "c8"])
def test_chunks_of_another_type_are_refused(dtype):
    """Of as many bytes or elements; bytes stand for elements that are no numbers."""
    zarr = pytest.importorskip("zarr", minversion="3")
    import sleek
    from sleek.zarr import Sleek

    store, kind = zarr.storage.MemoryStore(), np.dtype(dtype)
    z = zarr.create_array(store, shape=100, chunks=100, dtype=dtype, serializer=Sleek(lossless=True), compressors=None)
    z[:] = np.ones(100, dtype)
    for other in ("f4", ">f4", "f8", "f2", "i1", "i4", ">i4", "u4", "i8", "u1"):
        for count in {100, 100 * kind.itemsize // np.dtype(other).itemsize}:
            stream = sleek.compress(np.ones(count, other), lossless=True)
            store._store_dict["c/0"] = zarr.core.buffer.cpu.Buffer.from_bytes(stream)
            same = kind.newbyteorder("=") == np.dtype(other).newbyteorder("=") and count == 100
            if same or (other == "u1" and dtype in ("bool", "M8[s]", "c8") and count == 100 * kind.itemsize):
                z[:]
                continue
            with pytest.raises((sleek.SleekError, ValueError)):
                z[:]


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("mode", ["rate=8", "precision=8"])
def test_integers_are_exact_unless_the_request_says_so(tmp_path, version, mode):
    """As in HDF5."""
    zarr = pytest.importorskip("zarr", minversion="3")

    a = np.random.default_rng(0).integers(0, 10**6, 1000)
    for words, is_exact in (f"{mode},codec=zfp", True), (f"{mode},codec=zfp, integers", False):
        codec = numcodecs.get_codec({"id": "sleek", "request": words})
        assert np.array_equal(codec.decode(codec.encode(a)), a) == is_exact
        z = zarr_array(zarr, tmp_path / words, version, {"request": words}, shape=1000, chunks=100, dtype="i8")
        z[:] = a
        assert np.array_equal(zarr.open_array(str(tmp_path / words))[:], a) == is_exact


def zarr_array(zarr, path, version, request, **more):
    from sleek.numcodecs import Sleek as Codec
    from sleek.zarr import Sleek as Serializer

    ours = {"compressors": Codec.from_config(request)} if version == 2 else {
        "serializer": Serializer.from_dict({"configuration": request}), "compressors": None,
    }  # fmt: skip
    return zarr.create_array(str(path), zarr_format=version, **ours, **more)


@pytest.mark.parametrize("version", [2, 3])
def test_small_grows_by_steps(tmp_path, version):
    """Profile small: 40 steps that are appended one by one, then parts that are written again."""
    zarr = pytest.importorskip("zarr", minversion="3")
    rng = np.random.default_rng(4)
    t, y, x = np.mgrid[:40, :60, :70]
    a = (np.sin(0.1 * x + 0.05 * t) * np.cos(0.07 * y) + rng.normal(scale=1e-3, size=t.shape)).astype("f4")
    request = {"abs": 1e-2, "profile": "small"}
    z = zarr_array(zarr, tmp_path / "z", version, request, shape=(0, 60, 70), chunks=(16, 60, 35), dtype="f4", fill_value=0)
    for i in range(40):
        z.resize((i + 1, 60, 70))
        z[i] = a[i]
    assert 0 < worst(a, z[:]) <= 1e-2
    for i in range(20):
        box = tuple(slice(p, p + 9) for p in rng.integers(0, (35, 55, 65)))
        a[box] += np.float32(1e-2) * i
        z[box] = a[box]
    assert 0 < worst(a, z[:]) <= 1e-2


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("order", ["C", "F"])
def test_profile_small_gets_the_shape(tmp_path, version, order):
    zarr = pytest.importorskip("zarr", minversion="3")
    import sleek

    a = np.asarray(field(), order=order)
    request = {"abs": 1e-3, "profile": "small"}
    more = {"order": order} if version == 2 else {}
    z = zarr_array(zarr, tmp_path / "z", version, request, shape=a.shape, chunks=(150, 200), dtype="f4", **more)
    z[:] = a
    assert 0 < worst(a, zarr.open_array(str(tmp_path / "z"), mode="r")[:]) <= 1e-3
    first = (tmp_path / "z" / ("0.0" if version == 2 else "c/0/0")).read_bytes()
    assert sleek.inspect(first).shape == ((200, 150, 1, 1) if (version, order) == (2, "F") else (150, 200))


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("name", ["_FillValue", "missing_value"])
def test_xarray_keeps_its_masks(tmp_path, version, name):
    """What xarray writes for NaN is no fill value of the array that the codec is told of."""
    pytest.importorskip("zarr", minversion="3")
    xarray = pytest.importorskip("xarray")
    import sleek.numcodecs
    import sleek.zarr

    a = field()
    a[::7, 3::5] = np.nan
    t = xarray.DataArray(a, dims=("y", "x"))
    t.encoding[name] = np.float32(-9999.9)
    ours = {"compressors": sleek.numcodecs.Sleek.of(t, abs=0.05)} if version == 2 else {
        "serializer": sleek.zarr.Sleek.of(t, "abs=0.05"), "compressors": None,
    }  # fmt: skip
    data = xarray.Dataset({"t": t})
    data.to_zarr(tmp_path / "z", encoding={"t": {**ours, "chunks": (100, 400)}}, zarr_format=version, consolidated=False)
    with xarray.open_zarr(tmp_path / "z", consolidated=False) as back:
        assert np.array_equal(np.isnan(back["t"].values), np.isnan(a))
        assert 0 < np.nanmax(np.abs(back["t"].values.astype("f8") - a)) <= 0.05
    assert sleek.zarr.Sleek.of(t, abs=1, fill=False) == sleek.zarr.Sleek("abs=1,no-fill") != sleek.zarr.Sleek(abs=1)


def delta(zarr, version, dtype="f4", astype=None):
    """What a filter of both formats is called, which makes a sum of errors out of each of them."""
    if version == 2:
        return numcodecs.Delta(dtype=dtype, astype=astype)
    return pytest.importorskip("zarr.codecs.numcodecs").Delta(dtype=dtype, **({"astype": astype} if astype else {}))


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.filterwarnings("ignore:Numcodecs codecs are not in the Zarr version 3 specification")
def test_no_bound_behind_a_filter(tmp_path, version):
    """The errors of differences add up: the bound was broken 147-fold."""
    zarr = pytest.importorskip("zarr", minversion="3")
    import sleek

    more = {"shape": (300, 400), "chunks": (100, 130), "filters": [delta(zarr, version)]}
    for request in ({"abs": 1e-3}, {"noa": 1e-3}, {"rate": 8}):
        path = tmp_path / "z"
        with pytest.raises(sleek.SleekError, match="after the filter .*delta: the bound would not hold"):
            zarr_array(zarr, path, version, request, dtype="f4", **more)
        assert not path.exists() or not [p for p in path.rglob("*") if p.is_file()]
    # One behind another in the list of filters, in shards, and in shards behind a filter.
    if version == 2:
        from sleek.numcodecs import Sleek

        places = [{"filters": [*more["filters"], Sleek(abs=1e-3)], "compressors": None}]
    else:
        from sleek.zarr import Sleek

        sharding = zarr.codecs.ShardingCodec(chunk_shape=(50, 65), codecs=[Sleek(abs=1e-3)])
        places = [{"shards": (200, 260), "serializer": Sleek(abs=1e-3), "compressors": None}, {"serializer": sharding, "compressors": None}]
    for place in places:
        with pytest.raises(sleek.SleekError, match="after the filter .*delta: the bound would not hold"):
            zarr.create_array({}, zarr_format=version, dtype="f4", **{**more, **place})
    # Of integers a filter may make floats.
    with pytest.raises(sleek.SleekError, match="the bound would not hold"):
        zarr_array(zarr, tmp_path / "floats", version, {"abs": 1e-3}, dtype="i4", **{**more, "filters": [delta(zarr, version, "i4", "f4")]})
    zarr_array(zarr, tmp_path / "integers", version, {"abs": 1e-3}, dtype="i4", **{**more, "filters": [delta(zarr, version, "i4")]})
    if version == 2:  # where zarr makes bytes of texts by a filter
        zarr_array(zarr, tmp_path / "texts", version, {"abs": 1e-3}, dtype=str, shape=5)[:] = "text"
    z = zarr_array(zarr, tmp_path / "lossless", version, {"lossless": True}, dtype="f4", **more)
    z[:] = field()
    assert worst(field(), z[:]) < 1e-3
    z = zarr_array(zarr, tmp_path / "without", version, {"abs": 1e-3}, dtype="f4", **{**more, "filters": None})
    z[:] = field()
    assert 0 < worst(field(), z[:]) <= 1e-3
    z.attrs["a"] = 1  # writes the metadata again


# An array's type, what a filter makes of its elements, and which.
OF_THE_SAME_SIZE = [("f4", "BitRound", {"keepbits": 8}), ("f8", "BitRound", {"keepbits": 8}), ("f2", "BitRound", {"keepbits": 8})]
OF_THE_SAME_SIZE += [("M8[s]", "Delta", {"dtype": "i8"}), ("?", "Delta", {"dtype": "u1"}), ("i4", "Delta", {"dtype": "u4"})]


@pytest.mark.parametrize("dtype, name, more", OF_THE_SAME_SIZE)
@pytest.mark.parametrize("sharded", [False, True])
@pytest.mark.filterwarnings("ignore:Numcodecs codecs are not in the Zarr version 3 specification")
def test_filters_that_make_other_types(dtype, name, more, sharded):
    """The stream has the array's type, as its bits are of the same size; with a bound they are refused."""
    zarr = pytest.importorskip("zarr", minversion="3")
    import json

    import sleek
    from sleek.zarr import Sleek

    made = getattr(pytest.importorskip("zarr.codecs.numcodecs"), name)(**more)
    a = (np.arange(40) % 7 // (3 if dtype == "?" else 1)).astype(dtype)
    same = {"shape": 40, "chunks": (10,), "dtype": np.dtype(dtype), "filters": [made], "compressors": None}
    same["shards"] = (20,) if sharded else None
    store = zarr.storage.MemoryStore()
    zarr.create_array(store, serializer=Sleek(lossless=True), **same)[:] = a
    assert np.array_equal(zarr.open_array(store)[:], a)
    if sharded:
        return
    kind = np.dtype(dtype)
    stored = sleek.inspect(store._store_dict["c/0"].to_bytes()).dtype
    assert stored.newbyteorder("=") == (kind.newbyteorder("=") if kind.kind in "fi" else np.uint8)
    # Those whose metadata another program wrote.
    metadata = json.loads(store._store_dict["zarr.json"].to_bytes())
    metadata["codecs"][-1]["configuration"] = {"abs": 0.5}
    store._store_dict["zarr.json"] = zarr.core.buffer.cpu.Buffer.from_bytes(json.dumps(metadata).encode())
    with pytest.raises(sleek.SleekError, match="after a filter that makes|after the filter"):
        zarr.open_array(store)[:] = a


@pytest.mark.filterwarnings("ignore:Numcodecs codecs are not in the Zarr version 3 specification")
def test_filters_that_make_other_sizes_are_refused():
    """Where they tell Zarr nothing of it."""
    zarr = pytest.importorskip("zarr", minversion="3")
    import sleek
    from sleek.zarr import Sleek

    store, made = zarr.storage.MemoryStore(), pytest.importorskip("zarr.codecs.numcodecs").Delta(dtype="i8")
    z = zarr.create_array(store, shape=40, chunks=10, dtype="i4", filters=[made], serializer=Sleek(lossless=True), compressors=None)
    with pytest.raises(sleek.SleekError, match="made int64 of int32.*elements of 4 bytes"):
        z[:] = np.arange(40)
    assert z.nchunks_initialized == 0


def compressors(rng, version):
    """What follows ours in a chain: nothing, or one or two that keep every byte."""
    from zarr.codecs import BloscCodec, Crc32cCodec, GzipCodec, ZstdCodec

    if version == 2:
        return []
    behind = [ZstdCodec(level=1), GzipCodec(level=1), BloscCodec(cname="lz4", typesize=4), Crc32cCodec()]
    return [behind[k] for k in rng.permutation(4)[: rng.integers(0, 3)]]


@pytest.mark.filterwarnings("ignore:Numcodecs codecs are not in the Zarr version 3 specification")
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_chains_at_random(version, seed):
    """Any chain is refused when the array is made, or keeps the bound and the marks, when it grows by pieces too."""
    zarr = pytest.importorskip("zarr", minversion="3")
    import sleek
    from sleek.numcodecs import Sleek as Codec
    from sleek.zarr import Sleek as Serializer
    from zarr.codecs import TransposeCodec

    rng, refused, kept_by = np.random.default_rng([48, version, seed]), 0, 0
    for _ in range(12):
        dtype = rng.choice(["<f4", "<f8", ">f4", "<f2", "<i4", "<u2", "?", "<c8"])
        shape = tuple(int(n) for n in rng.integers(1, 90, 2))
        chunks = tuple(int(rng.integers(1, n + 5)) for n in shape)
        a = (rng.choice([0.0, 280.0]) + 10 * rng.standard_normal(shape).cumsum(0).cumsum(1) / 90).astype(dtype)
        exact_type = "f" not in dtype
        fill = 1 if exact_type else float(rng.choice([0.0, -9999.0, 1.0, 9.97e36 if dtype != "<f2" else 1.0]))
        a[rng.random(shape) < 0.1] = fill
        words, bound = [({"abs": 0.25}, 0.25), ({"rel": 0.01}, 0.01), ({"noa": 0.01}, 0.01), ({"noa": 0.01, "range": 20.0}, 0.2), ({"lossless": True}, 0.0)][
            rng.integers(5)
        ]
        request = {**words, "profile": str(rng.choice(["fast", "adaptive", "small"]))}
        if version == 2 and "lossless" not in words:
            request["fill"] = fill  # the codec does not see the array's
        filters = [delta(zarr, version)] if rng.random() < 0.2 and dtype == "<f4" else []
        if version == 3 and rng.random() < 0.4:
            filters.append(TransposeCodec(order=(1, 0)))
        more = {"compressors": Codec(**request)} if version == 2 else {"serializer": Serializer(**request), "compressors": compressors(rng, version)}
        if version == 2 and rng.random() < 0.5:
            more["order"] = "F"
        store = zarr.storage.MemoryStore()
        try:
            z = zarr.create_array(store, shape=shape, chunks=chunks, dtype=dtype, zarr_format=version, fill_value=fill, filters=filters or None, **more)
        except sleek.SleekError:
            refused += 1
            assert "lossless" not in request and filters, (request, filters)
            continue
        if "lossless" not in request and not exact_type:
            assert not [f for f in filters if not isinstance(f, TransposeCodec)], "the bound does not hold behind a filter"
        for y in range(0, shape[0], step := int(rng.integers(1, shape[0] + 1))):
            z[y : y + step] = a[y : y + step]
        back = zarr.open_array(store, mode="r")[:]
        said = (dtype, shape, chunks, fill, request, filters, more)
        exact = bound == 0 or exact_type
        if filters and exact and dtype == "<f4" and not isinstance(filters[0], TransposeCodec):
            assert worst(a, back) < 1e-2, said  # Delta of floats rounds by itself
            continue
        assert np.array_equal(a, back) if exact else True, said
        if fill != 0 or "fill" in request:
            assert np.array_equal(a == fill, back == fill), said
        limit = bound * np.abs(a).astype("f8") if "rel" in request else np.full(shape, bound)
        if "noa" in request and "range" not in request:  # each chunk has its own range, of what is no fill value; edges do not count
            for y, x in np.ndindex(*(-(-n // c) for n, c in zip(shape, chunks))):
                box = tuple(slice(k * c, (k + 1) * c) for k, c in zip((y, x), chunks))
                limit[box] *= np.ptp(a[box][a[box] != fill].astype("f8")) if (a[box] != fill).any() else 1
        assert exact or np.all(np.abs(a.astype("f8") - back.astype("f8")) <= limit), said
        kept_by += 1
    assert kept_by > 5, (kept_by, refused)


def test_the_specification(tmp_path):
    """docs/guide/zarr.md: its example of array metadata is what is written, and what is stored is a stream and nothing else."""
    zarr = pytest.importorskip("zarr", minversion="3")
    import json
    import re
    from pathlib import Path

    import sleek
    from sleek.zarr import Sleek

    page = (Path(__file__).parents[2] / "docs/guide/zarr.md").read_text()
    example, example_2 = (json.loads(block) for block in re.findall(r"^```json\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))
    z = zarr_array(zarr, tmp_path / "z", 3, {"noa": 1e-4, "range": 50}, shape=(300, 400), chunks=(100, 130), dtype="f4")
    z[:] = field()
    assert json.loads((tmp_path / "z" / "zarr.json").read_text())["codecs"] == example["codecs"]
    chunk = (tmp_path / "z" / "c" / "0" / "0").read_bytes()
    assert sleek.inspect(chunk).stream_bytes == len(chunk)
    assert np.array_equal(sleek.decompress(chunk, (100, 130)), z[:100, :130])
    z = zarr_array(zarr, tmp_path / "z2", 2, {"noa": 1e-4, "range": 50}, shape=(300, 400), chunks=(100, 130), dtype="f4")
    assert json.loads((tmp_path / "z2" / ".zarray").read_text())["compressor"] == example_2["compressor"]
    words = Sleek("abs=1e-3,fill=-9999,fill=0x7fc01234")
    assert words.to_dict()["configuration"] == {"request": "abs=1e-3,fill=-9999,fill=0x7fc01234"}
    for wrong in ({"abs": -1}, {"bas": 1}, {}, {"abs": 1, "rel": 1}, {"request": "abs=1", "fill": 2}, {"lossless": "no"}):
        with pytest.raises((sleek.SleekError, TypeError, ValueError)):
            Sleek.from_dict({"name": "sleek", "configuration": wrong})
