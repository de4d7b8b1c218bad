"""The plot of `gpu bench`: speed against ratio, beside the most that the traffic allows.

    python3 tests/gpu/plot.py TABLES.md PLOT.png        needs matplotlib
"""

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

COLOURS = {"fast": "tab:orange", "adaptive": "tab:blue"}


def rows(path):
    """Profile, ratio, compress and decompress of each row of the first table."""
    for line in open(path, encoding="utf-8"):
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        if len(cells) == 9 and cells[2] in COLOURS:
            yield cells[2], float(cells[3]), float(cells[4]), float(cells[7])


def main(tables, plot):
    points = list(rows(tables))
    ratios = [1.02**i for i in range(330)]
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True)
    for axis, title, column in ((axes[0], "compress", 2), (axes[1], "decompress", 3)):
        axis.plot(ratios, [2 / (1 + 1 / r) for r in ratios], color="0.6", label="2 / (1 + 1/ratio)")
        axis.axhline(1, color="0.8", linewidth=0.8)
        for profile, colour in COLOURS.items():
            chosen = [p for p in points if p[0] == profile]
            axis.scatter([p[1] for p in chosen], [p[column] for p in chosen], s=12, color=colour, label=profile)
        axis.set_xscale("log")
        axis.set_xlabel("compression ratio")
        axis.set_title(title)
    axes[0].set_ylabel("× device-to-device copy")
    axes[0].set_ylim(0, 2.1)
    axes[0].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(plot, dpi=110)


main(*sys.argv[1:])
