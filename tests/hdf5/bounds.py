"""The bound against what is no data: fill values, rims of chunks, chunks that are written again; and what can have no bound.

    python bounds.py [NAME...]      as scenarios.py
"""

import ctypes
import glob
import itertools
import os
from fractions import Fraction

import h5py
import numpy as np
from h5py import h5d, h5p, h5s, h5t

from scenarios import ABS, DTYPES, LOSSLESS, MANDATORY, NOA, REL, SLEEK, create, main, opts, same_bits, scenario, stored_cd, stream, worst_error

NC_FILL = float(np.float32(9.969209968386869e36))


def chunks_of(shape, chunk):
    """The boxes of a dataset's chunks."""
    grid = (range(0, n, c) for n, c in zip(shape, chunk))
    return (tuple(slice(a, a + c) for a, c in zip(at, chunk)) for at in itertools.product(*grid))


def kept(original, restored, chunk, bound, marks=(), least=0):
    """Each chunk within bound times the range of its data, and every mark where it was and nowhere else."""
    lossy = False
    for box in chunks_of(original.shape, chunk):
        a, b = original[box], restored[box]
        data = np.isfinite(a)
        for mark in marks:
            data &= a != mark
        assert same_bits(a[~data], b[~data]), "a mark has changed"
        for mark in marks:
            assert not np.any(b[data] == mark), f"a value came back as {mark}"
        span = Fraction(float(a[data].max())) - Fraction(float(a[data].min())) if data.any() else Fraction(0)
        error = worst_error(a[data], b[data])
        assert error <= Fraction(bound) * max(span, Fraction(least)), f"{float(error)} in {box}, range {float(span)}"
        lossy |= error > 0
    assert lossy, "stored without a loss: nothing is shown"


def written(f, name, data, chunk, cd, fill=None, **more):
    f.create_dataset(name, data=data, chunks=chunk, fillvalue=fill, compression=SLEEK, compression_opts=cd, **more)


@scenario
def fill_values_are_exact():
    """In both directions, for every type and mode, also the user's and the dataset's together."""
    rng = np.random.default_rng(3)
    for dtype in ("<f2", ">f2", "<f4", ">f4", "<f8", ">f8"):
        a = (280 + 10 * rng.random((60, 70))).astype(dtype)
        fill, named = np.array([-9999, 285.25]).astype(dtype)
        a[rng.random(a.shape) < 0.2] = fill
        a[rng.random(a.shape) < 0.1] = named
        for special in np.nan, np.inf, -np.inf:
            a[rng.random(a.shape) < 0.05] = special
        requests = [opts(mode, bound, fill=float(named)) for mode, bound in ((LOSSLESS, 0), (ABS, 1.0), (NOA, 0.1), (REL, 0.01))]
        requests.append(opts(NOA, 0.1, value_range=10.0, fill=float(named)))
        for cd in requests:
            with h5py.File("f.h5", "w") as f:
                written(f, "a", a, (40, 40), cd, fill)
                f.flush()
                assert len(stored_cd(f["a"])) <= 16
                first = stream(f["a"]) if cd[1] != LOSSLESS else None    # noise of 16 bits is stored plain
                assert not first or (first[9], first[10], first[11] & 1) == (DTYPES[dtype[1:]], cd[1], dtype[0] == ">")
            with h5py.File("f.h5") as f:
                b = f["a"][:]
            for mark in (fill, named):
                assert np.array_equal(a == mark, b == mark), (dtype, cd, mark)
            data = np.isfinite(a) & (a != fill)
            assert worst_error(a[data], b[data]) <= (3 if cd[1] == REL else 1)
            assert same_bits(a[~data], b[~data])


@scenario
def fills_of_arrays():
    """Elements that are arrays or complex numbers: each part of the fill value is a mark; more of them than fit make it lossless."""
    (path,) = glob.glob(os.path.join(os.path.dirname(h5py.__file__), os.pardir, "h5py.libs", "libhdf5-*"))
    lib, hid = ctypes.CDLL(path), ctypes.c_int64
    arrays = [h5t.array_create(h5t.IEEE_F32BE, (3,)), h5t.array_create(h5t.IEEE_F32LE, (5,))]  # kept open
    kinds = {3: arrays[0].id, 5: arrays[1].id}
    if hasattr(lib, "H5Tcomplex_create"):
        lib.H5Tcomplex_create.restype = hid
        kinds[2] = lib.H5Tcomplex_create(hid(h5t.IEEE_F32LE.id))
    lib.H5Dcreate2.restype = hid
    for fill in ([1e20, -9999, 7], [5, 5, 5], [0, 0, 0], [1, 2, 3, 4, 5], [1, 2, 1, 2, 1], [1e20, -1e20]):
        parts = len(fill)
        if parts not in kinds:
            continue
        order = ">" if parts == 3 else "<"
        a = (300 + np.random.default_rng(parts).random((130, parts))).astype(order + "f4")
        fill = np.array(fill, a.dtype)
        a[::9] = fill
        dcpl, space, kind = h5p.create(h5p.DATASET_CREATE), h5s.create_simple((130,)), hid(kinds[parts])
        dcpl.set_chunk((64,))
        dcpl.set_filter(SLEEK, MANDATORY, opts(NOA, 1e-3))
        assert lib.H5Pset_fill_value(hid(dcpl.id), kind, fill.ctypes.data_as(ctypes.c_void_p)) >= 0
        everything = (hid(0), hid(0), hid(0))
        with h5py.File("f.h5", "w") as f:
            dset = lib.H5Dcreate2(hid(f.id.id), b"a", kind, hid(space.id), hid(0), hid(dcpl.id), hid(0))
            assert dset >= 0 and lib.H5Dwrite(hid(dset), kind, *everything, a.ctypes.data_as(ctypes.c_void_p)) >= 0
            assert lib.H5Dclose(hid(dset)) >= 0
        back = np.empty_like(a)
        with h5py.File("f.h5") as f:
            dset = h5d.open(f.id, b"a")
            mode = stream(h5py.Dataset(dset))[10]
            assert lib.H5Dread(hid(dset.id), kind, *everything, back.ctypes.data_as(ctypes.c_void_p)) >= 0
        if len(set(fill)) > 4:
            assert mode == LOSSLESS and same_bits(a, back)
        else:
            kept(a, back, (64, parts), 1e-3, set(fill))


@scenario
def chunks_written_again():
    """Parts in any order, the file closed in between: the bound is that of the largest range that a chunk has had."""
    rng = np.random.default_rng(6)
    for dtype, profile, mode in itertools.product(("f4", "f8", "f2"), (0, 1, 2), (ABS, NOA, REL)):
        bound = {ABS: 1.0, NOA: 0.02, REL: 1e-2}[mode] * (1 if dtype == "f2" else 5e-3)
        a = (500 + 400 * rng.random((50, 60))).astype(dtype)
        with h5py.File("f.h5", "w") as f:
            f.create_dataset("a", a.shape, dtype, chunks=(32, 32), compression=SLEEK, compression_opts=opts(mode, bound, profile))
        final, largest = np.zeros_like(a), 0.0
        for i in range(20):
            y, x = rng.integers(0, 40), rng.integers(0, 50)
            box = np.s_[y : y + rng.integers(1, 11), x : x + rng.integers(1, 11)]
            scale = 2.0 ** rng.integers(-6, 1)
            final[box] = (300 + scale * (a[box] - 300)).astype(dtype)
            with h5py.File("f.h5", "r+") as f:
                f["a"][0, 0]
                f["a"][box] = final[box]
            data = final[final != 0]
            largest = max(largest, float(data.max()) - float(data.min()))
        with h5py.File("f.h5") as f:
            b = f["a"][:]
        if mode == REL:
            assert (np.abs(final.astype("f8") - b) <= bound * np.abs(final.astype("f8"))).all(), (dtype, profile)
        else:
            assert worst_error(final, b) <= Fraction(bound) * (Fraction(largest) if mode == NOA else 1), (dtype, profile, mode)


def months_by_steps():
    """A real field, 12 months of wind, as 40 steps from one month to the next."""
    months = np.fromfile(os.path.join(os.path.dirname(__file__), "../data/navy_uwnd_12x73x144.f32"), "<f4").reshape(12, 73, 144)
    at = np.linspace(0, 11, 40, endpoint=False)[:, None, None]
    first = at.astype(int).ravel()
    return ((1 - at % 1) * months[first] + at % 1 * months[first + 1]).astype("f4")


@scenario
def small_grows_by_steps():
    """Profile small: 40 appends of one step, then parts at random; each rewrites chunks whose values were restored before."""
    a, rng = months_by_steps(), np.random.default_rng(12)
    large, small = (40, 73, 144), (16, 32, 64)
    cases = list(itertools.product((ABS, NOA), (0.2, 1e-2), (large, small)))
    for mode, bound, chunk in cases if os.environ.get("SLEEK_LONG") else (cases[0], cases[-1]):
        cd = opts(mode, bound / 40 if mode == NOA else bound, 2, value_range=40.0 if mode == NOA else None)
        with h5py.File("once.h5", "w") as f:
            f.create_dataset("a", data=a, chunks=chunk, compression=SLEEK, compression_opts=cd)
            at_once = f["a"].id.get_storage_size()
        with h5py.File("f.h5", "w") as f:
            f.create_dataset("a", (0, 73, 144), "f4", chunks=chunk, maxshape=(None, 73, 144), compression=SLEEK, compression_opts=cd)
        for i in range(40):
            with h5py.File("f.h5", "r+") as f:
                f["a"].resize(i + 1, axis=0)
                f["a"][i] = a[i]
        with h5py.File("f.h5", "r+") as f:
            case = f"mode {mode}, {bound}, {chunk}"
            share = at_once / f["a"].id.get_storage_size()
            assert worst_error(a, f["a"][:]) <= Fraction(bound), case
            assert share >= 0.7, f"{case}: {share} of the ratio of one write"
        final = a.copy()
        for _ in range(20):
            box = tuple(slice(p, p + int(rng.integers(1, 20))) for p in (int(rng.integers(0, n)) for n in a.shape))
            final[box] += rng.normal(scale=0.1, size=final[box].shape).astype("f4")
            with h5py.File("f.h5", "r+") as f:
                f["a"][box] = final[box]
        with h5py.File("f.h5") as f:
            assert 0 < worst_error(final, f["a"][:]) <= Fraction(bound), case


@scenario
def random_datasets():
    """Shapes, chunks, fills and ways of writing at random."""
    for seed in range(int(os.environ.get("SLEEK_CASES", "60"))):
        rng = np.random.default_rng([7, seed])
        rank = int(rng.integers(1, 4))
        shape = tuple(int(n) for n in rng.integers(1, (900, 60, 16)[rank - 1], rank))
        chunk = tuple(int(rng.integers(1, 2 * n + 1)) if rng.random() < 0.3 else int(rng.integers((n + 2) // 3, n + 1)) for n in shape)
        dtype = str(rng.choice(["<f4", ">f4", "<f8", ">f8"]))
        level, width = rng.choice([-1e4, 0.3, 300, 5e6]), rng.choice([1e-2, 1, 300])
        a = (level + width * rng.random(shape)).astype(dtype)
        fill = rng.choice([None, None, 0.0, -9999.0, NC_FILL, 1e20, np.nan, 0.3])
        named = rng.choice([None, None, -9999.0, -32767.0])
        marks = [np.array(m, dtype) for m in (fill, named) if m is not None and m == m]
        for mark in marks:
            a[rng.random(shape) < 0.1] = mark
        bound = float(rng.choice([1e-2, 1e-3, 3e-5]))
        cd = opts(NOA, bound, int(rng.integers(0, 2)), fill=named)
        way = str(rng.choice(["whole", "rows", "appended", "boxes"]))
        case = f"{seed}: {shape} in {chunk} of {dtype} from {level} by {width}, fill {fill}, named {named}, noa={bound}, {way}"
        with h5py.File("f.h5", "w", rdcc_nbytes=0) as f:
            more = {"chunks": chunk, "fillvalue": fill, "compression": SLEEK, "compression_opts": cd}
            if any(c > n for c, n in zip(chunk, shape)) or way == "appended":
                more["maxshape"] = (None,) * rank
            # With fill time "never" HDF5 puts zeros into the rim, whatever the fill value is.
            if way != "appended" and fill is None and rng.random() < 0.5:
                more["fill_time"] = "never"
            d = f.create_dataset("a", (0, *shape[1:]) if way == "appended" else shape, dtype, **more)
            if way == "whole":
                d[...] = a
            elif way == "boxes":
                for _ in range(12):
                    at = [int(rng.integers(0, n)) for n in shape]
                    box = tuple(slice(p, p + int(rng.integers(1, n + 1))) for p, n in zip(at, shape))
                    d[box] = a[box]
                d[...] = a
            else:
                step = max(1, shape[0] // int(rng.integers(1, 9)))
                for y in range(0, shape[0], step):
                    end = min(y + step, shape[0])
                    if way == "appended":
                        d.resize(end, axis=0)
                    d[y:end] = a[y:end]
            assert len(stored_cd(d)) <= 16
        with h5py.File("f.h5") as f:
            restored = f["a"][...]
        try:
            kept(a, restored, chunk, bound, marks)
        except AssertionError as e:
            if "without a loss" not in str(e):
                raise AssertionError(f"{case}: {e}") from e


@scenario
def complex_numbers_of_compounds():
    """h5py's complex numbers are compounds of two floats: the bound is for each part, and so are the fill value's parts."""
    rng = np.random.default_rng(10)
    z = (300 + rng.random((130, 3)) + 1j * rng.random((130, 3)))[:, ::-1]
    parts = lambda a: np.ascontiguousarray(a).view(a.real.dtype)
    kinds = {order + kind: z.astype(order + kind) for order in "<>" for kind in ("c8", "c16")}
    requests = {
        "abs": (opts(ABS, 1e-3), 1e-3),
        "noa": (opts(NOA, 1e-3, value_range=2.0), 2e-3),
        "rel": (opts(REL, 1e-3), None),
        "small": (opts(ABS, 1e-3, 2), 1e-3),
        "lossless": (opts(LOSSLESS), 0),
    }
    for (kind, a), (name, (cd, limit)) in itertools.product(kinds.items(), requests.items()):
        with h5py.File("f.h5", "w") as f:
            create(f, "z", a, (64, 3), cd)
        with h5py.File("f.h5") as f:
            back = f["z"][:]
            assert stream(f["z"])[9] == (1 if kind.endswith("c8") else 2), (kind, name)
        assert back.dtype == a.dtype
        u, v = parts(a), parts(back)
        if limit is None:
            error = np.abs(u.astype("f8") - v)
            assert 0 < error.max() and (error <= 1e-3 * np.abs(u.astype("f8"))).all()
        elif limit == 0:
            assert same_bits(a, back)
        else:
            assert 0 < worst_error(u, v) <= Fraction(limit), (kind, name)
    # The parts of a fill value are missing values of the parts; neither counts for the range.
    for fill in (1e20 + 1e20j, 1e20 - 5j, complex(np.nan, -9999)):
        a = kinds["<c8"].copy()
        a[::9] = fill
        a.imag[5] = np.float32(fill.imag)
        with h5py.File("f.h5", "w") as f:
            written(f, "z", a, (64, 3), opts(NOA, 1e-3), np.complex64(fill))
        with h5py.File("f.h5") as f:
            u, v = parts(a), parts(f["z"][:])
        marks = np.array([fill.real, fill.imag], "f4").view("u4")
        is_mark, comes_as_mark = np.isin(u.view("u4"), marks), np.isin(v.view("u4"), marks)
        assert (is_mark == comes_as_mark).all() and same_bits(u[is_mark], v[is_mark])
        error = np.abs(u[~is_mark].astype("f8") - v[~is_mark]).max()
        assert 0 < error <= 1e-3 * 301.1, error


    # Names that other programs have for the same.
    for names in ("re", "im"), ("Real", "Imag"), ("real", "imaginary"):
        a = np.zeros(200, [(name, "f4") for name in names])
        for name in names:
            a[name] = rng.normal(size=200)
        with h5py.File("f.h5", "w") as f:
            create(f, "a", a, (64,), opts(ABS, 1e-1))
        with h5py.File("f.h5") as f:
            assert 0 < worst_error(a.view("f4"), f["a"][:].view("f4")) <= Fraction(1e-1), names


if __name__ == "__main__":
    main()
