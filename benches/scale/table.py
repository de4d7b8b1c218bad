"""The tables of docs/guide/scale.md from the lines of runs of the mini-application.

    table.py machine                  what this machine is, as JSON
    table.py tables FOLDER...         docs/results/scale.json of folders with lines and a machine.json, and the page of that
    table.py page                     the page alone, of docs/results/scale.json
"""

import datetime
import json
import os
import platform
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RESULTS = os.path.join(ROOT, "docs/results/scale.json")
PAGE = os.path.join(ROOT, "docs/guide/scale.md")
BEGIN, END = "<!-- tables: benches/scale/table.py -->\n", "<!-- end of tables -->\n"

NAMES = {
    "weak GPU": "GPUs, the same grid for each, RAM disk",
    "disk GPU": "GPUs, disk",
    "strong CPU": "CPU ranks, one grid, RAM disk",
}


def said(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def machine():
    cpu = re.search(r"^model name\s*: (.*)$", open("/proc/cpuinfo").read(), re.M)
    memory = re.search(r"^MemTotal:\s*(\d+)", open("/proc/meminfo").read(), re.M)
    gpus = said("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader").splitlines()
    return {
        "date": datetime.date.today().isoformat(),
        "commit": os.environ.get("SCALE_COMMIT") or said("git", "-C", ROOT, "rev-parse", "--short", "HEAD"),
        "command": os.environ.get("SCALE_COMMAND", "make scale"),
        "cpu": cpu.group(1) if cpu else platform.processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(int(memory.group(1)) / 2**20) if memory else None,
        "gpus": gpus,
        "mpi": said("mpirun", "--version").splitlines()[:1],
        "hdf5": os.environ.get("SCALE_HDF5") or " ".join(said("h5pcc", "-showconfig").split("HDF5 Version:")[-1].split()[:1]),
    }


def read(folder):
    """The lines of a folder by the name of the run and the kind of rank."""
    runs = {}
    for text in open(os.path.join(folder, "lines.jsonl")):
        line = json.loads(text)
        # Where the repository lies tells nothing.
        line["folder"] = re.sub("^.*/(?=build/)", "", line["folder"])
        on = "CPU" if line["device"] == "CPU" else "GPU"
        runs.setdefault(f"{line.pop('name')} {on}", []).append(line)
    failed, halo = os.path.join(folder, "failed"), os.path.join(folder, "halo.jsonl")
    return {
        "machine": json.load(open(os.path.join(folder, "machine.json"))),
        "runs": runs,
        "halo": [json.loads(line) for line in open(halo)] if os.path.exists(halo) else [],
        "failed": open(failed).read().split("\n")[:-1] if os.path.exists(failed) else [],
    }


def rate(line):
    """GB/s of the writes, without the first where there are others: it makes what the others find."""
    first = line.get("first_s", 0)
    seconds, saves = line["write_s"], line["saves"]
    if first > 0 and saves > 1:
        seconds, saves = seconds - first, saves - 1
    return line["bytes"] * saves / seconds / 1e9


def table(title, lines):
    """A line for each way: its speed by ranks, and the rest for most ranks. All else is in the JSON."""
    ranks = sorted({line["ranks"] for line in lines})
    at = {(line["way"], line["ranks"]): line for line in lines}
    most = ranks[-1]
    size = at["none", most]["bytes"] / 1e9
    out = [f"**{title}**; {size:.2g} GB, bound {lines[0]['bound']:g} K\n"]
    out.append(f"| way | ratio | {' | '.join(f'{n} rank' + 's' * (n > 1) for n in ranks)} | / none | read |\n|---|{'---:|' * (len(ranks) + 3)}")
    for way in dict.fromkeys(line["way"] for line in lines if line["ranks"] == most):
        line = at[way, most]
        speeds = [f"{rate(at[way, n]):.2f}" if (way, n) in at else "" for n in ranks]
        cells = [way, f"{line['bytes'] / line['stored']:.1f}", *speeds, f"{rate(line) / rate(at['none', most]):.1f}"]
        out.append("| " + " | ".join([*cells, f"{line['bytes'] / line['read_s'] / 1e9:.1f}"]) + " |")
    return [*out, ""]


def tables(results):
    out = []
    for part in results:
        if not NAMES.keys() & part["runs"].keys():
            continue
        m = part["machine"]
        gpus = f", {len(m['gpus'])} x {m['gpus'][0]}" if m["gpus"] else ""
        out.append(f"{m['cpu']}, {m['cores']} cores{gpus}; {m['date']}, commit {m['commit']}, HDF5 {m['hdf5']}:\n")
        for key, title in NAMES.items():
            if key in part["runs"]:
                out += table(title, part["runs"][key])
        if part["failed"]:
            out.append("Runs that failed: " + "; ".join(part["failed"]) + ".\n")
    return "\n".join(out)


def page():
    text = open(PAGE).read()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    open(PAGE, "w").write(before + BEGIN + "\n" + tables(json.load(open(RESULTS))) + "\n" + END + after)


def main(arguments):
    match arguments:
        case ["machine"]:
            print(json.dumps(machine()))
        case ["tables", *folders] if folders:
            os.makedirs(os.path.dirname(RESULTS), exist_ok=True)
            with open(RESULTS, "w") as out:
                json.dump([read(folder) for folder in folders], out, indent=1)
                out.write("\n")
            page()
        case ["page"]:
            page()
        case _:
            sys.exit(__doc__)


main(sys.argv[1:])
