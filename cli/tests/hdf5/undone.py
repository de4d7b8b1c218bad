"""`sleek repack` where other filters, or this one, were there before; what it leaves exact."""

import ctypes

from command import as_json, fails, filters_of, h5py, has, lacks, line, main, make, np, of, run, same, scenario, sleek, told

from scenarios import LOSSLESS, MANDATORY, create, opts
import fields

Y, X = np.mgrid[0:200, 0:300]


@scenario
def chains_of_filters_are_undone():
    """Filters behind one another, each of which makes noise a little longer."""
    chains = [(47474, 1), (47474, 2, 1), (1, 47474), (47474, 1, 1), (2, 1, 47474, 1)]
    noise = np.random.default_rng(5).integers(0, 2**32, (100, 300), "u4").view("f4")
    steps = {1: lambda p: p.set_deflate(1), 2: lambda p: p.set_filter(2, 0), 47474: lambda p: p.set_filter(47474, 0, opts(LOSSLESS))}
    with h5py.File("old.h5", "w") as f:
        for n, chain in enumerate(chains):
            create(f, f"{n}", noise, (50, 100), None, MANDATORY, before=[steps[code] for code in chain])
    sleek("repack --lossless --even-if-larger --verify old.h5 new.h5")
    with h5py.File("old.h5") as a, h5py.File("new.h5") as b:
        assert all(a[key][...].tobytes() == b[key][...].tobytes() and filters_of(b[key]) == [47474] for key in a)


@scenario
def coordinates_by_their_own_attributes():
    """Latitudes, longitudes and times that nothing names as coordinates."""
    attributes = {
        "lat": {"units": np.bytes_("degrees_north")}, "lon": {"units": "degree_E"}, "time": {"units": "hours since 1900-01-01"},
        "y": {"standard_name": "latitude"}, "x": {"standard_name": "longitude"}, "t": {"standard_name": "time"}, "z": {"axis": "Z"},
        "data": {"units": "degrees"}, "days": {"units": "days", "standard_name": "time_bounds"},
    }  # fmt: skip
    make("old.h5", **{name: np.linspace(0, 90, 6000).astype("f4") for name in attributes})
    with h5py.File("old.h5", "r+") as f:
        for name, told_ in attributes.items():
            f[name].attrs.update(told_)
    table = sleek("repack --abs 1e-3 old.h5 new.h5")
    for name in attributes:
        has(line(table, f"/{name}"), "abs 0.001" if name.startswith("da") else "lossless: coordinates (")
    has(line(table, "/time"), "units hours since 1900-01-01")
    # By name they are compressed all the same.
    has(line(sleek("repack --dataset lat=abs=1e-3 --force old.h5 new.h5"), "/lat"), "abs 0.001")


@scenario
def the_filter_is_undone():
    """What the filter has compressed is undone, all else stays: the file is read without the plugin then."""
    fields.make("old.h5", "v110")
    sleek("repack --lossless old.h5 packed.h5")
    has(sleek("repack --filter none --verify packed.h5 new.h5"), "restored, without SLEEK", "verified")
    sleek("decompress -q packed.h5 again.h5")
    for file in "new.h5", "again.h5":
        lacks(run("h5dump", "-pH", file), "47474")
        run("h5diff", "old.h5", file)
    fails("repack --filter none --abs 1 packed.h5 x.h5", "no bound")
    fails("decompress packed.h5 x.npy", "is an HDF5 file; one variable of it is")


@scenario
def undoing_rounds_nothing_again():
    """A filter that rounds is not put back: its values would be others than those of the compressed file."""
    a = (280 + np.random.default_rng(0).random((200, 300))).astype("f4")
    with h5py.File("old.h5", "w") as f:
        f.create_dataset("t", data=a, chunks=(50, 100), scaleoffset=1, shuffle=True)
    sleek("repack --even-if-larger --abs 0.06 old.h5 packed.h5")
    sleek("decompress -q packed.h5 new.h5")
    with h5py.File("packed.h5") as packed, h5py.File("new.h5") as new:
        assert (packed["t"][()] == new["t"][()]).all() and new["t"].scaleoffset is None and new["t"].shuffle


@scenario
def a_filter_that_refuses_is_left_out():
    """A filter that HDF5 finds and that takes no dataset of this process: the values come back without it."""
    import hdf5plugin

    a = np.random.default_rng(0).random((200, 300), "f4")
    with h5py.File("old.h5", "w") as f:
        f.create_dataset("t", data=a, chunks=(50, 100), compression="gzip")
        f.create_dataset("u", data=a, chunks=(50, 100), **hdf5plugin.Blosc())
    plugins = {"HDF5_PLUGIN_PATH": hdf5plugin.PLUGINS_PATH}
    sleek("repack -q --abs 1e-3 old.h5 packed.h5", env=plugins)
    said = told("decompress -q packed.h5 new.h5", env=plugins)
    has(said, "u: comes back without")
    lacks(said, "t: comes")
    with h5py.File("packed.h5") as packed, h5py.File("new.h5") as new:
        assert all((packed[name][()] == new[name][()]).all() for name in "tu")
        assert new["t"].compression == "gzip" and filters_of(new["u"]) == []
    # Nor does one that this HDF5 does not find.
    said = told("decompress -qf packed.h5 new.h5")
    has(said, "u: comes back without ", ", which HDF5 does not find; ")
    lacks(said, "t: comes")


@scenario
def a_variable_is_extracted():
    """One variable of a file, or a box of it, as NumPy reads it."""
    a = np.arange(40 * 50 * 60, dtype=">f4").reshape(40, 50, 60)
    with h5py.File("a.h5", "w") as f:
        f.create_dataset("g/t", data=a, chunks=(7, 20, 60))
        f["n"] = np.arange(5)
    sleek("repack --lossless a.h5 b.h5")
    sleek("decompress -q b.h5:t t.npy")
    sleek("decompress -q --box 3:11,:,5:2 b.h5:/g/t part.npy")
    sleek("decompress -q b.h5:n n.bin")
    t, part, n = np.load("t.npy"), np.load("part.npy"), np.fromfile("n.bin", "i8")
    assert t.dtype == a.dtype and (t == a).all() and (part == a[3:14, :, 5:7]).all() and (n == range(5)).all()
    fails("decompress b.h5:u u.npy", "u: there is no such variable; there are /")
    fails("decompress --box 0:50,:,: b.h5:t u.npy", "--box: /g/t")


@scenario
def coordinates_and_integers_lose_nothing_and_get_smaller():
    """What a bound is not for is compressed losslessly where that makes it smaller."""
    make(
        "old.h5",
        t=(np.sin(X / 20) + Y / 60).astype("f4"),
        lat=(Y * 0.25 - 25 + X * 0.001).astype("f4"),
        steps=(X + Y).astype("i4"),
        noise=np.random.default_rng(1).integers(-(2**31), 2**31, (200, 300), dtype="i4"),
        few=np.arange(100, dtype="i4"),
        other=(np.cos(X / 20) + Y / 60).astype("f4"),
    )
    with h5py.File("old.h5", "r+") as f:
        f["t"].attrs["coordinates"] = "lat"

    def lines(request, new, **wanted):
        table = sleek(f"repack --force --verify --abs 1e-3 {request} old.h5 {new}")
        for name, part in wanted.items():
            has(line(table, f"/{name}") + "\n", part)

    lossless = "  lossless: integers of 4 bytes: bounds are for floats\n"
    small = {"noise": "kept: as small as it is", "few": "kept: small\n"}
    lines("", "new.h5", lat="  lossless: coordinates (coordinates of /t)\n", steps=lossless, **small)
    # Neither grows, whatever is asked of the others.
    lines("--even-if-larger", "larger.h5", **small)
    with h5py.File("old.h5") as a, h5py.File("new.h5") as b:
        assert all(same(a[name], b[name]) for name in ("lat", "steps", "noise", "few"))
    lines("--others keep", "kept.h5", lat="kept: coordinates (coordinates of /t)\n")
    size = {name: len(open(f"{name}.h5", "rb").read()) for name in ("new", "kept")}
    assert size["new"] < size["kept"] - 200_000, size
    # Those that nobody asked for stay, unless they are asked for.
    lines("-v t", "named.h5", other="kept: not named\n", lat="kept")
    lines("-v t --others lossless", "all.h5", other="  lossless: not named\n", t="  abs 0.001\n")
    lines("--exclude lat", "excluded.h5", lat="kept: by request\n")
    fails("repack --filter none --others keep new.h5 x.h5", "--others")


@scenario
def the_filter_is_undone_of_every_type():
    """Whatever the type: what HDF5 can read is restored, and the rest of the file goes on."""
    packed, n = {"chunks": (50,), "compression": 47474}, 500
    with h5py.File("old.h5", "w") as f:
        f.create_dataset("numbers", data=np.arange(500.0), **packed)
        f.create_dataset("texts", data=[f"cell {i} é" for i in range(n)], dtype=h5py.string_dtype(), **packed)
        f.create_dataset("fixed", data=np.array([b"abc", b"de"] * 250), **packed)
        ragged = f.create_dataset("ragged", (n,), h5py.vlen_dtype("i4"), **packed)
        ragged[:] = np.array([np.arange(i % 7, dtype="i4") for i in range(n)], dtype=object)
        refs = f.create_dataset("refs", (n,), h5py.ref_dtype, **packed)
        refs[:] = [f["texts"].ref if i % 3 else f["numbers"].ref for i in range(n)]
        kind = np.dtype([("a", "f8"), ("name", h5py.string_dtype()), ("b", "i2")])
        f.create_dataset("parts", data=np.array([(i / 7, f"n{i}", i) for i in range(n)], dtype=kind), **packed)
        f.create_dataset("nothing", (n,), h5py.string_dtype(), **packed)
        f["texts"].attrs["who"] = "nobody"
    tree = sleek("inspect old.h5")
    for name in "texts", "ragged", "refs", "parts":
        has(next(line for line in tree.splitlines() if f"─ {name}  " in line), "; SLEEK")
    sleek("decompress -q old.h5 new.h5")
    table = sleek("repack --filter none --verify old.h5 again.h5")
    has(line(table, "/texts"), "restored, without SLEEK")
    has(table, "verified")
    for file in "new.h5", "again.h5":
        lacks(run("h5dump", "-pH", file), "47474")
        with h5py.File("old.h5") as a, h5py.File(file) as b:
            assert sorted(a) == sorted(b) and b["texts"].attrs["who"] == "nobody"
            assert not [name for name in a if not same(a[name], b[name])]


@scenario
def the_filters_of_before_come_back():
    """Or others that are asked for."""
    y, x = np.mgrid[0:300, 0:400]
    with h5py.File("old.h5", "w") as f:
        more = {"compression": "gzip", "compression_opts": 6, "shuffle": True, "fletcher32": True}
        f.create_dataset("t", data=np.round(np.sin(x / 90) + y / 60, 2).astype("f4"), chunks=(100, 400), **more)
        f.create_dataset("n", data=(x + y).astype("i4"), chunks=(100, 400), compression="lzf")
        f.create_dataset("plain", data=np.cos(x / 90).astype("f4"), chunks=(100, 400))
    sleek("repack --abs 1e-2 old.h5 packed.h5")
    sleek("repack --abs 1e-1 packed.h5 twice.h5")

    def filters(dataset):
        plist = dataset.id.get_create_plist()
        return [plist.get_filter(k)[:3:2] for k in range(plist.get_nfilters())]

    for packed in "packed.h5", "twice.h5":
        sleek(f"decompress -q --force {packed} new.h5")
        with h5py.File("old.h5") as a, h5py.File("new.h5") as b:
            assert all(filters(a[n]) == filters(b[n]) for n in a), [(filters(a[n]), filters(b[n])) for n in a]
            assert "sleek_filters" not in b["t"].attrs
    sleek("repack --filter deflate=9 packed.h5 deflated.h5")
    with h5py.File("deflated.h5") as f:
        assert (f["t"].compression, f["t"].compression_opts, f["t"].shuffle) == ("gzip", 9, True)
    sleek("repack --abs 1e-2 --no-attributes old.h5 silent.h5")
    sleek("decompress -q --force silent.h5 new.h5")
    with h5py.File("new.h5") as f:
        assert f["t"].compression is None
    for wrong in "gzip", "deflate=0", "deflate=10", "none=1":
        fails(f"repack --filter {wrong} packed.h5 x.h5", "deflate=9")


@scenario
def filters_behind_ours_stay():
    """Unless others are asked for."""
    with h5py.File("old.h5", "w") as f:
        f.create_dataset("t", data=np.arange(3000), chunks=(1000,), compression=47474, fletcher32=True)
    for filter_, expected in ("none", [3]), ("deflate=9", [2, 1]):
        sleek(f"repack --force --filter {filter_} old.h5 new.h5")
        with h5py.File("new.h5") as f:
            assert filters_of(f["t"]) == expected and (f["t"][:] == np.arange(3000)).all()
    sleek("repack -q --lossless --profile small --even-if-larger old.h5 packed.h5")
    sleek("decompress -qf packed.h5 new.h5")
    with h5py.File("packed.h5") as packed, h5py.File("new.h5") as f:
        assert filters_of(packed["t"]) == [47474] and filters_of(f["t"]) == [3]


@scenario
def valid_values_stay_valid():
    """No value leaves the valid range that was inside."""
    y, x = np.mgrid[0:400, 0:500]
    a = np.clip(0.5 + 0.7 * np.sin(x / 40) * np.cos(y / 50), 0, 1).astype("f4")
    limits = {
        "cld": {"valid_max": np.float32(1)}, "both": {"valid_range": np.array([0, 1], "f4")}, "ends": {"valid_min": 0.0, "valid_max": 1.0}, "free": {},
    }  # fmt: skip
    with h5py.File("old.h5", "w") as f:
        for name, attributes in limits.items():
            f.create_dataset(name, data=a, chunks=(100, 500)).attrs.update(attributes)

    def left(file, name):
        with h5py.File(file) as f:
            b = f[name][()].astype("f8")
        assert abs(a - b).max() <= 2.01e-4
        return int((b > 1).sum())

    for profile in "adaptive", "fast", "small":
        has(sleek(f"repack --force --verify --noa 2e-4 --profile {profile} old.h5 new.h5"), "verified")
        assert [left("new.h5", name) for name in ("cld", "both", "ends")] == [0, 0, 0], profile
        assert profile != "adaptive" or left("new.h5", "free") > 0, "the case is none"
    # Limits in a wider type than the data: 0.3 is below the nearest float, which the data hold.
    x = np.random.default_rng(0).uniform(0, 0.4, size=(100, 100)).clip(0.1, 0.3).astype("f4")
    with h5py.File("wide.h5", "w") as f:
        f.create_dataset("x", data=x, chunks=(50, 100)).attrs.update(valid_min=0.1, valid_max=0.3)
    for profile in "adaptive", "fast", "small":
        sleek(f"repack -q --force --verify --abs 0.05 --profile {profile} wide.h5 new.h5")
        with h5py.File("new.h5") as f:
            b = f["x"][()]
        assert np.array_equal(b == np.float32(0.3), x == np.float32(0.3)) and b.max() == np.float32(0.3) and b.min() >= 0.1
        assert 0.02 < abs(x - b).max() <= 0.05
    # Who asks for a bound alone is told what it costs.
    with h5py.File("alone.h5", "w") as f:
        for name, options in ("cld", "abs=2e-4"), ("ends", "abs=2e-4,limits=0:1"):
            words = (2, *np.frombuffer(options.encode() + bytes(-len(options) % 4), "<u4").tolist())
            f.create_dataset(name, data=a, chunks=(100, 500), compression=47474, compression_opts=words).attrs.update(limits[name])
    n, table = left("alone.h5", "cld"), sleek("verify old.h5 alone.h5", code=1)
    assert n > 0
    has(line(table, "/cld"), f"; {n} left the valid range: programs take them for missing")
    lacks(line(table, "/ends"), "left the valid range")
    d = of(as_json("verify --json old.h5 alone.h5", code=1), "/cld")
    assert (d["left_valid_range"], d["verdict"]) == (n, "within bound"), d


@scenario
def rounded_twice_and_undone():
    """What was rounded twice is held to the sum of both bounds; undone, its checksums are as mandatory as they were."""
    x = np.cumsum(np.random.default_rng(1).normal(size=40_000)).astype("f4")
    with h5py.File("old.h5", "w") as f:
        f.create_dataset("x", data=x, chunks=(4000,), compression="gzip", fletcher32=True)
        f.create_dataset("none", (0, 5), "f4", chunks=(1, 5), maxshape=(None, 5))
    sleek("repack -q --abs 0.01 old.h5 once.h5")
    sleek("repack -q --abs 0.02 once.h5 twice.h5")
    has(sleek("verify -q old.h5:x twice.h5"), "within bound", "abs=0.01, abs=0.02 by its attributes")
    has(sleek("verify -q once.h5:x twice.h5"), " abs 2e-2, max error")
    sleek("decompress -q once.h5 back.h5")
    with h5py.File("old.h5") as old, h5py.File("back.h5") as back:
        plists = [f["x"].id.get_create_plist() for f in (old, back)]
        before, after = ([p.get_filter(k)[:2] for k in range(p.get_nfilters())] for p in plists)
    assert before == after and (h5py.h5z.FILTER_FLETCHER32, 0) in after, (before, after)
    fails("show --text old.h5:none", "has no element to be shown: its dimensions are [0, 5]")


@scenario
def what_has_no_name_is_not_lost():
    """HDF5 keeps an object by its count, though a reference alone leads to it."""
    count = ctypes.CDLL(str(fields.libhdf5("venv-python"))).H5Oincr_refcount
    count.argtypes = [ctypes.c_int64]
    with h5py.File("old.h5", "w") as f:
        f["x"] = np.arange(2000.0)
        hidden = f.create_dataset(None, data=f["x"])
        count(hidden.id.id)
        f["r"] = np.array([hidden.ref, f["x"].ref], dtype=h5py.ref_dtype)
    fails("repack -q --lossless old.h5 new.h5", "/r: refers to an object that has no name")
    with h5py.File("old.h5", "r+") as f:
        f["named"] = f[f["r"][0]]
    sleek("repack -q --lossless --even-if-larger old.h5 new.h5")
    with h5py.File("new.h5") as f:
        assert [f[r].name for r in f["r"]] == ["/named", "/x"]


def everything_of(name, values):
    """Each way that values of the variable v leave a file, also into others."""
    sleek(f"decompress -qf {name}:v all.npy")
    sleek(f"decompress -qf --stride 2 {name}:v part.npy")
    sleek(f"decompress -qf {name} undone.h5")
    sleek(f"repack -qf --lossless --even-if-larger --verify {name} packed.h5")
    sleek(f"test {name}")
    assert np.load("all.npy").tobytes() == values.tobytes()
    assert np.load("part.npy").tobytes() == values[tuple(slice(None, None, 2) for _ in values.shape)].tobytes()
    for file in "undone.h5", "packed.h5":
        with h5py.File(file) as f:
            assert f["v"][...].tobytes() == values.tobytes(), file
        sleek(f"verify -q {name} {file}")


@scenario
def wrong_places_of_chunks():
    """Where one dimension is unlimited and not the first, HDF5 lists chunks at wrong places: nothing is taken from there."""
    random = np.random.default_rng(3)
    for limits in (9, None, 14), (9, 30, None), (None, 21, 14):
        for written in (...,), (slice(7, None), slice(0, 12), slice(0, 5)), (slice(0, 7), slice(12, None)), (slice(0, 0),):
            for kind in "none", "gzip", "sleek", "bytes":
                y = random.normal(size=(9, 21, 14)).astype("f4")
                how = {"compression": "gzip"} if kind == "gzip" else {}
                if kind in ("sleek", "bytes"):
                    how = {"compression": 47474, "compression_opts": opts(LOSSLESS)}
                for name, version in ("old.h5", "v110"), ("twin.h5", "earliest"):
                    with h5py.File(name, "w", libver=(version, "v110")) as f:
                        v = f.create_dataset("v", y.shape, "S4" if kind == "bytes" else "f4", chunks=(7, 12, 5), maxshape=limits, **how)
                        v[written] = y.astype(v.dtype)[written]
                with h5py.File("twin.h5") as f:
                    values = f["v"][...]
                if kind != "bytes":
                    everything_of("old.h5", values)
                    old, twin = (as_json(f"stats --json {name}:v") for name in ("old.h5", "twin.h5"))
                    assert {**old, "name": 0} == {**twin, "name": 0}
                    continue
                sleek("test old.h5")
                sleek("decompress -qf old.h5 undone.h5")
                with h5py.File("undone.h5") as f:
                    assert f["v"][...].tobytes() == values.tobytes() and filters_of(f["v"]) == []


@scenario
def what_was_never_written_stays_so_whatever_the_type():
    """Texts in compounds and references, which go from file to file by their values."""
    record = np.dtype([("a", "f4"), ("s", h5py.string_dtype())])
    with h5py.File("old.h5", "w") as f:
        f.create_dataset("c", (3_000_000,), record, chunks=(1000,), compression=47474, compression_opts=opts(LOSSLESS))[2005] = (1.5, "q")
        f.create_dataset("r", (3000, 1000), h5py.ref_dtype, chunks=(70, 30))[2999, 7:9] = f["c"].ref
        f.create_dataset("all", data=[f["c"].ref] * 500)
    sleek("decompress -q old.h5 new.h5")
    with h5py.File("new.h5") as f:
        assert f["c"][2005]["s"] == b"q" and f["c"][2004]["a"] == 0 and f["c"].id.get_num_chunks() == 1
        assert [bool(r) for r in f["r"][2999, 6:10]] == [False, True, True, False] and f["r"].id.get_num_chunks() == 1
        assert all(f[r].name == "/c" for r in [f["r"][2999, 7], *f["all"]])


@scenario
def chunks_that_do_not_shrink():
    """HDF5 2.2 takes no stream that is longer than its buffer is said to be."""
    noise = np.frombuffer(np.random.default_rng(5).bytes(24 * 30), np.uint8)
    with h5py.File("old.h5", "w") as f:
        for name, kind in ("records", np.dtype([("a", "u8"), ("b", "u4")])), ("bytes", "V12"):
            create(f, name, noise.view(kind), (10,), opts(LOSSLESS), MANDATORY)
        create(f, "references", np.array([f.ref] * 3, h5py.ref_dtype), (1,), opts(LOSSLESS), MANDATORY)
    for request in "repack -qf --lossless --even-if-larger", "decompress -qf":
        sleek(f"{request} --library {fields.libhdf5('venv-netcdf', 'netcdf4')} old.h5 new.h5")
        with h5py.File("old.h5") as f, h5py.File("new.h5") as g:
            assert all(same(f[name], g[name]) for name in f)


@scenario
def damage_is_no_missing_chunk():
    """Where the list of chunks is damaged nothing counts as never written."""
    with h5py.File("old.h5", "w", libver=("v110", "v110")) as f:
        f.create_dataset("v", data=np.ones((40, 400), "f4"), chunks=(2, 2), maxshape=(40, None), compression="gzip")
    whole = open("old.h5", "rb").read()
    for at in whole.rindex(b"EADB"), whole.rindex(b"EASB"), whole.rindex(b"EAIB"):
        with open("old.h5", "wb") as f:
            f.write(whole[: at + 20] + bytes([whole[at + 20] ^ 255]) + whole[at + 21 :])
        for request in "decompress -q old.h5:v x.npy", "decompress -q --stride 2 old.h5:v x.npy", "decompress -q old.h5 x.h5", "stats old.h5:v":
            fails(request, "")
        has(told("test old.h5", code=1), "DAMAGED: /v: ")


def with_a_plain_rim(name, y, chain, limits=None):
    """A variable v of which HDF5 stores plain what chunks lie in it only in part."""
    library = next(line.split()[-1] for line in open("/proc/self/maps") if "h5py.libs/libhdf5-" in line)
    set_options = ctypes.CDLL(library).H5Pset_chunk_opts
    set_options.argtypes = [ctypes.c_int64, ctypes.c_uint]
    with h5py.File(name, "w", libver=("v110", "v110")) as f:
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        creation.set_chunk((128, 128))
        for code in chain:
            creation.set_filter(code, 0, {1: (1,), 2: (4,), 47474: opts(LOSSLESS)}[code])
        assert set_options(creation.id, 2) >= 0
        space, kind = h5py.h5s.create_simple(y.shape, limits), h5py.h5t.py_create(y.dtype)
        h5py.h5d.create(f.id, b"v", kind, space, creation).write(h5py.h5s.ALL, h5py.h5s.ALL, y)


@scenario
def kept_with_a_plain_rim_at_wrong_places():
    """HDF5's own copy takes chunks at the rim for others there."""
    y = np.random.default_rng(6).integers(0, 99, (300, 200))
    libraries = *map(fields.libhdf5, ("venv-h5py-1.14", "venv-h5py-2")), fields.libhdf5("venv-netcdf", "netcdf4")
    for chain in (1,), (2, 1), (47474,):
        with_a_plain_rim("old.h5", y, chain, (300, h5py.h5s.UNLIMITED))
        for library in libraries:
            sleek(f"repack -qf --abs 1e-3 --others keep --library {library} old.h5 new.h5")
            with h5py.File("old.h5") as f, h5py.File("new.h5") as g:
                old, new = f["v"].id, g["v"].id
                assert np.array_equal(g["v"], y) and filters_of(f["v"]) == filters_of(g["v"])
                places = [(i, j) for i in (0, 128, 256) for j in (0, 128)]
                assert all(old.read_direct_chunk(at) == new.read_direct_chunk(at) for at in places)


@scenario
def chunks_at_the_rim_without_filters():
    """HDF5 stores chunks of which only a part lies in the dataset plain, if it is asked to, and says so of none."""
    y = np.random.default_rng(4).normal(size=(300, 200)).astype("f4")
    for chain in (2,), (1,), (2, 1), (47474,):
        with_a_plain_rim("old.h5", y, chain)
        everything_of("old.h5", y)
        stats = as_json("stats --json old.h5:v")
        assert (stats["min"], stats["max"]) == (y.min(), y.max())


if __name__ == "__main__":
    main()
