#!/usr/bin/env python3
"""The glossary says what the sources say: its words occur in them, the words it calls replaced do not; and each test that
docs/promises.md names is there. Run by tests/docs.sh."""

import re
import subprocess
import sys
from pathlib import Path

FILES = subprocess.run(["git", "ls-files", "src", "include", "kernels"], capture_output=True, text=True, check=True).stdout.split()
SOURCES = "\n".join(Path(f).read_text() for f in FILES if f.endswith((".rs", ".h", ".hpp", ".cu", ".cuh", ".f90")))


def occurs(word):
    """In the singular or the plural, as a text has it or as a name in code."""
    pattern = "[ _]?".join(map(re.escape, word.split()))
    return re.search(rf"(?<![a-z]){pattern}s?(?![a-z])", SOURCES, re.IGNORECASE)


def rows(table):
    return [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in table.splitlines() if line.startswith("|")][2:]


words, replaced = Path("docs/reference/glossary.md").read_text().split("These words were replaced")
wrong = [f"the glossary's '{word}' is not in the sources" for row in rows(words) for word in row[0].split(", ") if not occurs(word)]
wrong += [f"'{old}' is in the sources, though it was replaced" for row in rows(replaced) for old in row[::2] if old and occurs(old)]
named = re.findall(r"\b((?:tests|cli|python|src)/[\w/]+(?:\.\w+)?)", Path("docs/promises.md").read_text())
wrong += [f"docs/promises.md: there is no {path}" for path in named if not Path(path).exists()]
if not named or len(rows(words)) < 20:
    wrong.append("a table was not found")
sys.exit("\n".join(wrong) or None)
