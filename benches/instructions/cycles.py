"""Instructions and cycles that a value takes, by level and processor, as llvm-mca counts them for every instruction that the library
really executes while it compresses or restores a part of a field: for processors that nobody here has. The emulator's plugin
(trace.c) says which instructions these are, with AVX-512 the processor itself, step by step (once.c). llvm-mca knows ports, latencies
and what is in flight; of caches and branches it takes the best for granted. Levels beside a measured one give the scale. Of more than
240000 instructions it gets 24 pieces of 10000.

    cycles.py [--x86 libsleek.so] [--arm libsleek.so] [--kib 64] [--fields N] [--lossless] [--profile fast]

A part is so many bytes from the middle of a field; of profile small it is a box of a quarter as many values along the
field's dimensions, so that there are whole tiles of any rank (with --kib 128 two of them). Libraries as `cargo rustc -p sleek-compress --release --lib --crate-type cdylib --no-default-features [--target aarch64-unknown-linux-gnu]` makes them.
Needs SLEEK_DATA, llvm-mca and llvm-objdump (LLVM 19), gcc, qemu-user; for Arm gcc-aarch64-linux-gnu. Minutes.
"""
import argparse
import bisect
import collections
import math
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
LLVM = os.environ.get("LLVM_SUFFIX", "-19")
# Level, whether the emulator can do it, and the processors that it is counted for.
LEVELS = {
    "avx2": ("x86", True, ["znver1", "znver2", "znver3", "znver4", "skylake-avx512", "icelake-server", "sapphirerapids"]),
    "avx512": ("x86", False, ["znver4", "icelake-server", "sapphirerapids"]),
    "neon": ("arm", True, ["neoverse-n1", "neoverse-v1", "neoverse-v2"]),
}
# File and type; the bound is 1e-3 of the range of the whole field.
FIELDS = [
    ("navy_uwnd_132x73x144.f32", 1),
    ("mpas_surface_pressure", 2),
    ("muse_cube", 1),
    ("pyro_quad_state_4x256x256.f64", 2),
    ("cfd_post_q", 1),
    ("pic3d_ez", 2),
    ("gals_mr19_x_1235904.f32", 1),
    ("ccsm_trefht", 1),
]


def run(*command, **more):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **more)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def disassembled(library, comment):
    """The text of each instruction by its address, as llvm-mca reads it."""
    text = {}
    for line in run(f"llvm-objdump{LLVM}", "-d", "--no-show-raw-insn", library).splitlines():
        found = re.match(r"\s*([0-9a-f]+):\s+(.*)", line)
        if found:
            words = re.sub(rf"\s*(<[^>]*>|{comment}.*)", "", found[2])
            # Where a branch goes does not matter, but Arm's have to be near.
            text[int(found[1], 16)] = re.sub(r"^((?:b|b\.\w+|cbn?z|tbn?z|adrp?)\t.*?)0x[0-9a-f]+$", r"\1#4096", words.strip())
    return text


class Machine:
    """What runs programs of one architecture, and a library for it."""

    def __init__(self, name, library, work):
        self.name, self.library = name, library
        self.compiler = "cc" if name == "x86" else "aarch64-linux-gnu-gcc"
        self.work = work / name
        self.work.mkdir()
        (self.work / "libsleek.so.0").symlink_to(pathlib.Path(library).resolve())
        self.program = self.work / "once"
        run(self.compiler, "-O2", "-no-pie", f"-I{HERE.parent.parent / 'include'}", HERE / "once.c", "-o", self.program,
            f"-L{self.work}", "-l:libsleek.so.0")
        run("cc", "-O2", "-shared", "-fPIC", HERE / "trace.c", "-o", self.work / "trace.so")
        symbols = dict((w[2], w[0]) for w in map(str.split, run("nm", self.program).splitlines()) if len(w) == 3)
        self.begin, self.end = symbols["begin"], symbols["end"]
        exported = dict((w[2], w[0]) for w in map(str.split, run("nm", "-D", library).splitlines()) if len(w) == 3)
        self.known = int(exported["sleek_compress"], 16)
        self.text = disassembled(library, '#' if name == 'x86' else '//')

    def trace(self, level, emulated, arguments):
        """The instructions of the library that are executed, as text, and how many others there are."""
        to, arguments = self.work / "trace", [str(a) for a in arguments]
        environment = dict(os.environ, LD_LIBRARY_PATH=str(self.work), SLEEK_SIMD=level)
        if emulated:
            emulator = ["qemu-x86_64", "-cpu", "max"] if self.name == "x86" else ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"]
            plugin = f"{self.work / 'trace.so'},begin={self.begin},end={self.end},to={to}"
            out = run(*emulator, "-plugin", plugin, self.program, *arguments, env=environment)
        else:
            out = run(self.program, "--trace", to, self.program, *arguments, env=environment)
        offset = int(out.split()[0]) - self.known
        addresses = [at - offset for (at,) in struct.iter_unpack("<Q", to.read_bytes())]
        known = [at for at in addresses if at in self.text]
        return known, len(addresses) - len(known)


# Of longer traces so many pieces of so many instructions, evenly apart.
PIECES, PIECE = 24, 10000


def cycles(machine, addresses, processor):
    """The cycles that llvm-mca says they take, one after the other."""
    if len(addresses) <= PIECES * PIECE:
        return counted(machine, addresses, processor)
    starts = [k * (len(addresses) - PIECE) // (PIECES - 1) for k in range(PIECES)]
    pieces = [counted(machine, addresses[at : at + PIECE], processor) for at in starts]
    return sum(pieces) * len(addresses) / (PIECES * PIECE)


def counted(machine, addresses, processor):
    """The same of a piece that is not too long for llvm-mca, which slows down."""
    skipped = ("ret", "call", "bl\t", "blr", "nop", "endbr", "udf", "bti", "int3")
    lines = (machine.text[at] for at in addresses)
    code = "\n".join(line for line in lines if not line.startswith(skipped))
    triple = "x86_64" if machine.name == "x86" else "aarch64"
    options = ["-mattr=+v8.2a,+crc"] if machine.name == "arm" else []
    out = run(f"llvm-mca{LLVM}", f"-mtriple={triple}-linux-gnu", f"-mcpu={processor}", "-iterations=1", "-skip-unsupported-instructions=lack-sched",
              "-instruction-info=0", "-resource-pressure=0", *options, input=code)
    return int(re.search(r"Total Cycles:\s+(\d+)", out)[1])


def scale(path, dtype):
    """1e-3 of the range of a field's finite values."""
    import numpy as np

    values = np.fromfile(path, "<f4" if dtype == 1 else "<f8")
    values = values[np.isfinite(values) & (np.abs(values) < 1e30)]
    return 1e-3 * float(values.max() - values.min())


def shape(path, size):
    """The lengths of a field's dimensions, which end its name unless it has but one."""
    lens = [int(n) for n in path.stem.rsplit("_", 1)[-1].split("x") if n.isdigit()]
    count = path.stat().st_size // size
    return lens if math.prod(lens) == count else [count]


def box(lens, most):
    """Powers of two, no more than `most` all together, as alike as they can be along the last three dimensions."""
    sides = [1] * len(lens)
    while 2 * math.prod(sides) <= most:
        longer = [k for k in range(len(lens)) if 2 * sides[k] <= lens[k]]
        last = [k for k in longer if k >= len(lens) - 3] or longer
        if not last:
            break
        sides[min(last, key=lambda k: (sides[k], -k))] *= 2
    return sides


def cut(path, dtype, most, to):
    """Writes a box from the middle of a field to a file, and returns its lengths."""
    import numpy as np

    kind = "<f4" if dtype == 1 else "<f8"
    lens = shape(path, np.dtype(kind).itemsize)
    sides = box(lens, most)
    middle = tuple(slice((n - s) // 2, (n - s) // 2 + s) for n, s in zip(lens, sides))
    np.ascontiguousarray(np.fromfile(path, kind).reshape(lens)[middle]).tofile(to)
    return sides


def parts(data, options, work):
    """Fields with their type, how many values a part has, and its arguments before and behind the way."""
    for name, dtype in (f for f in FIELDS[: options.fields] if f[0].startswith(options.field)):
        path = sorted(data.glob(name + "*"))[0]
        size = options.kib << 10
        request = "lossless" if options.lossless else f"abs={scale(path, dtype):.6g}"
        request += f",profile={options.profile}" if options.profile else ""
        field, width = path.name.split(".")[0], 4 if dtype == 1 else 8
        if options.profile == "small":
            to = work / "box"
            sides = cut(path, dtype, size // 4, to)
            yield field, dtype, math.prod(sides), [request, dtype, to, 0, math.prod(sides) * width], sides
            continue
        at = max(0, path.stat().st_size - size) // 2 // 16384 * 16384
        size = min(size, path.stat().st_size // 16384 * 16384)
        yield field, dtype, size // width, [request, dtype, path, at, size], []


def profile(machine, addresses, values):
    """Prints in which functions the instructions are."""
    lines = [line.split(maxsplit=2) for line in run("nm", "-C", machine.library).splitlines()]
    symbols = sorted((int(w[0], 16), w[2]) for w in lines if len(w) == 3 and w[1] in "tT" and not w[2].startswith("$"))
    starts = [at for at, _ in symbols]
    counts = collections.Counter(symbols[bisect.bisect(starts, at) - 1][1] for at in addresses)
    for name, count in counts.most_common(8):
        print(f"        {count / values:6.2f} {name[:100]}")


def mean(numbers):
    return math.exp(sum(map(math.log, numbers)) / len(numbers))


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--x86")
    options.add_argument("--arm")
    options.add_argument("--kib", type=int, default=64)
    options.add_argument("--fields", type=int, default=len(FIELDS))
    options.add_argument("--field", default="", help="only those whose name begins so")
    options.add_argument("--lossless", action="store_true")
    options.add_argument("--profile")
    options.add_argument("--functions", action="store_true", help="also print where the instructions are")
    options.add_argument("--levels", default=",".join(LEVELS))
    options.add_argument("--ways", default="compress,decompress")
    options.add_argument("--processors", help="of all only these")
    options = options.parse_args()
    data = pathlib.Path(os.environ["SLEEK_DATA"])
    table = collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as work:
        libraries = {"x86": options.x86, "arm": options.arm}
        machines = {n: Machine(n, of, pathlib.Path(work)) for n, of in libraries.items() if of}
        for field, dtype, values, arguments, dims in parts(data, options, pathlib.Path(work)):
            for level in options.levels.split(","):
                of, emulated, processors = LEVELS[level]
                for way in options.ways.split(","):
                    if of not in machines:
                        continue
                    addresses, others = machines[of].trace(level, emulated, [*arguments, way, *dims])
                    key = ("f32", "f64")[dtype - 1], way, level
                    table[(*key, "instructions")].append(len(addresses) / values)
                    if options.functions:
                        print(f"    {field} {way} {level}: {len(addresses) / values:.2f}, outside {others / values:.2f}")
                        profile(machines[of], addresses, values)
                    for processor in processors:
                        if not options.processors or processor in options.processors.split(","):
                            table[(*key, processor)].append(cycles(machines[of], addresses, processor) / values)
                    row = {of: round(numbers[-1], 2) for (*at, of), numbers in table.items() if tuple(at) == key}
                    print(f"{field} {' '.join(key)}: {row}", file=sys.stderr, flush=True)
    print("| type | way | level | of | a value |\n|---|---|---|---|---|")
    for (dtype, way, level, of), numbers in sorted(table.items()):
        print(f"| {dtype} | {way} | {level} | {of} | {mean(numbers):.2f} |")


main()
