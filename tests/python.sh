#!/usr/bin/env bash
# The Python package: built and installed by the commands of docs/guide/python.md as they are printed, then its tests without HDF5, with
# everything that it works with, and with older h5py. Needs what tests/hdf5/setup.sh installs.
set -euo pipefail
cd "$(dirname "$0")/.."
venvs=${SLEEK_VENVS:-build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
step() { echo "python: $*"; }
export PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_QUIET=1
unset HDF5_PLUGIN_PATH SLEEK_PARAMS SLEEK_NUM_THREADS PYTHONPATH

step "docs/guide/python.md, as printed, in a new environment"
python3 -m venv "$work/new"
awk '$0 == "```" { on = 0 } on { print } $0 == "```sh" { on = 1 }' docs/guide/python.md > "$work/printed.sh"
grep -q 'pip install' "$work/printed.sh"
(PATH=$work/new/bin:$PATH && bash -euo pipefail "$work/printed.sh")
[ "$("$work/new/bin/sleek" --version)" = "sleek $(sed -n 's/^version *= *"\(.*\)"/\1/p' Cargo.toml | head -n 1)" ]
for place in man/man1/sleek.1 bash-completion/completions/sleek zsh/site-functions/_sleek fish/vendor_completions.d/sleek.fish; do
    grep -q sleek "$work/new/share/$place"
done
"$work/new/bin/python" - << 'END'
from importlib.metadata import distribution
told = distribution("sleek-compress")
assert told.metadata["Author"] == "The Sleek authors" and "hdf5" in told.metadata["Keywords"], told.metadata
assert sorted(told.metadata.get_all("License-File")) == ["LICENSE-APACHE", "LICENSE-MIT"], told.metadata
texts = {file.name: file.read_text() for file in told.files if file.parent.name == "licenses"}
assert set(texts) == {"LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY.txt"} and "rayon-core " in texts["THIRD-PARTY.txt"], texts.keys()
END
# The command of the wheel knows the wheel's plugin.
{ "$work/new/bin/sleek" doctor || true; } > "$work/doctor"
grep -q "^Plugin of this command: $work/new/lib/.*/sleek/plugin/libsleek.so (version " "$work/doctor" || { cat "$work/doctor" >&2 && exit 1; }
"$work/new/bin/sleek" compress -q --dtype f32 --abs 0.01 tests/data/navy_uwnd_12x73x144.f32 "$work/wind.sleek"
"$work/new/bin/sleek" verify -q tests/data/navy_uwnd_12x73x144.f32 "$work/wind.sleek" > /dev/null
(cd "$work" && new/bin/python -c 'import sleek; print("python: sleek", sleek.__version__, "without h5py")')

# One installation for all environments, which stay as they are.
site=$work/site
"$work/new/bin/python" -m pip install --target "$site" pytest
"$work/new/bin/python" -m pip install --no-deps --target "$site" build/wheel/sleek_compress-*.whl
bash python/decoder/wheel.sh "$work/decoder"
"$work/new/bin/python" -m pip install --no-deps --target "$site" "$work"/decoder/sleek_decode-*.whl

# GPUs that are not there (python/tests/standin.py).
if [ "${SLEEK_KERNELS:-}" = none ]; then
    step "without kernels (SLEEK_KERNELS=none): arrays on GPUs are passed over"
else
    bash tests/gpu/driver.sh "$work/driver"
    export SLEEK_STANDIN=$work/driver/libcuda.so.1
fi

tested() { # environment, options and files of pytest
    step "$1: $("$venvs/$1/bin/python" -c 'import numpy; print("numpy", numpy.__version__, end=""); import h5py
print(", h5py", h5py.__version__, "with HDF5", h5py.version.hdf5_version)' 2> /dev/null || true)"
    PYTHONPATH=$site "$venvs/$1/bin/python" -m pytest -q -p no:cacheprovider --rootdir=python "${@:2}"
}
# What depends on the environment: NumPy alone, other HDF5, another netCDF, the oldest h5py and NumPy.
others() {
    local tests=python/tests
    tested venv-numpy --tb=short $tests
    tested venv-h5py-1.14 --tb=short $tests/test_{hdf5,path,references}.py
    tested venv-netcdf --tb=short $tests/test_netcdf.py
    [ ! -d "$venvs/venv-h5py-old" ] || tested venv-h5py-old --tb=short $tests/test_{arrays,hdf5,looks}.py
}
( set -e; others ) > "$work/others" 2>&1 &
beside=$!
tested venv-python --tb=short -rs python/tests | tee "$work/all"
# Zarr 3 needs Python 3.11; from there on nothing may be missing but PyTorch, which is too large to be fetched for a test.
if "$venvs/venv-python/bin/python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' &&
    grep '^SKIPPED' "$work/all" | grep -qv "could not import 'torch'"; then
    echo "python: a test was skipped where everything is there" >&2
    exit 1
fi

step "sleek-decode, against the library"
PYTHONPATH=$site "$venvs/venv-python/bin/python" -m pytest -q -p no:cacheprovider --rootdir=python/decoder --tb=short -rs python/decoder/tests

step "fields of simulations for GPUs, small and on the CPU"
"$venvs/venv-numpy/bin/python" tests/gpu/simulate.py "$work/fields" 12
[ "$(cat "$work"/fields/*_12x12x12.f?? | wc -c)" = $((7 * 4 * 12 * 12 * 12)) ]

step "types"
MYPYPATH=python/src "$venvs/venv-python/bin/python" -m mypy --config-file python/pyproject.toml --cache-dir "$work/mypy" python/src/sleek
MYPYPATH=python/decoder/src "$venvs/venv-python/bin/python" -m mypy --config-file python/decoder/pyproject.toml --cache-dir "$work/mypy" \
    python/decoder/src/sleek_decode

others=passed
wait "$beside" || others=failed
cat "$work/others"
[ $others = passed ]
step "passed"
