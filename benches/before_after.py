#!/usr/bin/env python3
"""Each row of the benches at two commits, in one run: what became slower, and what two runs of the same program differ by.

python3 benches/before_after.py BEFORE AFTER [--rounds 3] [--only cpu,small,gpu] [--out FILE]

BEFORE and AFTER are folders with the programs `cpu`, `small` and `gpu` of the two commits, as `cargo build --release
--all-features --bench cpu --bench small --example gpu` makes them. Programs of the two take turns; a row's figure is
the median of its rounds, and only rows that both have are compared. `small` stays in caches, and
runs on two cores of its own beside the rest.
The last column of the table is how often the same program, run twice, differs by more than 2 % too.
"""

import argparse
import math
import os
import subprocess
import sys
import threading
from statistics import median

# What each program is asked for, and the columns of its tables that name a row.
COMMANDS = {
    "cpu": [
        ["--mib", "64", "--rounds", "3", "--threads", "1", "--level", level, "--profile", profile]
        for level in ("avx512", "avx2")
        for profile in ("fast", "adaptive")
    ],
    "small": [[]],
    "gpu": [["quick", "512", "5"], ["batches", "512", "5"], ["calls", "21"]],
}
NAMES = ("level", "type", "profile", "bound", "field", "KiB", "KiB of an array", "MiB", "arrays")
UNITS = ("×", "GB/s", "µs", "thread", "compress", "decompress", "range")


def rows(text):
    """The figures of all tables in `text`: {(names of the row, column): number}."""
    header, found = [], {}
    for line in text.splitlines():
        if not line.startswith("|"):
            header = []
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not header:
            header = cells
            continue
        names = tuple(c for h, c in zip(header, cells) if h in NAMES)
        if not {"field", "KiB of an array"} & set(header):
            continue
        for h, c in zip(header, cells):
            if h in NAMES or any(word in h for word in ("ratio", "share", "raw", "all cores", "/value")):
                continue
            try:
                if any(unit in h for unit in UNITS) and float(c) > 0:
                    found[names, h] = float(c)
            except ValueError:
                pass
    return found


def run(folder, program, arguments, core):
    command = [os.path.join(folder, program), *arguments]
    if core is not None:
        command = ["taskset", "-c", str(core), *command]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr[-500:]}")
    return rows(done.stdout)


def measure(program, folders, rounds, core):
    """Lists of each row's figures, one for each folder; the two take turns."""
    lists = [{}, {}]
    for round in range(rounds):
        for arguments in COMMANDS[program]:
            for side in (0, 1) if round % 2 == 0 else (1, 0):
                for key, figure in run(folders[side], program, arguments, core).items():
                    lists[side].setdefault(key, []).append(figure)
    return lists


def beside_each_other(program, folders, rounds, cores):
    """The same of a program that stays in its core's caches: the two at once, and in each round on the other core."""
    lists = [{}, {}]
    for round in range(rounds):
        found = [None, None]

        def one(side):
            found[side] = [run(folders[side], program, a, cores[(side + round) % 2]) for a in COMMANDS[program]]

        both = [threading.Thread(target=one, args=(side,)) for side in (0, 1)]
        for thread in both:
            thread.start()
        for thread in both:
            thread.join()
        for side in (0, 1):
            for figures in found[side]:
                for key, figure in figures.items():
                    lists[side].setdefault(key, []).append(figure)
    return lists


def better(column, before, after):
    """How many times as good `after` is: of a time that is less."""
    return before / after if "µs" in column or "time" in column else after / before


def group(program, names, column):
    bound = next((n for n in names if n == "lossless" or n.startswith("1e-")), "")
    profile = next((n for n in names if n in ("fast", "adaptive")), "")
    level = next((n for n in names if n in ("avx512", "avx2", "scalar")), "")
    return (program, level, profile, bound, column)


def report(program, lists):
    groups, slower = {}, []
    for (names, column), before in lists[0].items():
        after = lists[1].get((names, column))
        if not after:
            continue
        factor = better(column, median(before), median(after))
        # Runs 1 and 2 of the same program, and with three of each runs 1 and 2 of the other.
        same = [abs(math.log(v[0] / v[1])) > math.log(1.02) for v in (before, after) if len(v) > 1]
        groups.setdefault(group(program, names, column), []).append((factor, same))
        if factor < 0.98:
            slower.append((factor, " ".join((program, *names)), column, before, after))
    lines = []
    for key, all in sorted(groups.items()):
        factors = sorted(f for f, _ in all)
        same = [s for _, list in all for s in list]
        mean = math.exp(sum(map(math.log, factors)) / len(factors))
        below = sum(f < 0.98 for f in factors)
        noise = f"{100 * sum(same) / len(same):.0f} %" if same else "–"
        lines.append(
            f"| {' | '.join(key)} | {len(factors)} | {mean:.3f} | {factors[0]:.2f} | {factors[-1]:.2f} | {below} | {noise} |"
        )
    return lines, sorted(slower)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("before")
    p.add_argument("after")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--only", default="cpu,small,gpu")
    p.add_argument("--out")
    o = p.parse_args()
    folders, lines, slower = (o.before, o.after), [], []
    results = {}
    programs = o.only.split(",")
    cores = sorted(os.sched_getaffinity(0))

    def small():
        results["small"] = beside_each_other("small", folders, o.rounds, (cores[-1], cores[-3]))

    beside = threading.Thread(target=small)
    if "small" in programs:
        beside.start()
    for program in programs:
        if program != "small":
            results[program] = measure(program, folders, o.rounds, cores[0] if program == "cpu" else None)
    if beside.ident:
        beside.join()
    for program in programs:
        more, few = report(program, results[program])
        lines += more
        slower += few
    head = "| program | level | profile | bound | figure | rows | after / before, mean | least | most | below 0.98 | same program, > 2 % apart |"
    text = "\n".join([head, "|---|---|---|---|---|---|---|---|---|---|---|", *lines, "", "Rows below 0.98:", ""])
    text += "\n".join(f"- {f:.3f} {name}, {column}: {b} -> {a}" for f, name, column, b, a in slower) + "\n"
    if o.out:
        with open(o.out, "w") as file:
            file.write(text)
    print(text)


if __name__ == "__main__":
    main()
