"""What is seen of a dataset without reading the whole, held against h5py and numpy; bounds that are advised, and targets in their place."""

from pathlib import Path

import fields
from command import SLEEK, as_json, fails, h5py, has, line, main, make, np, of, run, scenario, sleek, told
from verdicts import waves

from scenarios import ABS, opts


@scenario
def looks_at_datasets_are_those_of_the_whole():
    waves("old.h5")
    for profile, names in ("small", ["whole", "cut", "gaps", "plane", "line"]), ("adaptive", ["cut", "gaps"]):
        sleek(f"repack -q --force --abs 0.01 --profile {profile} old.h5 new.h5")
        for name in names:
            with h5py.File("new.h5") as f:
                values, fill = f[name][...], f[name].fillvalue
            for stride in 1, 2, 8:
                sleek(f"decompress -q -f --stride {stride} new.h5:{name} mine")
                places = (slice(None),) * (values.ndim - 3) + (slice(None, None, stride),) * min(3, values.ndim)
                assert Path("mine").read_bytes() == values[places].tobytes(), f"{name}, stride {stride}"
            there = (values[values != fill] if fill else values).astype("f8")
            found = as_json(f"stats --json new.h5:{name}")
            wanted = {"count": there.size, "missing": values.size - there.size, "min": there.min(), "max": there.max()}
            assert {key: found[key] for key in wanted} == wanted, (name, found, wanted)
            assert abs(found["mean"] - there.mean()) <= 1e-9 and found["mean_within"] >= 0.01, found
    for picture in "plane.svg", "plane.png":
        sleek(f"show -q -o {picture} new.h5:plane")
        assert Path(picture).stat().st_size > 1000, picture
    fails("decompress -q --stride 3 new.h5:cut other", "a power of two")
    # A 0 among large numbers is one of them, also where HDF5 fills the last chunk up with zeros.
    x = 280 + np.sin(np.arange(1000)).astype("f4")
    x[950] = 0
    with h5py.File("zero.h5", "w") as f:
        f.create_dataset("d", data=x, chunks=(300,), compression=47474, compression_opts=opts(ABS, 1e-3))
    found = as_json("stats --json zero.h5:d")
    assert (found["count"], found["missing"], found["min"]) == (1000, 0, 0), found


@scenario
def targets_in_the_place_of_a_bound():
    """A ratio, a PSNR: the table has the bound that it came to, and the file what was asked for."""
    fields.make("old.h5")
    table = sleek("repack --ratio 8 --verify old.h5 new.h5")
    ratio = lambda line: float(line.split()[4])
    for name in "/zz_t", "/aa_big", "/whole", "/unlimited":
        row = line(table, name)
        words = row.split("  abs ")[1]
        assert 8 <= ratio(row) < 8.8 and words.endswith(": for --ratio 8"), row
        # The bound by itself gives the same dataset.
        again = sleek(f"repack --force --dataset {name}=abs={words.split(':')[0]} old.h5 again.h5")
        assert ratio(line(again, name)) == ratio(row), row
    requests = "zz_t=psnr=60 aa_big=profile=small,ratio=30 whole=rel=0.00390625 unlimited=ssim=0.999"
    table = sleek(f"repack --verify {' '.join(f'--dataset {request}' for request in requests.split())} old.h5 three.h5")
    has(line(table, "/whole"), "rel 0.0039")
    assert 60 <= float(line(table, "/zz_t").split("PSNR ")[1].split()[0]) < 61 and 30 <= ratio(line(table, "/aa_big")) < 33, table
    # Chunks that the rim cuts off do not spoil a similarity.
    ssim = of(as_json("verify --quality --json old.h5:unlimited three.h5:unlimited"), "/unlimited")["quality"]["ssim"]
    assert 0.999 <= ssim < 0.9999, ssim
    fails("repack --ratio 1e9 old.h5 none.h5", "cannot be met")
    fails("repack --size 1000 old.h5 none.h5", "--size: goes with compress")
    fails("repack --dataset zz_t=ratio=x old.h5 none.h5", "'ratio=x' needs a number")


@scenario
def a_range_below_every_bound_loses_nothing():
    """Numbers of a range that takes no bound lose nothing, and the rest of the file goes on."""
    a = np.random.default_rng(0).random(20_000)
    with h5py.File("tiny.h5", "w") as f:
        f.create_dataset("tiny", data=a * 1e-310, chunks=(5000,))
        f.create_dataset("usual", data=a, chunks=(5000,))
    sleek("repack --psnr 60 --even-if-larger tiny.h5 new.h5")
    with h5py.File("tiny.h5") as old, h5py.File("new.h5") as new:
        assert (old["tiny"][()] == new["tiny"][()]).all() and 0 < abs(old["usual"][()] - new["usual"][()]).max() < 1e-2


def noisy(n):
    """A wave with noise of standard deviation 0.01."""
    return (5 * np.sin(0.01 * np.arange(n)) + 0.01 * np.random.default_rng(1).normal(size=n)).astype("f4")


@scenario
def bounds_of_plain_bytes():
    noisy(200_000).tofile("field.f32")
    rows = as_json("analyze --json -q field.f32")["rows"]
    of_mode = {mode: [row for row in rows if row["mode"] == mode] for mode in ("lossless", "noa", "rel")}
    assert len(of_mode["lossless"]) == 1 and min(len(of_mode["noa"]), len(of_mode["rel"])) > 4
    for mode in "noa", "rel":
        for a, b in zip(of_mode[mode], of_mode[mode][1:]):
            assert all(b[key] < a[key] for key in ("bound", "ratio", "rms_error")), (a, b)
    assert all(row["max_error"] <= row["abs_bound"] for row in of_mode["noa"])
    table = sleek("analyze field.f32").splitlines()
    assert not [row for row in table if len(row) > 80 and not row.startswith(("  sleek", "  h5repack", "No bound"))], table


@scenario
def missing_values_do_not_count():
    """A mark, named or not."""
    np.full(10_000, 7, "f4").tofile("constant.f32")
    assert len(as_json("analyze --json -q constant.f32")["rows"]) == 1
    marked = np.round(noisy(50_000).astype("f8") * 500).astype("f4") / np.float32(500)
    marked[np.arange(50_000) % 5000 < 250] = 1e10
    marked.tofile("marked.f32")
    table = sleek("analyze marked.f32")
    assert "without the missing 1e10" in table and "--fill" not in table, table
    has(sleek("analyze --fill 1e10 marked.f32"), "without the missing 1e10", " --fill 1e10 marked.f32 ")
    assert 10 <= as_json("analyze --json -q --fill 1e10 marked.f32")["value_range"] < 10.2


@scenario
def the_smallest_is_that_of_profile_small():
    """The column `smallest` is what profile `small` makes of the field with its dimensions."""
    y, x = np.mgrid[0:300, 0:400]
    (np.sin(x * 0.02) + np.cos(y * 0.05)).astype("f4").tofile("sheet.f32")
    report, of_line = as_json("analyze --json -q --dims 300x400 sheet.f32"), as_json("analyze --json -q sheet.f32")
    assert report["sample_bytes"] == 480_000, "all of it"
    has(sleek("analyze --dims 300x400 sheet.f32"), "small: ratio of profile small")
    pairs = [pair for pair in zip(report["rows"], of_line["rows"]) if pair[0]["mode"] == "noa"]
    assert len(pairs) > 4
    for row, as_line in pairs:
        sleek(f"compress -qf --dims 300x400 --noa {row['bound']!r} --profile small sheet.f32 sheet.slk")
        assert abs(row["smallest_ratio"] * Path("sheet.slk").stat().st_size / 480_000 - 1) < 0.01, row
        # Where next to nothing is left a shape tells nothing.
        assert row["bound"] > 0.05 or row["smallest_ratio"] > as_line["smallest_ratio"], (row, as_line)


@scenario
def a_dataset_of_hdf5_and_its_commands():
    fields.make("file.h5")
    for name, part in ("", "\n  file.h5:/zz_t ("), (":/none", "/none: there is no such variable; there are /zz_t"), (":text", "strings"):
        has(told(f"analyze file.h5{name}", code=2), part)
    has(told("analyze nothing.h5", code=2), "nothing.h5")
    report = as_json("analyze --json -q file.h5:whole")
    assert (report["missing"][0], report["dtype"]) == (-9999, "f32")
    # The commands that it prints are right as they are.
    table = sleek("analyze file.h5:/zz_t").splitlines()
    printed = [row.split() for row in table if row.startswith(("  sleek repack", "  h5repack"))]
    assert len(printed) == 2, table
    for program, *words in printed:
        force = ["--force", "--even-if-larger"] if program == "sleek" else []
        run(SLEEK if program == "sleek" else program, *words, *force, plugin=True)
        assert run("h5dump", "-pH", "-d", "/zz_t", "new.h5", plugin=True).count("FILTER_ID 47474") == 1, program


@scenario
def results_of_nco_and_cdo_have_the_same_mask():
    """NCO and CDO compute with what is not missing, and hand the mask on: each result is that of the file without a filter, within the
    bound. NCO gives what it writes the filter of what it reads."""
    import shutil

    from netcdf import make_months, same_results

    make_months()
    commands = [
        "ncks -O -v t,u", "ncra -O", "ncwa -O -a time", "ncwa -O -a lat,lon", "ncap2 -O -s t=t+1;u=u*2", "cdo -s timmean", "cdo -s -f nc4 addc,1",
    ]  # fmt: skip
    for bound in "--abs 0.01", "--noa 1e-4", "--rel 1e-5":
        sleek(f"repack -q {bound} --force months.nc packed.nc")
        same_results("months.nc", "packed.nc", 0.01)
        for command in map(str.split, commands):
            if shutil.which(command[0]) is None:
                print(f"{command[0]}: passed over, since it is not there")
                continue
            for old, new in ("months.nc", "a.nc"), ("packed.nc", "b.nc"):
                run(*command, old, new, plugin=True)
            assert same_results("a.nc", "b.nc", 0.021)[0] == "t", command


@scenario
def trees_of_anndata_and_silx_and_cubes_of_iris():
    """What writes and reads whole trees takes one request for all, where it can be had: `SLEEK_H5AD=1 bash tests/hdf5/setup.sh`."""
    from netcdf import make_months

    make_months()
    sleek("repack -q --noa 1e-4 months.nc packed.nc")
    python = Path(fields.VENVS, "venv-h5ad/bin/python")
    for package in "anndata", "silx", "iris":
        if python.exists() and run(str(python), "-c", f"import {package}", code=None) == "":
            run(str(python), str(fields.ROOT / "tests/hdf5/trees.py"), package, plugin=True)
        else:
            print(f"{package}: passed over, since it is not there")


@scenario
def the_commands_bound_counts_for_itself():
    """`SLEEK_PARAMS` overrides what programs ask for, not what a person types."""
    make("sample.h5", f4=np.sin(np.arange(20_000) / 9).astype("f4"))
    sleek("repack --abs 0.5 sample.h5 packed.h5", env={"SLEEK_PARAMS": "lossless"})
    with h5py.File("packed.h5") as f:
        assert f["f4"].id.get_create_plist().get_filter_by_id(47474)[1][2:4] == opts(ABS, 0.5)[2:4]


@scenario
def nccopy_takes_a_filter_for_each_variable():
    """The line of `h5args` for nccopy: with an -F for each variable, every nccopy gives all of them the filter."""
    from netcdf import make_months

    make_months()
    said = sleek("h5args --abs 0.01")
    row = next(row for row in said.splitlines() if row.startswith("nccopy "))
    filter_ = row.split("'")[1]
    assert row == f"nccopy -4 -F '{filter_}' in.nc out.nc" and "one -F for each" in said, said
    run("nccopy", "-4", "-F", filter_.replace("VAR", "t"), "-F", filter_.replace("VAR", "u"), "months.nc", "copied.nc", plugin=True)
    assert run("ncdump", "-hs", "copied.nc", plugin=True).count('_Filter = "47474,') == 2


if __name__ == "__main__":
    main()
