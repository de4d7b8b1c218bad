#!/usr/bin/env python3
"""Builds the compiled kernels into a folder: build.py FOLDER (`make kernels`: target/kernels). Needs no GPU and no CUDA toolkit.

NVRTC and ptxas come from PyPI into FOLDER/tools. Each module of modules.toml becomes PTX for compute capability 8.0, which every driver
from 525 on takes, and from it a cubin for each of ARCHS. What a step made is kept in FOLDER/cache by what it was made from, or in the
folder SLEEK_KERNELS_CACHE, which several FOLDERs may share; what nobody asked for in 30 days goes.

The modules of a codec's part share an LZMA stream for each architecture: their code differs in little, so it takes 5 MB instead of 7, and a
call unpacks no other part. FOLDER/<codec>-<part>.<architecture>.lzma has their images, each behind a line "<module> <bytes>".
"""
import ast
import concurrent.futures
import ctypes
import hashlib
import lzma
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import uniform

HERE = pathlib.Path(__file__).resolve().parent
# What the stand-in for the driver needs, and no compiler of kernels sees.
STAND_IN = HERE.parent / "tests" / "gpu"
TOOLS = {"nvidia-cuda-nvrtc-cu12": "12.0.76", "nvidia-cuda-nvcc-cu12": "12.9.86"}
NVRTC_OPTIONS = ["--gpu-architecture=compute_80", "--std=c++17", "-fmad=false", "-default-device"]
# Devices of 8.6 and 8.9 run what is compiled for 8.0; later ones than 9.0 compile the PTX.
ARCHS = ["sm_80", "sm_90"]
# Instructions are words of 16 bytes; PTX is text. The dictionary reaches from one element type's code to the next one's.
CODE = {"id": lzma.FILTER_LZMA1, "preset": 6, "dict_size": 1 << 23, "lc": 0, "lp": 4, "pb": 4}
TEXT = {"id": lzma.FILTER_LZMA1, "preset": 6, "dict_size": 1 << 23}


def modules():
    """The modules of modules.toml, whose values are strings, numbers and lists of strings, as Python writes them too."""
    made = []
    for row in (HERE / "modules.toml").read_text(encoding="utf-8").split("[[module]]")[1:]:
        row = {key: ast.literal_eval(value) for key, value in re.findall(r"(?ms)^(\w+) = (\[.*?\]|.*?)$", row)}
        row["codec"] = pathlib.PurePath(row["source"]).parent.name
        for type in [of.split(" = ")[0] for of in row["types"]] or [""]:
            name = (type or row["codec"]) + f"-{row['part']}".removesuffix("-base")
            kernels = [kernel.split(" = ")[1].replace("*", type) for kernel in row["kernels"]]
            made.append({**row, "name": name, "kernels": kernels, "defines": row["defines"] + [f"ELEMENT_{type}"]})
    return made


def tools(folder):
    """The paths of libnvrtc and ptxas, which are fetched if they are not there."""
    place = folder / "tools"
    wanted = [f"{name}=={version}" for name, version in TOOLS.items()]
    fetched = place / "fetched"
    if not fetched.is_file() or fetched.read_text().split() != wanted:
        print("kernels: fetching", *wanted, flush=True)
        try:
            subprocess.run([sys.executable, "-m", "venv", "--clear", str(place)], check=True)
            subprocess.run([str(place / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", *wanted], check=True)
        except subprocess.CalledProcessError:
            sys.exit(
                "kernels: NVRTC and ptxas cannot be fetched, which takes Python's venv, PyPI and an x86-64 processor.\n"
                "SLEEK_KERNELS=FOLDER takes kernels that were built elsewhere (make kernels there, target/kernels);\n"
                "SLEEK_KERNELS=none makes a library without kernels for GPUs."
            )
        fetched.write_text("\n".join(wanted))
    nvidia = next(place.glob("lib/python*/site-packages/nvidia"))
    return ctypes.CDLL(str(nvidia / "cuda_nvrtc/lib/libnvrtc.so.12")), nvidia / "cuda_nvcc/bin/ptxas"


def source(main):
    """A kernel source with every include put in its place once, but for those of the stand-in."""
    seen = set()

    def expand(path):
        path = path.resolve()
        if path in seen or STAND_IN in path.parents:
            return ""
        seen.add(path)
        return re.sub(r'(?m)^#include "([^"]+)"$', lambda m: expand(path.parent / m[1]), path.read_text(encoding="utf-8"))

    return expand(HERE / main).replace("#pragma once\n", "")


def without_comments(text):
    """What the compiler sees: another comment is no other source. Strings may hold //."""
    text = re.sub(r'(?s)("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', lambda m: m[1] or " ", text)
    return "\n".join(" ".join(line.split()) for line in text.splitlines() if line.strip())


class Cache:
    """What was made before, by a hash of what it is made from."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def get(self, make, *made_from):
        """What `make` makes, and the seconds that it took: none where it is there already."""
        name = hashlib.sha256("\0".join(made_from).encode()).hexdigest()
        path = self.folder / name
        if path.is_file():
            os.utime(path)
            return path.read_bytes(), None
        begin = time.monotonic()
        made = make()
        new = path.with_suffix(f".{os.getpid()}")
        new.write_bytes(made)
        new.replace(path)
        return made, time.monotonic() - begin

    def prune(self):
        """Removes what nobody asked for in 30 days."""
        for path in self.folder.iterdir():
            if time.time() - path.stat().st_mtime > 30 * 86400:
                path.unlink(missing_ok=True)


def compile_ptx(nvrtc, row, text):
    program, n = ctypes.c_void_p(), ctypes.c_size_t()

    def written(size, get):
        size(program, ctypes.byref(n))
        buffer = ctypes.create_string_buffer(n.value)
        get(program, buffer)
        return buffer.value.decode()

    if nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), row["source"].encode(), 0, None, None):
        raise SystemExit("kernels: NVRTC takes no program")
    options = [o.encode() for o in (*NVRTC_OPTIONS, *(f"-D{define}" for define in row["defines"]))]
    if nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options)):
        raise SystemExit(written(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog))
    ptx = uniform.mark(written(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX))
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    there, asked = re.findall(r"\.visible \.entry (\w+)", ptx), row["kernels"]
    if sorted(there) != sorted(asked):
        raise SystemExit(f"kernels: {row['name']} has kernels {there}, modules.toml names {asked}")
    return ptx.encode()


def assemble(ptxas, ptx, arch):
    with tempfile.TemporaryDirectory() as folder:
        # ptxas writes the file's name into the cubin.
        pathlib.Path(folder, "module.ptx").write_bytes(ptx)
        done = subprocess.run([str(ptxas), f"-arch={arch}", "-O3", "module.ptx", "-o", "module.cubin"], cwd=folder, stderr=subprocess.PIPE)
        if done.returncode:
            raise SystemExit(done.stderr.decode())
        return pathlib.Path(folder, "module.cubin").read_bytes()


def pack(images, options):
    """An LZMA stream of images by name."""
    whole = b"".join(f"{name} {len(image)}\n".encode() + image for name, image in images)
    return lzma.compress(whole, format=lzma.FORMAT_ALONE, filters=[options])


def build(folder):
    nvrtc, ptxas = tools(folder)
    rows, cache, versions = modules(), Cache(pathlib.Path(os.environ.get("SLEEK_KERNELS_CACHE") or folder / "cache")), "\n".join(TOOLS.values())
    marker = (HERE / "uniform.py").read_text(encoding="utf-8")
    sources = {main: source(main) for main in {row["source"] for row in rows}}
    made_of = {main: without_comments(text) for main, text in sources.items()}

    def progress(what, works):
        """Does all works, and tells of each that had to be done."""
        done = 0
        for name, made, seconds in pool.map(lambda work: work(), works):
            done += 1
            if seconds is not None:
                print(f"kernels: {what} {done}/{len(works)}: {name}, {seconds:.1f} s", flush=True)
            yield made

    def ptx(row):
        text = sources[row["source"]]
        seen = (versions, *NVRTC_OPTIONS, marker, *row["defines"], *row["kernels"], made_of[row["source"]])
        made, seconds = cache.get(lambda: compile_ptx(nvrtc, row, text), *seen)
        return f"{row['codec']} {row['name']}", (row, made), seconds

    def cubin(row, text, arch):
        made, seconds = cache.get(lambda: assemble(ptxas, text, arch), versions, arch, text.decode())
        return f"{row['codec']} {row['name']} for {arch}", (row, arch, made), seconds

    def stream(file, images):
        seen = (f"{name} {hashlib.sha256(image).hexdigest()}" for name, image in images)
        made, seconds = cache.get(lambda: pack(images, TEXT if file.endswith(".ptx") else CODE), "stream", str(TEXT), str(CODE), *seen)
        return file, (file, made), seconds

    # Compilers run outside of the interpreter's lock.
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        texts = list(progress("PTX", [lambda row=row: ptx(row) for row in rows]))
        works = sorted(((row, text, arch) for row, text in texts for arch in ARCHS), key=lambda work: -len(work[1]))
        # The driver wants a NUL behind PTX.
        images = {(id(row), "ptx"): text + b"\0" for row, text in texts}
        images.update({(id(row), arch): made for row, arch, made in progress("cubin", [lambda work=work: cubin(*work) for work in works])})
        streams = {}
        for row in rows:
            for kind in ("ptx", *ARCHS):
                streams.setdefault(f"{row['codec']}-{row['part']}.{kind}", []).append((row["name"], images[id(row), kind]))
        packed = dict(progress("stream", [lambda item=item: stream(*item) for item in streams.items()]))

    stamp = folder / "built"
    newest = max(path.stat().st_mtime for path in HERE.rglob("*") if path.suffix in (".cu", ".cuh", ".h", ".toml", ".py"))
    is_fresh = stamp.is_file() and newest <= stamp.stat().st_mtime
    for path in folder.glob("*.lzma"):
        if path.stem not in packed:
            path.unlink()
    for name, made in packed.items():
        path = folder / f"{name}.lzma"
        if not path.is_file() or path.read_bytes() != made:
            path.write_bytes(made)
            is_fresh = False
    cache.prune()
    # The build script compares its time with that of the sources, and runs again, and with it the compiler, where it changed.
    if not is_fresh:
        stamp.write_text("\n".join(sorted(packed)) + "\n")
    print(f"kernels: {len(rows)} modules, {sum(map(len, packed.values()))} bytes in {folder}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    build(pathlib.Path(sys.argv[1]).resolve())
