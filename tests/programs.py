#!/usr/bin/env python3
"""The table of docs/guide/programs.md, which is made of docs/results/programs.json: what programs read and write our files.

    programs.py ask      after `.ci/run`: asks the programs that are here for their versions, writes JSON and table
    programs.py check [--data JSON] [--page PAGE]
                         fails if the table is not what the JSON makes, or if a test that it names is not there

A program that is not here keeps what the last run found. A test is FILE::FUNCTION, a page that a test runs, or a script.
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


SCENARIOS, BOUNDS, SENTINEL = "tests/hdf5/scenarios.py", "tests/hdf5/bounds.py", "tests/hdf5/sentinel.py"
TOOLS, OF_FILES = "tests/hdf5/tools.rs", "cli/tests/hdf5/tools.rs"
H5PY, NETCDF, PATH, ZARR = (f"python/tests/test_{name}.py" for name in ("hdf5", "netcdf", "path", "zarr"))
MASKS = f"{SENTINEL}::masks_in_thirty_ways"
PROGRAMS = "docs/guide/programs.md"
TREES = f"{OF_FILES}::trees_of_anndata_and_silx_and_cubes_of_iris"
ROWS = {  # the version, then the tests that show it
    "HDF5, C and Fortran": (
        command(r"Version (\S+)", "h5dump", "--version"),
        {"reads": "tests/hdf5/programs.rs::example_in_c", "writes": "tests/hdf5/programs.rs::example_in_fortran"},
    ),
    "HDF5 in wheels": (
        hdf5_of_wheels,
        {
            "reads": f"{SCENARIOS}::every_mode_and_float_type",
            "writes": "tests/hdf5/netcdf.py::both_ways_in_one_process",
            "missing": f"{BOUNDS}::fill_values_are_exact",
        },
    ),
    "h5repack, h5dump, h5diff": (
        command(r"Version (\S+)", "h5repack", "--version"),
        {"reads": f"{TOOLS}::h5dump_reads_values", "writes": f"{TOOLS}::h5repack_keeps_an_absolute_bound", "missing": MASKS},
    ),
    "HDF5 with Open MPI": (
        command(r"\(Open MPI\) (\S+)", "mpirun", "--version"),
        dict.fromkeys(("reads", "writes"), "tests/hdf5/mpi.rs::collective_writes"),
    ),
    "nccopy, ncdump": (
        command(r"netCDF (\S+)", "nc-config", "--version"),
        {
            "reads": "docs/guide/files.md",
            "writes": f"{TOOLS}::nccopy_and_netcdf4",
            "missing": f"{TOOLS}::nccopy_with_a_fill_value",
        },
    ),
    "NCO": (
        command(r"ncks version (\S+)", "ncks", "--version"),
        {
            **dict.fromkeys(("reads", "missing"), f"{OF_FILES}::results_of_nco_and_cdo_have_the_same_mask"),
            "writes": PROGRAMS,
        },
    ),
    "CDO": (
        command(r"version (\S+)", "cdo", "--version"),
        dict.fromkeys(("reads", "missing"), f"{OF_FILES}::results_of_nco_and_cdo_have_the_same_mask"),
    ),
    "GDAL": (command(r"GDAL (\d[\d.]*)", "gdalinfo", "--version"), {"reads": PROGRAMS}),
    "h5py": (
        package("h5py", "venv-h5py-old", "venv-h5py-1.14", "venv-h5py-2", "venv-netcdf", "venv-python"),
        {**dict.fromkeys(("reads", "writes"), f"{H5PY}::test_requests"), "missing": f"{H5PY}::test_missing_values_in_words"},
    ),
    "netCDF4-python": (
        package("netCDF4", "venv-netcdf", "venv-python"),
        dict.fromkeys(CAPABILITIES, f"{NETCDF}::test_variables_of_files"),
    ),
    "netCDF's Zarr": (
        lambda: python("import netCDF4; print(netCDF4.__netcdf4libversion__)", "venv-python"),
        {
            "reads": f"{NETCDF}::test_zarr_of_zarr_python_is_read_by_netcdf",
            **dict.fromkeys(("writes", "missing"), f"{NETCDF}::test_zarr_of_netcdf"),
        },
    ),
    "PyTables": (package("tables", "venv-python"), {"reads": f"{PATH}::test_who_is_imported_later_reads"}),
    "xarray": (
        package("xarray", "venv-python"),
        {
            "reads": f"{PATH}::test_who_is_imported_later_reads",
            "writes": f"{H5PY}::test_xarray",
            "missing": f"{H5PY}::test_xarray_masks_what_it_masked",
        },
    ),
    "h5netcdf": (package("h5netcdf", "venv-python"), dict.fromkeys(("reads", "writes"), f"{H5PY}::test_xarray")),
    "dask": (package("dask", "venv-python"), dict.fromkeys(("reads", "writes"), "docs/guide/zarr.md")),
    "zarr-python": (
        package("zarr", "venv-python"),
        {
            **dict.fromkeys(("reads", "writes"), f"{ZARR}::test_zarr_format_3"),
            "missing": f"{ZARR}::test_fill_values_are_exact_in_every_mode",
        },
    ),
    "numcodecs": (
        package("numcodecs", "venv-python"),
        dict.fromkeys(("reads", "writes"), f"{ZARR}::test_numcodecs_knows_the_codec_by_its_name"),
    ),
    "zarrs": (zarrs, dict.fromkeys(("reads", "writes"), "integrations/zarrs/test.sh")),
    "kerchunk": (package("kerchunk", "venv-python"), {"reads": "python/tests/test_references.py::test_kerchunk"}),
    "VirtualiZarr": (package("virtualizarr", "venv-python"), {"reads": "python/tests/test_references.py::test_virtualizarr"}),
    "pyfive": (
        package("pyfive", "venv-python"),
        {"reads": "python/decoder/tests/test_decoder.py::test_pyfive_reads_our_files"},
    ),
    "iris": (package("scitools-iris", "venv-h5ad"), dict.fromkeys(("reads", "missing"), TREES)),
    "anndata": (package("anndata", "venv-h5ad"), dict.fromkeys(("reads", "writes"), TREES)),
    "silx": (package("silx", "venv-h5ad"), dict.fromkeys(("reads", "writes"), TREES)),
    "pynwb": (package("pynwb", "venv-h5ad"), dict.fromkeys(("reads", "writes"), "tests/programs/pynwb.sh")),
    "openPMD-api": (
        package("openPMD-api", "venv-recipes"),
        dict.fromkeys(("reads", "writes"), "tests/programs/openpmd.sh"),
    ),
    "ADIOS2": (
        package("adios2", "venv-adios2", "venv-openpmd"),
        dict.fromkeys(("reads", "writes"), "docs/guide/archives.md"),
    ),
    "VTK": (package("vtk", "venv-vtk"), {"reads": "tests/programs/vtk.sh"}),
    "ParaView": (command(r"version (\S+)", "pvpython", "--version"), {"reads": "tests/programs/paraview.sh"}),
    "R, rhdf5": (r("rhdf5"), {"reads": PROGRAMS}),
    "R, hdf5r": (r("hdf5r"), dict.fromkeys(("reads", "writes"), PROGRAMS)),
    "Octave": (command(r"version (\S+)", "octave-cli", "--version"), {"reads": "tests/programs/octave.sh"}),
    "h5wasm": (lambda: [], {"reads": "integrations/h5wasm/test.sh"}),  # its test fetches it
}


def ask():
    """The rows anew: versions of what is here, with today's date."""
    today = datetime.date.today().isoformat()
    last = {row["program"]: row for row in json.loads(DATA.read_text())} if DATA.exists() else {}
    rows = []
    for name, (version, tests) in ROWS.items():
        found = ", ".join(version())
        kept = last.get(name, {"version": "not here", "date": "–"})
        found, date = (found, today) if found else (kept["version"], kept["date"])
        rows.append({"program": name, "version": found, "date": date, **tests})
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
    claims = {row["program"]: {c: row[c] for c in CAPABILITIES if c in row} for row in rows}
    if claims != {name: tests for name, (_, tests) in ROWS.items()}:
        yield "the rows are not those of tests/programs.py: python3 tests/programs.py ask"
    for name, tests in claims.items():
        yield from (f"{name}: no test {test}" for test in tests.values() if not is_there(test))
        if not tests:
            yield f"{name}: no test"
    if page != page_of(rows, page):
        yield "the table is not what its data make: python3 tests/programs.py ask"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["ask", "check"])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--page", type=Path, default=PAGE)
    options = parser.parse_args()
    if options.what == "ask":
        rows = ask()
        options.data.write_text("[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]\n")
        options.page.write_text(page_of(rows, options.page.read_text()))
    else:
        found = list(wrong(json.loads(options.data.read_text()), options.page.read_text()))
        sys.exit("\n".join(f"programs: {line}" for line in found) or None)


if __name__ == "__main__":
    main()
