#!/usr/bin/env python3
"""Pages that are read: words.py fails where all pages together have more than LIMIT words, and where of README.md, docs/guide,
the comments of the public interface or all of src a tenth of the sentences have more than LONG words. Blocks of
code, tables, headings and URLs are no sentences, and what a comment of HTML has are no words."""

import re
import subprocess
import sys
from pathlib import Path

LIMIT, LONG = 40_000, 28


def files(*patterns):
    return [Path(f) for f in subprocess.run(["git", "ls-files", *patterns], capture_output=True, text=True, check=True).stdout.split()]


def prose(file):
    """A page as it is; of a source its documentation, with an empty line in the place of each line of code."""
    if file.suffix == ".md":
        return file.read_text()
    comment = r"\s*//[/!] ?(.*)" if file.suffix == ".rs" else r"\s*(?:///?|/\*+| \*/?)(?: (.*?))?(?:\*/)?$"
    return "\n".join((found[1] or "") if (found := re.match(comment, line)) else "" for line in file.read_text().splitlines())


def sentences(text):
    text = re.sub(r"^[ >]*```.*?^[ >]*```", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"\]\([^)]*\)|https?://\S+", "]", text)
    text = re.sub(r"^\s*(\||#|!\[).*$|^\s*$", "\n", text, flags=re.MULTILINE)
    text = re.sub(r"^\s*(?:[-*]|\d+\.) ", "\n\n", text, flags=re.MULTILINE)
    for paragraph in re.split(r"\n\s*\n", text):
        for sentence in re.split(r"(?<=[.!?])(?:\*\*)?\s+(?=[\"'(*`\[A-Z0-9])", " ".join(paragraph.split())):
            count = sum(any(c.isalnum() for c in word) for word in sentence.split())
            if count:
                yield count, sentence


pages = files("docs/*.md", "README.md", "CONTRIBUTING.md")
total = sum(any(c.isalnum() for c in word) for page in pages for word in re.sub(r"<!--.*?-->", "", page.read_text()).split())
wrong = [f"{total} words in {len(pages)} pages, at most {LIMIT} are allowed"] if total > LIMIT else []
for name, group in {
    "README.md": files("README.md"),
    "docs/guide": files("docs/guide/*.md"),
    "the public interface": files("include", ":(glob)src/*.rs", "src/codec/mod.rs", "src/container/mod.rs"),
    "comments of src": files("src/*.rs"),
}.items():
    found = sorted((count, f"{file}: {sentence}") for file in group for count, sentence in sentences(prose(file)))
    p90 = found[len(found) * 9 // 10][0]
    print(f"{name}: {len(found)} sentences, a tenth has {p90} words or more, {LONG} are allowed")
    if p90 > LONG:
        wrong += [f"{count} words in {sentence}" for count, sentence in found if count > LONG]
sys.exit("\n".join(wrong) or None)
