#!/usr/bin/env python3
"""Runs pages of documentation exactly as they are printed: pages.py [--links] [--lines] [--with FILE]... PAGE[#SECTION]...

Each page, or the section that has the anchor, is worked through in an empty folder (--with puts copies of files there):

- a block after a line that ends in `NAME`: (a file name in backquotes, then a colon) is written to the file NAME,
- a block of sh is run by bash in one shell for the whole page; a command that fails ends the page,
- a block of text after it is what it must print; "..." stands for anything, also over several lines.

Blocks of any other kind are refused, since nobody would run them; a page says "not run here" in the line before one that must
not be. --links instead checks that each page's links lead to files and headings that are there, --lines that prose ends at 120
columns: a line of a table or a block may be longer, and one that is a link and nothing else. Of sources each line ends there.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```[ ]*$", re.MULTILINE | re.DOTALL)

COLUMNS = 120


def blocks(text):
    """Kind, content and the last line before it of every fenced block."""
    end = 0
    for found in BLOCK.finditer(text):
        before = text[end : found.start()].strip().rsplit("\n", 1)[-1]
        end = found.end()
        yield found[1].strip(), found[2], before


def script(text, page, folder):
    """The page as one program of bash, which writes what its blocks print to folder/N; and what they should print."""
    program, expected, runs = ["set -euo pipefail"], {}, 0
    for kind, content, before in blocks(text):
        name = re.search(r"`([\w.-]+)`:$", before)
        if "not run here" in before:
            continue
        if name:
            program.append(f"cat > {name[1]} <<'END OF {name[1]}'\n{content}END OF {name[1]}")
        elif kind == "sh":
            runs += 1
            program.append(f"{{\n{content}}} > {folder}/{runs}")
        elif kind == "text" and runs:
            expected[runs] = content
        else:
            sys.exit(f"{page}: a block of '{kind}' is neither run nor written to a file:\n{content}")
    if not runs:
        sys.exit(f"{page}: nothing to run")
    return "\n".join(program) + "\n", expected


def matches(expected, printed):
    pattern = ".*".join(re.escape(part) for part in expected.strip().split("..."))
    return re.fullmatch(pattern, printed.strip(), re.DOTALL)


def anchor(heading):
    """As GitHub and mdBook make it."""
    return re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-")


def section(text, wanted):
    """The part of a page from the heading with that anchor up to the next one of its level or above."""
    hidden = BLOCK.sub(lambda block: re.sub("(?m)^#", "\0", block[0]), text)   # in a block # is no heading
    found = [(len(h[1]), anchor(h[2]), h.start()) for h in re.finditer(r"^(#+) +(.*)$", hidden, re.MULTILINE)]
    for at, (level, name, start) in enumerate(found):
        if name == wanted:
            return text[start : next((s for lower, _, s in found[at + 1 :] if lower <= level), len(text))]
    sys.exit(f"no section #{wanted}")


def run(page, files):
    path, _, part = page.partition("#")
    text = Path(path).read_text()
    text = section(text, part) if part else text
    with tempfile.TemporaryDirectory() as here, tempfile.TemporaryDirectory() as said:
        for file in files:
            shutil.copy(file, here)
        program, expected = script(text, page, said)
        done = subprocess.run(["bash", "-c", program], cwd=here, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        printed = {int(f.name): f.read_text() for f in Path(said).iterdir()}
        if done.returncode:
            last = printed[max(printed)] if printed else ""
            sys.exit(f"{page}: exit code {done.returncode}\n{last}\n{done.stderr}")
        for number, text in expected.items():
            if not matches(text, printed[number]):
                sys.exit(f"{page}: it says\n{text}\nbut what was printed is\n{printed[number]}\n{done.stderr}")
        print(f"{page}: {len(printed)} blocks run, {len(expected)} outputs as printed")


def headings(path):
    return {anchor(heading) for heading in re.findall(r"^#+ +(.*)$", BLOCK.sub("", path.read_text()), re.MULTILINE)}


def check_links(page):
    dead = []
    text = re.sub(r"`[^`\n]*`", "", BLOCK.sub("", page.read_text()))
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if not re.match(r"https?:|mailto:", link)]
    for link in links:
        path, _, anchor = link.partition("#")
        target = (page.parent / path) if path else page
        if not target.exists() or anchor and anchor not in headings(target):
            dead.append(f"{page}: {link} leads nowhere")
    return dead


def check_lines(page):
    long, inside = [], False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        text = line.strip()
        fence = text.startswith("```")
        inside ^= fence
        apart = page.suffix == ".md" and (inside or fence or text.startswith("|")) or re.fullmatch(r"(?:[-*] |\d+\. )?!?\[[^\]]*\](\([^)]*\)|: \S+)[,.;]?", text)
        if len(line) > COLUMNS and not apart:
            long.append(f"{page}:{number}: {len(line)} columns, at most {COLUMNS} are allowed")
    return long


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--links", action="store_true")
    parser.add_argument("--lines", action="store_true")
    parser.add_argument("--with", dest="files", action="append", default=[], metavar="FILE", type=Path)
    parser.add_argument("pages", nargs="+", metavar="PAGE")
    options = parser.parse_args()
    checks = [check for check, wanted in ((check_links, options.links), (check_lines, options.lines)) if wanted]
    if checks:
        found = [line for check in checks for page in options.pages for line in check(Path(page))]
        sys.exit("\n".join(found) or None)
    for page in options.pages:
        run(page, [file.resolve() for file in options.files])


if __name__ == "__main__":
    main()
