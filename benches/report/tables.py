"""Tables and sentences of the pages. A page has them between `<!-- report: NAME -->` and `<!-- end of report -->`."""

import hashlib
import json
import math
import re
import textwrap

import results
from results import MARK, Results, mark

LOSSLESS, SPEED_BOUND = 0.0, 1e-3
PROFILES = ("small", "adaptive", "fast")
KEY = ("class", "field", "type", "codec", "bound")
# Fields whose values are nothing a mean should have: a fill value far outside the range.
NO_MEAN = {"levitus_temp"}
# Profile, level, bound and type: multiples of memcpy that one core is to reach compressing and decompressing.
AIMS = {
    ("adaptive", "avx512", 1e-3): {"f32": (0.6, 0.9), "f64": (0.6, 0.9)},
    ("fast", "avx512", 1e-3): {"f32": (0.8, 1.1), "f64": (0.8, 1.1)},
    ("small", "avx512", 1e-3): {"f32": (0.25, 0.4), "f64": (0.35, 0.5)},
    ("adaptive", "avx512", LOSSLESS): {"f32": (0.6, 1.0), "f64": (0.6, 1.0)},
    ("small", "avx512", LOSSLESS): {"f32": (0.2, 0.35), "f64": (0.2, 0.35)},
    ("adaptive", "avx2", 1e-3): {"f32": (0.5, 0.65), "f64": (0.65, 0.8)},
    ("fast", "avx2", 1e-3): {"f32": (0.8, 1.0), "f64": (0.8, 1.0)},
    ("small", "avx2", 1e-3): {"f32": (0.125, 0.2), "f64": (0.175, 0.25)},
    ("adaptive", "avx2", LOSSLESS): {"f32": (0.4, 0.5), "f64": (0.4, 0.5)},
}


def geometric_mean(values):
    values = list(values)
    return math.exp(math.fsum(map(math.log, values)) / len(values)) if values and None not in values else math.nan


def number(x):
    """Three significant figures."""
    if isinstance(x, str):
        return x
    if x is None or not math.isfinite(x):
        return "–"
    return f"{x:.0f}" if x >= 99.5 else f"{x:.3g}" if x >= 0.1 or x == 0 else f"{x:.2g}"


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


def listed(words):
    words = list(words)
    return ", ".join(words[:-1]) + " and " + words[-1] if len(words) > 1 else "".join(words)


def shown(codec):
    return f"`{codec}`" if codec in PROFILES else codec


class Compared:
    """Ratios and speeds of all codecs on all fields, and the means of a class of fields in one type."""

    def __init__(self):
        self.ratios, self.speeds = Results("ratios", KEY), Results("speeds", KEY)
        self.classes = list(dict.fromkeys((r["class"], r["type"]) for r in self.ratios.rows.values()))
        self.bounds = sorted({r["bound"] for r in self.ratios.rows.values()} - {LOSSLESS}, reverse=True)

    def codecs(self, bound):
        return list(dict.fromkeys(r["codec"] for r in self.ratios.rows.values() if r["bound"] == bound))

    def rows(self, source, group, codec, bound):
        return [r for r in source.rows.values() if (r["class"], r["type"], r["codec"], r["bound"]) == (*group, codec, bound)]

    def values(self, group, codec, bound, figure):
        """By field, without what no mean should have and without failures."""
        source = self.speeds if figure in ("memcpy", "compress", "decompress") else self.ratios
        found = {r["field"]: r.get(figure) for r in self.rows(source, group, codec, bound) if r["field"] not in NO_MEAN}
        return {field: float(x) for field, x in found.items() if x is not None}

    def mean(self, group, codec, bound, figure):
        return geometric_mean(self.values(group, codec, bound, figure).values())

    def psnr(self, group, codec, bound):
        found = [x for x in self.values(group, codec, bound, "psnr").values() if math.isfinite(x)]
        return math.fsum(found) / len(found) if found else math.nan

    def both(self, group, codec, other, bound, figure="ratio"):
        """Means of two codecs over the fields that both take."""
        a, b = (self.values(group, c, bound, figure) for c in (codec, other))
        return tuple(geometric_mean(of[field] for field in a if field in b) for of in (a, b))

    def curve(self, group, codec, beside=None):
        """(bits a value, PSNR) at each bound, over the fields that the other codec takes too."""
        points = []
        for b in self.bounds:
            ratios, psnr = self.values(group, codec, b, "ratio"), self.values(group, codec, b, "psnr")
            fields = [f for f in ratios if math.isfinite(psnr.get(f, math.inf)) and (not beside or f in self.values(group, beside, b, "psnr"))]
            if fields:
                mean = math.fsum(psnr[f] for f in fields) / len(fields)
                points.append((float(group[1][1:]) / geometric_mean(ratios[f] for f in fields), mean))
        return points

    def fails(self, group, codec, bound):
        return any("failed" in r for r in self.rows(self.ratios, group, codec, bound) if r["field"] not in NO_MEAN)

    def cell(self, group, codec, bound, figure):
        """The mean as text, which says if fields are missing."""
        mean = self.mean(group, codec, bound, figure)
        return number(mean) + ("†" if self.fails(group, codec, bound) else "") if math.isfinite(mean) else "–"

    def named(self, codec, bound):
        """The codec's name, with the mark if figures at this bound are older than its code."""
        commits = {of.commit(r) for of in (self.ratios, self.speeds) for r in of.rows.values() if (r["codec"], r["bound"]) == (codec, bound)}
        return shown(codec) + "".join({mark(codec, commit) for commit in commits})

    def largest(self, group, codec, bound):
        errors = [float(r["error"]) for r in self.rows(self.ratios, group, codec, bound) if r.get("error") is not None]
        return max((e for e in errors if math.isfinite(e)), default=math.nan), any(math.isinf(e) for e in errors)

    def keeps(self, group, codec, bound):
        """Whether it kept its bound, and NaN, on all fields of the class."""
        largest, lost = self.largest(group, codec, bound)
        return largest <= 1 and not lost and not any("failed" in r for r in self.rows(self.ratios, group, codec, bound))

    def verdict(self, group, codec, bounds):
        rows = [r for b in bounds for r in self.rows(self.ratios, group, codec, b)]
        broken = {r["field"] for r in rows if 1 < float(r.get("error") or 0) < math.inf}
        lost = {r["field"] for r in rows if float(r.get("error") or 0) == math.inf}
        failed = {r["field"] for r in rows if "failed" in r}
        worst = max((float(r["error"]) for r in rows if r.get("error") and math.isfinite(float(r["error"]))), default=0)
        notes = [f"**broken** on {len(broken)}, up to {worst:.7g} ×"] if broken else [f"{worst:.3f}"]
        notes += [f"NaN **lost** on {len(lost)}"] if lost else []
        notes += [f"fails on {len(failed)}"] if failed else []
        return "; ".join(notes)

    def cases(self):
        """(class, field, type, bound) that have a mean, with a bound."""
        return sorted({(*c[:3], c[4]) for c in self.ratios.rows if c[4] != LOSSLESS and c[1] not in NO_MEAN})

    def digest(self):
        """Of all that plots show."""
        shown = [{k: row.get(k) for k in (*KEY, "ratio", "psnr", "error", "compress", "decompress", "failed")} for source in (self.ratios, self.speeds) for row in source.rows.values()]
        return "results " + hashlib.sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()

    # The blocks of pages.

    def setting(self):
        out = []
        for what, source in (("Ratios, errors and PSNR", self.ratios), ("Speeds", self.speeds)):
            for run in source.runs.values():
                out.append(f"{what}: {run['date']}, {run['machine']}, commit {run['commit']}, `{run['command']}`.")
        versions = [run["versions"] for run in self.ratios.runs.values()][-1]
        return prose(" ".join(dict.fromkeys(out)) + f" {versions}.")

    def by_bound(self):
        """Ratios at all bounds and what became of these; PSNR and speeds at one."""
        rows = []
        for group in self.classes:
            for codec in self.codecs(SPEED_BOUND):
                cells = [self.cell(group, codec, b, "ratio") for b in self.bounds]
                speeds = "/".join(self.cell(group, codec, SPEED_BOUND, f) for f in ("compress", "decompress"))
                psnr = f"{self.psnr(group, codec, SPEED_BOUND):.1f}"
                rows.append([", ".join(group), self.named(codec, SPEED_BOUND), *cells, psnr, speeds, self.verdict(group, codec, self.bounds)])
        head = ["fields", "codec", *(f"{bound_name(b)}: ratio" for b in self.bounds)]
        at = bound_name(SPEED_BOUND)
        return table([*head, f"{at}: PSNR", f"{at}: speeds", "largest error / bound"], said_once(rows, 1))

    def better(self):
        """Where a peer is better than we are, in words."""
        parts = (self.smaller_peers(self.bounds), self.smallest_by_case(), self.nearer_peers(), self.faster_peers(SPEED_BOUND))
        return "\n\n".join(parts)

    def smaller_peers(self, bounds):
        """Peers with a larger mean ratio than `small`, over the fields that both take."""
        rows = []
        for codec in self.codecs(bounds[0]):
            for group in self.classes if codec not in PROFILES else ():
                pairs = {b: self.both(group, codec, "small", b) for b in bounds}

                def cell(b):
                    theirs, ours = pairs[b]
                    kept = "" if self.keeps(group, codec, b) else " *"
                    return f"{number(theirs)} : {number(ours)}{kept}" if theirs > ours else ""

                cells = [cell(b) for b in bounds]
                if any(cells):
                    rows.append([codec, ", ".join(group), *cells])
        where = "without a bound" if bounds == [LOSSLESS] else "at any bound"
        if not rows:
            return f"**Size.** No peer has a larger mean ratio than `small` on any class of fields {where}."
        peers = listed(dict.fromkeys(row[0] for row in rows))
        broken = " * It breaks its bound, or fails, on some field." if any("*" in c for row in rows for c in row[2:]) else ""
        have = "has" if len({r[0] for r in rows}) == 1 else "have"
        text = f"**Size.** {peers} {have} larger mean ratios than `small` on these fields, theirs : ours.{broken}"
        return prose(text) + "\n\n" + table(["smaller", "fields", *map(bound_name, bounds)], said_once(rows, 1))

    def smallest_by_case(self):
        cases, first = self.cases(), {}
        for where, name, kind, b in cases:
            best = max(
                (r["ratio"], codec)
                for codec in self.codecs(b)
                for r in self.rows(self.ratios, (where, kind), codec, b)
                if r["field"] == name and "failed" not in r and float(r["error"]) <= 1
            )
            first[best[1]] = first.get(best[1], 0) + 1
        own = first.pop("small", 0)
        others = listed(f"{codec} in {n}" for codec, n in sorted(first.items(), key=lambda x: -x[1]))
        return prose(f"Of {len(cases)} pairs of a field and a bound `small` has the smallest stream that keeps the bound in {own}, {others}.")

    def nearer_peers(self):
        """Peers with a higher PSNR at the bits a value that `small` takes at SPEED_BOUND."""
        found = {}
        for group in self.classes:
            for codec in self.codecs(SPEED_BOUND):
                if codec in PROFILES:
                    continue
                theirs, ours = self.curve(group, codec, "small"), self.curve(group, "small", codec)
                at, own = ours[self.bounds.index(SPEED_BOUND)]
                gain = interpolated(theirs, at) - own
                if gain >= 0.05:
                    found.setdefault(codec, []).append(f"{gain:.1f} dB on {' '.join(group)}")
        start = f"**Quality.** At the bits a value of `small` at {bound_name(SPEED_BOUND)}"
        if not found:
            return start + " no peer has a higher mean PSNR."
        texts = [f"{codec} has a higher mean PSNR by {listed(texts)}" for codec, texts in found.items()]
        return prose(start + " " + ". There ".join(texts) + ".")

    def faster_peers(self, bound):
        """Peers that are faster than one of our profiles, how much, and on how many classes of fields."""
        rows = []
        for own in ("adaptive", "small"):
            for codec in self.codecs(bound):
                cells = [self.times(codec, own, bound, figure) for figure in ("compress", "decompress")]
                if codec not in PROFILES and any(cells):
                    rows.append([f"`{own}`", codec, *cells])
        slower = [f"`{own}`" for own in ("adaptive", "small") if f"`{own}`" not in {row[0] for row in rows}]
        text = "**Speed.** " + (f"No peer is faster than {listed(slower)}." if slower else "")
        head = ["than", "faster: times its speed, on so many classes of fields", "compress", "decompress"]
        return text.strip() + ("\n\n" + table(head, said_once(rows, 1)) if rows else "")

    def times(self, codec, own, bound, figure):
        pairs = [self.both(group, codec, own, bound, figure) for group in self.classes]
        times = [theirs / ours for theirs, ours in pairs if theirs > ours]
        return (f"{number(min(times))}–" if len(times) > 1 else "") + f"{number(max(times))} on {len(times)}" if times else ""

    def lossless_means(self):
        """A codec a row: ratio, and both speeds, of real fields and of those held out."""
        groups = [g for g in self.classes if g[0] == "real" or g == ("held out", "f32")]
        rows = []
        for codec in self.codecs(LOSSLESS):
            speeds = ["/".join(self.cell(g, codec, LOSSLESS, f) for f in ("compress", "decompress")) for g in groups]
            rows.append([self.named(codec, LOSSLESS), *(x for g, pair in zip(groups, speeds) for x in (self.cell(g, codec, LOSSLESS, "ratio"), pair))])
        head = ["codec", *(h for g in groups for h in (", ".join(g) + ": ratio", "speeds"))]
        return table(head, rows)

    def lossless_better(self):
        """Which peers are smaller than `small`, in the mean and on how many fields; which are faster."""
        fields, names = {}, [c for c in self.ratios.rows if c[3] == "small" and c[4] == LOSSLESS]
        for codec in self.codecs(LOSSLESS):
            for name in names if codec not in PROFILES else ():
                other = self.ratios.rows.get((*name[:3], codec, LOSSLESS), {})
                fields[codec] = fields.get(codec, 0) + (other.get("ratio", 0) > self.ratios.rows[name]["ratio"])
        single = listed(f"{codec} on {n}" for codec, n in sorted(fields.items(), key=lambda x: -x[1]) if n)
        text = f"Of {len(names)} single fields others are smaller than `small`: {single}."
        gzip = len(names) - fields["gzip -4 + shuffle"]
        text += f" `small` is to be smaller than shuffle and gzip -4 on 90 % of fields, and is on {gzip} of {len(names)}."
        return "\n\n".join([self.smaller_peers([LOSSLESS]), prose(text), self.faster_peers(LOSSLESS)])

    def readme(self):
        """Our three profiles: one core here, and a GPU."""
        rows = []
        for kind in ("f32", "f64"):
            group = ("real", kind)
            measured = self.rows(self.speeds, group, "small", SPEED_BOUND)
            run = self.speeds.runs[measured[-1]["run"]] if measured else {"machine": "not measured"}
            name = re.sub(r" Processor|, family (\d+) model \d+|, \d+ cores", "", run["machine"]).strip()
            copies = self.mean(group, "adaptive", SPEED_BOUND, "memcpy")
            cells = [f"one core, {name}, {kind}", f"{number(copies)} GB/s"]
            for profile in ("adaptive", "fast", "small"):
                cells.append(self.cell(group, profile, SPEED_BOUND, "ratio"))
                cells.append(" / ".join(self.cell(group, profile, SPEED_BOUND, f) for f in ("compress", "decompress")))
            rows.append(cells)
        gpu, small = grids("gpu")["how fast"], grids("gpu")["small"]
        marks = [mark(codec, g["about"]["commit"]) for codec, g in (("sleek on GPUs", gpu), ("predict on GPUs", small))]
        of_small = next(row for row in small["rows"] if row[0] == "1e-3")
        for row in gpu["rows"]:
            if row[1] == "1e-3":
                figures = [*row[5:8], *row[2:5], *of_small[1 if row[0] == "f32" else 4 :][:3]]
                cells = [text for ratio, *pair in zip(*[iter(figures)] * 3) for text in (number(ratio), " / ".join(map(number, pair)))]
                cells = [cell + marks[k // 4] for k, cell in enumerate(cells)]
                rows.append([f"{gpu['about']['machine']}, {row[0]}", f"{gpu['about']['memcpy']} GB/s", *cells])
        head = ["", "memcpy", *(text for codec in ("adaptive", "fast", "small") for text in (self.named(codec, SPEED_BOUND) + ": ratio", "speed"))]
        return table(head, rows)


def interpolated(points, x):
    """The value at x between points, by straight lines; none outside."""
    points = sorted(p for p in points if math.isfinite(p[0]) and math.isfinite(p[1]))
    for (x0, y0), (x1, y1) in zip(points, points[1:]):
        if x0 <= x <= x1 and x0 < x1:
            return y0 + (y1 - y0) * (x - x0) / (x1 - x0)
    return -math.inf


class Memory:
    """In memory by processor, what `cargo bench --bench cpu` gives."""

    def __init__(self):
        self.source = Results("memory", ("machine", "level", "type", "profile", "bound", "mib"))
        self.rows = list(self.source.rows.values())

    def pair(self, row, figures=("compress", "decompress")):
        if row is None or any(row.get(f) is None for f in figures):
            return "–"
        return "/".join(number(row[f]) for f in figures) + mark(row["profile"], self.source.commit(row))

    def processors(self):
        columns = [(p, b) for b in (SPEED_BOUND, LOSSLESS) for p in PROFILES]
        rows = []
        for machine, mib, level, kind in dict.fromkeys((r["machine"], r["mib"], r["level"], r["type"]) for r in self.rows):
            if level == "scalar":
                continue
            of = {(r["profile"], r["bound"]): r for r in self.rows if (r["machine"], r["mib"], r["level"], r["type"]) == (machine, mib, level, kind)}
            one = next(iter(of.values()))
            about = [machine, self.source.runs[one["run"]]["date"], str(mib)]
            rows.append([*about, level, kind, number(one.get("memcpy")), *(self.pair(of.get(c)) for c in columns)])
        head = ["processor", "date", "MiB", "level", "type", "memcpy GB/s", *(f"{p}, {bound_name(b)}" for p, b in columns)]
        notes = dict.fromkeys(f"{run['machine']}, {run['date']}: {run['note']}" for run in self.source.runs.values() if "note" in run)
        return "\n\n".join([table(head, said_once(rows, 3)), *map(prose, notes)])

    def aims(self):
        """How many aims of one core the newest figures of each level reach, and those that are missed."""
        missed, asked, short = {}, 0, 0
        for (profile, level, bound), aims in AIMS.items():
            for kind, aim in aims.items():
                found = [r for r in self.rows if (r["level"], r["type"], r["profile"], r["bound"], r["mib"]) == (level, kind, profile, bound, 64)]
                if not found:
                    continue
                newest = max(found, key=lambda r: self.source.runs[r["run"]]["date"])
                reached = [newest[figure] for figure in ("compress", "decompress")]
                asked, short = asked + 2, short + sum(is_ < wanted for is_, wanted in zip(reached, aim))
                if any(is_ < wanted for is_, wanted in zip(reached, aim)):
                    key = f"{level}, {profile}{mark(profile, self.source.commit(newest))}, {bound_name(bound)}"
                    missed.setdefault(key, []).append(f"{kind} {'/'.join(map(number, reached))} ({'/'.join(map(number, aim))})")
        rows = [[key, ", ".join(texts)] for key, texts in missed.items()]
        columns = ["short of the aim, × memcpy", "compress/decompress: reached (aim)"]
        return f"{asked - short} of {asked} aims for one core are reached.\n\n" + table(columns, rows)


class Hdf5:
    """Through HDF5 on a RAM disk, against no filter."""

    def __init__(self):
        self.source = Results("hdf5", ("language", "codec", "bound", "chunk", "threads"))

    def table(self):
        rows = [r for r in self.source.rows.values() if (r["threads"], r["chunk"]) == (1, 1 << 20) and not r["codec"].startswith("no time")]
        columns = list(dict.fromkeys((r["language"], r["chunk"]) for r in rows))
        head = ["filter", "bound"]
        for language, chunk in columns:
            head += [f"{language}, {chunk >> 20} MiB: write", "read"]
        out = []
        for codec, bound in dict.fromkeys((r["codec"], r["bound"]) for r in rows):
            of = {(r["language"], r["chunk"]): r for r in rows if (r["codec"], r["bound"]) == (codec, bound)}
            stale = "".join({mark(codec, self.source.commit(r)) for r in of.values()})
            cells = [codec + stale, bound_name(bound)]
            for column in columns:
                r = of.get(column, {})
                cells += [number(r.get(f)) + ("†" if r.get("failed") else "") for f in ("write", "read")]
            out.append(cells)
        run = list(self.source.runs.values())[-1]
        plain = {language: [r for r in rows if r["language"] == language] for language, _ in columns}
        speeds = [f"{name} writes {number(geometric_mean(r['plain_write'] for r in of))} and reads {number(geometric_mean(r['plain_read'] for r in of))} GB/s" for name, of in plain.items()]
        about = f"{run['date']}, {run['machine']}, commit {run['commit']}, `{run['command']}`. Without a filter {listed(speeds)}."
        return table(head, out) + "\n\n" + prose(about)


def grids(name):
    return json.loads((results.FOLDER / f"{name}.json").read_text())


def cell(x):
    return ", ".join(map(cell, x)) if isinstance(x, list) else number(x)


def grid(name, title):
    """A table as a program printed it, with a mark on columns or rows of codecs whose code is another now."""
    g = grids(name)[title]
    stale = {key: mark(codec, g["about"]["commit"]) for key, codec in g.get("speaks", {}).items()}
    everywhere = stale.get("*", "")
    head = [c + (stale.get(c) or (everywhere if i else "")) for i, c in enumerate(g["columns"])]
    rows = [[cell(c) + (stale.get(c, "") if i == 0 and isinstance(c, str) and c not in g["columns"] else "") for i, c in enumerate(row)] for row in g["rows"]]
    about = g["about"]
    copy = f", which copies {about['memcpy']} GB/s" if "memcpy" in about else ""
    said = f"{about['date']}, {about['machine']}{copy}, commit {about['commit']}: {about['command']}."
    return table(head, rows) + ("" if g.get("silent") else "\n\n" + prose(said))


def climate():
    """What ClimateBenchPress measures, on fields that are near its own. Means are over those that every codec takes."""
    source = Results("climate", ("field", "level", "codec"))
    every, rows = list(source.rows.values()), []
    bad = {r["field"] for r in every if "failed" in r}
    for level, codec in dict.fromkeys((r["level"], r["codec"]) for r in every):
        of = [r for r in every if (r["level"], r["codec"]) == (level, codec)]
        good = [r for r in of if r["field"] not in bad]
        stale = "".join({mark(codec, source.commit(r)) for r in of})
        figures = [number(geometric_mean(r["ratio"] for r in good))]
        figures += [f"{math.fsum(r[f] for r in good) / len(good):.{d}f}" for f, d in (("psnr", 1), ("dssim", 4))]
        figures.append(f"{geometric_mean(r['spectral'] for r in good):.1e}")
        rows.append([level, shown(codec) + stale, *figures, f"{sum(r.get('kept', False) for r in of)} of {len(of)}"])
    run = list(source.runs.values())[-1]
    names = listed(dict.fromkeys(r["field"] for r in every if r["field"] not in bad))
    about = f"Means over {names}. Bounds were also tried on {listed(sorted(bad))}. {run['date']}, {run['machine']}, commit {run['commit']}."
    head = ["bound", "codec", "ratio", "PSNR", "DSSIM", "spectral error", "bound kept"]
    return table(head, said_once(rows, 1)) + "\n\n" + prose(about)


def story():
    """Ratio, bytes and figures of the story's field at three bounds with three profiles."""
    source = Results("story", ("bound", "profile"))
    rows = []
    for r in source.rows.values():
        stale = mark(r["profile"], source.commit(r))
        size = [f"`{r['profile']}`{stale}", str(r["bytes"]), number(r["ratio"])]
        waves = number(r["waves"]) if r["waves"] else "none"
        rows.append([bound_name(r["bound"]), *size, f"{r['error']:.3f}", f"{r['psnr']:.1f}", f"{r['ssim']:.5f}", waves])
    head = ["bound", "profile", "bytes", "ratio", "largest error / bound", "PSNR", "SSIM", "waves lost, values"]
    return table(head, said_once(rows, 1))


BEGIN, END = re.compile(r"<!-- report: (.*?) -->\n"), "<!-- end of report -->\n"
PAGES = ("README.md", "docs/performance.md", "docs/lossless.md", "docs/guide/gpu.md", "docs/guide/zarr.md", "docs/guide/story.md")


def blocks():
    """What may stand in a page, by name."""
    compared, memory = Compared(), Memory()
    names = ("setting", "by_bound", "better", "lossless_means", "lossless_better", "readme")
    own = {name.replace("_", " "): getattr(compared, name) for name in names}
    more = {"processors": memory.processors, "aims": memory.aims, "hdf5": lambda: Hdf5().table(), "climate": climate, "story": story}
    return {**own, **more}


def made(text, known):
    """The page with its blocks as the results make them."""
    parts, at = [], 0
    for begin in BEGIN.finditer(text):
        end = text.index(END, begin.end())
        name = begin[1]
        block = grid(*name.split(": ", 1)) if ": " in name else known[name]()
        parts += [text[at : begin.end()], "\n", block, "\n\n"]
        at = end
    return "".join(parts) + text[at:]


def without_marks(text):
    return text.replace(MARK, "")
