"""What is measured, each thing in a forked child: a peer that dies or hangs takes nothing else with it."""

import math
import os
import pickle
import resource
import signal
import tempfile

import numpy as np

import peers
from peers import LOSSLESS, timed

PATIENCE = 15  # seconds of processor time: the slowest takes 3 on the largest field
SPEED_BYTES = 64 << 20
SECONDS = 0.1  # after which a codec's share of a round ends


def in_child(work, *arguments):
    """`work(*arguments)` in a forked child: its result, or the reason why there is none, as a string."""
    with tempfile.TemporaryDirectory() as folder:
        return fork_and_wait(folder, work, *arguments)


def fork_and_wait(folder, work, *arguments):
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.chdir(folder)
        signal.alarm(20 * PATIENCE)
        resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE, PATIENCE + 1))
        os.close(reader)
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        try:
            answer = work(*arguments)
        except Exception as e:
            answer = " ".join(str(e).split())[:80] or type(e).__name__
        with os.fdopen(writer, "wb") as pipe:
            pickle.dump(answer, pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read()
    status = os.waitpid(pid, 0)[1]
    if answer:
        return pickle.loads(answer)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        slow = number in (signal.SIGALRM, signal.SIGXCPU)
        return f"takes more than {PATIENCE} s" if slow else f"dies ({signal.Signals(number).name})"
    return f"ends the process ({os.WEXITSTATUS(status)})"


def errors(field, back, bound):
    """(max |v − r| / bound, PSNR). The first is infinite where NaN or infinities are not kept; of lossless coding it is 0 or infinite.
    A fill value counts for the first alone."""
    data = field.data
    if bound == LOSSLESS:
        return (0.0 if data.tobytes() == back.tobytes() else math.inf), math.inf
    finite = np.isfinite(data)
    if data[~finite].tobytes() != back[~finite].tobytes() or not np.isfinite(back[finite]).all():
        return math.inf, math.nan
    wide = np.longdouble if data.dtype == np.float64 else np.float64
    largest = float(np.abs(data[finite].astype(wide) - back[finite]).max(initial=0) / bound)
    off = (data[field.counted].astype(wide) - back[field.counted]) / wide(field.range)
    squares = float(np.mean(np.square(off)))
    return largest, -10 * math.log10(squares) if squares else math.inf


def quality(name, field, bound):
    """Ratio, largest error / bound, and PSNR of a field as one array."""
    codec, absolute = peers.of_bound(bound)[name], bound * field.range
    codec.prepare(field, absolute)
    stream = codec.compress(field.data)[1]
    size = len(stream)
    back = np.asarray(codec.decompress(stream, np.zeros_like(field.data))[1]).reshape(field.data.shape)
    largest, psnr = errors(field, back, absolute)
    return {"ratio": field.data.nbytes / size, "error": largest, "psnr": psnr}


def speed(name, field, bound):
    """GB/s of a copy, and multiples of it that compressing and restoring reach: of copies of the field that lie one behind the other,
    64 MiB in all, until SECONDS are over. The copy is timed before and after, in the same memory."""
    codec, data = peers.of_bound(bound)[name], field.data
    codec.prepare(field, bound * field.range)
    count = max(2, SPEED_BYTES // data.nbytes)
    sources, targets = (np.empty((count, *data.shape), data.dtype) for _ in range(2))
    sources[...] = data
    targets[...] = data
    codec.decompress(codec.compress(sources[0])[1], targets[0])  # warms what the codec keeps

    def copy():
        return timed(lambda: [np.copyto(t, s) for s, t in zip(sources, targets)])[0] / sources.nbytes

    before, there, again, done = copy(), 0.0, 0.0, 0
    for source, target in zip(sources, targets):
        seconds, stream = codec.compress(source)
        there += seconds
        again += codec.decompress(stream, target)[0]
        done += data.nbytes
        if there + again > SECONDS:
            break
    memcpy = (before + copy()) / 2
    return {"memcpy": 1e-9 / memcpy, "compress": memcpy * done / there, "decompress": memcpy * done / again}


def rounds_of(work, cases, rounds, slow):
    """Medians of the figures of `rounds` turns of every case, round by round, with one round for those of `slow`; or why there are
    none."""
    found = {case: [] for case in cases}
    for turn in range(rounds):
        for case in cases:
            if isinstance(found[case], list) and (turn == 0 or case[0] not in slow):
                answer = in_child(work, *case)
                found[case] = answer if isinstance(answer, str) else [*found[case], answer]
    return {
        case: answer if isinstance(answer, str) else {key: float(np.median([a[key] for a in answer])) for key in answer[0]}
        for case, answer in found.items()
    }


