"""What pages of docs/guide, the READMEs and the docstrings show works as it is printed."""

import doctest
import importlib
import re
from pathlib import Path

import pytest
import sleek

ROOT = Path(__file__).parents[2]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize(
    "name, examples",
    [("sleek", 2), ("_array", 6), ("_compressed", 1), ("_direct", 2), ("_hdf5", 2), ("_target", 1), ("_xarray", 1), ("cuda", 1), ("numcodecs", 1), ("references", 1), ("safetensors", 1), ("zarr", 2)],
)
def test_docstrings(name, examples):
    needed = {"numcodecs": "numcodecs", "zarr": "zarr", "references": "virtualizarr", "_direct": "h5py", "_hdf5": "h5py", "_xarray": "h5netcdf"}.get(name)
    if needed:
        pytest.importorskip(needed, minversion="3" if needed == "zarr" else None)
    module = sleek if name == "sleek" else importlib.import_module(f"sleek.{name}")
    tests = [t for t in doctest.DocTestFinder().find(module, module.__name__) if t.examples]
    assert len(tests) == examples
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    for test in tests:
        runner.run(test)
    assert runner.summarize().failed == 0


def blocks(path):
    """The Python blocks of a page, in order, but for those that need a GPU (test_gpu.py)."""
    page = (ROOT / path).read_text().partition("\n## GPU arrays")[0]
    found = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert found, path
    return found


def needs(code):
    for module in re.findall(r"^import (\w+)|^from (\w+)", code, re.MULTILINE):
        pytest.importorskip("".join(module), minversion="3" if "zarr" in module else None)


@pytest.mark.parametrize("page", ["README.md", "python/README.md", "docs/guide/python.md", "docs/guide/zarr.md", "docs/guide/arrays.md"])
def test_pages(page, tmp_path, monkeypatch):
    """Each page is one program: a block may use what those above it made."""
    monkeypatch.chdir(tmp_path)
    code = "\n".join(blocks(page))
    needs(code)
    exec(compile(code, page, "exec"), {})
