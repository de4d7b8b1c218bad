"""How long the decoder in Python takes beside the library, on a field of 1 MiB and one of 64.

    PYTHONPATH=python/decoder/src python benches/decoder.py     # with sleek-compress installed
"""

import time

import numpy as np
import sleek
import sleek_decode

REQUESTS = ("abs=1e-2", "abs=1e-4", "lossless", "rel=1e-3", "abs=1e-2,profile=fast", "abs=1e-2,profile=small", "abs=1e-5,profile=small",
            "lossless,profile=small", "rate=8,codec=zfp", "abs=1e-3,codec=zfp", "lossless,codec=zfp")  # fmt: skip


def seconds(decode, stream):
    begin = time.perf_counter()
    restored = decode(stream)
    return time.perf_counter() - begin, restored


def main():
    y, x = np.mgrid[:512, :512]
    noise = np.random.default_rng(1).normal(size=x.shape) * 0.01
    field = (280 + 10 * np.sin(0.02 * x) * np.cos(0.03 * y) + noise).astype("f4")
    for times in (1, 8):
        array = np.tile(field, (times, times))
        for request in REQUESTS if times == 1 else ("abs=1e-2", "abs=1e-2,profile=small"):
            stream = bytes(sleek.compress(array, request))
            seconds(sleek.decompress, stream)  # the first one brings pages in
            (ours, a), (theirs, b) = seconds(sleek_decode.decode, stream), seconds(sleek.decompress, stream)
            assert a.tobytes() == b.tobytes()
            print(f"{array.nbytes >> 20:3} MiB  {request:24} ratio {array.nbytes / len(stream):6.2f}  {ours:6.3f} s  the library {theirs:7.4f} s")


if __name__ == "__main__":
    main()
