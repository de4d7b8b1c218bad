"""`sleek repack` on files of everything that HDF5 and netCDF-4 have."""

import json
import os
import re
import sys
from pathlib import Path

import fields
from command import attempt, fails, files, h5py, has, lacks, line, main, make, np, run, scenario, sleek, told

EXACT = "/x", "/y", "/long"  # floats that keep every bit: scales
LONG = bool(os.environ.get("SLEEK_LONG"))
VERSION = sleek("--version").split()[1]


def size(file):
    return Path(file).stat().st_size


@scenario
def everything_but_the_floats_is_kept():
    for libver in "earliest", "v108", "v110":
        fields.make("old.h5", libver)
        table = sleek("repack --noa 1e-3 --verify --force old.h5 new.h5")
        has(table, "verified")
        for name in "/x", "/compound", "/virtual":
            has(line(table, name), "kept: ")
        assert fields.same("old.h5", "new.h5", 1e-3, *EXACT) == 13
        fields.scales("new.h5")
        has(run("h5dump", "-H", "-g", "/group", "new.h5", plugin=True), 'COMMENT "a comment"')
        assert len({Path(file).read_bytes()[1024 + 8] for file in ("old.h5", "new.h5")}) == 1, f"superblock, {libver}"
        assert size("new.h5") * 4 < size("old.h5")
        # What is repacked can be repacked; the result needs no more.
        sleek("repack --lossless --verify --force new.h5 again.h5")
        fields.same("old.h5", "again.h5", 1e-3, *EXACT)


@scenario
def missing_values_as_a_dataset_declares_them():
    """Fill value and attributes may name different values, several, in another type, as text, and what is valid."""
    fields.gaps("old.h5")
    for bound in "--noa 1e-3", "--abs 2e-3", "--rel 1e-4":
        sleek(f"repack -q {bound} --verify --force old.h5 new.h5")
        assert fields.same_gaps("old.h5", "new.h5") == 6
    fields.too_many("many.h5")
    fails("repack --noa 1e-3 many.h5 new.h5 --force", "-9e0 (HDF5's fill value); a dataset can have up to 4")


@scenario
def parts_in_other_files_stay_there():
    """What lies in other files stays there, and --verify says that it was not compared."""
    fields.others("in")
    os.makedirs("out/deep")
    table = sleek("repack --abs 1e-2 --verify in/old.h5 in/new.h5")
    said = table.splitlines()[-1]
    assert "every value" not in table and said.startswith("verified, but for what was not compared: "), table
    has(said, "/view (a view", "/own (a view", "/blocks (a view", "/link (a link to", "/nowhere (a link to")
    lacks(said, "/t ", "/outside")
    fields.same_others("in/old.h5", "in/new.h5")
    has(attempt("repack -f --json --abs 1e-2 --verify in/old.h5 in/new.h5").stderr, "not compared: ")
    # A view counts from its own folder; without one the file may go elsewhere, and links stay as they are.
    elsewhere = "repack -q --abs 1e-2 in/old.h5 out/deep/new.h5"
    fails(elsewhere, "by a relative name; write OUT into that folder")
    os.symlink("in/old.h5", "link.h5")
    fails("repack -q --abs 1e-2 link.h5 here.h5", "by a relative name; write OUT into that folder")
    sleek("repack -qf --abs 1e-2 link.h5 in/new.h5")
    fields.same_others("in/old.h5", "in/new.h5")
    with h5py.File("in/old.h5", "r+") as f:
        for name in "view", "none", "whole", "stacked", "blocks":
            del f[name]
    sleek(elsewhere)
    with h5py.File("in/old.h5") as f, h5py.File("out/deep/new.h5") as g:
        assert all(np.array_equal(f[name][...], g[name][...]) for name in ("absolute", "outside"))
        assert np.array_equal(g["own"][...], g["t"][:, 100:])
        assert [g.get(name, getlink=True).filename for name in ("link", "nowhere")] == ["other.h5", "nowhere.h5"]
    fields.hundred("plain.h5")
    assert sleek("repack --abs 1e-2 --verify plain.h5 new.h5").endswith("verified: every value of the new file was compared with the old one\n")


@scenario
def undeclared_missing_values_are_kept():
    """A mark that nobody declared would be blurred, and would stretch the range: it is found, and named in the new file."""
    for value in "-9999", "9.96921e36":
        fields.undeclared("old.h5", value)
        for bound in "--noa 1e-3", "--abs 1e-2", "--rel 1e-5":
            has(sleek(f"repack {bound} --verify --force old.h5 new.h5"), f"{value} taken for missing, which nobody declared")
            fields.same_gaps("old.h5", "new.h5")
            sleek(f"repack -q {bound} --verify --force --no-fill old.h5 new.h5")
        sleek("repack -q --dataset /t=abs=1e-2 --verify --force old.h5 new.h5")
        fields.same_gaps("old.h5", "new.h5")


@scenario
def absurd_bounds_are_told():
    """A bound that leaves nothing of the data is taken, with a word; marks do not count."""
    fields.hundred("old.h5")
    said = "sleek: warning: /t: the values seen are from 0 to 99; a bound of 9.9e1 may turn them all into one value"
    for absurd in "--abs 99 old.h5 new.h5", "-q --dataset /t=abs=99 old.h5 new.h5", "--abs 99 --dry-run old.h5":
        has(told(f"repack --force --even-if-larger {absurd}"), said)
    for sound in "--abs 98", "--noa 0.5", "--rel 0.5":
        lacks(told(f"repack --force --even-if-larger {sound} old.h5 new.h5"), "may turn them all into one value")
    np.resize(np.arange(100, dtype="f4"), 5000).tofile("in")
    for bound, is_told in ("--abs 1e300", True), ("--abs 99 -q", True), ("--abs 98", False), ("--noa 0.5", False), ("--lossless", False):
        said = told(f"compress --dtype f32 -f {bound} in packed")
        assert ("in: the values seen are from 0 to 99; a bound of " in said) == is_told, (bound, said)


@scenario
def in_place_and_by_name():
    fields.make("old.h5")
    Path("same.h5").write_bytes(Path("old.h5").read_bytes())
    sleek("repack -q --force --abs 1e-3 --no-attributes --dataset half=keep same.h5 same.h5")
    run("h5diff", "-d", "0.001", "old.h5", "same.h5", "/zz_t", plugin=True)
    run("h5diff", "old.h5", "same.h5", "/zz_t", plugin=True, code=1)
    run("h5diff", "old.h5", "same.h5", "/half", plugin=True)
    table = sleek("repack --no-attributes --dataset /group/inner/x=rel=1e-2 --dataset x=lossless old.h5 two.h5")
    assert table.count("kept: not named") > 5, table
    # The first has a second name, under which h5dump shows it too.
    assert [run("h5dump", "-pH", f, plugin=True).count("FILTER_ID 47474") for f in ("two.h5", "old.h5")] == [2, 0], table
    run("h5diff", "old.h5", "two.h5", "/x", plugin=True)
    run("h5diff", "-p", "0.01", "old.h5", "two.h5", "/group/inner/x", plugin=True)


@scenario
def netcdf_stays_netcdf():
    fields.netcdf("old.nc")
    sleek("repack -q --noa 1e-3 --verify old.nc new.nc")
    for group in "/", "deeper":
        fields.xarray("old.nc", "new.nc", group, 1e-3)
    assert fields.header("old.nc") == fields.header("new.nc")
    # h5diff counts attributes that one side alone has.
    sleek("repack -q --noa 1e-3 --no-attributes old.nc plain.nc")
    run("h5diff", "-d", "0.01", "old.nc", "plain.nc", "/t", plugin=True)
    # The files of SLEEK_DATA, whatever is in them.
    for file in Path(os.environ.get("SLEEK_DATA", "/nowhere")).glob("*"):
        if file.suffix in (".nc", ".nc4", ".h5", ".hdf5"):
            sleek(["repack", "-q", "--force", "--noa", "1e-4", "--verify", str(file), "real.h5"])
            assert file.suffix[1] == "h" or fields.header(str(file)) == fields.header("real.h5"), file


@scenario
def attributes_say_what_was_done():
    """The new file says what was done to it, and none of its readers is misled by that."""
    import netCDF4

    with netCDF4.Dataset("old.nc", "w") as f:
        f.Conventions, f.history = "CF-1.8", "2020: made"
        f.createDimension("y", 60)
        f.createDimension("x", 80)
        y, x = np.mgrid[0:60, 0:80]
        for name in "t", "u", "whole":
            v = f.createVariable(name, "f4", ("y", "x"))
            v[:] = np.sin(x / 9) + np.cos(y / 7) if name != "whole" else x
            v.units = "K"

    def say(words):
        sleek(["repack", *words] if isinstance(words, list) else f"repack {words}", env={"SOURCE_DATE_EPOCH": "86400"})

    def attributes(file, of=None):
        """What was added to a variable, or the file's history."""
        with netCDF4.Dataset(file) as f:
            v = f[of] if of else f
            return {name: v.getncattr(name) for name in v.ncattrs() if name.startswith("sleek_")} if of else v.history

    say("-q --noa 1e-3 --verify --dataset whole=lossless old.nc new.nc")
    t = attributes("new.nc", "t")
    assert (t["sleek_mode"], t["sleek_bound"], t["sleek_version"]) == ("noa", 1e-3, VERSION) and 0.0039 < t["sleek_abs_bound"] < 0.0041, t
    assert attributes("new.nc", "whole") == {}, "nothing was lost of it"
    command = "1970-01-02T00:00:00Z: sleek repack -q --noa 1e-3 --verify --dataset whole=lossless old.nc new.nc"
    assert attributes("new.nc") == f"{command} # sleek {VERSION}\n2020: made"
    assert fields.header("old.nc") == fields.header("new.nc").replace('\n\t\t\t"2020: made" ;', "")
    sleek("verify old.nc new.nc")
    # Lines before it may be in any encoding.
    with h5py.File("latin.h5", "w") as f:
        f["t"], f.attrs["history"] = np.sin(np.arange(9000.0)), np.bytes_(b"2020: M\xe4rz")
    sleek("repack -q --abs 1e-3 latin.h5 latin2.h5")
    with h5py.File("latin2.h5") as f:
        assert f.attrs["history"].endswith(b"\n2020: M\xe4rz"), f.attrs["history"]
    # What a shell would take apart is in quotes, and of many files each has the one command that was given.
    say(["-q", "--abs", "1e-3", "--exclude", "x y*", "-f", "--to", "folder", "old.nc", "new.nc"])
    has(attributes("folder/old.nc"), "sleek repack -q --abs 1e-3 --exclude 'x y*' -f --to folder old.nc new.nc # sleek")
    sleek("decompress -q new.nc back.nc")
    has(attributes("back.nc"), ": sleek repack --filter none -q -- new.nc back.nc # sleek")
    say("-q --noa 1e-3 --no-attributes old.nc plain.nc")
    say("-q --abs 0.01 plain.nc twice.nc")
    assert 0.0139 < attributes("twice.nc", "t")["sleek_abs_bound"] < 0.0141, "the filter knows how it was lossy before"
    # Without them nothing is added.
    assert attributes("plain.nc", "t") == {} and attributes("plain.nc") == "2020: made"
    run("h5diff", "-d", "0.01", "old.nc", "plain.nc", "/t", plugin=True)


@scenario
def a_dry_run_reads_a_part():
    """It writes nothing, and looks at a part of each large dataset: one chunk of it that cannot be read is not missed, and what the rest
    would take is about right."""
    fields.many_chunks("old.h5")
    requests = ["--noa 1e-4", "--noa 1e-4 --profile small", "--ratio 12", "--abs 1e-3", "--lossless"][: 5 if LONG else 3]

    def taken(request):
        return json.loads(sleek(f"repack --json {request} old.h5 new.h5"))[0]["stored_after"]

    before = files()
    sizes = [taken(f"{request} --dry-run") for request in requests]
    assert files() == before
    for request, size_ in zip(requests, sizes):
        assert abs(size_ / taken(f"{request} --force") - 1) < 0.1, request
    has(sleek("repack --dry-run --noa 1e-4 old.h5"), "the range is that of a sample")
    fields.spoil("old.h5")
    assert [taken(f"{request} --dry-run") for request in requests] == sizes
    fails("repack --noa 1e-4 old.h5 new2.h5", "/field")


@scenario
def long_names_and_streams():
    fields.make("old.h5")
    sleek(f"repack -q --noa 1e-3 old.h5 {'x' * 255}")
    assert Path("x" * 255).is_file()
    Path("file").write_text("what was there")
    with open("file", "a") as file:
        assert attempt("repack -q --force --noa 1e-3 old.h5 /dev/stdout", stdout=file).returncode == 2
    assert Path("file").read_text() == "what was there"


@scenario
def the_table_tells_what_is_gained():
    """What is as small as it is stays so; integers are compressed where that loses nothing, and the table says why not."""
    fields.large("bits.h5")
    has(sleek("repack --lossless bits.h5 kept.h5"), "kept: as small as it is")
    assert size("kept.h5") <= size("bits.h5")
    has(attempt("repack --lossless --even-if-larger bits.h5 larger.h5").stderr, "ratio 1.00", "larger.h5 is larger than bits.h5 was")
    fields.make("old.h5")
    lossy = sleek("repack --noa 1e-3 --others keep old.h5 lossy.h5")
    has(line(lossy, "dataset"), "before", "after")
    has(line(lossy, "/group/inner/i"), "kept: integers of 8 bytes: bounds are for floats")
    for file in "old.h5", "lossy.h5":
        table = sleek(f"repack --lossless --verify --force {file} new.h5")
        assert line(table, "/group/inner/i").endswith("  lossless"), table
        run("h5diff", file, "new.h5", "/group/inner/i", plugin=True)
        assert size("new.h5") <= 1.01 * size(file), f"{file}: {table}"
    again = sleek("repack --lossless --dry-run new.h5")
    has(line(again, "/aa_big"), "kept: as small as it is (SLEEK)")
    lacks(again, "  lossless")


@scenario
def what_is_refused():
    fields.make("old.h5")
    Path("text.h5").write_text("not HDF5")
    Path("classic.nc").write_bytes(b"CDF\x01 and what follows")
    Path("cut.h5").write_bytes(Path("old.h5").read_bytes()[:100_000])
    for request, part in (
        ("old.h5 new.h5", "a bound is needed"),
        ("--noa 1e-3 old.h5", "<OUT>"),
        ("--noa 1e-3 old.h5 text.h5", "--force"),
        ("--noa 1e-3 old.h5 old.h5", "--force"),
        ("--noa 1e-3 text.h5 new.h5", "not an HDF5 file"),
        ("--noa 1e-3 classic.nc new.h5", "nccopy -k nc4"),
        ("--noa 1e-3 cut.h5 new.h5", "cut.h5: H5Fopen"),
        ("--noa 1e-3 missing.h5 new.h5", "missing.h5"),
        ("--noa 1e-3 old.h5 nowhere/new.h5", "nowhere/new.h5"),
        ("--noa 1e-3 --dataset /t=keep old.h5 new.h5", "no such dataset; there are /zz_t"),
        ("--dataset /zz_t old.h5 new.h5", "/t=abs=1e-3"),
        ("--dataset /texts=lossless old.h5 new.h5", "/texts: cannot be compressed: strings of variable length"),
        ("--dataset /references=lossless old.h5 new.h5", "cannot be compressed: references"),
        ("--dataset /group/inner/i=abs=1 old.h5 new.h5", "bounds are for floats, and these are integers"),
        ("--dataset /zz_t=abs=x old.h5 new.h5", "abs=x"),
        ("--noa 1e-3 --library text.h5 old.h5 new.h5", "--library text.h5"),
    ):
        fails(f"repack {request}", part)


@scenario
def what_one_dataset_cannot_have_is_for_the_others():
    a = np.linspace(0, 1, 4000)
    with h5py.File("old.h5", "w") as file:
        file["p/half"], file["p/single"] = a.astype("f2"), a.astype("f4")
    sleek("repack -q --abs 1e-2 --fill 0x7fc00000 old.h5 new.h5")
    # A pattern with a slash counts from the root, with a slash before it or without.
    for pattern in "p/h*", "/p/h*", "**/half":
        has(line(sleek(["repack", "--force", "--abs", "1e-2", "--exclude", pattern, "old.h5", "new.h5"]), "/p/half"), "kept: by request")
    for zero in "--abs 0", "--rel 0 --dry-run", "--dataset p/half=abs=0":
        fails(f"repack {zero} old.h5 o.h5", "nothing is as near as that")
    fails("h5args --abs 0", "nothing is as near as that")


@scenario
def files_of_other_filters_are_not_harmed():
    """Whatever is asked for, with and without their plugins, nothing gets larger by more than 1 %, nothing is lost that was not asked for,
    and the table has each dataset with a reason."""
    import hdf5plugin

    # What only the newest HDF5 reads is read by that of the Python on the path.
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    for libver, request, plugins in (
        ("earliest", "--lossless", ""),
        ("earliest", "--lossless", hdf5plugin.PLUGINS_PATH),
        ("earliest", "--noa 1e-3", hdf5plugin.PLUGINS_PATH),
        ("latest", "--lossless --profile small", hdf5plugin.PLUGINS_PATH),
    ):
        fields.filters("old.h5", libver)
        table = sleek(f"repack --json --force --no-fill {request} old.h5 new.h5", env={"HDF5_PLUGIN_PATH": plugins, "PATH": path})
        fields.unharmed("old.h5", "new.h5", json.loads(table), 1e-3)


@scenario
def large_attributes_stay_in_files_that_began_as_older_ones():
    """What HDF5 1.8 brought may be in a file whose superblock is of before."""
    large, a = np.arange(20_000.0), np.sin(np.arange(10_000) / 100)
    for name in "a", "group", "type":
        make("old.h5", first=a)
        with h5py.File("old.h5", "r+", libver="latest") as f:
            f["a"], f["type"] = a, np.dtype("f4")
            f.create_group("group")
            f[name].attrs["large"] = large
        assert Path("old.h5").read_bytes()[8] == 0
        sleek("repack -q --force --verify --abs 1e-3 old.h5 new.h5")
        sleek("decompress -q --force new.h5 plain.h5")
        for new in "new.h5", "plain.h5":
            with h5py.File(new) as f:
                assert (f[name].attrs["large"] == large).all()
            has(sleek(f"verify old.h5 {new}"), "/a      within bound", "/first  within bound")


@scenario
def complex_numbers_by_their_parts():
    """A bound is for both parts of complex numbers; compounds of two floats that are called otherwise lose nothing."""
    fields.complex_numbers("old.h5")
    for profile in "", "--profile small":
        table = sleek(f"repack --verify --force --noa 1e-4 {profile} old.h5 new.h5")
        assert re.search("kept: as small as it is|  lossless", line(table, "/pairs")), table
        assert ("--profile small makes complex numbers smaller" in table) == (not profile), table
        fields.complex_parts("old.h5", "new.h5", 1e-4)
        sleek("verify old.h5 new.h5")
    has(sleek("inspect new.h5"), "complex numbers of f64")
    has(sleek("inspect --json new.h5"), "-9999")
    # All else that takes datasets of floats.
    sleek("verify old.h5:c8 new.h5:c8")
    sleek("analyze old.h5:gaps")
    sleek("repack --dataset c16=psnr=70 --dataset gaps=abs=1e-2 old.h5 c.h5")
    table = sleek("verify --json old.h5 c.h5")
    has(table, "within bound")
    lacks(table, "BROKEN")


if __name__ == "__main__":
    main()
