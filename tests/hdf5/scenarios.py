"""What the filter must do inside h5py, for every HDF5 that h5py's wheels bring.

    python scenarios.py NAME      runs one scenario in the current directory; any failure is an exception
"""

import ctypes
import glob
import os
import struct
import subprocess
import sys
import threading
from fractions import Fraction

import h5py
import numpy as np
from h5py import h5d, h5f, h5p, h5s, h5t, h5z

SLEEK = 47474
LOSSLESS, ABS, NOA, REL = range(4)
DTYPES = {"f4": 1, "f8": 2, "f2": 3, "bf16": 4, "i1": 5, "i2": 6, "i4": 7, "i8": 8, "u1": 9, "u2": 10, "u4": 11, "u8": 12}
OPTIONAL, MANDATORY = h5z.FLAG_OPTIONAL, 0


def words(x):
    return struct.unpack("<II", struct.pack("<d", x))


def opts(mode, bound=0.0, profile=0, value_range=None, fill=None):
    """The cd_values by the table of docs/reference/api.md, made without the library's help."""
    extra = [x for x in (value_range, fill) if x is not None]
    flags = profile | (value_range is not None) << 8 | (fill is not None) << 9
    return (1, mode, *words(bound), flags, *(w for x in extra for w in words(x)))


def long(mode, bound, dtype, chunk, profile=0, value_range=None, named=(), fills=(), lossless=False):
    """What set_local puts in their place, by the same table; the missing values as arrays of their bits in words."""
    code, big = DTYPES[dtype.lstrip("<>")], dtype[0] == ">"
    first = 3 | mode << 8 | profile << 12 | len(named) << 24 | len(fills) << 27 | (value_range is not None) << 30 | lossless << 31
    size = int(dtype[-1])
    cd = [first, code | big << 8 | len(chunk) << 9 | size << 15, *(words(bound) if mode else ())]
    cd += [] if value_range is None else [int(np.float32(value_range).view("u4"))]
    kind = "<" + dtype.lstrip("<>")
    for value in (*named, *fills):
        cd += words(value) if kind == "<f8" else [int(np.array(value, kind).view("<u" + kind[2:]))]
    return (*cd, *chunk)


def field(shape, dtype="f4", seed=0):
    rng = np.random.default_rng(seed)
    axes = np.meshgrid(*(np.linspace(0, 6, n) for n in shape), indexing="ij")
    return (280 + 10 * np.sin(sum(axes)) + rng.normal(scale=0.02, size=shape)).astype(dtype)


def worst_error(a, b):
    """The exact largest |a - b| of the finite elements; everything else must be equal bit for bit."""
    a, b = np.asarray(a).ravel(), np.asarray(b).ravel()
    finite = np.isfinite(a)
    assert a[~finite].tobytes() == b[~finite].tobytes(), "a special value has changed"
    a, b = a[finite], b[finite]
    if a.size == 0:
        return Fraction(0)
    error = np.abs(a.astype(np.longdouble) - b.astype(np.longdouble))
    candidates = np.argpartition(error, -min(20, error.size))[-20:]
    return max(abs(Fraction(float(a[i])) - Fraction(float(b[i]))) for i in candidates)


def same_bits(a, b):
    return np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes()


def create(f, name, data, chunk, cd, flag=MANDATORY, tid=None, dcpl=None, before=(), after=(), shape=None):
    """Makes a dataset by the low-level interface, where every flag can be chosen."""
    dcpl = dcpl or h5p.create(h5p.DATASET_CREATE)
    if chunk:
        dcpl.set_chunk(chunk)
    for step in before:
        step(dcpl)
    if cd is not None:
        dcpl.set_filter(SLEEK, flag, cd)
    for step in after:
        step(dcpl)
    shape = data.shape if data is not None else shape
    dset = h5d.create(f.id, name.encode(), tid or h5t.py_create(data.dtype, logical=True), h5s.create_simple(shape), dcpl)
    if data is not None:
        dset.write(h5s.ALL, h5s.ALL, np.ascontiguousarray(data), mtype=tid)
    return h5py.Dataset(dset)


def refused(*args, **kwargs):
    try:
        create(*args, **kwargs)
    except (OSError, ValueError, RuntimeError):
        return True
    return False


def stream(dset, at=None):
    mask, raw = dset.id.read_direct_chunk(at or (0,) * dset.ndim)
    assert mask == 0, "the filter was skipped"
    assert raw[:6] == b"\x89SLEEK"
    return raw


def stored_cd(dset):
    plist = dset.id.get_create_plist()
    return plist.get_filter_by_id(SLEEK)[1]


def bfloat16(order="<"):
    t = (h5t.IEEE_F32LE if order == "<" else h5t.IEEE_F32BE).copy()
    t.set_fields(15, 7, 8, 0, 7)
    t.set_ebias(127)
    t.set_precision(16)
    t.set_size(2)
    return t


def every_mode_and_float_type():
    with h5py.File("f.h5", "w") as f:
        for dtype in ("<f2", "<f4", "<f8", ">f2", ">f4", ">f8"):
            a = field((123, 457), dtype)
            span = float(a.max()) - float(a.min())
            for mode, bound, allowed in ((LOSSLESS, 0, 0), (ABS, 1.0, 1.0), (NOA, 0.05, 0.05 * span), (REL, 0.01, None)):
                for profile in (0, 1):
                    name = f"{dtype} {mode} {profile}"
                    d = create(f, name, a, (50, 100), opts(mode, bound, profile, span if mode == NOA else None))
                    f.flush()
                    s = stream(d)
                    assert (s[9], s[10], s[11]) == (DTYPES[dtype[1:]], mode, (dtype[0] == ">") | profile << 1), name
                    d.id.flush()
                    b = h5py.Dataset(h5d.open(f.id, name.encode()))[:]
                    assert b.dtype == a.dtype
                    if mode == LOSSLESS:
                        assert same_bits(a, b), name
                    elif mode == REL:
                        error = np.abs(a.astype("f8") - b.astype("f8")) / np.abs(a.astype("f8"))
                        assert error.max() <= bound, name
                    else:
                        assert 0 < worst_error(a, b) <= Fraction(allowed), name
                    if mode != LOSSLESS:
                        # The zeros of rims stand apart. Profile fast then codes what is around them in their places.
                        most = 150 * 500 * a.itemsize if profile else a.nbytes / 2
                        assert d.id.get_storage_size() < most, f"{name}: {d.id.get_storage_size()} of {a.nbytes}"


def bfloat16_elements():
    values = field((40, 100), "f4")
    bits = (values.view("u4") >> 16).astype("u2")
    for order in "<>":
        with h5py.File("f.h5", "w") as f:
            d = create(f, "b", bits.astype(order + "u2"), (40, 50), opts(ABS, 8.0), tid=bfloat16(order))
        with h5py.File("f.h5") as f:
            d = f["b"]
            s = stream(d)
            assert (s[9], s[11]) == (DTYPES["bf16"], order == ">")
            back = np.empty(bits.shape, order + "u2")
            d.id.read(h5s.ALL, h5s.ALL, back, mtype=bfloat16(order))
            a = (bits.astype("u4") << 16).view("f4")
            b = (back.astype("u4") << 16).view("f4")
            assert 0 < worst_error(a, b) <= 8


def lossy_modes_are_for_floats():
    """Everything else is stored losslessly under a bound, which keeps it."""
    compound = np.zeros(100, [("x", "f4"), ("y", "f4")])
    vax = h5t.IEEE_F32LE.copy()
    vax.set_ebias(128)
    wide = h5t.IEEE_F64LE.copy()
    wide.set_fields(62, 51, 11, 0, 51)
    cases = [np.arange(100, dtype=t) for t in ("<i4", ">i8", "u1", "i2")]
    cases += [compound, np.array([b"abc"] * 100), np.zeros(100, bool), np.zeros(100, "V12")]
    with h5py.File("f.h5", "w") as f:
        for n, (flag, mode) in enumerate((flag, mode) for flag in (OPTIONAL, MANDATORY) for mode in (ABS, NOA, REL)):
            for k, data in enumerate(cases):
                d = create(f, f"{n} {k}", data, (50,), opts(mode, 1e-3), flag)
                assert same_bits(d[:], data), (flag, mode, data.dtype)
                f.flush()
                assert flag == OPTIONAL or stream(d)[10] == LOSSLESS  # few elements are stored plain where they may be
                assert stored_cd(d)[0] >> 31 == 1
            for k, tid in enumerate((vax, wide)):
                create(f, f"{n} odd {k}", None, (50,), opts(mode, 1e-3), flag, tid=tid, shape=(100,))
        assert stored_cd(f["0 0"]) == long(ABS, 1e-3, "<i4", (50,), lossless=True)
        # Strings of any length live outside the chunks: HDF5 drops optional filters by itself.
        text = f.create_dataset("text", (100,), h5py.string_dtype(), chunks=(50,), compression=SLEEK, compression_opts=opts(ABS, 1e-3))
        text[:] = [f"line {i}" for i in range(100)]
    with h5py.File("f.h5") as f:
        assert list(f["text"].asstr()[:]) == [f"line {i}" for i in range(100)]


def lossless_takes_every_type():
    rng = np.random.default_rng(1)
    cases = {code: rng.integers(0, 100, 1000).astype(order + code) for code in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8") for order in "<"}
    cases |= {">" + code: a.astype(a.dtype.newbyteorder(">")) for code, a in cases.items()}
    cases |= {
        "compound": np.array([(i, i / 3, b"ab") for i in range(1000)], [("i", "i4"), ("x", "f8"), ("s", "S3")]),
        "string": np.array([b"some", b"strings"] * 500),
        "bool": rng.integers(0, 2, 1000).astype(bool),
        "complex": (rng.normal(size=1000) + 1j).astype("c8"),
        "opaque": np.frombuffer(rng.bytes(12000), "V12"),
        "longdouble": rng.normal(size=1000).astype(np.longdouble),
    }
    with h5py.File("f.h5", "w") as f:
        for name, a in cases.items():
            create(f, name, a, (300,), opts(LOSSLESS))
        text = f.create_dataset("text", (100,), h5py.string_dtype(), chunks=(30,), compression=SLEEK)
        text[:] = [f"line {i}" for i in range(100)]
        part = f.create_dataset("part", (100,), np.dtype((">f4", (3,))), chunks=(90,), compression=SLEEK, compression_opts=opts(ABS, 1e-3))
        vectors = field((100, 3), ">f4")
        part[:] = vectors
    with h5py.File("f.h5") as f:
        for name, a in cases.items():
            d = f[name]
            assert np.array_equal(d[:], a), name
            if name.lstrip(">") in DTYPES:
                s = stream(d)
                assert (s[9], s[11]) == (DTYPES[name.lstrip(">")], name[0] == ">" and name[-1] != "1"), name
        assert list(f["text"].asstr()[:]) == [f"line {i}" for i in range(100)]
        assert stream(f["part"])[9] == DTYPES["f4"]
        assert 0 < worst_error(vectors, f["part"][:]) <= Fraction(1e-3)


def sizes(dset):
    """Bytes and filter masks of the chunks."""
    chunks = [dset.id.get_chunk_info(i) for i in range(dset.id.get_num_chunks())]
    return {c.size for c in chunks}, {c.filter_mask for c in chunks}


def chunks_that_do_not_shrink():
    """HDF5 stores them plain where the filter is optional; a mandatory one takes the shortest stream."""
    rng = np.random.default_rng(4)
    kinds = {"f8": (rng.normal(size=400), (1,)), "i4": (rng.integers(-(2**31), 2**31, 400, dtype="i4"), (50,)), "S6": (rng.bytes(2400), (8,))}
    for profile, (kind, (data, chunk)) in ((p, k) for p in (0, 1, 2) for k in kinds.items()):
        a = np.frombuffer(data, kind) if isinstance(data, bytes) else data
        bound = opts(ABS, 1e-6, profile)
        with h5py.File("f.h5", "w") as f:
            create(f, "optional", a, chunk, bound, OPTIONAL)
            create(f, "mandatory", a, chunk, bound, MANDATORY)
        with h5py.File("f.h5") as f:
            raw = chunk[0] * a.itemsize
            assert sizes(f["optional"]) == ({raw}, {1}), (profile, kind, sizes(f["optional"]))
            assert sizes(f["mandatory"]) == ({96 + -(-raw // 16) * 16}, {0}), (profile, kind, sizes(f["mandatory"]))
            assert same_bits(a, f["optional"][:])
            assert same_bits(a, f["mandatory"][:]) or kind == "f8" and worst_error(a, f["mandatory"][:]) <= Fraction(1e-6)
        with h5py.File("f.h5", "r+") as f:  # a chunk that shrinks after all
            f["optional"][:] = a[0]
        with h5py.File("f.h5") as f:
            assert (f["optional"][:] == a[0]).all()


def bytes_are_coded_as_bytes():
    """What are no numbers, whether HDF5 tells the filter of the type or not."""
    n, which = 3000, np.random.default_rng(1).integers(0, 50, 3000)
    parts = [("a", "f8"), ("name", "S8"), ("b", "i2")]
    with h5py.File("f.h5", "w") as f:
        groups = [f.create_group(f"g/{i}") for i in range(50)]
        ragged = np.empty(n, object)
        ragged[:] = [np.arange(i % 7 + 1, dtype="i4") for i in range(n)]
        kinds = {
            "references": (h5py.ref_dtype, [groups[i].ref for i in which]),
            "texts": (h5py.string_dtype(), [f"cell {i}" for i in range(n)]),
            "fixed": ("S12", [f"cell {i}".encode() for i in range(n)]),
            "parts": (parts, np.array([(i / 7, f"n{i}".encode(), i) for i in range(n)], parts)),
            "ragged": (h5py.vlen_dtype("i4"), ragged),
        }
        for name, (dtype, data) in kinds.items():
            d = f.create_dataset(name, (n,), dtype, chunks=(n,), compression=SLEEK, compression_opts=opts(ABS, 1e-3))
            d[:] = data
            f.create_dataset(f"{name} gzip", data=d[:], dtype=dtype, chunks=(n,), compression="gzip")
            one = f.create_dataset(f"{name} one", (3,), dtype, chunks=(1,), compression=SLEEK, compression_opts=opts(ABS, 1e-3))
            one[:] = data[:3]
    with h5py.File("f.h5") as f:
        for (name, (dtype, data)), element in zip(kinds.items(), (8, 16, 12, 18, 16)):
            raw = n * element
            stored = f[name].id.get_storage_size()
            zipped = f[f"{name} gzip"].id.get_storage_size()
            assert stored < raw * 0.2 and stored < zipped, (name, stored, zipped, raw)
            whole, masks = sizes(f[f"{name} one"])
            assert max(whole) <= 18 and masks == {1}, (name, whole, masks)
        assert list(f["texts"].asstr()[:]) == kinds["texts"][1] and list(f["fixed"][:]) == kinds["fixed"][1]
        assert (f["parts"][:] == kinds["parts"][1]).all()
        assert all(np.array_equal(a, b) for a, b in zip(f["ragged"][:], ragged))
        assert [f[r].name for r in f["references"][:]] == [f"/g/{i}" for i in which]


def complex_numbers_of_hdf5():
    """H5Tcomplex_create came with 2.0 and h5py does not offer it."""
    (path,) = glob.glob(os.path.join(os.path.dirname(h5py.__file__), os.pardir, "h5py.libs", "libhdf5-*"))
    lib, hid = ctypes.CDLL(path), ctypes.c_int64
    if not hasattr(lib, "H5Tcomplex_create"):
        assert h5py.version.hdf5_version_tuple < (2, 0, 0)
        return
    lib.H5Tcomplex_create.restype = lib.H5Dcreate2.restype = hid
    parts = field((100, 2))
    back = np.empty_like(parts)
    with h5py.File("f.h5", "w") as f:
        tid = hid(lib.H5Tcomplex_create(hid(h5t.IEEE_F32LE.id)))
        dcpl, space = h5p.create(h5p.DATASET_CREATE), h5s.create_simple((100,))
        dcpl.set_chunk((30,))
        dcpl.set_filter(SLEEK, MANDATORY, opts(ABS, 1e-3))
        dset = lib.H5Dcreate2(hid(f.id.id), b"z", tid, hid(space.id), hid(0), hid(dcpl.id), hid(0))
        assert dset >= 0
        everything = (hid(0), hid(0), hid(0))
        assert lib.H5Dwrite(hid(dset), tid, *everything, parts.ctypes.data_as(ctypes.c_void_p)) >= 0
        assert lib.H5Dclose(hid(dset)) >= 0
        assert stream(h5py.Dataset(h5d.open(f.id, b"z")))[9] == DTYPES["f4"]
        dset = h5d.open(f.id, b"z")
        assert lib.H5Dread(hid(dset.id), tid, *everything, back.ctypes.data_as(ctypes.c_void_p)) >= 0
    assert 0 < worst_error(parts, back) <= Fraction(1e-3)


def property_list_is_used_again():
    """The request comes back from what the first dataset stored; its fill value does not."""
    with h5py.File("f.h5", "w") as f:
        a = field((200, 200))
        first = create(f, "first", a, (100, 100), opts(NOA, 1e-3, fill=-9999.0))
        cd = stored_cd(first)
        assert cd == long(NOA, 1e-3, "<f4", (100, 100), named=(-9999.0,))
        dcpl = first.id.get_create_plist()
        for i, (dtype, chunk, fill) in enumerate([("<f4", None, None), (">f8", (50, 50), 3.5), ("<i4", (50, 50), 7), ("<f2", (20, 200), 1.0), ("<f4", (100, 100), -1.0)]):
            data = field((200, 200), dtype)
            if fill is not None:
                dcpl.set_fill_value(np.array(fill, dtype))
            d = create(f, f"{i}", data, chunk, None, dcpl=dcpl)
            f.flush()
            s, new = stream(d), stored_cd(d)
            assert (s[9], s[11] & 1) == (DTYPES[dtype[1:]], dtype[0] == ">")
            mark = -9999.0 if i < 4 else -10000.0  # the nearest that f2 has
            whole = dtype[1] == "i"
            named = (mark,) if not whole else ()
            expected = long(NOA, 1e-3, dtype, d.chunks, named=named, fills=(fill,) if fill is not None and not whole else (), lossless=whole)
            if whole:
                expected = (expected[0] | 1 << 24, *expected[1:4], *words(mark), *expected[4:])
            assert new == expected, (i, new, expected)
            assert worst_error(data, d[:]) <= Fraction(1e-3) * Fraction(float(data.max()) - float(data.min()))
            dcpl = d.id.get_create_plist()


def edges_and_fill_values():
    a = field((250, 170), "f4")
    masked = a.copy()
    masked[40:90, 20:130] = 1e20
    with h5py.File("f.h5", "w") as f:
        # A rim of zeros, or a fill value inside, must not widen the range on which the bound depends.
        for order in "<>":
            kinds = {"plain": (a, None), "masked": (masked, 1e20)}
            for name, (data, fill) in kinds.items():
                f.create_dataset(order + name, data=data.astype(order + "f4"), chunks=(100, 100), fillvalue=fill, compression=SLEEK, compression_opts=opts(NOA, 1e-3))
        f.create_dataset("user", data=masked, chunks=(100, 100), compression=SLEEK, compression_opts=opts(NOA, 1e-3, fill=float(np.float32(1e20))))
        sparse = f.create_dataset("sparse", (1000, 1000), "f8", chunks=(100, 100), fillvalue=-7.5, compression=SLEEK, compression_opts=opts(ABS, 1e-3))
        sparse[250, 250] = 3.25
    with h5py.File("f.h5") as f:
        for order in "<>":
            for name, data in (("plain", a), ("masked", masked)):
                b = f[order + name][:]
                for y in range(0, 250, 100):
                    for x in range(0, 170, 100):
                        part, back = data[y : y + 100, x : x + 100], b[y : y + 100, x : x + 100]
                        valid = part < 1e19
                        span = float(part[valid].max()) - float(part[valid].min())
                        assert worst_error(part[valid], back[valid]) <= Fraction(1e-3 * span), (order, name, y, x)
                        assert np.all(back[~valid] == np.float32(1e20))
        assert np.all(f["user"][:][masked > 1e19] == np.float32(1e20))
        sparse = f["sparse"]
        assert sparse.id.get_num_chunks() == 1
        b = sparse[:]
        assert abs(b[250, 250] - 3.25) <= 1e-3 and abs(b[251, 250] + 7.5) <= 1e-3 and b[0, 0] == -7.5


def special_values():
    rng = np.random.default_rng(2)
    a = field((300, 300), "f4")
    bits = a.view("u4")
    for pattern in (0x7FC00000, 0xFFC12345, 0x7F800001, 0x7F800000, 0xFF800000):
        bits[rng.integers(0, 300, 50), rng.integers(0, 300, 50)] = pattern
    a[:100, :100] = np.nan
    with h5py.File("f.h5", "w") as f:
        for mode, bound in ((ABS, 1e-3), (NOA, 1e-4), (REL, 1e-3), (LOSSLESS, 0)):
            f.create_dataset(f"{mode}", data=a, chunks=(100, 100), compression=SLEEK, compression_opts=opts(mode, bound))
    with h5py.File("f.h5") as f:
        assert worst_error(a, f[f"{ABS}"][:]) <= Fraction(1e-3)
        assert worst_error(a, f[f"{NOA}"][:]) <= Fraction(1e-4) * 21
        assert worst_error(a, f[f"{REL}"][:]) <= Fraction(1e-3) * 300
        assert same_bits(a, f[f"{LOSSLESS}"][:])
        assert len(stream(f[f"{ABS}"])) < 300, "a chunk of one value takes no room"


def other_filters_beside():
    a = field((200, 200))
    shuffle, fletcher, deflate = (lambda p: p.set_shuffle()), (lambda p: p.set_fletcher32()), (lambda p: p.set_deflate(1))
    with h5py.File("f.h5", "w") as f:
        for flag in (OPTIONAL, MANDATORY):
            for n, before in enumerate((fletcher, deflate, shuffle)):
                assert n == 2 or refused(f, f"lossy {flag} {n}", a, (100, 100), opts(ABS, 1e-3), flag, before=[before])
                create(f, f"lossless {flag} {n}", a, (100, 100), opts(LOSSLESS), flag, before=[before])
            create(f, f"after {flag}", a, (100, 100), opts(ABS, 1e-3), flag, after=[shuffle, deflate, fletcher])
            assert refused(f, f"two {flag}", a, (100, 100), opts(ABS, 1e-3), flag, before=[shuffle, shuffle])
            twice = lambda p: p.set_filter(SLEEK, flag, opts(ABS, 1e-3))
            assert refused(f, f"twice {flag}", a, (100, 100), opts(ABS, 1e-3), flag, after=[twice])
    with h5py.File("f.h5") as f:
        for flag in (OPTIONAL, MANDATORY):
            for n in range(3):
                assert same_bits(a, f[f"lossless {flag} {n}"][:])
            assert 0 < worst_error(a, f[f"after {flag}"][:]) <= Fraction(1e-3)


def shuffle_in_front_is_taken_out():
    """Programs set it by themselves. Where other filters follow it is put behind, and they get their parameters still."""
    a = field((200, 200))
    numbers = np.arange(40_000, dtype="i4").reshape(200, 200)
    shuffle, deflate, fletcher = (lambda p: p.set_shuffle()), (lambda p: p.set_deflate(1)), (lambda p: p.set_fletcher32())

    def ids(dset):
        plist = dset.id.get_create_plist()
        return [plist.get_filter(n)[0] for n in range(plist.get_nfilters())]

    with h5py.File("f.h5", "w") as f:
        for flag in (OPTIONAL, MANDATORY):
            lossy = create(f, f"lossy {flag}", a, (100, 100), opts(ABS, 1e-3), flag, before=[shuffle])
            without = create(f, f"without {flag}", a, (100, 100), opts(ABS, 1e-3), flag)
            assert ids(lossy) == [SLEEK] and stream(lossy) == stream(without) and stored_cd(lossy) == stored_cd(without)
            create(f, f"lossless {flag}", a, (100, 100), opts(LOSSLESS), flag, before=[shuffle])
            create(f, f"integers {flag}", numbers, (100, 100), opts(ABS, 1e-3), flag, before=[shuffle])
            create(f, f"copied {flag}", a, (100, 100), None, dcpl=lossy.id.get_create_plist())
            more = create(f, f"more {flag}", a, (100, 100), opts(ABS, 1e-3), flag, before=[shuffle], after=[deflate, fletcher])
            assert ids(more) == [SLEEK, 2, 1, 3] and more.id.get_create_plist().get_filter_by_id(2)[1] == (4,)
            twice = create(f, f"twice {flag}", a, (100, 100), opts(ABS, 1e-3), flag, before=[shuffle], after=[shuffle])
            assert ids(twice) == [SLEEK, 2, 2]
        words = opts(ABS, 1e-3)
        high = f.create_dataset("h5py", data=a, chunks=(100, 100), compression=SLEEK, compression_opts=words, shuffle=True)
        text = create(f, "of text", np.full(100, b"text"), (10,), opts(ABS, 1e-3), before=[shuffle])
        assert not high.shuffle and ids(text) == [SLEEK]
        list_ = h5p.create(h5p.DATASET_CREATE)
        for n in range(2):
            create(f, f"list {n}", a, (100, 100), opts(ABS, 1e-3) if n == 0 else None, dcpl=list_, before=[] if n else [shuffle])
            assert list_.get_nfilters() == 2
    with h5py.File("f.h5") as f:
        for name in f:
            if name.startswith(("lossy", "copied", "more", "twice", "h5py", "list")):
                assert 0 < worst_error(a, f[name][:]) <= Fraction(1e-3), name
        for flag in (OPTIONAL, MANDATORY):
            assert same_bits(a, f[f"lossless {flag}"][:]) and same_bits(numbers, f[f"integers {flag}"][:])
        assert (f["of text"][:] == b"text").all()


def damaged_chunks_are_noticed():
    a = field((100, 100))
    with h5py.File("f.h5", "w") as f:
        d = create(f, "a", a, (100, 100), opts(ABS, 1e-3))
        good = stream(d)
        for at in [*range(0, 80), *range(80, len(good), 997), len(good) - 1]:
            bad = bytearray(good)
            bad[at] ^= 0x10
            d.id.write_direct_chunk((0, 0), bytes(bad))
            try:
                d[:]
            except OSError:
                continue
            raise AssertionError(f"byte {at} of {len(good)} was changed and nobody noticed")
        for cut in (0, 1, 63, 64, 100, len(good) - 1):
            d.id.write_direct_chunk((0, 0), good[:cut] or b"\0")
            try:
                d[:]
            except OSError:
                continue
            raise AssertionError(f"a stream of {cut} of {len(good)} bytes was read")
        d.id.write_direct_chunk((0, 0), good)
        assert worst_error(a, d[:]) <= Fraction(1e-3)


def exceptions_say_why():
    a = field((100, 100))

    def said(what):
        try:
            what()
        except (OSError, ValueError) as e:
            return str(e)
        raise AssertionError("no exception")

    with h5py.File("f.h5", "w") as f:
        deflate = lambda p: p.set_deflate(1)
        for flag in (OPTIONAL, MANDATORY):
            text = said(lambda: create(f, "s", a, (50, 50), opts(ABS, 1e-3), flag, before=[deflate]))
            assert "mode abs after another filter" in text, text
        # A text that would do harm if it were taken for a format.
        words_of_text = struct.unpack("<3I", b"100%s%n%n=1\0")
        text = said(lambda: create(f, "t", a, (50, 50), (2, *words_of_text)))
        assert "'100%s%n%n=1' is unknown" in text, text
        # What a codec cannot do.
        for request, part in (
            ("abs=1,codec=best", "codec 'best' is unknown; this library knows 1 (sleek)"),
            ("rel=1e-3,codec=zfp", "codec zfp has the modes lossless, abs, rate, precision; rel was asked for"),
            ("rate=8,codec=sleek", "codec sleek has the modes lossless, abs, noa, rel; rate was asked for"),
        ):
            padded = request.encode() + bytes(-len(request) % 4)
            text = said(lambda: create(f, "c", a, (50, 50), (2, *struct.unpack(f"<{len(padded) // 4}I", padded))))
            assert part in text, text
        padded = b"abs=1,codec=zfp\0"
        text = said(lambda: create(f, "c", a.astype("f2"), (50, 50), (2, *struct.unpack("<4I", padded))))
        assert "codec zfp takes f32, f64, i32, i64; f16 was asked for" in text, text
        d = create(f, "a", a, (100, 100), opts(ABS, 1e-3))
        bad = bytearray(stream(d))
        bad[200] ^= 1
        d.id.write_direct_chunk((0, 0), bytes(bad))
        assert "checksum of chunk group 0" in said(lambda: d[:])


def bad_requests_are_refused():
    a = field((100, 100))
    half = words(0.5)
    bad = [(7, 0), (2,), (1, 4), (1, ABS), (1, 0, 0, 0, 1 << 10), (1, 0, 0, 0, 1 << 12)]
    bad += [(1, ABS, *half, 1 << 10), (1, ABS, *words(-1.0)), (1, ABS, *words(float("nan")))]
    bad += [(1, ABS, *half, 9), (1, ABS, *half, 1 << 30)]
    bad += [(1, NOA, *half, 1 << 8, *words(-1.0)), (1, ABS, *half, 0, 99, 0), tuple(range(200))]
    with h5py.File("f.h5", "w") as f:
        for flag in (OPTIONAL, MANDATORY):
            for cd in bad:
                assert refused(f, "a", a, (50, 50), cd, flag), cd
        for n, cd in enumerate([(), (1, LOSSLESS), (1, ABS, *half), (1, ABS, *half, 0), (1, ABS, *half, 0, 0)]):
            create(f, f"{n}", a, (50, 50), cd)
            assert worst_error(a, f[f"{n}"][:]) <= Fraction(0.5)


def request_in_the_environment():
    a = field((100, 100))
    with h5py.File("f.h5", "w") as f:
        os.environ["SLEEK_PARAMS"] = "abs=0.5,profile=fast"
        d = f.create_dataset("a", data=a, chunks=(50, 50), compression=SLEEK)
        assert stored_cd(d) == long(ABS, 0.5, "<f4", (50, 50), 1)
        explicit = f.create_dataset("b", data=a, chunks=(50, 50), compression=SLEEK, compression_opts=opts(LOSSLESS))
        assert same_bits(a, explicit[:])
        # What a code has set is overridden, but for what it wants to be lossless.
        overridden = create(f, "c", a, (50, 50), opts(REL, 1e-6))
        assert stored_cd(overridden) == long(ABS, 0.5, "<f4", (50, 50), 1)
        os.environ["SLEEK_PARAMS"] = "lossless"
        overridden = create(f, "d", a, (50, 50), opts(REL, 1e-6))
        assert same_bits(a, overridden[:])
        os.environ["SLEEK_PARAMS"] = ""
        unset = create(f, "unset", a, (50, 50), opts(REL, 1e-6))
        assert stored_cd(unset) == long(REL, 1e-6, "<f4", (50, 50))
        os.environ["SLEEK_PARAMS"] = "abs=much"
        assert refused(f, "e", a, (50, 50), ())
        assert refused(f, "e", a, (50, 50), opts(ABS, 1.0))


def malformed_variables_make_no_dataset():
    a = field((100, 100))
    with h5py.File("f.h5", "w") as f:
        for variable in ("SLEEK_NUM_THREADS", "SLEEK_SIMD"):
            os.environ[variable] = "wrong"
            for flag in (OPTIONAL, MANDATORY):
                for request in (opts(ABS, 1e-3), opts(LOSSLESS)):
                    assert refused(f, "a", a, (50, 50), request, flag), (variable, flag)
            del os.environ[variable]
        assert len(f) == 0
        assert worst_error(a, create(f, "a", a, (50, 50), opts(ABS, 1e-3))[:]) <= Fraction(1e-3)


def fork_after_use():
    a = field((2000, 1000))

    def write(path):
        with h5py.File(path, "w") as f:
            f.create_dataset("a", data=a, chunks=(1000, 1000), compression=SLEEK, compression_opts=opts(ABS, 1e-3))
        with h5py.File(path) as f:
            assert worst_error(a, f["a"][:]) <= Fraction(1e-3)

    os.environ["SLEEK_NUM_THREADS"] = "4"
    write("parent.h5")
    child = os.fork()
    if child == 0:
        status = 1
        try:
            write("child.h5")
            status = 0
        finally:
            os._exit(status)
    timer = threading.Timer(60, os.kill, (child, 9))
    timer.start()
    _, status = os.waitpid(child, 0)
    timer.cancel()
    assert status == 0, "the child hung or failed"
    write("parent.h5")


def many_threads():
    failures = []

    def work(n):
        try:
            a = field((400, 400), "f4", n)
            for i in range(5):
                path = f"{n}-{i}.h5"
                with h5py.File(path, "w") as f:
                    f.create_dataset("a", data=a, chunks=(100, 400), compression=SLEEK, compression_opts=opts(ABS, 1e-3))
                with h5py.File(path) as f:
                    assert worst_error(a, f["a"][:]) <= Fraction(1e-3)
        except BaseException as e:
            failures.append(e)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures, failures


def existing_dataset_in_a_fresh_process():
    a = field((100, 100))
    with h5py.File("f.h5", "w") as f:
        f.create_dataset("a", (100, 100), "f4", chunks=(50, 50), compression=SLEEK, compression_opts=opts(ABS, 1e-3))
    libsleek = os.path.join(os.environ["HDF5_PLUGIN_PATH"], "libsleek.so")
    by_class = "lib.sleek_h5_class.restype = ctypes.c_void_p; assert h5py.h5z.register_filter(lib.sleek_h5_class())"
    by_call = "assert lib.sleek_h5_register() == 0"
    for value, register in ((1.5, by_class), (2.5, by_call)):
        code = f"import ctypes, h5py; lib = ctypes.CDLL({libsleek!r}); {register}\nwith h5py.File('f.h5', 'r+') as f: f['a'][:] = {value}"
        subprocess.run([sys.executable, "-c", code], check=True, env=os.environ | {"HDF5_PLUGIN_PATH": "/nonexistent"})
        with h5py.File("f.h5") as f:
            assert np.all(np.abs(f["a"][:] - value) <= 1e-3)
            assert len(stream(f["a"])) < 300


def rewriting_parts_does_not_drift():
    a = field((100, 100))
    for mode, bound in ((ABS, 1e-3), (REL, 1e-4), (NOA, 1e-4)):
        with h5py.File("f.h5", "w") as f:
            cd = opts(mode, bound, value_range=20.0 if mode == NOA else None)
            f.create_dataset("a", data=a, chunks=(100, 100), compression=SLEEK, compression_opts=cd)
        for i in range(10):
            with h5py.File("f.h5", "r+") as f:
                f["a"][i]  # a read, which loads the plugin
                f["a"][50 + i] = 7 * i
        with h5py.File("f.h5") as f:
            allowed = {ABS: 1e-3, REL: 1e-4 * float(a[:50].max()), NOA: 2e-3}[mode]
            assert worst_error(a[:50], f["a"][:50]) <= Fraction(allowed), mode


def copies_hold_the_same_streams():
    """Within a file and into others, of mandatory and optional filters, with rims that are no whole chunk."""
    arrays = [field((100, 130)), field((100, 130), "f8", 1), np.arange(100 * 130, dtype="i2").reshape(100, 130)]
    with h5py.File("f.h5", "w") as f:
        f.create_group("group")
        for k, a in enumerate(arrays):
            cd = opts(ABS, 1e-3) if a.dtype.kind == "f" else opts(LOSSLESS)
            create(f, f"group/d{k}", a, (40, 64), cd, OPTIONAL if k % 2 else MANDATORY)
    with h5py.File("f.h5", "a") as f, h5py.File("g.h5", "w") as g:
        f.copy("group", "again")
        f.copy("group", g)
        g.copy(f["group"], "again", expand_refs=True)
    with h5py.File("f.h5") as f, h5py.File("g.h5") as g:
        for k, a in enumerate(arrays):
            first = f[f"group/d{k}"]
            assert worst_error(a, first[:]) <= Fraction(1e-3)
            for other in f[f"again/d{k}"], g[f"group/d{k}"], g[f"again/d{k}"]:
                assert same_bits(first[:], other[:]) and stored_cd(first) == stored_cd(other)
                assert all(stream(first, at) == stream(other, at) for at in [(0, 0), (40, 64), (80, 128)])


def files_of_other_drivers_and_in_pages():
    """Files in memory, in parts, through the buffered interface of C, and in pages with a buffer for them."""
    a = field((300, 200))
    ways = {
        "memory": ({"driver": "core"}, {"driver": "core"}),
        "split": ({"driver": "split"}, {"driver": "split"}),
        "family": ({"driver": "family", "memb_size": 1 << 16}, {"driver": "family", "memb_size": 1 << 16}),
        "stdio": ({"driver": "stdio"}, {}),
        "pages": ({"fs_strategy": "page", "fs_page_size": 1 << 14, "fs_persist": True}, {"page_buf_size": 1 << 17}),
    }
    for name, (made, read) in ways.items():
        file = "%d-family.h5" if name == "family" else f"{name}.h5"
        with h5py.File(file, "w", **made) as f:
            f.create_dataset("a", data=a, chunks=(64, 64), compression=SLEEK, compression_opts=opts(ABS, 1e-3))
        with h5py.File(file, "r", **read) as f:
            assert 0 < worst_error(a, f["a"][:]) <= Fraction(1e-3), name
            stream(f["a"])


def chunks_allocated_early_and_late():
    """At once, each when it is written, or all at the first write; and each chunk that H5Dchunk_iter tells of is ours."""
    a = field((300, 200))
    for time in (h5d.ALLOC_TIME_EARLY, h5d.ALLOC_TIME_INCR, h5d.ALLOC_TIME_LATE):
        with h5py.File("f.h5", "w") as f:
            dcpl = h5p.create(h5p.DATASET_CREATE)
            dcpl.set_alloc_time(time)
            dset = create(f, "a", None, (64, 64), opts(ABS, 1e-3), dcpl=dcpl, shape=a.shape, tid=h5t.NATIVE_FLOAT)
            assert dset.id.get_num_chunks() == (20 if time == h5d.ALLOC_TIME_EARLY else 0)
            assert (dset[:] == 0).all()
            dset[:128] = a[:128]
        with h5py.File("f.h5") as f:
            dset, told = f["a"], []
            assert 0 < worst_error(a[:128], dset[:128]) <= Fraction(1e-3) and (dset[128:] == 0).all()
            dset.id.chunk_iter(lambda chunk: told.append((chunk.chunk_offset, chunk.filter_mask, chunk.size)))
            assert len(told) == dset.id.get_num_chunks() >= 8
            assert all(mask == 0 and len(stream(dset, at)) == size for at, mask, size in told)


def libhdf5():
    """The HDF5 inside h5py, for what h5py does not offer."""
    (path,) = glob.glob(os.path.join(os.path.dirname(h5py.__file__), os.pardir, "h5py.libs", "libhdf5-*"))
    return ctypes.CDLL(path)


def many_datasets_in_one_call():
    """H5Dwrite_multi and H5Dread_multi."""
    library, hid = libhdf5(), ctypes.c_int64
    arrays = [field((100 + 50 * i, 80), seed=i) for i in range(3)]

    def call(function, dsets, memory):
        ids, places = (hid * 3)(*(d.id.id for d in dsets)), (ctypes.c_void_p * 3)(*(m.ctypes.data for m in memory))
        types, spaces = (hid * 3)(*[h5t.NATIVE_FLOAT.id] * 3), (hid * 3)(0, 0, 0)
        assert function(ctypes.c_size_t(3), ids, types, spaces, spaces, hid(0), places) >= 0

    with h5py.File("f.h5", "w") as f:
        options = {"tid": h5t.NATIVE_FLOAT, "cd": opts(ABS, 1e-3), "chunk": (64, 64)}
        dsets = [create(f, f"d{i}", None, shape=a.shape, **options) for i, a in enumerate(arrays)]
        call(library.H5Dwrite_multi, dsets, arrays)
    back = [np.full_like(a, -1) for a in arrays]
    with h5py.File("f.h5") as f:
        dsets = [f[f"d{i}"] for i in range(3)]
        call(library.H5Dread_multi, dsets, back)
        for dset in dsets:
            stream(dset)
    for a, b in zip(arrays, back, strict=True):
        assert 0 < worst_error(a, b) <= Fraction(1e-3)


def beside_hdf5plugin():
    """Both folders of plugins in the path, which HDF5 reads when it is loaded."""
    import hdf5plugin

    if hdf5plugin.PLUGIN_PATH not in os.environ["HDF5_PLUGIN_PATH"]:
        path = os.environ["HDF5_PLUGIN_PATH"] + os.pathsep + hdf5plugin.PLUGIN_PATH
        subprocess.run([sys.executable, __file__, "beside_hdf5plugin"], check=True, env=os.environ | {"HDF5_PLUGIN_PATH": path})
        return
    assert h5z.filter_avail(hdf5plugin.ZSTD_ID)
    a = field((200, 200))
    with h5py.File("f.h5", "w") as f:
        f.create_dataset("sleek", data=a, chunks=(100, 100), compression=SLEEK, compression_opts=opts(ABS, 1e-3))
    with h5py.File("f.h5") as f:
        assert 0 < worst_error(a, f["sleek"][:]) <= Fraction(1e-3)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    print(f"{sys.argv[1]} passed with HDF5 {h5py.version.hdf5_version}")
