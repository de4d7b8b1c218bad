"""Decodes streams with python/decoder, the executable form of the pages, one after another: a request is `s` (a stream), `f` (a
file of streams) or `i` (differences of one dimension, to interpolate), the length in 8 bytes and the bytes; an answer is 1 or 0
(refused), a length, and the array or the reason. `b` (a number in decimals) asks for a stream of codec interp made of it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "python/decoder/src"))
import interp  # noqa: E402
import numpy as np  # noqa: E402
import sleek_decode  # noqa: E402
from sleek_decode import _interpolate  # noqa: E402


def interpolated(differences):
    numbers = np.frombuffer(differences, np.int32)
    return _interpolate.restore(numbers, (1, 1, len(numbers)), False, False, 0)


WAYS = {
    b"s": sleek_decode.decode_bytes,
    b"f": lambda file: sleek_decode.decode_file(file).tobytes(),
    b"i": interpolated,
    b"b": lambda seed: interp.stream(int(seed)) or b"",
}

requests, answers = sys.stdin.buffer, sys.stdout.buffer
while kind := requests.read(1):
    stream = requests.read(int.from_bytes(requests.read(8), "little"))
    try:
        answer = 1, bytes(WAYS[kind](stream))
    except sleek_decode.DecodeError as refusal:
        answer = 0, str(refusal).encode()
    answers.write(bytes([answer[0]]) + len(answer[1]).to_bytes(8, "little") + answer[1])
    answers.flush()
