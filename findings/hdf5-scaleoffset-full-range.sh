#!/usr/bin/env bash
# Surprise:  a dataset of whole numbers that span their type's range, written with the lossless scale-offset filter, is
#            written without a complaint and cannot be read back: "filter returned failure during read".
# Where:     h5py 3.15.1, whose wheel brings HDF5 1.14.6. The wheel of h5py 3.16.0 (HDF5 2.0.0) reads the same file.
# Expected:  scaleoffset=0 is documented as lossless for whole numbers: what was written comes back.
# Seen:      2026-11-28
# Matters:   a lossless filter of the format itself makes readable old files unreadable with one release of the reader;
#            an image that uses all of 0 to 255 is enough. Read back what you compress before you delete the original.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check 'h5py==3.15.1' 'numpy==2.3.5'
(cd "$work" && exec venv/bin/python - << 'PYTHON'
import subprocess, sys
import h5py, numpy as np
print("h5py", h5py.__version__, "HDF5", h5py.version.hdf5_version)
image = np.arange(256, dtype="u1").repeat(16).reshape(64, 64)
half = image // 2
with h5py.File("a.h5", "w") as f:
    f.create_dataset("image", data=image, chunks=image.shape, scaleoffset=0)
    f.create_dataset("half", data=half, chunks=half.shape, scaleoffset=0)
with h5py.File("a.h5") as f:
    assert np.array_equal(f["half"][...], half)
    print("values 0 to 127: read back equal")
    try:
        f["image"][...]
    except OSError as error:
        print("values 0 to 255:", error)
    else:
        sys.exit("CHANGED: the full range of a type can be read back with this version.")
pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
subprocess.run([*pip, "h5py==3.16.0"], check=True)
read = ("import h5py; v = h5py.version;"
        "print(v.version, v.hdf5_version, h5py.File('a.h5')['image'][...].tobytes().hex())")
done = subprocess.run([sys.executable, "-c", read], check=True, capture_output=True, text=True)
version, hdf5, found = done.stdout.split()
if bytes.fromhex(found) != image.tobytes():
    sys.exit(f"CHANGED: h5py {version} does not read the file either.")
print("h5py", version, "HDF5", hdf5, "reads the same file: equal, so the file is sound")
PYTHON
)
