"""What the filter must do inside h5py, for every HDF5 that h5py's wheels bring.

    python scenarios.py [NAME...]      runs these scenarios or all, each in a process and a folder of its own
"""

import os
import struct
import subprocess
import sys
from fractions import Fraction

import h5py
import numpy as np
from h5py import h5d, h5p, h5s, h5t, h5z

SLEEK = 47474
LOSSLESS, ABS, NOA, REL = range(4)
DTYPES = {"f4": 1, "f8": 2, "f2": 3, "bf16": 4, "i1": 5, "i2": 6, "i4": 7, "i8": 8, "u1": 9, "u2": 10, "u4": 11, "u8": 12}
OPTIONAL, MANDATORY = h5z.FLAG_OPTIONAL, 0
SCENARIOS = []


def scenario(function):
    SCENARIOS.append(function)
    return function


def main():
    """The scenarios of the program that is run."""
    own = [f for f in SCENARIOS if f.__module__ == "__main__"]
    for function in [f for f in own if len(sys.argv) == 1 or f.__name__ in sys.argv[1:]]:
        child = os.fork()
        if child == 0:
            os.mkdir(function.__name__)
            os.chdir(function.__name__)
            function()
            sys.exit()
        assert os.waitpid(child, 0)[1] == 0, f"{function.__name__} failed with HDF5 {h5py.version.hdf5_version}"
    print("all passed")


def run(*command, code=0, **options):
    """What a program says that must end with this code, or with any."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    assert code in (None, done.returncode), f"{command}: {done.stdout}"
    return done.stdout


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


@scenario
def bfloat16_elements():
    values = field((40, 100), "f4")
    values[5:9, 3:70] = -9984    # the nearest to -9999
    bits = (values.view("u4") >> 16).astype("u2")
    for order in "<>":
        with h5py.File("f.h5", "w") as f:
            d = create(f, "b", bits.astype(order + "u2"), (40, 50), opts(ABS, 8.0, fill=-9999.0), tid=bfloat16(order))
        with h5py.File("f.h5") as f:
            d = f["b"]
            s = stream(d)
            assert (s[9], s[11] & 1) == (DTYPES["bf16"], order == ">")
            back = np.empty(bits.shape, order + "u2")
            d.id.read(h5s.ALL, h5s.ALL, back, mtype=bfloat16(order))
            a = (bits.astype("u4") << 16).view("f4")
            b = (back.astype("u4") << 16).view("f4")
            assert 0 < worst_error(a, b) <= 8 and np.array_equal(a == -9984, b == -9984)


@scenario
def what_has_no_bound_loses_nothing():
    """Whatever the request, of every type: a tree takes one for all."""
    rng, n = np.random.default_rng(1), 3000
    odd = {
        "order": [("im", "f4"), ("re", "f4")],
        "unlike": [("r", "f4"), ("i", "f8")],
        "three": [("r", "f4"), ("i", "f4"), ("j", "f4")],
        "padded": {"names": ["re", "im"], "formats": ["f4", "f4"], "offsets": [0, 8], "itemsize": 12},
        "parts": [("a", "f8"), ("name", "S8"), ("b", "i2")],
    }
    integers = [order + code for code in DTYPES if code[0] in "iu" for order in "<>"]
    leaves = {code: rng.integers(0, 100, n).astype(code) for code in integers}
    leaves |= {name: np.zeros(n, kind) for name, kind in odd.items()}
    leaves["parts"]["name"], leaves["three"]["j"] = [f"n{i}" for i in range(n)], rng.random(n)
    leaves |= {
        "fixed": np.array([f"cell {i}".encode() for i in range(n)], "S12"),
        "bool": rng.integers(0, 2, n).astype(bool),
        "opaque": np.frombuffer(rng.bytes(12 * n), "V12"),
        "longdouble": rng.normal(size=n).astype(np.longdouble),
        "kinds": rng.integers(0, 2, n).astype(h5py.enum_dtype({"a": 0, "b": 1}, "u1")),
    }
    ragged = np.empty(n, object)
    ragged[:] = [np.arange(i % 7 + 1, dtype="i4") for i in range(n)]
    texts, which = [f"cell {i}" for i in range(n)], rng.integers(0, 50, n)
    floats, vectors = field((n,)), field((n, 3), ">f4")
    vax, wide = h5t.IEEE_F32LE.copy(), h5t.IEEE_F64LE.copy()
    vax.set_ebias(128)
    wide.set_fields(62, 51, 11, 0, 51)
    requests = opts(ABS, 1e-3), opts(NOA, 1e-3, fill=-9999.0), opts(REL, 1e-3, 1), opts(LOSSLESS)
    for flag, cd in [(flag, cd) for flag in (OPTIONAL, MANDATORY) for cd in requests]:
        with h5py.File("f.h5", "w") as f:
            for name, data in leaves.items():
                create(f, name, data, (n // 2,), cd, flag)
            create(f, "floats", floats, (n // 2,), cd, flag)
            for k, tid in enumerate((vax, wide)):
                create(f, f"odd {k}", None, (n,), cd, flag, tid=tid, shape=(n,))
            more = {"chunks": (n,), "compression": SLEEK, "compression_opts": cd}
            f.create_dataset("vectors", (n,), np.dtype((">f4", (3,))), **more)[:] = vectors
            groups = [f.create_group(f"g/{i}").ref for i in range(50)]
            objects = {} if cd[1] != ABS else {
                "references": (h5py.ref_dtype, [groups[i] for i in which]),
                "regions": (h5py.regionref_dtype, [f["floats"].regionref[: i + 1] for i in which]),
                "texts": (h5py.string_dtype(), texts),
                "ragged": (h5py.vlen_dtype("i4"), ragged),
            }
            for name, (dtype, data) in objects.items():
                f.create_dataset(name, (n,), dtype, **more)[:] = data
        with h5py.File("f.h5") as f:
            for name, data in leaves.items():
                back = f[name][:]
                assert all(same_bits(data[k], back[k]) for k in data.dtype.names) if data.dtype.names else same_bits(data, back), (name, cd)
                assert flag == OPTIONAL or stream(f[name])[10] == LOSSLESS, name
                if name[1:] in DTYPES:
                    assert stream(f[name])[9] == DTYPES[name[1:]] and (stream(f[name])[11] & 1) == (name[0] == ">" and name[-1] != "1"), name
            for original, name in (floats, "floats"), (vectors, "vectors"):
                assert (worst_error(original, f[name][:]) == 0) == (cd[1] == LOSSLESS) and worst_error(original, f[name][:]) <= Fraction(0.3), name
            if objects:
                assert list(f["texts"].asstr()[:]) == texts and [f[r].name for r in f["references"][:]] == [f"/g/{i}" for i in which]
                assert all(np.array_equal(a, b) for a, b in zip(f["ragged"][:], ragged)) and f["floats"][f["regions"][7]].size == which[7] + 1
                # They are coded as bytes, and well.
                for name, element in ("references", 8), ("texts", 16), ("fixed", 12), ("parts", 18), ("ragged", 16):
                    assert f[name].id.get_storage_size() < 0.2 * n * element, (name, f[name].id.get_storage_size())
            dcpl = f["<i4"].id.get_create_plist()
            assert stored_cd(f["<i4"])[0] >> 31 == (cd[1] != LOSSLESS)
        # The list of a dataset that could not have the bound serves one that can.
        with h5py.File("g.h5", "w") as f:
            again = create(f, "floats", floats, (n // 2,), None, dcpl=dcpl)
            f.flush()
            assert stream(again)[10] == cd[1] and (cd[1] == LOSSLESS or stored_cd(again)[2:4] == cd[2:4])


def sizes(dset):
    """Bytes and filter masks of the chunks."""
    chunks = [dset.id.get_chunk_info(i) for i in range(dset.id.get_num_chunks())]
    return {c.size for c in chunks}, {c.filter_mask for c in chunks}


@scenario
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


@scenario
def chunks_written_again_in_the_same_length():
    """HDF5 does not note then which filters a chunk passed: beside a compressor ours is passed over for none."""
    rng = np.random.default_rng(3)
    seen = {}
    halves = ((rng.normal(size=64) * 1e5 * (np.arange(64) < n)).astype("f4") for n in range(4, 60) for _ in range(20))
    walks = ((np.cumsum(rng.normal(size=64)) * 0.1).astype("f4") for _ in range(1000))
    deflate, shuffle = (lambda p: p.set_deflate(4)), (lambda p: p.set_shuffle())

    def info(a, name="f.h5", mode="w"):
        with h5py.File(name, mode) as f:
            d = create(f, "x", a, (64,), opts(ABS, 1e-2), OPTIONAL, after=[deflate]) if mode == "w" else f["x"]
            d[:] = a
        with h5py.File(name) as f:
            assert worst_error(a, f["x"][:]) <= Fraction(1e-2)
            return f["x"].id.get_chunk_info(0)

    for a in (*halves, *walks):
        chunk = info(a)
        assert chunk.filter_mask == 0
        first = seen.setdefault(chunk.size, a)
        info(first)
        assert info(a, mode="r+").size == chunk.size
    with h5py.File("g.h5", "w") as f:
        for name, kind, before, after, flag in [
            ("alone", "f4", (), (), OPTIONAL), ("beside", "f4", (), (shuffle, lambda p: p.set_fletcher32()), OPTIONAL),
            ("behind", "f4", (), (shuffle, deflate), MANDATORY), ("before", "f4", (deflate,), (), MANDATORY)]:
            cd = opts(LOSSLESS if before else ABS, 0.0 if before else 1e-2)
            d = create(f, name, np.ones(64, kind), (8,), cd, OPTIONAL, before=before, after=after)
            assert d.id.get_create_plist().get_filter_by_id(SLEEK)[0] == flag, name
        # HDF5 calls no set_local for these.
        text = create(f, "text", None, (8,), opts(LOSSLESS), OPTIONAL, tid=h5t.py_create(h5py.string_dtype(), logical=True), after=[deflate], shape=(64,))
        text[:] = [rng.bytes(9).hex() for _ in range(64)]
        f.flush()
        assert {text.id.get_chunk_info(i).filter_mask for i in range(8)} == {0}


@scenario
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


@scenario
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


@scenario
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


@scenario
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
        padded = b"rate=8,codec=sleek\0\0"
        text = said(lambda: create(f, "c", a, (50, 50), (2, *struct.unpack("<5I", padded))))
        assert "codec sleek has the modes lossless, abs, noa, rel; rate was asked for" in text, text
        d = create(f, "a", a, (100, 100), opts(ABS, 1e-3))
        bad = bytearray(stream(d))
        bad[200] ^= 1
        d.id.write_direct_chunk((0, 0), bytes(bad))
        assert "checksum of chunk group 0" in said(lambda: d[:])


@scenario
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
        # NCO hands on the last word of a dataset alone, and h5repack's UD=47474,0,1,1 leaves out zeros.
        for n, cd in enumerate([(), (0,), (1,), (60,), (1, LOSSLESS), (1, LOSSLESS, 0, 0), (1, ABS, *half), (1, ABS, *half, 0), (1, ABS, *half, 0, 0)]):
            b = create(f, f"{n}", a, (50, 50), cd)[:]
            assert same_bits(a, b) if n < 6 else worst_error(a, b) <= Fraction(0.5), cd


@scenario
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
        # What it names as missing stays, where the variable names nothing.
        named = create(f, "named", a, (50, 50), opts(REL, 1e-6, fill=-9999.0))
        assert stored_cd(named) == long(ABS, 0.5, "<f4", (50, 50), 1, named=(-9999.0,))
        os.environ["SLEEK_PARAMS"] = "lossless"
        overridden = create(f, "d", a, (50, 50), opts(REL, 1e-6))
        assert same_bits(a, overridden[:])
        os.environ["SLEEK_PARAMS"] = ""
        unset = create(f, "unset", a, (50, 50), opts(REL, 1e-6))
        assert stored_cd(unset) == long(REL, 1e-6, "<f4", (50, 50))
        os.environ["SLEEK_PARAMS"] = "abs=much"
        assert refused(f, "e", a, (50, 50), ())
        assert refused(f, "e", a, (50, 50), opts(ABS, 1.0))


@scenario
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


if __name__ == "__main__":
    main()
