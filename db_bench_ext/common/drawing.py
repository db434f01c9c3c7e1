"""Figures in one style, drawn by matplotlib without a display."""

import io
import re

import matplotlib

matplotlib.use("Agg")
matplotlib.rcParams["svg.fonttype"] = "none"
matplotlib.rcParams["svg.hashsalt"] = "deltabloom"
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.ticker import (
    EngFormatter,
    FormatStrFormatter,
    LogLocator,
    MaxNLocator,
    NullLocator,
)  # noqa: E402

from common import whole_file  # noqa: E402
from common.colours import GRID, INK, MUTED, of_filter  # noqa: E402

DOTS_PER_INCH = 110


def figure(rows, columns, width, height, **options):
    """A figure of `width` by `height` inches and the list of its axes."""
    made, axes = plt.subplots(rows, columns, figsize=(width, height), squeeze=False, **options)
    return made, list(axes.flat)


def tidy(axes, grid=True):
    """No frame except the two axes, and a grid under the figures."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK)
    if grid:
        axes.grid(alpha=0.25)
        axes.set_axisbelow(True)


def logarithmic(axes, which, steps=(1, 2, 5)):
    """Makes axis "x" or "y" logarithmic: 1, 2, 5, 10, ... and nothing between,
    which would take most of the time to draw."""
    getattr(axes, f"set_{which}scale")("log")
    axis = getattr(axes, f"{which}axis")
    axis.set_major_locator(LogLocator(subs=steps))
    axis.set_major_formatter(FormatStrFormatter("%g"))
    axis.set_minor_locator(NullLocator())


THOUSANDS = EngFormatter(sep="")


def tick(value, place=None):
    """0.3 and not 300m, but 150k."""
    return THOUSANDS(value) if abs(value) >= 1000 else f"{value:.6g}"


def filter_bars(axes, names, values, label, errors=None):
    """Draws one bar per filter from top to bottom, `label` of its value at its end,
    on a linear axis that begins at 0. If the bar of "none" dwarfs all others, it
    is cut, with a mark, and the axis is that of the filters. A value of None has
    no bar."""
    errors = errors or [0] * len(names)
    known = [value for value in values if value is not None]
    filters = [value for name, value in zip(names, values) if name != "none" and value is not None]
    top = max(known, default=0) or 1
    cut = 0 < max(filters, default=0) < top / 4
    if cut:
        top = max(filters)
    furthest = top
    for row, (name, value, error) in enumerate(zip(names, values, errors)):
        end = value or 0
        missing = "no filter" if name == "none" else "-"
        text = missing if value is None else label(value)
        if cut and end > top:
            end, error, text = 1.05 * top, 0, f"{text}, bar cut"
            for place in (0.96, 0.99):
                slash = [place * end - 0.01 * top, place * end + 0.01 * top]
                axes.plot(slash, [row + 0.4, row - 0.4], color="white", lw=1.5, zorder=3)
        furthest = max(furthest, end + error)
        axes.barh(
            row, end, height=0.62, xerr=error or None, color=of_filter(name), ecolor=INK, zorder=2
        )
        axes.text(
            end + error + top * 0.02,
            row,
            text,
            va="center",
            fontsize=9.5,
            color=MUTED if value is None else INK,
        )
    axes.set_xlim(0, 1.5 * furthest)
    axes.set_yticks(range(len(names)), names, fontsize=10, color=INK)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(tick)
    tidy(axes, grid=False)
    axes.tick_params(axis="x", colors=MUTED, labelsize=8.5, length=0)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=GRID, zorder=0)
    axes.spines["bottom"].set_visible(False)
    axes.spines["left"].set_color(MUTED)


def margins(made, left, right, bottom, top):
    """Sets the margins in inches. Letting matplotlib find them takes as long as
    drawing."""
    width, height = made.get_size_inches()
    made.subplots_adjust(left / width, bottom / height, 1 - right / width, 1 - top / height)


def as_png(made):
    out = io.BytesIO()
    made.savefig(out, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})
    plt.close(made)
    return out.getvalue()


def as_svg(made):
    """Text that can stand in a page, the same whenever it is drawn."""
    out = io.StringIO()
    made.savefig(out, format="svg", metadata={"Date": None})
    plt.close(made)
    text = re.sub(r"<metadata>.*?</metadata>", "", out.getvalue(), flags=re.DOTALL)
    return text[text.index("<svg") :]


def write_png(made, path):
    whole_file.write(path, as_png(made))
