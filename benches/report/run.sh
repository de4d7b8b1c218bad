#!/usr/bin/env bash
# What `make report` runs: pinned packages and Sleek's wheel in a venv, ratios, speeds, then the plots and the pages. With names of
# parts of report.py only these; with --quick on few fields, into build/report, without pages.
set -euo pipefail
cd "$(dirname "$0")/../.."

quick='' parts=()
for word in "$@"; do
    if [ "$word" = --quick ]; then quick=--quick; else parts+=("$word"); fi
done
if [ ${#parts[@]} = 0 ]; then
    parts=(ratios speeds climate)
    [ -n "$quick" ] || parts+=(shapes story plots pages)
fi

bash examples/demo/need.sh python3:python3 python-venv:python3-venv
place=build/report
python=$place/venv/bin/python
wanted=$(sha256sum benches/report/requirements.txt)
if [ "$(cat $place/installed 2>/dev/null)" != "$wanted" ]; then
    rm -rf $place/venv
    python3 -m venv $place/venv
    "$python" -m pip install --quiet --disable-pip-version-check -r benches/report/requirements.txt
    echo "$wanted" >$place/installed
fi
make -s wheel
"$python" -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall build/wheel/sleek_compress-*.whl
for part in "${parts[@]}"; do
    case $part in
        hdf5)
            bash examples/demo/need.sh cc:gcc h5cc:libhdf5-dev
            h5cc -shlib -O2 -std=gnu11 -Wall -Wextra benches/hdf5/ram.c -o $place/ram -lm
            "$python" benches/report/report.py hdf5 $place/ram $quick
            ;;
        memory)
            cargo bench --quiet --bench cpu -- --json "$PWD/$place/cpu.json" $([ -z "$quick" ] || echo --mib 8 --rounds 1) >&2
            [ -n "$quick" ] || "$python" benches/report/report.py memory $place/cpu.json
            ;;
        small)
            cargo bench --quiet --bench small -- --profile small >$place/small.md
            [ -n "$quick" ] || "$python" benches/report/report.py small $place/small.md
            ;;
        *) "$python" benches/report/report.py "$part" $quick ;;
    esac
done
