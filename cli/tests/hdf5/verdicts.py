"""Verdicts that are true: of files that differ in anything at all, of damage, of figures, and of losses before."""

import ctypes
import itertools
import os
import resource
import subprocess
import sys
import zlib
from pathlib import Path

from command import ROOT, SLEEK, as_json, fails, h5py, has, lacks, main, make, np, run, scenario, sleek, told
from fields import libhdf5
from h5py import h5d, h5p, h5s, h5t

from scenarios import ABS, NOA, opts


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
    "strings of any length": [lambda f, t=t: f.create_dataset("x", (3,), t) for t in (h5py.string_dtype(), h5py.vlen_dtype("i4"))],
    "opaque": [lambda f, t=t: of_type(f, opaque(t)) for t in (b"one", b"two")],
    "hard link": [lambda f: link(f, f["same"]), lambda f: link(f, np.arange(4.0) + 1)],
    "soft link": [lambda f: link(f, h5py.SoftLink("/same")), lambda f: link(f, np.arange(4.0) + 1)],
    "name": [lambda f: link(f, f["same"]), lambda f: None],
    "group": [lambda f: f.create_group("x"), lambda f: None],
    "dataset in a group's place": [lambda f: f.create_group("x"), lambda f: link(f, 1.0)],
    "named type": [lambda f: link(f, np.dtype("f4")), lambda f: f.create_group("x")],
    "type of a named type": [lambda f, t=t: link(f, np.dtype(t)) for t in ("f4", "f8")],
    "parts of a named type": [lambda f, n=n: link(f, np.dtype([(n[0], "i4"), (n[1], "i4")])) for n in ("ab", "ba")],
    "external link": [lambda f, n=n: link(f, h5py.ExternalLink("other.h5", n)) for n in ("/one", "/two")],
    "link to nothing": [lambda f, n=n: link(f, h5py.SoftLink(n)) for n in ("/one", "/two")],
}
SAID = {
    "type of a named type": "has f32, in the second file f64",
    "byte order": "has little-endian f32, in the second file big-endian f32",
    "strings of any length": "has variable-length strings",
    "character set": "has strings in ASCII, in the second file in UTF-8",
    "character set of a part": "has strings in ASCII, in the second file in UTF-8",
}


@scenario
def verify_sees_any_difference_of_types_shapes_and_names():
    for name, sides in DIFFER.items():
        for side, make_ in zip("ab", sides):
            with h5py.File(f"{side}.h5", "w") as file:
                file["same"] = np.arange(4.0)
                make_(file)
        has(told("verify a.h5 b.h5", code=1), "/x      BROKEN", SAID.get(name, ""))
        Path("copy.h5").write_bytes(Path("a.h5").read_bytes())
        has(told("verify a.h5 copy.h5"), "verdict kept")


def field(name):
    x = (300 + 50 * np.sin(np.arange(100_000) / 500)).astype("f4")
    with h5py.File(name, "w") as file:
        file.create_dataset("a", data=x, chunks=(10_000,))
        file.create_dataset("b", data=x + 1, chunks=(10_000,))
        texts = [f"number {i}" for i in range(5000)]
        file.create_dataset("texts", data=texts, dtype=h5py.string_dtype(), chunks=(1000,), compression="gzip")


def damage(name, dataset, chunk):
    with h5py.File(name) as file:
        info = file[dataset].id.get_chunk_info(chunk)
    raw = bytearray(Path(name).read_bytes())
    raw[info.byte_offset + info.size // 2] ^= 0x55
    Path(name).write_bytes(raw)


@scenario
def damage_breaks_a_dataset_and_stops_nothing():
    field("old.h5")
    sleek("repack -q --abs 1e-3 old.h5 new.h5")
    has(sleek("test new.h5"), "new.h5: whole, 3 tested\n")
    damage("new.h5", "a", 3)
    damage("new.h5", "texts", 3)
    said = told("verify old.h5 new.h5", code=1)
    has(said, "/a      BROKEN        cannot be read: second file: ", "/b      within bound", "/texts  BROKEN        cannot be read")
    # Two damaged files are not the same.
    Path("again.h5").write_bytes(Path("new.h5").read_bytes())
    has(told("verify new.h5 again.h5", code=1), "first file", "1 identical, 2 BROKEN")
    has(told("test new.h5", code=1), "DAMAGED: /a, chunk at [30000]", "DAMAGED: /texts, chunk at [3000]")


@scenario
def chunks_that_an_index_lost_are_damage():
    """A bit of a key in the tree of chunks: HDF5 lists four of them, finds three, and reads one as never written. Or one is short."""
    ours = {"compression": 47474, "compression_opts": opts(ABS, 1e-2)}
    for kind, filters in itertools.product(("f4", "S4"), ({}, {"compression": "gzip"}, ours)):
        with h5py.File("whole.h5", "w") as file:
            file.create_dataset("x", data=np.arange(1, 401).reshape(20, 20).astype(kind), chunks=(10, 10), **filters)
        raw = bytearray(Path("whole.h5").read_bytes())
        raw[raw.index(b"TREE\x01") + 51] ^= 8
        Path("lost.h5").write_bytes(raw)
        lost = "HDF5 finds 3 of its 4 chunks"
        has(told("test lost.h5", code=1), f"DAMAGED: /x: {lost}")
        has(told("verify whole.h5 lost.h5", code=1), f"/x      BROKEN        cannot be read: {'second file: ' * (kind == 'S4')}/x: {lost}")
        requests = ["repack --abs 1 lost.h5 o.h5", "repack -f --lossless --verify lost.h5 lost.h5", "repack --lossless --exclude x lost.h5 o.h5"]
        looks = ["stats lost.h5:x", "decompress lost.h5:x o.npy", "decompress --stride 2 lost.h5:x o.npy"]
        for request in ["decompress lost.h5 o.h5", *requests, *(looks if kind == "f4" else [])]:
            fails(request, lost)
        if filters:
            continue
        raw[raw.index(b"TREE\x01") + 51] ^= 8
        raw[raw.index(b"TREE\x01") + 24] ^= 128
        Path("short.h5").write_bytes(raw)
        has(told("test short.h5", code=1), "DAMAGED: /x: its 4 chunks have 1472 bytes, where 1600 are right")


@scenario
def a_chunk_that_an_index_puts_beyond_the_dataset_is_damage():
    """A bit of a key in the tree of chunks, of which some were never written: nobody reads one that HDF5 walks over."""
    with h5py.File("beyond.h5", "w") as file:
        file.create_dataset("x", (16, 32), "f4", chunks=(8, 8), compression="gzip")[:, :16] = 1
    raw = bytearray(Path("beyond.h5").read_bytes())
    raw[raw.index(b"TREE\x01") + 24 + 3 * 40 + 16] ^= 128
    Path("beyond.h5").write_bytes(raw)
    for library in libhdf5("venv-h5py-1.14"), libhdf5("venv-h5py-2"):
        has(told(f"test --library {library} beyond.h5", code=1), "DAMAGED: /x: HDF5 finds 3 of its 4 chunks")


@scenario
def chunks_of_before_a_dataset_was_shrunk_are_no_damage():
    """Of an only chunk the index keeps what it said before there was nothing left in the dataset."""
    for kind, filters in itertools.product(("f4", "S4"), ({}, {"compression": "gzip"})):
        with h5py.File("shrunk.h5", "w", libver=("v110", "v110")) as file:
            data = file.create_dataset("x", data=np.ones((4, 6), kind), chunks=(4, 6), maxshape=(4, 6), **filters)
            file.flush()
            data.resize((0, 6))
        has(told("test shrunk.h5"), "shrunk.h5: whole")
        Path("copy.h5").write_bytes(Path("shrunk.h5").read_bytes())
        has(told("verify shrunk.h5 copy.h5"), "/x      identical")


@scenario
def a_limit_is_a_number():
    field("a.h5")
    has(told("verify --max-error nan a.h5 a.h5", code=2), "a number is needed")


@scenario
def chunks_have_their_length():
    """HDF5 takes a whole chunk from what comes after the filters, however long that is."""
    ours, deflate = (lambda p: p.set_filter(47474, 0, opts(ABS, 1e-2))), (lambda p: p.set_deflate(4))
    fletcher, nbit = (lambda p: p.set_fletcher32()), (lambda p: p.set_filter(5, h5py.h5z.FLAG_OPTIONAL))
    masked = [(1, [ours]), (1, [fletcher]), (1, [nbit]), (3, [ours, deflate]), (7, [ours, deflate, fletcher])]
    raw, packed = bytes(range(64, 114)) * 6, [(0, [deflate]), (1, [ours, deflate])]
    cases = [(*case, bytes) for case in masked] + [(*case, zlib.compress) for case in packed]
    for (mask, filters, pack), (kind, length) in itertools.product(cases, [("f4", 224), ("f4", 256), ("f4", 300), ("S4", 224)]):
        with h5py.File("s.h5", "w") as file:
            p = h5p.create(h5p.DATASET_CREATE)
            p.set_chunk((64,))
            for set_filter in filters:
                set_filter(p)
            d = h5py.Dataset(h5d.create(file.id, b"x", h5t.py_create(np.dtype(kind)), h5s.create_simple((192,)), p))
            d[64:] = np.arange(128).astype(kind)
            d.id.write_direct_chunk((0,), pack(raw[:length]), mask)
        Path("copy.h5").write_bytes(Path("s.h5").read_bytes())
        if length == 256:
            sleek("test s.h5")
            sleek("verify s.h5 copy.h5")
            continue
        is_seen_before = (mask, length) == (0, 300)
        said = "deflate: more than 256 bytes" if is_seen_before else f"a chunk of {length} bytes, where 256 are right"
        has(told("test s.h5", code=1), f"DAMAGED: /x, chunk at [0]: {said}")
        has(told("verify s.h5 copy.h5", code=1), "/x      BROKEN        cannot be read")
        repack = "repack --dataset /x=lossless --even-if-larger s.h5 o.h5"
        for request in "stats s.h5:x", "decompress s.h5:x x.npy", "decompress --stride 2 s.h5:x x.npy", repack:
            if kind == "f4":
                fails(request, said)


@scenario
def verify_takes_datasets_of_any_chunks():
    """Parts that are no chunks of the other side are put together of those."""
    a = np.random.default_rng(1).integers(0, 1000, (61, 47), "i4")
    gzip, ours = {"shuffle": True, "compression": "gzip"}, {"fletcher32": True, "compression": 47474}
    pipelines = [((7, 9), gzip), ((61, 1), {"scaleoffset": 0}), ((40, 33), ours)]
    for n, (chunk, filters) in enumerate(pipelines):
        with h5py.File(f"{n}.h5", "w") as file:
            file.create_dataset("x", data=a, chunks=chunk, **filters)
    for old, new in (0, 1), (1, 2), (2, 0), (0, 2):
        has(told(f"verify {old}.h5 {new}.h5"), "identical")
    with h5py.File("0.h5", "r+") as file:
        file["x"][60, 46] += 1
    for new in 1, 2:
        has(told(f"verify 0.h5 {new}.h5", code=1), "[60, 46]")
    sleek("decompress -q 2.h5:x back.npy")
    assert (np.load("back.npy") == a).all()


@scenario
def parts_of_files_of_drivers_are_not_called_damaged():
    for driver, name, how in ("family", "fam%d.h5", {"memb_size": 20_000}), ("split", "split", {"meta_ext": b"-m.h5", "raw_ext": b"-r.h5"}):
        with h5py.File(name, "w", driver=driver, **how) as file:
            file["x"] = np.arange(10_000.0)
    for name in "fam0.h5", "split-m.h5":
        has(told(f"test {name}", code=2), "not tested: ", "HDF5's driver wrote it in several files")


@scenario
def coded_strings_are_tested_by_their_checksums():
    texts = np.array([f"number {i}" for i in range(5000)], dtype="S12")
    with h5py.File("s.h5", "w") as file:
        file.create_dataset("texts", data=texts, chunks=(1000,), compression=47474)
        file["a"] = np.arange(5.0)
    has(told("test s.h5"), "but for the checksums of 5 of 5 chunks")
    damage("s.h5", "texts", 2)
    has(told("test s.h5", code=1), "DAMAGED: /texts, chunk at [2000]")
    # HDF5's own, of bytes of any number, with the halves as HDF5 before 1.6.3 wrote them too.
    rng = np.random.default_rng(0)
    with h5py.File("sums.h5", "w") as file:
        for size in 1, 2, 5, 719, 720, 721:
            for name, low in ("all", 0), ("high", 250), ("ff", 255):
                values = rng.integers(low, 256, 7 * size, "u1").view(f"S{size}")
                file.create_dataset(f"{name}{size}", data=values, chunks=(3,), fletcher32=True)
        file.create_dataset("refs", data=[file.ref] * 7, dtype=h5py.ref_dtype, chunks=(3,), fletcher32=True)
    with h5py.File("sums.h5") as file:
        ends = [(info.byte_offset + info.size) for x in file.values() for info in [x.id.get_chunk_info(1)]]
    sleek("test sums.h5")
    raw = bytearray(Path("sums.h5").read_bytes())
    for end in ends:
        raw[end - 4 : end] = [raw[end - 4 + k] for k in (1, 0, 3, 2)]
    Path("sums.h5").write_bytes(raw)
    sleek("test sums.h5")
    for end in ends:
        raw[end - 5] ^= 1
    Path("sums.h5").write_bytes(raw)
    assert told("test -q sums.h5", code=1).count(", chunk at [3]: fletcher32") == len(ends)


@scenario
def a_file_in_use_is_not_damaged():
    """Locked, or marked as open by its writer, who may have been killed."""
    for version, locking in ("earliest", "TRUE"), ("v110", "TRUE"), ("v110", "FALSE"):
        with h5py.File("open.h5", "w", libver=(version, "v110")) as file:
            file["a"] = np.arange(9)
            file.flush()
            said = told("test open.h5", code=2, env={"HDF5_USE_FILE_LOCKING": locking})
            has(said, "open.h5: not tested: ", "is in use")
        has(sleek("test open.h5"), "whole")


@scenario
def a_file_of_a_newer_hdf5_is_not_damaged():
    """A type that HDF5 2 brought, in a file that is whole, and HDF5 1.14."""
    with h5py.File("new.h5", "w") as file:
        of_type(file, h5t.COMPLEX_IEEE_F32LE)
    old = libhdf5("venv-h5py-1.14")
    said = told(["test", "--library", str(old), "new.h5"], code=2)
    has(said, "not tested: needs a newer HDF5")
    lacks(said, "DAMAGED")
    # A name is no reason.
    with h5py.File("whole.h5", "w") as file:
        file["version/a"] = np.arange(1000.0)
    Path("version.h5").write_bytes(Path("whole.h5").read_bytes()[:3000])
    said = told("test version.h5", code=1)
    has(said, "DAMAGED")
    lacks(said, "newer")
    Path("folder").mkdir()
    Path("folder/empty.h5").touch()
    has(told("test -r folder", code=1), "empty.h5: DAMAGED")
    has(told(["test", "--library", "/nowhere.so", "whole.h5"], code=2), "not tested")
    field("old.h5")
    sleek(["decompress", "--library", str(old), "old.h5:/a", "a.f32"])
    assert Path("a.f32").stat().st_size == 400_000


@scenario
def what_cannot_be_tested_ends_no_test():
    """Nor does a damaged beginning hide a file that a folder has by its name."""
    Path("folder").mkdir()
    field("folder/z.h5")
    for code in 2, 1:
        Path("folder/a.nc").write_bytes(b"CDF\x01" + bytes(100))
        for request in "-r folder", "folder/a.nc missing.h5 folder/z.h5":
            has(told(f"test {request}", code=code), "a.nc: not tested: is classic netCDF", "folder/z.h5: whole" if code == 2 else "z.h5: DAMAGED")
        has(told("test folder/z.h5 missing.h5 folder/z.h5", code=code), "missing.h5: not tested: No such file")
        if code == 2:
            sleek("repack -q --force --abs 1e-3 folder/z.h5 folder/z.h5")
            damage("folder/z.h5", "a", 3)
    Path("folder/z.h5").unlink()
    Path("folder/x.h5").write_bytes(bytes(4000))
    Path("folder/y.f32.sleek").write_bytes(b"\0SLEEK" + bytes(100))
    Path("folder/z.sleek").touch()
    Path("folder/other.hdf").write_bytes(b"\x0e\x03\x13\x01" + bytes(100))
    said = told("test -r folder", code=1)
    has(said, *(f"folder/{name}: DAMAGED" for name in ("x.h5", "y.f32.sleek", "z.sleek")))
    lacks(said, "other")


@scenario
def an_attribute_of_a_newer_hdf5_hides_nothing():
    """All but the attribute an older library reads, which is found before that of Python's."""
    newer = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    with h5py.File("new.h5", "w", libver="v112") as file:
        file["a"] = np.sin(np.arange(10_000) / 100)
        file["a"].attrs["flag"] = True
    sleek("repack -q --abs 1e-3 new.h5 small.h5", env=newer)
    has(told("verify new.h5 small.h5", env=newer), "/a      within bound")
    make("old.h5", a=np.sin(np.arange(10_000) / 100))
    has(told("verify new.h5 old.h5", env=newer), "identical")
    has(sleek("stats new.h5:/a", env=newer), "10000")


@scenario
def texts_that_hdf5_cannot_read_are_not_broken():
    with h5py.File("old.h5", "w") as file:
        texts = file.create_dataset("texts", (20,), h5py.string_dtype(), chunks=(5,), maxshape=(None,), fillvalue="none")
        texts[:3] = ["a", "b", "c"]
        file["x"] = np.arange(1000.0)
    sleek("repack -q --abs 1 old.h5 new.h5")
    has(told("verify old.h5 new.h5"), "/texts  not compared", "within bound")


@scenario
def strings_may_have_32_dimensions():
    strings = np.array([b"%d" % n for n in range(210)], "S7").reshape([1] * 30 + [30, 7])
    make("old.h5", x=strings)
    sleek("repack -q --verify --abs 1 old.h5 new.h5")
    has(told("verify old.h5 new.h5"), "/x      identical")
    make("new.h5", x=np.char.replace(strings, b"209", b"0"))
    has(told("verify old.h5 new.h5", code=1), "/x      BROKEN")


@scenario
def filters_behind_ours_hide_no_range():
    field("old.h5")
    for behind in lambda made: made.set_deflate(1), lambda made: made.set_fletcher32():
        with h5py.File("old.h5") as old, h5py.File("new.h5", "w") as new:
            creation = h5p.create(h5p.DATASET_CREATE)
            creation.set_chunk((1000,))
            creation.set_filter(47474, 0, opts(NOA, 1e-3))
            behind(creation)
            a = old["a"]
            h5py.Dataset(h5d.create(new.id, b"a", a.id.get_type(), a.id.get_space(), creation))[...] = a[...]
        has(told("verify old.h5:/a new.h5:/a"), "within bound")
        sleek("repack -q --force --filter none new.h5 plain.h5")
        with h5py.File("plain.h5") as plain:
            assert plain["a"].attrs["sleek_abs_bound"] > 0


@scenario
def a_chunk_that_is_written_in_parts_is_held_to_all_its_writes():
    """Of a growing variable the range grows, and with it the step of each write: their errors may add up to all of the bound."""
    a = (np.cumsum(np.random.default_rng(0).normal(size=6000)) + 280).astype("f4")
    make("old.h5", a=a)
    with h5py.File("new.h5", "w") as file:
        file.create_dataset("a", (0,), "f4", maxshape=(None,), chunks=(2000,), compression=47474, compression_opts=opts(NOA, 1e-2))
    for end in range(300, 6001, 300):
        with h5py.File("new.h5", "r+") as file:
            file["a"].resize((end,))
            file["a"][end - 300 :] = a[end - 300 : end]
    sleek("decompress -q new.h5 plain.h5")
    with h5py.File("plain.h5") as plain:
        error, bound = abs(plain["a"][...].astype("f8") - a).max(), plain["a"].attrs["sleek_abs_bound"][0]
    assert bound / 2 < error <= bound <= 1e-2 * np.ptp(a.reshape(3, 2000), axis=1).max()
    for new in "new.h5", "plain.h5":
        has(told(f"verify old.h5 {new}"), "within bound  noa")
    with h5py.File("plain.h5", "r+") as plain:
        plain["a"][777] += 1
    has(told("verify old.h5 plain.h5", code=1), "BROKEN        noa=0.01 by its attributes")
    # Who writes streams past the filter rounds once, by all of what its range allows.
    with h5py.File("past.h5", "w") as file:
        past = file.create_dataset("a", a.shape, "f4", chunks=a.shape, compression=47474, compression_opts=opts(NOA, 1e-2))
        a.tofile("a.f32")
        sleek("compress -q --dtype f32 --noa 1e-2 a.f32 a.slk")
        past.id.write_direct_chunk((0,), Path("a.slk").read_bytes())
    has(told("verify old.h5 past.h5"), "within bound  noa")
    make("moved.h5", a=a + np.float32(0.011 * np.ptp(a)))
    has(told("verify moved.h5 past.h5", code=1), "BROKEN        noa")


@scenario
def what_a_filter_was_told_of_rounded_values_is_no_promise_about_the_first_ones():
    rng = np.random.default_rng(1)
    values = rng.uniform(0, 1, 20_000).astype("f4")
    values[::50] = -999.25 + rng.uniform(-0.01, 0.01, 400)
    make("0.h5", a=values)
    sleek("repack -q --abs 0.1 0.h5 1.h5")
    sleek("repack -q --abs 0.4 1.h5 2.h5")
    has(told("verify 1.h5 2.h5"), "400 missing values agree")
    has(told("verify 0.h5 2.h5"), "within bound  abs=0.1, abs=0.4 by its attributes")
    # Limits that an earlier loss did not keep.
    with h5py.File("0.h5", "w") as file:
        file.create_dataset("a", data=rng.uniform(0, 1, 20_000).astype("f4"), chunks=(5000,)).attrs["valid_range"] = np.array([0, 1], "f4")
    words = opts(ABS, 0.21)
    run("h5repack", "-f", f"a:UD=47474,0,{len(words)},{','.join(map(str, words))}", "0.h5", "1.h5", plugin=True)
    sleek("repack -q --force --abs 0.05 --even-if-larger 1.h5 2.h5")
    assert "limits=0e0:1e0" in sleek("inspect 2.h5")
    has(told("verify 0.h5 2.h5"), "within bound  abs=0.21 by its attributes", "left the valid range")


@scenario
def what_cannot_be_judged_is_not_kept():
    """A filter that HDF5 has not, or one behind ours that hides the ranges of chunks, which `noa` is of."""
    import hdf5plugin

    field("old.h5")
    with h5py.File("old.h5") as old:
        a = old["a"][...]
    zstd = {"HDF5_PLUGIN_PATH": hdf5plugin.PLUGINS_PATH}

    def written(name, values, chunk):
        creation = h5p.create(h5p.DATASET_CREATE)
        creation.set_chunk((chunk,))
        creation.set_filter(47474, 0, opts(NOA, 1e-3))
        creation.set_filter(32015, 0, (3,))
        with h5py.File(name, "w") as file:
            h5py.Dataset(h5d.create(file.id, b"a", h5t.IEEE_F32LE, h5s.create_simple(a.shape), creation))[...] = values

    for factor, code, said in (1, 2, "not known     "), (2, 1, "BROKEN        "):
        # Chunks at the rim are filled up with zeros, which count for their ranges.
        for chunk in 10_000, 30_000:
            written("new.h5", factor * a, chunk)
            sleek("decompress -q --force new.h5 plain.h5", env=zstd)
            has(told("verify old.h5:/a new.h5", code=code, env=zstd), f"{said}noa 1e-3 of each chunk, of ranges that are not known: ")
            has(told("verify old.h5:/a plain.h5", code=code, env=zstd), f"{said}noa=0.001 by its attributes, of ranges that are not known: ")
        Path("copy.h5").write_bytes(Path("new.h5").read_bytes())
        has(told("verify new.h5 copy.h5", env=zstd), "verdict kept: 1 identical")
    has(told("verify old.h5:/a new.h5", code=2), "needs filter 32015 (Zstandard), which HDF5 does not find", "verdict not known: 1 not known")
    report = as_json("verify --json old.h5:/a new.h5", 2)
    assert report["kept"] is None and report["datasets"][0]["why"].startswith("needs filter")
    has(told("verify new.h5 old.h5", code=2), "/a      not known", "/b      extra")


@scenario
def what_lacks_a_filter_is_not_tested():
    import hdf5plugin

    field("old.h5")
    with h5py.File("new.h5", "w") as file:
        for name, data in ("a", np.arange(9000.0)), ("texts", np.array([b"abc"] * 3000)):
            file.create_dataset(name, data=data, chunks=(1000,), **hdf5plugin.Zstd())
        file.create_dataset("refs", data=[file.ref], dtype=h5py.ref_dtype)
    with h5py.File("old.h5", "r+") as file:
        file.create_dataset("never", (9,), "f4", chunks=(3,), **hdf5plugin.Zstd())
    sleek("test old.h5")
    has(told("test new.h5", env={"HDF5_PLUGIN_PATH": hdf5plugin.PLUGINS_PATH}), "whole, 1 tested")
    for request in "test new.h5", "test -q new.h5 old.h5", "test -r .":
        said = told(request, code=2)
        has(said, *(f"new.h5: not tested: /{name}: needs filter 32015 (Zstandard), which HDF5 does not find" for name in ("a", "texts")))
        lacks(said, "new.h5: whole")
    damage("old.h5", "texts", 3)
    has(told("test old.h5 new.h5", code=1), "DAMAGED: /texts", "not tested: /a")


@scenario
def what_was_elsewhere_is_held_to_what_is_promised_of_it():
    """Values of a view, or of another file, that another program put into a dataset of their own."""
    field("0.h5")
    with h5py.File("0.h5") as source, h5py.File("view.h5", "w") as views, h5py.File("plain.h5", "w") as plain:
        a, texts = source["a"][...], np.array([b"a", b"bc"] * 500)
        source_of = {"a": a, "texts": texts, "beside": a}
        make("1.h5", a=a, texts=texts)
        for name in "a", "texts":
            layout = h5py.VirtualLayout(source_of[name].shape, source_of[name].dtype)
            layout[:] = h5py.VirtualSource("1.h5", name, source_of[name].shape)
            views.create_virtual_dataset(name, layout)
        views.create_dataset("beside", data=a, external=[("raw.bin", 0, h5py.h5f.UNLIMITED)])
        for name, values in source_of.items():
            ours = {"compression": 47474, "compression_opts": opts(ABS, 0.125)} if name != "texts" else {}
            plain.create_dataset(name, data=values, chunks=(300,), **ours)
    judged = "/a      within bound  abs 1.25e-1", "/texts  identical", "/beside within bound  abs 1.25e-1"
    has(told("verify view.h5 plain.h5"), *judged)
    has(told("verify plain.h5:/texts view.h5"), "identical")
    with h5py.File("plain.h5", "r+") as plain:
        plain["a"][777] += 1
        plain["texts"][777] = b"x"
    has(told("verify view.h5 plain.h5", code=1), "/a      BROKEN", "/texts  BROKEN", judged[2])
    damage("plain.h5", "a", 3)
    has(told("verify view.h5:/a plain.h5", code=1), "/a      BROKEN        cannot be read: second file: ")
    has(told("verify plain.h5:/a view.h5", code=1), "/a      BROKEN        cannot be read: first file: ")
    Path("raw.bin").unlink()
    has(told("verify view.h5:/beside plain.h5", code=2), "not known     stored in another file, which cannot be read")
    Path("copy.h5").write_bytes(Path("view.h5").read_bytes())
    has(told("verify view.h5:/a copy.h5:/a"), "not compared  a view of other datasets")


@scenario
def a_stream_of_other_elements_than_the_datasets_is_refused():
    """One of the right length would be read as others: the command takes what HDF5 takes."""
    elements = [sys.executable, str(ROOT / "tests/hdf5/hostile.py"), "elements", os.environ["HDF5_PLUGIN_PATH"] + "/libsleek.so"]
    for kind, big_endian, code, taken in ("f32", "0", "1", True), ("f32", "0", "7", False), ("array", "1", "9", True), ("array", "1", "2", False):
        said = run(*elements, kind, code, big_endian, plugin=True).split()[-1]
        assert said == ("taken" if taken else "refused"), (kind, code)
        told("repack --lossless --force a.h5 b.h5", code=0 if taken else 2)


@scenario
def a_constant_meets_no_correlation():
    make("old.h5", x=1e-170 * np.sin(np.arange(1000.0)))
    make("new.h5", x=np.full(1000, 1e-171))
    has(told("verify --pearson 0.5 old.h5 new.h5", code=1), "--pearson 0.5 is missed")


@scenario
def attributes_and_table_tell_every_loss():
    field("0.h5")

    def step(old, request, new="next.h5", says=None):
        table = sleek(f"repack --force --even-if-larger -v /a {request} {old} {new}")
        assert ("whose errors stay" in table) == (says is not None) and f"written by SLEEK {says or ''}" in table + "written by SLEEK ", table
        with h5py.File(new) as f:
            attributes = f["a"].attrs
            text = attributes["sleek_losses"]
            numbers = [float(np.ravel(attributes[name])[0]) if name in attributes else None for name in ("sleek_abs_bound", "sleek_bound")]
            return (text.decode() if isinstance(text, bytes) else text, *numbers)

    assert step("0.h5", "--rel 1e-2", "rel.h5") == ("rel=0.01", None, 0.01)
    for request, after, bound in ("--abs 5", "abs=5", 5), ("--rel 3e-2", "rel=0.03", 0.03), ("--abs 1e-4", "abs=0.0001", 1e-4):
        assert step("rel.h5", request, says="rel=0.01") == (f"rel=0.01, {after}", None, bound)
    assert step("0.h5", "--abs 0.125", "abs.h5") == ("abs=0.125", 0.125, 0.125)
    assert step("abs.h5", "--rel 3e-2", says="abs=0.125") == ("abs=0.125, rel=0.03", None, 0.03)
    text, total, bound = step("abs.h5", "--abs 0.5", says="abs=0.125")
    assert (text, bound) == ("abs=0.125, abs=0.5", 0.5) and 0.625 <= total < 0.6250001, "errors add up, where that is known"
    step("0.h5", "--codec zfp --rate 8", "rate.h5")
    assert step("rate.h5", "--abs 5", says="rate=8")[:2] == ("rate=8, abs=5", None)
    # Where the data do not change, neither does what is told of them.
    Path("abs.h5").rename("pass.h5")
    for _ in range(12):
        assert step("pass.h5", "--abs 0.125", says="abs=0.125") == ("abs=0.125", 0.125, 0.125)
        Path("next.h5").rename("pass.h5")


@scenario
def what_another_program_lost_since_is_told():
    """By this filter, in a file whose attributes tell of less."""
    field("0.h5")

    def theirs(old, new, bound):
        words = opts(ABS, bound)
        run("h5repack", "-f", f"a:UD=47474,0,{len(words)},{','.join(map(str, words))}", old, new, plugin=True)

    def told_of(name, losses, bound):
        with h5py.File(name) as file, h5py.File("0.h5") as first:
            error = abs(file["a"][...].astype("f8") - first["a"][...]).max()
            attributes = file["a"].attrs
            assert attributes["sleek_losses"] == losses.encode() and error <= bound <= attributes["sleek_abs_bound"][0] < 1.001 * bound
        has(told(f"verify 0.h5:/a {name}"), "within bound", f"{losses} by its attributes")

    sleek("repack -q --abs 0.1 0.h5 1.h5")
    run("h5repack", "-f", "NONE", "1.h5", "2.h5", plugin=True)
    theirs("2.h5", "3.h5", 0.5)
    for request in "--filter none", "--lossless --even-if-larger":
        sleek(f"repack -q --force {request} 3.h5 4.h5")
        told_of("4.h5", "abs=0.1, abs=0.5", 0.6)
        has(told("verify 3.h5:/a 4.h5"), "identical")
    sleek("repack -q --abs 2 3.h5 5.h5")
    told_of("5.h5", "abs=0.1, abs=0.5, abs=2", 2.6)
    # What is asked for again changes no value, and no loss is told twice.
    sleek("repack -q --abs 0.25 --even-if-larger 4.h5 6.h5")
    sleek("decompress -q 6.h5 7.h5")
    told_of("7.h5", "abs=0.1, abs=0.5", 0.6)
    theirs("0.h5", "8.h5", 1e-4)
    sleek("repack -q --abs 0.01 8.h5 9.h5")
    told_of("9.h5", "abs=0.0001, abs=0.01", 0.0101)


@scenario
def what_another_program_lost_by_the_same_words_is_told():
    """It is taken for no loss that was told before: once undone, attributes tell of no filter in place."""
    field("0.h5")

    def errors(name):
        """How far a is from where it was, and how far it may be."""
        with h5py.File(name) as file, h5py.File("0.h5") as first:
            return abs(file["a"][...].astype("f8") - first["a"][...]).max(), file["a"].attrs["sleek_abs_bound"][0]

    def theirs(old, new, words):
        words = (2, *np.frombuffer(words.encode() + bytes(-len(words) % 4), "<u4"))
        run("h5repack", "-f", f"a:UD=47474,0,{len(words)},{','.join(map(str, words))}", old, new, plugin=True)

    for request, words in ("--abs 0.1", "abs=0.1,profile=small"), ("--noa 1e-3", "noa=1e-3"), ("--noa 1e-3", "noa=1e-3,range=64"):
        sleek(f"repack -q --force {request} 0.h5 1.h5")
        for undo in "decompress -q --force", "repack -q --force --lossless --even-if-larger", "repack -q --force --no-attributes --lossless --even-if-larger":
            sleek(f"{undo} 1.h5 2.h5")
            theirs("2.h5", "3.h5", words)
            sleek("repack -q --force --lossless --even-if-larger 3.h5 4.h5")
            assert errors("4.h5")[0] <= errors("4.h5")[1]
            for old, new in "03", "04", "23", "24", "34":
                told(f"verify {old}.h5:/a {new}.h5")
    # Without undoing: `repack` names one range for all chunks, and tells it.
    for words in "noa=1e-3", "noa=1e-3,range=64":
        sleek("repack -q --force --noa 1e-3 --range 1 0.h5 1.h5")
        theirs("1.h5", "3.h5", words)
        sleek("decompress -q --force 3.h5 4.h5")
        assert 1e-3 < errors("4.h5")[0] <= errors("4.h5")[1]
        for new in "3.h5", "4.h5":
            has(told(f"verify 0.h5:/a {new}"), "within bound")
    # Where nothing changes the earlier range counts.
    sleek("repack -q --force --noa 1e-3 --range 1024 0.h5 1.h5")
    sleek("repack -q --force --noa 1e-3 --range 1 --even-if-larger 1.h5 2.h5")
    assert errors("2.h5")[1] == 1.024
    has(told("verify 0.h5:/a 2.h5"), "within bound  noa=0.001 of 1024 by its attributes")


@scenario
def what_has_no_value_is_as_its_copy():
    """Never written, and without a fill value, by which HDF5 reads nothing."""
    library = next(line.split()[-1] for line in open("/proc/self/maps") if "h5py.libs/libhdf5-" in line)
    set_fill = ctypes.CDLL(library).H5Pset_fill_value
    set_fill.argtypes = [ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p]
    with h5py.File("old.h5", "w") as file:
        for name, kind, shape in (b"texts", "S3", (4,)), (b"one", "f4", ()), (b"any", h5py.string_dtype(), (4,)):
            creation = h5p.create(h5p.DATASET_CREATE)
            assert set_fill(creation.id, -1, None) >= 0  # undefined
            space = h5s.create_simple(shape) if shape else h5s.create(h5s.SCALAR)
            h5d.create(file.id, name, h5t.py_create(np.dtype(kind), logical=True), space, creation)
        file["a"] = np.sin(np.arange(10_000) / 100)
    sleek("repack -q --verify --abs 1e-3 old.h5 new.h5")
    has(told("verify old.h5 new.h5"), "/one    identical", "/texts  identical", "/any    identical")
    with h5py.File("new.h5", "r+") as file:
        file["texts"][...] = b"abc"
    has(told("verify old.h5 new.h5", code=1), "/texts  BROKEN")


@scenario
def what_is_undone_is_held_to_the_losses_that_its_attributes_tell():
    """Without the filter nothing else says what was lost."""
    field("0.h5")

    def judged(old, new, code, of_a):
        has(told(f"verify {old} {new}", code=code), f"/a      {of_a}")

    def move(name, by):
        """Of a the value that is easiest told from its neighbours."""
        with h5py.File(name, "r+") as file:
            file["a"][777] += by

    for bound in "abs=0.125", "rel=0.001", "noa=0.001":
        sleek(f"repack -q --force --{bound} 0.h5 small.h5")
        sleek("decompress -q --force small.h5 plain.h5")
        sleek("repack -q --force --filter none small.h5 again.h5")
        for undone in "plain.h5", "again.h5":
            judged("0.h5", undone, 0, f"within bound  {bound} ")
            judged("small.h5", undone, 0, "identical")
        # They tell of nothing that became of the values since.
        move("plain.h5", 1)
        judged("0.h5", "plain.h5", 1, f"BROKEN        {bound} ")
        move("plain.h5", -0.95)
        judged("again.h5", "plain.h5", 1, "BROKEN        lossless")
        judged("small.h5", "plain.h5", 1, "BROKEN        lossless")
    # Losses one after the other: all of them, the last one, and two that have no bound in common.
    for request in "--abs=0.125 0.h5 once.h5", "--abs=0.3 once.h5 small.h5", "--filter none small.h5 plain.h5":
        sleek(f"repack -q --force {request}")
    judged("0.h5", "plain.h5", 0, "within bound  abs=0.125, abs=0.3 by its attributes")
    judged("once.h5", "plain.h5", 0, "within bound  abs=0.3 by its attributes")
    move("plain.h5", 0.6)
    judged("0.h5", "plain.h5", 1, "BROKEN        abs=0.125, abs=0.3 by its attributes")
    for request in "--rel=1e-2 once.h5 small.h5", "--filter none small.h5 plain.h5":
        sleek(f"repack -q --force {request}")
    judged("0.h5", "plain.h5", 2, "not known     abs=0.125, rel=0.01 by its attributes: 3.6")
    move("plain.h5", 5)
    judged("0.h5", "plain.h5", 1, "BROKEN        abs=0.125, rel=0.01 by its attributes: 3.6")
    # Of two shares follows one.
    for request in "--rel=1e-3 0.h5 once.h5", "--rel=1e-2 once.h5 small.h5", "--filter none small.h5 plain.h5":
        sleek(f"repack -q --force {request}")
    for new in "small.h5", "plain.h5":
        judged("0.h5", new, 0, "within bound  rel=0.001, rel=0.01 by its attributes")
    move("plain.h5", 5)
    judged("0.h5", "plain.h5", 1, "BROKEN        rel=0.001, rel=0.01 by its attributes")
    sleek("repack -q --force --even-if-larger --codec zfp --rate 8 once.h5 small.h5")
    judged("0.h5", "small.h5", 0, "no bound      rel=0.001, rate=8 by its attributes")
    # The last step left the values where they were, or lost nothing.
    for first, second, said in (
        ("abs=0.3", "lossless", "abs=0.3 by its attributes"), ("noa=0.01", "abs=0.05", "noa=0.01 of "),
    ):  # fmt: skip
        for request in f"--{first} 0.h5 once.h5", f"--{second} --even-if-larger once.h5 small.h5":
            sleek(f"repack -q --force {request}")
        judged("0.h5", "small.h5", 0, f"within bound  {said}")
        told("verify once.h5 small.h5")
        sleek("repack -q --force --filter none small.h5 plain.h5")
        move("plain.h5", 5)
        judged("0.h5", "plain.h5", 1, "BROKEN        ")
    # Another program that used the filter told nothing; undoing it tells what its parameters did.
    for words, bound in (opts(ABS, 0.125), "abs=0.125"), (opts(NOA, 1e-3), "noa=0.001"):
        run("h5repack", "-f", f"a,b:UD=47474,0,{len(words)},{','.join(map(str, words))}", "0.h5", "theirs.h5", plugin=True)
        sleek("decompress -q --force theirs.h5 plain.h5")
        judged("0.h5", "plain.h5", 0, f"within bound  {bound} by its attributes, max error ")
        judged("theirs.h5", "plain.h5", 0, "identical")


@scenario
def chunks_that_nobody_wrote_take_no_time():
    """Two files of 5 kB with room for 256 GiB each, in a minute of processors, which others at work do not shorten."""
    for name, index in ("a.h5", 5), ("b.h5", 5), ("c.h5", 1 << 35):
        with h5py.File(name, "w") as file:
            x = file.create_dataset("x", (2**36,), "f4", chunks=(2**18,))
            x[1000] = 1
            x[index] = 2
    minute = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_CPU, (60, 60))}
    has(told("verify a.h5 b.h5", **minute), "/x      identical")
    has(told("verify a.h5 c.h5", code=1, **minute), ": 2 elements, the worst at [5]: 2e0 became 0e0")


def peak(text):
    """What the process needed at most, in bytes, besides its program; nothing is said under a sanitizer, which keeps what is freed."""
    script = "import resource, subprocess, sys\nsubprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)\n"
    script += "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    needed = 1024 * int(run(sys.executable, "-c", script, SLEEK, *text.split()))
    return 0 if "ASAN_OPTIONS" in os.environ else needed


@scenario
def memory_does_not_grow_with_the_field():
    """Chunks that are long in time, as many files have them."""
    with h5py.File("old.h5", "w") as file:
        x = np.random.default_rng(1).normal(size=(1000, 20_000, 1)).astype("f4")
        file.create_dataset("x", data=x, chunks=(1000, 250, 1))
    assert (most := peak("decompress -q old.h5:/x x.f32")) < 64 << 20, most
    sleek("decompress -q --box 3:5,100:777,0:1 old.h5:/x box.f32")
    assert Path("x.f32").read_bytes() == x.tobytes() and Path("box.f32").read_bytes() == x[3:8, 100:877].tobytes()
    # A pipe gets the same in the order of its elements.
    environment = {name: value for name, value in os.environ.items() if name != "HDF5_PLUGIN_PATH"}
    piped = subprocess.run([SLEEK, "decompress", "-q", "old.h5:/x", "-"], stdout=subprocess.PIPE, env=environment, check=True)
    assert piped.stdout == x.tobytes()
    sleek("repack -q --abs 0.01 old.h5 new.h5")
    sleek("compress -q --dtype f32 --abs 0.01 x.f32 x.slk")
    for request in "--quality x.f32 x.slk", "old.h5 new.h5", "--quality old.h5 new.h5":
        assert (most := peak(f"verify -q {request}")) < 300 << 20, (request, most)


@scenario
def what_was_passed_over_or_left_out_is_told():
    make("many.h5", **{f"x{i:02}": np.sin(np.arange(100.0)) for i in range(16)})
    has(told("repack --ratio 10 many.h5 new.h5"), "kept: small; --ratio 10 was passed over")
    for request in "decompress many.h5:/none x", "verify many.h5:/none new.h5", "analyze many.h5:/none", "repack --dataset /none=keep many.h5 x.h5":
        fails(request, "/x09, … and 6 more")


# What is seen of figures: held against a computation of their own, by numpy alone and by their definitions.

MARK = np.float32(-9999)


def waves(path):
    """Fields with and without gaps."""
    rng = np.random.default_rng(11)
    z, y, x = np.mgrid[:3, :37, :50]
    a = 280 + 10 * np.sin(x / 7 + z) * np.cos(y / 5) + np.cumsum(rng.normal(size=x.shape), axis=2) * 0.2
    gaps = a.astype("f4")
    gaps[:, 5:9, 20:31] = MARK
    gaps[1, 30, ::3] = MARK
    with h5py.File(path, "w") as f:
        f.create_dataset("whole", data=a, chunks=(1, 37, 50))
        f.create_dataset("cut", data=a, chunks=(2, 20, 13))
        f.create_dataset("gaps", data=gaps, chunks=(1, 37, 50), fillvalue=MARK)
        f.create_dataset("plane", data=a[0].astype("f4"))
        f["line"] = a[0].ravel()


def dssim(a, b):
    """Of a plane, window by window: scaled to [0, 1] and on 256 levels, Gaussian weights, missing values left out of each window."""
    low, high = np.nanmin([a, b]), np.nanmax([a, b])
    a, b = (np.round((side - low) / (high - low) * 255) / 255 for side in (a, b))
    offsets = np.arange(-5, 6)
    weights = np.exp(-(offsets[:, None] ** 2 + offsets[None, :] ** 2) / (2 * 1.5**2))
    found = []
    for i, j in np.argwhere(~(np.isnan(a) | np.isnan(b))):
        p, q = a[i - 5 : i + 6, j - 5 : j + 6], b[i - 5 : i + 6, j - 5 : j + 6]
        if min(i, j) < 5 or p.shape != (11, 11):
            continue
        here = ~(np.isnan(p) | np.isnan(q))
        w = weights[here] / weights[here].sum()
        p, q = p[here], q[here]
        mp, mq = (w * p).sum(), (w * q).sum()
        vp, vq, pq = (w * (p - mp) ** 2).sum(), (w * (q - mq) ** 2).sum(), (w * (p - mp) * (q - mq)).sum()
        c = 1e-8
        found.append((2 * mp * mq + c) * (2 * pq + c) / ((mp**2 + mq**2 + c) * (vp + vq + c)))
    return np.mean(found)


def figures(a, b):
    a, b = a.astype("f8"), b.astype("f8")
    missing = (a == MARK) | (b == MARK)
    a[missing] = b[missing] = np.nan
    p, q = a[~missing], b[~missing]
    at = np.sort(np.concatenate([p, q]))
    shares = [np.searchsorted(np.sort(side), at, "right") / side.size for side in (p, q)]
    planes = zip(*(side.reshape(-1, *side.shape[-2:]) for side in (a, b))) if a.ndim > 1 else ()
    rms = np.sqrt(np.mean((p - q) ** 2))
    found = {
        "max_error": np.abs(p - q).max(),
        "mean_absolute_error": np.abs(p - q).mean(),
        "rms_error": rms,
        "psnr": 20 * np.log10((p.max() - p.min()) / rms) if rms else None,
        "pearson": np.corrcoef(p, q)[0, 1],
        "ks_distance": np.abs(shares[0] - shares[1]).max(),
        "dssim": min((dssim(x, y) for x, y in planes), default=None),
    }
    return {key: value if value is not None and np.isfinite(value) else None for key, value in found.items()}


@scenario
def figures_agree_with_numpy():
    waves("old.h5")
    for bound in 0.3, 0.01:
        sleek(f"repack -q --force --abs {bound} old.h5 new.h5")
        datasets = as_json("verify --quality --json old.h5 new.h5")["datasets"]
        assert len(datasets) == 5
        with h5py.File("old.h5") as old, h5py.File("new.h5") as new:
            for d in datasets:
                for key, wanted in figures(old[d["name"]][...], new[d["name"]][...]).items():
                    found = d["quality"].get(key)
                    near = found == wanted if wanted is None else abs(found - wanted) <= 1e-9 * abs(wanted)
                    assert near and (key != "dssim" or found != 1), f"{d['name']}: {key} is {found}, by numpy {wanted}"


@scenario
def limits_that_are_missed_end_with_1():
    waves("old.h5")
    sleek("repack -q --abs 0.1 old.h5 new.h5")
    quality = next(d for d in as_json("verify --quality --json old.h5 new.h5")["datasets"] if d["name"] == "/whole")["quality"]
    limits = {
        "--max-error": "max_error", "--mean-error": "mean_absolute_error", "--rms": "rms_error", "--ks": "ks_distance",
        "--psnr": "psnr", "--pearson": "pearson", "--ssim": "ssim", "--dssim": "dssim",
    }  # fmt: skip
    for option, key in limits.items():
        value = quality[key]
        # A hundredth of what is lacking, on either side.
        slack = 0.01 * (value if key not in ("pearson", "ssim", "dssim") else 1 - value) * (1 if key.endswith(("error", "distance")) else -1)
        for limit, code in (value + slack, 0), (value - slack, 1):
            said = sleek(f"verify {option} {limit!r} old.h5:/whole new.h5", code=code)
            assert ("MISSED" in said) == code, f"{option} {limit}: {said}"
    # Nothing is held to what it cannot have.
    make("line.h5", t=np.sin(np.arange(5000.0)))
    sleek("repack -q --abs 0.1 line.h5 small.h5")
    fails("verify --dssim 0.9 line.h5 small.h5", "--dssim: nothing")
    sleek("verify --pearson 0.9 line.h5 small.h5")
    fails("verify . small.h5", "a folder is named")


if __name__ == "__main__":
    main()
