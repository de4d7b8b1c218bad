#!/usr/bin/env python3
"""When does a profile pay on a parallel file system? A model of checkpoints.

    model.py [--of GPUs|cores] [--ranks 1000] [--node RANKS] [--system GB/S] [--link GB/S] [--writer GB/S] [--size GB] [--chunk MiB]
    model.py table     the table of docs/guide/mpi.md; check: what it says of measured runs, and whether the page has it

A rank compresses `size` on its core or GPU, then writes what comes of it at its share: the least of what a process can
write, of its node's link (`link` / `node`) and of the whole file system (`system` / `ranks`). In one file chunks are
written in rounds, which last longer with more ranks. Speeds and ratios are those of docs/results/bench.json, of real
fields of f32 at 1e-3; measured runs those of docs/results/scale.json.
"""

import argparse, json, statistics, sys
from math import inf
from pathlib import Path

ROOT = Path(__file__).parents[3]
BENCH, SCALE = (json.loads((ROOT / "docs/results" / name).read_text()) for name in ("bench.json", "scale.json"))
PROFILES = ("fast", "adaptive", "small")
USUAL = {"GPUs": {"node": 4, "size": 10}, "cores": {"node": 64, "size": 1}}


def profiles(of):
    """GB/s of one rank, and ratio, of each profile."""
    rows, mean, known = [dict(zip(BENCH["columns"], row)) for row in BENCH["rows"]], statistics.geometric_mean, {}
    for codec in PROFILES:
        own = [r for r in rows if (r["class"], r["type"], r["bound"], r["codec"]) == ("real", "f32", 1e-3, codec)]
        timed = [r for r in own if r["run"].startswith("cpu" if of == "cores" else "gpu")] or [SCALE["small on a GPU"]]
        speed = mean(r["memcpy"] * r["compress"] for r in timed)
        known[codec] = speed, mean(r["ratio"] for r in own if r["run"] == "cpu")
    return known


class Machine:
    def __init__(self, start, writer, system=inf, link=inf, node=1, chunk=4, round=0.0):
        self.start, self.writer, self.system, self.link, self.node = start, writer, system, link, node
        self.chunk, self.round = chunk * 1.048576e-3, round

    def share(self, ranks):
        return min(self.writer, self.link / min(self.node, ranks), self.system / ranks)

    def files(self, ranks, size, speed=inf, ratio=1):
        return self.start + size / speed + size / ratio / self.share(ranks)

    def one_file(self, ranks, size, speed=inf, ratio=1):
        """By `multi`, whose rounds last as the root of the ranks. To a disk of this host one process at a time writes."""
        share = self.share(ranks) if self.link < inf else min(self.writer, self.system) / ranks
        return self.start + size / speed + size / ratio / share + size / self.chunk * self.round * ranks**0.5


def checked():
    """[(where, way, ranks, measured, model)], how long a round lasts. What one rank took makes the model."""
    cores = next(run for run in SCALE["runs"] if run["ranks are"] == "cores")
    plain = next(way for way in cores["ways"] if way["way"] == "none-files")["speed"]
    one, most = cores["gigabytes"]["1"] / plain["1"], cores["gigabytes"]["16"] / plain.pop("16")
    start = (most - one / 16) / (1 - 1 / 16)
    writer, speeds, round, found = cores["gigabytes"]["1"] / (one - start), {}, 0, []
    for run in (run for run in SCALE["runs"] if "hdf5" not in run):
        system = inf if run["to"] == "RAM disk" else next(w for w in run["ways"] if w["way"] == "none")["speed"]["4"]
        for way in (w for w in run["ways"] if w["way"] in ("files", "files-small", "none-files", "multi", "multi-small")):
            in_files, ratio = "files" in way["way"], way["ratio"]
            compresses = run["ranks are"], "small" in way["way"], ratio > 1
            for n, measured in ((int(ranks), speed) for ranks, speed in way["speed"].items()):
                size = run["gigabytes"][str(n)] / n
                machine = Machine(start, writer, system, chunk=run["chunk"], round=round)
                seconds = machine.files if in_files else machine.one_file
                rest = size / measured - seconds(n, size, speeds.get(compresses, inf), ratio)
                if compresses not in speeds:
                    speeds[compresses] = size / rest if ratio > 1 else inf
                elif not in_files and round == 0:
                    round = rest / (size / machine.chunk)
                else:
                    found.append((run["to"], way["way"], f"{n} {run['ranks are']}", measured, n * size / (size / measured - rest)))
    return found, round


def limit(of):  # the share in GB/s below which `small` pays before `adaptive`
    _, (fast, more), (slow, most) = profiles(of).values()
    return (1 / more - 1 / most) / (1 / slow - 1 / fast)


def table():
    lines = ["|1,000 ranks|file system, GB/s|`fast`|`adaptive`|`small`|", "|---|---|---|---|---|"]
    for of, usual in USUAL.items():
        for system in (10, 100, 1000):
            machine, size = Machine(0.2, 2, system, 25, usual["node"]), usual["size"]
            gains = (machine.files(1000, size) / machine.files(1000, size, *known) for known in profiles(of).values())
            lines.append(f"|{of}, {usual['node']} a node|{system}|" + "|".join(f"{gain:.2g}" for gain in gains) + "|")
    return [*lines, "", f"`small` pays before `adaptive` where a rank's share is below {limit('GPUs'):.2g} GB/s of a GPU, {1000 * limit('cores'):.2g} MB/s of a core."]


def check():
    rows, _ = checked()
    off = [abs(model / measured - 1) for *_, measured, model in rows]
    for *run, measured, model in rows:
        print("{:8} {:11} {:8}".format(*run), f"measured {measured:5.2f} model {model:5.2f} GB/s {100 * (model / measured - 1):+4.0f} %")
    page = " ".join((ROOT / "docs/guide/mpi.md").read_text().split())
    said = f"{100 * statistics.median(off):.0f} % off in the median, {100 * max(off):.0f} % at most"
    if missing := [line for line in [*table(), said] if line not in page]:
        sys.exit("\n".join(["docs/guide/mpi.md lacks:", *missing]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=["check", "table"])
    parser.add_argument("--of", choices=USUAL, default="GPUs")
    for name, default in {"ranks": 1000, "node": None, "system": 100, "link": 25, "writer": 2, "size": None, "chunk": 64}.items():
        parser.add_argument(f"--{name}", type=float, default=default)
    a = parser.parse_args()
    if a.what:
        return check() if a.what == "check" else print("\n".join(table()))
    node, size = a.node or USUAL[a.of]["node"], a.size or USUAL[a.of]["size"]
    machine = Machine(0.2, a.writer, a.system, a.link, node, a.chunk, checked()[1])
    print(f"a rank's share: {machine.share(a.ranks):.3g} GB/s\n{'':9} files, s  one file, s  pays below a share of GB/s")
    for codec, (speed, ratio) in {"none": (inf, 1), **profiles(a.of)}.items():
        times = machine.files(a.ranks, size, speed, ratio), machine.one_file(a.ranks, size, speed, ratio)
        print(f"{codec:9} {times[0]:8.2f}  {times[1]:11.2f}" + (f"  {speed * (1 - 1 / ratio):.3g}" if ratio > 1 else ""))
    print(f"small before adaptive below {1000 * limit(a.of):.2g} MB/s")


main()
