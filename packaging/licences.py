"""The licences of the crates that the library and the command are built from, on standard output: each crate's expression, and the
texts that it brings. What `make build` leaves beside the library, and every package has: cargo-about would do as well, but is 190
crates to compile before each `make install`."""

import json
import os
import pathlib
import platform
import subprocess
import sys

root = pathlib.Path(__file__).parents[1]
host = f"{os.environ.get('SLEEK_MACHINE') or platform.machine()}-unknown-linux-gnu"
command = ["cargo", "metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform", host]
told = json.loads(subprocess.run(command, cwd=root, check=True, capture_output=True).stdout)
packages = {package["id"]: package for package in told["packages"]}
needs = {
    node["id"]: [dep["pkg"] for dep in node["deps"] if any(kind["kind"] is None for kind in dep["dep_kinds"])]
    for node in told["resolve"]["nodes"]
}

ours = set(told["workspace_members"])
found, left = set(), list(ours)
while left:
    if (package := left.pop()) not in found:
        found.add(package)
        left += needs[package]
crates = sorted((packages[package] for package in found - ours), key=lambda crate: (crate["name"], crate["version"]))

texts, silent = {}, []
for crate in crates:
    if not crate["license"]:
        sys.exit(f"{crate['name']} {crate['version']} names no licence")
    folder = pathlib.Path(crate["manifest_path"]).parent
    files = sorted(file for name in ("LICEN[CS]E*", "COPYING*", "NOTICE*") for file in folder.glob(name) if file.is_file())
    for file in files:
        text = file.read_text(errors="replace").strip()
        texts.setdefault(" ".join(text.split()), (text, []))[1].append(f"{crate['name']} {crate['version']}")
    silent += [] if files else [crate]

print("Sleek is built from the crates below, and from Rust's standard library (MIT OR Apache-2.0).\n")
for crate in crates:
    print(f"{crate['name']} {crate['version']}: {crate['license']}")
for crate in silent:
    authors = ", ".join(crate["authors"]) or "its authors"
    print(f"\n{crate['name']} {crate['version']} brings no text of its licence. It is by {authors}: {crate['repository']}")
for text, names in texts.values():
    print(f"\n{'-' * 80}\n{', '.join(dict.fromkeys(names))}\n\n{text}")
