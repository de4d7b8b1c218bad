"""Arrays of PyTorch, CuPy and JAX as they come on a real GPU: of every type and memory, each way, of no elements, on streams of
their own and in graphs. tests/gpu/python.sh runs it; what a library is missing for is left out with a word."""

import os
import subprocess
import sys
import tempfile
import time
import traceback

import numpy as np
import sleek
import sleek.cuda

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
failed = []


def case(f):
    t = time.time()
    try:
        said = f()
        print(f"ok   {f.__name__} {said or ''} {time.time() - t:.2f} s", flush=True)
    except Exception:
        failed.append(f.__name__)
        print(f"FAIL {f.__name__}\n{traceback.format_exc(limit=-4)}", flush=True)
    return f

wave = np.sin(np.linspace(0, 60, 1_000_000, dtype="f4"))
expected = sleek.compress(wave, abs=1e-3)
try:
    import torch
except ImportError as e:
    torch = None
    print("torch left out:", e)
try:
    import cupy
except ImportError as e:
    cupy = None
    print("cupy left out:", e)
try:
    import jax
    import jax.numpy as jnp
except ImportError as e:
    jax = None
    print("jax left out:", e)

try:
    from ml_dtypes import bfloat16
except ImportError as e:
    bfloat16 = None
    print("bfloat16 left out:", e)
REQUESTS = [f"{mode},profile={profile}" for profile in ("adaptive", "fast", "small") for mode in ("lossless", "noa=1e-3")]


def round_trips(put, like, empty, host):
    """Every type, profile and mode, each way between device and host: the bits are the CPU's."""
    for dtype in ("f4", "f8", "f2", *([bfloat16] if bfloat16 else [])):
        a = np.resize(wave, (64, 73, 1000)).astype(dtype)
        values = put(a)
        for request in REQUESTS:
            expected = sleek.compress(a, request)
            restored = sleek.decompress(expected)
            error = np.abs(a.astype("f8") - restored.astype("f8")).max()
            assert error <= (0 if "lossless" in request else 1e-3 * float(np.ptp(a.astype("f8")))), (dtype, request, error)
            stream = sleek.compress(values, request, out=empty(sleek.compress_bound(values, request)))
            assert host(stream) == expected, (dtype, request, "device to device")
            there = np.empty(len(expected), "u1")
            assert bytes(sleek.compress(values, request, out=there)) == expected, (dtype, request, "device to host")
            for source in (stream, expected):
                back = like(values)
                assert sleek.decompress(source, out=back) is back and host(back) == restored.tobytes(), (dtype, request)
            there = np.zeros_like(a)
            sleek.decompress(stream, out=there)
            assert there.tobytes() == restored.tobytes(), (dtype, request, "device to host")


def batch(xp, empty, n):
    return {"results": empty(16 * n), "workspace": empty(sleek.cuda.workspace_bytes(n))}

if torch:
    print("torch", torch.__version__, torch.cuda.get_device_name())
    u1 = lambda n: torch.empty(n, dtype=torch.uint8, device="cuda")

    @case
    def torch_round_trips():
        put = lambda a: torch.from_numpy(a.view("i2")).cuda().view(torch.bfloat16) if a.dtype.name == "bfloat16" else torch.from_numpy(a).cuda()
        round_trips(put, lambda t: torch.full_like(t, 77), u1, lambda t: t.view(torch.uint8).cpu().numpy().tobytes())

    @case
    def torch_empty():
        a = torch.empty(0, 5, device="cuda")
        s = sleek.compress(a, abs=1e-3)
        assert s == sleek.compress(np.empty((0, 5), "f4"), abs=1e-3)
        assert sleek.decompress(s, out=a) is a
        room = u1(sleek.compress_bound(a, abs=1e-3))
        packed = sleek.compress(a, abs=1e-3, out=room)
        assert bytes(packed.cpu().numpy()) == s
        assert sleek.decompress(packed, out=a) is a
        with torch.cuda.stream(torch.cuda.Stream()):
            assert sleek.compress(a, abs=1e-3) == s

    @case
    def torch_current_stream():
        side = torch.cuda.Stream()
        big = torch.randn(4096, 4096, device="cuda")
        source = torch.from_numpy(wave).cuda()
        x = torch.zeros(1_000_000, device="cuda")
        torch.cuda.synchronize()
        with torch.cuda.stream(side):
            for _ in range(30):
                big = big @ big
                big = big / big.abs().max()
            x.copy_(source)
            room = u1(sleek.compress_bound(x, abs=1e-3))
            s = sleek.compress(x, abs=1e-3, out=room)
            assert bytes(s.cpu().numpy()) == expected
            back = torch.empty_like(x)
            sleek.decompress(s, out=back)
            assert np.array_equal(back.cpu().numpy(), sleek.decompress(expected))

    @case
    def torch_graph():
        n = 4
        for profile in ("adaptive", "fast", "small"):
            arrays = [torch.from_numpy(wave[i * 1000 :][: 900_000].copy()).cuda() for i in range(n)]
            rooms = [u1(sleek.compress_bound(a, abs=1e-3, profile=profile)) for a in arrays]
            more, again = batch(torch, u1, n), batch(torch, u1, n)
            back = [torch.empty_like(a) for a in arrays]
            codec = "interp" if profile == "small" else "sleek"
            sleek.cuda.prepare(0, "float32", abs=1e-3, profile=profile)
            g = torch.cuda.CUDAGraph()
            with torch.cuda.graph(g):
                sleek.cuda.compress_batch(arrays, abs=1e-3, profile=profile, out=rooms, **more)
                sleek.cuda.decompress_batch(rooms, out=back, codec=codec, **again)
            for step in range(2):
                for a in arrays:
                    a.mul_(2)
                g.replay()
                torch.cuda.synchronize()
                lengths = sleek.cuda.check(more["results"].cpu().numpy())
                sleek.cuda.check(again["results"].cpu().numpy())
                for a, r, length, b in zip(arrays, rooms, lengths, back):
                    host = a.cpu().numpy()
                    s = sleek.compress(host, abs=1e-3, fill=False, profile=profile)
                    assert bytes(r[: int(length)].cpu().numpy()) == s, (profile, step)
                    assert np.array_equal(b.cpu().numpy(), sleek.decompress(s))

    @case
    def torch_types():
        done = []
        for name in ("bool", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"):
            dtype = getattr(torch, name, None)
            if dtype is None: continue
            raw = (torch.arange(40_000, device="cuda") % 7 > 4).to(torch.uint8)
            a = raw.view(dtype)
            s = sleek.compress(a, lossless=True)
            assert s == sleek.compress(raw.cpu().numpy(), lossless=True)
            out = torch.empty_like(a)
            sleek.decompress(s, out=out)
            assert torch.equal(out.view(torch.uint8), raw)
            try:
                assert sleek.compress(a, lossless=True, cuda_stream=torch.cuda.Stream()) == s
                by_dlpack = ""
            except Exception as e:
                by_dlpack = f"({type(e).__name__} by DLPack: {str(e)[:60]})"
            done.append(name + by_dlpack)
        for dtype in (torch.complex64, torch.complex128):
            a = torch.polar(torch.ones(5000, 20, dtype=torch.float64), torch.linspace(0, 9, 100_000, dtype=torch.float64).reshape(5000, 20)).to(dtype).cuda()
            s = sleek.compress(a, abs=1e-3)
            assert s == sleek.compress(a.cpu().numpy(), abs=1e-3)
            out = torch.empty_like(a)
            sleek.decompress(s, out=out)
            w = torch.view_as_real(out - a).abs().max().item()
            assert 0 < w <= 1e-3
            assert sleek.compress(a, abs=1e-3, cuda_stream=torch.cuda.Stream()) == s
            try:
                sleek.compress(a.conj(), abs=1e-3); done.append("conj taken?!")
            except Exception as e:
                done.append(f"conj: {type(e).__name__}")
        return ", ".join(done)

    @case
    def torch_memory():
        pinned = torch.from_numpy(wave).pin_memory()
        assert sleek.compress(pinned, abs=1e-3) == expected
        stream = sleek.compress(pinned.cuda(), abs=1e-3, out=u1(sleek.compress_bound(wave, abs=1e-3)))
        back = torch.empty(wave.size).pin_memory()
        sleek.decompress(stream, out=back)
        assert np.array_equal(back.numpy(), sleek.decompress(expected))
        # Memory of the allocator with segments that grow, and of another process.
        code = (
            "import sys, torch, sleek, numpy as np, torch.multiprocessing as mp\n"
            "def child(queue):\n"
            "    a = queue.get(); sys.exit(0 if sleek.compress(a, abs=1e-3) == sleek.compress(a.cpu().numpy(), abs=1e-3) else 3)\n"
            "if __name__ == '__main__':\n"
            "    w = np.sin(np.linspace(0, 60, 1_000_000, dtype='f4')); a = torch.from_numpy(w).cuda()\n"
            "    assert sleek.compress(a, abs=1e-3) == sleek.compress(w, abs=1e-3)\n"
            "    if len(sys.argv) > 1:\n"
            "        c = mp.get_context('spawn'); q = c.Queue(); p = c.Process(target=child, args=(q,)); p.start(); q.put(a); p.join(60)\n"
            "        assert p.exitcode == 0, p.exitcode\n"
        )
        script = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"sleek-memory-{os.getpid()}.py")
        with open(script, "w") as file:
            file.write(code)
        for extra, variables in ((["ipc"], {}), ([], {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"})):
            subprocess.run([sys.executable, script, *extra], check=True, timeout=120, env={**os.environ, **variables})
        os.remove(script)

if cupy:
    print("cupy", cupy.__version__)
    empty = lambda n: cupy.empty(int(n), "u1")

    @case
    def cupy_round_trips():
        global bfloat16
        bfloat16 = None  # it has no such type
        round_trips(cupy.asarray, lambda a: cupy.full_like(a, 77), empty, lambda a: cupy.asnumpy(a).tobytes())

    @case
    def cupy_empty():
        a = cupy.empty((0, 5), "f4")
        s = sleek.compress(a, abs=1e-3)
        assert s == sleek.compress(np.empty((0, 5), "f4"), abs=1e-3) and sleek.decompress(s, out=a) is a

    @case
    def cupy_streams():
        for stream in (cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream.ptds):
            with stream:
                x = cupy.asarray(wave)
                for _ in range(20): y = cupy.sin(cupy.random.rand(1 << 24)).sum()
                x2 = x * 1
                room = empty(sleek.compress_bound(x2, abs=1e-3))
                s = sleek.compress(x2, abs=1e-3, out=room)
                assert s.tobytes() == expected
                back = cupy.empty_like(x)
                sleek.decompress(s, out=back)
                assert np.array_equal(cupy.asnumpy(back), sleek.decompress(expected))

    @case
    def cupy_graph():
        stream = cupy.cuda.Stream(non_blocking=True)
        x = cupy.asarray(wave); room = empty(sleek.compress_bound(x, abs=1e-3)); more = batch(cupy, empty, 1)
        cupy.cuda.get_current_stream().synchronize()
        sleek.cuda.prepare(0, "float32", abs=1e-3)
        with stream:
            stream.begin_capture()
            sleek.cuda.compress_batch([x], abs=1e-3, out=[room], **more)
            graph = stream.end_capture()
            graph.launch(); stream.synchronize()
        n = int(sleek.cuda.check(cupy.asnumpy(more["results"]))[0])
        assert cupy.asnumpy(room[:n]).tobytes() == expected

    @case
    def cupy_memory():
        for allocate in (cupy.cuda.MemoryPool(cupy.cuda.malloc_managed).malloc, cupy.cuda.MemoryAsyncPool().malloc, None):
            with cupy.cuda.using_allocator(allocate):
                x = cupy.asarray(wave)
                room = empty(sleek.compress_bound(x, abs=1e-3))
                s = sleek.compress(x, abs=1e-3, out=room)
                back = cupy.empty_like(x)
                sleek.decompress(s, out=back)
                assert s.tobytes() == expected and np.array_equal(cupy.asnumpy(back), sleek.decompress(expected))
                del x, room, s, back

    @case
    def cupy_types():
        a = cupy.asarray(wave > 0)
        s = sleek.compress(a, lossless=True); out = cupy.empty_like(a); sleek.decompress(s, out=out)
        assert (out == a).all() and s == sleek.compress(wave > 0, lossless=True)
        for t in ("c8", "c16"):
            c = cupy.exp(1j * cupy.asarray(wave)).astype(t); out = cupy.empty_like(c)
            s = sleek.compress(c, abs=1e-3); sleek.decompress(s, out=out)
            assert 0 < float(max(abs((out - c).real).max(), abs((out - c).imag).max())) <= 1e-3
            assert sleek.compress(c, abs=1e-3, cuda_stream=cupy.cuda.Stream(non_blocking=True)) == s

    @case
    def zarr_buffers():
        try:
            import zarr
            from sleek.zarr import Sleek
            from zarr.registry import register_codec
        except ImportError as e:
            return f"left out: {e}"
        register_codec("sleek", Sleek)  # which an installed package does
        with tempfile.TemporaryDirectory() as folder:
            for request in ("noa=1e-3,range=2.0", "lossless"):
                made = zarr.create_array(folder, shape=wave.shape, chunks=(300_000,), dtype="f4", serializer=Sleek(request), compressors=None, overwrite=True)
                made[:] = wave
                there = zarr.open_array(folder, mode="r")[:]
                with zarr.config.enable_gpu():
                    got = zarr.open_array(folder, mode="r")[:]
                    assert isinstance(got, cupy.ndarray) and got.get().tobytes() == there.tobytes(), request

if jax:
    print("jax", jax.__version__, jax.devices()[0])

    @case
    def jax_types():
        done = []
        assert sleek.compress(jnp.zeros((0, 3)), abs=1) == sleek.compress(np.zeros((0, 3), "f4"), abs=1)
        assert sleek.compress(jnp.asarray(wave), abs=1e-3) == expected
        assert sleek.compress(jnp.asarray(wave > 0), lossless=True) == sleek.compress(wave > 0, lossless=True)
        c = jnp.exp(1j * jnp.asarray(wave))
        assert sleek.compress(c, abs=1e-3) == sleek.compress(np.asarray(c), abs=1e-3)
        for name in ("float8_e4m3fn", "float8_e5m2"):
            a = jnp.asarray(wave).astype(getattr(jnp, name))
            try:
                assert sleek.compress(a, lossless=True) == sleek.compress(np.asarray(a), lossless=True)
                done.append(name)
            except BufferError as e:
                done.append(f"{name}: {e}"[:100])
        return ", ".join(done)

print("failed:", failed or "nothing")
sys.exit(bool(failed))
