"""A writer that dies, or finds the disk full: what can be read afterwards is right, and the process that writes is not harmed."""

import os
import resource
import signal
import time

import h5py
import numpy as np

from scenarios import ABS, SLEEK, opts

COUNT, CHUNK, BOUND = 1 << 20, 1 << 15, 1e-3
FIELD = (280 + 10 * np.sin(1e-2 * np.arange(COUNT)) + 1e-3 * np.random.default_rng(1).random(COUNT)).astype("f4")


def write_field(file, name):
    file.create_dataset(name, data=FIELD, chunks=(CHUNK,), compression=SLEEK, compression_opts=opts(ABS, BOUND))


def read_field(name):
    """Whether it can be read; what is read is right, but for chunks that never reached the file, which read as the fill value."""
    try:
        with h5py.File("f.h5") as f:
            back = f[name][:].reshape(-1, CHUNK)
    except (OSError, KeyError):
        return False
    right = np.abs(FIELD.reshape(-1, CHUNK).astype("f8") - back) <= BOUND
    assert (right | ((back == 0) & (back[:, :1] == 0))).all(), f"{name} is read wrong"
    return True


def in_child(work, *arguments):
    child = os.fork()
    if child == 0:
        try:
            os._exit(work(*arguments))
        finally:
            os._exit(9)
    return child


def write_for_ever(tell):
    """Writes and flushes one dataset, tells the parent, and writes others until it is killed."""
    f = h5py.File("f.h5", "w")
    write_field(f, "flushed")
    f.flush()
    os.write(tell, b"x")
    for i in range(10**9):
        write_field(f, f"later{i}")
    return 1


def write_until_full(room):
    """Some call must say that the file could not be written, and the process must live to hear it."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    try:
        f = h5py.File("f.h5", "w")
        write_field(f, "full")
        f.flush()
    except (OSError, ValueError, RuntimeError):
        os._exit(0)  # before anything is closed
    return 1


kept = 0
for i in range(12):
    told, tell = os.pipe()
    child = in_child(write_for_ever, tell)
    assert os.read(told, 1) == b"x"
    time.sleep(0.003 * i)
    os.kill(child, signal.SIGKILL)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
    kept += read_field("flushed")
    read_field("later0")
for room in (1000, 3000, 9000, 27_000, 81_000, 243_000):
    assert os.waitpid(in_child(write_until_full, room), 0)[1] == 0, f"{room} bytes of room"
    read_field("full")
print(f"nothing read wrong; what was flushed was kept {kept} times of 12")
