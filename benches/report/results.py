"""docs/results/NAME.json: rows of figures, and of each row the run that it is from: machine, date, commit, command, versions."""

import datetime
import functools
import json
import math
import os
import pathlib
import platform
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs/results"
# What makes a codec's bytes and speed. A figure is older than the code if these changed since its commit in more than comments.
SLEEK = ["src/codec/sleek", "src/primitives", "src/simd", ":!*test*"]
PREDICT = ["src/codec/predict", "src/primitives", "src/simd", ":!*test*"]
PATHS = {
    "adaptive": SLEEK,
    "fast": SLEEK,
    "small": PREDICT,
    "sleek on GPUs": ["kernels/sleek", "src/codec/sleek/gpu.rs", "src/codec/gpu"],
    "predict on GPUs": ["kernels/predict", "src/codec/predict/gpu.rs", "src/codec/gpu"],
    "zfp on GPUs": ["kernels/zfp", "src/codec/zfp/gpu.rs", "src/codec/gpu"],
}
MARK = "°"


def git(*words):
    """What git says, or None where it cannot: no git, no history, no such commit."""
    try:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None


def are_renamed(before, after, is_new):
    """Whether lines differ by names alone, each of which became a new one that no other one became, or by where they break."""
    before, after = (re.findall(r"\w+|[^\w\s]", "\n".join(lines)) for lines in (before, after))
    pairs = set(zip(before, after))
    is_name = lambda word: re.fullmatch(r"[A-Za-z_]\w*", word)
    named = all(a == b or is_name(a) and is_name(b) and is_new(b) for a, b in pairs)
    return named and len(before) == len(after) and len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


@functools.cache
def changed(codec, commit):
    """Whether the codec's code, as it lies here, is another than that of the commit; None where nobody can tell. Lines that are
    comments or empty count for nothing, nor do other names and breaks."""
    if codec not in PATHS:
        return False
    if (last := git("log", "-1", "--format=%H", "--", *PATHS[codec])) is None or git("cat-file", "-e", f"{commit}^{{commit}}") is None:
        return None
    clean = git("diff", "--quiet", "HEAD", "--", *PATHS[codec]) is not None
    if clean and git("merge-base", "--is-ancestor", last.strip(), commit) is not None:
        return False
    lines = git("diff", "-U0", commit, "--", *PATHS[codec]).splitlines()
    told = lambda sign: [t for line in lines if line[:1] == sign and line[:3] != 3 * sign and (t := line[1:].strip()) and t[:2] != "//"]
    is_new = lambda name: git("grep", "-qw", name, commit, "--", *PATHS[codec]) is None
    return not are_renamed(told("-"), told("+"), is_new)


def mark(codec, commit):
    """The mark of a figure that is older than the code it speaks of."""
    return MARK if changed(codec, commit) else ""


def machine():
    """The processor's name, with family and model, since virtual machines hide the rest, and the cores that this process may use."""
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as f:
            said = dict([part.strip() for part in line.split(":", 1)] for line in f if ":" in line)
        name = f"{said['model name']}, family {said['cpu family']} model {said['model']}"
    except (OSError, KeyError):
        pass
    return f"{name}, {len(os.sched_getaffinity(0))} cores"


def this_run(command, **more):
    """What is to be known of rows that are measured now. SLEEK_COMMIT names the commit of a library that was built elsewhere."""
    commit = os.environ.get("SLEEK_COMMIT") or (git("rev-parse", "--short=10", "HEAD") or "unknown").strip()
    if "SLEEK_COMMIT" not in os.environ and git("diff", "--quiet", "HEAD", "--", "src", "kernels", "build.rs", "Cargo.toml") is None:
        commit += "+"  # a commit that nobody has: its figures never have a mark, so they must not be kept
    load = f"{os.getloadavg()[0]:.1f}"
    return {"machine": machine(), "date": datetime.date.today().isoformat(), "commit": commit, "command": command, "load": load, **more}


def short(x):
    """Figures as long as they are meant, so that two runs can be compared with diff."""
    if isinstance(x, dict):
        return {k: short(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [short(v) for v in x]
    if isinstance(x, float):
        return float(f"{x:.5g}" if not 1 < x < 1.01 else f"{x:.9g}") if math.isfinite(x) else None if math.isnan(x) else str(x)
    return x


class Results:
    """Rows by a key of some of their columns; a row that is measured again takes the place of the old one."""

    def __init__(self, name, key=(), folder=None):
        self.path, self.key = (folder or FOLDER) / f"{name}.json", key
        read = json.loads(self.path.read_text()) if self.path.exists() else {"runs": {}, "rows": []}
        self.runs, self.rows = read["runs"], {self.of(row): row for row in read["rows"]}

    def of(self, row):
        return tuple(row[k] for k in self.key) if self.key else len(getattr(self, "rows", ()))

    def run(self, about):
        """The number of this run, one for all rows of the same machine, date, commit and command."""
        same = ("machine", "date", "commit", "command")
        for number, known in self.runs.items():
            if all(known[k] == about[k] for k in same):
                return number
        number = str(max(map(int, self.runs), default=0) + 1)
        self.runs[number] = about
        return number

    def add(self, rows, about):
        number = self.run(about)
        for row in rows:
            row = short({"run": number, **row})
            self.rows[self.of(row)] = row
        self.write()

    def write(self):
        used = {row["run"] for row in self.rows.values()}
        self.runs = {number: run for number, run in self.runs.items() if number in used}
        lines = [",\n".join(f" {json.dumps(n)}: {json.dumps(run)}" for n, run in self.runs.items())]
        lines.append(",\n".join(" " + json.dumps(row, ensure_ascii=False) for row in self.rows.values()))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text('{"runs": {\n' + lines[0] + '\n},\n"rows": [\n' + lines[1] + "\n]}\n")

    def commit(self, row):
        return self.runs[row["run"]]["commit"]


def save_grid(name, title, grid):
    """A table of docs/results/NAME.json as a program printed it, in the place of the old one of that title."""
    path = FOLDER / f"{name}.json"
    grids = {**(json.loads(path.read_text()) if path.exists() else {}), title: grid}
    parts = []
    for key, of in grids.items():
        head = json.dumps({k: v for k, v in of.items() if k != "rows"}, ensure_ascii=False)
        rows = ",\n".join("   " + json.dumps(row, ensure_ascii=False) for row in of["rows"])
        parts.append(f' {json.dumps(key)}: {head[:-1]}, "rows": [\n{rows}\n ]}}')
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n")
