"""`sleek inspect` and `sleek verify` of HDF5 files, and what h5diff, ncdump and CDO say of the same."""

import shutil
from pathlib import Path

from command import as_json, attempt, fails, h5py, has, lacks, line, main, make, np, of, run, scenario, sleek, told

from scenarios import NOA, opts
import fields


def pair(bound):
    """A file of everything that HDF5 has, and the same after `repack`."""
    fields.make("old.h5")
    sleek(f"repack -q --force {bound} old.h5 new.h5")


@scenario
def inspect_shows_what_is_in_a_file():
    pair("--abs 2e-3")
    has(
        sleek("inspect new.h5"),
        "├─ group/",
        "│  └─ loop  = /",
        "├─ soft  -> /group/inner/x",
        "├─ hard  = /group/inner/x",
        "├─ texts  strings of variable length",
        "├─ zz_t  f32 300x400, chunks 50x400, 480.00 kB -> ",
        "│       SLEEK: abs=2e-3; codec sleek, profile adaptive; missing -9999",
        "│       in 35 chunks: packed ",
        "f64 (big-endian) 300x400",
        "└─ virtual  a view of other datasets",
    )
    report = as_json("inspect --json new.h5")
    whole = of(report, "/whole")
    assert (whole["mode"], whole["bound"], whole["missing"][0], whole["chunks_stored"], whole["streams"]) == ("abs", 2e-3, -9999, 35, 35)
    # What is stored is the streams, and a chunk of 64 x 64 elements is one chunk of a stream or several.
    assert sum(whole["chunks"].values()) >= 35 and whole["chunks"]["masked"] > 0, whole
    assert abs(whole["ratio"] - whole["raw_bytes"] / whole["stored_bytes"]) < 1e-9, whole
    assert of(report, "/sparse")["chunks_stored"] == 1, "chunks that were never written do not count"
    zipped = of(as_json("inspect --json old.h5"), "/zz_t")
    assert [f["name"] for f in zipped["filters"]] == ["shuffle", "deflate"] and zipped.get("mode") is zipped.get("codec") is None
    Path("classic.nc").write_bytes(b"CDF\x01 and what follows")
    fails("inspect classic.nc", "nccopy -k nc4 classic.nc")
    Path("cut.h5").write_bytes(Path("old.h5").read_bytes()[:100_000])
    fails("inspect cut.h5", "cut.h5: H5Fopen")


@scenario
def what_is_stored_plain_is_counted():
    """Chunks that HDF5 stored without the filter, for their data or because something went wrong, and a missing filter."""
    noise = np.random.default_rng(1).integers(-(2**31), 2**31, 8000, dtype="i4")
    noise[:3000] = 7
    with h5py.File("a.h5", "w") as f:
        for name, data in ("some", noise), ("all", noise[3000:]):
            f.create_dataset(name, data=data, chunks=(1000,), compression=47474)
        f.create_dataset("texts", data=np.array([b"a", b"b"]), chunks=(1,), compression=47474)
    make("there.h5", some=noise)
    with h5py.File("gone.h5", "w") as f:
        p = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        p.set_chunk((1000,))
        p.set_filter(32015, h5py.h5z.FLAG_OPTIONAL, (3,))
        d = h5py.h5d.create(f.id, b"some", h5py.h5t.NATIVE_INT32, h5py.h5s.create_simple((8000,)), p)
        d.write(h5py.h5s.ALL, h5py.h5s.ALL, noise)
    tree = sleek("inspect a.h5")
    has(tree, "in 8 chunks, 5 of them plain: constant 100.0 %", "in 5 chunks, 5 of them plain\n", "strings of 1 bytes; SLEEK, 2 of 2 chunks plain")
    all_ = of(as_json("inspect --json a.h5"), "/all")
    assert (all_["plain_chunks"], all_["streams"]) == (5, 0)
    has(sleek("verify there.h5 gone.h5", code=2), "not known     needs filter 32015 (Zstandard), which HDF5 does not find")


@scenario
def verify_compares_files_by_their_datasets():
    for bound, promise in ("--noa 1e-3", "abs 4.0042e-3 (noa 1e-3)"), ("--rel 1e-3", "rel 1e-3"), ("--abs 1e-2", "abs 1e-2"):
        pair(bound)
        report = as_json("verify --json old.h5 new.h5")
        t = of(report, "/zz_t")
        assert report["kept"] and (t["verdict"], t["promise"]) == ("within bound", promise), t
        assert 0.5 < t["error_over_bound"] <= 1 and len(t["worst"]["index"]) == 2 and of(report, "/whole")["missing_values"] == 600
        for exact in "/x", "/texts", "/compound", "/scalar", "/group/inner/i":
            assert of(report, exact)["verdict"] == "identical"
        assert of(report, "/references")["verdict"] == "not compared"
    last = sleek("verify old.h5 ./old.h5").splitlines()[-1]
    assert last.startswith("verdict") and " kept: " in last, last


@scenario
def verify_holds_each_chunk_to_its_own_range():
    """Where HDF5's own tools write, each chunk has a value range of its own. One write takes half of what all may take."""
    fields.make("old.h5")
    words = opts(NOA, 1e-3)
    run("h5repack", "-f", f"whole,unlimited:UD=47474,0,{len(words)},{','.join(map(str, words))}", "old.h5", "new.h5", plugin=True)
    report = as_json("verify --json old.h5 new.h5")
    for d in of(report, "/whole"), of(report, "/unlimited"):
        assert (d["verdict"], d["promise"]) == ("within bound", "noa 1e-3 of each chunk") and 0.25 < d["error_over_bound"] <= 1, d
    assert of(report, "/aa_big")["verdict"] == "identical"


@scenario
def verify_says_what_is_broken():
    pair("--abs 2e-3")
    # The original is changed: that needs no filter.
    with h5py.File("old.h5", "r+") as f:
        f["zz_t"][260, 238] += 1
        f["zz_t"][3, 7] += 0.5
        f["whole"][10, 30] = 5
        f["x"][5] += 1e-12
        f["texts"][1] = "drei"
        f["another"] = [1.5, 2.5]
        del f["half"], f["typed"]
        f["typed"] = [[1.5, 2.5]]
    report = as_json("verify --json old.h5 new.h5", code=1)
    t, whole, x = (of(report, name) for name in ("/zz_t", "/whole", "/x"))
    assert not report["kept"] and (t["verdict"], t["violations"], t["worst"]["index"]) == ("broken", 2, [260, 238]), t
    assert abs(t["max_error"] - 1) < 0.01 and (whole["missing_values"], whole["missing_violations"]) == (599, 1), (t, whole)
    assert (x["verdict"], x["violations"], of(report, "/half")["verdict"], of(report, "/aa_big")["verdict"]) == ("broken", 1, "extra", "within bound")
    reasons = {"/texts": "differs", "/another": "is not in the second file", "/typed": "has f64, in the second file f32"}
    assert {name: of(report, name)["why"] for name in reasons} == reasons
    table = sleek("verify old.h5 new.h5", code=1)
    has(table, "2 elements, the worst at [260, 238]: ")
    has(table.splitlines()[-1], " BROKEN: ")
    Path("plain.f32").write_bytes(bytes(400))
    fails("verify plain.f32 new.h5", "plain.f32: is not an HDF5 file")
    fails("verify old.h5 plain.f32", "plain.f32: is not an HDF5 file, as old.h5 is")


@scenario
def blurred_missing_values_are_broken():
    """A missing value that came back blurred is gone, whoever declares it: an attribute or HDF5's fill value, of either file, in the
    filter's parameters or not. `verify` of the one says the same."""
    fields.blurred("old.h5", "new.h5")
    for d in as_json("verify --json old.h5 new.h5", code=1)["datasets"]:
        declared = d["name"] != "/nothing"
        assert d["verdict"] == ("broken" if declared else "within bound") and (d["missing_violations"] > 0) == declared, d
        one = as_json(["verify", "--json", f"old.h5:{d['name']}", f"new.h5:{d['name']}"], code=int(declared))
        assert one["datasets"] == [d]


@scenario
def one_dataset_is_compared_with_another():
    """A dataset of each file, behind a colon."""
    make("old.h5", **{"a/t": np.sin(np.arange(5000.0)), "line": np.arange(5000.0) + 1})
    sleek("repack -q --abs 1e-2 old.h5 new.h5")
    whole = as_json("verify --json old.h5 new.h5")
    for pair_ in "old.h5:a/t new.h5", "old.h5 new.h5:t", "old.h5:/a/t new.h5:/a/t":
        assert as_json(f"verify --json {pair_}")["datasets"] == [of(whole, "/a/t")], pair_
    sleek("verify old.h5:/a/t new.h5:/line", code=1)
    fails("verify old.h5:/none new.h5", "there is no such variable; there are /line, /a/t")
    Path("classic.nc").write_bytes(b"CDF\x05 and what follows")
    fails("verify classic.nc new.h5", "nccopy -k nc4 classic.nc")


@scenario
def what_netcdf_says_of_dimensions_and_packed_numbers():
    """A dimension without a variable is none of the datasets, and restoring packed numbers says that they are."""
    import netCDF4

    with netCDF4.Dataset("a.nc", "w") as f:
        f.createDimension("y", 40)
        f.createDimension("x", 50)
        f.createVariable("x", "f8", ("x",))[:] = 0
        f.createVariable("t", "f4", ("y", "x"))[:] = np.arange(2000).reshape(40, 50)
        p = f.createVariable("p", "i2", ("y", "x"))
        p.scale_factor, p.add_offset = 0.01, 273.15
        p.set_auto_scale(False)
        p[:] = 7
    has(sleek("inspect a.nc"), "; 3 datasets of numbers: 12.40 kB -> ", "─ y  a dimension of 40 without a variable\n")
    assert of(as_json("inspect --json a.nc"), "/y")["what"] == "a dimension of 40 without a variable"
    said = attempt("decompress a.nc:p p.npy").stderr
    assert said.endswith("/p: its numbers are packed: a value is 0.01 times the number, plus 273.15\n"), said
    for request in "decompress a.nc:t t.npy", "decompress -q a.nc:p again.npy":
        lacks(told(request), "packed")
    fails("decompress a.nc:p", "OUT: is needed, as a.nc:p does not end in .sleek")


def climate():
    """A netCDF file of a grid with missing values and packed integers as `old.nc`, and the same within 1e-3 as `new.nc`."""
    import netCDF4

    units = {"time": "days since 2000-01-01", "lat": "degrees_north", "lon": "degrees_east"}
    with netCDF4.Dataset("old.nc", "w") as f:
        for name, values in ("time", np.arange(3)), ("lat", np.linspace(-88, 88, 60)), ("lon", 4 * np.arange(90)):
            f.createDimension(name, None if name == "time" else len(values))
            v = f.createVariable(name, "f8", (name,))
            v[:] = values
            v.units = units[name]
        y, x = np.mgrid[0:60, 0:90]
        t = np.sin(x / 20 + np.arange(3)[:, None, None]) + y / 60
        for name, values in ("temp", np.ma.masked_less(t, -0.9)), ("salt", 3 * t):
            f.createVariable(name, "f4", ("time", "lat", "lon"), fill_value=-9999)[:] = values
        p = f.createVariable("packed", "i2", ("time", "lat", "lon"))
        p.scale_factor = 0.01
        p[:] = t
    sleek("repack -q --abs 1e-3 old.nc new.nc")
    return as_json("verify --json old.nc new.nc")["datasets"]


def break_one_value():
    """One value of /temp moves away from the bound."""
    import netCDF4

    with netCDF4.Dataset("new.nc", "a") as f:
        f["temp"][1, 40, 3] += 0.01
    sleek("verify old.nc new.nc", code=1)


@scenario
def h5diff_and_ncdump_agree_with_the_verdicts():
    def differing(name, *delta):
        # h5diff cannot compare some of netCDF's attributes and then ends with 1: what it says of the dataset counts.
        lines = run("h5diff", "-c", *delta, "old.nc", "new.nc", name, code=None, plugin=True).splitlines()
        at = next((k for k, line in enumerate(lines) if line.startswith("dataset: ")), len(lines))
        return int(lines[at + 1].split()[0]) if len(lines) > at + 1 else 0

    for found in climate():
        name, most = found["name"], found["max_error"]
        assert found["changed"] == differing(name) and (found["verdict"] == "identical") == (differing(name) == 0), name
        # Compared as f32 for data of that type, so not at the largest error itself.
        assert differing(name, "-d", str(most * 1.001 + 1e-30)) == 0, f"{name}: more than {most}"
        assert most == 0 or differing(name, "-d", str(most * 0.999)) > 0, f"{name}: less than {most}"
    assert fields.header("old.nc") == fields.header("new.nc")
    break_one_value()
    assert [differing(name, "-d", "0.001") for name in ("/temp", "/salt")] == [1, 0]


@scenario
def cdo_agrees_with_the_verdicts():
    """`cdo diffn` counts the same values that differ and that miss, and finds the same largest errors. `make test` installs no cdo."""
    if shutil.which("cdo") is None:
        return print("cdo: passed over, since it is not there")
    verified = climate()
    run("cdo", "diffn,abslim=0.001", "old.nc", "new.nc", plugin=True)
    # Number : date time level size missing different : sign zero error relative : name
    table = [row.split() for row in run("cdo", "diffn", "old.nc", "new.nc", code=None, plugin=True).splitlines()]
    for found in verified:
        rows = [row for row in table if len(row) == 15 and row[14] == found["name"].strip("/")]
        assert (found["verdict"] == "identical") == (not rows), found
        if rows:
            assert [found[key] for key in ("missing_values", "changed")] == [sum(int(row[k]) for row in rows) for k in (6, 7)], found
            # It prints five digits.
            assert abs(found["max_error"] - max(float(row[11]) for row in rows)) <= 1e-4 * found["max_error"], found
    break_one_value()
    said = run("cdo", "diffn,abslim=0.001", "old.nc", "new.nc", code=1, plugin=True)
    has(said, ": temp")
    lacks(said, ": salt")


if __name__ == "__main__":
    main()
