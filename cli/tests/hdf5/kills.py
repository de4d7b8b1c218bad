"""The command when it is ended or killed, and what files may be read by others."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import fields
from batch import folder, totals
from command import SLEEK, files, main, np, run, scenario, sleek

KILLS = int(os.environ.get("SLEEK_KILLS", 10))


def at_work(name):
    """Processes that have the name among their arguments."""
    found = 0
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += name.encode() in process.read_bytes()
        except OSError:
            pass
    return found


def wait_for(what, of_=None):
    for _ in range(60_000):
        if found := what():
            return found
        time.sleep(0.01)
    raise AssertionError(of_ or what)


def killed(request, name, prepare, check):
    """Kills the command, whose arguments and whose children's have `name`, at moments of its time. `SLEEK_KILLS` says how many times."""
    prepare()
    start = time.monotonic()
    sleek(request)
    lasts = time.monotonic() - start
    for i in range(KILLS):
        prepare()
        child = subprocess.Popen([SLEEK, *request.split()], stderr=subprocess.DEVNULL)
        time.sleep(lasts * i / KILLS)
        child.kill()
        child.wait()
        wait_for(lambda: at_work(name) == 0, f"round {i}: the work goes on")
        check()


@scenario
def batches_killed_at_any_moment():
    """Each new file is whole or not there; what is begun again does the rest."""
    folder(6)
    before, to = files("in"), os.path.abspath("out")  # by a path that no other test has, processes are known
    request = f"repack -q -r --no-attributes --abs 1e-3 -j 2 --to {to} in"
    sleek(request)
    right = files("out")

    def is_right(path, found):
        # HDF5 notes down when each of four objects was made.
        return path in right and len(found) == len(right[path]) and sum(a != b for a, b in zip(found, right[path])) <= 16

    def check():
        # Hidden ones are of the moment before a child listens for its parent's end, or of that before the new name.
        left = {path: found for path, found in files("out").items() if not path.name.startswith(".")}
        assert all(is_right(*file) for file in left.items()), list(left)
        sleek(f"{request} --report report.json")
        now = {path: found for path, found in files("out").items() if path.suffix == ".h5"}
        assert now.keys() == right.keys() and all(is_right(*file) for file in now.items()), "begun again"
        assert totals("report.json", "skipped", "done", "failed") == [len(left), len(right) - len(left), 0]

    killed(request, to, lambda: shutil.rmtree("out"), check)
    assert files("in") == before


@scenario
def files_killed_at_any_moment():
    fields.make("before.h5")
    before, old = Path("before.h5").read_bytes(), os.path.abspath("before.h5")

    def check():
        if Path("after.h5").read_bytes() != b"old":
            run("h5diff", "-d", "0.001", "before.h5", "after.h5", "/zz_t", plugin=True)
        assert Path("before.h5").read_bytes() == before
        for left in Path(".").glob(".*"):
            left.unlink()

    killed(f"repack -q --force --no-attributes --abs 1e-3 {old} after.h5", old, lambda: Path("after.h5").write_text("old"), check)


@scenario
def arrays_killed_at_any_moment():
    """What stands under the name is whole; a hidden file may be left beside it."""
    (250 + 10 * np.sin(0.01 * np.arange(400_000))).astype("f4").tofile("in")
    sleek("compress --dtype f32 --lossless in packed")
    before, new = files(), Path("new")
    for request in "compress --frame-bytes 40000 --dtype f32 --lossless in new", "decompress packed new":
        for old in None, b"old":
            new.unlink(missing_ok=True)
            sleek(request)
            right = new.read_bytes()

            def prepare():
                new.unlink(missing_ok=True)
                if old:
                    new.write_bytes(old)

            def check():
                found = new.read_bytes() if new.exists() else None
                assert found in (old, right), f"{request}: {len(found)} bytes"

            killed(f"{request} --force" if old else request, os.path.abspath("new"), prepare, check)
    new.unlink(missing_ok=True)
    sleek("compress -f --dtype f32 --lossless in packed")
    assert files() == before


def plain():
    for one in signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM:
        signal.signal(one, signal.SIG_DFL)
    os.umask(0o022)


@scenario
def writers_that_are_ended():
    """Nobody else reads what is not finished; a signal that ends leaves nothing, and what a killed one left the next writer removes."""
    np.arange(3000, dtype="f4").tofile("in")
    sleek("compress --dtype f32 --lossless in packed")
    before, next_ = files(), "compress -f --dtype f32 --lossless in packed"

    def writer(force=""):
        child = subprocess.Popen([SLEEK, *f"compress {force} --dtype f32 --lossless - out".split()], stdin=subprocess.PIPE, preexec_fn=plain)
        return child, wait_for(lambda: list(Path(".").glob(".*")))[0]

    for force in "", "--force":
        child, hidden = writer(force)
        assert mode(hidden) == 0o600
        # Nobody takes it from a writer that lives.
        sleek(next_)
        assert hidden.exists()
        child.kill()
        child.wait()
        assert hidden.exists()
        sleek(next_)
        assert files() == before
    for one in signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM:
        child, hidden = writer()
        # Its name is told to the thread that waits for signals just after it is made, and before anything is read: more than a pipe holds.
        child.stdin.write(bytes(1 << 17))
        child.stdin.flush()
        child.send_signal(one)
        assert child.wait() == -one and files() == before, one


def working():
    """`sleek repack` while its child writes the new file; what the file is called."""
    # What is compared once more is at work long enough to be met there.
    child = subprocess.Popen([SLEEK, *"repack -q --lossless --verify old.h5 new.h5".split()], preexec_fn=plain)
    return child, wait_for(lambda: [path for path in Path(".").iterdir() if path.name != "old.h5" and path.stat().st_size > 0])[0]


@scenario
def an_interruption_ends_the_work():
    fields.large("old.h5")
    for one in signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGKILL:
        child, new_ = working()
        child.send_signal(one)
        assert child.wait() != 0
        # Its own child learns of its end by a pipe.
        wait_for(lambda: at_work(str(new_)) == 0 and not new_.exists(), f"{one}: the work goes on")
        assert os.listdir() == ["old.h5"], one


def mode(name):
    return os.stat(name).st_mode & 0o7777


@scenario
def private_files_stay_private_and_their_owners():
    fields.large("old.h5")
    os.chmod("old.h5", 0o600)
    child, new_ = working()
    assert mode(new_) == 0o600 and child.wait() == 0 and mode("new.h5") == 0o600
    fields.make("old.h5")
    os.chmod("old.h5", 0o640)
    os.chmod("new.h5", 0o604)
    sleek("repack -q --force --noa 1e-3 old.h5 new.h5")
    assert mode("new.h5") == 0o604
    if os.geteuid() == 0:
        os.chown("old.h5", 4321, 4322)
        sleek("repack -q --force --noa 1e-3 old.h5 old.h5")
        assert (os.stat("old.h5").st_uid, os.stat("old.h5").st_gid, mode("old.h5")) == (4321, 4322, 0o640)
    # What tells of private files is private: the report and plots.
    folder(2)
    os.chmod("in/f000.h5", 0o640)
    os.chmod("in/deep/er/f001.h5", 0o604)
    sleek("repack -r --abs 1e-3 --to out --report r.json in")
    sleek("show -q -o d.svg in/f000.h5:/temp")
    assert [mode(name) for name in ("r.json", "out/f000.h5", "d.svg")] == [0o600, 0o640, 0o640]


if __name__ == "__main__":
    main()
