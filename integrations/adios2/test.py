#!/usr/bin/env python3
"""The operator for ADIOS2 beyond docs/guide/archives.md: test.py modes | openpmd.

modes    with ADIOS2's Python: every mode, type, rank and engine for files, boxes of what was written, requests that are
         refused, and damage, which is an exception of the read.
openpmd  with openPMD-api, BP5 files of the fields in tests/data: read back, and a table of ratio and error beside those
         of ADIOS2's own operators, as far as the package has them.

ADIOS2_PLUGIN_PATH names the folder of libsleek_adios2.so, for the ADIOS2 that is used.
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

DATA = Path(__file__).parents[2] / "tests/data"
FIELDS = [  # name, type, shape, bound
    ("navy_uwnd_12x73x144.f32", "<f4", (12, 73, 144), 0.01),
    ("levitus_temp_2x180x360.f32", "<f4", (2, 180, 360), 1e-3),
    ("gals_x_98304.f32", "<f4", (98304,), 1e-3),
    ("mitgcm_theta_15x40x90.f64", "<f8", (15, 40, 90), 1e-4),
    ("pyro_density_256x256.f64", "<f8", (256, 256), 1e-6),
    ("pic_ez_12x26x201.f64", "<f8", (12, 26, 201), 1e6),
]


def sleek(**request):
    return {"PluginName": "sleek", "PluginLibrary": "sleek_adios2", **request}


def size_of(folder):
    return sum(f.stat().st_size for f in Path(folder).rglob("*") if f.is_file())


def kept(mode, bound, a, b):
    """Whether `b` may have come of `a`."""
    if mode == "lossless" or a.dtype.kind != "f":
        return a.tobytes() == b.tobytes()
    v, r = a.astype("f8"), b.astype("f8")
    limit = {"abs": bound, "noa": bound * (v.max() - v.min()), "rel": bound * np.abs(v)}[mode]
    return bool((np.abs(v - r) <= limit).all())


def modes():
    import adios2

    rng = np.random.default_rng(1)
    tried = 0
    for engine in ("BP5", "BP4"):
        for dtype in ("f4", "f8", "i1", "i4", "u8"):
            for shape in ((5000,), (60, 70), (9, 20, 30), (3, 4, 10, 20)):
                a = np.abs(np.cumsum(rng.normal(size=shape), axis=-1)).astype(dtype)
                for request in ({"abs": "1e-3"}, {"noa": "1e-4"}, {"rel": "1e-2"}, {"lossless": "true"},
                                {"abs": "1e-3", "profile": "small"}, {"lossless": "true", "profile": "fast"}):
                    mode, bound = next(iter(request.items()))
                    with tempfile.TemporaryDirectory() as folder:
                        name = folder + "/a.bp"
                        adios = adios2.Adios()
                        io = adios.declare_io("out")
                        io.set_engine(engine)
                        with adios2.Stream(io, name, "w") as out:
                            out.write("a", a, shape, [0] * len(shape), shape, operations=[("plugin", sleek(**request))])
                        with adios2.FileReader(name) as f:
                            b = np.asarray(f.read("a")).reshape(shape)
                            start, count = [n // 3 for n in shape], [n // 2 for n in shape]
                            box = np.asarray(f.read("a", start=start, count=count)).reshape(count)
                        what = (engine, dtype, shape, request)
                        assert kept(mode, float(bound) if mode != "lossless" else 0, a, b), what
                        assert b[tuple(slice(s, s + n) for s, n in zip(start, count))].tobytes() == box.tobytes(), what
                        assert mode == "lossless" or a.dtype.kind != "f" or size_of(name) < a.nbytes, what
                        tried += 1
    print(f"adios2: {tried} arrays came back as promised")

    # ADIOS2 may end a process that it could not save a step in: each request in one of its own.
    for request, part in (({"abs": "-1"}, "bound -1; a finite number >= 0"), ({"abs": "1", "codec": "best"}, "codec 'best' is unknown"),
                          ({"abs": "1", "rel": "1"}, "second mode"), ({"rel": "0.1", "codec": "zfp"}, "codec zfp has the modes"),
                          ({"profile": "fast"}, "no mode"), ({"abs": "1", "bond": "2"}, "'bond=2' in")):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, __file__, "refused", folder, json.dumps(request)], capture_output=True, text=True)
            assert part in done.stdout and "SLEEK: " in done.stdout, (request, done)
            done = subprocess.run([sys.executable, __file__, "streamed", folder, json.dumps(request)], capture_output=True, text=True)
            assert done.returncode != 0 and "sleek: error: SLEEK: " in done.stderr and part in done.stderr, (request, done)
    with tempfile.TemporaryDirectory() as folder:
        for request, part in ({"abs": "1e-3", "fill": "0x7ff8000000000001"}, ""), ({}, "no request"):
            done = subprocess.run([sys.executable, __file__, "streamed", folder, json.dumps(request)], capture_output=True, text=True)
            assert part in done.stderr and (part or not done.stderr), (request, done)
    print("adios2: what cannot be is refused by name")

    with tempfile.TemporaryDirectory() as folder:
        name, a = folder + "/a.bp", np.linspace(0, 9, 40000)
        with adios2.Stream(name, "w") as out:
            out.write("a", a, a.shape, [0], a.shape, operations=[("plugin", sleek(abs="1e-6"))])
        file = Path(name) / "data.0"
        damaged = bytearray(file.read_bytes())
        damaged[damaged.index(b"\x89SLEEK") + 1000] ^= 1
        file.write_bytes(damaged)
        try:
            with adios2.FileReader(name) as f:
                f.read("a")
            sys.exit("adios2: damage was not seen")
        except RuntimeError as e:
            assert "SLEEK: " in str(e) and "checksum" in str(e), e
        # A stream of more data, whole in itself, where there is room for less.
        for which, a in ("large", np.zeros(4_000_000)), ("noise", rng.normal(size=40_000)):
            with adios2.Stream(f"{folder}/{which}.bp", "w") as out:
                out.write("a", a, a.shape, [0], a.shape, operations=[("plugin", sleek(lossless="true"))])
        file = Path(folder) / "noise.bp/data.0"
        damaged = bytearray(file.read_bytes())
        other = (Path(folder) / "large.bp/data.0").read_bytes()
        other = other[other.index(b"\x89SLEEK"):]
        other = other[:int.from_bytes(other[24:32], "little")]
        at = damaged.index(b"\x89SLEEK")
        damaged[at:at + len(other)] = other
        file.write_bytes(damaged)
        try:
            with adios2.FileReader(folder + "/noise.bp") as f:
                f.read("a")
            sys.exit("adios2: a stream of more data was not seen")
        except RuntimeError as e:
            assert "32000000 bytes of data, and 320000 were written" in str(e), e
    print("adios2: damage is seen")


def streamed(folder, request):
    """By the class that closes its engine after an exception, which no process survives."""
    import adios2

    a = np.linspace(0, 1, 5000)
    with adios2.Stream(folder + "/a.bp", "w") as out:
        out.write("a", a, a.shape, [0], a.shape, operations=[("plugin", sleek(**json.loads(request)))])


def refused(folder, request):
    import adios2

    a = np.linspace(0, 1, 5000)
    io = adios2.Adios().declare_io("out")
    variable = io.define_variable("a", a, a.shape, [0], a.shape)
    variable.add_operation_string("plugin", sleek(**json.loads(request)))
    engine = io.open(folder + "/a.bp", adios2.bindings.Mode.Write)
    try:
        engine.put(variable, a, adios2.bindings.Mode.Sync)
    except RuntimeError as e:
        print(e, flush=True)
    os._exit(0)


def openpmd():
    import openpmd_api

    def written(name, a, operators):
        config = {"adios2": {"engine": {"type": "bp5"}, "dataset": {"operators": operators}}, "iteration_encoding": "variable_based"}
        series = openpmd_api.Series(name, openpmd_api.Access.create, json.dumps(config))
        mesh = series.write_iterations()[0].meshes["field"]["x"]
        mesh.reset_dataset(openpmd_api.Dataset(a.dtype, a.shape))
        mesh.store_chunk(a)
        series.close()
        series = openpmd_api.Series(name, openpmd_api.Access.read_only)
        for iteration in series.read_iterations():
            back = iteration.meshes["field"]["x"].load_chunk()
            series.flush()
            iteration.close()
        return size_of(name), back

    print("| field | operator | bytes of the file | ratio | error / bound |\n|---|---|---|---|---|")
    for name, dtype, shape, bound in FIELDS:
        a = np.fromfile(DATA / name, dtype).reshape(shape)
        with tempfile.TemporaryDirectory() as folder:
            plain, back = written(folder + "/plain.bp", a, [])
            assert back.tobytes() == a.tobytes()
            for label, operator in (
                ("SLEEK", {"type": "plugin", "parameters": sleek(abs=repr(bound))}),
                ("SLEEK, `ratio`", {"type": "plugin", "parameters": sleek(abs=repr(bound), profile="small")}),
                ("SLEEK, lossless", {"type": "plugin", "parameters": sleek(lossless="true")}),
                ("ADIOS2's `zfp`", {"type": "zfp", "parameters": {"accuracy": repr(bound)}}),
                ("ADIOS2's `sz`", {"type": "sz", "parameters": {"accuracy": repr(bound)}}),
                ("ADIOS2's `mgard`", {"type": "mgard", "parameters": {"accuracy": repr(bound)}}),
            ):
                size, back = written(f"{folder}/{len(os.listdir(folder))}.bp", a, [operator])
                # What openPMD-api takes for no operator of this ADIOS2 it leaves out.
                if operator["type"] != "plugin" and back.tobytes() == a.tobytes():
                    continue
                error = np.nanmax(np.abs(a.astype("f8") - back))
                same = np.array_equal(np.isnan(a), np.isnan(back))
                if operator["type"] == "plugin":
                    assert same and error <= bound and size < plain, (name, label, error)
                    assert "lossless" not in label or back.tobytes() == a.tobytes(), name
                print(f"| {name.split('_')[0]} | {label} | {size} | {a.nbytes / (size - plain + a.nbytes):.2f} | {error / bound:.3g} |")


if __name__ == "__main__":
    {"modes": modes, "openpmd": openpmd, "refused": refused, "streamed": streamed}[sys.argv[1]](*sys.argv[2:])
