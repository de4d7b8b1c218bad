"""The masks table: missing values as programs write them, declared in an attribute, as fill value, or not at all. None is lost.

    python sentinel.py [NAME...]      as scenarios.py
"""

import itertools

import h5py
import netCDF4
import numpy as np

from netcdf import define
from scenarios import ABS, NOA, REL, SLEEK, main, opts, run, scenario

SHAPE, CHUNK = (90, 110), (40, 50)
MODES = [(ABS, 0.3), (NOA, 1e-2), (REL, 1e-2)]
# A mark that people use, and one that only stands apart.
MARKS = [-9999.0, -777.25]


def field(dtype, mark):
    """Values around 290 with marks: a chunk without, one with two of them, one of nothing else, and a coast."""
    y, x = np.indices(SHAPE)
    a = (290 + 10 * np.sin(0.07 * y) * np.cos(0.05 * x)).astype(dtype)
    a[5, 60:62] = mark
    a[40:80, :50] = mark
    a[(y > 40) & (x > 50) & (np.sin(0.2 * y) + np.cos(0.15 * x) > 0.7)] = mark
    a[85:88, 105] = mark
    return a, np.asarray(mark, dtype)


def plain(path, a, declared, mark):
    """A contiguous dataset as programs leave it."""
    with h5py.File(path, "w") as f:
        d = f.create_dataset("a", data=a, fillvalue=mark if declared == "fill" else None)
        declare(d, declared, mark)


def declare(d, declared, mark):
    if declared == "attribute":
        d.attrs["missing_value"] = mark


def by_h5py(a, declared, mark, cd):
    with h5py.File("new.h5", "w") as f:
        more = {"fillvalue": mark} if declared == "fill" else {}
        d = f.create_dataset("a", data=a, chunks=CHUNK, compression=SLEEK, compression_opts=cd, **more)
        declare(d, declared, mark)
    return "new.h5"


def by_rows(a, declared, mark, cd):
    """A dataset that grows: its chunks are written again and again."""
    with h5py.File("new.h5", "w", rdcc_nbytes=0) as f:
        more = {"fillvalue": mark} if declared == "fill" else {}
        d = f.create_dataset(
            "a", (0, a.shape[1]), a.dtype, chunks=CHUNK, maxshape=(None, a.shape[1]), compression=SLEEK, compression_opts=cd, **more
        )
        declare(d, declared, mark)
        for at in range(0, a.shape[0], 15):
            d.resize(min(at + 15, a.shape[0]), axis=0)
            d[at : at + 15] = a[at : at + 15]
    return "new.h5"


def by_h5repack(a, declared, mark, cd):
    plain("old.h5", a, declared, mark)
    words = ",".join(str(w) for w in cd)
    chunk = "x".join(str(n) for n in CHUNK)
    run("h5repack", "-l", f"a:CHUNK={chunk}", "-f", f"a:UD={SLEEK},0,{len(cd)},{words}", "old.h5", "new.h5")
    return "new.h5"


def netcdf(path, a, declared, mark, fills, **more):
    """A variable of netCDF-4, and its file."""
    f = netCDF4.Dataset(path, "w")
    for name, n in zip("yx", SHAPE):
        f.createDimension(name, n)
    endian = "big" if a.dtype.byteorder == ">" else "little"
    v = f.createVariable("a", a.dtype, ("y", "x"), endian=endian, fill_value=fills, **more)
    if declared == "attribute":
        v.missing_value = a.dtype.newbyteorder("=").type(mark)
    v.set_auto_mask(False)
    return f, v


def by_netcdf(a, declared, mark, cd):
    """nc_def_var_filter from C. netCDF gives each variable a fill value of its own, unless it is told not to."""
    f, v = netcdf("new.nc", a, declared, mark, {"fill": mark, "attribute": None, "nothing": False}[declared], chunksizes=CHUNK)
    define(f, v, cd)
    v[:] = a
    f.close()
    return "new.nc"


def by_nccopy(a, declared, mark, cd):
    f, v = netcdf("old.nc", a, declared, mark, mark if declared == "fill" else False)
    v[:] = a
    f.close()
    words = ",".join(str(w) for w in cd)
    run("nccopy", "-c", "y/40,x/50", "-F", f"a,{SLEEK},{words}", "old.nc", "new.nc")
    return "new.nc"


PROGRAMS = [by_h5py, by_rows, by_h5repack, by_netcdf, by_nccopy]


def within(a, b, mark, mode, bound):
    data = a != mark
    a, b = a[data].astype("f8"), b[data].astype("f8")
    most = {ABS: bound, NOA: bound * (a.max() - a.min()), REL: bound * np.abs(a)}[mode]
    assert np.all(np.abs(a - b) <= most), (np.abs(a - b).max(), mode, bound)


@scenario
def masks_in_thirty_ways():
    ways, lost, seen = 0, [], 0
    for program, declared, value in itertools.product(PROGRAMS, ("attribute", "fill", "nothing"), MARKS):
        ways += 1
        for kind, (order, (mode, bound), profile) in itertools.product(
            ("f2", "f4", "f8"), itertools.product("<>", MODES, (0, 2))
        ):
            if kind == "f2" and program in (by_netcdf, by_nccopy):
                continue    # netCDF has no such numbers
            a, mark = field(order + kind, value)
            path = program(a, declared, mark, opts(mode, bound, profile))
            with h5py.File(path) as f:
                b = f["a"][:]
            seen += 1
            if not np.array_equal(a == mark, b == mark):
                lost.append((program.__name__, declared, value, order + kind, mode, profile))
            within(a, b, mark, mode, bound)
    assert ways == 30 and seen > 700, (ways, seen)
    assert not lost, f"{len(lost)} of {seen} lost, such as {lost[:5]}"


@scenario
def fill_values_among_the_data_cost_little():
    """A fill value that lies among the data, whoever writes it: no mask is lost, and it costs what one outside costs."""
    y, x = np.indices(SHAPE)
    for kind, order, fill in itertools.product(("f4", "f8"), "<>", (0.0, -2.5)):
        a = (fill + 8 * np.sin(0.07 * y) * np.cos(0.05 * x) + 0.01 * np.cos(x * y)).astype(order + kind)
        gaps = (np.sin(0.2 * y) + np.cos(0.15 * x) > 0.7) | (a == fill)
        for program, (mode, bound), profile in itertools.product((by_h5py, by_rows, by_netcdf), MODES[:2], (0, 1, 2)):
            sizes = []
            for value in (fill, -9999.0):
                mark = np.asarray(value, order + kind)
                a[gaps] = mark
                with h5py.File(program(a, "fill", mark, opts(mode, bound, profile))) as f:
                    b, size = f["a"][:], f["a"].id.get_storage_size()
                sizes.append(size)
                assert np.array_equal(gaps, b == mark), (program.__name__, kind, order, fill, mode, profile)
                within(a, b, mark, mode, bound)
            # What was restored before may lie at the edge of a bin of a chunk that is written again.
            assert program == by_rows or sizes[0] <= 1.1 * sizes[1], (program.__name__, kind, order, fill, mode, profile, sizes)


@scenario
def cells_that_nobody_wrote_stay_what_they_are():
    """Chunks of which a part was never written: the fill value, or HDF5's zeros, in a rim or beside data."""
    for kind, (mode, bound), fill in itertools.product(("<f4", ">f8"), MODES, (None, 0.0, -9999.0, 1e20)):
        for profile in (0, 1, 2):
            with h5py.File("new.h5", "w") as f:
                d = f.create_dataset(
                    "a", SHAPE, kind, chunks=CHUNK, maxshape=(None, None), fillvalue=fill, compression=SLEEK,
                    compression_opts=opts(mode, bound, profile),
                )    # fmt: skip
                d[10:30, 20:70] = 290 + np.random.default_rng(1).random((20, 50))
            with h5py.File("new.h5", "r+") as f:
                f["a"].resize((130, 160))
                f["a"][95:99, 10:20] = 250.0
            with h5py.File("new.h5") as f:
                b = f["a"][:]
            written = np.zeros(b.shape, bool)
            written[10:30, 20:70] = written[95:99, 10:20] = True
            assert np.all(b[~written] == (fill or 0)), (kind, mode, fill, profile)


@scenario
def zfp_adds_an_error_with_each_write():
    """Rows that are appended one by one to chunks of 40: what the other codecs keep, zfp keeps for each write alone."""
    rng = np.random.default_rng(5)
    a = np.cumsum(rng.standard_normal((40, 60)), axis=0).astype("f4")
    bound, writes = 0.05, 40
    requests = {name: text_words(f"abs={bound},{name}") for name in ("codec=sleek", "codec=interp", "codec=zfp")}
    for name, cd in requests.items():
        with h5py.File("new.h5", "w", rdcc_nbytes=0) as f:
            d = f.create_dataset("a", (0, 60), "f4", chunks=(40, 60), maxshape=(None, 60), compression=SLEEK, compression_opts=cd)
            for row in range(writes):
                d.resize(row + 1, axis=0)
                d[row] = a[row]
                f.flush()
        with h5py.File("new.h5") as f:
            error = np.abs(f["a"][:].astype("f8") - a).max() / bound
        assert 0 < error <= (writes if name == "codec=zfp" else 1), (name, error)


def text_words(text):
    raw = text.encode() + bytes(-len(text) % 4)
    return (2, *np.frombuffer(raw, "<u4").tolist())


if __name__ == "__main__":
    main()
