"""NPY files, as NumPy writes them, there and back."""

import subprocess

from command import SLEEK, as_json, attempt, fails, main, np, scenario, sleek


def put(name, array, version=(1, 0)):
    with open(name, "wb") as file:
        np.lib.format.write_array(file, array, version=version)


def npy(version, dictionary, data):
    """A file of this version with a header of one's own."""
    length = (len(dictionary) + 1).to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + length + dictionary.encode() + b"\n" + data


def array(descr, shape, data, order="False"):
    return npy(1, f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}", data)


def piped(text, data):
    return subprocess.run([SLEEK, *text.split()], input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def read(name):
    return open(name, "rb").read()


WAVE = (250 + 10 * np.sin(0.01 * np.arange(6000))).astype("f4").reshape(60, 100)


@scenario
def numpy_loads_what_it_saved():
    rng, done = np.random.default_rng(1), 0
    shapes = [(1,), (37,), (5, 7), (2, 3, 4, 5), (0,), (4, 0, 2), (1,) * 30 + (3, 2)]
    for kind in [order + kind for order in "<>" for kind in "f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8".split()]:
        for shape, order in [(shape, order) for shape in shapes[done % 3 :: 3] for order in "CF"]:
            a = np.array(rng.integers(-100, 100, shape)).astype(kind, order=order)
            if a.dtype.kind == "f" and a.size > 3:
                a.flat[1], a.flat[2], a.flat[3] = np.nan, -0.0, np.inf
            put("a.npy", a, (1 + done % 3, 0))
            sleek("compress -qf --lossless a.npy a.npy.sleek")
            sleek("verify -q a.npy a.npy.sleek")
            sleek("decompress -qf a.npy.sleek b.npy")
            sleek("decompress -qf a.npy.sleek plain")
            b = np.load("b.npy")
            assert b.shape == a.shape and b.dtype == a.dtype and b.tobytes() == a.tobytes() == read("plain"), (kind, shape, order)
            done += 1
    assert done == 132
    c = (rng.normal(size=(40, 50)) + 1j * rng.normal(size=(40, 50))).astype("c16")
    for order in "CF":
        put("a.npy", np.array(c, order=order))
        sleek("compress -qf --abs 1e-3 --dtype f64 a.npy c")
        sleek("decompress -qf c b.npy")
        back = np.load("b.npy").view("c16")[..., 0]
        assert back.shape == c.shape and max(abs((back - c).real).max(), abs((back - c).imag).max()) <= 1e-3
    for other in rng.random((9, 11)) < 0.5, np.datetime64("2026-01-01") + np.arange(40):
        put("a.npy", other)
        sleek(f"compress -qf --lossless --dtype u{8 * other.dtype.itemsize} a.npy c")
        sleek("decompress -qf c b.npy")
        assert np.array_equal(np.load("b.npy").view(other.dtype), other), other.dtype


@scenario
def bounds_boxes_pipes_and_several_streams():
    put("x.npy", WAVE)
    WAVE.tofile("plain.f32")
    for request in "--abs 1e-2", "--noa 1e-3 --profile small", "--ratio 8", "--psnr 60", "--abs 1e-2 --frame-bytes 4000":
        sleek(f"compress -qf {request} x.npy packed")
        sleek(f"compress -qf {request} --dims 60,100 plain.f32 same")
        assert read("packed") == read("same"), f"{request}: the header is no data"
        sleek("decompress -qf packed y.npy")
        found = as_json("verify --json x.npy packed")
        assert found["kept"] and np.abs(np.load("y.npy").astype("f8") - WAVE).max() == found["max_error"], found
    # The last one has several streams, of which a pipe cannot tell how long they are.
    refused = piped("decompress --npy - -", read("packed"))
    assert b"has several streams" in refused.stderr and refused.stdout == b""
    sleek("decompress -qf --box 2:3,10:5 --npy packed box.npy")
    assert np.load("box.npy").shape == (3, 5) and np.abs(np.load("box.npy") - WAVE[2:5, 10:15]).max() <= 0.01001
    fails("decompress --npy --box 59:2,: packed no", "--box")
    # From a pipe, and through one.
    packed = piped("compress -q --abs 1e-2 - -", read("x.npy"))
    open("back.npy", "wb").write(piped("decompress -q --npy - -", packed.stdout).stdout)
    assert np.load("back.npy").shape == (60, 100) and np.abs(np.load("back.npy") - WAVE).max() <= 0.01001


@scenario
def the_order_of_fortran():
    """It is turned into C's, on every way in."""
    a = WAVE[:50, :70]
    put("x.npy", np.asfortranarray(a))
    for request in "--noa 1e-9", "--ratio 1.5", "--lossless --frame-bytes 1000", "--lossless":
        sleek(f"compress -qf {request} x.npy packed")
        assert as_json("verify --json x.npy packed")["kept"], request
    sleek("decompress -qf packed plain")
    assert read("plain") == a.tobytes() and piped("compress -q --lossless - -", read("x.npy")).stdout == read("packed")
    fails("compress --abs 1 --dims 70,50 x.npy out", "--dims 70x50: x.npy has shape (50, 70), which is 50x70")
    # Complex numbers in this order keep their parts together.
    put("x.npy", np.asfortranarray(np.arange(12, dtype="f4").view("c8").reshape(2, 3)))
    sleek("compress -qf --lossless --dtype f32 x.npy packed")
    sleek("decompress -qf packed plain")
    assert (np.fromfile("plain", "f4") == range(12)).all()


@scenario
def what_is_no_array_of_ours_is_refused_by_name():
    data = WAVE.tobytes()[:48]
    whole = array("<f4", "(12,)", data)

    def refused(file, request, part):
        open("x.npy", "wb").write(file)
        fails(f"compress --lossless {request} x.npy out", part)
        if not request:
            by_pipe = piped("compress --lossless - out", file)
            assert by_pipe.returncode == 2 and part.replace("x.npy", "standard input") in by_pipe.stderr.decode(), by_pipe.stderr

    for request, part in (
        ("--dtype f64", "--dtype f64: x.npy has elements <f4, which is f32"),
        ("--dtype u8", "--dtype u8: x.npy has elements <f4"),
        ("--dims 3,4", "--dims 3x4: x.npy has shape (12,), which is 12"),
        ("--big-endian", "--big-endian: x.npy has little-endian elements, <f4"),
    ):
        refused(whole, request, part)
    for descr, part in (
        ("|O", "objects of Python, which cannot be compressed"),
        ("<U4", "<U4, texts"),
        ("<f16", "precision"),
        ("|b1", "|b1, truth values; --dtype i8 or u8 compresses them as such numbers"),
        ("<M8[ns]", "dates or times; --dtype f64 or i64 or u64"),
        ("|V3", "|V3, bytes without a type, which cannot be compressed"),
        ("<c8", "complex numbers, <c8; --dtype f32 takes their real and imaginary parts, as a last dimension of 2"),
        ("<i3", "of no type that we know"),
    ):
        refused(array(descr, "(12,)", data), "", part)
    for shape, part in (
        ("(13,)", "is cut off: 48 of the 52 bytes of (13,) elements <f4"),
        ("(11,)", "4 bytes follow its array of (11,) elements <f4"),
        ("(0,)", "48 bytes follow its array of (0,)"),
        ("(4294967296, 4294967296)", "more than any file holds"),
        ("(0, 4294967296, 4294967296)", "more than any file holds"),
        ("(-1,)", "shape: [-1] is no list of lengths"),
        ("(99999999999999999999,)", "is no list of lengths"),
        ("3", "shape: 3 is no list of lengths"),
    ):
        refused(array("<f4", shape, data), "", part)
    refused(array("<f4", "()", data[:4]), "", "x.npy: has one element and no dimension; --dims 1")
    refused(array("<f4", f"({'1, ' * 33})", data[:4]), "", "rank 33; 1 to 32 dimensions are possible; --dims")
    for dictionary, part in (
        ("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (12,), }", "structured array"),
        ("{'descr': '<f4'", "is no dictionary"),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (12,)} x", "is no dictionary"),
        ("{'descr': '<f4', 'shape': (12,)}", "it has no 'fortran_order'"),
        ("{'descr': '<f4', 'fortran_order': 1, 'shape': (12,)}", "neither True nor False"),
        (f"{{'descr': {'(' * 60_000}", "is no dictionary"),
    ):
        refused(npy(1, dictionary, data), "", part)
    refused(b"\x93NUMPY\x04\x00" + whole[8:], "", "version 4.0; 1.0, 2.0 and 3.0 are known")
    refused(whole[:9], "", "its NPY header: the file ends in it")
    refused(whole[:40], "", "the file ends after 30 of them")
    refused(b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + data, "", "should have 4294967295 bytes")
    refused(b"plain", "", "")
    fails("compress --lossless x.npy out", "is no NPY file: it begins with the bytes [70, 6c, 61, 69, 6e]")
    put("x.npy", WAVE)
    fails("compress x.npy out", "a bound is needed")
    put("i.npy", np.arange(12, dtype="i4"))
    fails("compress --abs 1 i.npy out", "i32")
    fails("analyze i.npy", "bounds are for floats")


@scenario
def what_the_user_says_it_is():
    """What has no type, or no dimensions, of ours is taken as the user says; other subcommands take it too."""
    data = WAVE.tobytes()[:48]
    for descr, shape, request, found, back in (
        ("|b1", "(48,)", "--dtype u8", "|u1", (48,)),
        ("<M8[s]", "(6,)", "--dtype i64", "<i8", (6,)),
        ("<V2", "(24,)", "--dtype bf16", "|V2", (24,)),
        ("<V2", "(24,)", "--dtype u16", "<u2", (24,)),
        (">c8", "(2, 3)", "--dtype f32", ">f4", (2, 3, 2)),
        ("<c16", "(3,)", "--dtype f64 --dims 3,2", "<f8", (3, 2)),
    ):
        open("x.npy", "wb").write(array(descr, shape, data))
        sleek(f"compress -qf --lossless {request} x.npy packed")
        sleek("decompress -qf packed y.npy")
        b = np.load("y.npy")
        assert (b.dtype.str, b.shape, b.tobytes()) == (found, back, data), (descr, b.dtype.str)
        assert as_json("verify --json x.npy packed")["kept"], descr
    open("x.npy", "wb").write(array("<f4", "()", data[:4]))
    sleek("compress -qf --lossless --dims 1 x.npy packed")
    open("x.npy", "wb").write(array("<f4", f"({'1, ' * 32}12)", data))
    sleek("compress -qf --lossless --dims 3,4 x.npy packed")
    assert as_json("inspect --json packed")["dims"] == [3, 4]
    fails("compress --lossless --dims 3,5 x.npy out", "of 12 elements")
    put("x.npy", WAVE)
    put("y.npy", np.zeros(2))
    put("short.npy", WAVE[:10])
    sleek("compress -qf --abs 1e-2 x.npy packed")
    fails("verify y.npy packed", "y.npy: has elements <f8, and packed those of f32")
    # Another number of elements is no error of usage, but none of the array's.
    assert attempt("verify short.npy packed").returncode == 1
    seen = as_json("analyze --json x.npy")
    assert (seen["dtype"], seen["count"]) == ("f32", 6000)
    fails("analyze --dtype f64 x.npy", "--dtype f64: x.npy has elements <f4")
    assert as_json("verify --json --quality x.npy packed")["missed"] == []


if __name__ == "__main__":
    main()
