"""Draws the figures of the demo.

usage: plot.py FILE.png < FIGURES.json      plot.py --check: can it draw?
"""

import json
import sys

INK = "#1f2933"
MUTED = "#5f6c7b"
GRID = "#e3e8ee"
COLOURS = {
    "none": "#9aa5b1",
    "rocksdb-bloom": "#6b8fc9",
    "rocksdb-ribbon": "#8d79c4",
}
OURS = ["#d9622b", "#a8431a", "#e8935f"]

# Title, key in the JSON file, factor, and how a value is written.
PANELS = [
    ("Data-block reads per lookup\nof an absent key",
     "absent_data_block_reads_per_lookup", 1, "{:.3f}"),
    ("Microseconds per lookup\nof an absent key",
     "absent_micros_per_lookup", 1, "{:.1f}"),
    ("False positives\nper filter asked", "false_positive_rate", 100,
     "{:.2f} %"),
    ("Filter bits stored\nper key", "bits_per_key", 1, "{:.2f}"),
]


def colours(filters):
    ours = iter(OURS)
    return [COLOURS.get(name) or next(ours, OURS[-1]) for name in filters]


def draw_panel(axes, title, filters, values, form):
    """One bar per filter from top to bottom, its value at the bar's end."""
    top = max((value for value in values if value is not None), default=0) or 1
    rows = range(len(filters))
    axes.barh(rows, [value or 0 for value in values], height=0.62,
              color=colours(filters), zorder=2)
    for row, value in zip(rows, values):
        text = "no filter" if value is None else form.format(value)
        axes.text((value or 0) + top * 0.02, row, text, va="center",
                  fontsize=9.5, color=MUTED if value is None else INK)
    axes.set_xlim(0, top * 1.3)
    axes.set_yticks(list(rows))
    axes.set_yticklabels(filters, fontsize=10, color=INK)
    axes.invert_yaxis()
    axes.set_title(title, loc="left", fontsize=11, color=INK, pad=10)
    axes.xaxis.set_major_locator(matplotlib.ticker.MaxNLocator(5))
    axes.tick_params(axis="x", colors=MUTED, labelsize=8.5, length=0)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=GRID, zorder=0)
    for side in ("top", "right", "bottom"):
        axes.spines[side].set_visible(False)
    axes.spines["left"].set_color(MUTED)


def draw(document, path):
    runs = document["runs"]
    filters = [run["filter"] for run in runs]
    figure, grid = pyplot.subplots(
        2, 2, figsize=(10, 2.6 + 0.75 * len(runs)), dpi=150)
    figure.suptitle(
        "What a filter saves: {:,} keys in RocksDB, one database per filter"
        .format(runs[0]["keys"]),
        x=0.02, ha="left", fontsize=13, fontweight="bold", color=INK)
    for axes, (title, key, factor, form) in zip(grid.flat, PANELS):
        values = [run[key] for run in runs]
        if key == "bits_per_key":
            values = [value or None for value in values]
        values = [None if value is None else value * factor for value in values]
        draw_panel(axes, title, filters, values, form)
    figure.tight_layout(rect=(0.01, 0, 1, 0.97), h_pad=2.2, w_pad=2.5)
    figure.savefig(path, format="png")


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: plot.py FILE.png < FIGURES.json")
    if sys.argv[1] != "--check":
        draw(json.load(sys.stdin), sys.argv[1])


try:
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
except ImportError as error:
    sys.exit(f"cannot draw: {error}")

if __name__ == "__main__":
    main()
