"""Arrays of CuPy and PyTorch on a real GPU: `check` compares every bit with the CPU's, `bench` measures (tables in markdown).

tests/gpu/python.sh runs it, and says what it needs. What a library is missing for is left out with a word.
"""

import argparse
import ctypes
import json
import os
import statistics
import sys
import time
from pathlib import Path

import numpy as np
import sleek
from sleek._library import lib
from sleek._params import DTYPES

try:
    import torch
except ImportError:
    torch = None
try:
    import cupy
except ImportError:
    cupy = None
try:
    from ml_dtypes import bfloat16
except ImportError:
    bfloat16 = None

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("SLEEK_DATA", ROOT / "tests/data"))
BOUND = 1e-3
REQUESTS = [f"{mode},profile={profile}" for profile in ("adaptive", "fast", "small") for mode in ("lossless", f"noa={BOUND}")]
TYPES = ("float32", "float64", "bfloat16", "float16")


def field(dtype, mib):
    """So many MiB, copies of a real field, with its shape."""
    known = (
        {"float64": [("pyro_density_256x256.f64", (256, 256))]}.get(dtype)
        or [("navy_uwnd_132x73x144.f32", (73, 144)), ("navy_uwnd_12x73x144.f32", (73, 144))]
    )
    # SLEEK_DATA may lack what is in the repository.
    places = ((folder / n, p) for folder in (DATA, ROOT / "tests/data") for n, p in known)
    path, plane = next((path, p) for path, p in places if path.is_file())
    a = np.fromfile(path, "f8" if dtype == "float64" else "f4").reshape(-1, *plane)
    a = a.astype(bfloat16 if dtype == "bfloat16" else dtype)
    planes = max(1, (mib << 20) // a[0].nbytes)
    return np.resize(a, (planes, *plane))


class Torch:
    name = "PyTorch"

    @staticmethod
    def put(a):
        if a.dtype.name == "bfloat16":
            return torch.from_numpy(a.view("i2")).cuda().view(torch.bfloat16)
        return torch.from_numpy(a).cuda()

    @staticmethod
    def bytes(count):
        return torch.empty(count, dtype=torch.uint8, device="cuda")

    @staticmethod
    def like(a):
        return torch.full_like(a, 77)

    @staticmethod
    def equal(a, b):
        return torch.equal(a.view(torch.uint8), b.view(torch.uint8))

    @staticmethod
    def address(a):
        return a.data_ptr()


class Cupy:
    name = "CuPy"

    @staticmethod
    def put(a):
        return cupy.asarray(a)

    @staticmethod
    def bytes(count):
        return cupy.empty(count, "u1")

    @staticmethod
    def like(a):
        return cupy.full_like(a, 77)

    @staticmethod
    def equal(a, b):
        return bool(cupy.array_equal(a.view("u1"), b.view("u1")))

    @staticmethod
    def address(a):
        return a.data.ptr


def libraries():
    for kind, module, name in ((Torch, torch, "torch"), (Cupy, cupy, "cupy")):
        if module is None:
            print(f"{name} is not installed: its part was left out")
        else:
            yield kind


def same(a, b):
    """Whether two arrays of the host have the same bytes."""
    a, b = (np.ascontiguousarray(x).reshape(-1).view("u1") for x in (a, b))
    words = a.size // 8 * 8
    return (
        a.size == b.size
        and np.array_equal(a[:words].view("u8"), b[:words].view("u8"))
        and a[words:].tobytes() == b[words:].tobytes()
    )


def round_trip(kind, a, request, expected, restored):
    """Each way between device and host; raises where a bit differs from what the CPU makes."""
    on_gpu, stream_there, values_there = kind.put(a), kind.put(expected), kind.put(restored)
    room = kind.bytes(sleek.compress_bound(on_gpu, request))
    stream = sleek.compress(on_gpu, request, out=room)
    assert kind.equal(stream, stream_there), "device to device: the stream is not the CPU's"
    there = np.empty(len(expected), "u1")
    got = sleek.compress(on_gpu, request, out=there)  # what the stream takes is room enough
    assert got.size == len(expected) and same(got, expected), "device to host: the stream is not the CPU's"
    back = kind.like(on_gpu)
    assert sleek.decompress(stream, out=back) is back
    assert kind.equal(back, values_there), "device to device: the values are not the CPU's"
    there = np.zeros_like(a)
    sleek.decompress(stream, out=there)
    assert same(there, restored), "device to host: the values are not the CPU's"
    back = kind.like(on_gpu)
    sleek.decompress(expected, out=back)
    assert kind.equal(back, values_there), "host to device: the values are not the CPU's"


def check(mib):
    kinds = list(libraries())
    print(f"\nRound trips of {mib} MiB, bits compared with the CPU's stream and values:\n")
    print("| type | request | ratio | largest error / bound | " + " | ".join(kind.name for kind in kinds) + " |")
    print("|---" * (4 + len(kinds)) + "|")
    for dtype in TYPES:
        if dtype == "bfloat16" and bfloat16 is None:
            print("ml_dtypes is not installed: bfloat16 was left out")
            continue
        a = field(dtype, mib)
        values = a.astype("f4") if a.dtype.itemsize == 2 else a
        low, high = (float(m) for m in (values.min(), values.max()))
        for request in REQUESTS:
            expected = sleek.compress(a, request, out=np.empty(sleek.compress_bound(a, request), "u1"))
            restored = sleek.decompress(expected)
            share = "0"
            if request.startswith("lossless"):
                assert same(restored, a), f"{dtype} {request}: not lossless"
            else:
                parts = zip(np.array_split(a, 64), np.array_split(restored, 64))
                error = max(float(np.abs(v.astype("f8") - r.astype("f8")).max()) for v, r in parts if v.size)
                assert error <= BOUND * (high - low), f"{dtype} {request}: {error} exceeds the bound"
                share = f"{error / (BOUND * (high - low)):.3f}"
            said = []
            for kind in kinds:
                if kind is Cupy and dtype == "bfloat16":
                    said.append("has no such type")
                    continue
                round_trip(kind, a, request, expected, restored)
                said.append("equal")
            print(f"| {dtype} | {request} | {a.nbytes / len(expected):.2f} | {share} | " + " | ".join(said) + " |", flush=True)


def medians(count, *runs):
    """Median microseconds of each, run in turn."""
    for run in 2 * runs:
        run()
    times = [[] for _ in runs]
    for _ in range(count):
        for run, to in zip(runs, times):
            start = time.perf_counter()
            run()
            to.append(1e6 * (time.perf_counter() - start))
    return [statistics.median(t) for t in times]


def speed(sizes):
    print("\nWhole calls beside the C functions with raw addresses, called by ctypes in the same process and in turn, device to device, median:\n")
    print("| library | type | request | MiB | C compress µs | Python µs | more | C decompress µs | Python µs | more |")
    print("|---" * 10 + "|")
    adaptive, lossless, *others = (("float32", REQUESTS[n]) for n in (1, 0, 3, 2, 5))
    for kind in libraries():
        more = [lossless, *others, ("float64", REQUESTS[1]), ("float16", REQUESTS[1])] if kind is Torch else []
        for dtype, request in [adaptive, *more]:
            for mib in sizes:
                speed_of(kind, dtype, request, mib)


def speed_of(kind, dtype, request, mib):
    a = kind.put(field(dtype, mib))
    room, back = kind.bytes(sleek.compress_bound(a, request)), kind.like(a)
    p = sleek._params.params((DTYPES[dtype], 0), request, None, None, None, False, None, None, "adaptive")
    sleek._params.shaped(p, tuple(a.shape))
    written = ctypes.c_size_t()
    size = int(np.prod(a.shape))
    nbytes = size * np.dtype(dtype).itemsize
    by, to, source, target = ctypes.byref(p), ctypes.byref(written), kind.address(a), kind.address(room)
    again, capacity = kind.address(back), room.nbytes
    assert lib.sleek_compress(by, source, size, target, capacity, to, None) == 0
    stream = room[: written.value]
    length = written.value
    count = 15 if mib >= 256 else 101
    c, python = medians(
        count,
        lambda: lib.sleek_compress(by, source, size, target, capacity, to, None),
        lambda: sleek.compress(a, request, out=room),
    )
    c2, python2 = medians(
        count,
        lambda: lib.sleek_decompress(target, length, again, nbytes, None, None),
        lambda: sleek.decompress(stream, out=back),
    )
    print(
        f"| {kind.name} | {dtype} | {request} | {mib} | {c:.0f} | {python:.0f} | {100 * (python / c - 1):+.1f} % | "
        f"{c2:.0f} | {python2:.0f} | {100 * (python2 / c2 - 1):+.1f} % |",
        flush=True,
    )


def training_state():
    """Weights and Adam's two moments of a transformer after three steps, about 1 GB, by name."""
    torch.manual_seed(1)
    layer = torch.nn.TransformerEncoderLayer(768, 12, 3072, batch_first=True)
    model = torch.nn.Sequential(torch.nn.Embedding(4096, 768), torch.nn.TransformerEncoder(layer, 12), torch.nn.Linear(768, 4096)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    tokens = torch.randint(0, 4096, (8, 129), device="cuda")
    for _ in range(3):
        out = model(tokens[:, :-1])
        torch.nn.functional.cross_entropy(out.flatten(0, 1), tokens[:, 1:].flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()
    state = {f"weight {name}": p.detach() for name, p in model.named_parameters()}
    for name, p in model.named_parameters():
        state |= {f"{k} {name}": v for k, v in optimizer.state[p].items() if v.is_cuda}
    return state


class Checkpoint:
    """A file of streams, which lie one behind the other, and their names; the way there and back is one buffer of pinned memory."""

    def __init__(self, state, request):
        self.request = request  # of a name
        most = [sleek.compress_bound(tensor, request(name)) for name, tensor in state.items()]
        self.pinned = torch.empty(sum(most), dtype=torch.uint8, pin_memory=True)
        self.room = torch.empty(max(most), dtype=torch.uint8, device="cuda")

    def to_host(self, state):
        at, index = 0, {}
        for name, tensor in state.items():
            stream = sleek.compress(tensor, self.request(name), out=self.room)
            self.pinned[at : at + len(stream)].copy_(stream, non_blocking=True)
            index[name] = (at, len(stream), str(tensor.dtype).removeprefix("torch."), list(tensor.shape))
            at += len(stream)
        torch.cuda.synchronize()
        return at, index

    def save(self, state, path):
        at, index = self.to_host(state)
        with open(path, "wb") as file:
            head = json.dumps(index).encode()
            file.write(len(head).to_bytes(8, "little") + head)
            file.write(memoryview(self.pinned.numpy())[:at])

    def load(self, path):
        state = {}
        with open(path, "rb") as file:
            index = json.loads(file.read(int.from_bytes(file.read(8), "little")))
            whole = memoryview(self.pinned.numpy())
            file.readinto(whole[: max(at + n for at, n, *_ in index.values())])
        for name, (at, n, dtype, shape) in index.items():
            stream = self.room[:n]
            stream.copy_(self.pinned[at : at + n], non_blocking=True)
            state[name] = torch.empty(shape, dtype=getattr(torch, dtype), device="cuda")
            sleek.decompress(stream, out=state[name])
        return state


class Pinned:
    """torch.save of copies in pinned memory, which were made before."""

    def __init__(self, state):
        self.copies = {name: torch.empty_like(t, device="cpu", pin_memory=True) for name, t in state.items()}

    def to_host(self, state):
        for name, tensor in state.items():
            self.copies[name].copy_(tensor, non_blocking=True)
        torch.cuda.synchronize()

    def save(self, state, path):
        self.to_host(state)
        torch.save(self.copies, path)

    def load(self, path):
        there = torch.load(path, map_location="cpu")
        for name, tensor in there.items():
            self.copies[name].copy_(tensor)
        state = {name: copy.to("cuda", non_blocking=True) for name, copy in self.copies.items()}
        torch.cuda.synchronize()
        return state


class Plain:
    def to_host(self, state):
        return {name: t.cpu() for name, t in state.items()}

    def save(self, state, path):
        torch.save(state, path)

    def load(self, path):
        state = torch.load(path, map_location="cuda")
        torch.cuda.synchronize()
        return state


def checkpoint(folder):
    if torch is None:
        return print("torch is not installed: the checkpoint was left out")
    state = training_state()
    raw = sum(t.nbytes for t in state.values())
    path = folder / f"checkpoint.{os.getpid()}"
    print(f"\nA training state of {len(state)} tensors, {raw / 1e6:.0f} MB, to a file in {folder} and back onto the GPU; best of 3:\n")
    print("| way | MB | to host memory s | to the file s | from the file s | comes back |")
    print("|---" * 6 + "|")
    ways = {
        "torch.save of GPU tensors": Plain,
        "pinned copies, torch.save": lambda: Pinned(state),
        "sleek lossless": lambda: Checkpoint(state, lambda name: "lossless"),
        "sleek lossless, profile=fast": lambda: Checkpoint(state, lambda name: "lossless,profile=fast"),
        "sleek lossless, profile=small": lambda: Checkpoint(state, lambda name: "lossless,profile=small"),
        "sleek, moments rel=1e-2": lambda: Checkpoint(state, lambda name: "lossless" if name.startswith("weight") else "rel=1e-2"),
    }
    for name, make in ways.items():
        way = make()
        best = [min(timed(lambda: step(way, state, path)) for _ in range(3)) for step in (to_host, to_file, from_file)]
        back = way.load(path)
        exact = [torch.equal(back[n].view(torch.uint8), t.view(torch.uint8)) for n, t in state.items() if t.ndim]
        said = "every bit"
        if not all(exact):
            assert "rel" in name, f"{name}: {exact.count(False)} tensors of {len(exact)} came back otherwise"
            for n, t in state.items():
                assert ((back[n].double() - t.double()).abs() <= 1e-2 * t.double().abs()).all(), f"{name}: {n} beyond the bound"
            said = f"{exact.count(True)} of {len(exact)} tensors bit for bit, the others within the bound"
        print(f"| {name} | {path.stat().st_size / 1e6:.0f} | " + " | ".join(f"{t:.3f}" for t in best) + f" | {said} |", flush=True)
    path.unlink()


def to_host(way, state, path):
    way.to_host(state)


def to_file(way, state, path):
    way.save(state, path)


def from_file(way, state, path):
    way.load(path)


def timed(run):
    start = time.perf_counter()
    run()
    if torch is not None:
        torch.cuda.synchronize()
    return time.perf_counter() - start


def zarr_reads(mib, folder):
    try:
        import zarr
        from sleek.zarr import Sleek
        from zarr.registry import register_codec
    except ImportError as e:
        return print(f"Zarr arrays were left out: {e}")
    if cupy is None:
        return print("cupy, which zarr's GPU buffers are of, is not installed: Zarr arrays were left out")
    import shutil

    print(f"\nA Zarr array of {mib} MiB of f32 in {folder}, read to the GPU by zarr {zarr.__version__}; best of 3:\n")
    print("| request | chunks of MiB | ratio | GPU buffers s | CPU and copy s | times | equal |")
    print("|---" * 7 + "|")
    register_codec("sleek", Sleek)  # which an installed package does
    a = field("float32", mib)
    path = folder / f"zarr.{os.getpid()}"
    for request in (f"noa={BOUND},range={float(np.ptp(a))!r}", "lossless"):
        for chunk in (4, 16, 64):
            rows = max(1, (chunk << 20) // a[0].nbytes)
            z = zarr.create_array(path, shape=a.shape, chunks=(rows, *a.shape[1:]), dtype="f4", serializer=Sleek(request), compressors=None, overwrite=True)
            z[:] = a
            stored = sum(f.stat().st_size for f in path.rglob("*") if f.is_file())
            on_cpu = zarr.open_array(path, mode="r")
            expected = on_cpu[:]
            cpu = min(timed(lambda: (cupy.asarray(on_cpu[:]), cupy.cuda.Device().synchronize())) for _ in range(3))
            with zarr.config.enable_gpu():
                on_gpu = zarr.open_array(path, mode="r")
                got = on_gpu[:]
                assert isinstance(got, cupy.ndarray), f"zarr gave {type(got)}"
                assert same(got.get(), expected), "what the GPU restores is not what the CPU does"
                gpu = min(timed(lambda: (on_gpu[:], cupy.cuda.Device().synchronize())) for _ in range(3))
            print(f"| {request} | {chunk} | {a.nbytes / stored:.2f} | {gpu:.3f} | {cpu:.3f} | {cpu / gpu:.1f} | yes |", flush=True)
    shutil.rmtree(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help="check, speed, checkpoint, zarr; bench: all but check. Default: all")
    parser.add_argument("--mib", type=int, default=1024, help="size of the arrays (default: 1024)")
    parser.add_argument("--folder", type=Path, default=Path("/dev/shm"), help="where files go (default: /dev/shm)")
    given = parser.parse_args()
    parts = given.parts or ["check", "bench"]
    unknown = set(parts) - {"check", "bench", "speed", "checkpoint", "zarr"}
    if unknown:
        parser.error(f"{sorted(unknown)[0]} is no part; known are check, bench, speed, checkpoint, zarr")
    card = torch.cuda.get_device_name() if torch else cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    print(f"{card}; sleek {sleek.__version__}, torch {getattr(torch, '__version__', 'none')}, cupy {getattr(cupy, '__version__', 'none')}, numpy {np.__version__}")
    if "check" in parts:
        check(given.mib)
    if {"bench", "speed"} & set(parts):
        speed([m for m in (1, 4, 16, 64, 256, 1024) if m <= given.mib])
    if {"bench", "zarr"} & set(parts):
        zarr_reads(given.mib, given.folder)
    if {"bench", "checkpoint"} & set(parts):
        checkpoint(given.folder)


if __name__ == "__main__":
    sys.exit(main())
