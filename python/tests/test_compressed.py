"""Compressed arrays against arrays of numpy."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
import sleek


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8"])
@pytest.mark.parametrize("shape", [(1001,), (37, 42), (9, 10, 11), (5, 6, 3, 7)])
def test_any_box_is_that_of_an_array(dtype, shape):
    random = np.random.default_rng(1)
    plain = np.zeros(shape, dtype)
    # The transform of integers loses some of the lowest bits each time that a block is written again.
    unit, near = (1, 1e-3) if dtype[0] == "f" else (1 << 18, 5000)
    a = sleek.CompressedArray(shape, dtype, rate=48)
    assert (a.shape, a.dtype, a.ndim, len(a)) == (shape, np.dtype(dtype), len(shape), shape[0])
    for _ in range(60):
        key = tuple(
            int(random.integers(-n, n)) if random.integers(3) == 0 else slice(*sorted(random.integers(0, n + 1, 2)), None) for n in shape
        )
        plain[key] = unit * random.integers(0, 1000, np.shape(plain[key]))
        a[key] = plain[key]
        read = tuple(slice(None, None, int(random.integers(1, 4))) for _ in shape)
        assert np.shape(a[read]) == np.shape(plain[read])
        np.testing.assert_allclose(a[read], plain[read], atol=near)
    a.flush()
    np.testing.assert_allclose(np.asarray(a), plain, atol=near)
    np.testing.assert_allclose(a[..., 0], plain[..., 0], atol=near)
    assert isinstance(a[(0,) * len(shape)], np.generic)
    a[...] = 7 * unit
    np.testing.assert_allclose(a[...], np.full(shape, 7 * unit), atol=near)


def test_a_rate_is_a_size():
    a = sleek.CompressedArray((64, 64, 64), "f4", rate=8)
    assert a.nbytes == 64**3


def test_what_cannot_be_is_refused():
    a = sleek.CompressedArray((8, 8), rate=16)
    for key in ((8, 0), (0, 0, 0), (Ellipsis, Ellipsis), (slice(None, None, -1),)):
        with pytest.raises(IndexError):
            a[key]
    with pytest.raises(IndexError, match="boxes"):
        a[::2] = 1
    with pytest.raises(sleek.SleekError, match="not finite"):
        a[0, 0] = np.nan
    for wrong in ({"rate": -1}, {"rate": 8, "dtype": "f2"}):
        with pytest.raises(sleek.SleekError):
            sleek.CompressedArray((8, 8), **wrong)
    with pytest.raises(sleek.SleekError, match="5 dimensions"):
        sleek.CompressedArray((2,) * 5, rate=8)
    for shape, cache_bytes in ((2**64 + 8,), 0), (8, 2**64), (8, -1):
        with pytest.raises(sleek.SleekError, match="must be from 0 to"):
            sleek.CompressedArray(shape, rate=8, cache_bytes=cache_bytes)


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, pickle.dumps])
def test_copies_are_refused(way):
    with pytest.raises(TypeError, match="neither copied nor pickled"):
        way(sleek.CompressedArray(1000, "f4", rate=16))
    if way is not copy.copy:
        with pytest.raises(TypeError, match="neither copied nor pickled"):
            way(vars(sleek.CompressedArray(1000, "f4", rate=16)))


def test_the_last_finalizer_reads():
    """When Python imports nothing any more."""
    program = """
import builtins, os
import sleek
class Last:
    def __init__(self, write=os.write):
        self.a, self.write = sleek.CompressedArray(100, rate=16), write
    def __del__(self):
        self.a[3] = 2
        self.write(1, str(self.a[3]).encode())
builtins.last = Last()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("2.0", "")


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="numpy 1 asks for no copy=False")
def test_it_is_never_seen_without_a_copy():
    a = sleek.CompressedArray(10, rate=16)
    assert not np.array(a).any() and not np.asarray(a, "f4").any()
    with pytest.raises(ValueError, match="copy=False"):
        np.array(a, copy=False)


END = """
import atexit, gc, os, sys, threading, time
import numpy as np, sleek

here = {}

@atexit.register
def at_the_end():
    assert abs(here["a"][...] - 1.5).max() < 1e-3 and here["a"].nbytes
    here["a"].flush()
    print("read at the end")

class Cycle:
    def __init__(self, a=None):
        self.me, self.a = self, a or filled(1.5)

    def __del__(self):
        other = filled(7)
        assert abs(self.a[...] - 1.5).max() < 1e-3
        self.a[...] = 2.5
        self.a.flush()
        assert abs(other[...] - 7).max() < 1e-3
        print("read in a cycle")

def filled(value):
    a = sleek.CompressedArray((700, 700), rate=16)
    a[...] = value
    return a

def read():
    while True:
        here["a"][...]

for _ in range(3):
    Cycle()
    gc.collect()
    Cycle(filled(1.5))  # finalizers are called in the order in which objects were made
    gc.collect()
here["a"] = filled(1.5)
for _ in range(2):
    threading.Thread(target=read, daemon=True).start()
time.sleep(0.2)
"""


def test_it_is_there_as_long_as_anybody_uses_it():
    """In cycles whose finalizers use it, at the end of the program, and in threads that go on then."""
    done = subprocess.run([sys.executable, "-c", END], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert done.stdout.split("\n") == ["read in a cycle"] * 6 + ["read at the end", ""]


def test_its_memory_is_freed():
    """2 GB in turn, half of them in cycles, where a process may have 1 GB."""
    program = """
import gc, resource, sleek
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
for k in range(64):
    a = sleek.CompressedArray((1 << 22,), rate=64)
    a.me = a if k % 2 else None
    del a
    gc.collect()
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_masks_are_refused():
    a = sleek.CompressedArray(5, rate=16)
    with pytest.raises(TypeError, match="masked"):
        a[...] = np.ma.masked_equal(np.arange(5.0), 3)
    a[...] = np.ma.arange(5.0)


def test_its_shape_and_type_stay():
    a = sleek.CompressedArray((4, 6), "f8", rate=16)
    for name, other in (("shape", (24, 9)), ("dtype", np.dtype("f4"))):
        with pytest.raises(AttributeError):
            setattr(a, name, other)
    with pytest.raises(TypeError, match="keeps its shape"):
        a.__init__((2, 3), rate=16)
    assert a.shape == (4, 6) and a[3, 5] == 0


def test_it_is_no_output():
    """numpy gets a copy of it, which would be filled in its place."""
    a = sleek.CompressedArray(1000, "f4", rate=16)
    with pytest.raises(ValueError, match="copies alone"):
        sleek.decompress(sleek.compress(np.ones(1000, "f4"), lossless=True), out=a)
