#!/usr/bin/env bash
# pynwb writes and reads with the filter; run by tests/recipes.sh.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

cat > lfp.py <<'END'
import datetime

import numpy as np
import sleek
from pynwb import H5DataIO, NWBHDF5IO, NWBFile, TimeSeries

rng = np.random.default_rng(1)
seconds = np.arange(100_000) / 1000
volts = (1e-3 * np.sin(9 * seconds) + 5e-5 * rng.normal(size=(8, 100_000))).T.astype("f4")
file = NWBFile("a session", "lfp", datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc))
data = H5DataIO(volts, chunks=(10_000, 8), allow_plugin_filters=True, **sleek.h5(abs=1e-6))
file.add_acquisition(TimeSeries(name="lfp", data=data, unit="V", rate=1000.0))
with NWBHDF5IO("lfp.nwb", "w") as io:
    io.write(file)

with NWBHDF5IO("lfp.nwb", "r") as io:
    back = io.read().acquisition["lfp"].data[:]
print("kept" if np.abs(back.astype("f8") - volts).max() <= 1e-6 else "broken")
END

{
    python3 -W ignore lfp.py
} > said
diff said - <<'END'
kept
END
