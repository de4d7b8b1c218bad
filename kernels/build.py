#!/usr/bin/env python3
"""Makes the PTX files of each element type from kernels/sleek.cu, and kernels/h5d/boxes.ptx, with NVRTC 12.0: PTX ISA 8.0 for compute capability 8.0, which every driver from
525 on takes. Needs `pip install nvidia-cuda-nvrtc-cu12==12.0.76`, no GPU and no CUDA toolkit.

    python3 kernels/build.py LIBNVRTC            write kernels/*.ptx
    python3 kernels/build.py LIBNVRTC --check    compare with the committed files
"""
import ctypes
import pathlib
import re
import sys

import uniform

HERE = pathlib.Path(__file__).resolve().parent
ELEMENTS = {"f32": 1, "f64": 2, "f16": 3, "bf16": 4, "b8": 5}
ADAPTIVE = ["f32", "f64"]
OPTIONS = ["--gpu-architecture=compute_80", "--std=c++17", "-fmad=false", "-default-device"]


def source(main):
    """A kernel source with every include put in its place once."""
    seen = set()

    def expand(path):
        path = path.resolve()
        if path in seen:
            return ""
        seen.add(path)

        def included(match):
            inner = path.parent / match[1]
            return expand(inner) if inner.exists() else ""

        return re.sub(r'^#include "([^"]+)"$', included, path.read_text(encoding="utf-8"), flags=re.M)

    return expand(main).replace("#pragma once\n", "")


def digest(folder):
    """FNV-1a over the kernel sources of a folder, in the order of their names; tests/kernels.rs computes the same."""
    h = 0xCBF29CE484222325
    for f in sorted(folder.iterdir()):
        if f.suffix in (".cu", ".cuh", ".h"):
            for b in f.read_bytes():
                h = (h ^ b) * 0x100000001B3 % 2**64
    return f"{h:016x}"


def compile_ptx(library, main, options):
    nvrtc = ctypes.CDLL(library)
    program = ctypes.c_void_p()

    def log():
        n = ctypes.c_size_t()
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(n))
        text = ctypes.create_string_buffer(n.value)
        nvrtc.nvrtcGetProgramLog(program, text)
        return text.value.decode()

    if nvrtc.nvrtcCreateProgram(ctypes.byref(program), source(main).encode(), main.name.encode(), 0, None, None):
        sys.exit("NVRTC takes no program")
    options = [*OPTIONS, *options]
    if nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*[o.encode() for o in options])):
        sys.exit(log())
    n = ctypes.c_size_t()
    nvrtc.nvrtcGetPTXSize(program, ctypes.byref(n))
    ptx = ctypes.create_string_buffer(n.value)
    nvrtc.nvrtcGetPTX(program, ptx)
    return f"// sources {digest(main.parent)}\n{uniform.mark(ptx.value.decode())}"


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    files = []
    for name, element in ELEMENTS.items():
        for part, suffix in enumerate(["", "-general", "-adaptive"] if name in ADAPTIVE else ["", "-general"]):
            files.append((HERE / f"{name}{suffix}.ptx", HERE / "sleek.cu", [f"-DELEMENT={element}", f"-DPART={part}"]))
    files.append((HERE / "h5d/boxes.ptx", HERE / "h5d/boxes.cu", []))
    for target, main, options in files:
        ptx = compile_ptx(sys.argv[1], main, options)
        if "--check" not in sys.argv:
            target.write_text(ptx, encoding="utf-8")
        elif target.read_text(encoding="utf-8") != ptx:
            sys.exit(f"{target.name} is not what the sources give")
        print(f"{target.name}: {len(ptx)} bytes")
