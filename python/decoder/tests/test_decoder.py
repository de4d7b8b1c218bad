"""The decoder of Python and numpy against the library, on golden streams, fresh ones, and damage."""

import ctypes
import doctest
import hashlib
import importlib
import json
import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import sleek
import sleek_decode
from sleek._library import lib
from sleek_decode import _container, _tables, _zfp
from sleek_decode._container import Stream

ROOT = Path(__file__).parents[3]
GOLDEN = sorted(path for path in (ROOT / "tests").rglob("*.slk") if not {"toy", "tensors"} & set(path.parts))
FILES = [path for path in GOLDEN if path.parent.name == "files"]


def library(stream):
    """The bytes that the library restores; None if it refuses."""
    info = sleek._library.StreamInfo(struct_size=ctypes.sizeof(sleek._library.StreamInfo))
    if lib.sleek_inspect(stream, len(stream), ctypes.byref(info)):
        return None
    out = ctypes.create_string_buffer(max(1, info.raw_bytes))
    size = ctypes.c_size_t()
    refused = lib.sleek_decompress(stream, len(stream), out, info.raw_bytes, ctypes.byref(size), None)
    return None if refused else out.raw[: size.value]


def ours(stream):
    try:
        return sleek_decode.decode_bytes(stream)
    except sleek_decode.DecodeError:
        return None


@pytest.mark.parametrize("path", [p for p in GOLDEN if p not in FILES], ids=lambda p: p.stem)
def test_golden_streams(path):
    stream = path.read_bytes()
    restored = sleek_decode.decode_bytes(stream)
    assert restored == library(stream) and len(restored) == len(library(stream))
    info = sleek_decode.inspect(stream)
    if (info.dtype, info.big_endian) == ("bf16", True):  # no type of numpy
        with pytest.raises(sleek_decode.DecodeError, match="decode_bytes"):
            sleek_decode.decode(stream)
        return
    theirs = sleek.inspect(stream)
    assert (info.codec, info.shape, info.abs_bound) == (theirs.codec, theirs.shape, theirs.abs_bound)
    array = sleek_decode.decode(stream)
    assert array.tobytes() == restored and array.shape == info.shape and array.dtype == theirs.dtype


def test_golden_streams_restore_to_what_is_listed():
    """By that list whoever writes a decoder from the pages can judge it. `SLEEK_UPDATE=1` makes it anew."""
    vectors = ROOT / "tests" / "vectors"
    streams = {path.relative_to(vectors): path for path in GOLDEN if vectors in path.parents}
    lines = []
    for name, path in streams.items():
        file = path.read_bytes()
        restored = sleek_decode.decode_file(file).tobytes() if path in FILES else sleek_decode.decode_bytes(file)
        lines.append(f"{hashlib.sha256(restored).hexdigest()}  ./{name}\n")
    listed = vectors / "restored.sha256"
    if os.environ.get("SLEEK_UPDATE") == "1":
        listed.write_text("".join(lines))
    assert sorted(listed.read_text().splitlines(keepends=True)) == sorted(lines)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_files_of_several_streams(path):
    file = path.read_bytes()
    size = int.from_bytes(file[24:32], "little")
    array, first = sleek_decode.decode_file(file), sleek_decode.decode(file[:size])
    assert array.ravel()[: first.size].tobytes() == sleek_decode.decode_bytes(file[:size]) and array.size > first.size
    for wrong in (file[:size], file[:-1], file + file[:size], file + file, b"", file[:70]):
        with pytest.raises(sleek_decode.DamagedError):
            sleek_decode.decode_file(wrong)


def in_parts(*streams):
    """A file of these streams."""
    parts = [bytearray(s) for s in streams]
    for part in parts[:-1]:
        part[11] |= 4
    return b"".join(seal(part, sealed(bytes(s))) for part, s in zip(parts, streams))


def test_streams_of_a_file_are_of_one_kind():
    """They have one codec, and one shape but for the first dimension along which the first one is longer than 1."""
    a = np.arange(40, dtype="f4").reshape(1, 4, 10)
    plain, small = (sleek.compress(a, f"lossless,profile={profile}") for profile in ("adaptive", "small"))
    longer = sleek.compress(np.concatenate([a, a, a], axis=1), "lossless")
    assert np.array_equal(sleek_decode.decode_file(in_parts(plain, longer)), np.tile(a.reshape(-1), 4))
    assert np.array_equal(sleek_decode.decode_file(in_parts(small, small)), np.tile(a.reshape(-1), 2))
    for other in (small, *(sleek.compress(a.reshape(dims), "lossless") for dims in ((2, 2, 10), (1, 10, 4), (4, 10), 40))):
        with pytest.raises(sleek_decode.DamagedError, match="different kinds"):
            sleek_decode.decode_file(in_parts(plain, other))


def test_zfp_tiles_of_one_block():
    for dims in ((4,), (4, 4), (1, 3, 4), (4, 4, 4), (3, 2, 4, 4)):
        for dtype in ("f4", "f8", "i4", "i8"):
            a = np.arange(np.prod(dims)).reshape(dims).astype(dtype)
            for request in ("lossless,codec=zfp", "precision=14,codec=zfp,integers"):
                stream = bytes(sleek.compress(a, request))
                assert sleek_decode.decode_bytes(stream) == library(stream)


def mask(first, block, *changes):
    """The mask of a plane with blocks of 128 elements, of which one changes at these."""
    bits = np.zeros(128, np.uint8)
    bits[list(changes)] = 1
    places = np.packbits(bits, bitorder="little")
    flags = np.packbits(places != 0, bitorder="little")
    return np.array([first, 1 << block], "<u4").tobytes() + flags.tobytes() + places[places != 0].tobytes()


def test_two_masks_have_no_bit_in_common_even_behind_the_end():
    a = np.full(100, 1.5, "f4")
    a[5], a[50] = -9999, -8888
    stream = bytearray(sleek.compress(a, "lossless,fill=0xc61c3c00,fill=0xc60ae000"))    # the bits of both
    at = 64 + int.from_bytes(stream[64:68], "little") + 16    # of the entry: 64 elements and 256 bytes to spare

    def with_masks(*masks):
        plane = b"".join(masks)
        units = -(-(4 + len(plane)) // 16)
        body = (bytes([0x83, 0, units, 0]) + plane).ljust(16 * units, b"\0") + np.float32(1.5).tobytes().ljust(16, b"\0")
        whole = stream[:at] + (units + 1 | 3 << 14).to_bytes(2, "little") + bytes(14) + body
        whole[24:32] = len(whole).to_bytes(8, "little")
        return seal(whole, (None, at - 16, 1, 2, 16, 14, at + 16, 1))

    apart = with_masks(mask(0, 0, 5, 6), mask(0, 0, 50, 51))
    assert np.array_equal(sleek_decode.decode(apart), a) and library(apart) == a.tobytes()
    behind = with_masks(mask(0, 0, 5, 6, 110), mask(2, 0, 50, 51))    # bits that no element has
    assert np.array_equal(sleek_decode.decode(behind), a) and library(behind) == a.tobytes()
    for second in (mask(0, 0, 5, 6), mask(0, 0, 120), mask(0, 3, 7), mask(8, 0, 50, 51)):
        damaged = with_masks(mask(8, 0, 5, 6, 110), second)
        assert ours(damaged) is None and library(damaged) is None


def fields():
    """Arrays of all kinds, by name."""
    rng = np.random.default_rng(7)
    y, x = np.mgrid[:90, :230]
    smooth = 280 + 10 * np.sin(0.05 * x) * np.cos(0.07 * y)
    odd = (smooth + rng.normal(size=smooth.shape) * 0.01).astype("f4")
    odd[rng.random(odd.shape) < 0.02] = np.nan
    odd[3, :50] = [np.inf, -np.inf, 0, -0.0, 1e-40] * 10
    return {
        "smooth": smooth.astype("f4"),
        "double": smooth + 1e-9 * rng.normal(size=smooth.shape),
        "big": (smooth - 280).astype(">f8"),
        "half": (smooth - 280).astype("f2"),
        "odd": odd,
        "box": np.cumsum(rng.normal(size=(9, 35, 50)), axis=0).astype("f4"),
        "four": np.sin(np.arange(5 * 6 * 7 * 40)).reshape(5, 6, 7, 40),
        "noise": rng.normal(size=20_000),
        "wild": np.frombuffer(rng.bytes(40_000), "f4").copy(),
        "decimals": np.round(smooth, 2).astype("f4"),
        "decimals of doubles": np.round(np.cumsum(rng.normal(size=9000)), 3),
        "few": rng.choice(np.array([1.5, 2.5, -7.25, 1e30], "f4"), 30_000),
        "again": np.tile(rng.normal(size=300).astype("f4"), 60),
        "counts": rng.poisson(3, (200, 130)).astype("i4"),
        "ids": np.arange(70_000, dtype="i8") * 3,
        "short": rng.integers(-5, 5, 9000).astype("i2"),
        "bytes": rng.integers(0, 4, 20_000).astype("u1"),
        "one": np.array([3.25]),
        "none": np.zeros(0, "f4"),
        "constant": np.full((40, 700), 2.5, "f4"),
    }


REQUESTS = [
    "lossless", "abs=1e-3", "noa=1e-3", "rel=1e-3", "abs=1e-9", "abs=1e-3,profile=fast", "lossless,profile=fast", "abs=1e-3,profile=small",
    "abs=1e-7,profile=small", "rel=1e-2,profile=small", "lossless,profile=small", "abs=1e-2,fill=0", "abs=1e-3,fill=0x7fc00000,fill=0",
    "abs=1e-3,profile=small,fill=1.5,fill=0x7fc00000", "rate=6,codec=zfp,integers", "precision=14,codec=zfp,integers",
    "abs=1e-3,codec=zfp", "lossless,codec=zfp",
]  # fmt: skip


@pytest.mark.parametrize("request_", REQUESTS)
def test_fresh_streams(request_):
    seen = 0
    for name, array in fields().items():
        try:
            stream = bytes(sleek.compress(array, request_))
        except sleek.SleekError:
            continue  # a bound for integers, a type that codec zfp has not
        seen += 1
        restored = sleek_decode.decode(stream)
        assert restored.tobytes() == library(stream), name
        assert restored.dtype == array.dtype and restored.size == array.size
        if array.ndim > 1 and sleek_decode.inspect(stream).shape != (array.size,):
            assert restored.shape == array.shape
        if "lossless" in request_:
            assert restored.tobytes() == array.tobytes(), name
    assert seen >= 9


def test_arrays_that_are_written_again():
    rng = np.random.default_rng(9)
    for name in ("smooth", "double", "big", "odd", "box", "four", "decimals of doubles"):
        array = new = fields()[name]
        for bound in ("1e-3", "1e-3", "1e-3", "3e-4"):  # after the first time a part of the elements is new
            stream = bytes(sleek.compress(array, f"abs={bound},profile=small"))
            assert sleek_decode.decode_bytes(stream) == library(stream), name
            rows = rng.random(len(new)).reshape(-1, *(1 for _ in new.shape[1:])) < 0.2
            array = np.where(rows, new, sleek_decode.decode(stream).reshape(new.shape)).astype(new.dtype)


def test_ranges_and_boxes():
    rng = np.random.default_rng(8)
    a = np.cumsum(rng.normal(size=(11, 70, 90)), axis=1).astype("f4")
    for request in ("abs=1e-2", "abs=1e-2,profile=small", "rate=8,codec=zfp"):
        stream = bytes(sleek.compress(a, request))
        whole = sleek_decode.decode(stream).reshape(a.shape)
        flat = whole.reshape(-1)
        for _ in range(30):
            first, last = sorted(rng.integers(0, a.size + 1, 2).tolist())
            assert np.array_equal(sleek_decode.decode_range(stream, first, last - first), flat[first:last])
            if len(sleek_decode.inspect(stream).shape) == 3:
                low, high = np.sort(rng.integers(0, np.array(a.shape) + 1, (2, 3)), axis=0)
                box = sleek_decode.decode_box(stream, low.tolist(), (high - low).tolist())
                assert np.array_equal(box, whole[tuple(slice(*pair) for pair in zip(low, high))])
    # Only what is needed is looked at: what is damaged elsewhere is not seen.
    stream = bytearray(sleek.compress(rng.normal(size=2_000_000), "lossless"))
    stream[-20] ^= 1
    assert len(sleek_decode.decode_range(stream, 5, 100_000)) == 100_000
    with pytest.raises(sleek_decode.DamagedError, match="checksum of chunks"):
        sleek_decode.decode_range(stream, 1_999_000, 1000)
    for first, count in ((-1, 2), (0, 2_000_001), (2_000_000, 1)):
        with pytest.raises(sleek_decode.DecodeError, match="does not lie within"):
            sleek_decode.decode_range(stream, first, count)


def sealed(stream):
    """A stream with the checksums of what it holds now, as far as its index can be followed."""
    data = bytearray(stream)
    word = lambda at, n=8: int.from_bytes(data[at : at + n], "little")  # noqa: E731
    try:
        at = 64 + (word(64, 4) if data[11] & 8 else 0)
        wide = bool(data[11] & 8 and data[69])
        sleek_s = Stream(stream)  # of the stream before it was damaged
    except sleek_decode.DecodeError:
        return bytes(data)
    entry, unit, bits = (4, 4, 30) if wide else (2, 16, 14)
    groups = -(-sleek_s.chunks // 64)
    bodies = -(-(at + 16 * groups + entry * sleek_s.chunks) // 16) * 16
    return data, at, groups, entry, unit, bits, bodies, sleek_s.chunks


def seal(stream, layout):
    _, at, groups, entry, unit, bits, bodies, chunks = layout
    data = bytearray(stream)
    entries = at + 16 * groups
    place = bodies
    for g in range(groups):
        total = 0
        data[at + 16 * g : at + 16 * g + 8] = place.to_bytes(8, "little")
        for k in range(min(64, chunks - 64 * g)):
            e = entries + entry * (64 * g + k)
            size = (int.from_bytes(data[e : e + entry], "little") & (1 << bits) - 1) * unit
            body = np.frombuffer(bytes(data[place : place + size]), "<u4")
            if size and len(body) * 4 == size:
                sums = _container._sums(body, np.zeros(1, np.int64))
                total += int(_container._mix(sums + np.uint64((k + 1) * 0x9E3779B97F4A7C15 % 2**64))[0])
            place += size
        data[at + 16 * g + 8 : at + 16 * g + 16] = (total % 2**64).to_bytes(8, "little")
    data[56:64] = bytes(8)
    head = int(_container._sums(np.frombuffer(bytes(data[:bodies]), "<u4"), np.zeros(1, np.int64))[0])
    data[56:64] = int(_container._mix(np.array([(head + 0x9E3779B97F4A7C15 * bodies) % 2**64], "u8"))[0]).to_bytes(8, "little")
    return bytes(data)


@pytest.mark.parametrize("path", [p for p in GOLDEN if p not in FILES][::7], ids=lambda p: p.stem)
def test_damage_is_refused(path):
    rng = np.random.default_rng(len(path.stem))
    stream = path.read_bytes()
    for length in {0, 1, 63, 64, 79, len(stream) // 2, len(stream) - 1}:
        if length < len(stream):
            with pytest.raises(sleek_decode.DecodeError):
                sleek_decode.decode(stream[:length])
    with pytest.raises(sleek_decode.DecodeError):
        sleek_decode.decode(stream + bytes(16))
    for at in rng.integers(0, len(stream), 40).tolist():
        damaged = bytearray(stream)
        damaged[at] ^= 1 << rng.integers(8)
        assert ours(bytes(damaged)) is None, at


@pytest.mark.parametrize("path", [p for p in GOLDEN if p not in FILES][::3], ids=lambda p: p.stem)
def test_damage_that_is_sealed_again_is_judged_as_by_the_library(path):
    """What both take they restore to the same bytes; a nonsense stream that one of them takes the other one takes too."""
    rng = np.random.default_rng(len(path.stem))
    stream = path.read_bytes()
    layout = sealed(stream)
    assert seal(stream, layout) == stream
    for n in range(SEALED):
        damaged = bytearray(stream)
        for at in rng.integers(0, len(stream), 1 + n % 2).tolist():
            damaged[at] = damaged[at] ^ 1 << rng.integers(8) if n % 3 else rng.integers(256)
        resealed = seal(damaged, layout)
        assert ours(resealed) == library(resealed), f"{path.stem} {n}"


SEALED = int(os.environ.get("SLEEK_DECODER_DAMAGE", 15))


def test_later_formats_are_said_to_be_unsupported():
    stream = bytes(sleek.compress(np.zeros(9, "f4"), lossless=True))
    for at, value in ((6, 2), (8, 9), (11, 16)):
        later = bytearray(stream)
        later[at] = value
        with pytest.raises(sleek_decode.UnsupportedError, match="this package"):
            sleek_decode.decode(later)
    stream = bytearray(stream)
    for stream[8], release in ((2, "0.2"), (4, "0.4")):
        with pytest.raises(sleek_decode.UnsupportedError, match=f"pre-release of {release}"):
            sleek_decode.decode(stream)
    for nothing in (b"", b"HDF", bytes(200)):
        with pytest.raises(sleek_decode.DamagedError, match="not a SLEEK stream"):
            sleek_decode.decode(nothing)


def test_numbers_of_the_pages():
    frequencies = r"((?:\d+×)?\d+(?:,(?:\d+×)?\d+)+|–|as12)"
    page = (ROOT / "docs/reference/codecs/interp.md").read_text()
    rows = re.findall(rf"^(\d+|first) +{frequencies} \| {frequencies}$", page, re.MULTILINE)
    assert [number for number, *_ in rows] == [*map(str, range(20)), "first"]
    rows = [[row[0], rows[12][1] if row[1] == "as12" else row[1], row[2]] for row in rows]
    tables = [_tables.TOKENS, _tables.CLASSES]
    assert [[_tables.read(row[column].replace(",", ", ")) for row in rows if row[column] != "–"] for column in (1, 2)] == tables
    assert {sum(table) for table in tables[0] + tables[1]} == {1024}
    page = (ROOT / "docs/reference/codecs/zfp.md").read_text()
    for d in (3, 4):
        written = re.search(rf"^d = {d}:\n((?:[,\d]+\n)+)", page, re.MULTILINE).group(1)
        assert [int(n) for n in re.findall(r"\d+", written)] == _zfp._PLACES[d].tolist() and sorted(_zfp._PLACES[d]) == list(range(4**d))


def test_bfloat16_without_its_type(monkeypatch):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    a = np.linspace(0, 9, 500).astype(ml_dtypes.bfloat16)
    stream = bytes(sleek.compress(a, lossless=True))
    assert sleek_decode.decode(stream).dtype == a.dtype
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(sleek_decode.DecodeError, match="ml_dtypes"):
        sleek_decode.decode(stream)
    assert sleek_decode.decode_bytes(stream) == a.tobytes()


def test_numcodecs_codec():
    numcodecs = pytest.importorskip("numcodecs")
    import sleek.numcodecs
    import sleek_decode.numcodecs

    a = np.linspace(0, 1, 5000).reshape(50, 100)
    codec = sleek_decode.numcodecs.Sleek(abs=1e-3)
    stream = sleek.numcodecs.Sleek(abs=1e-3).encode(a)
    assert np.array_equal(codec.decode(stream), sleek.numcodecs.Sleek(abs=1e-3).decode(stream))
    assert codec.from_config({"abs": 1e-3}) == codec
    with pytest.raises(NotImplementedError, match="sleek-compress"):
        codec.encode(a)
    try:
        sleek_decode.numcodecs.register()
        assert type(numcodecs.get_codec({"id": "sleek", "abs": 1e-3})) is sleek_decode.numcodecs.Sleek
    finally:
        numcodecs.register_codec(sleek.numcodecs.Sleek)


def test_pyfive_reads_our_files(tmp_path):
    h5py = pytest.importorskip("h5py")
    pyfive = pytest.importorskip("pyfive")
    import sleek_decode.pyfive

    fields_ = {name: a for name, a in fields().items() if a.size > 1}
    path = str(tmp_path / "a.h5")
    with h5py.File(path, "w") as f:
        for k, (name, a) in enumerate(fields_.items()):
            # Chunks at the edge, shuffle in front, and a checksum behind.
            chunks = tuple(max(1, d * 2 // 3) for d in a.shape)
            more = {"shuffle": True} if k % 5 == 0 else {"fletcher32": True} if k % 5 == 1 else {}
            request = "lossless" if "shuffle" in more else "abs=1e-3,profile=small" if k % 2 else "abs=1e-3"
            f.create_dataset(name, data=a, chunks=chunks, **more, **sleek.h5(request))
        waves = np.exp(1j * np.linspace(0, 60, 3000)).astype("c8").reshape(60, 50)
        f.create_dataset("complex", data=waves, chunks=(25, 50), **sleek.h5("abs=1e-3,profile=small"))
        f.create_dataset("plain", data=np.arange(100), chunks=(30,), compression="gzip", shuffle=True)
    if not hasattr(pyfive.btree.BTreeV1RawDataChunks._filter_chunk, "knows_sleek"):
        with pyfive.File(path) as f, pytest.raises(NotImplementedError, match="Filter with id: 47474 import not supported"):
            f["smooth"][:]
    sleek_decode.pyfive.register()
    sleek_decode.pyfive.register()
    with h5py.File(path) as theirs, pyfive.File(path) as f:
        for name in [*fields_, "complex", "plain"]:
            assert f[name][:].tobytes() == theirs[name][:].tobytes(), name
    # What is damaged is an error, and no data.
    with h5py.File(path) as f:
        at = f["smooth"].id.get_chunk_info(0).byte_offset
    with open(path, "r+b") as f:
        f.seek(at + 200)
        byte = f.read(1)
        f.seek(at + 200)
        f.write(bytes([byte[0] ^ 1]))
    with pyfive.File(path) as f, pytest.raises(sleek_decode.DamagedError):
        f["smooth"][:]


@pytest.mark.parametrize("page", ["python/decoder/README.md", "docs/guide/decoder.md"])
def test_pages(page, tmp_path, monkeypatch):
    h5py = pytest.importorskip("h5py")
    for needed in ("pyfive", "h5netcdf", "numcodecs"):
        pytest.importorskip(needed)
    import numcodecs
    import sleek.numcodecs

    monkeypatch.chdir(tmp_path)
    wind = fields()["box"]
    Path("field.sleek").write_bytes(sleek.compress(wind, abs=0.01))
    with h5py.File("small.nc", "w") as f:
        f.create_dataset("uwnd", data=wind, chunks=(2, 35, 50), **sleek.h5(abs=0.01))
        for k, (name, length) in enumerate(zip("zyx", wind.shape)):
            f[name] = np.arange(length)
            f[name].make_scale(name)
            f["uwnd"].dims[k].attach_scale(f[name])
    program = "\n".join(re.findall(r"^```python\n(.*?)^```$", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL))
    found = {}
    try:
        exec(compile(program, page, "exec"), found)
    finally:
        numcodecs.register_codec(sleek.numcodecs.Sleek)
    assert np.abs(found["wind"].astype("f8") - wind).max() <= 0.01
    assert np.abs(found["field"].astype("f8").reshape(-1) - wind.reshape(-1)).max() <= 0.01


@pytest.mark.parametrize("module", ["sleek_decode", "sleek_decode.numcodecs", "sleek_decode.pyfive"])
def test_docstrings(module):
    needed = {"sleek_decode.numcodecs": "numcodecs", "sleek_decode.pyfive": "pyfive"}.get(module)
    if needed:
        pytest.importorskip(needed)
    found = importlib.import_module(module)
    failed, tried = doctest.testmod(found, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    if needed == "numcodecs":
        import numcodecs
        import sleek.numcodecs

        numcodecs.register_codec(sleek.numcodecs.Sleek)
    assert tried and not failed


def test_versions_agree():
    version = re.search(r'^version\s*=\s*"([^"]+)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE).group(1)
    assert sleek_decode.__version__ == version
    assert json.loads(json.dumps(sleek_decode.FILTER_ID)) == sleek.FILTER_ID
