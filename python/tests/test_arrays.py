"""numpy arrays in memory."""

import array
import contextlib
import mmap
import pickle
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import sleek

FLOATS = ("f2", "f4", "f8", ">f2", ">f4", ">f8")
INTEGERS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i2", ">u8")


def field(dtype="f4", count=40_000):
    x = np.arange(count)
    return (280 + 10 * np.sin(2e-3 * x) * np.cos(3e-4 * x)).astype(dtype)


def same_bits(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def worst(a, b):
    return np.abs(a.astype("f8") - b.astype("f8")).max()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("profile", ["adaptive", "fast"])
def test_bounds_are_kept(dtype, profile):
    a = field(dtype)
    span = float(a.max()) - float(a.min())
    for bounds, allowed in (
        ({"abs": 2}, 2),
        ({"noa": 0.1}, 0.1 * span),
        ({"noa": 0.4, "range": 5}, 2),
        ({"rel": 0.01}, 0.01 * 290),
    ):
        stream = sleek.compress(a, profile=profile, **bounds)
        b = sleek.decompress(stream)
        assert b.dtype == a.dtype and b.shape == a.shape
        assert 0 < worst(a, b) <= allowed, bounds
        info = sleek.inspect(stream)
        assert (info.dtype, info.count, info.profile) == (a.dtype, a.size, profile)
        assert {"mode": info.mode, info.mode: info.bound}.items() >= {next(iter(bounds)): next(iter(bounds.values()))}.items()
        assert info.raw_bytes == a.nbytes and info.stream_bytes == len(stream) and info.ratio > 1


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
def test_lossless_is_bit_for_bit(dtype):
    rng = np.random.default_rng(1)
    a = np.frombuffer(rng.bytes(5000 * np.dtype(dtype).itemsize), dtype)
    assert same_bits(a, sleek.decompress(sleek.compress(a, lossless=True)))


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    a = field("f4").astype(ml_dtypes.bfloat16)
    assert same_bits(a, sleek.decompress(sleek.compress(a, lossless=True)))
    assert 0 < worst(a, sleek.decompress(sleek.compress(a, abs=8))) <= 8


def test_outputs_of_bytes():
    """The filled part of what has bytes in one dimension, and of any buffer that is no array."""
    a = np.arange(500, dtype="i4")
    stream, room = sleek.compress(a, lossless=True), sleek.compress_bound(a, lossless=True)
    for out in (
        np.zeros(room, "u1"), np.zeros(room, "i1"), bytearray(room), memoryview(bytearray(4 * room)).cast("i"), memoryview(bytearray(4 * room)).cast("B", (4, room)),
        array.array("B", bytes(room)), array.array("d", bytes(8 * room)), mmap.mmap(-1, room),
    ):  # fmt: skip
        part = sleek.compress(a, lossless=True, out=out)
        assert bytes(part) == stream and np.shares_memory(np.frombuffer(part, "u1"), np.frombuffer(out, "u1"))
    for wrong in np.zeros((room, 1), "u1"), np.zeros((2, room), "u1"), np.zeros(room, "i4"), np.array(0, "u1"):
        with pytest.raises(ValueError, match="bytes in one dimension are needed"):
            sleek.compress(a, lossless=True, out=wrong)


@pytest.mark.parametrize("dtype", ["c8", "c16", ">c8"])
def test_complex_numbers_go_as_pairs(dtype):
    a = (field("f8") + 1j * field("f8")[::-1]).astype(dtype).reshape(200, 200)
    for whole in (a, a.T, a[0, :1].reshape(()), a[:0]):
        stream = sleek.compress(whole, abs=1e-2)
        info, b = sleek.inspect(stream), sleek.decompress(stream, dtype=dtype)
        assert info.dtype == np.dtype(dtype.replace("c16", "f8").replace("c8", "f4")) and info.shape == (*whole.shape, 2)
        assert b.dtype == a.dtype and b.shape == whole.shape
        assert len(stream) <= sleek.compress_bound(whole, abs=1e-2)
        assert max(np.abs((whole - b).real).max(initial=0), np.abs((whole - b).imag).max(initial=0)) <= 1e-2
    stream = sleek.compress(a, lossless=True)
    out = np.empty_like(a)
    assert sleek.decompress(stream, out=out) is out and same_bits(out, a)
    assert same_bits(sleek.decompress(stream, 40_000, dtype=dtype), a.reshape(-1))
    assert np.array_equal(sleek.decompress(stream)[..., 1], a.imag)
    bound = sleek.find_bound(a, ratio=8)
    assert len(sleek.compress(a, **bound)) <= a.nbytes / 8
    with pytest.raises(TypeError, match="masked array of complex"):
        sleek.compress(np.ma.masked_array(a.astype("c8"), a.real > 280), abs=1)
    for wrong in ("c16" if a.itemsize == 8 else "c8", bool, "i4"):
        with pytest.raises(ValueError, match=r"elements of type .*f.* in the shape \(200, 200, 2\)"):
            sleek.decompress(stream, dtype=wrong)
    with pytest.raises(TypeError, match="at most one"):
        sleek.decompress(stream, dtype=dtype, out=out)


@pytest.mark.parametrize("name", ["bool", "float8_e4m3fn", "float8_e5m2"])
def test_truth_values_and_floats_of_8_bits_go_as_bytes(name):
    dtype = np.dtype(bool) if name == "bool" else np.dtype(getattr(pytest.importorskip("ml_dtypes"), name))
    a = (np.arange(5000).reshape(50, 100) % 7 > 4).astype("u1").view(dtype)
    stream = sleek.compress(a, lossless=True)
    assert stream == sleek.compress(a.view("u1"), lossless=True) and len(stream) < a.nbytes / 2
    assert same_bits(sleek.decompress(stream, dtype=dtype), a) and sleek.inspect(stream).dtype == "u1"
    out = np.empty_like(a)
    assert same_bits(sleek.decompress(stream, out=out), a)
    with pytest.raises(sleek.SleekError, match="lossless"):
        sleek.compress(a, abs=1)


def test_special_values_and_fill():
    a = field()
    a[[3, 50, 700]] = np.nan, np.inf, -9999
    b = sleek.decompress(sleek.compress(a, noa=1e-3, fill=-9999))
    assert np.isnan(b[3]) and b[50] == np.inf
    usual = np.delete(a, [3, 50, 700])
    span = float(usual.max()) - float(usual.min())
    assert worst(usual, np.delete(b, [3, 50, 700])) <= 1e-3 * span


def test_masked_arrays_keep_their_masks():
    """What lies under a mask is of no meaning, and is replaced by the fill value, which then is a missing value."""
    a = np.ma.masked_less(field(), 275)
    b = sleek.decompress(sleek.compress(a, noa=1e-3))
    assert ((b == np.float32(a.fill_value)) == a.mask).all()
    assert worst(a.compressed(), b[~a.mask]) <= 1e-3 * 20
    c = sleek.decompress(sleek.compress(a, "noa=1e-3"))
    assert same_bits(b, c)
    d = sleek.decompress(sleek.compress(a, noa=1e-3, fill=-9999))
    assert ((d == -9999) == a.mask).all()
    whole = np.ma.array(field())
    assert sleek.compress(whole, abs=1e-3) == sleek.compress(field(), abs=1e-3)
    integers = np.ma.masked_equal(np.arange(1000, dtype="i4"), 7)
    with pytest.raises(TypeError, match=r"masked array of int32: .* compress array.filled\(7\)"):
        sleek.compress(integers, lossless=True)
    unmasked = np.ma.array(np.arange(1000, dtype="i4"))
    assert same_bits(sleek.decompress(sleek.compress(unmasked, lossless=True)), unmasked.data)
    named = [sleek.compress(a, f"abs=1e-3,fill={mark}") for mark in ("-9999", "0xc61c3c00")]
    named += [sleek.compress(a, abs=1e-3, fill=np.float32(-9999))]
    for b in map(sleek.decompress, named):
        assert ((b == -9999) == a.mask).all() and worst(a.compressed(), b[~a.mask]) <= 1e-3
    under = np.ma.array(np.where(a.mask, 1e9, a.data), mask=a.mask)
    assert sleek.find_bound(under, psnr=60) == sleek.find_bound(a, psnr=60)
    assert len(sleek.compress(a, abs=1e-9)) <= sleek.compress_bound(a, abs=1e-9)


class Lazy:
    """An array that is computed when it is asked for, as dask's."""

    def __init__(self, array):
        self.compute, self._meta = lambda: array, array[:0]

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.compute(), dtype)


@pytest.mark.parametrize("of", [Lazy, lambda a: list(a.reshape(10, -1)), lambda a: [tuple(half) for half in a.reshape(2, 5, -1)], lambda a: [[Lazy(a)]]])
def test_masks_of_arrays_that_numpy_sees_without(of):
    a = np.ma.masked_less(field(), 275)
    b = sleek.decompress(sleek.compress(of(a), abs=1e-3), masked=True)
    assert np.array_equal(b.mask.ravel(), a.mask) and a.mask.any()
    assert sleek.find_bound(of(a), ratio=9) == sleek.find_bound(a.reshape(b.shape), ratio=9)
    with pytest.raises(TypeError, match="masked"):
        sleek.CompressedArray(b.shape, rate=16)[...] = of(a)


def test_lists_of_masked_arrays_and_values():
    parts = [np.ma.masked_equal([0.0, 1.0, 2.0], 0), np.ma.masked_equal([0.0, -1.0, 2.0], -1)]
    for of in (parts, [list(part) for part in parts]):
        b = sleek.decompress(sleek.compress(of, lossless=True), masked=True)
        assert b.mask.tolist() == [[True, False, False], [False, True, False]] and b[1, 0] == 0
    b = sleek.decompress(sleek.compress([1.5, np.ma.masked, 3], lossless=True), masked=True)
    assert b.tolist() == [1.5, None, 3]
    assert sleek.decompress(sleek.compress(np.ma.masked, abs=1), masked=True).tolist() is None
    with pytest.raises(TypeError, match="masked"):
        sleek.CompressedArray((3,), rate=16)[...] = [1.5, np.ma.masked, 3]


def test_masked_bfloat16():
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    a = np.ma.array(np.arange(10).astype(bfloat16), mask=[True, False] * 5)
    for request in {"lossless": True}, {"abs": 0.5}, {"noa": 0.1, "fill": False}, {"abs": 0.5, "fill": -9}:
        b = sleek.decompress(sleek.compress(a, **request), masked=True)
        assert b.dtype == bfloat16 and (np.ma.getmaskarray(b) == a.mask).all()
        assert worst(a.data[~a.mask], b.data[~a.mask]) <= 1


@pytest.mark.parametrize("mark", [-9999.0, -999.0, 1e20, -1e34, 9.96921e36])
def test_undeclared_missing_values_are_kept(mark):
    a = field("f4", 300_000)
    a[1000:31_000] = mark
    mark = np.float32(mark)
    for request in ({"abs": 1e-2}, {"noa": 1e-3}, {"rel": 1e-4}, {"abs": 1e-2, "profile": "small"}):
        stream = sleek.compress(a, **request)
        assert np.array_equal(sleek.decompress(stream) == mark, a == mark)
        info = sleek.inspect(stream)
        assert (info.missing_found, info.missing) == (1, (float(mark),))
        off = sleek.compress(a, **request, fill=False)
        assert sleek.inspect(off).missing == ()
        words = ",".join(f"{k}={v}" for k, v in request.items())
        assert sleek.compress(a, words) == stream and sleek.compress(a, words + ",no-fill") == off
    assert sleek.inspect(sleek.compress(a, lossless=True)).missing == ()


def test_shapes_and_layouts():
    a = field().reshape(100, 20, 20)
    assert same_bits(a, sleek.decompress(sleek.compress(a, lossless=True), a.shape))
    for view in (a[::2, 1:, ::-3], np.asfortranarray(a), a.T):
        assert same_bits(np.ascontiguousarray(view), sleek.decompress(sleek.compress(view, lossless=True), view.shape))
    for small in (np.empty(0, "f4"), np.float64(2.5), [1.0, 2.0], [2.5], [[2.5]], np.array(7, "i4"), np.array(2.5, ">f4")):
        stream = sleek.compress(small, lossless=True)
        assert same_bits(np.asarray(small), sleek.decompress(stream)) and sleek.inspect(stream).shape == np.shape(small)
        out = np.empty_like(np.asarray(small))
        assert same_bits(np.asarray(small), sleek.decompress(stream, out=out))
    scalar = sleek.compress(np.float32(2.4), abs=0.1)
    assert sleek.decompress(scalar, masked=True).shape == () == sleek.decompress_box(scalar, (), ()).shape
    assert abs(sleek.decompress(scalar, 1)[0] - 2.4) <= 0.1
    with contextlib.suppress(ImportError):
        import sleek_decode

        assert same_bits(sleek_decode.decode(scalar), sleek.decompress(scalar)) and sleek_decode.inspect(scalar).shape == ()
    with pytest.raises(ValueError, match="reshape"):
        sleek.decompress(sleek.compress(a, lossless=True), (7, 7))


def test_ranges():
    a = field("f8", 100_000)
    stream = sleek.compress(a, abs=1e-3)
    whole = sleek.decompress(stream)
    for first, count in ((0, 1), (99_999, 1), (2047, 2), (12_345, 30_000), (5, 0), (100_000, 0)):
        assert same_bits(whole[first : first + count], sleek.decompress_range(stream, first, count))
    assert same_bits(whole[5:7], sleek.decompress_range(stream, np.int64(5), np.uint8(2)))
    for first, count in ((100_000, 1), (0, 100_001), (0, 10**18), (2**63 - 1, 1)):
        with pytest.raises(sleek.SleekError, match="outside the array"):
            sleek.decompress_range(stream, first, count)
    for first, count in ((-1, 1), (1, -1), (2**64, 1), (0, 2**64 + 1)):
        with pytest.raises(ValueError, match="from 0 to"):
            sleek.decompress_range(stream, first, count)


def test_strides():
    a = field("f4", 40 * 50 * 60).reshape(40, 50, 60)
    a[3:20, 6:9, 5:40] = -9999
    for request in ({"abs": 1e-3}, {"abs": 1e-3, "profile": "small"}, {"lossless": True}):
        for array in (a, a[0, 0], a[0], a.reshape(4, 10, 50, 60), np.float32(2.5), np.empty((0, 3), "f4")):
            stream = sleek.compress(array, fill=-9999, **request)
            whole = sleek.decompress(stream)
            for stride in (1, 2, 4, np.int64(8), 1 << 40):
                places = (slice(None),) * max(0, array.ndim - 3) + (slice(None, None, int(stride)),) * min(3, array.ndim)
                assert same_bits(np.array(whole[places], order="C"), sleek.decompress(stream, stride=stride))
    stream = sleek.compress(a, abs=1e-3, profile="small", fill=-9999)
    whole, out = sleek.decompress(stream), np.empty((13, 22, 30), "f4")
    assert sleek.decompress_box(stream, (1, 5, 0), (27, 45, 60), stride=2, out=out) is out
    assert same_bits(out, np.ascontiguousarray(whole[2:28:2, 6:50:2, ::2]))
    assert sleek.decompress(stream, stride=2, masked=True).mask.sum() == (whole[::2, ::2, ::2] == -9999).sum() > 0
    for stride in (0, -2, 3, 6):
        with pytest.raises(ValueError, match="power of two"):
            sleek.decompress(stream, stride=stride)
    with pytest.raises(TypeError, match="neither shape nor dtype"):
        sleek.decompress(stream, (40, 3000), stride=2)
    with pytest.raises(ValueError, match=r"\(2, 2\), 4 elements; 15000 are restored"):
        sleek.decompress(stream, stride=2, out=np.empty((2, 2), "f4"))


def test_ranges_by_chunk_and_where():
    a = np.sin(np.arange(60 * 70 * 80, dtype="f4") / 5000).reshape(60, 70, 80)
    a[5, 6, :50], a[9, 9, 9] = -9999, np.nan
    for array in (a, a.astype(">f8"), (a[20:] * 1000).astype("i2"), a[:, :0], np.float32(3)):
        is_float = array.dtype.kind == "f"
        for request in ({"abs": 1e-3}, {"abs": 1e-3, "profile": "small"}) if is_float else ({"lossless": True},):
            stream = sleek.compress(array, **request, fill=-9999 if is_float else None)
            whole, known = sleek.decompress(stream, masked=True), sleek.ranges(stream)
            found = whole.compressed()[~np.isnan(whole.compressed().astype("f8"))]
            assert known["count"].sum() == found.size and known["missing"].sum() == np.ma.count_masked(whole)
            assert known["nan"].sum() == np.isnan(whole.compressed().astype("f8")).sum()
            if found.size:
                assert known["least"].min() == found.min() and known["most"].max() == found.max()
                assert abs(known["sum"].sum() - found.sum(dtype="f8")) <= 1e-9 * np.abs(found.astype("f8")).sum()
            for question in ({"above": 0.9}, {"below": -0.5}, {"above": -0.1, "below": 0.2}, {"above": 1e9}):
                plain = whole.filled(0).astype("f8")
                yes = ~np.ma.getmaskarray(whole) & (plain > question.get("above", -np.inf)) & (plain < question.get("below", np.inf))
                for given in (None, known):
                    got = sleek.where(stream, **question, ranges=given)
                    assert len(got) == max(1, array.ndim)
                    assert all(np.array_equal(mine, right) for mine, right in zip(got, np.nonzero(np.atleast_1d(yes))))
    large = np.full(5000, 2**53 + 1)  # the floats next to it are as near
    large[::2] = -large[0]
    stream = sleek.compress(large, lossless=True)
    assert len(sleek.where(stream, above=2**53)[0]) == len(sleek.where(stream, below=-(2**53))[0]) == 2500
    for kind in ("f2", "f4", "f8", "i1", "u2", "i4", "i8", "u8"):
        dtype, near = np.dtype(kind), [0.1, 0.5, 1e9, 2.0**53, 2.0**53 + 4, 2.0**60, 1e-30, 2.0**63]
        few = np.array([x for x in near if dtype.kind == "f" and x < 6e4 or dtype.kind != "f" and x <= np.iinfo(dtype).max] or [7], dtype)
        few = np.concatenate([few, few + dtype.type(1), few - dtype.type(1)])
        stream, exact = sleek.compress(few, lossless=True), few.tolist()
        limits = [*near, *exact, -0.5, 7.5, 1e300, -np.inf, np.inf, np.nan, np.float32(0.1), np.float64(0.1), 2**53 + 1, 2**53 + 3, 2**53 + 5, 2**60 + 255, 2**70]
        for limit in [*limits, *few]:
            own = np.asarray(limit).item()
            assert sleek.where(stream, above=limit)[0].tolist() == [n for n, x in enumerate(exact) if x > own], (kind, limit)
            assert sleek.where(stream, below=limit)[0].tolist() == [n for n, x in enumerate(exact) if x < own], (kind, limit)
    with pytest.raises(TypeError, match="above, below"):
        sleek.where(stream)
    with pytest.raises(ValueError, match="not those of this stream"):
        sleek.where(stream, above=1, ranges=np.zeros(77, known.dtype))


def test_streams_may_lie_in_any_buffer():
    a = field()
    stream = sleek.compress(a, abs=1e-3)
    for buffer in (bytearray(stream), memoryview(stream), np.frombuffer(stream, "u1"), memoryview(b"x" + stream)[1:]):
        assert same_bits(sleek.decompress(stream), sleek.decompress(buffer))


def test_errors_are_the_librarys():
    a = field()
    for bound in (-1, np.nan, np.inf):
        with pytest.raises(sleek.SleekError, match="bound"):
            sleek.compress(a, abs=bound)
    with pytest.raises(sleek.SleekError, match="mode abs on i32") as e:
        sleek.compress(np.arange(10, dtype="i4"), abs=1)
    assert str(pickle.loads(pickle.dumps(e.value))) == str(e.value) and pickle.loads(pickle.dumps(e.value)).code == e.value.code
    for wrong in (np.array(["text"]), np.zeros(3, "m8[s]"), np.zeros(3, [("x", "f4")]), np.array([None])):
        with pytest.raises(sleek.SleekError, match="type"):
            sleek.compress(wrong, lossless=True)
    for range in (0, -1, np.nan):
        with pytest.raises(sleek.SleekError, match="range"):
            sleek.compress(a, noa=1e-3, range=range)
    with pytest.raises(sleek.SleekError, match="range"):
        sleek.compress(a, noa=1e-3, range=np.inf)
    with pytest.raises(sleek.SleekError, match="threads"):
        sleek.compress(a, abs=1, threads=-1)


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="numpy has 32 dimensions at most")
def test_more_dimensions_than_the_format_has():
    with pytest.raises(sleek.SleekError, match="rank 33; 1 to 32 dimensions are possible"):
        sleek.compress(np.zeros((1,) * 32 + (64,), "f4"), abs=1)


def test_sizes_may_be_asked_for_in_the_place_of_bounds():
    a = field()
    for words, request in (("rate=8,codec=zfp", {"rate": 8}), ("precision=12,codec=zfp", {"precision": 12})):
        stream = sleek.compress(a, **request)
        assert stream == sleek.compress(a, words)
        assert sleek.inspect(stream).mode == next(iter(request))
        assert sleek.h5(**request) == sleek.h5(words)
    for request in ({"rate": 8, "precision": 9}, {"rate": 8, "abs": 1}):
        with pytest.raises(TypeError, match="rate=8"):
            sleek.compress(a, **request)
    with pytest.raises(sleek.SleekError, match="precision 65"):
        sleek.compress(a, precision=65)


@pytest.mark.parametrize("dtype", ["i4", ">i8"])
def test_integers_are_rounded_only_if_the_request_says_so(dtype):
    """As in HDF5 and Zarr."""
    a = (np.arange(1000) ** 2).astype(dtype)
    for words, request in (("rate=4,codec=zfp", {"rate": 4}), ("precision=4,codec=zfp", {"precision": 4})):
        for of in sleek.compress, sleek.compress_bound:
            with pytest.raises(sleek.SleekError, match=f"would round integers.*{words},integers") as refused:
                of(a, **request)
            assert refused.value.code == 4
        assert not np.array_equal(sleek.decompress(sleek.compress(a, f"{words}, integers")), a)


def test_bounds_for_a_target():
    """cli/tests/hdf5/arrays.py says how near they come."""
    a = np.cumsum(np.random.default_rng(5).normal(size=(100, 1000)), axis=1).astype("f4")
    a[3, 5:9] = np.nan, np.inf, -9999, -9999
    for target, profile in ({"ratio": 7}, "adaptive"), ({"size": a.nbytes // 5}, "adaptive"), ({"ratio": 4}, "small"):
        bound = sleek.find_bound(a, fill=-9999, profile=profile, **target)
        size = len(sleek.compress(a, fill=-9999, profile=profile, **bound))
        wanted = target.get("size", a.nbytes / target.get("ratio", 1))
        assert 0.9 * wanted < size <= wanted, (target, bound)
    counts = np.isfinite(a) & (a != -9999)
    bound = sleek.find_bound(a, psnr=60, fill=-9999)
    back = sleek.decompress(sleek.compress(a, fill=-9999, **bound))
    assert 60 <= 20 * np.log10(np.ptp(a[counts]) / np.sqrt(np.mean((a[counts].astype("f8") - back[counts]) ** 2))) < 63
    assert sleek.find_bound(a, ssim=0.9999, fill=-9999)["abs"] < sleek.find_bound(a, ssim=0.9, fill=-9999)["abs"]
    assert sleek.find_bound(np.full(1000, 3.5), ratio=10) == sleek.find_bound(np.empty(0, "f4"), ratio=10) == {"lossless": True}
    with pytest.raises(ValueError, match="the nearest that can be met is ratio="):
        sleek.find_bound(a, ratio=1e9)
    for wrong in {}, {"ratio": 3, "psnr": 3}, {"ratio": -1}, {"ssim": 1}:
        with pytest.raises(ValueError, match="needed"):
            sleek.find_bound(a, **wrong)


def test_requests_that_cannot_be_meant():
    a = field()
    for request in ({}, {"abs": 1, "rel": 1}, {"abs": 1, "lossless": True}, {"abs": 1, "range": 2}):
        with pytest.raises(TypeError):
            sleek.compress(a, **request)
    with pytest.raises(ValueError, match="quick"):
        sleek.compress(a, abs=1, profile="quick")
    fills = {"abs": 1, "fill": True}, {"abs": 1, "fill": (1, 2)}
    for wrong in {"lossless": "no"}, {"lossless": 2}, {"abs": True}, {"abs": "few"}, {"abs": 10**400}, *fills:
        name, value = list(wrong.items())[-1]
        with pytest.raises(TypeError, match=re.escape(f"{name} is {value!r}; ") + ".* needed"):
            sleek.compress(a, **wrong)
    for threads in 2**40, -1, 2**31:
        with pytest.raises(sleek.SleekError, match=f"threads is {threads}; it must be from 0 to 2147483647"):
            sleek.compress(a, abs=1, threads=threads)
    for text in "abs=1\0", "abs=1\0,fill=3", "lossless\0rel=1":
        for door in lambda text: sleek.compress(a, text), sleek.h5:
            with pytest.raises(sleek.SleekError, match="NUL"):
                door(text)
    with pytest.raises(sleek.SleekError, match="codec zfp has the modes lossless, abs, rate, precision; rel was asked for"):
        sleek.compress(a, "rel=1e-3,codec=zfp")
    stream = sleek.compress(np.zeros((8, 8), "f4"), abs=1)
    for start, count in ((), ()), ((0,) * 3, (1,) * 3), ((0, 7), (1, 2)):
        with pytest.raises(ValueError, match="array"):
            sleek.decompress_box(stream, start, count)
    with pytest.raises(ValueError, match="into shape"):
        sleek.decompress(stream, (3, 5))


def test_numbers_of_python_are_rounded_to_the_strict_side():
    for exact in Fraction(1, 10), Decimal("0.1"), Fraction(1, 3), 2**53 + 1, Decimal("1e-400"), np.longdouble("0.1"):
        stream = sleek.compress(np.zeros(9), abs=exact)
        assert sleek.inspect(stream).bound <= exact < np.nextafter(sleek.inspect(stream).bound, np.inf)
    ranged = sleek.inspect(sleek.compress(np.arange(99.0), noa=0.5, range=Decimal("0.1"))).range
    assert ranged < Decimal("0.1") < np.nextafter(ranged, 1)
    a = np.repeat([-9999.0, 0.5], 1000)
    assert sleek.compress(a, abs=1e-3, fill=np.False_) == sleek.compress(a, abs=1e-3, fill=False)
    assert sleek.compress(a, lossless=np.True_) == sleek.compress(a, lossless=True)
    assert sleek.compress(a, abs="1e-3", lossless=np.False_) == sleek.compress(a, abs=1e-3)
