#!/usr/bin/env python3
"""Arrays that zarrs fills are those of zarr-python, byte by byte, and each reads the other's: check.py STORE, the built example."""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import zarr
from sleek.zarr import Sleek

SHAPE, CHUNKS = (123, 70), (50, 70)
store = sys.argv[1]
wave = 20 * np.sin(np.arange(np.prod(SHAPE)) * 0.003).reshape(SHAPE) + np.random.default_rng(7).normal(0, 1e-3, SHAPE)
holes = np.where(np.arange(wave.size).reshape(SHAPE) % 11, wave, -9999)
specials = wave.copy()
specials[5, :6] = [np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324]

# What is stored, the codec, and what else the array has.
CASES = {
    "f4 abs": (wave.astype("f4"), Sleek(abs=1e-3), {}),
    "f8 abs": (specials, Sleek(abs=1e-6), {}),
    "f2 rel": (wave.astype("f2"), Sleek(rel=1e-2), {}),
    "range of each chunk": (wave.astype("f4"), Sleek(noa=1e-4), {}),
    "range of each chunk, f8, with a fill value": (holes, Sleek(noa=1e-4), {"fill_value": -9999.0}),
    "range given": (wave.astype("f4"), Sleek("noa=1e-4,range=50"), {}),
    "fill value": (holes.astype("f4"), Sleek(abs=1e-3, fill=-9999), {"fill_value": -9999.0}),
    "NaN as fill value": (specials.astype("f4"), Sleek(abs=1e-3), {"fill_value": float("nan")}),
    "range of each chunk, and four missing values": (holes.astype("f4"), Sleek("noa=1e-3,fill=-9999,fill=0x3f800000,fill=0x40000000,fill=0x40400000"), {"fill_value": 3.0}),
    "constant": (np.full(SHAPE, 2.5, "f4"), Sleek(noa=1e-3), {}),
    "profile small": (wave, Sleek(abs=1e-3, profile="small"), {}),
    "profile fast": (wave.astype("f4"), Sleek(abs=1e-3, profile="fast"), {}),
    "lossless": (specials, Sleek(lossless=True), {}),
    "rate": (wave.astype("f4"), Sleek(rate=8), {}),
    "i2": (wave.astype("i2"), Sleek(abs=1.0), {}),
    "u8": (np.abs(wave * 1e9).astype("u8"), Sleek(lossless=True, profile="small"), {}),
    "bool": (wave > 0, Sleek(abs=1e-3), {}),
    "complex": ((wave + 1j).astype("c8"), Sleek(abs=1e-3), {}),
    "shards": (wave.astype("f4"), Sleek(abs=1e-3), {"chunks": (25, 35), "shards": (50, 70)}),
}


def array(path, values, codec, more):
    more = {"chunks": CHUNKS, **more}
    return zarr.create_array(path, shape=SHAPE, dtype=values.dtype, serializer=codec, compressors=None, config={"write_empty_chunks": True}, **more)


def chunks(path):
    return {str(f.relative_to(path)): f.read_bytes() for f in sorted(path.rglob("*")) if f.is_file() and f.name != "zarr.json"}


def run(*arguments):
    done = subprocess.run([store, *map(str, arguments)], stderr=subprocess.PIPE, text=True)
    return done.stderr if done.returncode else None


with tempfile.TemporaryDirectory() as work:
    elements, back = Path(work, "elements"), Path(work, "back")
    for number, (name, (values, codec, more)) in enumerate(CASES.items()):
        ours, theirs = Path(work, f"python-{number}"), Path(work, f"rust-{number}")
        written = array(ours, values, codec, more)
        written[:] = values
        array(theirs, values, codec, more)
        elements.write_bytes(values.tobytes())
        assert (wrong := run("write", theirs, elements)) is None, (name, wrong)
        opened = zarr.open_array(theirs)
        assert opened.metadata.codecs == written.metadata.codecs, name
        assert opened[:].tobytes() == written[:].tobytes(), name
        if "range of each" in name:  # which the two round differently, in the header alone
            assert {k: len(v) for k, v in chunks(ours).items()} == {k: len(v) for k, v in chunks(theirs).items()}, name
        elif "shards" not in more:  # in which zarrs has another order of chunks
            assert chunks(ours) == chunks(theirs), name
        for path in (ours, theirs):
            assert (wrong := run("read", path, back)) is None, (name, wrong)
            assert back.read_bytes() == written[:].tobytes(), name

    bad = Path(work, "bad")
    array(bad, wave, Sleek(abs=1e-3), {})
    text = (bad / "zarr.json").read_text()
    assert '"abs": 0.001' in text
    (bad / "zarr.json").write_text(text.replace('"abs": 0.001', '"abs": 0.001, "bound": 2'))
    said = run("read", bad, back)
    assert said is not None and "codec sleek" in said and "'bound' is unknown" in said, said
print(f"zarrs and zarr-python {zarr.__version__}: {len(CASES)} arrays, each as the other writes and reads it")
