"""Pairs of files that differ in one thing, and files that are damaged.

verdicts.py differ FOLDER (prints the names) | field FILE | damage FILE DATASET CHUNK | losses FILE DATASET | sparse FILE INDEX | newer FILE
| move FILE BY | slow FILE MEGABYTES | strings FILE | many FILE COUNT | constant OLD NEW
"""

import sys

import h5py
import numpy as np
from h5py import h5d, h5s, h5t


def compound(names):
    kind = h5t.create(h5t.COMPOUND, 8)
    for place, name in enumerate(names):
        kind.insert(name, 4 * place, h5t.IEEE_F32LE)
    return kind


def of_type(file, kind):
    h5d.create(file.id, b"x", kind, h5s.create_simple((5,)))


def opaque(tag):
    kind = h5t.create(h5t.OPAQUE, 4)
    kind.set_tag(tag)
    return kind


def precision(bits):
    kind = h5t.STD_I32LE.copy()
    kind.set_precision(bits)
    return kind


def put(file, value, **how):
    file.create_dataset("x", data=value, **how)


def link(file, value):
    file["x"] = value


# What makes the dataset x of the one and of the other file.
DIFFER = {
    "shape of strings": [lambda f, s=s: put(f, np.array([b"a"] * 6).reshape(s)) for s in ((6,), (2, 3))],
    "null": [lambda f: link(f, h5py.Empty("S3")), lambda f: f.create_dataset("x", (0,), "S3")],
    "names": [lambda f, n=n: put(f, np.zeros(3, [("a", "i4"), (n, "f4")])) for n in "bc"],
    "order": [lambda f, n=n: put(f, np.zeros(3, [(n[0], "i4"), (n[1], "i4")])) for n in ("ab", "ba")],
    "types": [lambda f, t=t: put(f, np.zeros(3, [("a", t)])) for t in ("i4", "f4")],
    "complex": [lambda f, n=n: of_type(f, compound(n)) for n in ((b"r", b"i"), (b"re", b"im"))],
    "enumeration": [lambda f, n=n: put(f, np.zeros(4, "i4"), dtype=h5py.enum_dtype({"A": 0, n: 1}, "i4")) for n in "BC"],
    "array": [lambda f, s=s: f.create_dataset("x", (3,), np.dtype(("f4", s))) for s in ((2, 3), (3, 2))],
    "nested array": [lambda f, s=s: f.create_dataset("x", (3,), np.dtype([("p", "f4", s)])) for s in ((2, 3), (6,))],
    "precision": [lambda f, n=n: of_type(f, precision(n)) for n in (20, 24)],
    "byte order": [lambda f, t=t: put(f, np.zeros(3, t)) for t in ("<f4", ">f4")],
    "character set": [lambda f, s=s: put(f, ["a"], dtype=h5py.string_dtype(s)) for s in ("ascii", "utf-8")],
    "character set of a part": [lambda f, s=s: f.create_dataset("x", (3,), np.dtype([("a", h5py.string_dtype(s), 2)])) for s in ("ascii", "utf-8")],
    "opaque": [lambda f, t=t: of_type(f, opaque(t)) for t in (b"one", b"two")],
    "hard link": [lambda f: link(f, f["same"]), lambda f: link(f, np.arange(4.0) + 1)],
    "soft link": [lambda f: link(f, h5py.SoftLink("/same")), lambda f: link(f, np.arange(4.0) + 1)],
    "name": [lambda f: link(f, f["same"]), lambda f: None],
    "group": [lambda f: f.create_group("x"), lambda f: None],
    "dataset in a group's place": [lambda f: f.create_group("x"), lambda f: link(f, 1.0)],
    "named type": [lambda f: link(f, np.dtype("f4")), lambda f: f.create_group("x")],
    "external link": [lambda f, n=n: link(f, h5py.ExternalLink("other.h5", n)) for n in ("/one", "/two")],
    "link to nothing": [lambda f, n=n: link(f, h5py.SoftLink(n)) for n in ("/one", "/two")],
}


def differ(folder):
    for number, (name, sides) in enumerate(DIFFER.items()):
        for side, make in zip("ab", sides):
            with h5py.File(f"{folder}/{number}{side}.h5", "w") as file:
                file["same"] = np.arange(4.0)
                make(file)
        print(name)


def field(name):
    x = (300 + 50 * np.sin(np.arange(100_000) / 500)).astype("f4")
    with h5py.File(name, "w") as file:
        file.create_dataset("a", data=x, chunks=(10_000,))
        file.create_dataset("b", data=x + 1, chunks=(10_000,))
        texts = [f"number {i}" for i in range(5000)]
        file.create_dataset("texts", data=texts, dtype=h5py.string_dtype(), chunks=(1000,), compression="gzip")


def move(name, by):
    """Of a the value that is easiest told from its neighbours."""
    with h5py.File(name, "r+") as file:
        file["a"][777] += float(by)


def strings(name):
    """Coded by the filter, whose plugin must be there."""
    texts = np.array([f"number {i}" for i in range(5000)], dtype="S12")
    with h5py.File(name, "w") as file:
        file.create_dataset("texts", data=texts, chunks=(1000,), compression=47474)
        file["a"] = np.arange(5.0)


def damage(name, dataset, chunk):
    with h5py.File(name) as file:
        info = file[dataset].id.get_chunk_info(int(chunk))
    at = info.byte_offset + info.size // 2
    with open(name, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 0x55]))


def losses(name, dataset):
    attributes = h5py.File(name)[dataset].attrs
    text = attributes["sleek_losses"].decode() if "sleek_losses" in attributes else "none"
    number = lambda name: float(np.ravel(attributes[name])[0]) if name in attributes else "unknown"
    print(text, number("sleek_abs_bound"), number("sleek_bound"))


def sparse(name, index):
    with h5py.File(name, "w") as file:
        x = file.create_dataset("x", (2**36,), "f4", chunks=(2**18,))
        x[1000] = 1
        x[int(index)] = 2


def newer(name):
    """A type that HDF5 2 brought, in a file that is whole."""
    with h5py.File(name, "w") as file:
        h5d.create(file.id, b"x", h5t.COMPLEX_IEEE_F32LE, h5s.create_simple((5,)))


def slow(name, megabytes):
    """Chunks that are long in time, as many files have them."""
    with h5py.File(name, "w") as file:
        x = np.random.default_rng(1).normal(size=(1000, int(megabytes) * 250, 1)).astype("f4")
        file.create_dataset("x", data=x, chunks=(1000, 250, 1))


def many(name, count):
    with h5py.File(name, "w") as file:
        for i in range(int(count)):
            file[f"x{i:02}"] = np.sin(np.arange(100.0))


def constant(old, new):
    x = 1e-170 * np.sin(np.arange(1000.0))
    for name, values in (old, x), (new, np.full(1000, 1e-171)):
        with h5py.File(name, "w") as file:
            file["x"] = values


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
