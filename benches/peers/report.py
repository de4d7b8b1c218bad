"""The results as a page of tables and a plot."""

import datetime
import os
import platform
import textwrap

import numpy as np

from filters import LOSSLESS


def machine():
    """The processor's name and the cores that this process may use."""
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as f:
            name = next(line.split(":", 1)[1].strip() for line in f if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return name, len(os.sched_getaffinity(0))


def geometric_mean(values):
    return float(np.exp(np.mean(np.log(values)))) if len(values) else float("nan")


def number(x):
    """Three significant figures."""
    if not np.isfinite(x):
        return "–"
    return f"{x:.0f}" if x >= 99.5 else f"{x:.3g}" if x >= 1 else f"{x:.3f}"


def bound_name(bound):
    return "lossless" if bound == LOSSLESS else f"{bound:.0e}".replace("e-0", "e-")


def verdict(results):
    """What a codec did to its bound over {(field, bound): answer}."""
    failed = {f for (f, _), r in results.items() if isinstance(r, str)}
    lost = {f for (f, _), r in results.items() if not isinstance(r, str) and np.isinf(r[1])}
    worst = max(((r[1], f, b) for (f, b), r in results.items() if not isinstance(r, str) and np.isfinite(r[1])), default=None)
    notes = []
    if worst and worst[0] > 1:
        broken = {f for (f, _), r in results.items() if not isinstance(r, str) and 1 < r[1] < np.inf}
        notes.append(f"**BROKEN** on {', '.join(sorted(broken))}: up to {number(worst[0])} × bound")
    if lost:
        notes.append(f"**BROKEN**: NaN, infinities or bits lost on {', '.join(sorted(lost))}")
    if failed:
        why = sorted({r for r in results.values() if isinstance(r, str)})
        notes.append(f"fails on {', '.join(sorted(failed))} ({'; '.join(why)})")
    return "; ".join(notes) or "kept"


class Report:
    """Collects what was measured and writes `peers.md` and `peers.png`."""

    def __init__(self, fields, bounds, speed_bound, versions, memcpy):
        self.fields, self.bounds, self.speed_bound = fields, bounds, speed_bound
        self.versions, self.memcpy = versions, memcpy
        self.ratios = {}  # (codec, field, bound): (ratio, error / bound) or a reason
        self.speeds = {}  # (codec, field, bound): (compress, decompress, …) × memcpy or a reason
        self.hdf5 = {}  # (codec, field, bound, chunk bytes): (write, read) × no filter or a reason
        self.library = {}  # (profile, field, bound, threads): (compress × memcpy, GB/s, decompress × memcpy, GB/s)

    def classes(self):
        """The real fields by element type, and each synthetic one alone."""
        groups = {}
        for field in self.fields:
            name = field.name if field.name == "turbulence" else f"real fields, {field.dtype}"
            groups.setdefault(name, []).append(field)
        return groups

    def codecs(self, bound):
        return list(dict.fromkeys(c for (c, _, b) in self.ratios if b == bound))

    def mean(self, table, codec, fields, bound, place):
        """Geometric mean over the fields without a fill value on which the codec worked; its text says if some are missing."""
        counted = [f for f in fields if not f.has_fill]
        values = [table.get((codec, f.name, bound), "") for f in counted]
        good = [v[place] for v in values if not isinstance(v, str)]
        return geometric_mean(good), number(geometric_mean(good)) + ("" if len(good) == len(counted) else "†")

    def table(self, head, rows):
        lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
        return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])

    def bounded_table(self, fields):
        some = self.bounds[0]
        head = ["filter"] + [bound_name(b) for b in self.bounds]
        head += [f"compress ×memcpy at {bound_name(self.speed_bound)}", "decompress", "bound"]
        rows = []
        for codec in self.codecs(some):
            row = [codec] + [self.mean(self.ratios, codec, fields, b, 0)[1] for b in self.bounds]
            row += [self.mean(self.speeds, codec, fields, self.speed_bound, i)[1] for i in (0, 1)]
            names = {f.name for f in fields}
            found = {(f, b): r for (c, f, b), r in self.ratios.items() if c == codec and f in names and b != LOSSLESS}
            rows.append(row + [verdict(found)])
        return self.table(head, rows)

    def lossless_table(self, fields):
        rows = []
        for codec in self.codecs(LOSSLESS):
            row = [codec, self.mean(self.ratios, codec, fields, LOSSLESS, 0)[1]]
            row += [self.mean(self.speeds, codec, fields, LOSSLESS, i)[1] for i in (0, 1)]
            names = {f.name for f in fields}
            found = {(f, b): r for (c, f, b), r in self.ratios.items() if c == codec and f in names and b == LOSSLESS}
            said = verdict(found)
            rows.append(row + ["exact" if said == "kept" else said])
        return self.table(["filter", "ratio", "compress ×memcpy", "decompress", "bits"], rows)

    def hdf5_table(self):
        if not self.hdf5:
            return ""
        columns = list(dict.fromkeys((f, size) for (_, f, _, size) in self.hdf5))
        head = ["filter", "bound"]
        for f, size in columns:
            head += [f"{f}, {size >> 20} MiB: write", "read"]
        rows = []
        for codec, bound in dict.fromkeys((c, b) for (c, _, b, _) in self.hdf5):
            row = [codec, bound_name(bound)]
            for f, size in columns:
                answer = self.hdf5.get((codec, f, bound, size), "")
                row += ["–", "–"] if isinstance(answer, str) else [number(answer[0]), number(answer[1])]
            rows.append(row)
        return self.table(head, rows)

    def library_table(self):
        head = ["profile", "field", "bound", "threads", "compress ×memcpy", "GB/s", "decompress ×memcpy", "GB/s"]
        rows = []
        for (profile, f, bound, threads), answer in self.library.items():
            figures = [np.nan] * 4 if isinstance(answer, str) else answer
            rows.append([profile, f, bound_name(bound), str(threads), *map(number, figures)])
        return self.table(head, rows)

    def detail_table(self):
        """Ratio of every field at the bound of the speeds."""
        codecs = self.codecs(self.speed_bound)
        rows = []
        for f in self.fields:
            row = [f.name, f.dtype]
            for codec in codecs:
                answer = self.ratios.get((codec, f.name, self.speed_bound), "–")
                broken = not isinstance(answer, str) and answer[1] > 1
                row.append(answer if isinstance(answer, str) else number(answer[0]) + (" BROKEN" if broken else ""))
            rows.append(row)
        return self.table(["field", "type"] + codecs, rows)

    def markdown(self, plot_name):
        cpu, cores = machine()
        fill = [f.name for f in self.fields if f.has_fill]
        parts = [
            "# SLEEK and other HDF5 filters on the same fields",
            f"Written by `make peers` on {datetime.date.today().isoformat()}: {cpu}, {cores} cores, load average "
            f"{os.getloadavg()[1]:.1f} (above the cores, all speeds suffer); one core's memcpy of 64 MiB {self.memcpy / 1e9:.1f} GB/s; {self.versions}.",
            textwrap.dedent(
                f"""\
                How it is measured:

                - Ratio and error: each field as one HDF5 dataset in chunks of whole planes of at most 4 MiB, written and read back through
                  h5py; bytes of the array / bytes of the dataset. Means are geometric, over the fields of a class. Bounds are absolute: the
                  stated part of the field's value range. The error is the largest |v − r| of all finite values; NaN and infinities have to
                  come back bit for bit. † a mean without the fields on which the filter fails.
                - Speed ×memcpy: the filter's call-back called directly on malloc'ed 4 MiB chunks, as HDF5 does, of the field repeated to 64 MiB;
                  one thread, CPU time, against a plain copy measured just before in the same process; medians of interleaved rounds.
                - Every measurement is a forked child with a time limit, since some filters die or hang on some inputs.
                {"- " + ", ".join(fill) + " holds a fill value far outside its range. It counts for the bound column but not for the means; its range is taken without the fill." if fill else ""}"""
            ).strip(),
        ]
        for name, fields in self.classes().items():
            listed = ", ".join(f.name for f in fields)
            parts += [f"## {name[0].upper()}{name[1:]}", f"{len(fields)}: {listed}." if len(fields) > 1 else ""]
            parts += [f"Error-bounded: ratio at bounds of … × value range, and speed.", self.bounded_table(fields)]
            parts += ["Lossless:", self.lossless_table(fields)]
        parts += [f"![ratio against speed]({plot_name})"]
        if self.library:
            parts += [
                "## SLEEK as a library",
                "`sleek_compress` and `sleek_decompress` on a whole array in memory, wall time, against one core's memcpy.",
                self.library_table(),
            ]
        if self.hdf5:
            parts += [
                "## Through HDF5, against no filter",
                "H5Dwrite with the closing of the file, and H5Dread, on a file in memory; 1 is the speed without a filter, measured just before. "
                "One thread, CPU time. On a disk slower than memory every filter looks better than here.",
                self.hdf5_table(),
            ]
        parts += [f"## Ratio of each field at {bound_name(self.speed_bound)}", self.detail_table()]
        return "\n\n".join(p for p in parts if p) + "\n"

    def plot(self, path):
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt

        groups = self.classes()
        columns = [(bound, place) for bound in (self.speed_bound, LOSSLESS) for place in (0, 1)]
        figure, axes = plt.subplots(len(groups), len(columns), figsize=(16, 3.6 * len(groups)), squeeze=False)
        for row, (name, fields) in zip(axes, groups.items()):
            for axis, (bound, place) in zip(row, columns):
                for codec in self.codecs(bound):
                    x = self.mean(self.speeds, codec, fields, bound, place)[0]
                    y = self.mean(self.ratios, codec, fields, bound, 0)[0]
                    if np.isfinite(x) and np.isfinite(y):
                        colour = "#c0392b" if codec.startswith("SLEEK") else "#5d6d7e"
                        axis.scatter(x, y, color=colour)
                        axis.annotate(codec, (x, y), (5, 5), textcoords="offset points", fontsize=7, color=colour)
                way = ("compress", "decompress")[place]
                kind = "lossless" if bound == LOSSLESS else f"bound {bound_name(bound)} × range"
                axis.set_xscale("log")
                axis.set_title(f"{name}, {kind}", fontsize=9)
                axis.set_xlabel(f"{way} speed / memcpy, one thread", fontsize=8)
                axis.set_ylabel("ratio", fontsize=8)
                axis.grid(alpha=0.3, which="both")
                axis.margins(0.2)
        figure.tight_layout()
        figure.savefig(path, dpi=80)
