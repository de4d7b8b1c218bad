"""Files of everything that HDF5 has, and whether another file is the same but for errors within a bound."""

import os
import resource
import subprocess
from pathlib import Path

import command
import h5py
import numpy as np

ROOT = Path(__file__).parents[3]
VENVS = os.environ.get("SLEEK_VENVS", ROOT / "build")


def libhdf5(venv, package="h5py"):
    """The HDF5 that an environment's h5py brings, or another package of it."""
    (path,) = Path(VENVS, venv).glob(f"lib/python*/site-packages/{package}.libs/libhdf5-*")
    return path


def limited(bytes_):
    """How to start a process that has no more memory."""
    return {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_AS, (bytes_, bytes_))}


def make(name, libver=None):
    options = {"libver": libver} if libver else {}
    y, x = np.mgrid[0:300, 0:400]
    t = np.sin(x / 30) + np.cos(y / 20) + np.random.default_rng(1).normal(size=x.shape) * 1e-3
    with h5py.File(name, "w", track_order=True, userblock_size=1024, **options) as f:
        f.create_dataset("zz_t", data=t.astype("f4"), chunks=(50, 400), shuffle=True, compression="gzip")
        f.create_dataset("aa_big", data=t.astype(">f8"))
        group = f.create_group("group")
        inner = group.create_group("inner", track_order=False)
        inner["x"] = t.astype("f4")[:100]
        many = f.create_group("many", track_order=True)  # its links are stored in another way
        for i in reversed(range(40)):
            many[f"n{i:02}"] = np.arange(i, dtype="i4")
        f["hard"] = inner["x"]
        f["soft"] = h5py.SoftLink("/group/inner/x")
        f["dangling"] = h5py.SoftLink("/nowhere")
        f["external"] = h5py.ExternalLink("other.h5", "/a/b")
        group["loop"] = f["/"]
        group["grüße"] = 1
        inner["i"] = np.arange(1000)
        f["text"] = np.array([b"ab", "cde"], dtype="S5")
        f.create_dataset("texts", data=["eins", "zwei"], dtype=h5py.string_dtype())
        f["scalar"] = 3.5
        f["null"] = h5py.Empty("f4")
        f["compound"] = np.array([(1, 2.5)], dtype=[("a", "i4"), ("b", "f8")])
        for field, fill in ("whole", -9999.0), ("huge", 1e20), ("fraction", -999.9):
            data = t.astype("f4")
            data[10:20, 30:90] = fill
            f.create_dataset(field, data=data, chunks=(64, 64), fillvalue=np.float32(fill))
        sparse = f.create_dataset("sparse", (1000, 1000), "f4", maxshape=(None, None), chunks=(100, 100))
        sparse[500:600, 700:800] = t[:100, :100]
        f.create_dataset("unlimited", data=t[:, :100], maxshape=(None, None), chunks=(7, 100), fletcher32=True)
        f.create_dataset("early", shape=(0, 5), maxshape=(None, 5), dtype="f8")
        f["half"] = t.astype("f2")
        special = t.astype("f8")
        special[0, :4] = np.nan, np.inf, -np.inf, -0.0
        f["special"] = special
        f["constant"] = np.full((100, 100), 7.25)
        f["references"] = np.array([f["zz_t"].ref, f["group"].ref, h5py.Reference()], dtype=h5py.ref_dtype)
        f["regions"] = np.array([f["zz_t"].regionref[10:20, 5:9]], dtype=h5py.regionref_dtype)
        zz = f["zz_t"].attrs
        zz["region"] = f["aa_big"].regionref[0:3, 0:4]
        zz["object"] = f["aa_big"].ref
        f.attrs.create("references", [f["hard"].ref, f["zz_t"].ref], dtype=h5py.ref_dtype)
        pairs = np.dtype([("r", h5py.ref_dtype), ("n", "i4")])
        group.attrs["pairs"] = np.array([(f["zz_t"].ref, 3), (inner.ref, 4)], dtype=pairs)
        f["a_type"] = np.dtype("f4")
        f["a_compound"] = np.dtype([("a", "i4"), ("b", "f8")])
        f["a_type"].attrs["of"] = "a type"
        f.create_dataset("typed", data=t, dtype=f["a_type"])
        f.create_dataset("compounds", data=np.zeros(100, f["a_compound"].dtype), dtype=f["a_compound"])
        f.attrs.create("typed", 2.5, dtype=f["a_type"])
        for i in range(12):
            zz[f"k{20 - i}"] = i
        zz["string"] = "text"
        zz["empty"] = h5py.Empty("i4")
        sequences = np.array([np.arange(3, dtype="i4"), np.arange(5, dtype="i4")], dtype=object)
        zz.create("sequences", sequences, dtype=h5py.vlen_dtype(np.int32))
        for scale, n in ("y", 300), ("x", 400), ("long", 1000):
            f[scale] = np.linspace(0, 1, n)
            f[scale].make_scale(scale)
        f["zz_t"].dims[0].attach_scale(f["y"])
        f["zz_t"].dims[1].attach_scale(f["x"])
        f["aa_big"].dims[1].attach_scale(f["x"])
        layout = h5py.VirtualLayout((300, 400), "f4")
        layout[:] = h5py.VirtualSource(".", "zz_t", (300, 400))
        f.create_virtual_dataset("virtual", layout)
        h5py.h5o.set_comment(group.id, b"a comment")
    with open(name, "r+b") as raw:
        raw.write(b"the user's own block")


def theirs(names):
    """Attributes that repack has not added."""
    return [n for n in names if not n.startswith("sleek_") and n != "history"]


class Tree:
    """All that a file has, in words that are the same for the same in another file: objects are told of by their first path."""

    def __init__(self, file):
        self.file, self.names, self.rows, self.datasets = file, {}, [], {}
        found = []
        self.walk(file["/"], "/", found)
        for where, o in found:
            self.told(where, o)

    def name(self, o):
        return self.names[h5py.h5o.get_info(o.id).addr]

    def walk(self, o, where, found):
        key = h5py.h5o.get_info(o.id).addr
        if key in self.names:
            self.rows.append((where, "is", self.names[key]))
            return
        self.names[key] = where
        found.append((where, o))
        for name in o if isinstance(o, h5py.Group) else ():
            link = o.get(name, getlink=True)
            self.rows.append((where, name, type(link).__name__, vars(link), o.id.links.get_info(name.encode()).cset))
            if isinstance(link, h5py.HardLink):
                self.walk(o[name], f"{where.rstrip('/')}/{name}", found)

    def type(self, t):
        """A type that has a name is told of by it. References are the same type in every file."""
        what = "references" if t.detect_class(7) else t.copy().encode()
        return what, t.committed() and self.names[h5py.h5o.get_info(t).addr]

    def told(self, where, o):
        attributes = theirs(o.attrs)
        for name in attributes:
            one = o.attrs.get_id(name)
            self.rows.append((where, name, self.type(one.get_type()), one.shape, self.value(o.attrs[name])))
        self.rows.append((where, type(o).__name__, attributes))
        if isinstance(o, h5py.Datatype):
            self.rows.append((where, o.id.encode()))
        elif isinstance(o, h5py.Dataset):
            self.datasets[where] = o
            order = o.id.get_create_plist().get_attr_creation_order()
            sources = [(s.file_name, s.dset_name) for s in o.virtual_sources()] if o.is_virtual else None
            self.rows.append((where, self.type(o.id.get_type()), o.shape, o.maxshape, order, sources))

    def value(self, v):
        """Anything that h5py gives for elements."""
        if isinstance(v, h5py.RegionReference):
            return bool(v) and (self.name(self.file[v]), h5py.h5r.get_region(v, self.file.id).get_select_bounds())
        if isinstance(v, h5py.Reference):
            return bool(v) and self.name(self.file[v])
        if isinstance(v, np.void) and v.dtype.names:
            return [self.value(v[field]) for field in v.dtype.names]
        if isinstance(v, np.ndarray) and (v.dtype == object or v.dtype.names):
            return v.shape, [self.value(x) for x in v.ravel()]
        return (v.dtype, v.tobytes()) if isinstance(v, (np.ndarray, np.generic)) else repr(v)


def bounded(a, b, noa, fill, kept, where):
    plain = np.isfinite(a)
    if fill is not None:
        plain &= a != fill
    assert a[~plain].tobytes() == b[~plain].tobytes(), f"{where}: missing values and specials"
    v, r = a[plain].astype("f8"), b[plain].astype("f8")
    bound = noa * (v.max() - v.min()) if a.dtype.kind in "fc" else 0
    worst = np.abs(v - r).max()
    assert worst <= bound, f"{where}: {worst} > {bound}"
    assert worst > 0 or bound == 0 or where in kept, f"{where}: nothing was lost, so nothing is shown"


def same(old, new, noa, *kept):
    with h5py.File(old) as f, h5py.File(new) as g:
        assert (size := f.userblock_size) == g.userblock_size
        one, other = Tree(f), Tree(g)
        for row, theirs_ in zip(one.rows, other.rows, strict=True):
            assert row == theirs_, f"{row} became {theirs_}"
        lossy = 0
        for where, a in one.datasets.items():
            b = other.datasets[where]
            assert a.chunks in (None, b.chunks), where
            plists = [d.id.get_create_plist() for d in (a, b)]
            filters = [[p.get_filter(i)[0] for i in range(p.get_nfilters())] for p in plists]
            if a.is_virtual:
                continue
            if filters[1] != [47474]:
                assert filters[0] == filters[1] and one.value(a[()]) == other.value(b[()]), where
                assert not a.shape or a.dtype.kind != "f" or a.nbytes < 4096 or where in kept, f"{where} was kept"
                continue
            lossy += 1
            assert plists[0].get_fill_time() == plists[1].get_fill_time(), where
            assert np.array_equal(a.fillvalue, b.fillvalue, equal_nan=True), where
            assert b.id.get_storage_size() < a.id.get_storage_size(), f"{where} grew"
            bounded(a[()], b[()], float(noa), a.fillvalue if plists[0].fill_value_defined() == 2 else None, kept, where)
    with open(old, "rb") as a, open(new, "rb") as b:
        assert a.read(size) == b.read(size)
    return lossy


def scales(new):
    """The dimension scales of the new file serve."""
    with h5py.File(new) as f:
        assert [d.keys() for d in f["zz_t"].dims] == [["y"], ["x"]]
        assert f["zz_t"].dims[1][0] == f["x"] and h5py.h5ds.is_scale(f["x"].id)


def field(n=20_000):
    return 250 + 10 * np.sin(np.arange(n) * 0.01)


def marked(f, name, dtype, marks, fillvalue=None, **attributes):
    """A dataset with marks in every fifth element, and their values in an attribute of no meaning."""
    data = field().astype(dtype)
    for k, mark in enumerate(marks):
        data[5 * k :: 5 * len(marks)] = mark
    d = f.create_dataset(name, data=data, chunks=(4096,), fillvalue=fillvalue)
    d.attrs.update(attributes)
    d.attrs["marks"] = np.array(marks, dtype)


def gaps(name):
    with h5py.File(name, "w") as f:
        marked(f, "differ", "f4", [-9999, 1e20], np.float32(-9999), _FillValue=np.float32(-9999), missing_value=np.float64(1e20))
        marked(f, "vector", "f4", [-999.9, 1e20, -1e34], missing_value=np.array([-999.9, 1e20, -1e34]))
        marked(f, "integer", "f8", [-32768], missing_value=np.int16(-32768))
        marked(f, "text", ">f4", [-9999], missing_value="-9999.f")
        marked(f, "bytes", "f8", [1e36], _FillValue=np.bytes_("1e36"))
        marked(f, "valid", "f4", [-9999], _FillValue=np.float32(-9999), valid_range=np.array([100.0, 400.0]))
        f["valid"][[7, 77]] = 3e6, -2e5


def blurred(old, new):
    """The filter is told of no missing value, and to look for none; whoever declares it, and in which file, is in the names."""
    mark = np.float32(-9999.9)
    values = np.where(np.arange(20000) % 7 == 3, mark, np.arange(20000) % 100 + 0.25).astype("f4")
    words = (1, 1, *np.array([0.01]).view("u4"), 1 << 11)
    with h5py.File(old, "w") as f, h5py.File(new, "w") as g:
        for where, file in ("old", f), ("new", g):
            for how in "_FillValue", "missing_value", "fill":
                for side, h in ("old", f), ("new", g):
                    # HDF5's fill of the second file is known to the filter.
                    filters = {} if side == "old" or (how, where) == ("fill", "new") else {"compression": 47474, "compression_opts": words}
                    d = h.create_dataset(
                        f"{how} of {where}", data=values, chunks=(5000,), fillvalue=mark if (how, where) == ("fill", side) else None, **filters
                    )
                    if how != "fill" and where == side:
                        d.attrs[how] = mark
                    if side == "new" and (how, where) == ("fill", "new"):
                        d[3] = mark + 0.01
        g.create_dataset("nothing", data=values, chunks=(5000,), compression=47474, compression_opts=words)
        f["nothing"] = values


def blocks(f, name, step):
    """A view of as many files as there are, each of which has a row, one after the other or with room between them."""
    unlimited = h5py.h5s.UNLIMITED
    list_ = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    own, there = h5py.h5s.create_simple((2 * step, 400), (unlimited, 400)), h5py.h5s.create_simple((400,))
    own.select_hyperslab((0, 0), (unlimited, 1), stride=(step, 400), block=(1, 400))
    list_.set_virtual(own, b"block-%b.h5", b"a", there)
    h5py.h5d.create(f.id, name.encode(), h5py.h5t.IEEE_F32LE, own, list_)


def others(folder):
    """A file with parts that lie in others, by names that are relative to it, absolute, of the file itself, and of none."""
    os.makedirs(folder, exist_ok=True)
    field = np.cumsum(np.random.default_rng(1).normal(size=(300, 400)), axis=1).astype("f4")
    with h5py.File(f"{folder}/other.h5", "w") as f:
        f["a"] = field
    for n in range(2):
        with h5py.File(f"{folder}/block-{n}.h5", "w") as f:
            f["a"] = field[n]
    with h5py.File(f"{folder}/old.h5", "w") as f:
        f.create_dataset("t", data=field, chunks=(100, 400))
        f["link"] = h5py.ExternalLink("other.h5", "/a")
        f["nowhere"] = h5py.ExternalLink("nowhere.h5", "/a")
        f["absolute"] = h5py.ExternalLink(os.path.abspath(f"{folder}/other.h5"), "/a")
        for name, file in ("view", "other.h5"), ("own", "."), ("none", "nowhere.h5"):
            layout = h5py.VirtualLayout((300, 300), "f4")
            layout[:] = h5py.VirtualSource(file, "t" if file == "." else "a", (300, 400))[:, 100:]
            f.create_virtual_dataset(name, layout, fillvalue=-5)
        layout = h5py.VirtualLayout((3, 300, 400), "f4")
        for n, file in enumerate(["other.h5", "nowhere.h5", "other.h5"]):
            layout[n] = h5py.VirtualSource(file, "a", (300, 400))
        f.create_virtual_dataset("whole", layout, fillvalue=-5)
        blocks(f, "stacked", 1)
        blocks(f, "blocks", 2)
        f.create_dataset("outside", (300, 400), "f4", external=[(f"{folder}/raw.bin", 0, h5py.h5f.UNLIMITED)])[...] = field


def same_others(old, new):
    """What the new file shows is what the old one shows, whichever folder it is in."""
    with h5py.File(old) as f, h5py.File(new) as g:
        for name in "link", "absolute", "view", "whole", "blocks", "stacked", "outside", "none":
            assert np.array_equal(f[name][...], g[name][...]) and f[name].shape == g[name].shape, name
        assert (f["view"][...] == f["link"][:, 100:]).all() and f["blocks"].shape == (3, 400) and (f["none"][...] == -5).all()
        assert np.array_equal(g["own"][...], g["t"][:, 100:]) and g["own"].virtual_sources()[0].file_name == "."
        assert np.abs(f["t"][...].astype("f8") - g["t"][...]).max() <= 1e-2
        links = [h.get("nowhere", getlink=True) for h in (f, g)]
        assert links[0].filename == links[1].filename and links[0].path == links[1].path


def too_many(name):
    with h5py.File(name, "w") as f:
        marked(f, "t", "f4", [-9999], np.float32(-9), _FillValue=np.float32(-9999), missing_value=np.array([1.0, 2.0, 3.0]))


def undeclared(name, value):
    with h5py.File(name, "w") as f:
        marked(f, "t", "f4", [float(value)])


def hundred(name):
    """t: whole numbers from 0 to 99, and a mark that is declared."""
    with h5py.File(name, "w") as f:
        values = np.where(np.arange(20000) % 7 == 3, -9999, np.arange(20000) % 100)
        f.create_dataset("t", data=values.astype("f4"), chunks=(5000,), fillvalue=-9999)


def same_gaps(old, new):
    """Marks come back bit for bit, nothing else is equal to one, and no error is above a thousandth of what is valid."""
    with h5py.File(old) as f, h5py.File(new) as g:
        for name in f:
            a, b = f[name][()], g[name][()]
            assert g[name].id.get_create_plist().get_filter(0)[0] == 47474, name
            marks = f[name].attrs["marks"]
            for mark in marks:
                assert ((a == mark) == (b == mark)).all(), f"{name}: {mark}"
            usual = (a > 100) & (a < 400)
            v, r = a[usual].astype("f8"), b[usual].astype("f8")
            worst = np.abs(v - r).max()
            assert worst <= max(1e-3 * (v.max() - v.min()), 1e-4 * 260), f"{name}: {worst}"
        return len(f)


def large(name):
    """Floats of any bits, which nothing makes smaller."""
    with h5py.File(name, "w") as f:
        f["bits"] = np.random.default_rng(1).integers(0, 2**32, 1 << 23, dtype="u4").view("f4")


def filters(name, libver="earliest"):
    """Datasets that other filters wrote, and types that are no plain numbers."""
    import hdf5plugin as p

    y, x = np.mgrid[0:120, 0:200]
    random = np.random.default_rng(3)
    smooth = (np.sin(x / 30) + np.cos(y / 20) + random.normal(size=x.shape) * 1e-3).astype("f4")
    rough = random.normal(size=x.shape)
    counts = random.poisson(40, size=x.shape).astype("i4")
    with h5py.File(name, "w", libver=libver) as f:
        chunks = {"chunks": (40, 200)}
        for kind, data in ("smooth", smooth), ("rough", rough), ("counts", counts):
            group = f.create_group(kind)
            lossless = {
                "gzip": {"compression": 4},
                "shuffle_gzip": {"compression": 9, "shuffle": True},
                "fletcher": {"compression": 4, "shuffle": True, "fletcher32": True},
                "szip": {"compression": "szip"},
                "lzf": {"compression": "lzf"},
                "blosc": p.Blosc(cname="zstd", clevel=9),
                "blosc2": p.Blosc2(cname="zstd", clevel=9),
                "bitshuffle": p.Bitshuffle(cname="zstd"),
                "zstd": {"shuffle": True, **p.Zstd(clevel=19)},
                "lz4": p.LZ4(),
                "bzip2": p.BZip2(),
                "plain": {},
            }
            for filter, options in lossless.items():
                group.create_dataset(filter, data=data, **chunks, **options)
            dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            dcpl.set_chunk((40, 200))
            dcpl.set_filter(h5py.h5z.FILTER_NBIT)
            space = h5py.h5s.create_simple(data.shape)
            kind_id = h5py.h5t.py_create(data.dtype)
            h5py.h5d.create(group.id, b"nbit", kind_id, space, dcpl).write(space, space, data)
            group.create_dataset("scaleoffset", data=data, scaleoffset=0 if kind == "counts" else 3, **chunks)
            if kind != "counts":
                for filter, options in {
                    "lossy_zfp": p.Zfp(accuracy=1e-3),
                    "lossy_sz": p.SZ(absolute=1e-3),
                    "lossy_sz3": p.SZ3(absolute=1e-3),
                    "lossy_sperr": p.Sperr(absolute=1e-3),
                }.items():
                    group.create_dataset(filter, data=data, **chunks, **options)
        f["complex"] = smooth + 1j * rough
        f.create_dataset("compound", data=np.rec.fromarrays([rough.ravel(), counts.ravel()], names="a,b"), chunks=(4000,), compression=4)
        f.create_dataset("bools", data=counts > 40, chunks=(40, 200), compression=4)
        f.create_dataset("opaque", data=rough.ravel()[:2000].view("V8"))
        f.create_dataset("halves", data=smooth.astype("f2"), **chunks)
        f.create_dataset("strings", data=[str(n) for n in counts.ravel()[:2000]])
        f.create_dataset("fixed", data=np.array([str(n) for n in counts.ravel()[:2000]], "S8"), chunks=(500,), compression=4)
        sequences = f.create_dataset("sequences", (300,), h5py.vlen_dtype("f8"))
        for i in range(300):
            sequences[i] = rough.ravel()[:i]
        f.create_dataset("references", data=np.array([f["smooth/gzip"].ref] * 900, dtype=h5py.ref_dtype))
        f.create_dataset("enum", data=counts % 3, dtype=h5py.enum_dtype({"A": 0, "B": 1, "C": 2}, "u1"), chunks=(40, 200))


def unharmed(old, new, table, noa):
    """Nothing is lost that was not asked for, and of each dataset the table says what was done, and why."""
    import hdf5plugin  # noqa: F401  (its filters are there by that)

    rows = {row["dataset"].strip("/"): row for row in table}
    before, after = os.path.getsize(old), os.path.getsize(new)
    assert after <= 1.01 * before, f"{before} bytes became {after}"
    seen = []
    with h5py.File(old) as a, h5py.File(new) as b:
        a.visititems(lambda name, x: seen.append(name) if isinstance(x, h5py.Dataset) else None)
        assert set(seen) == set(rows), set(seen) ^ set(rows)
        for name in seen:
            x, y, row = a[name], b[name], rows[name]
            what, grown = row["what"], row["stored_after"] / max(row["stored_before"], 1)
            assert what and grown <= 1.01, row
            assert row["stored_after"] == y.id.get_storage_size() and row["stored_before"] == x.id.get_storage_size(), row
            assert row["compressed"] != what.startswith("kept: "), row
            filters = [str(47474) in y._filters, x._filters == y._filters]
            assert filters == [row["compressed"], not row["compressed"]] or x._filters == {} == y._filters, (name, row, y._filters)
            if "lossy" in name or name.endswith("scaleoffset") and not name.startswith("counts"):
                said = "whose errors stay in it" if row["compressed"] else ", lossy)"
                assert said in what or "needs filter" in what, row
            else:
                assert "errors" not in what and "lossy)" not in what, row
            u, v = x[...], y[...]
            if what.startswith("noa"):
                finite = u.astype("c16" if u.dtype.kind == "c" else "f8")
                span = np.ptp(np.concatenate([finite.real.ravel(), finite.imag.ravel()]))
                error = np.abs((finite - v).view("f8")).max()
                assert 0 < error <= float(noa) * span, f"{name}: {error} of {span}"
            else:
                assert command.same(x, y), name


def many_chunks(name):
    """24 MB in 60 chunks of gzip, alike from the first to the last."""
    t, y, x = np.mgrid[0:60, 0:200, 0:500]
    field = 280 + 5 * np.sin(x / 30 + t / 7) * np.cos(y / 20) + 1e-3 * np.random.default_rng(4).normal(size=t.shape)
    with h5py.File(name, "w") as f:
        f.create_dataset("field", data=field.astype("f4"), chunks=(1, 200, 500), compression=1)


def spoil(name):
    """The first chunk of `many_chunks` cannot be decoded any more."""
    with h5py.File(name, "r+") as f:
        f["field"].id.write_direct_chunk((0, 0, 0), bytes(1000))


def complex_numbers(name):
    """Complex numbers as h5py stores them, with fill values, in both orders, and compounds that are none."""
    y, x = np.mgrid[0:120, 0:90]
    z = 300 + np.sin(x / 9 + y * y / 900) + 1j * np.cos(y / 7 + x * x / 1700)
    with h5py.File(name, "w") as f:
        for kind in "<c8", ">c8", "<c16", ">c16":
            f.create_dataset(kind[1:] + ("be" if kind[0] == ">" else ""), data=z.astype(kind), chunks=(50, 90), compression=4)
        gaps = z.astype("c8")
        gaps[::5, ::7] = 1e20 - 9999j
        gaps.imag[3, 3] = -9999
        f.create_dataset("gaps", data=gaps, chunks=(50, 90), fillvalue=np.complex64(1e20 - 9999j))
        pairs = np.zeros(3000, [("u", "f4"), ("v", "f4")])
        pairs["u"], pairs["v"] = z.real.ravel()[:3000], z.imag.ravel()[:3000]
        f.create_dataset("pairs", data=pairs, chunks=(1000,))


def complex_parts(old, new, noa):
    """The bound holds for real and imaginary parts, by the range of all of them; parts of a fill value are exact."""
    with h5py.File(old) as a, h5py.File(new) as b:
        assert set(a) == set(b)
        for name in a:
            assert a[name].dtype == b[name].dtype
            if name == "pairs":
                assert a[name][:].tobytes() == b[name][:].tobytes()
                continue
            assert "47474" in b[name]._filters, name
            u, v = (np.ascontiguousarray(d[:]).view(d.dtype.str[0] + f"f{d.dtype.itemsize // 2}") for d in (a[name], b[name]))
            marks = np.isin(u, [np.float32(1e20), -9999])
            assert (np.isin(v, [np.float32(1e20), -9999]) == marks).all() and (u[marks] == v[marks]).all()
            span = np.ptp(u[~marks].astype("f8"))
            error = np.abs(u[~marks].astype("f8") - v[~marks]).max()
            assert span < 303 and 0 < error <= float(noa) * span, (name, error, span)
            assert set(b[name].attrs) >= {"sleek_bound", "sleek_mode"}


def netcdf(name):
    """A file with all that netCDF-4 writes: groups, types, unlimited and shared dimensions, variables named as no dimension is."""
    import netCDF4

    with netCDF4.Dataset(name, "w") as f:
        f.title = "a test"
        for dimension, size in ("time", None), ("y", 60), ("x", 80), ("bare", 7):
            f.createDimension(dimension, size)
        for coordinate, n in ("x", 80), ("y", 60):
            v = f.createVariable(coordinate, "f8", (coordinate,))
            v[:] = np.linspace(0, 1, n)
        f.createVariable("time", "f8", ("time",))[:] = np.arange(5)
        y, x = np.mgrid[0:60, 0:80]
        data = np.stack([280 + np.sin(x / 9 + k) + np.cos(y / 7) for k in range(5)])
        t = f.createVariable("t", "f4", ("time", "y", "x"), zlib=True, fill_value=-9999.0, chunksizes=(1, 60, 80))
        t.units = "K"
        t[:] = np.ma.masked_where(data < 278.6, data)
        group = f.createGroup("deeper")
        group.createDimension("z", 11)
        group.createVariable("u", "f8", ("z", "y", "x"))[:] = np.stack([data[0] * k for k in range(11)])
        pair = f.createCompoundType(np.dtype([("a", "i4"), ("b", "f8")]), "pair")
        f.createVariable("pairs", pair, ("bare",))[:] = np.zeros(7, pair.dtype)
        level = f.createEnumType("u1", "level", {"low": 0, "high": 1})
        f.createVariable("levels", level, ("bare",), fill_value=0)[:] = [0, 1, 0, 1, 0, 1, 0]
        f.createVariable("words", str, ("bare",))[:] = np.array(list("abcdefg"), dtype=object)


def xarray(old, new, group, noa):
    """xarray and netCDF4 find in the new file what they found in the old one."""
    import netCDF4
    import xarray

    def tree(group):
        variables = {n: (v.dimensions, v.dtype, theirs(v.ncattrs()), str(v.datatype)) for n, v in group.variables.items()}
        dimensions = {n: (len(d), d.isunlimited()) for n, d in group.dimensions.items()}
        return variables, dimensions, list(group.cmptypes), list(group.enumtypes), [(n, tree(g)) for n, g in group.groups.items()]

    with netCDF4.Dataset(old) as a, netCDF4.Dataset(new) as b:
        assert tree(a) == tree(b), f"{tree(a)}\n{tree(b)}"
        assert theirs(a.ncattrs()) == theirs(b.ncattrs()) and a.data_model == b.data_model
    options = {} if group == "/" else {"group": group}
    for engine in "netcdf4", "h5netcdf":
        with xarray.open_dataset(old, engine=engine, **options) as a, xarray.open_dataset(new, engine=engine, **options) as b:
            assert list(a.variables) == list(b.variables) and a.sizes == b.sizes
            for name, x in a.variables.items():
                y = b[name].variable
                assert theirs(x.attrs) == theirs(y.attrs) and x.dims == y.dims, name
                if x.dtype.kind == "f":
                    assert (np.isnan(x) == np.isnan(y)).all(), f"{name}: missing values"
                    bound = float(noa) * float(np.nanmax(x) - np.nanmin(x))
                    assert np.nanmax(np.abs(x.values.astype("f8") - y.values)) <= bound, name
                elif x.dtype.kind != "O":
                    assert (x.values == y.values).all(), name


def header(file):
    """What ncdump shows of a file, without its name and what repack says it did."""
    said = subprocess.run(["ncdump", "-h", file], stdout=subprocess.PIPE, text=True, check=True).stdout
    added = ":sleek_", ": sleek ", "\t\t:history", "// global attributes:"
    return "\n".join(line for line in said.splitlines()[1:] if line and not any(part in line for part in added))
