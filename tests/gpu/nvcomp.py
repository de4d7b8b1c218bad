"""nvCOMP on the same arrays as `gpu bench`: copies of a field, timed by CUDA events beside a device-to-device copy.

    SLEEK_DATA=... python3 tests/gpu/nvcomp.py [MiB] [repeats]

Needs cupy and nvidia-nvcomp-cu12 or -cu13. Times hold the allocation of the output, which nvCOMP's Python interface makes itself.
"""

import os
import pathlib
import statistics
import sys

import cupy
import numpy
from nvidia import nvcomp

MIB = int(sys.argv[1]) if len(sys.argv) > 1 else 512
REPEATS = int(sys.argv[2]) if len(sys.argv) > 2 else 7
CODECS = {
    "Bitcomp": lambda width: nvcomp.Codec(algorithm="Bitcomp", data_type=f"<u{width}"),
    "ANS": lambda width: nvcomp.Codec(algorithm="ANS"),
    "LZ4": lambda width: nvcomp.Codec(algorithm="LZ4"),
}


def milliseconds(run):
    times = []
    for i in range(REPEATS + 2):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        result = run()
        end.record()
        end.synchronize()
        if i >= 2:
            times.append(cupy.cuda.get_elapsed_time(begin, end))
        del result
    return statistics.median(times)


def main():
    home = pathlib.Path(__file__).resolve().parents[1] / "data"
    data = pathlib.Path(os.environ.get("SLEEK_DATA", home))
    print("| field | nvCOMP codec, lossless | ratio | compress × memcpy | decompress × memcpy |\n|---|---|---|---|---|")
    for path in sorted(p for p in data.iterdir() if p.suffix in (".f32", ".f64")):
        width = int(path.suffix[2:]) // 8
        field = numpy.fromfile(path, dtype=numpy.uint8)
        whole = cupy.asarray(numpy.resize(field, MIB << 20))
        other = cupy.empty_like(whole)
        memcpy = milliseconds(lambda: cupy.copyto(other, whole))
        source = nvcomp.as_array(whole)
        for name, make in CODECS.items():
            try:
                codec = make(width)
                packed = codec.encode(source)
                compress = milliseconds(lambda: codec.encode(source))
                decompress = milliseconds(lambda: codec.decode(packed))
                same = bool((cupy.asarray(codec.decode(packed)).view(cupy.uint8).ravel() == whole).all())
            except Exception as e:  # noqa: BLE001 - a codec that does not work here is a row that says so
                print(f"| {path.name} | {name} | - | {type(e).__name__}: {str(e).splitlines()[0][:80]} | - |")
                continue
            assert same, f"{name} restored {path.name} differently"
            print(f"| {path.name} | {name} | {whole.nbytes / packed.buffer_size:.2f} | {memcpy / compress:.2f} | {memcpy / decompress:.2f} |")


main()
