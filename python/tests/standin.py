"""Arrays on GPUs that are not there: memory of the stand-in driver (tests/gpu/driver.cpp), told of as CuPy, PyTorch and Numba do it.

SLEEK_STANDIN names the driver. Its device memory is memory of the host, so that a test can look at it.
"""

import ctypes
import os
import types

import numpy as np
import pytest

if "SLEEK_STANDIN" not in os.environ:
    pytest.skip("SLEEK_STANDIN does not name the stand-in driver", allow_module_level=True)
# Loaded under its soname, it is what every later request for libcuda.so.1 finds.
driver = ctypes.CDLL(os.environ["SLEEK_STANDIN"], mode=ctypes.RTLD_GLOBAL)
driver.cuCtxSetCurrent.argtypes = [ctypes.c_void_p]
driver.cuMemFree_v2.argtypes = [ctypes.c_uint64]
driver.shim_last_stream.restype = ctypes.c_void_p
driver.cuInit(0)


class Memory:
    """Memory of a device, freed when nobody has it any more."""

    def __init__(self, nbytes, device=0):
        at = ctypes.c_uint64()
        driver.cuCtxSetCurrent(0x1000 + device)
        assert driver.cuMemAlloc_v2(ctypes.byref(at), ctypes.c_size_t(nbytes)) == 0
        driver.cuCtxSetCurrent(None)
        self.address, self.nbytes, self.device = at.value, nbytes, device

    def free(self):
        if self.address:
            driver.cuMemFree_v2(self.address)
            self.address = 0

    __del__ = free


class Array:
    """An array of a device as its subclasses tell of it."""

    def __init__(self, values, device=0, stream=None, type_name=None, read_only=False, memory=None, at=0, strides=None):
        values = np.asarray(values)
        self.memory = memory or Memory(values.nbytes, device)
        self.shape, self.dtype, self.at, self.strides = values.shape, values.dtype, at, strides
        self.stream, self.type_name, self.read_only = stream, type_name, read_only
        if memory is None:
            self.host()[...] = values

    @classmethod
    def empty(cls, shape, dtype, **more):
        return cls(np.zeros(shape, dtype), **more)

    def host(self):
        """What lies in device memory."""
        size = int(np.prod(self.shape)) * self.dtype.itemsize
        raw = (ctypes.c_uint8 * size).from_address(self.memory.address + self.at)
        return np.frombuffer(raw, self.dtype).reshape(self.shape)

    def __getitem__(self, part):
        return type(self)(self.host()[part], memory=self.memory, stream=self.stream)


class Numba(Array):
    """As Numba has it, or CuPy before DLPack."""

    @property
    def __cuda_array_interface__(self):
        told = {"shape": self.shape, "typestr": self.type_name or self.dtype.str, "version": 3}
        told["data"] = (self.memory.address + self.at, self.read_only)
        return {**told, "strides": self.strides, "stream": self.stream}


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    ]


class Managed(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Versioned(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_uint32 * 2),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    ]


class Torch(Array):
    """As PyTorch and CuPy have it: DLPack, without versions."""

    kind = 2
    codes = {"i": 0, "u": 1, "f": 2, "V": 4, "c": 5, "b": 6}

    def __dlpack_device__(self):
        return self.kind, self.memory.device

    def __dlpack__(self, *, stream=None):
        self.asked_for = stream
        return self._capsule(b"dltensor", self._described(Managed()))

    def _described(self, managed):
        t = managed.tensor
        self.lengths = (ctypes.c_int64 * len(self.shape))(*self.shape)
        t.data, t.byte_offset = self.memory.address, self.at
        t.device[:], t.ndim = self.__dlpack_device__(), len(self.shape)
        told = self.type_name or self.dtype.kind
        t.code = told if isinstance(told, int) else self.codes.get(told[0], 99)
        t.bits, t.lanes = 8 * self.dtype.itemsize, 1
        t.shape = ctypes.addressof(self.lengths)
        if self.strides is not None:
            self.steps = (ctypes.c_int64 * len(self.shape))(*(s // self.dtype.itemsize for s in self.strides))
            t.strides = ctypes.addressof(self.steps)
        return managed

    def _capsule(self, name, managed):
        self.managed, self.name = managed, ctypes.c_char_p(name)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(managed), self.name, None)


class Jax(Torch):
    """DLPack 1.0."""

    def __dlpack__(self, *, stream=None, max_version=None):
        assert max_version == (1, 0)
        self.asked_for = stream
        managed = Versioned(flags=int(self.read_only))
        managed.version[:] = 1, 1
        return self._capsule(b"dltensor_versioned", self._described(managed))


class Rocm(Torch):
    kind = 10


class Cupy:
    """As much of CuPy as docs/guide/python.md uses."""

    class cuda:
        """The default stream is the current one."""

        @staticmethod
        def get_current_stream(device):
            return types.SimpleNamespace(ptr=0)

    class ndarray(Torch):
        device = types.SimpleNamespace(id=0)

        @property
        def flags(self):
            return self.host().flags

        def __add__(self, other):
            return type(self)(self.host() + self.dtype.type(other))

        def __mul__(self, other):
            return type(self)(self.host() * self.dtype.type(other))

    asarray = ndarray
    empty = ndarray.empty
    asnumpy = staticmethod(lambda array: array.host().copy())
