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
    "weak": "the same grid for each rank, RAM disk",
    "strong": "one grid for all ranks, RAM disk",
    "disk": "disk, fsync included",
    "all": "all ways, RAM disk",
    "large": "1.34 GB for each rank, RAM disk",
    "hdf5-1.10": "HDF5 1.10.8, the same grid for each rank, RAM disk",
    "shared": "two ranks on each GPU, RAM disk",
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


def row(line, none, one):
    cells = [
        line["ranks"],
        f"{line['bytes'] / 1e9:.2f}",
        line["way"],
        f"{line['bytes'] / line['stored']:.1f}",
        f"{rate(line):.2f}",
        f"{rate(line) / rate(none):.1f}" if none else "",
        f"{rate(line) / rate(one):.1f}" if one else "",
        f"{line['bytes'] / line['read_s'] / 1e9:.1f}",
        f"{100 * line['write_s'] / (line['write_s'] + line['compute_s']):.0f} %",
        f"{line['extra_bytes'] / 1e6:.0f}" if "extra_bytes" in line else "",
        f"{line['error_at_end']:.2g}",
    ]
    return "| " + " | ".join(str(c) for c in cells) + " |"


HEAD = (
    "| ranks | GB | way | ratio | write, GB/s | of none | of 1 rank | read, GB/s | of the run | MB more | error |\n"
    "|---:|---:|---|" + "---:|" * 8
)


def halos(lines):
    """Copies between two GPUs, raw and compressed, and what calls take."""
    if not lines:
        return []
    out = ["**An array from one GPU to another**, microseconds: by NVLink, and over pinned memory of the host\n"]
    out.append("| profile | KiB | ratio | raw | compressed | raw, by host | compressed, by host | compress | its call | decompress | its call |")
    out.append("|---|" + "---:|" * 10)
    for line in lines:
        if line["profile"] == "small" and line.get("bytes", 0) not in (1 << 20, 64 << 20) or "arrays" in line:
            continue
        times = ("raw_peer", "packed_peer", "raw_staged", "packed_staged", "compress", "compress_call", "decompress", "decompress_call")
        cells = [line["profile"], line["bytes"] // 1024, line["ratio"], *(f"{line[t + '_us']:.0f}" for t in times)]
        out.append("| " + " | ".join(str(c) for c in cells) + " |")
    out.append("\n**1024 arrays of 64 KiB in one call**, GB/s\n")
    out.append("| profile | ratio | compress | decompress | copy in GPU memory |\n|---|---:|---:|---:|---:|")
    for line in lines:
        if "arrays" in line:
            out.append(f"| {line['profile']} | {line['ratio']} | {line['compress_gbs']:.0f} | {line['decompress_gbs']:.0f} | {line['memcpy_gbs']:.0f} |")
    return [*out, ""]


def tables(results):
    out = []
    for part in results:
        m = part["machine"]
        gpus = f", {len(m['gpus'])} x {m['gpus'][0]}" if m["gpus"] else ""
        out.append(f"### {m['cpu']}, {m['cores']} cores{gpus}\n")
        out.append(f"{m['date']}, commit {m['commit']}, HDF5 {m['hdf5']}, {', '.join(m['mpi'])}, {m['memory_gib']} GiB;")
        out.append(f"{m['command']}.\n")
        for key, lines in part["runs"].items():
            name, on = key.split(" ")
            out.append(f"**{on} ranks: {NAMES.get(name, name)}**; bound {lines[0]['bound']:g} K\n")
            out.append(HEAD)
            for line in sorted(lines, key=lambda line: line["ranks"]):
                none = [l for l in lines if l["ranks"] == line["ranks"] and l["grid"] == line["grid"] and l["way"] == "none"]
                one = [l for l in lines if l["ranks"] == 1 and line["ranks"] > 1 and l["way"] == line["way"]]
                out.append(row(line, *(same[0] if same else None for same in (none, one))))
            out.append("")
        out += halos(part["halo"])
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
