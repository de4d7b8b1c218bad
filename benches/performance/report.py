"""performance.json as a page, whose prose is in performance.md beside this file, and as a plot."""

import json
import os
import pathlib
import platform
import textwrap

import numpy as np

from filters import LOSSLESS

OURS = "SLEEK adaptive"
PAPER = "SLEEK fast"
SMALLEST = "SLEEK small"
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
            return float(f"{x:.4g}") if np.isfinite(x) else None if np.isnan(x) else str(x)
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
    return float(np.exp(np.mean(np.log(values)))) if values else float("nan")


def number(x):
    """Three significant figures."""
    if not np.isfinite(x):
        return "–"
    return f"{x:.0f}" if x >= 99.5 else f"{x:.3g}" if x >= 1 else f"{x:.3f}"


def bound_name(bound):
    return "lossless" if bound == LOSSLESS else f"{bound:.0e}".replace("e-0", "e-")


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def prose(text):
    """Lines of a page, which end at 120 columns."""
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


def verdict(records):
    """What a codec did to its bound."""
    failed = [r for r in records if "failed" in r]
    errors = [(float(r["error"]), r["field"]) for r in records if "error" in r]
    lost = {f for e, f in errors if np.isinf(e)}
    broken = {f for e, f in errors if 1 < e < np.inf}
    notes = []
    if broken:
        worst = max(e for e, _ in errors if np.isfinite(e))
        notes.append(f"**BROKEN** on {', '.join(sorted(broken))}: up to {number(worst)} × bound")
    if lost:
        notes.append(f"**BROKEN**: NaN, infinities or bits lost on {', '.join(sorted(lost))}")
    if failed:
        why = sorted({r["failed"] for r in failed})
        notes.append(f"fails on {', '.join(sorted({r['field'] for r in failed}))} ({'; '.join(why)})")
    return "; ".join(notes) or "kept"


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
        return prose(
            f"Measured on {r['when']}: {r['machine']}, {r['cores']} cores{load}; one core copies 64 MiB with {number(r['memcpy'])} GB/s; "
            f"{r['versions']}.{quick}"
        )

    def against_peers(self):
        """How many times as fast as each peer, and the ratios that go with it."""
        rows = []
        for name, fields in self.classes().items():
            for bound in (self.speed_bound, LOSSLESS):
                own = [number(self.mean(codec, fields, bound, "ratio")) for codec in (OURS, PAPER, SMALLEST)]
                for codec in self.codecs(bound):
                    if codec.startswith("SLEEK"):
                        continue
                    row = [name, bound_name(bound), codec, self.shown(codec, fields, bound, "ratio"), *own]
                    row += [self.times_as_fast(of, codec, fields, bound) for of in (OURS, SMALLEST)]
                    said = verdict(self.records(codec, fields, bound == LOSSLESS))
                    rows.append(row + ["kept" if said == "kept" else "no" if "BROKEN" in said else "fails on some"])
        head = ["fields", "bound", "filter", "its ratio", "SLEEK adaptive's", "fast's (the paper)", "small's"]
        return table(head + ["adaptive × as fast", "small × as fast", "its bound"], rows)

    def times_as_fast(self, codec, peer, fields, bound):
        """Compressing and decompressing, over the fields on which both work."""
        means = []
        for figure in ("compress", "decompress"):
            ours, theirs = (self.values(c, fields, bound, figure) for c in (codec, peer))
            means.append(number(geometric_mean(ours[f] / theirs[f] for f in ours if f in theirs)))
        return " / ".join(means)

    def bounded(self, fields):
        head = ["filter"] + [bound_name(b) for b in self.result["bounds"]]
        head += [f"compress ×memcpy at {bound_name(self.speed_bound)}", "decompress", "bound"]
        rows = []
        for codec in self.codecs(self.speed_bound):
            row = [codec] + [self.shown(codec, fields, b, "ratio") for b in self.result["bounds"]]
            row += [self.shown(codec, fields, self.speed_bound, f) for f in ("compress", "decompress")]
            rows.append(row + [verdict(self.records(codec, fields, False))])
        return table(head, rows)

    def lossless(self, fields):
        rows = []
        for codec in self.codecs(LOSSLESS):
            row = [codec] + [self.shown(codec, fields, LOSSLESS, f) for f in ("ratio", "compress", "decompress")]
            said = verdict(self.records(codec, fields, True))
            rows.append(row + ["exact" if said == "kept" else said])
        return table(["filter", "ratio", "compress ×memcpy", "decompress", "bits"], rows)

    def by_class(self):
        parts = []
        for name, fields in self.classes().items():
            parts.append(f"### {name}")
            if len(fields) > 1:
                parts.append(prose(f"{len(fields)}: {', '.join(fields)}."))
            parts += ["Error-bounded: ratio at bounds of … × value range, and speed.", self.bounded(fields)]
            parts += ["Lossless:", self.lossless(fields)]
        return "\n\n".join(parts)

    def each_field(self):
        """Ratio of every field at the bound of the speeds."""
        codecs = self.codecs(self.speed_bound)
        rows = []
        for f in self.result["fields"]:
            row = [f["name"], f["dtype"]]
            for codec in codecs:
                r = self.figures.get((codec, f["name"], self.speed_bound), {"failed": "–"})
                broken = " BROKEN" if float(r.get("error", 0)) > 1 else ""
                row.append(r["failed"] if "ratio" not in r else number(r["ratio"]) + broken)
            rows.append(row)
        return table(["field", "type"] + codecs, rows)

    def cpu_mean(self, figure, of="cpu", **wanted):
        found = [r[figure] for r in self.result[of] if all(r[k] == v for k, v in wanted.items())]
        return geometric_mean(found) if found and None not in found else float("nan")

    def levels(self):
        figures = ["memcpy", "compress_memcpy", "decompress_memcpy", "compress_all", "decompress_all"]
        figures += ["compress_instructions", "decompress_instructions"]
        rows = []
        for bound in (self.speed_bound, 1e-6, LOSSLESS):
            for profile in ("adaptive", "fast", "small") if bound != 1e-6 else ("small",):
                for level in dict.fromkeys(r["level"] for r in self.result["cpu"]):
                    for dtype in ("f32", "f64"):
                        key = dict(bound=bound, profile=profile, level=level, dtype=dtype)
                        cells = [number(self.cpu_mean(f, **key)) for f in figures]
                        rows.append([bound_name(bound), profile, level, dtype, *cells])
        cores = max((r["threads"] for r in self.result["cpu"]), default=1)
        head = ["bound", "profile", "level", "type", "memcpy GB/s", "compress × memcpy", "decompress × memcpy"]
        head += [f"compress, {cores} cores × one", "decompress", "compress, instructions a value", "decompress"]
        return table(head, rows)

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
        rows = []
        for p in self.result.get("processors", []):
            columns = [f"{profile} {bound_name(bound)}" for profile, bound in PROCESSOR_COLUMNS]
            for of in dict.fromkeys(name.rsplit(" ", 2)[0] for name in p["means"]):
                cells = [p["means"].get(f"{of} {column}", "–") for column in columns]
                rows.append([p["machine"], p["when"], number(p["memcpy"]), *of.split(" "), *cells])
        head = ["processor", "when", "memcpy GB/s", "level", "type"]
        return table(head + [f"{profile}, {bound_name(bound)}" for profile, bound in PROCESSOR_COLUMNS], rows)

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
        return f"Arrays of {size} MiB:\n\n" + table(head, rows)

    def hdf5_means(self, language, codec, bound, chunk, threads):
        """(write, read, share of fields that failed) against no filter."""
        key = dict(language=language, codec=codec, bound=bound, chunk=chunk, threads=threads)
        found = [r for r in self.result["hdf5"] if all(r[k] == v for k, v in key.items())]
        good = [r for r in found if "failed" not in r]
        return tuple(geometric_mean(r[f] for r in good) for f in ("write", "read")), len(good) < len(found)

    def hdf5(self, language):
        records = [r for r in self.result["hdf5"] if r["language"] == language]
        chunks = sorted({r["chunk"] for r in records})
        head = ["filter", "bound", "threads"]
        for chunk in chunks:
            size = f"{chunk >> 10} KiB" if chunk < 1 << 20 else f"{chunk >> 20} MiB"
            head += [f"{size}: write", "read"]
        rows = []
        for codec, bound, threads in dict.fromkeys((r["codec"], r["bound"], r["threads"]) for r in records):
            row = [codec, "–" if codec.startswith("no time") else bound_name(bound), str(threads)]
            for chunk in chunks:
                means, missing = self.hdf5_means(language, codec, bound, chunk, threads)
                row += [number(m) + ("†" if missing and np.isfinite(m) else "") for m in means]
            rows.append(row)
        good = [r for r in records if "failed" not in r]
        plain = [number(geometric_mean(r[f] for r in good)) for f in ("plain_write", "plain_read")]
        return table(head, rows) + f"\n\nNo filter, 1 in this table: writes {plain[0]}, reads {plain[1]} GB/s."

    def targets(self):
        """What is aimed at, and what was reached."""
        rows = []

        def row(what, aim, of):
            rows.append([what, number(aim[0]), number(of[0]), number(aim[1]), number(of[1])])

        best = {r["level"] for r in self.result["large"]}
        for (profile, level, bound), aims in AIMS.items():
            if level not in {r["level"] for r in self.result["cpu"]}:
                continue
            for dtype, aim in aims.items():
                key = dict(level=level, profile=profile, dtype=dtype, bound=bound)
                of = [self.cpu_mean(f, **key) for f in ("compress_memcpy", "decompress_memcpy")]
                row(f"one core, {level}, {profile}, {dtype}, {bound_name(bound)}: × memcpy", aim, of)
                if level in best and profile != "small" and bound == self.speed_bound:
                    of = [self.cpu_mean(f, of="large", **key) for f in ("compress_memcpy", "decompress_memcpy")]
                    row("the same, arrays that no cache holds", aim, of)
        for dtype in ("f32", "f64"):
            level = next(iter(best), "avx512")
            key = dict(level=level, dtype=dtype, bound=self.speed_bound)
            of = [self.cpu_mean(f, profile="adaptive", **key) / self.cpu_mean(f, profile="fast", **key) for f in ("compress", "decompress")]
            row(f"one core, {level}, adaptive, {dtype}, {bound_name(self.speed_bound)}: × fast", (0.75, 0.9), of)
        if max((r["threads"] for r in self.result["cpu"]), default=1) == 2:
            for profile in ("adaptive", "fast", "small"):
                key = dict(profile=profile, bound=self.speed_bound, threads=2)
                of = [self.cpu_mean(f, **key) for f in ("compress_all", "decompress_all")]
                row(f"two cores, {profile}, {bound_name(self.speed_bound)}: × one core", (1.7, 1.7), of)
        for language in dict.fromkeys(r["language"] for r in self.result["hdf5"]):
            for bound, aim in ((self.speed_bound, (1.3, 1.3)), (LOSSLESS, (0.9, 0.9))):
                for codec in (OURS, PAPER):
                    for threads in sorted({r["threads"] for r in self.result["hdf5"]}):
                        found = [
                            r
                            for r in self.result["hdf5"]
                            if (r["language"], r["codec"], r["bound"], r["threads"]) == (language, codec, bound, threads) and "failed" not in r
                        ]
                        of = [geometric_mean(r[f] for r in found) for f in ("write", "read")]
                        row(f"HDF5 from {language}, {codec[6:]}, {bound_name(bound)}, {threads} threads: × no filter", aim, of)
        return table(["what", "aim, compress or write", "reached", "aim, decompress or read", "reached"], rows)

    def page(self):
        text = pathlib.Path(__file__).with_name("performance.md").read_text()
        parts = {
            "setting": self.setting(),
            "against peers": self.against_peers(),
            "targets": self.targets(),
            "levels": self.levels(),
            "large": self.large(),
            "processors": self.processors(),
            "hdf5 C": self.hdf5("C"),
            "hdf5 h5py": self.hdf5("h5py"),
            "by class": self.by_class(),
            "each field": self.each_field(),
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
