#!/usr/bin/env python3
"""The table of docs/guide/programs.md, which is made of docs/results/programs.json: what programs read and write our files.

    programs.py ask      after `.ci/run`: asks the programs that are here for their versions, writes JSON and table
    programs.py check    fails if the table is not what the JSON makes, or if a test that it names is not there

A program that is not here keeps what the last run found. A test in the JSON is FILE::FUNCTION, a page that a test runs, or a script.
"""

import argparse
import datetime
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
DATA, PAGE = ROOT / "docs/results/programs.json", ROOT / "docs/guide/programs.md"
CAPABILITIES = {"reads": "reads", "writes": "writes", "missing": "keeps missing values"}
PACKAGES, HEAVY = ["xarray", "h5netcdf", "dask", "numcodecs", "kerchunk", "VirtualiZarr", "pyfive"], ["anndata", "silx", "pynwb"]
RUNNERS = ["tests/recipes.sh", "tests/quickstart.sh", "python/tests/test_docs.py", "tests/proofs.sh", "Makefile"]


def said_by(*command):
    """What a command prints; nothing if it is not there or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=ROOT)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr if done.returncode == 0 else ""


def python(program, *environments):
    """What a program prints in the environments of tests/hdf5/setup.sh, where it ends well."""
    folder = Path(os.environ.get("SLEEK_VENVS", ROOT / "build")).absolute()
    found = {said_by(folder / name / "bin/python", "-c", program).strip() for name in environments}
    return sorted(found - {""}, key=lambda version: [int(n) for n in re.findall(r"\d+", version)])


def package(name, *environments):
    return lambda: python(f"import importlib.metadata as m; print(m.version({name!r}))", *environments)


def command(pattern, *words):
    return lambda: re.findall(pattern, said_by(*words))[:1]


def r(name):
    return command(r"[\d.]+", "Rscript", "-e", f"cat(as.character(packageVersion('{name}')))")


def hdf5_of_wheels():
    of_h5py = python("import h5py; print(h5py.version.hdf5_version)", "venv-h5py-1.14", "venv-h5py-2")
    return of_h5py + python("import netCDF4; print(netCDF4.__hdf5libversion__)", "venv-netcdf")


def zarrs():
    lock = (ROOT / "integrations/zarrs/Cargo.lock").read_text()
    there = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "zarrs"
    return re.findall(r'name = "zarrs"\nversion = "(.*)"', lock) if there.is_dir() else []


VERSIONS = {
    "HDF5, C and Fortran": command(r"Version (\S+)", "h5dump", "--version"),
    "HDF5 in wheels": hdf5_of_wheels,
    "h5repack, h5dump, h5diff": command(r"Version (\S+)", "h5repack", "--version"),
    "HDF5 with Open MPI": command(r"\(Open MPI\) (\S+)", "mpirun", "--version"),
    "nccopy, ncdump": command(r"netCDF (\S+)", "nc-config", "--version"),
    "NCO": command(r"ncks version (\S+)", "ncks", "--version"),
    "CDO": command(r"version (\S+)", "cdo", "--version"),
    "GDAL": command(r"GDAL (\d[\d.]*)", "gdalinfo", "--version"),
    "h5py": package("h5py", "venv-h5py-old", "venv-h5py-1.14", "venv-h5py-2", "venv-netcdf", "venv-python"),
    "netCDF4-python": package("netCDF4", "venv-netcdf", "venv-python"),
    "netCDF's Zarr": lambda: python("import netCDF4; print(netCDF4.__netcdf4libversion__)", "venv-python"),
    "PyTables": package("tables", "venv-python"),
    "zarr-python": package("zarr", "venv-python"),
    "zarrs": zarrs,
    "iris": package("scitools-iris", "venv-h5ad"),
    "openPMD-api": package("openPMD-api", "venv-recipes"),
    "ADIOS2": package("adios2", "venv-adios2", "venv-openpmd"),
    "VTK": package("vtk", "venv-vtk"),
    "ParaView": command(r"version (\S+)", "pvpython", "--version"),
    "R, rhdf5": r("rhdf5"),
    "R, hdf5r": r("hdf5r"),
    "Octave": command(r"version (\S+)", "octave-cli", "--version"),
    "h5wasm": lambda: [],  # its test fetches it
} | {name: package(name.lower(), "venv-h5ad" if name in HEAVY else "venv-python") for name in PACKAGES + HEAVY}


def ask():
    """The rows anew: versions of what is here, with today's date."""
    rows = json.loads(DATA.read_text())
    for row in rows:
        if found := ", ".join(VERSIONS[row["program"]]()):
            row["version"], row["date"] = found, datetime.date.today().isoformat()
    return rows


def page_of(rows, page):
    """The page with the table of these rows, which is its last part."""
    lines = [f"|program|version|date|{'|'.join(CAPABILITIES.values())}|", "|" + "---|" * (3 + len(CAPABILITIES))]
    for row in rows:
        marks = ["✓" if capability in row else "–" for capability in CAPABILITIES]
        lines.append(f"|{'|'.join([row['program'], row['version'], row['date'], *marks])}|")
    return page.partition("|program|")[0] + "\n".join(lines) + "\n"


def is_there(test):
    """Whether a function of that name is in the file, or a script of the tests runs the page or the script."""
    file, _, function = test.partition("::")
    if not (ROOT / file).is_file():
        return False
    if function:
        return re.search(rf"\b(?:fn|def) {function}\(", (ROOT / file).read_text()) is not None
    name = rf"\b{Path(file).stem}\b" if file.endswith(".md") else re.escape(file)
    return any(re.search(name, (ROOT / runner).read_text()) for runner in RUNNERS)


def wrong(rows, page):
    for row in rows:
        tests = [row[c] for c in CAPABILITIES if c in row]
        yield from (f"{row['program']}: no test {test}" for test in tests if not is_there(test))
        if not tests or row["program"] not in VERSIONS:
            yield f"{row['program']}: no test, or nothing that asks for its version"
    if page != page_of(rows, page):
        yield "the table is not what its data make: python3 tests/programs.py ask"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["ask", "check"])
    if parser.parse_args().what == "ask":
        rows = ask()
        DATA.write_text("[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]\n")
        PAGE.write_text(page_of(rows, PAGE.read_text()))
    else:
        found = list(wrong(json.loads(DATA.read_text()), PAGE.read_text()))
        sys.exit("\n".join(f"programs: {line}" for line in found) or None)


if __name__ == "__main__":
    main()
