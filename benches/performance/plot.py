"""Ratio against speed as a picture: a row for each class of fields, bounded on the left and lossless on the right."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator
from matplotlib.transforms import Bbox

from report import LOSSLESS, bound_name

# Of the palette of Okabe and Ito, which people with any kind of colour blindness can tell apart.
OURS, PEER, GREY = "#d55e00", "#0072b2", "#767676"
MARKERS = {"compress": "o", "decompress": ">"}
GAP = 4  # pixels between a label and what is beside it


def plain(x, _):
    return f"{x:g}"


def dumbbell(axis, codec, ratio, speeds, kept):
    """Both speeds of a codec, joined."""
    colour = OURS if codec.startswith("SLEEK") else PEER
    axis.plot(speeds, [ratio, ratio], color=colour, linewidth=1.4, alpha=0.55, zorder=2)
    for speed, marker in zip(speeds, MARKERS.values()):
        inside = colour if kept else "white"
        axis.plot(speed, ratio, marker, color=colour, markerfacecolor=inside, markersize=7, zorder=3)
    return codec, colour, ratio, speeds


def scales(axis, bells, bounded):
    ratios = [ratio for _, _, ratio, _ in bells]
    least, most = min(ratios), max(ratios)
    if bounded:
        axis.set_yscale("log")
        axis.set_ylim(least / 1.5, most * 1.5)
        axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5) if most > 4 * least else (1, 2, 3, 4, 5, 6, 7, 8)))
        axis.yaxis.set_minor_locator(NullLocator())
    else:
        room = 0.18 * (most - least) + 0.01
        axis.set_ylim(least - room, most + room)
        axis.yaxis.set_major_locator(MaxNLocator(6))
    axis.yaxis.set_major_formatter(FuncFormatter(plain))
    axis.xaxis.set_major_formatter(FuncFormatter(plain))
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.grid(alpha=0.25, which="major")
    axis.axvline(1, color=GREY, linewidth=1, linestyle="--", zorder=1)
    axis.tick_params(labelsize=10, labelbottom=True)


def places(left, right, y, width, height):
    """Where the label of a dumbbell may go, the best places first: above and below it, then beside it."""
    middle, mark = (left + right) / 2, 6
    above, below = y + mark, y - mark - GAP - height
    for low in (above, below):
        for x in (middle - width / 2, left - mark, right + mark - width):
            yield Bbox.from_bounds(x, low, width, height)
    for x in (right + mark + GAP, left - mark - GAP - width):
        yield Bbox.from_bounds(x, y - height / 2, width, height)
    for low in (above, below):
        for x in (right - mark, left + mark - width):
            yield Bbox.from_bounds(x, low, width, height)


def shared(a, b):
    """The area that two boxes have in common."""
    both = Bbox.intersection(a, b)
    return both.width * both.height if both else 0


def arrange(options):
    """One box for each label out of its options of (cost, box): the least sum of costs and of what labels hide."""
    best = [np.inf, None]
    least = [min(cost for cost, _ in own) for own in options]

    def place(chosen, cost):
        if cost + sum(least[len(chosen) :]) >= best[0]:
            return
        if len(chosen) == len(options):
            best[:] = cost, chosen
            return
        for own, box in options[len(chosen)]:
            hidden = sum(shared(box.padded(GAP / 2), other) for other in chosen)
            place([*chosen, box], cost + own + 10 * hidden)

    place([], 0)
    return best[1]


def label(axis, bells):
    """Names the dumbbells so that no name hides another or a mark, crosses the line of memcpy, or leaves the frame."""
    renderer = axis.figure.canvas.get_renderer()
    frame = axis.get_window_extent(renderer).padded(-GAP)
    taken = []
    for _, _, ratio, speeds in bells:
        (left, y), (right, _) = axis.transData.transform([(speed, ratio) for speed in speeds])
        taken.append((min(left, right), max(left, right), y))
    marks = [Bbox.from_bounds(left - 6, y - 5, right - left + 12, 10) for left, right, y in taken]
    memcpy = axis.transData.transform((1, 1))[0]
    obstacles = [*marks, Bbox.from_bounds(memcpy - 2, frame.y0, 4, frame.height)]
    texts, options = [], []
    for (codec, colour, _, _), (left, right, y) in zip(bells, taken):
        text = axis.text(0, 0, codec, fontsize=10, color=colour, transform=None, va="bottom", ha="left", zorder=4)
        size = text.get_window_extent(renderer)
        found = []
        for rank, box in enumerate(places(left, right, y, size.width, size.height)):
            outside = box.width * box.height - shared(box, frame)
            found.append((rank + 10 * outside + 10 * sum(shared(box, o) for o in obstacles), box))
        texts.append(text)
        options.append(sorted(found, key=lambda option: option[0])[:4])
    for text, box in zip(texts, arrange(options)):
        text.set_position((box.x0, box.y0))


def legend(figure):
    marks = [("o", GREY, "compress"), (">", GREY, "decompress"), ("s", OURS, "SLEEK"), ("s", PEER, "other filters")]
    mark = dict(linestyle="", markersize=7)
    handles = [plt.Line2D([], [], marker=m, color=c, label=text, **mark) for m, c, text in marks]
    broken = "hollow: bound broken, or fails on some field"
    handles.append(plt.Line2D([], [], marker="o", color=GREY, markerfacecolor="white", label=broken, **mark))
    handles.append(plt.Line2D([], [], linestyle="--", color=GREY, linewidth=1, label="memcpy"))
    spacing = dict(columnspacing=1.4, handletextpad=0.4)
    figure.legend(handles=handles, loc="upper center", ncol=len(handles), fontsize=10, frameon=False, **spacing)


def plot(report, path):
    groups = report.classes()
    size = (11, 3.3 * len(groups) + 0.5)
    figure, axes = plt.subplots(len(groups), 2, figsize=size, squeeze=False, sharex=True, dpi=100)
    axes[0, 0].set_xscale("log")
    axes[0, 0].set_xlim(0.0035, 20)
    panels = []
    for row, (name, fields) in zip(axes, groups.items()):
        for axis, bound in zip(row, (report.speed_bound, LOSSLESS)):
            bells = []
            for codec in report.codecs(bound):
                figures = [report.mean(codec, fields, bound, f) for f in ("ratio", *MARKERS)]
                if np.all(np.isfinite(figures)):
                    bells.append(dumbbell(axis, codec, figures[0], figures[1:], report.keeps(codec, fields, bound)))
            if bells:
                scales(axis, bells, bound != LOSSLESS)
            how = "lossless" if bound == LOSSLESS else f"bound {bound_name(report.speed_bound)} × value range"
            axis.set_title(f"{name}: {how}", fontsize=11)
            panels.append((axis, bells))
        row[0].set_ylabel("ratio", fontsize=10)
    for axis in axes[-1]:
        axis.set_xlabel("speed of one core, × memcpy", fontsize=10)
    legend(figure)
    figure.tight_layout(rect=(0, 0, 1, 1 - 0.35 / size[1]), h_pad=1.6, w_pad=1.6)
    figure.canvas.draw()
    for axis, bells in panels:
        label(axis, bells)
    figure.savefig(path, dpi=100)
