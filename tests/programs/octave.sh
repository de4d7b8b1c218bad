#!/usr/bin/env bash
# Octave reads what repack made of its file; run by tests/recipes.sh.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

{
    export HDF5_PLUGIN_PATH=$HOME/sleek/lib/hdf5/plugin
    octave-cli --eval 'x = sin(reshape(linspace(0, 60, 20000), 100, 200)); save("-hdf5", "plain.h5", "x");'
    sleek repack -q --abs 1e-3 plain.h5 small.h5
    octave-cli --eval 'a = load("-hdf5", "plain.h5"); b = load("-hdf5", "small.h5"); disp(max(abs(a.x - b.x)(:)) <= 1e-3)'
    [ $(stat -c %s small.h5) -lt $(($(stat -c %s plain.h5) / 4)) ] && echo a quarter
} > said
diff said - <<'END'
1
a quarter
END
