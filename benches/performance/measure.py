"""What is measured, each thing in a forked child: a peer that dies or hangs takes nothing else with it."""

import os
import pickle
import signal
import tempfile
import time

import h5py
import numpy as np

import filters
from fields import chunk_shape

TIMEOUT_SECONDS = 60


def in_child(work, *arguments):
    """`work(*arguments)` in a forked child: its result, or the reason why there is none, as a string. Its files are in a folder that
    goes whatever becomes of it, and that never reaches a disk where the system has such a place."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
        return fork_and_wait(folder, work, *arguments)


def fork_and_wait(folder, work, *arguments):
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        tempfile.tempdir = folder
        signal.alarm(TIMEOUT_SECONDS)
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
        return "hangs" if number == signal.SIGALRM else f"dies ({signal.Signals(number).name})"
    return f"ends the process ({os.WEXITSTATUS(status)})"


def error_over_bound(data, back, bound):
    """max |v − r| / bound; for lossless 0 if the bits are equal; infinity where NaN or infinities are not kept."""
    if bound == filters.LOSSLESS:
        return 0.0 if data.tobytes() == back.tobytes() else np.inf
    finite = np.isfinite(data)
    if data[~finite].tobytes() != back[~finite].tobytes() or not np.isfinite(back[finite]).all():
        return np.inf
    wide = np.longdouble if data.dtype == np.float64 else np.float64
    return float(np.abs(data[finite].astype(wide) - back[finite]).max(initial=0) / bound)


def ratio(codec, field, bound, chunk_bytes=4 << 20):
    """(ratio, error / bound) of a field through HDF5, in chunks of whole planes."""
    with tempfile.NamedTemporaryFile(suffix=".h5") as place:
        with h5py.File(place.name, "w") as f:
            f.create_dataset("x", data=field.data, chunks=chunk_shape(field.data.shape, field.data.itemsize, chunk_bytes), **codec.options(bound))
        with h5py.File(place.name) as f:
            stored, back = f["x"].id.get_storage_size(), f["x"][...]
    return field.data.nbytes / stored, error_over_bound(field.data, back, bound)


def callback_speed(codec, data, bound, seconds, chunk_bytes=4 << 20):
    """(compress, decompress) of the filter's call-back on chunk after chunk of `data`, as multiples of memcpy's speed."""
    shape = chunk_shape(data.shape, data.itemsize, chunk_bytes)
    chunks = [data[i : i + shape[0]] for i in range(0, data.shape[0] - shape[0] + 1, shape[0])]
    chunks = [c for c in chunks if c.flags.c_contiguous and c.shape == shape]
    call = filters.direct(codec, chunks[0], bound)
    call.round_trip(chunks[0])
    copy = filters.memcpy_seconds()
    there, again, size = 0.0, 0.0, 0
    for chunk in chunks:
        t, a = call.round_trip(chunk)
        there, again, size = there + t, again + a, size + chunk.nbytes
        if there + again > seconds:
            break
    return copy * size / there, copy * size / again, copy


def interleaved(work, cases, rounds):
    """Medians of `rounds` results of `work(*case)` for every case, round by round; or the first reason of failure."""
    results = {key: [] for key in cases}
    for _ in range(rounds):
        for key, arguments in cases.items():
            if results[key] is not None and not isinstance(results[key], str):
                answer = in_child(work, *arguments)
                if isinstance(answer, str):
                    results[key] = answer
                else:
                    results[key].append(answer)
    return {k: v if isinstance(v, str) else tuple(np.median(np.array(v), axis=0)) for k, v in results.items()}
