"""performance.json as a page, whose prose is in performance.md beside this file, and as a plot.

    report.py JSON        prints the page; tests/docs.sh compares it with docs/performance.md
"""

import json
import math
import os
import pathlib
import platform
import sys
import textwrap

LOSSLESS = 0.0
OURS = "SLEEK adaptive"
PAPER = "SLEEK fast"
SMALLEST = "SLEEK small"
# Since when a profile's codec is what it is: figures from before that day have a mark.
SINCE = {"small": "2026-11-26"}
MARK = "‡"
# Of the table by processor: profiles and bounds that `cargo bench --bench cpu` measures.
PROCESSOR_COLUMNS = [(profile, bound) for bound in (1e-3, LOSSLESS) for profile in ("adaptive", "fast", "small")]
# Profile, level, bound and type: multiples of memcpy that one core is to reach compressing and decompressing.
AIMS = {
    ("adaptive", "avx512", 1e-3): {"f32": (0.6, 0.9), "f64": (0.6, 0.9)},
    ("fast", "avx512", 1e-3): {"f32": (0.8, 1.1), "f64": (0.8, 1.1)},
    ("small", "avx512", 1e-3): {"f32": (0.25, 0.4), "f64": (0.35, 0.5)},
    ("small", "avx512", 1e-6): {"f32": (0.175, 0.28), "f64": (0.245, 0.35)},
    ("adaptive", "avx512", LOSSLESS): {"f32": (0.6, 1.0), "f64": (0.6, 1.0)},
    ("small", "avx512", LOSSLESS): {"f32": (0.2, 0.35), "f64": (0.2, 0.35)},
    ("adaptive", "avx2", 1e-3): {"f32": (0.5, 0.65), "f64": (0.65, 0.8)},
    ("fast", "avx2", 1e-3): {"f32": (0.8, 1.0), "f64": (0.8, 1.0)},
    ("small", "avx2", 1e-3): {"f32": (0.125, 0.2), "f64": (0.175, 0.25)},
    ("small", "avx2", 1e-6): {"f32": (0.0875, 0.14), "f64": (0.1225, 0.175)},
    ("adaptive", "avx2", LOSSLESS): {"f32": (0.4, 0.5), "f64": (0.4, 0.5)},
}


def machine():
    """The processor's name, with family and model, since virtual machines hide the rest, and the cores that this process may use."""
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as f:
            said = dict([part.strip() for part in line.split(":", 1)] for line in f if ":" in line)
        name = f"{said['model name']}, family {said['cpu family']} model {said['model']}"
    except (OSError, KeyError):
        pass
    return name, len(os.sched_getaffinity(0))


def as_json(result):
    """One record a line, figures as short as they are meant: so that two runs can be compared with diff."""

    def short(x):
        if isinstance(x, dict):
            return {k: short(v) for k, v in x.items()}
        if isinstance(x, (list, tuple)):
            return [short(v) for v in x]
        if isinstance(x, float):
            return float(f"{x:.4g}") if math.isfinite(x) else None if math.isnan(x) else str(x)
        return x

    parts = []
    for key, value in result.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            rows = ",\n".join("  " + json.dumps(short(row)) for row in value)
            parts.append(f"{json.dumps(key)}: [\n{rows}\n]")
        else:
            parts.append(f"{json.dumps(key)}: {json.dumps(short(value))}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def geometric_mean(values):
    values = list(values)
    return math.exp(math.fsum(map(math.log, values)) / len(values)) if values and None not in values else math.nan


def number(x):
    """Three significant figures."""
    if not math.isfinite(x):
        return "–"
    return f"{x:.0f}" if x >= 99.5 else f"{x:.3g}" if x >= 1 else f"{x:.3f}"


def bound_name(bound):
    return "lossless" if bound == LOSSLESS else f"{bound:.0e}".replace("e-0", "e-")


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def said_once(rows, columns):
    """The rows, whose first columns are empty where they say what the row above says."""
    above = [[], *(row[:columns] for row in rows)]
    return [[""] * columns + row[columns:] if row[:columns] == before else row for before, row in zip(above, rows)]


def prose(text):
    """Lines of a page, which end at 120 columns."""
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


def verdict(records):
    """What a codec did to its bound."""
    failed = {r["field"] for r in records if "failed" in r}
    errors = [(float(r["error"]), r["field"]) for r in records if "error" in r]
    lost = {f for e, f in errors if math.isinf(e)}
    broken = {f for e, f in errors if 1 < e < math.inf}
    notes = []
    if broken:
        worst = max(e for e, _ in errors if math.isfinite(e))
        notes.append(f"**broken** on {len(broken)}, up to {number(worst)} ×")
    if lost:
        notes.append(f"NaN or infinities **lost** on {len(lost)}")
    if failed:
        notes.append(f"fails on {len(failed)}")
    return "; ".join(notes) or "kept"


def marked(profile, when):
    """The mark of a figure of that day, if the profile has another codec since."""
    return MARK if when < SINCE.get(profile, "") else ""


def short_class(name):
    return name.removeprefix("Real fields, ").lower()


class Report:
    """The tables of one run, and the means that the plot shows."""

    def __init__(self, result):
        self.result = result
        self.speed_bound = result["speed_bound"]
        self.fill = {f["name"] for f in result["fields"] if f["has_fill"]}
        self.figures = {}  # (codec, field, bound): ratio, error, compress, decompress, or failed
        for r in result["ratios"] + result["speeds"]:
            self.figures.setdefault((r["codec"], r["field"], r["bound"]), {}).update(r)

    def classes(self):
        """Names of fields: the real ones by element type, the synthetic one alone."""
        groups = {}
        for f in self.result["fields"]:
            name = "Turbulence" if f["name"] == "turbulence" else f"Real fields, {f['dtype']}"
            groups.setdefault(name, []).append(f["name"])
        return groups

    def codecs(self, bound):
        return list(dict.fromkeys(r["codec"] for r in self.result["ratios"] if r["bound"] == bound))

    def values(self, codec, fields, bound, figure):
        """Of each field without a fill value on which the codec worked."""
        found = {f: self.figures.get((codec, f, bound), {}).get(figure) for f in fields if f not in self.fill}
        return {f: v for f, v in found.items() if v is not None}

    def mean(self, codec, fields, bound, figure):
        return geometric_mean(self.values(codec, fields, bound, figure).values())

    def shown(self, codec, fields, bound, figure):
        """The mean as text, which says if fields are missing."""
        values = self.values(codec, fields, bound, figure)
        missing = len(values) < len([f for f in fields if f not in self.fill])
        return number(geometric_mean(values.values())) + ("†" if missing else "")

    def records(self, codec, fields, lossless):
        return [
            r
            for r in self.result["ratios"]
            if r["codec"] == codec and r["field"] in fields and (r["bound"] == LOSSLESS) == lossless
        ]

    def keeps(self, codec, fields, bound):
        return verdict(self.records(codec, fields, bound == LOSSLESS)) == "kept"

    def setting(self):
        r = self.result
        load = f", load average {r['load']:.1f} when it began" + (" (above the cores: every speed suffers)" if r["load"] > r["cores"] else "")
        quick = " **A quick run: few fields, one round.**" if r["quick"] else ""
        measured = prose(
            f"Measured on {r['when']}: {r['machine']}, {r['cores']} cores{load}. One core copies 64 MiB with {number(r['memcpy'])} GB/s. "
            f"{r['versions']}.{quick}"
        )
        return "\n\n".join([measured, *(prose(note) for note in r.get("notes", []))])

    def against_peers(self):
        """How many times as fast as each peer, and the ratios that go with it."""
        mark = marked("small", self.result["when"])
        rows = []
        for name, fields in self.classes().items():
            for bound in (self.speed_bound, LOSSLESS) if len(fields) > 1 else (self.speed_bound,):
                own = [number(self.mean(codec, fields, bound, "ratio")) for codec in (OURS, SMALLEST)]
                for codec in self.codecs(bound):
                    if codec.startswith("SLEEK"):
                        continue
                    row = [short_class(name), bound_name(bound), *own, codec, self.shown(codec, fields, bound, "ratio")]
                    rows.append(row + [self.times_as_fast(of, codec, fields, bound) for of in (OURS, SMALLEST)])
        head = ["fields", "bound", "adaptive's ratio", f"small's{mark}", "filter", "its ratio"]
        return table(head + ["adaptive × as fast", f"small{mark} × as fast"], said_once(rows, 4))

    def times_as_fast(self, codec, peer, fields, bound):
        """Compressing and decompressing, over the fields on which both work."""
        means = []
        for figure in ("compress", "decompress"):
            ours, theirs = (self.values(c, fields, bound, figure) for c in (codec, peer))
            means.append(number(geometric_mean(ours[f] / theirs[f] for f in ours if f in theirs)))
        return "/".join(means)

    def by_bound(self):
        """Ratios at all bounds, and what became of these."""
        rows = []
        for name, fields in self.classes().items():
            for codec in self.codecs(self.speed_bound):
                row = [short_class(name), codec.removeprefix("SLEEK ") + marked(codec.removeprefix("SLEEK "), self.result["when"])]
                row += [self.shown(codec, fields, b, "ratio") for b in self.result["bounds"]]
                rows.append(row + [verdict(self.records(codec, fields, False))])
        return table(["fields", "filter"] + [bound_name(b) for b in self.result["bounds"]] + ["bound"], said_once(rows, 1))

    def cpu_mean(self, figure, of="cpu", **wanted):
        found = [r[figure] for r in self.result[of] if all(r[k] == v for k, v in wanted.items())]
        return geometric_mean(found) if found and None not in found else math.nan

    def cores(self):
        """What all cores gain over one."""
        cores = max((r["threads"] for r in self.result["cpu"]), default=1)
        rows = []
        for bound in (self.speed_bound, LOSSLESS):
            for profile in ("adaptive", "fast", "small"):
                found = [r for r in self.result["cpu"] if (r["bound"], r["profile"], r["threads"]) == (bound, profile, cores)]
                cells = [number(geometric_mean(r[f] for r in found if r[f])) for f in ("compress_all", "decompress_all")]
                rows.append([bound_name(bound), profile + marked(profile, self.result["when"]), *cells])
        return table(["bound", "profile", f"compress, {cores} cores × one", "decompress"], said_once(rows, 1))

    def processor(self):
        """This run on one core, as a row for the table by processor."""
        means = {}
        for level in dict.fromkeys(r["level"] for r in self.result["cpu"]):
            for profile, bound in PROCESSOR_COLUMNS:
                for dtype in ("f32", "f64"):
                    key = dict(level=level, profile=profile, bound=bound, dtype=dtype)
                    of = [self.cpu_mean(f, **key) for f in ("compress_memcpy", "decompress_memcpy")]
                    means[f"{level} {dtype} {profile} {bound_name(bound)}"] = " / ".join(map(number, of))
        memcpy = self.cpu_mean("memcpy")
        return dict(machine=self.result["machine"], when=self.result["when"], memcpy=memcpy, means=means)

    def processors(self):
        """What this run and those before it on other processors gave."""
        rows, notes = [], []
        for p in self.result.get("processors", []):
            about = [p["machine"], p["when"], number(p["memcpy"])]
            notes += [f"{p['machine']}: {p['note']}"] if "note" in p else []
            for of in dict.fromkeys(name.rsplit(" ", 2)[0] for name in p["means"]):
                if of.startswith("scalar"):
                    continue
                cells = []
                for profile, bound in PROCESSOR_COLUMNS:
                    pair = p["means"].get(f"{of} {profile} {bound_name(bound)}", "–")
                    known = pair.strip("–/ ") != ""
                    cells.append(pair.replace(" ", "") + marked(profile, p["when"]) if known else "–")
                rows.append([*about, *of.split(" "), *cells])
                about = ["", "", ""]
        head = ["processor", "when", "memcpy GB/s", "level", "type"]
        shown = table(head + [f"{profile}, {bound_name(bound)}" for profile, bound in PROCESSOR_COLUMNS], rows)
        return "\n\n".join([shown, *map(prose, notes)])

    def large(self):
        """One core, arrays that no cache holds."""
        figures = ["memcpy", "compress_memcpy", "decompress_memcpy"]
        rows = []
        for bound in (self.speed_bound, LOSSLESS):
            for profile in ("adaptive", "fast"):
                for dtype in ("f32", "f64"):
                    key = dict(bound=bound, profile=profile, dtype=dtype)
                    cells = [number(self.cpu_mean(f, of="large", **key)) for f in figures]
                    rows.append([bound_name(bound), profile, dtype, *cells])
        head = ["bound", "profile", "type", "memcpy GB/s", "compress × memcpy", "decompress × memcpy"]
        size = max((r["mib"] for r in self.result["large"]), default=0)
        return f"Arrays of {size} MiB:\n\n" + table(head, said_once(rows, 2))

    def hdf5_means(self, language, codec, bound, chunk, threads):
        """(write, read, share of fields that failed) against no filter."""
        key = dict(language=language, codec=codec, bound=bound, chunk=chunk, threads=threads)
        found = [r for r in self.result["hdf5"] if all(r[k] == v for k, v in key.items())]
        good = [r for r in found if "failed" not in r]
        return tuple(geometric_mean(r[f] for r in good) for f in ("write", "read")), len(good) < len(found)

    def hdf5(self):
        """One thread, chunks of 1 and 4 MiB."""
        records = self.result["hdf5"]
        languages = list(dict.fromkeys(r["language"] for r in records))
        chunks = [chunk for chunk in sorted({r["chunk"] for r in records}) if chunk >= 1 << 20]
        columns = [(language, chunk) for language in languages for chunk in chunks]
        head = ["filter", "bound"]
        for language, chunk in columns:
            head += [f"{language}, {chunk >> 20} MiB: write", "read"]
        rows = []
        for codec, bound in dict.fromkeys((r["codec"], r["bound"]) for r in records):
            limit = codec.startswith("no time")
            profile = codec.removeprefix("SLEEK ")
            row = [profile + marked(profile, self.result["when"]), "–" if limit else bound_name(bound)]
            for language, chunk in columns:
                means, missing = self.hdf5_means(language, codec, bound, chunk, 1)
                row += [number(m) + ("†" if missing and math.isfinite(m) else "") for m in means]
            rows.append(row)
        plain = []
        for language in languages:
            good = [r for r in records if r["language"] == language and "failed" not in r]
            speeds = [number(geometric_mean(r[f] for r in good)) for f in ("plain_write", "plain_read")]
            plain.append(f"Without a filter {language} writes {speeds[0]} and reads {speeds[1]} GB/s.")
        return table(head, rows) + "\n\n" + prose(" ".join(plain))

    def targets(self):
        """How many aims are reached, and those that are not."""
        rows, asked = [], 0

        def row(what, aim, of):
            nonlocal asked
            asked += 2
            missed = [is_ < wanted and number(is_) != number(wanted) for wanted, is_ in zip(aim, of)]
            short = [f"{number(is_)} ({number(wanted)})" if no else "" for no, wanted, is_ in zip(missed, aim, of)]
            if any(short):
                rows.append([what, *short])

        best = {r["level"] for r in self.result["large"]}
        for (profile, level, bound), aims in AIMS.items():
            if level not in {r["level"] for r in self.result["cpu"]}:
                continue
            for dtype, aim in aims.items():
                key = dict(level=level, profile=profile, dtype=dtype, bound=bound)
                of = [self.cpu_mean(f, **key) for f in ("compress_memcpy", "decompress_memcpy")]
                row(f"{level}, {profile}{marked(profile, self.result['when'])}, {dtype}, {bound_name(bound)}: × memcpy", aim, of)
                if level in best and profile != "small" and bound == self.speed_bound:
                    of = [self.cpu_mean(f, of="large", **key) for f in ("compress_memcpy", "decompress_memcpy")]
                    row(f"{level}, {profile}, {dtype}, large: × memcpy", aim, of)
        for dtype in ("f32", "f64"):
            level = next(iter(best), "avx512")
            key = dict(level=level, dtype=dtype, bound=self.speed_bound)
            of = [self.cpu_mean(f, profile="adaptive", **key) / self.cpu_mean(f, profile="fast", **key) for f in ("compress", "decompress")]
            row(f"{level}, adaptive, {dtype}, {bound_name(self.speed_bound)}: × fast", (0.75, 0.9), of)
        if max((r["threads"] for r in self.result["cpu"]), default=1) == 2:
            for profile in ("adaptive", "fast", "small"):
                key = dict(profile=profile, bound=self.speed_bound, threads=2)
                of = [self.cpu_mean(f, **key) for f in ("compress_all", "decompress_all")]
                row(f"two cores, {profile}, {bound_name(self.speed_bound)}: × one core", (1.7, 1.7), of)
        for language in dict.fromkeys(r["language"] for r in self.result["hdf5"]):
            for bound, aim in ((self.speed_bound, (1.3, 1.3)), (LOSSLESS, (0.9, 0.9))):
                for codec in (OURS, PAPER):
                    key = (language, codec, bound, 1)
                    found = [r for r in self.result["hdf5"] if (r["language"], r["codec"], r["bound"], r["threads"]) == key and "failed" not in r]
                    of = [geometric_mean(r[f] for r in found) for f in ("write", "read")]
                    row(f"HDF5 from {language}, {codec[6:]}, {bound_name(bound)}: × no filter", aim, of)
        reached = asked - sum(cell != "" for row in rows for cell in row[1:])
        missed = table(["short of the aim", "compress or write: reached (aim)", "decompress or read"], rows)
        return f"{reached} of {asked} aims are reached.\n\n{missed}"

    def page(self):
        text = pathlib.Path(__file__).with_name("performance.md").read_text()
        parts = {
            "setting": self.setting(),
            "against peers": self.against_peers(),
            "by bound": self.by_bound(),
            "targets": self.targets(),
            "processors": self.processors(),
            "cores": self.cores(),
            "large": self.large(),
            "hdf5": self.hdf5(),
        }
        for name, part in parts.items():
            text = text.replace("{{" + name + "}}", part)
        return text


def with_processor(result, before):
    """`result` with the table by processor of an earlier one and its own row, which replaces that of the same machine."""
    own = Report(result).processor()
    earlier = before.get("processors") or ([Report(before).processor()] if before else [])
    others = [p for p in earlier if p["machine"] != own["machine"]]
    return {**result, "processors": [*others, own]}


def write(result, out):
    """performance.md and performance.png into the directory `out`."""
    report = Report(result)
    (out / "performance.md").write_text(report.page())
    # Here, so that the page alone can be made without matplotlib.
    import plot

    plot.plot(report, out / "performance.png")


if __name__ == "__main__":
    sys.stdout.write(Report(json.loads(pathlib.Path(sys.argv[1]).read_text())).page())
