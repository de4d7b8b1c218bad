"""HDF5_PLUGIN_PATH as the import leaves it: whoever imports another HDF5 later, and every child, finds the filter and those of others.

Each program is a process of its own: the variable counts when an HDF5 is loaded.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sleek

h5py = pytest.importorskip("h5py")


def run(program, *arguments, path=None, **options):
    environment = {k: v for k, v in os.environ.items() if k != "HDF5_PLUGIN_PATH"}
    if path is not None:
        environment["HDF5_PLUGIN_PATH"] = path
    return subprocess.run([sys.executable, *program_of(program), *map(str, arguments)], env=environment, capture_output=True, text=True, **options)


def program_of(program):
    return [program] if isinstance(program, Path) else ["-c", program]


def passes(program, *arguments, **options):
    done = run(program, *arguments, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split()


@pytest.fixture
def file(tmp_path):
    with h5py.File(tmp_path / "t.nc", "w") as f:
        d = f.create_dataset("t", data=np.linspace(0, 1, 5000), chunks=(1000,), **sleek.h5(abs=1e-3))
        d.make_scale("t")
    return tmp_path / "t.nc"


READ = "v = {open}\nassert 0 < abs(v[:] - np.linspace(0, 1, 5000)).max() <= 1e-3"
READERS = {
    "netCDF4": "import netCDF4; " + READ.format(open="netCDF4.Dataset(sys.argv[1])['t']"),
    "tables": "import tables; " + READ.format(open="tables.open_file(sys.argv[1]).root.t"),
    "h5py": "import h5py; " + READ.format(open="h5py.File(sys.argv[1])['t']"),
    "xarray": "import xarray; " + READ.format(open="xarray.open_dataset(sys.argv[1], engine='netcdf4')['t'].values"),
}


@pytest.mark.parametrize("reader", READERS)
def test_who_is_imported_later_reads(file, reader):
    pytest.importorskip("netCDF4" if reader == "xarray" else reader)
    pytest.importorskip(reader)
    passes(f"import sys, numpy as np, sleek\n{READERS[reader]}", file)
    passes(f"import sys, numpy as np, sleek\n{READERS[reader]}", file, path="/nowhere")
    # Without sleek it does not, so the import is what helps.
    assert run(f"import sys, numpy as np\n{READERS[reader]}", file).returncode != 0


WORKERS = """
import multiprocessing, sys
import numpy as np

def read(path):
    import netCDF4
    assert "sleek" not in sys.modules
    return float(netCDF4.Dataset(path)["t"][-1])

if __name__ == "__main__":
    import sleek
    with multiprocessing.get_context(sys.argv[2]).Pool(2) as pool:
        assert all(abs(last - 1) <= 1e-3 for last in pool.map(read, [sys.argv[1]] * 4))
"""


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_children_read(tmp_path, file, method):
    pytest.importorskip("netCDF4")
    (tmp_path / "workers.py").write_text(WORKERS)
    passes(tmp_path / "workers.py", file, method, timeout=900)
    (tmp_path / "without.py").write_text(WORKERS.replace("    import sleek\n", ""))
    assert run(tmp_path / "without.py", file, method, timeout=900).returncode != 0


def test_programs_that_are_started_read(file):
    program = f"import subprocess, sys, sleek\nsubprocess.run([sys.executable, '-c', '''import sys, numpy as np\n{READERS['h5py']}''', sys.argv[1]], check=True)"
    passes(program, file)
    assert run(program.replace(", sleek", ""), file).returncode != 0


@pytest.mark.parametrize("order", ["sleek, netCDF4", "netCDF4, sleek"])
def test_zstd_of_netcdf4_goes_on_working(tmp_path, order):
    """Its wheel names the folder of its plugins only where the variable is not set."""
    pytest.importorskip("netCDF4")
    program = f"""
import numpy as np, os, sys
import {order}
a = np.sin(np.arange(20000.0)).reshape(100, 200)
with netCDF4.Dataset(sys.argv[1], "w") as f:
    f.createDimension("y", 100), f.createDimension("x", 200)
    f.createVariable("z", "f8", ("y", "x"), compression="zstd")[:] = a
    v = f.createVariable("s", "f8", ("y", "x"))
    sleek.nc_def_var_filter(v, abs=1e-3)
    v[:] = a
with netCDF4.Dataset(sys.argv[1]) as f:
    assert f["z"].filters()["zstd"] and np.array_equal(f["z"][:], a) and 0 < abs(f["s"][:] - a).max() <= 1e-3
"""
    passes(program, tmp_path / "z.nc")


def folders(path=None, before=""):
    return passes(f"{before}\nimport sleek, os\nprint(os.environ['HDF5_PLUGIN_PATH'])", path=path)[0].split(os.pathsep)


def test_what_is_in_the_variable_stays_in_front(tmp_path):
    found = folders(path=f"/first{os.pathsep}{tmp_path}")
    assert found[:3] == ["/first", str(tmp_path), sleek.PLUGIN_PATH]
    again = folders(path=os.pathsep.join(found))
    assert again == found, "a child adds nothing"
    mine = folders(path=f"{sleek.PLUGIN_PATH}{os.pathsep}/last")
    assert mine[:2] == [sleek.PLUGIN_PATH, "/last"] and len(set(mine)) == len(mine)
    assert folders(path="")[0] == sleek.PLUGIN_PATH


@pytest.mark.parametrize("error", ["ImportError", "RuntimeError"])
def test_finders_that_raise_are_passed_over(error):
    before = f"""
import sys
class Finder:
    def find_spec(self, name, *more):
        if name == "netCDF4":
            raise {error}(name)
sys.meta_path.insert(0, Finder())
"""
    assert folders(path="/first", before=before) == ["/first", sleek.PLUGIN_PATH]


def test_any_name_may_be_mapped(tmp_path):
    """A file of the process whose name is no UTF-8."""
    before = f"""
import mmap, os
with open({os.fsencode(tmp_path)!r} + b"/m\\xe9t\\xe9o", "wb+") as f:
    f.write(bytes(100))
    f.flush()
    kept = mmap.mmap(f.fileno(), 0)
"""
    assert sleek.PLUGIN_PATH in folders(before=before)


def test_folders_of_wheels_and_of_hdf5_itself(tmp_path):
    for package in "netCDF4", "hdf5plugin":
        (tmp_path / package / "plugins").mkdir(parents=True)
        (tmp_path / package / "__init__.py").write_text("raise AssertionError('imported')")
    default = tmp_path / "lib/hdf5/plugin"
    default.mkdir(parents=True)
    before = f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\nsys.prefix = {str(tmp_path)!r}"
    # hdf5plugin registers its filters itself, and passes over those that are there.
    mine = [sleek.PLUGIN_PATH, str(tmp_path / "netCDF4/plugins")]
    assert folders(before=before)[-3:] == [str(default), *mine]
    # Who set the variable has replaced HDF5's own folder himself.
    assert folders(path="/first", before=before) == ["/first", *mine]
    for package in "netCDF4", "hdf5plugin":
        (tmp_path / package / "plugins").rmdir()
    assert folders(path="/first", before=before) == ["/first", sleek.PLUGIN_PATH]
