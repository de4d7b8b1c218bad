#!/usr/bin/env bash
# Surprise:  installing zfpy makes `import numcodecs` fail, and with it `import zarr` and all of its codecs: the version
#            "1.0.1.post0" is cut at its dots and "post0" taken for a number.
# Where:     numcodecs 0.16.6 beside zfpy 1.0.1.post0, the newest of zfpy. Beside zfpy 1.0.1 it works.
# Expected:  zfpy is an optional extra of numcodecs; the worst that an odd version of it could do is to leave out the
#            one codec that needs it. ".post0" is an ordinary form of a version number.
# Seen:      2026-11-28
# Matters:   compression packages are optional for each other in long chains. One that looks at another's version while
#            it is imported can close the way to data that it does not even touch.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    'numcodecs==0.16.6' 'numpy==2.3.5'
(cd "$work" && exec venv/bin/python - << 'PYTHON'
import subprocess, sys
from importlib.metadata import version
def imported():
    done = subprocess.run([sys.executable, "-c", "import numcodecs; print('imported')"], capture_output=True, text=True)
    return (done.stdout + done.stderr).strip().splitlines()[-1]
def install(what):
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", what], check=True)
print("numcodecs", version("numcodecs"), "alone:", alone := imported())
install("zfpy==1.0.1")
print("beside zfpy 1.0.1:", old := imported())
install("zfpy==1.0.1.post0")
print("beside zfpy 1.0.1.post0:", new := imported())
if alone != "imported" or old != "imported":
    sys.exit("CHANGED: numcodecs cannot be imported without the newest zfpy either.")
if "post0" not in new:
    sys.exit("CHANGED: numcodecs can be imported beside the newest zfpy.")
PYTHON
)
