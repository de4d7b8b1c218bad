"""The files of the test, into the folder that is the argument: datasets of every kind, what they hold, and a damaged one."""

import json
import sys
from pathlib import Path

import h5py
import numpy as np
import sleek

folder = Path(sys.argv[1])
wind = np.fromfile(Path(__file__).parents[3] / "tests/data/navy_uwnd_12x73x144.f32", "<f4").reshape(12, 73, 144)
holes = np.where(np.arange(wind.size).reshape(wind.shape) % 7, wind, -9999).astype("f4")
special = wind.astype("f8")
special[0, 0, :5] = [np.nan, np.inf, -np.inf, -0.0, 5e-324]
DATASETS = {
    "abs": (wind, {"abs": 1e-2}),
    "noa": (wind, {"noa": 1e-3}),
    "missing": (holes, {"abs": 1e-2, "fill": -9999}),
    "fast": (wind, {"abs": 1e-2, "profile": "fast"}),
    "small": (wind, {"abs": 1e-2, "profile": "small"}),
    "doubles": (special, {"rel": 1e-3}),
    "lossless": (special, {"lossless": True}),
    "lossless small": (special, {"lossless": True, "profile": "small"}),
    "big-endian": (wind.astype(">f4"), {"abs": 1e-2}),
    "integers": ((wind * 100).astype("i2"), {"lossless": True}),
    "constant": (np.full(wind.shape, 2.5, "f4"), {"abs": 1e-2}),
}
with h5py.File(folder / "fields.h5", "w") as file:
    for name, (values, request) in DATASETS.items():
        file.create_dataset(name, data=values, chunks=(5, 73, 72), **sleek.h5(**request))
    file.create_dataset("zfp", data=wind, chunks=(5, 73, 72), **sleek.h5("rate=8,codec=zfp"))
    for name in file:
        restored = file[name][:]
        restored.astype(restored.dtype.newbyteorder("<")).tofile(folder / f"{name}.raw")
    (folder / "names.json").write_text(json.dumps(list(file)))

with h5py.File(folder / "plane.h5", "w") as file:
    file.create_dataset("plane", data=wind[0], chunks=(73, 72), **sleek.h5(abs=1e-2))
    # As h5web writes the ends of its colours.
    ends = [np.format_float_scientific(end, precision=3, exp_digits=1) for end in (file["plane"][:].min(), file["plane"][:].max())]
    (folder / "ends").write_text(" ".join(ends).replace("-", "\N{MINUS SIGN}"))

whole = (folder / "fields.h5").read_bytes()
with h5py.File(folder / "fields.h5") as file:
    at = file["abs"].id.get_chunk_info(0)
damaged = bytearray(whole)
damaged[at.byte_offset + at.size // 2] ^= 1
(folder / "damaged.h5").write_bytes(damaged)
