#!/usr/bin/env python3
"""Writes docs/results/advice.tsv: what `sleek analyze` says of the fields in tests/data and in $SLEEK_DATA.

    cargo build && SLEEK_DATA=... python3 tests/advice.py target/debug/sleek
"""

import json
import os
import pathlib
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
OPTIONS = {"levitus": ["--fill", "-1e10"]}  # missing values that the files cannot declare


def row(sleek, file):
    options = next((o for name, o in OPTIONS.items() if file.name.startswith(name)), [])
    command = [sleek, "analyze", "-q", "--brief", "--json", *options, file]
    report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    name = " ".join([file.name, *options])
    return f"{name}\t{', '.join(report['seen'])}\t{report['verdict']}\n"


def main(sleek):
    folders = [root / "tests/data", *map(pathlib.Path, filter(None, [os.environ.get("SLEEK_DATA")]))]
    files = [f for folder in folders for f in sorted(folder.iterdir()) if f.suffix in (".f32", ".f64")]
    table = "".join(row(sleek, f) for f in files)
    (root / "docs/results/advice.tsv").write_text("field\tseen\tverdict\n" + table)


main(*sys.argv[1:])
