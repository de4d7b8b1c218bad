"""`sleek repack` of many files, with rules for their datasets, and with odd names."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import fields
from command import SLEEK, as_json, attempt, fails, files, h5py, has, lacks, line, main, make, np, of, run, scenario, sleek, told

COUNT = 200 if os.environ.get("SLEEK_LONG") else 8


def folder(count):
    """So many small files in two folders, and what is no HDF5 file beside them."""
    os.makedirs("in/deep/er", exist_ok=True)
    y, x = np.mgrid[0:60, 0:200]
    for i in range(count):
        values = {"temp": (np.sin(x / 30 + i) + np.cos(y / 20)).astype("f4"), "salt": 35 + np.sin(y / (9 + i))}
        make(f"in/{'deep/er/' * (i % 2)}f{i:03}.h5", **values, **{"grid/area": np.cos(y / 50), "n": (x % 7).astype("i4")})
    Path("in/notes.txt").write_text("not HDF5")


def report(name):
    return json.loads(Path(name).read_text())


def totals(name, *keys):
    return [report(name)["totals"][key] for key in keys]


def new():
    """The new files, each of which must keep its bound; none may be half written."""
    found = files("out")
    for path in found:
        sleek(f"verify in/{path.relative_to('out')} {path}")
    return found


@scenario
def a_folder_is_done_once_and_told():
    folder(COUNT)
    before = Path("in/deep/er/f001.h5").read_bytes()
    sleek("repack -r --abs 1e-3 --dry-run --report dry.json in")
    assert not Path("out").exists(), "a dry run writes nothing"
    request = "repack -r --abs 1e-3 -j 2 --to out in"
    sleek(f"{request} --report report.json")
    whole = new()
    sum_ = sum(map(len, whole.values()))
    assert len(whole) == COUNT and totals("report.json", "done", "failed", "bytes_after") == [COUNT, 0, sum_]
    assert abs(totals("dry.json", "bytes_after")[0] / sum_ - 1) < 0.2
    # Nothing is done again, and a changed input is once --force says so.
    has(sleek(f"{request} --report again.json"), f"\n{COUNT} skipped: ")
    assert totals("again.json", "bytes_after") == [sum_] and files("out") == whole
    Path("in/f000.h5").write_bytes(before)
    has(attempt(request).stderr, "in/f000.h5: failed: out/f000.h5 exists; --force replaces it")
    Path("out/f000.h5").unlink()
    sleek(f"{request} --report changed.json")
    assert totals("changed.json", "done", "skipped") == [1, COUNT - 1]
    # Another bound is another request, which nothing but --force tells.
    has(sleek("repack -r --force --abs 1e-2 --to out in"), f"{COUNT} done:")
    assert files("out") != whole


@scenario
def what_fails_stops_nothing_else():
    folder(6)
    whole = Path("in/f002.h5").read_bytes()
    Path("in/f002.h5").write_bytes(whole[: len(whole) // 2])
    Path("in/old.nc").write_bytes(b"CDF\x01 and what follows")
    before = files("in")
    request = "repack -r --abs 1e-3 --to out --report report.json in"
    has(told(request, code=2), "in/f002.h5: failed: H5Fopen: ", "nccopy -k nc4 in/old.nc")
    assert len(new()) == 5 and totals("report.json", "done", "failed") == [5, 2] and files("in") == before
    # What is there and was not made by us is not replaced.
    Path("out/f002.h5").write_text("somebody's")
    Path("in/f002.h5").write_bytes(whole)
    has(attempt(request).stderr, "out/f002.h5", "--force")
    assert Path("out/f002.h5").read_text() == "somebody's"
    attempt(f"{request} --force")
    assert len(new()) == 6


@scenario
def no_input_is_replaced():
    folder(2)
    sleek("repack -r --abs 1e-3 --to out in")
    shutil.copy("in/f000.h5", "f000.h5")
    for request, part in (
        ("-r --force --abs 1e-3 --to in in", "another folder is needed"),
        ("--abs 1e-3 --to out in", "in: is a folder; -r"),
        ("-r --abs 1e-3 in", "--to DIR"),
        ("--abs 1e-3 a.h5 b.h5 c.h5", "--to DIR"),
        ("-r --abs 1e-3 --report r.csv --to out in", "ends in .json"),
        ("-r --abs 1e-3 --part 3/2 --to out in", "'3/2' is not I/N"),
        ("--abs 1e-3 -j 2 in/f000.h5 x.h5", "--jobs goes with --to"),
        ("--abs 1e-3 --to new in/f000.h5 f000.h5", "would both become f000.h5"),
    ):
        fails(f"repack {request}", part)


@scenario
def nothing_that_is_read_is_written_through_links():
    folder(2)
    before = files("in")

    def refused(link, to, part):
        """A folder in the one for new files, a file in it, or that folder itself is what is read."""
        os.makedirs(Path(link).parent, exist_ok=True)
        os.symlink(os.path.abspath(to), link)
        fails("repack -r --abs 1e-3 --force --to out in", part)
        assert files("in") == before, part
        os.unlink(link)
        shutil.rmtree("out", ignore_errors=True)

    refused("out/deep", "in/deep", "deep/er/f001.h5 is one of the files to be read")
    refused("out/f000.h5", "in/f000.h5", "f000.h5 is one of the files to be read")
    refused("out", "in/deep", "lies in the folder to be read")
    # Below what is read there may be a folder for a batch alone.
    for times in "2 done", "2 skipped":
        has(sleek("repack -r --abs 1e-3 --to in/small in"), times)


@scenario
def parts_work_side_by_side():
    """The parts of a batch are all its files, each once, whatever runs at the same time."""
    folder(7)
    parts = [subprocess.Popen([SLEEK, *f"repack -q -r --abs 1e-3 --part {i}/3 --to out --report r{i}.json in".split()]) for i in (1, 2, 3)]
    assert [part.wait() for part in parts] == [0, 0, 0]
    assert len(new()) == 7 and [totals(f"r{i}.json", "done") for i in (1, 2, 3)] == [[3], [2], [2]]
    has(sleek("repack -r --abs 1e-3 --to out in"), "7 skipped:")
    assert sleek("repack -r --abs 1e-3 --part 8/8 --to out in") == "no file is in this part\n"


@scenario
def rules_for_names_and_types():
    folder(2)
    Path("rules.toml").write_text(
        '# What is measured to a hundredth of a degree.\n[[rule]]\ndataset = "temp*"\nabs = 0.005\nmissing = [-9999, 1e20]\n\n[[rule]]\ndataset = "/grid/*"\nkeep = true\n\n'
        '[[rule]]\ntype = "integer"\nlossless = true\n\n[[rule]]\ntype = "f64"\nratio = 20\nprofile = "small"\n'
    )
    sleek("repack -r --rules rules.toml --verify --to out --report r.json in")
    for file in report("r.json")["files"]:
        what = {d["dataset"]: d["what"] for d in file["datasets"]}
        assert [what[name] for name in ("/temp", "/grid/area", "/n")] == ["abs 0.005", "kept: by request", "lossless"], what
        assert what["/salt"].endswith("for --ratio 20"), what
    assert of(as_json("inspect --json out/f000.h5"), "/temp")["missing"] == [-9999, np.float32(1e20)]
    run("h5diff", "in/f000.h5", "out/f000.h5", "/grid/area", plugin=True)
    # A request by name goes before a rule, a rule before the bound for all.
    table = as_json("repack --json --rules rules.toml --noa 1e-4 --dataset temp=lossless in/f000.h5 one.h5")
    assert {"/temp": "lossless"}.items() <= {d["dataset"]: d["what"] for d in table}.items(), table
    Path("wrong.toml").write_text("[[rule]]\nabs = 1\ncolour = 3\n")
    fails("repack --rules wrong.toml in/f000.h5 two.h5", "wrong.toml: rule 1: 'colour=3' in ")


@scenario
def every_name_of_a_dataset_counts():
    """Second links, soft ones, and those of its group."""
    with h5py.File("old.h5", "w") as f:
        for name in "a", "g/b":
            f[name] = np.cumsum(np.random.default_rng(0).normal(size=50_000)).astype("f4")
        f["h"], f["s"], f["again"] = f["a"], h5py.SoftLink("/a"), f["g"]
        f["g/up"] = f["/"]
    same = {name: f"/{name}" for name in ("a", "b")}

    def whats(request, warning=None):
        done = attempt(f"repack -qf --json {request} old.h5 new.h5")
        assert done.returncode == 0 and (done.stderr == "" if warning is None else warning in done.stderr), done.stderr
        what = {d["dataset"]: d["what"] for d in json.loads(done.stdout)}
        return what["/a"], what["/again/b"]

    kept, rounded, unnamed = "kept: by request", "abs 1", "kept: not named"
    for pattern in "a", "h", "s", "/h", "/s", "/?", "/again/up/h":
        assert whats(f"--abs 1 --exclude {pattern}") == (kept, rounded), pattern
    for pattern in "b", "/g/b", "/again/b", "/again/*":
        assert whats(f"--abs 1 --exclude {pattern}") == (rounded, kept), pattern
    assert whats("--abs 1 --exclude /typo", "--exclude '/typo' matches no dataset of old.h5") == (rounded, rounded)
    for name in "a", "h", "/s":
        assert whats(f"--abs 1 -v {name}") == (rounded, unnamed), name
        assert whats(f"--abs 1 -v {name},b --exclude h") == (kept, rounded), name
    Path("rules.toml").write_text('[[rule]]\ndataset = "/g/b"\nkeep = true\n[[rule]]\nabs = 1\n')
    assert whats("--rules rules.toml") == (rounded, kept)
    fails("repack --dataset /h=lossless --dataset /a=abs=1 old.h5 none.h5", "--dataset /h and /a: are one dataset; one request is possible")
    sleek("decompress -q old.h5:h h.npy")


@scenario
def names_lead_through_any_links_of_any_groups_above():
    """A hard and a soft link to groups, so that the shortest path is not the usual name; and circles of many links."""
    x = np.cumsum(np.random.default_rng(0).normal(size=50_000)).astype("f4")
    with h5py.File("old.h5", "w") as f:
        f["g/h/i/t"], f["g/u"] = x, x
        f["a"], f["s"] = f["g/h"], h5py.SoftLink("/g")
        for i in range(20):
            for j in range(20):
                f.require_group(f"g/many{i}")[f"link{j}"] = f.require_group(f"g/many{j}")
    rules = Path("rules.toml")

    def whats(request):
        return {d["dataset"]: d["what"] for d in as_json(f"repack -qf --json {request} old.h5 new.h5")}

    kept, rounded = "kept: by request", "abs 1"
    both, one = {"/a/i/t": kept, "/g/u": kept}, {"/a/i/t": kept, "/g/u": rounded}
    for pattern in "/g/**", "/s/**", "/g/h/i/t", "/s/h/**/t", "/a/i/t", "/*/?/i/*":
        expected = both if pattern in ("/g/**", "/s/**") else one
        assert whats(f"--abs 1 --exclude {pattern}") == expected, pattern
        rules.write_text(f'[[rule]]\ndataset = "{pattern}"\nkeep = true\n[[rule]]\nabs = 1\n')
        assert whats("--rules rules.toml") == expected, pattern
    for name in "/g/h/i/t", "s/h/i/t", "h/i/t", "i/t", "t":
        assert whats(f"--abs 1 -v {name}") == {"/a/i/t": rounded, "/g/u": "kept: not named"}, name
    assert whats("--abs 1 --exclude /g/many1/**") == {"/a/i/t": rounded, "/g/u": rounded}


@scenario
def what_leads_nowhere_is_told():
    """Files that only have the name are counted; rules and names that lead nowhere are told."""
    os.mkdir("in")
    make("in/a.nc", **{"x=1": np.sin(np.arange(20000) / 50).astype("f4"), "packed": np.arange(20000, dtype="i2")})
    Path("in/b.nc").touch()
    Path("in/c.h5").write_text("<html>")
    has(told("repack -r --abs 1e-3 --to out in"), "2 files with the name of an HDF5 file are none")
    sleek("repack --dataset x=1=abs=1e-3 in/a.nc one.nc")
    Path("r.toml").write_text('[[rule]]\ndataset = "tmep*"\nabs = 1\n[[rule]]\nabs = 0.01\n')
    said = told("repack --rules r.toml in/a.nc two.nc")
    has(said, "rule 1 ('tmep*') matches no dataset")
    lacks(said, "rule 2")
    Path("r.toml").write_text('[[rule]]\ndataset = "packed"\nabs = 1\n')
    fails("repack --rules r.toml in/a.nc three.nc", "bounds are for floats")


@scenario
def variables_as_netcdf_names_them():
    """What netCDF's conventions say are coordinates is not rounded unless it is named; `-v` names what is."""
    import netCDF4

    y, x = np.mgrid[0:60, 0:90]
    waves = np.sin(x / 20 + np.arange(3)[:, None, None])
    with netCDF4.Dataset("old.nc", "w") as f:
        for name, n in ("time", None), ("y", 60), ("x", 90), ("nv", 4):
            f.createDimension(name, n)
        for name, values in ("lat", np.sin(y / 30) + x), ("lon", np.cos(x / 30) + y):
            f.createVariable(name, "f8", ("y", "x"))[:] = values
        f.createVariable("lat_corners", "f8", ("y", "x", "nv"))[:] = np.sin(y / 30)[..., None] + np.arange(4)
        f["lat"].bounds = "lat_corners"
        f.createGroup("deep")
        for where, name in (f, "temp"), (f, "salt"), (f["deep"], "temp2"):
            v = where.createVariable(name, "f4", ("time", "y", "x"), fill_value=-9999)
            v[:] = np.ma.masked_less(waves + y / 60, -0.9)
            v.coordinates = "lat lon"
        f.createVariable("packed", "i2", ("time", "y", "x"))[:] = x
    table = sleek("repack --abs 1e-3 --verify old.nc all.nc")
    assert line(table, "/lat_corners").endswith("  lossless: coordinates (bounds of /lat)"), table
    assert all(line(table, name).endswith("  abs 0.001") for name in ("/temp", "/salt", "/deep/temp2")), table
    run("h5diff", "old.nc", "all.nc", "/lat_corners", plugin=True)
    assert fields.header("old.nc") == fields.header("all.nc")
    # Names with a slash and without, in a group too; coordinates if they are named.
    table = sleek("repack --abs 1e-3 -v /temp,temp2,lat old.nc some.nc")
    for name, end in ("/temp", "abs 0.001"), ("/deep/temp2", "abs 0.001"), ("/lat", "abs 0.001"), ("/salt", "kept: not named"):
        assert line(table, name).endswith(end), f"{name}: {table}"
    sleek("verify old.nc some.nc")
    fails("repack --abs 1e-3 -v wind old.nc none.nc", "-v wind: there is no such variable; there are /")
    fails("repack --abs 1e-3 -v packed old.nc none.nc", "bounds are for floats")
    fails("repack -v temp old.nc none.nc", "a bound is needed")


ODD = "a\nb\tc\u001b[2J\u009b\u007f\r\u2028,\"d\"'e"


def named(name):
    """A file whose name and datasets' names are this one."""
    shutil.rmtree("in", ignore_errors=True)
    os.makedirs("in")
    x = np.linspace(0, 9, 60000).reshape(200, 300).astype("f4")
    with h5py.File(f"in/{name}.h5", "w") as f:
        f[f"{name}/{name}"] = np.sin(x)
        f[f"{name}1"] = np.cos(x)
        f["link"] = h5py.SoftLink(f"/{name}/{name}")
        f["same"] = f[f"{name}1"]
        f["text"] = "text"
        f[f"{name}1"].attrs["coordinates"] = name


def harmless(text):
    steers = [c for c in text if c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160) or c == "\u2028"]
    assert not steers, repr(text)
    return text


@scenario
def odd_names_break_nothing():
    """Line breaks and what steers a terminal: no table, JSON or picture is broken by them."""
    lines = []
    for name in "plain", ODD:
        named(name)
        shutil.rmtree("out", ignore_errors=True)
        old, field = f"in/{name}.h5", f"in/{name}.h5:/{name}/{name}"
        tables = [harmless(sleek("repack -r --abs 1e-3 --to out --report r.json in"))]
        assert report("r.json")["files"][0]["input"] == old
        for words in (
            ["repack", "--dry-run", "--abs", "1e-3", old],
            ["repack", "--dry-run", "--lossless", old],
            ["inspect", old],
            ["verify", old, f"out/{name}.h5"],
            ["analyze", field],
        ):
            tables.append(harmless(sleek(words)))
            found = json.loads(harmless(sleek([words[0], "--json", *words[1:]])))
            assert json.dumps(name)[1:-1] in json.dumps(found), words
        sleek(["show", "-q", "--force", "-o", "d.svg", field])
        harmless(Path("d.svg").read_text())
        lines.append([table.count("\n") for table in tables])
    assert lines[0] == lines[1]


@scenario
def commands_for_odd_names_can_be_typed():
    """The commands that `analyze` names are a shell's words, whatever the names."""
    for name in "a b", "x=1", "it's $HOME", "a\nb\\\u009b":
        named(name)
        text = harmless(sleek(["analyze", f"in/{name}.h5:/{name}/{name}"]))
        rest = next(row.strip()[12:] for row in text.splitlines() if row.strip().startswith("sleek repack"))
        run("bash", "-c", f"LC_ALL=C.UTF-8; '{SLEEK}' repack -q --force{rest}")
        assert of(as_json("inspect --json new.h5"), f"/{name}/{name}")["filters"][0]["name"] == "SLEEK", name


@scenario
def a_full_output_tells_that_the_file_is_there():
    """Where the table cannot be printed the file is there, and the error says so."""
    named("plain")
    for request, part in (
        ("repack --json --abs 1e-3 in/plain.h5 new.h5", "new.h5 is whole and in its place"),
        ("repack --abs 1e-3 --to out -r in", "out is whole and in its place"),
        ("inspect --json new.h5", "standard output: No space left on device"),
    ):
        with open("/dev/full", "w") as full:
            done = attempt(request, stdout=full)
        assert done.returncode == 2 and "standard output: " in done.stderr and part in done.stderr, (request, done)
    assert Path("new.h5").is_file() and Path("out/plain.h5").is_file()
    sleek("verify in/plain.h5 new.h5")


if __name__ == "__main__":
    main()
