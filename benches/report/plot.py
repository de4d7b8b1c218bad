"""The plots of the pages: PSNR against bits a value, and ratio against speed, bounded on the left and lossless on the right."""

import io
import math
import re

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator
from matplotlib.transforms import Bbox

from tables import LOSSLESS, PROFILES, SPEED_BOUND, bound_name

plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "sleek", "font.family": "DejaVu Sans"})
# Of the palette of Okabe and Ito, which people with any kind of colour blindness can tell apart.
OURS, PEER, GREY = "#d55e00", "#0072b2", "#767676"
MARKERS = {"compress": "o", "decompress": ">"}
GAP = 4  # pixels between a label and what is beside it


def plain(x, _):
    return f"{x:g}"


def dumbbell(axis, codec, ratio, speeds, kept):
    """Both speeds of a codec, joined."""
    colour = OURS if codec in PROFILES else PEER
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
    marks = [("o", GREY, "compress"), (">", GREY, "decompress"), ("s", OURS, "Sleek"), ("s", PEER, "others")]
    mark = dict(linestyle="", markersize=7)
    handles = [plt.Line2D([], [], marker=m, color=c, label=text, **mark) for m, c, text in marks]
    broken = "hollow: bound broken"
    handles.append(plt.Line2D([], [], marker="o", color=GREY, markerfacecolor="white", label=broken, **mark))
    handles.append(plt.Line2D([], [], linestyle="--", color=GREY, linewidth=1, label="a copy"))
    spacing = dict(columnspacing=1.4, handletextpad=0.4)
    figure.legend(handles=handles, loc="upper center", ncol=len(handles), fontsize=10, frameon=False, **spacing)


def speed(compared):
    """Ratio against speed, for each class of fields that has speeds."""
    groups = [g for g in compared.classes if g[0] != "simulated" and math.isfinite(compared.mean(g, "small", SPEED_BOUND, "compress"))][:3]
    size = (11, 3.3 * len(groups) + 0.5)
    figure, axes = plt.subplots(len(groups), 2, figsize=size, squeeze=False, sharex=True, dpi=72)  # as SVG counts, since labels are placed by pixels
    axes[0, 0].set_xscale("log")
    axes[0, 0].set_xlim(0.0002, 4)
    panels = []
    for row, group in zip(axes, groups):
        for axis, bound in zip(row, (SPEED_BOUND, LOSSLESS)):
            bells = []
            for codec in compared.codecs(bound):
                figures = [compared.mean(group, codec, bound, f) for f in ("ratio", *MARKERS)]
                if np.all(np.isfinite(figures)) and not compared.fails(group, codec, bound):
                    bells.append(dumbbell(axis, codec, figures[0], figures[1:], compared.keeps(group, codec, bound)))
            if bells:
                scales(axis, bells, bound != LOSSLESS)
            how = "lossless" if bound == LOSSLESS else f"bound {bound_name(bound)} × range"
            axis.set_title(f"{', '.join(group)}: {how}", fontsize=11)
            panels.append((axis, bells))
        row[0].set_ylabel("ratio", fontsize=10)
    for axis in axes[-1]:
        axis.set_xlabel("speed of one core, × memcpy", fontsize=10)
    legend(figure)
    figure.tight_layout(rect=(0, 0, 1, 1 - 0.35 / size[1]), h_pad=1.6, w_pad=1.6)
    figure.canvas.draw()
    for axis, bells in panels:
        label(axis, bells)
    return figure


def distortion(compared):
    """PSNR against bits a value, a line for each codec that takes all fields of a class, a panel for each class."""
    figure, axes = plt.subplots(2, 3, figsize=(11, 6.6))
    codecs = compared.codecs(SPEED_BOUND)
    peers = [c for c in codecs if c not in PROFILES]
    dashes = dict(zip(PROFILES, ("-", "--", ":")))
    colours = dict(zip(peers, plt.get_cmap("tab10").colors[:1] + plt.get_cmap("tab10").colors[2:3] + plt.get_cmap("tab10").colors[4:]))
    for axis, group in zip(axes.flat, compared.classes):
        for codec in codecs:
            points = compared.curve(group, codec)
            if points and not any(compared.fails(group, codec, b) for b in compared.bounds):
                style = dict(color=OURS, linewidth=2, zorder=3) if codec in PROFILES else dict(color=colours[codec], linewidth=1.2)
                axis.plot(*zip(*points), dashes.get(codec, "-"), marker="o", markersize=3.5, label=codec, **style)
        axis.set_xscale("log")
        axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.xaxis.set_major_formatter(FuncFormatter(plain))
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.grid(alpha=0.25)
        axis.set_title(", ".join(group), fontsize=11)
        axis.tick_params(labelsize=9)
        axis.set_xlabel("bits a value", fontsize=10)
    for row in axes:
        row[0].set_ylabel("PSNR, dB", fontsize=10)
    for axis in axes.flat[len(compared.classes) :]:
        axis.axis("off")
        named = {name: mark for a in axes.flat for mark, name in zip(*a.get_legend_handles_labels())}
        axis.legend(named.values(), named.keys(), loc="center", fontsize=10, frameon=False)
    figure.tight_layout()
    return figure


PLOTS = {"speed": speed, "distortion": distortion}


def draw(name, compared, path):
    """The plot as SVG, with what it was drawn from in a comment: so that a plot that is stale is found without drawing."""
    text = io.StringIO()
    PLOTS[name](compared).savefig(text, format="svg", metadata={"Date": None})
    path.write_text(re.sub(r"(<svg )", f"<!-- {compared.digest()} -->\n\\1", text.getvalue(), count=1))
