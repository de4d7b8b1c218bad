"""Two HDF5 libraries in one process: each writes with the one filter that both loaded, and each reads what the other wrote.

    python two.py hidden|shown FIRST SECOND FILE

Both are hidden from the global symbol scope, as in Python; or the first is in it, where its functions are found in place of the
second's by whoever looks for them there.
"""

import ctypes
import os
import struct
import sys
import threading

COUNT, ROUNDS = 100_000, 20
FIELD = (ctypes.c_float * COUNT)(*(i % 1009 * 0.1003 for i in range(COUNT)))
HID, TEXT, ADDRESS, WORD, SIZES = ctypes.c_int64, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_uint, ctypes.POINTER(ctypes.c_uint64)
TYPES = {
    "H5Fcreate": (TEXT, WORD, HID, HID), "H5Fopen": (TEXT, WORD, HID), "H5Pcreate": (HID,), "H5Screate_simple": (WORD, SIZES, SIZES),
    "H5Dcreate2": (HID, TEXT, HID, HID, HID, HID, HID), "H5Dopen2": (HID, TEXT, HID), "H5Pset_chunk": (HID, WORD, SIZES),
    "H5Pset_filter": (HID, WORD, WORD, ctypes.c_size_t, ctypes.POINTER(WORD)), "H5Dwrite": (HID,) * 5 + (ADDRESS,),
    "H5Dread": (HID,) * 5 + (ADDRESS,), "H5Dclose": (HID,), "H5Fclose": (HID,), "H5Sclose": (HID,), "H5Pclose": (HID,), "H5open": (), "H5close": (),
}  # fmt: skip


class Hdf5:
    def __init__(self, path, scope):
        self.library = ctypes.CDLL(path, scope)
        self.H5open()

    def __getattr__(self, name):
        """A function of it that must succeed, or one of its numbers."""
        if name.startswith("H5") and name in TYPES:
            function = self.library[name]
            function.argtypes, function.restype = TYPES[name], HID if "open" in name or "create" in name else ctypes.c_int
            if name == "H5open":
                function.restype = ctypes.c_int

            def call(*arguments):
                found = function(*arguments)
                assert found >= 0, name
                return found

            return call
        return HID.in_dll(self.library, name).value

    def write(self, path):
        bound = struct.unpack("<2I", struct.pack("<d", 1e-3))
        file, dcpl = self.H5Fcreate(path, 2, 0, 0), self.H5Pcreate(self.H5P_CLS_DATASET_CREATE_ID_g)
        space = self.H5Screate_simple(1, (ctypes.c_uint64 * 1)(COUNT), None)
        self.H5Pset_chunk(dcpl, 1, (ctypes.c_uint64 * 1)(30_000))
        self.H5Pset_filter(dcpl, 47474, 0, 5, (WORD * 5)(1, 1, *bound, 0))
        dset = self.H5Dcreate2(file, b"t", self.H5T_IEEE_F32BE_g, space, 0, dcpl, 0)
        self.H5Dwrite(dset, self.H5T_NATIVE_FLOAT_g, 0, 0, 0, FIELD)
        for close, what in (self.H5Dclose, dset), (self.H5Fclose, file), (self.H5Sclose, space), (self.H5Pclose, dcpl):
            close(what)

    def read(self, path):
        back = (ctypes.c_float * COUNT)()
        file = self.H5Fopen(path, 0, 0)
        dset = self.H5Dopen2(file, b"t", 0)
        self.H5Dread(dset, self.H5T_NATIVE_FLOAT_g, 0, 0, 0, back)
        self.H5Dclose(dset)
        self.H5Fclose(file)
        assert max(abs(v - r) for v, r in zip(FIELD[::7], back[::7])) <= 1e-3, "the bound is broken"


scope, *paths, file = sys.argv[1:]
scopes = (os.RTLD_GLOBAL, os.RTLD_LOCAL | os.RTLD_DEEPBIND) if scope == "shown" else (os.RTLD_LOCAL,) * 2
both, files = [Hdf5(*each) for each in zip(paths, scopes)], [f"{file}{k}".encode() for k in range(2)]
assert ctypes.cast(both[0].library.H5open, ADDRESS).value != ctypes.cast(both[1].library.H5open, ADDRESS).value


def alone(k):
    """Writes and reads with one of them, again and again, while the other thread does so with the other."""
    for _ in range(ROUNDS):
        both[k].write(files[k])
        both[k].read(files[k])
    done.append(k)


done = []
for k in (0, 1) * (ROUNDS // 2):
    both[k].write(files[k])
    both[1 - k].read(files[k])
threads = [threading.Thread(target=alone, args=(k,)) for k in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert sorted(done) == [0, 1]
# One of them goes, which unloads its plugins; the other stays usable, and the first when it is opened again.
both[0].H5close()
both[1].write(files[1])
both[1].read(files[1])
both[0].H5open()
both[0].write(files[0])
both[1].read(files[0])
print("kept")
