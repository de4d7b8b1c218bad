#!/usr/bin/env bash
# What `make peers` runs: pinned packages and Sleek's wheel in a venv, then peers.py on the fields of SLEEK_DATA (or tests/data), of
# SLEEK_SIM if it is set, and on those that heldout.py makes.
set -euo pipefail
cd "$(dirname "$0")/../.."

bash examples/demo/need.sh python3:python3 python-venv:python3-venv
place=build/peers
if [ ! -x $place/bin/python ]; then
    python3 -m venv $place
    $place/bin/python -m pip install --quiet --disable-pip-version-check \
        numpy==2.4.6 h5py==3.16.0 hdf5plugin==7.1.0 pysz==1.1.0
fi
make -s wheel
$place/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall build/wheel/sleek_compress-*.whl
python=$place/bin/python
$python benches/peers/heldout.py build/heldout
exec $python benches/peers/peers.py --json build/peers.json "$@" "${SLEEK_DATA:-tests/data}" ${SLEEK_SIM:+"$SLEEK_SIM"} build/heldout
