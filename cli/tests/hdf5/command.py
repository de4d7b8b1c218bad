"""What the scripts beside this one share: the command, driven as a user drives it, on files of h5py."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tests/hdf5"))

import h5py  # noqa: E402
import numpy as np  # noqa: E402
import scenarios  # noqa: E402
from scenarios import main, scenario  # noqa: E402, F401

SLEEK = os.environ["SLEEK"]


def words(text):
    return text.split() if isinstance(text, str) else list(text)


def attempt(text, env=(), **options):
    """What `sleek` with these words did, without any plugin path: it brings the filter along."""
    environment = {name: value for name, value in os.environ.items() if name not in ("HDF5_PLUGIN_PATH", "SLEEK_LOG")}
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
    return subprocess.run([SLEEK, *words(text)], env={**environment, **dict(env)}, **options)


def sleek(text, code=0, **options):
    """What it prints."""
    done = attempt(text, **options)
    assert done.returncode == code, f"{text}: {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout


def told(text, code=0, **options):
    """What it prints and what it tells a person."""
    done = attempt(text, **options)
    assert done.returncode == code, f"{text}: {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def as_json(text, code=0):
    return json.loads(sleek(text, code))


def files(folder="."):
    return {path: path.read_bytes() for path in sorted(Path(folder).rglob("*")) if path.is_file()}


def fails(text, part):
    """An error that says `part` and changes no file."""
    before, done = files(), attempt(text)
    assert done.returncode == 2 and done.stderr.startswith("sleek: error: ") and part in done.stderr, f"{text}: no '{part}' in {done.stderr}"
    assert files() == before, f"{text} changed files"


def line(table, name):
    """The line of a dataset in a table."""
    return next(line for line in table.splitlines() if line.startswith(f"{name} "))


def has(text, *parts):
    for part in parts:
        assert part in text, f"no '{part}' in\n{text}"


def lacks(text, *parts):
    for part in parts:
        assert part not in text, f"'{part}' in\n{text}"


def of(report, name):
    """A dataset of a report."""
    return next(d for d in report["datasets"] if d["name"] == name)


def run(*command, code=0, plugin=False, **options):
    """Another program, without the plugin unless it is asked for."""
    env = os.environ if plugin else {name: value for name, value in os.environ.items() if name != "HDF5_PLUGIN_PATH"}
    return scenarios.run(*command, code=code, env=env, **options)


def make(path, **datasets):
    """A file of these arrays."""
    with h5py.File(path, "w") as f:
        for name, data in datasets.items():
            f[name] = data


def filters_of(dataset):
    plist = dataset.id.get_create_plist()
    return [plist.get_filter(k)[0] for k in range(plist.get_nfilters())]


def same(a, b):
    """Whether two datasets have the same values, of any type."""
    assert a.shape == b.shape and a.dtype == b.dtype, (a.name, a.dtype, b.dtype)
    if not a.dtype.hasobject:
        return a[()].tobytes() == b[()].tobytes()
    pairs = list(zip(a[()].ravel(), b[()].ravel()))
    if h5py.check_ref_dtype(a.dtype):
        return all(a.file[p].name == b.file[q].name for p, q in pairs)
    return all(np.array_equal(p, q) for p, q in pairs)
