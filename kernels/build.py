#!/usr/bin/env python3
"""Makes each folder's kernels.bin, the compiled modules of kernels/modules.toml: PTX by NVRTC 12.0 (ISA 8.0 for compute capability 8.0, which
every driver from 525 on takes), and from it a cubin for each of the architectures below by ptxas 12.9. No GPU and no CUDA toolkit is needed.

    python3 kernels/build.py LIBNVRTC PTXAS            write the archives that are stale
    python3 kernels/build.py LIBNVRTC PTXAS --check    make all, and compare with the committed ones

An archive, all numbers little-endian: "SLKM", u32 version 2, u64 digest of what the compilers saw, u32 blocks, u32 members; of each block
u32 offset, packed bytes, bytes, and u64 FNV-1a of the packed bytes; of each member u8 length of its name, the name, u8 architecture (0: PTX,
folded as fold.py has it), u32 block, offset in it, bytes; then the blocks, each an LZMA stream of the form with 13 bytes ahead.
"""
import concurrent.futures
import ctypes
import lzma
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import tomllib

import fold
import uniform

HERE = pathlib.Path(__file__).resolve().parent
# What the stand-in for the driver needs, and no compiler of kernels sees.
STAND_IN = HERE.parent / "tests" / "gpu"
NVRTC = "12.0.76"
OPTIONS = ["--gpu-architecture=compute_80", "--std=c++17", "-fmad=false", "-default-device"]
PTXAS = "12.9.86"
VERSION = 2
# Parts that are another one with more to do: packed behind that one, whose code they have too.
BEHIND = {"missing": "general", "missing-adaptive": "adaptive", "missing-fast": "base"}
# Devices of 8.6 and 8.9 run what is compiled for 8.0.
ARCHS = [80, 90]
# Instructions are words of 16 bytes; PTX is text. The dictionary reaches from one element type's code to the next one's.
CODE = {"id": lzma.FILTER_LZMA1, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": 1 << 22, "lc": 0, "lp": 4, "pb": 4}
TEXT = {"id": lzma.FILTER_LZMA1, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": 1 << 22}

INCLUDE = re.compile(r'^#include "([^"]+)"$', re.M)
# A comment, a string, a name or number, a run of operators, another sign, the end of a line.
TOKEN = re.compile(r'(//[^\n]*|/\*.*?\*/|\\\n|[ \t\r]+)|("(?:\\.|[^"\\])*"|[A-Za-z0-9_]+|[-+*/%&|^<>=!:.?~]+|[^\n])|\n', re.S)


def source(main):
    """A kernel source with every include put in its place once, but for those of the stand-in."""
    seen = set()

    def expand(path):
        path = path.resolve()
        if path in seen or STAND_IN in path.parents:
            return ""
        seen.add(path)
        return INCLUDE.sub(lambda match: expand(path.parent / match[1]), path.read_text(encoding="utf-8"))

    return expand(HERE / main).replace("#pragma once\n", "")


def tokens(text):
    """A source without comments and spaces, a token on a line; the end of a directive is an empty one."""
    out, directive, fresh = [], False, True
    for match in TOKEN.finditer(text):
        if token := match[2]:
            directive = directive or (fresh and token == "#")
            fresh = False
            out.append(token)
        elif not match[1]:
            if directive:
                out.append("")
            directive, fresh = False, True
    return "\n".join(out) + "\n"


def fnv1a(data):
    h = 0xCBF29CE484222325
    for b in data:
        h = (h ^ b) * 0x100000001B3 % 2**64
    return h


def digest(rows):
    """Of what the compilers see of an archive's modules; tests/kernels.rs computes the same."""
    marker = re.sub(r'""".*?"""|#[^\n]*', "", (HERE / "uniform.py").read_text(encoding="utf-8"), flags=re.S)
    seen = "\n".join([NVRTC, *OPTIONS, PTXAS, *marker.split()]) + "\n"
    for row in rows:
        seen += "\n".join([row["name"], *row["defines"], *row["entries"]]) + "\n"
    for main in sorted({row["source"] for row in rows}):
        seen += tokens(source(main))
    return fnv1a(seen.encode())


def compile_ptx(library, main, defines):
    nvrtc = ctypes.CDLL(library)
    program = ctypes.c_void_p()

    def log():
        n = ctypes.c_size_t()
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(n))
        text = ctypes.create_string_buffer(n.value)
        nvrtc.nvrtcGetProgramLog(program, text)
        return text.value.decode()

    name = pathlib.PurePath(main).name
    if nvrtc.nvrtcCreateProgram(ctypes.byref(program), source(main).encode(), name.encode(), 0, None, None):
        sys.exit("NVRTC takes no program")
    options = [*OPTIONS, *(f"-D{define}" for define in defines)]
    if nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*[o.encode() for o in options])):
        sys.exit(log())
    n = ctypes.c_size_t()
    nvrtc.nvrtcGetPTXSize(program, ctypes.byref(n))
    ptx = ctypes.create_string_buffer(n.value)
    nvrtc.nvrtcGetPTX(program, ptx)
    return uniform.mark(ptx.value.decode())


def assemble(ptxas, ptx, arch):
    """The cubin, and what ptxas tells of its kernels."""
    with tempfile.TemporaryDirectory() as folder:
        text, cubin = pathlib.Path(folder, "module.ptx"), pathlib.Path(folder, "module.cubin")
        text.write_text(ptx, encoding="utf-8")
        done = subprocess.run([ptxas, f"-arch=sm_{arch}", "-O3", "-v", text.name, "-o", cubin.name], cwd=folder, capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)
        return cubin.read_bytes(), done.stderr


def resources(told):
    """Registers and bytes spilled of each kernel, from what ptxas tells."""
    kernels = re.findall(r"Compiling entry function '(\w+)'.*?(\d+) bytes spill stores.*?Used (\d+) registers", told, re.S)
    return [f"{name} {registers} registers" + f", {spilled} bytes spilled" * (spilled != "0") for name, spilled, registers in kernels]


def members(library, ptxas, row):
    """What an architecture has of a module, 0 folded PTX, and what ptxas tells of its kernels."""
    ptx = compile_ptx(library, row["source"], row["defines"])
    there, asked = re.findall(r"\.visible \.entry (\w+)", ptx), [entry.split(" = ")[1] for entry in row["entries"]]
    if sorted(there) != sorted(asked):
        sys.exit(f"{row['name']} has kernels {there}, modules.toml names {asked}")
    made, told = {0: fold.fold(ptx)}, [f"{row['folder']} {row['name']}"]
    for arch in ARCHS:
        # From what the loader will unfold, so that this is PTX is known.
        cubin, tells = assemble(ptxas, fold.unfold(made[0]), arch)
        made[arch] = cubin
        told += [f"    sm_{arch} {line}" for line in resources(tells)]
    return made, told


def grouped(modules, rows):
    """What is packed together, as pairs of name and architecture: of each part the modules for all element types, whose code differs in little,
    and for all architectures where that is soon unpacked, the newest first. What stands behind a module is left packed. Where the modules for
    one architecture are long, all but "base" are in the opposite order of types: a call takes a module of base and another one, and so the two
    of any type lie equally deep; and of the newest architecture those behind another part are apart, which takes room."""
    parts, groups = {}, []
    behind = {row["name"] for row in rows if row["part"] in BEHIND}
    for row in sorted(rows, key=lambda row: row["part"] in BEHIND):
        parts.setdefault(BEHIND.get(row["part"], row["part"]), []).append(row["name"])
    for part, names in parts.items():
        codes = [[(name, arch) for name in names] for arch in sorted(ARCHS, reverse=True)]
        together = sum(codes, [])
        if sum(len(modules[name][arch]) for name, arch in together) <= CODE["dict_size"]:
            codes = [together]
        elif part != "base":
            newest, *others = [sorted(reversed(group), key=lambda member: member[0] in behind) for group in codes]
            codes = [[m for m in newest if m[0] not in behind], [m for m in newest if m[0] in behind], *others]
        groups += [[(name, 0) for name in names], *codes]
    return [group for group in groups if group]


def pack(modules, rows, seen):
    """The archive of modules, name → architecture → bytes."""
    blocks, directory, bodies = [], b"", b""
    for group in grouped(modules, rows):
        whole = b"".join(modules[name][arch] for name, arch in group)
        packed, at = lzma.compress(whole, format=lzma.FORMAT_ALONE, filters=[CODE if group[0][1] else TEXT]), 0
        for name, arch in group:
            size = len(modules[name][arch])
            directory += struct.pack("<B", len(name)) + name.encode() + struct.pack("<BIII", arch, len(blocks), at, size)
            at += size
        blocks.append((packed, len(whole)))
    count = sum(map(len, modules.values()))
    head = b"SLKM" + struct.pack("<IQII", VERSION, seen, len(blocks), count)
    at = len(head) + 20 * len(blocks) + len(directory)
    for packed, size in blocks:
        head += struct.pack("<IIIQ", at, len(packed), size, fnv1a(packed))
        bodies += packed
        at += len(packed)
    return head + directory + bodies


def unpack(archive):
    """The digest, and name → architecture → bytes; of another version's archive nothing."""
    version, seen, blocks, count = struct.unpack_from("<IQII", archive, 4)
    if version != VERSION:
        return None, {}
    table = [struct.unpack_from("<III", archive, 24 + 20 * i) for i in range(blocks)]
    wholes = [lzma.decompress(archive[at : at + n], format=lzma.FORMAT_ALONE) for at, n, _ in table]
    at, modules = 24 + 20 * blocks, {}
    for _ in range(count):
        n = archive[at]
        name, (arch, block, offset, size) = archive[at + 1 : at + 1 + n].decode(), struct.unpack_from("<BIII", archive, at + 1 + n)
        modules.setdefault(name, {})[arch] = wholes[block][offset : offset + size]
        at += 14 + n
    return seen, modules


def is_fresh(archive, seen, rows):
    """Whether an archive is of what the compilers see now, and has every module for every architecture."""
    made_of, modules = unpack(archive)
    return made_of == seen and {name: set(made) for name, made in modules.items()} == {row["name"]: {0, *ARCHS} for row in rows}


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    library, ptxas, check = sys.argv[1], sys.argv[2], "--check" in sys.argv
    if PTXAS not in subprocess.run([ptxas, "--version"], capture_output=True, text=True).stdout:
        sys.exit(f"{ptxas} is not ptxas {PTXAS}")
    table = tomllib.loads((HERE / "modules.toml").read_text(encoding="utf-8"))["module"]
    for folder in sorted({row["folder"] for row in table}):
        rows, modules = [row for row in table if row["folder"] == folder], {}
        target, seen = HERE / folder / "kernels.bin", digest(rows)
        if not check and target.is_file() and is_fresh(target.read_bytes(), seen, rows):
            continue
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for row, (made, told) in zip(rows, pool.map(lambda row: members(library, ptxas, row), rows)):
                modules[row["name"]] = made
                print(*told, sep="\n", flush=True)
        # The members count: another liblzma may pack them in other bytes.
        if not check:
            target.write_bytes(pack(modules, rows, seen))
        elif unpack(target.read_bytes()) != (seen, modules):
            sys.exit(f"{folder}/kernels.bin is not what the sources give")
        print(f"{folder}/kernels.bin: {target.stat().st_size} bytes")
