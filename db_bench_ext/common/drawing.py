"""Figures in one style, drawn by matplotlib without a display."""

import io
import re

import matplotlib

matplotlib.use("Agg")
matplotlib.rcParams["svg.fonttype"] = "path"
matplotlib.rcParams["svg.hashsalt"] = "deltabloom"
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.ticker import FormatStrFormatter, LogLocator, NullLocator  # noqa: E402

from common import whole_file  # noqa: E402
from common.colours import INK  # noqa: E402

DOTS_PER_INCH = 110


def figure(rows, columns, width, height, **options):
    """A figure of `width` by `height` inches and the list of its axes."""
    made, axes = plt.subplots(rows, columns, figsize=(width, height), squeeze=False, **options)
    return made, list(axes.flat)


def tidy(axes, grid=True):
    """No frame but the two axes, and a grid behind the figures."""
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


def margins(made, left, right, bottom, top):
    """Leaves so many inches around the axes. To let matplotlib find them takes
    as long as to draw."""
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
    text = out.getvalue()
    # The metadata says which matplotlib drew it, with addresses.
    return re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)


def write_png(made, path):
    whole_file.write(path, as_png(made))
