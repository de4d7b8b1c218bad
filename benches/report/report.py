"""All tables and plots of the pages, from docs/results/*.json, and what measures these. `make report` runs it.

    report.py ratios                  ratio, largest error and PSNR of every codec on every field: docs/results/ratios.json
    report.py speeds [--rounds N]     speed beside a copy: docs/results/speeds.json; on a quiet machine
    report.py climate                 the figures of ClimateBenchPress on the nearest fields: docs/results/climate.json
    report.py shapes                  profile small on odd shapes and with missing values: docs/results/cpu.json
    report.py story                   docs/guide/story.md: a field at three bounds with three profiles, by the command, and its pictures
    report.py memory JSON             a processor's row from what `cargo bench --bench cpu -- --json` wrote: docs/results/memory.json
    report.py small TABLE             small arrays, of the table that `cargo bench --bench small` printed: docs/results/cpu.json
    report.py hdf5 PROGRAM [--quick]  HDF5 on a RAM disk by the program of benches/hdf5/ram.c: docs/results/hdf5.json
    report.py plots                   the plots, which need matplotlib
    report.py pages                   the tables and sentences of the pages; needs Python alone
    report.py check                   fails where a page or a plot is not what the results make; as for pages

Fields are those of SLEEK_DATA (else tests/data), of SLEEK_SIM if it is set, and of heldout.py. With --quick few fields and bounds
are measured. Then, and without SLEEK_DATA, results go to build/report/results, of which no page is made. With --seconds N `ratios` and `speeds` end then, and
the same call goes on with the fields of which this commit has no rows. With --only they measure some codecs.
"""

import argparse
import itertools
import json
import os
import pathlib
import sys
import time

import results
from results import Results

BOUNDS = [1e-1, 1e-2, 1e-3, 1e-4, 1e-6]
SPEED_BOUND, LOSSLESS = 1e-3, 0.0
SLOW = ("pcodec 12", "zstd -19 + shuffle", "SPERR", "SZ3 of hdf5plugin")  # one round is enough of what takes the most time
DOCS = results.ROOT / "docs"
BUILD = results.ROOT / "build/report"
MEMORY_KEY = ("machine", "level", "type", "profile", "bound", "mib")
KEY = ("class", "field", "type", "codec", "bound")

started = time.monotonic()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["ratios", "speeds", "climate", "shapes", "story", "memory", "small", "hdf5", "plots", "pages", "check"])
    parser.add_argument("file", nargs="?", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--only", help="codecs, separated by commas")
    return parser.parse_args()


def progress(text):
    print(f"{time.monotonic() - started:5.0f} s  {text}", file=sys.stderr, flush=True)


def opened(name, quick, key=KEY):
    """The results that pages are made of; of a quick run, or without the large fields, others, which are thrown away."""
    return Results(name, key, BUILD / "results" if quick or "SLEEK_DATA" not in os.environ else None)


def fields(quick):
    import fields as inputs

    data = os.environ.get("SLEEK_DATA", results.ROOT / "tests/data")
    found = inputs.everything(data, os.environ.get("SLEEK_SIM"), BUILD / "heldout")
    if quick:
        found = list({(f.where, f.dtype): f for f in found if f.data.nbytes < 4 << 20 and f.fill is None}.values())
    return found


def key_of(field, codec, bound):
    return {"class": field.where, "field": field.name, "type": field.dtype, "codec": codec, "bound": bound}


def row(key, answer):
    return {**key, **({"failed": answer} if isinstance(answer, str) else answer)}


def measured(a, name, command, cases_of, figures_of):
    """Rows of every field, a field at a time; what is written is complete up to the last field. Returns our own bounds that broke."""
    import peers

    kept, about = opened(name, a.quick), results.this_run(command, versions=peers.versions())
    broken = []
    for field in fields(a.quick):
        cases = [case for case in cases_of(field) if not a.only or case[0] in a.only.split(",")]
        keys = [key_of(field, codec, bound) for codec, _, bound in cases]
        if a.seconds and all((known := kept.rows.get(kept.of(k))) and kept.commit(known) == about["commit"] for k in keys):
            continue
        if a.seconds and time.monotonic() - started > a.seconds:
            sys.exit("there is more: the same command again")
        progress(f"{name}: {field.name}")
        rows = [row(key, answer) for key, answer in zip(keys, figures_of(cases))]
        broken += [str(r) for r in rows if r["codec"] in peers.OURS and ("failed" in r or r.get("error", 0) > 1)]
        kept.add(rows, about)
    return broken


def ratios(a):
    import measure
    import peers

    bounds = [1e-2, SPEED_BOUND, LOSSLESS] if a.quick else [*BOUNDS, LOSSLESS]
    broken = measured(
        a,
        "ratios",
        "make report",
        lambda field: [(codec, field, bound) for bound in bounds for codec in peers.of_bound(bound)],
        lambda cases: [measure.in_child(measure.quality, *case) for case in cases],
    )
    if broken:
        sys.exit("\n".join(broken))


def speeds(a):
    import measure
    import peers

    broken = measured(
        a,
        "speeds",
        "make report-speeds",
        lambda field: [(codec, field, bound) for bound in (SPEED_BOUND, LOSSLESS) for codec in peers.of_bound(bound)],
        lambda cases: measure.rounds_of(measure.speed, cases, 1 if a.quick else a.rounds, SLOW).values(),
    )
    if broken:
        sys.exit("\n".join(broken))


def memory(a):
    """A processor's rows: geometric means over the fields."""
    from tables import geometric_mean

    found, rows = json.loads(a.file.read_text()), []
    name, cores = results.machine().rsplit(", ", 1)
    names = ("level", "dtype", "profile", "bound", "mib")
    for key in dict.fromkeys(tuple(r[n] for n in names) for r in found):
        of = [r for r in found if tuple(r[n] for n in names) == key]
        level, kind, profile, bound, mib = key
        one = {"machine": name, "level": level, "type": kind, "profile": profile, "bound": bound, "mib": mib}
        one |= {to: geometric_mean(r[f] for r in of) for to, f in (("memcpy",) * 2, ("compress", "compress_memcpy"), ("decompress", "decompress_memcpy"))}
        rows.append(one)
    Results("memory", tuple(MEMORY_KEY)).add(rows, results.this_run("cargo bench --bench cpu"))


def small(a):
    """Speeds of small arrays on one thread, from the table that `cargo bench --bench small` printed."""
    import gpu

    cells = [row for row in gpu.rows(a.file.read_text()) if row[1] == "small"]
    speeds = {(row[0].rsplit(".", 1)[-1], row[2]): [float(row[k].split()[0]) for k in (3, 5)] for row in cells}
    rows = [[kib, *speeds["f32", kib], *speeds["f64", kib]] for kib in ("16384", "1024", "64", "16", "4", "1")]
    about = results.this_run("`cargo bench --bench small -- --profile small`")
    columns = ["KiB", "f32 compress", "decompress", "f64 compress", "decompress"]
    results.save_grid("cpu", "small arrays", {"about": about, "speaks": {"*": "small"}, "columns": columns, "rows": rows})


def hdf5(a):
    import hdf5 as through
    import peers

    real = [f for f in fields(a.quick) if f.where == "real"]
    about = results.this_run("make report REPORT=hdf5", versions=peers.versions())
    kept = opened("hdf5", a.quick, ("language", "codec", "bound", "chunk", "threads"))
    kept.add(through.rows(real, SPEED_BOUND, str(a.file.resolve()), a.quick, progress), about)


def climate(a):
    import climate as bench
    import measure
    import numpy as np
    import peers

    kept, about = opened("climate", a.quick, ("field", "level", "codec")), results.this_run("make report", versions=peers.versions())
    found = bench.fields(os.environ.get("SLEEK_DATA", results.ROOT / "tests/data"))
    for name, values in itertools.islice(found, 1 if a.quick else None):
        progress(f"climate: {name}")
        rows = []
        for level, part in bench.LEVELS.items():
            bound = part * float(np.nanmax(values) - np.nanmin(values))
            for codec in bench.codecs(values, bound):
                answer = measure.in_child(bench.figures, values, codec, bound)
                rows.append({"field": name, "level": level, "codec": codec, **({"failed": answer} if isinstance(answer, str) else answer)})
        kept.add(rows, about)


def shapes(_):
    import shapes as bench

    bench.measure()


def story(_):
    import story as bench

    bench.measure()


def plots(_):
    from plot import PLOTS, draw
    from tables import Compared

    for name in PLOTS:
        draw(name, Compared(), DOCS / f"{name}.svg")


def pages(_):
    import tables

    known = tables.blocks()
    for name in tables.PAGES:
        path = results.ROOT / name
        text = path.read_text()
        if (new := tables.made(text, known)) != text:
            path.write_text(new)


def check(_):
    """Marks count where the history is there to tell them."""
    import tables

    known, stale = tables.blocks(), []
    history = all(results.changed(codec, "HEAD") is not None for codec in results.PATHS)
    for name in tables.PAGES:
        text = (results.ROOT / name).read_text()
        new = tables.made(text, known)
        if (new != text) if history else (tables.without_marks(new) != tables.without_marks(text)):
            stale.append(f"{name} is not what docs/results make: python3 benches/report/report.py pages")
    for name in ("speed", "distortion"):
        if f"<!-- {tables.Compared().digest()} -->" not in (DOCS / f"{name}.svg").read_text()[:2000]:
            stale.append(f"docs/{name}.svg is not drawn from docs/results: make report-plots")
    sys.exit("\n".join(stale) or None)


def main():
    a = arguments()
    globals()[a.what](a)


if __name__ == "__main__":
    main()
