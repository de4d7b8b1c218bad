"""Plain arrays: previews and pictures of compressed files, bounds that a target comes to, and what `sleek analyze` advises."""

from pathlib import Path

from command import as_json, attempt, fails, has, main, np, scenario, sleek

DIMS = 30, 41, 52
COUNT = 60_000


def cube():
    """A wave along three axes with a fill value in it."""
    z, y, x = np.mgrid[:30, :41, :52]
    a = (np.sin(x * 0.1) * np.cos(y * 0.07) + np.sin(z * 0.3)).astype("f4")
    a.reshape(-1)[70:90] = -9999
    a.tofile("in")
    return a


@scenario
def strides_are_those_of_the_whole():
    """Those of the whole at these places, of several streams, whose beginnings lie between elements of the stride, too."""
    cube()
    for options in "--profile small --fill -9999", "--profile adaptive --fill -9999 --frame-bytes 9000", "--codec zfp":
        sleek(f"compress -qf --dtype f32 --dims 30,41,52 --abs 1e-3 {options} in packed")
        sleek("decompress -qf packed out")
        whole = np.fromfile("out", "f4").reshape(DIMS)
        for stride in 1, 2, 8, 64:
            sleek(f"decompress -qf --stride {stride} packed thin")
            assert Path("thin").read_bytes() == whole[::stride, ::stride, ::stride].tobytes(), (options, stride)
        sleek("decompress -qf --stride 4 --box 5:20,:,3:40 packed thin.npy")
        assert np.array_equal(np.load("thin.npy"), whole[8:25:4, ::4, 4:43:4]), options
    fails("decompress --stride 3 packed thin", "a power of two is needed, such as 2, 4 or 8")
    fails("decompress --stride 0 packed thin", "a power of two is needed")


@scenario
def stats_and_ranges_are_those_of_what_comes_back():
    a = cube()
    for request in "--abs 1e-3 --profile small", "--noa 1e-3", "--rel 1e-3 --profile small":
        sleek(f"compress -qf --dtype f32 --dims 30,41,52 {request} --fill -9999 in packed")
        sleek("decompress -qf packed out")
        back = np.fromfile("out", "f4")
        there = back[back != -9999].astype("f8")
        stats = as_json("stats --json packed")
        assert (stats["count"], stats["missing"]) == (there.size, 20), stats
        # Numbers of JSON may come back a bit beside.
        assert abs(stats["min"] - there.min()) <= 1e-12 and abs(stats["max"] - there.max()) <= 1e-12, stats
        assert abs(stats["mean"] - a[a != -9999].astype("f8").mean()) <= stats["mean_within"] < 0.01, stats
        has(sleek("stats --chunks packed"), "missing      20", " ± ")
        chunks = as_json("stats --chunks --json packed")["chunks"]
        assert sum(chunk["count"] for chunk in chunks) == there.size
        assert abs(min(chunk["min"] for chunk in chunks if chunk.get("min") is not None) - there.min()) <= 1e-12
    Path("broken").write_bytes(Path("packed").read_bytes()[:2000] + b"\1\2\3")
    fails("stats broken", "broken: ")


@scenario
def pictures_show_a_slice():
    cube()
    sleek("compress -q --dtype f32 --dims 30,41,52 --abs 1e-3 --fill -9999 --profile small in packed")
    sleek("show -q -o out.svg packed")
    svg = Path("out.svg").read_text()
    has(svg, "<image x=", "data:image/png;base64,iVBORw0KGgo", "f32 30x41x52 [15, :, :]", "ratio ", "abs 1e-3")
    assert svg.rstrip().endswith("</svg>")
    sleek("show -q --at 0,0,0 --stride 4 -o out.png packed")
    png = Path("out.png").read_bytes()
    # 13 columns and 11 rows, of 55 pixels each.
    assert png[1:4] == b"PNG" and [int.from_bytes(png[at : at + 4], "big") for at in (16, 20)] == [13 * 55, 11 * 55]
    # Elements 70 to 89 are missing: 18 on of row 1.
    row = sleek("show --text --at 0,0,0 packed").splitlines()[4]
    assert len(row) == 52 and row[17] != "·" and set(row[18:38]) == {"·"} and row[38] != "·", row
    fails("show --text --at 0,0 packed", "is no element of an array of the dimensions [30, 41, 52]")
    fails("show -o out.jpg packed", "a name that ends in .svg or .png is needed")
    fails("show -o out.svg packed", "out.svg exists")


def came_to(request):
    """The bound that a target came to, as the command says it."""
    done = attempt(f"compress -f {request}")
    assert done.returncode == 0, done.stderr
    return done.stderr.split(" is met by ")[1].split(": ")[0]


def number(bound):
    return float(bound.removeprefix("--abs "))


def size(name="out"):
    return Path(name).stat().st_size


def psnr():
    return as_json("verify --json in out")["psnr"]


def ssim():
    return as_json("verify --quality --json in out")["quality"]["ssim"]


@scenario
def targets_are_met_and_said_as_a_bound():
    n = 200_000  # a wave with noise: there is a bound for every ratio
    a = (np.sin(np.arange(n) * 1e-3) * 50 + np.random.default_rng(1).random(n) - 0.5).astype("f4")
    a[7::1000] = -9999
    a.tofile("in")
    common = "--dtype f32 --fill -9999"
    for target, more in (
        ("--ratio 5", ""),
        ("--ratio 3.5", "--dims 200x1000 --profile small"),
        ("--size 170000", "--frame-bytes 400000"),
        ("--ratio 12", "--frame-bytes 4096 --dims 200,1000"),
    ):
        bound, most = came_to(f"{common} {target} {more} in out"), 1.7e5 if "size" in target else a.nbytes / float(target.split()[1])
        assert size() <= most, (target, more, size(), most)
        # The quantizer has four steps in each power of two: beyond 2 % it is the first of them that gets there.
        sleek(f"compress -f {common} --abs {0.99 * number(bound)!r} {more} in less")
        assert size() * 1.0201 >= most or size("less") > most, (target, more, bound)
        sleek(f"compress -f {common} {bound} {more} in again")
        assert Path("again").read_bytes() == Path("out").read_bytes(), (target, bound)
    for db in 40, 73, 101:
        bound = came_to(f"{common} --psnr {db} in out")
        found = psnr()
        sleek(f"compress -f {common} --abs {1.01 * number(bound)!r} in out")
        assert found >= db and (found < db + 0.101 or psnr() < db), (db, found, bound)
    for wanted in 0.9, 0.9995:
        bound = came_to(f"{common} --ssim {wanted} in out")
        found = ssim()
        sleek(f"compress -f {common} --abs {1.03 * number(bound)!r} in out")
        assert found >= wanted and (1 - found > 0.949 * (1 - wanted) or ssim() < wanted), (wanted, found, bound)
    np.full(50_000, 7, "f4").tofile("constant")
    assert came_to(f"{common} --ratio 1.01 in out") == came_to("--dtype f32 --ratio 50 constant out") == "--lossless"
    for request, part in (
        ("--dtype f32 --fill -9999 --size 10", "cannot be met"),
        ("--dtype f32 --ratio -5", "--ratio -5"),
        ("--dtype f32 --psnr 0", "--psnr 0"),
        ("--dtype f32 --ssim 1", "between 0 and 1"),
        ("--dtype f32 --size 0", "--size 0"),
        ("--dtype f32 --ratio 5 --range 3", "goes with --noa"),
        ("--dtype i32 --ratio 5", "i32"),
    ):
        fails(f"compress {request} in new", part)
    fails("h5args --ratio 5", "needs the data")
    has(attempt("compress --dtype f32 --ratio 5 - new", input="1234" * 100).stderr, "can be read only once")


@scenario
def targets_that_nothing_meets_name_the_nearest():
    """Which then is met. No exit code of 0 says less."""
    rng = np.random.default_rng(1)
    noise = rng.integers(0, 1 << 24, 20_000).astype("f4")
    spike = noise * np.float32(1e-7)
    spike[777] = 3e38
    fields = {"constant": np.full(50, 7, "f4"), "nan": 0x7F800001 | rng.integers(0, 1 << 22, 20_000, "u4"), "noise": noise, "spike": spike}
    for name, values in fields.items():
        values.tofile(name)
    common = "--dtype f32 --no-fill"
    for name, target in ("constant", "--ratio 10"), ("constant", "--size 20"), ("nan", "--ratio 10"), ("noise", "--ratio 100000"):
        done = attempt(f"compress -f {common} {target} {name} out")
        assert done.returncode == 2 and f"{target}: cannot be met" in done.stderr, done.stderr
        came_to(f"{common} {done.stderr.rstrip().rsplit('the nearest that can be met is ', 1)[1]} {name} out")
    Path("empty").touch()
    sleek(f"compress -f {common} --ratio 10 empty out")
    # One value that is far from all others leaves the bounds that are a part of the range too coarse for these.
    for name, ratio in ("noise", 2), ("noise", 10), ("spike", 2), ("spike", 10):
        bound = came_to(f"{common} --ratio {ratio} {name} out")
        assert ratio <= 80_000 / size() < 1.1 * ratio, (name, ratio, bound)
    # Of quality without loss there is enough.
    for name in "noise", "nan", "constant":
        came_to(f"{common} --psnr 3000 {name} out")
        sleek("decompress -f out back")
        assert Path("back").read_bytes() == Path(name).read_bytes(), name


@scenario
def targets_of_the_largest_numbers():
    """Squares of such values are no f64: what they give is no number, and meets nothing."""
    i = np.arange(40_000)
    usual = np.sin(i * 1e-2) + i % 7 * 0.01
    for target in "--psnr 60", "--ssim 0.9999":
        bounds = []
        for scale in 1, 2.0**600, 2.0**900, 2.0**-600:
            (usual * scale).tofile("field")
            bounds.append(number(came_to(f"--dtype f64 --dims 200x200 --no-fill {target} field out")) / scale)
        assert all(abs(bound / bounds[0] - 1) < 0.2 for bound in bounds), (target, bounds)


def smooth():
    i = np.arange(COUNT)
    return 5 * np.sin(i * 0.01) + 2 * np.cos(i * 0.0013)


def advice(values, dtype):
    """For digits, a bound under which rounding brings them back. docs/guide/bounds.md says what it does."""
    name = f"field.f{8 * np.dtype(dtype).itemsize}"
    values.astype(dtype).tofile(name)
    return as_json(f"analyze --json {name}")


def none(report, caution):
    assert report.get("advice") is None and report.get("digits") is None, report
    assert report["verdict"].startswith("No bound is advised") and caution in report["verdict"], report
    # The words of `cd_values` for lossless: no line that is printed loses anything.
    assert report["cd_values"][1] == 0, report


@scenario
def fields_without_digits():
    rng = np.random.default_rng(5)
    noisy = advice(smooth() + 1e-3 * rng.normal(size=COUNT), "f8")
    none(noisy, "advised: the values have no last digit in common, from which one would follow. Next: choose")
    assert noisy["seen"] == []
    none(advice(smooth(), "f4"), "a figure, such as --psnr 80.")
    sleek("compress -q --psnr 80 field.f32")
    table = sleek("analyze field.f32 --dims 200,300")
    has(table, "No bound is advised: ", "small: ratio of profile small", "  sleek compress --dtype f32 --lossless field.f32 field.f32.sleek")
    has(table, "\n\nBounds by the value range (--noa), ", "\n\nBounds by each value (--rel)\n")
    fails("analyze field.f32 --dims 200,299", "holds 60000 f32 elements; --dims 200x299 says 59800")
    # The original would be lost.
    fails("compress --dtype f32 --abs 1e-3 -f field.f32 ./field.f32", "is the input")


@scenario
def decimals():
    rng = np.random.default_rng(9)
    for k, dtype in [(k, dtype) for k in range(1, 7) for dtype in ("f4", "f8")]:
        report = advice(np.round(smooth() + 0.3 * rng.normal(size=COUNT) / 10**k, k), dtype)
        # Their rounding is noise of 0.29 of the last digit; under this bound rounding again brings them back.
        assert report["advice"] == float(f"4e-{k + 1}") and report["seen"][0] == f"decimals of {k} digit{'s' * (k > 1)}", report
    table = np.round(rng.random(COUNT) * np.resize([360, 2, 1e4], COUNT), 2)
    assert advice(table, "f8")["advice"] == 4e-3
    sleek("compress --abs 4e-3 --no-fill field.f64 --dtype f64 field.sleek")
    sleek("decompress field.sleek back.f64")
    assert (np.round(np.fromfile("back.f64"), 2) == table).all()


@scenario
def bits_that_were_rounded_away():
    """They are named, whether they are zero or set, and what takes them."""
    values = np.exp(smooth() + 1e-3 * np.random.default_rng(17).normal(size=COUNT))
    for dtype, used, all_ in ("f4", 10, 23), ("f4", 20, 23), ("f8", 23, 52):
        word, idle = f"u{dtype[1]}", all_ - used
        bits = values.astype(dtype).view(word) >> np.array(idle, word) << np.array(idle, word)
        groomed = bits.copy()
        groomed[1::2] |= np.array((1 << idle) - 1, word)
        for rounded in (bits, groomed) if dtype == "f4" else (bits,):
            report = advice(rounded.view(dtype), dtype)
            assert f"{used} of {all_} bits in use" in report["seen"], report
            none(report, f"{used} of {all_} bits of each mantissa are in use")
    for dtype in "f4", "f8":
        assert "bits in use" not in str(advice(values, dtype)["seen"])


if __name__ == "__main__":
    main()
