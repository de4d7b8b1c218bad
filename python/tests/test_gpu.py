"""Arrays on a GPU, of every kind that Python has, on the stand-in driver."""

import ctypes
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import sleek
import sleek.cuda

sys.path.insert(0, str(Path(__file__).parent))
from standin import Cupy, Jax, Memory, Numba, Rocm, Torch, driver  # noqa: E402

KINDS = [Numba, Torch, Jax]
# Streams of the stand-in: numbers above 2, of which bit 8 is the device.
FIRST, SECOND, OF_DEVICE_1 = 0x4010, 0x4020, 0x4110


def field(dtype="f4", shape=(60, 500)):
    x = np.arange(np.prod(shape)).reshape(shape)
    return (280 + 10 * np.sin(2e-3 * x) * np.cos(3e-4 * x)).astype(dtype)


def room_for(kind, array, **request):
    return kind.empty(sleek.compress_bound(array, **request), "u1")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i2", "u1"])
def test_streams_are_those_of_the_host(kind, dtype):
    a = field(dtype) if dtype[0] == "f" else np.arange(30_000).reshape(60, 500).astype(dtype)
    request = {"abs": 0.5} if dtype[0] == "f" else {"lossless": True}
    expected, on_device = sleek.compress(a, **request), kind(a)
    before = driver.shim_launches()
    assert sleek.compress(on_device, **request) == expected
    assert driver.shim_launches() > before
    assert sleek.compress_bound(on_device, **request) == sleek.compress_bound(a, **request)
    # The stream stays on the device, and so does what is restored from it.
    stream = sleek.compress(on_device, out=room_for(kind, on_device, **request), **request)
    assert stream.host().tobytes() == expected
    info = sleek.inspect(stream)
    assert (info.shape, info.dtype, info.stream_bytes) == (a.shape, a.dtype, len(expected))
    back = kind.empty(a.shape, a.dtype)
    assert sleek.decompress(stream, out=back) is back
    restored = sleek.decompress(expected)
    assert back.host().tobytes() == restored.tobytes()
    # Any mixture of host and device.
    assert sleek.decompress(stream).tobytes() == restored.tobytes()
    sleek.decompress(expected, out=back)
    assert back.host().tobytes() == restored.tobytes()
    buffer = bytearray(sleek.compress_bound(a, **request))
    assert bytes(sleek.compress(on_device, out=buffer, **request)) == expected


@pytest.mark.parametrize("kind", KINDS)
def test_parts(kind):
    a = field("f8")
    stream = kind(np.frombuffer(sleek.compress(a, abs=1e-3), "u1"))
    whole = sleek.decompress(stream)
    assert whole.shape == a.shape
    assert np.array_equal(sleek.decompress_range(stream, 700, 9000), whole.reshape(-1)[700:9700])
    out = kind.empty(9000, "f8")
    assert sleek.decompress_range(stream, 700, 9000, out=out) is out
    assert np.array_equal(out.host(), whole.reshape(-1)[700:9700])
    box = kind.empty((3, 200), "f8")
    assert sleek.decompress_box(stream, (50, 10), (3, 200), out=box) is box
    assert np.array_equal(box.host(), whole[50:53, 10:210])
    assert np.array_equal(sleek.decompress_box(stream, (50, 10), (3, 200)), whole[50:53, 10:210])


def test_bfloat16_needs_no_package():
    bits = (field("f4").view("u4") >> 16).astype("u2")
    a = Torch(bits, type_name="V")
    stream = sleek.compress(a, abs=8)
    back = Torch.empty(bits.shape, "u2", type_name="V")
    sleek.decompress(stream, out=back)
    values, restored = ((b.astype("u4") << 16).view("f4") for b in (bits, back.host()))
    assert 0 < np.abs(values - restored).max() <= 8
    with pytest.raises(ValueError, match="out has elements of type uint16; the stream's are of type bfloat16"):
        sleek.decompress(stream, out=Torch.empty(bits.shape, "u2"))


@pytest.mark.parametrize("kind", [Torch, Jax])
def test_streams_of_dlpack(kind):
    a, out = kind(field()), kind.empty(100_000, "u1")
    stream = sleek.compress(a, abs=1e-3, out=out, cuda_stream=FIRST)
    assert a.asked_for == out.asked_for == driver.shim_last_stream() == FIRST
    sleek.compress(a, abs=1e-3, out=out)
    assert a.asked_for == out.asked_for == driver.shim_last_stream() == 1
    sleek.decompress(stream, out=a, cuda_stream=SECOND)
    assert a.asked_for == driver.shim_last_stream() == SECOND


def test_streams_of_the_array_interface():
    """Without a stream the array's own is worked on; with another one, its own is waited for."""
    a, out = Numba(field(), stream=FIRST), Numba.empty(100_000, "u1")
    sleek.compress(a, abs=1e-3)
    assert driver.shim_last_stream() == FIRST
    sleek.compress(Numba(field()), abs=1e-3, out=Numba.empty(100_000, "u1", stream=SECOND))
    assert driver.shim_last_stream() == SECOND

    def waits(**more):
        before = driver.shim_waits()
        sleek.compress(a, abs=1e-3, out=out, **more)
        return driver.shim_waits() - before

    usual = waits(cuda_stream=FIRST)
    assert waits() == usual and waits(cuda_stream=SECOND) == usual + 1
    assert driver.shim_last_stream() == SECOND
    with pytest.raises(ValueError, match="stream 0"):
        sleek.compress(Numba(field(), stream=0), abs=1)


def test_streams_of_every_library():
    class Cupy:
        ptr = FIRST

    class Torch_:
        cuda_stream = FIRST

    class Core:
        def __cuda_stream__(self):
            return 0, FIRST

    class Handle:
        value = FIRST

    class OfNumba:
        handle = Handle()

    a = Torch(field())
    for stream in (FIRST, Cupy(), Torch_(), Core(), OfNumba()):
        sleek.compress(a, abs=1, cuda_stream=stream)
        assert a.asked_for == FIRST
    sleek.compress(a, abs=1, cuda_stream=0)
    assert a.asked_for == 1
    with pytest.raises(TypeError, match="'fast'"):
        sleek.compress(a, abs=1, cuda_stream="fast")
    with pytest.raises(ValueError, match="-1"):
        sleek.compress(a, abs=1, cuda_stream=-1)


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_devices(kind):
    a = kind(field(), device=1)
    assert sleek.compress(a, abs=1e-3, cuda_stream=OF_DEVICE_1) == sleek.compress(field(), abs=1e-3)
    with pytest.raises(sleek.SleekError, match="two GPUs"):
        sleek.compress(a, abs=1, out=kind.empty(200_000, "u1", device=0))
    with pytest.raises(sleek.SleekError, match="stream belongs to another device"):
        sleek.compress(a, abs=1, cuda_stream=FIRST)
    with pytest.raises(sleek.SleekError, match="stream was given"):
        sleek.compress(field(), abs=1, cuda_stream=FIRST)


def test_other_makes_of_gpu():
    with pytest.raises(BufferError, match="Rocm lies on ROCm 0"):
        sleek.compress(Rocm(field()), abs=1)


@pytest.mark.parametrize("kind", KINDS)
def test_layouts(kind):
    a = field()
    for strides in ((4, 240), (4000, 4), (-2000, 4), (2000, 8)):
        with pytest.raises(ValueError, match=r"not contiguous in C order.*ascontiguousarray"):
            sleek.compress(kind(a, strides=strides), abs=1)
        with pytest.raises(ValueError, match="not contiguous"):
            sleek.decompress(sleek.compress(a, abs=1), out=kind(a, strides=strides))
    expected = sleek.compress(a.reshape(1, 60, 500), abs=1)
    assert sleek.compress(kind(a.reshape(1, 60, 500), strides=(7, 2000, 4)), abs=1) == expected
    memory = kind(a.reshape(-1)).memory
    part = kind(np.zeros(400, "f4"), memory=memory, at=200)
    assert sleek.compress(part, abs=1e-3) == sleek.compress(a.reshape(-1)[50:450], abs=1e-3)
    empty = kind.empty((0, 5), "f4", memory=Memory(1))
    assert sleek.decompress(sleek.compress(empty, abs=1)).size == 0


@pytest.mark.parametrize("kind", [Numba, Jax])
def test_read_only(kind):
    a = kind(field(), read_only=True)
    stream = sleek.compress(a, abs=1)
    with pytest.raises(ValueError, match="read-only"):
        sleek.decompress(stream, out=a)


@pytest.mark.parametrize("kind", KINDS)
def test_what_does_not_fit(kind):
    stream = sleek.compress(field(), abs=1)
    with pytest.raises(ValueError, match="out has elements of type float64; the stream's are of type float32"):
        sleek.decompress(stream, out=kind.empty((60, 500), "f8"))
    with pytest.raises(ValueError, match="29999 elements; 30000 are restored"):
        sleek.decompress(stream, out=kind.empty(29_999, "f4"))
    with pytest.raises(ValueError, match="elements of 4 bytes; bytes in one dimension"):
        sleek.compress(kind(field()), abs=1, out=kind.empty(30_000, "f4"))
    with pytest.raises(sleek.SleekError, match="too small|room|bytes"):
        sleek.compress(kind(field()), lossless=True, out=kind.empty(100, "u1"))
    with pytest.raises(sleek.SleekError, match="timedelta64|DLPack type"):
        sleek.compress(kind(np.zeros(4, "m8[s]"), **({} if kind is Numba else {"type_name": "x"})), lossless=True)
    broken = bytearray(stream)
    broken[len(broken) // 2] ^= 1
    with pytest.raises(sleek.SleekError):
        sleek.decompress(kind(np.frombuffer(broken, "u1")), out=kind.empty(30_000, "f4"))


def test_a_masked_device_array_is_refused():
    class Masked(Numba):
        @property
        def __cuda_array_interface__(self):
            return {**super().__cuda_array_interface__, "mask": self}

    with pytest.raises(ValueError, match="mask.*fill"):
        sleek.compress(Masked(field()), abs=1)


def batch(kind, arrays):
    n = len(arrays)
    results, workspace = kind.empty(n, sleek.cuda.RESULT), kind.empty(sleek.cuda.workspace_bytes(n), "u1")
    results.dtype, results.shape = np.dtype("u1"), (16 * n,)
    return {"results": results, "workspace": workspace}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("shape", "profile"), [((60, 500), "adaptive"), ((4000,), "adaptive"), ((60, 500), "small")])
def test_batches(kind, shape, profile):
    request = {"abs": 1e-3, "profile": profile}
    arrays = [field("f4", shape) + n for n in range(5)]
    if len(shape) == 1:
        arrays[2] = arrays[2][:77]
    more, codec = batch(kind, arrays), {"codec": "interp"} if profile == "small" else {}
    sleek.cuda.prepare(0, "float32", **request)
    out = [room_for(kind, a, **request) for a in arrays]
    waits = driver.shim_waits()
    sleek.cuda.compress_batch([kind(a) for a in arrays], f"abs=1e-3,profile={profile}", out=out, cuda_stream=FIRST, **more)
    assert driver.shim_waits() == waits and driver.shim_last_stream() == FIRST
    lengths = sleek.cuda.check(more["results"].host())
    expected = [sleek.compress(a if profile == "small" else a.reshape(-1), **request) for a in arrays]
    assert [o.host()[:n].tobytes() for o, n in zip(out, lengths)] == expected
    back = [kind.empty(a.shape, a.dtype) for a in arrays]
    sleek.cuda.decompress_batch(out, out=back, **more, **codec)
    assert sleek.cuda.check(more["results"].host()).tolist() == [a.nbytes for a in arrays]
    assert all(np.array_equal(b.host().ravel(), sleek.decompress(s).ravel()) for b, s in zip(back, expected))
    out[1].host()[:4] = 0
    sleek.cuda.decompress_batch(out, out=back, **more, **codec)
    with pytest.raises(sleek.SleekError, match="array 1: "):
        sleek.cuda.check(more["results"].host())


def test_batches_that_are_refused():
    a, b = Torch(field()), Torch(field("f8"))
    more, out = batch(Torch, [a, a]), [Torch.empty(200_000, "u1") for _ in "12"]
    for arrays, changed, message in (
        ([a, field()], {}, "number 1, a ndarray, is not on a GPU"),
        ([a, b], {}, "2 types"),
        ([a, Torch(field(shape=(30, 1000)))], {"profile": "small"}, "one shape"),
        ([a], {}, "out has 2 arrays; 1 are needed"),
        ([a, a], {"results": Torch.empty(31, "u1")}, "31 bytes; 32 are needed"),
    ):
        with pytest.raises(ValueError, match=message):
            sleek.cuda.compress_batch(arrays, abs=1, out=out, **{**more, **changed})
    with pytest.raises(TypeError, match="bond"):
        sleek.cuda.compress_batch([a, a], bond=1, out=out, **more)
    with pytest.raises(sleek.SleekError, match="workspace of 16 bytes"):
        sleek.cuda.compress_batch([a, a], abs=1, out=out, **{**more, "workspace": Torch.empty(16, "u1")})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["<f4", ">f8"])
def test_datasets(tmp_path, kind, dtype):
    h5py = pytest.importorskip("h5py")
    a = field(dtype[1:], (60, 500))
    options = {"shape": a.shape, "dtype": dtype, "chunks": (20, 100), **sleek.h5(abs=1e-3)}
    with h5py.File(tmp_path / "d.h5", "w") as f:
        by_h5py, direct = f.create_dataset("h5py", data=a, **options), f.create_dataset("direct", **options)
        done = sleek.write(direct, kind(a), cuda_stream=FIRST)
        assert (done.route, done.chunks, done.staged, done.raw_bytes) == ("gpu", 15, False, a.nbytes), done
        assert driver.shim_last_stream() == FIRST
        f.flush()
        for y in range(0, 60, 20):
            for x in range(0, 500, 100):
                assert by_h5py.id.read_direct_chunk((y, x)) == direct.id.read_direct_chunk((y, x))
        back = kind.empty(a.shape, a.dtype)
        assert sleek.read(by_h5py, out=back).route == "gpu"
        assert np.array_equal(back.host(), direct[...])
        part = kind.empty((20, 200), a.dtype)
        assert sleek.read(direct, out=part, start=(40, 100)).route == "gpu"
        assert np.array_equal(part.host(), direct[40:, 100:300])
        part.host()[...] = 7
        assert sleek.write(direct, part, start=(40, 100)).route == "gpu"
        assert np.abs(direct[40:, 100:300] - 7).max() <= 1e-3
        done = sleek.write(direct, kind(a[:3]), start=(1, 0))
        assert done.route == "ordinary" and "cuts chunks" in done.reason and done.staged
        with pytest.raises(ValueError, match=r"shape \(3, 500\), the dataset \(60, 500\)"):
            sleek.write(direct, kind(a[:3]))
        with pytest.raises(ValueError, match="not inside the dataset"):
            sleek.read(direct, out=part, start=(50, 0))
        with pytest.raises(ValueError, match="not contiguous"):
            sleek.write(direct, kind(a, strides=(4, 240)))


class Plain(Torch):
    """What both libraries' own classes have; DLPack is what is to be done without."""

    def __dlpack__(self, **_):
        raise AssertionError("DLPack was asked")


def as_pytorch(monkeypatch, stream=0):
    """A module and a class that look like PyTorch's, and work on a stream."""
    module = SimpleNamespace(strided="strided", _C=SimpleNamespace(_cuda_getCurrentRawStream=lambda device: stream))
    monkeypatch.setitem(sys.modules, "torch", module)

    class Tensor(Plain):
        layout, requires_grad = "strided", False
        device = SimpleNamespace(index=0)
        dtype = property(lambda self: f"torch.{self.numpy_type.name}", lambda self, dtype: setattr(self, "numpy_type", dtype))

        def host(self):
            size = int(np.prod(self.shape)) * self.numpy_type.itemsize
            raw = (ctypes.c_uint8 * size).from_address(self.memory.address + self.at)
            return np.frombuffer(raw, self.numpy_type).reshape(self.shape)

        def is_neg(self):
            return False

        is_conj = is_neg

        def is_contiguous(self):
            return self.strides is None

        def data_ptr(self):
            return self.memory.address + self.at

    Tensor.__module__ = "torch"
    module.Tensor = Tensor
    return Tensor


def as_cupy(monkeypatch, stream=0):
    class ndarray(Plain):
        device = SimpleNamespace(id=0)
        flags = property(lambda self: SimpleNamespace(c_contiguous=self.strides is None))
        data = property(lambda self: SimpleNamespace(ptr=self.memory.address + self.at))

    ndarray.__module__ = "cupy"
    current = SimpleNamespace(get_current_stream=lambda device: SimpleNamespace(ptr=stream))
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=current, ndarray=ndarray))
    return ndarray


@pytest.mark.parametrize("library", [as_pytorch, as_cupy])
def test_plain_arrays_are_known_without_dlpack(library, monkeypatch):
    kind, a = library(monkeypatch), field()
    expected = sleek.compress(a, noa=1e-3)
    source = kind(a)
    room = room_for(kind, source, noa=1e-3)
    stream = sleek.compress(source, "noa=1e-3", out=room)
    assert stream.host().tobytes() == expected and driver.shim_last_stream() == 1
    back = kind.empty(a.shape, "f4")
    sleek.decompress(stream, out=back)
    assert back.host().tobytes() == sleek.decompress(expected).tobytes()
    gone = kind(a)
    gone.memory.free()
    gone.memory.address = stream.memory.address + (1 << 40)
    with pytest.raises(ValueError, match="which the CUDA driver does not know"):
        sleek.compress(gone, noa=1e-3)
    gone.memory.address = 0
    # Whatever is not plain is for DLPack: gaps, another stream for the call than the library's own.
    with pytest.raises(AssertionError, match="DLPack was asked"):
        sleek.compress(kind(a, strides=(4, 240)), noa=1e-3)
    with pytest.raises(AssertionError, match="DLPack was asked"):
        sleek.compress(source, noa=1e-3, cuda_stream=FIRST)
    other = library(monkeypatch, FIRST)
    with pytest.raises(AssertionError, match="DLPack was asked"):
        sleek.compress(other(a), noa=1e-3, cuda_stream=1)


@pytest.mark.parametrize("library", [as_pytorch, as_cupy])
def test_the_stream_that_the_library_works_on_is_the_default(library, monkeypatch):
    """As `with torch.cuda.stream(s)` and `with s` of CuPy have it, and what `torch.cuda.graph` captures."""
    kind, a = library(monkeypatch, FIRST), field()
    source, room = kind(a), room_for(kind, a, abs=1e-3)
    stream = sleek.compress(source, abs=1e-3, out=room)
    assert driver.shim_last_stream() == FIRST and stream.host().tobytes() == sleek.compress(a, abs=1e-3)
    back = kind.empty(a.shape, "f4")
    for restored in (sleek.compress(a, abs=1e-3), stream):
        sleek.compress(Torch(a), abs=1e-3)
        assert driver.shim_last_stream() == 1
        sleek.decompress(restored, out=back)
        assert driver.shim_last_stream() == FIRST
    more = batch(Numba, [a])
    sleek.cuda.compress_batch([source], abs=1e-3, out=[room], **more)
    assert driver.shim_last_stream() == FIRST
    sleek.cuda.compress_batch([source], abs=1e-3, out=[Numba.empty(room.shape, "u1")], cuda_stream=FIRST, **more)
    sleek.cuda.decompress_batch([Numba(room.host())], out=[back], **more)
    assert driver.shim_last_stream() == FIRST and np.array_equal(back.host(), sleek.decompress(sleek.compress(a, abs=1e-3)))


@pytest.mark.parametrize("library", [as_pytorch, as_cupy, None])
def test_arrays_of_no_elements(library, monkeypatch):
    """Libraries give them the address 0, which goes with any stream."""
    kind = library(monkeypatch, FIRST) if library else Jax
    for shape in ((0,), (3, 0, 5)):
        a = kind.empty(shape, "f4", memory=SimpleNamespace(address=0, device=0))
        for request in ({"abs": 1e-3}, {"noa": 1e-3}, {"lossless": True}, {"abs": 1e-3, "profile": "small"}):
            expected = sleek.compress(np.empty(shape, "f4"), **request)
            assert sleek.compress(a, **request) == sleek.compress(a, cuda_stream=FIRST, **request) == expected
            stream = sleek.compress(a, out=room_for(kind, np.empty(shape, "f4"), **request), **request)
            assert stream.host().tobytes() == expected
            for given in (expected, Numba(stream.host())):
                assert sleek.decompress(given, out=a) is a and sleek.decompress(given).shape == shape
        assert sleek.decompress_range(expected, 0, 0, out=a) is a
    some = kind(field())
    more, out = batch(Numba, "12"), [room_for(kind, field(), abs=1e-3) for _ in "12"]
    sleek.cuda.compress_batch([a, some], abs=1e-3, out=out, **more)
    lengths = sleek.cuda.check(more["results"].host())
    assert out[0].host()[: lengths[0]].tobytes() == sleek.compress(np.empty(0, "f4"), abs=1e-3)
    sleek.cuda.decompress_batch(out, out=[a, some], **more)
    assert sleek.cuda.check(more["results"].host()).tolist() == [0, 4 * 30_000]


FP8 = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")


@pytest.mark.parametrize("library", [as_pytorch, as_cupy])
@pytest.mark.parametrize("name", ["bool", *FP8])
def test_truth_values_and_floats_of_8_bits_go_as_bytes(library, name, monkeypatch):
    dtype = np.dtype(bool) if name == "bool" else np.dtype(getattr(pytest.importorskip("ml_dtypes"), name))
    kind = library(monkeypatch)
    a = (np.arange(4000).reshape(40, 100) % 7 > 4).astype("u1").view(dtype)
    source, back = kind(a), kind.empty(a.shape, dtype)
    stream = sleek.compress(source, lossless=True)
    assert stream == sleek.compress(a, lossless=True) == sleek.compress(a.view("u1"), lossless=True)
    assert len(stream) < a.nbytes / 2
    sleek.decompress(stream, out=back)
    assert back.host().tobytes() == a.tobytes()
    assert sleek.decompress(stream, dtype=dtype).dtype == dtype
    with pytest.raises(sleek.SleekError, match="lossless"):
        sleek.compress(source, abs=1)
    more = batch(Numba, [a])
    room = room_for(Numba, a, lossless=True)
    sleek.cuda.compress_batch([source], lossless=True, out=[room], **more)
    sleek.cuda.decompress_batch([room], out=[back], **more)
    assert sleek.cuda.check(more["results"].host()).tolist() == [4000] and back.host().tobytes() == a.tobytes()


@pytest.mark.parametrize("kind", ["torch", "cupy", *KINDS])
@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_complex_numbers_go_as_pairs(kind, dtype, monkeypatch):
    kind = {"torch": as_pytorch, "cupy": as_cupy}[kind](monkeypatch) if isinstance(kind, str) else kind
    a = (field("f8") + 1j * field("f8")[:, ::-1]).astype(dtype)
    source, back = kind(a), kind.empty(a.shape, dtype)
    for request in ({"abs": 1e-2}, {"noa": 1e-4, "profile": "small"}, {"lossless": True}):
        stream = sleek.compress(source, **request)
        assert stream == sleek.compress(a, **request)
        assert sleek.inspect(stream).shape == (*a.shape, 2)
        sleek.decompress(stream, out=back)
        assert np.array_equal(back.host(), sleek.decompress(stream, dtype=dtype))
    assert np.array_equal(back.host(), a)
    sleek.decompress(sleek.compress(source, abs=1e-2), out=back)
    wrong = back.host() - a
    assert 5e-3 < max(np.abs(wrong.real).max(), np.abs(wrong.imag).max()) <= 1e-2
    with pytest.raises(ValueError, match="not contiguous"):
        sleek.compress(kind(a, strides=(a.itemsize, 60 * a.itemsize)) if kind in KINDS else Numba(a, strides=(8, 480)), abs=1)
    more, room = batch(Numba, [a]), room_for(Numba, a, abs=1e-2)
    sleek.cuda.compress_batch([source], abs=1e-2, out=[room], **more)
    length = sleek.cuda.check(more["results"].host())[0]
    assert room.host()[:length].tobytes() == sleek.compress(a.view(f"f{a.itemsize // 2}").reshape(-1), abs=1e-2)


def test_the_page(tmp_path, monkeypatch, capsys):
    """docs/guide/python.md as it is printed, but for a CuPy on the stand-in."""
    pytest.importorskip("h5py")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "cupy", Cupy)
    page = (Path(__file__).parents[2] / "docs/guide/python.md").read_text().partition("\n## GPU arrays")[2]
    code = "\n".join(re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))
    names = {}
    exec(compile(code, "docs/guide/python.md", "exec"), names)
    wave = names["wave"]
    assert capsys.readouterr().out.startswith("gpu ")
    assert np.abs(names["back"].host() - wave).max() <= 1e-3 and np.abs(names["again"][1].host() - 2 * wave).max() <= 1e-3
    assert np.abs(names["rows"].host() - wave[:3]).max() <= 1e-3


def test_zarr_buffers_of_gpus():
    """What zarr's prototype for GPUs hands to a codec, without CuPy: chunks and streams on the device."""
    pytest.importorskip("zarr", minversion="3")
    import asyncio

    from sleek.zarr import Sleek
    from zarr.dtype import Float32

    class Buffer:
        def __init__(self, array):
            self.array = array

        def as_numpy_array(self):
            return self.array.host().copy()

        def as_ndarray_like(self):
            return self.array

        as_array_like = as_ndarray_like

        @classmethod
        def create(cls, *, shape, dtype):
            return cls(Cupy.empty(shape, dtype))

        @classmethod
        def from_bytes(cls, stream):
            return cls(Cupy.asarray(np.frombuffer(stream, "u1")))

    a = field()
    spec = SimpleNamespace(shape=a.shape, dtype=Float32(), fill_value=0, prototype=SimpleNamespace(buffer=Buffer, nd_buffer=Buffer))
    for request in ("abs=1e-3", "noa=1e-4", "noa=1e-4,range=20", "abs=1e-3,codec=zfp", "abs=1e-3,profile=small"):
        codec, compresses_there = Sleek(request), request != "noa=1e-4"
        before = driver.shim_launches()
        stream = asyncio.run(codec._encode_single(Buffer(Cupy.asarray(a)), spec))
        assert (driver.shim_launches() > before) == compresses_there
        before = driver.shim_launches()
        restored = asyncio.run(codec._decode_single(stream, spec)).array
        assert driver.shim_launches() > before and isinstance(restored, Cupy.ndarray)
        assert 0 < np.abs(restored.host() - a).max() <= 2e-3
