"""Puts what tests/gpu/bench.sh printed on a machine with a GPU into docs/results/gpu.json.

    gpu.py COMMIT TABLES...        # of a library built at that commit; files of tables, or one with all
    gpu.py COMMIT nvCOMP: TABLES   # the table of that name alone; both programs' rows are of one file
    gpu.py COMMIT simulated: TABLES    # of `gpu bench` and `gpu predict-quick` on the fields that tests/gpu/simulate.py made

Tables that were not printed stay as they are.
"""

import collections
import datetime
import json
import pathlib
import re
import statistics
import sys

import results

FILE = results.FOLDER / "gpu.json"
PLACES = {1: "no missing value", 2: "one named, none there", 3: "one in 100 missing", 4: "half of runs of 200 missing"}
PROFILES = ("fast", "adaptive")
TYPES = ("f16", "bf16", "i32", "i16", "u8")


def rows(text: str) -> list[list[str]]:
    """The cells of every row of every table."""
    lines = (line for line in text.splitlines() if line.startswith("| ") and not line.startswith("|--"))
    return [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]


def rounded(x: float) -> float | int:
    """Three digits."""
    x = float(f"{x:.3g}")
    return int(x) if x >= 100 else x


def by_profile(cells: list[list[str]]) -> dict[tuple, list[float]]:
    """Ratio, compressing and restoring by field, bound and profile, as `gpu bench` prints them."""
    return {tuple(row[:3]): [float(row[k]) for k in (3, 4, 7)] for row in cells if len(row) == 9 and row[2] in PROFILES}


def means(cells: list[list[str]], types: tuple[str, ...] = ("f32", "f64")) -> dict[tuple, list[float]]:
    """Ratio, compressing and restoring of whole fields by type, bound and profile: geometric means, as multiples of a copy."""
    of = collections.defaultdict(list)
    for field, bound, profile, ratio, compress, _, _, restore, _ in (row for row in cells if len(row) == 9 and row[2] in PROFILES):
        end = field.rsplit(".", 1)[-1]
        if end in types:
            of[end, bound, profile].append([float(ratio), float(compress), float(restore)])
    return {key: [rounded(statistics.geometric_mean(column)) for column in zip(*values)] for key, values in of.items()}


def of_bench(cells: list[list[str]]) -> dict[str, list]:
    """Tables of `gpu bench`, where the range is given."""
    of = means(cells)
    found = {}
    both = lambda end, bound: [*of[end, bound, "fast"], *of[end, bound, "adaptive"]]
    if ("f32", "1e-6", "fast") in of:
        found["how fast"] = [[end, bound, *both(end, bound)] for end in ("f32", "f64") for bound in ("1e-1", "1e-3", "1e-6", "lossless")]
    whole = [row for row in cells if len(row) == 9 and row[2] in PROFILES]
    speeds = {(row[0], row[1], row[2]): [rounded(float(row[4])), rounded(float(row[7]))] for row in whole}
    one = {end: next((f.rsplit(" as ", 1)[0] for f, _, _ in speeds if f.endswith(f" as {end}")), None) for end in TYPES}
    if all(one.values()):
        get = lambda end, bound, profile: speeds.get((f"{one[end]} as {end}", bound, profile), "")
        found["other types"] = [
            [f"`{profile}`, {bound}", *(get(end, bound, profile) for end in TYPES)] for bound in ("lossless", "1e-3") for profile in PROFILES
        ]
    fields = [next((f.split(",")[0] for f, _, _ in speeds if f.endswith(f"{end}, {PLACES[1]}")), None) for end in ("f32", "f64")]
    if all(fields):
        names = ("none named", "one named, none there", "one in 100 missing", "half, in runs of 200")
        found["missing values"] = [
            [name, *(speeds[f"{field}, {place}", "1e-3", profile] for field in fields for profile in PROFILES)]
            for name, place in zip(names, PLACES.values())
        ]
    return found


def of_others(cells: list[list[str]]) -> dict[str, list]:
    """Tables of `gpu predict-quick` and `gpu zfp`."""
    of, found = {}, {}
    for row in cells:
        words = row[0].strip("*").split()
        if words[:1] == ["mean"] and len(words) == 3 and len(row) == 7:
            of[words[1], words[2]] = [rounded(float(row[k])) for k in (2, 3, 5)]
        if words[:2] == ["mean", "of"] and words[-1] == "3-D" and len(row) == 7:
            of[tuple(row[1].split(" ", 1))] = [rounded(float(row[k])) for k in (3, 4)]
    bounds = [bound for bound in ("1e-1", "1e-3", "1e-6", "lossless") if ("f32", bound) in of and len(of["f32", bound]) == 3]
    if len(bounds) == 4:
        found["small"] = [[bound, *of["f32", bound], *of["f64", bound]] for bound in bounds]
    requests = {"rate 8": "rate 8", "accuracy 1e-3 of the range": "abs 1e-3", "lossless": "lossless"}
    if all(len(of.get((end, said), ())) == 2 for end in ("f32", "f64") for said in requests.values()):
        found["zfp"] = [[name, of["f32", said], of["f64", said]] for name, said in requests.items()]
    return found


# Rows of nvCOMP's table: its codec, as tests/gpu/nvcomp.cu calls it, and whether there is a bound.
PEERS = {
    "Bitcomp, with a bound": ("Bitcomp", True),
    "Bitcomp, lossless": ("Bitcomp", False),
    "ANS of floats, f32": ("ANS of floats", False),
    "ANS of bytes": ("ANS", False),
    "Cascaded": ("Cascaded", False),
    "LZ4": ("LZ4", False),
}


def of_peers(cells: list[list[str]]) -> dict[str, list]:
    """The table of nvCOMP's codecs, each beside both profiles on the same fields under the same bounds."""
    codecs = {codec for codec, _ in PEERS.values()}
    ours = by_profile(cells)
    peers = {tuple(row[:3]): [float(row[k]) for k in (3, 4, 5)] for row in cells if len(row) == 7 and row[2] in codecs}
    found = []
    for name, (codec, bounded) in PEERS.items():
        on = [key[:2] for key in peers if key[2] == codec and (key[1] != "lossless") == bounded]
        if not on or any((*key, profile) not in ours for key in on for profile in PROFILES):
            return {}
        mean = lambda of, who: [rounded(statistics.geometric_mean(of[*key, who][k] for key in on)) for k in range(3)]
        found.append([name, len(on), mean(peers, codec), *(mean(ours, profile) for profile in PROFILES)])
        better = [key for key in on if peers[*key, codec][0] > ours[*key, "adaptive"][0]]
        print(f"{name}: smaller than adaptive's in {len(better)} of {len(on)} rows", *sorted({field for field, _ in better}))
    return {"nvCOMP": found}


def of_batches(cells: list[list[str]]) -> dict[str, list]:
    """The table of `gpu batches`, up to 4 MiB an array."""
    speeds = {(row[0], row[2]): [float(row[4]), float(row[5])] for row in cells if len(row) == 6 and row[2] in PROFILES}
    sizes = [size for size in ("64", "256", "1024", "4096") if all((size, profile) in speeds for profile in PROFILES)]
    found = [[size, *(speeds[size, profile] for profile in PROFILES)] for size in sizes]
    return {"small arrays": found} if len(sizes) == 4 else {}


def of_simulated(cells: list[list[str]]) -> dict[str, list]:
    """The table of the fields of simulate.py: ratio, compressing and restoring of each by all three profiles."""
    of = by_profile(cells)
    for row in cells:
        if len(row) == 7 and row[0].endswith((".f32", ".f64")):
            of[row[0], row[1], "small"] = [float(row[k]) for k in (2, 3, 5)]
    found = []
    for field in sorted({key[0] for key in of}, key=lambda name: (name.endswith(".f64"), name)):
        name, end = field.split("_")[0], field.rsplit(".", 1)[1]
        for bound in ("1e-1", "1e-3", "1e-6"):
            cells = [of.get((field, bound, profile)) for profile in (*PROFILES, "small")]
            if all(cells):
                named = "" if found and found[-1][-1] == field else f"{name}, {end}"
                found.append([named, bound, *([rounded(x) for x in cell] for cell in cells), field])
    return {"simulated": [row[:-1] for row in found]}


COMMANDS = {
    "simulated": "`simulate.py`, `SLEEK_GPU_NO_FILL=1 gpu bench 512 5`, `gpu predict-quick 512 3 1e-1 1e-3 1e-6 0`",
    "small arrays": "`SLEEK_GPU_NO_FILL=1 gpu batches 512 9`",
    "nvCOMP": "`tests/gpu/nvcomp.cu`, nvCOMP 6.0.0.12",
    "small": "`gpu predict-quick 512 3 1e-1 1e-3 1e-6 0`",
    "zfp": "`gpu zfp 512 5`",
}
COLUMNS = {"small": ["bound", "f32: ratio", "compress", "decompress", "f64: ratio", "compress", "decompress"]}


def main() -> None:
    commit, words = sys.argv[1], sys.argv[2:]
    alone = words.pop(0)[:-1] if words[0].endswith(":") else None
    texts = [pathlib.Path(name).read_text() for name in words]
    device = next(line.split(",")[0] for text in texts for line in text.splitlines() if "compute capability" in line)
    machine = " ".join(device.split()[:2])    # "NVIDIA H100" without its memory
    tables = json.loads(FILE.read_text())
    for text in texts:
        cells = rows(text)
        copies = {"memcpy": int(n) for n in re.findall(r"^memcpy: (\d+) GB/s", text, re.M)}
        all_found = {**of_bench(cells), **of_others(cells), **of_peers(cells), **of_batches(cells)}
        if alone == "simulated":
            all_found = of_simulated(cells)
        for name, found in all_found.items():
            if alone not in (None, name):
                continue
            command = COMMANDS.get(name, "`SLEEK_GPU_NO_FILL=1 gpu bench 512 5`")
            tables[name]["about"] = {"machine": machine, "date": datetime.date.today().isoformat(), "commit": commit, "command": command, **copies}
            tables[name]["rows"], tables[name]["columns"] = found, COLUMNS.get(name, tables[name]["columns"])
            results.save_grid("gpu", name, tables[name])
            print(name, *found, sep="\n  ")


if __name__ == "__main__":
    main()
