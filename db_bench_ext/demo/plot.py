#!/usr/bin/env python3
"""Draws the figures of the demo, and of the other presets but database.

usage: plot.py FILE.png < FIGURES.json"""

import functools
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from common import colours, drawing, terminal  # noqa: E402
from common.colours import INK  # noqa: E402

# Title, key in the JSON file, factor, and how a value is written.
PANELS = [
    (
        "Data-block reads per lookup\nof an absent key",
        "absent_data_block_reads_per_lookup",
        1,
        "{:.4f}",
    ),
    (
        "Data-block reads per lookup\nof a present key",
        "present_data_block_reads_per_lookup",
        1,
        "{:.4f}",
    ),
    ("False positives\nper filter asked", "false_positive_rate", 100, "{:.3f} %"),
    ("Filter bits stored\nper key", "bits_per_key", 1, "{:.2f}"),
]


def written(value, form):
    """A value that is not 0 is not written as 0."""
    text = form.format(value)
    return text if value == 0 or re.search("[1-9]", text) else f"{value:.1e}"


def draw(document):
    runs = document["runs"]
    filters = [run["filter"] for run in runs]
    figure, all_axes = drawing.figure(2, 2, 10, 2.6 + 0.75 * len(runs))
    figure.suptitle(
        f"What a filter saves: {runs[0]['keys']:,} keys in RocksDB, one database per filter",
        x=0.02,
        ha="left",
        fontsize=13,
        fontweight="bold",
        color=INK,
    )
    for axes, (title, key, factor, form) in zip(all_axes, PANELS):
        values = [run[key] for run in runs]
        if key == "bits_per_key":
            values = [value or None for value in values]
        values = [None if value is None else value * factor for value in values]
        drawing.filter_bars(axes, filters, values, functools.partial(written, form=form))
        axes.set_title(title, loc="left", fontsize=11, color=INK, pad=10)
    figure.subplots_adjust(hspace=0.5, wspace=0.7)
    drawing.margins(figure, 2.2, 0.1, 0.3, 1.05)
    return drawing.as_png(figure)


def draw_false_positives(document, row):
    """A row for each tree or phase, and in it a dot for each filter."""
    runs = document["runs"]
    rows = list(dict.fromkeys(run[row] for run in runs))
    figure, (axes,) = drawing.figure(1, 1, 8, 1.8 + 0.3 * len(rows))
    for name in dict.fromkeys(run["filter"] for run in runs):
        of_filter = [run for run in runs if run["filter"] == name]
        axes.plot(
            [run["false_positives_per_lookup"] for run in of_filter],
            [rows.index(run[row]) for run in of_filter],
            "o",
            color=colours.of_filter(name),
            label=name,
        )
    drawing.logarithmic(axes, "x")
    axes.set_xlabel("false positives per lookup (logarithmic)")
    axes.set_yticks(range(len(rows)), rows)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_title(
        f"Trees of RocksDB's own compactions, {document['bits_per_key']:g} bits per key",
        loc="left",
        fontsize=11,
        color=INK,
    )
    drawing.tidy(axes)
    figure.legend(*axes.get_legend_handles_labels(), loc="lower left", ncols=3, frameon=False)
    drawing.margins(figure, 1.6, 0.2, 0.95, 0.35)
    return drawing.as_png(figure)


# The panels of the preset ranges: title and field.
SCAN_PANELS = [
    ("Data blocks per empty scan", "forward_none_data_blocks_per_scan"),
    ("Microseconds per empty scan", "forward_none_micros_per_scan"),
    ("Microseconds per scan of ten keys", "forward_ten_micros_per_scan"),
]


def draw_ranges(document):
    """A row for each schema, and in it a dot for each filter."""
    runs = document["runs"]
    schemas = list(dict.fromkeys(run["schema"] for run in runs))
    figure, all_axes = drawing.figure(1, 3, 13, 2 + 0.35 * len(schemas), sharey=True)
    figure.suptitle(
        f"What a range filter saves: {runs[0]['keys']:,} keys of each schema in RocksDB",
        x=0.02,
        ha="left",
        fontsize=13,
        fontweight="bold",
        color=INK,
    )
    for axes, (title, field) in zip(all_axes, SCAN_PANELS):
        for name in dict.fromkeys(run["filter"] for run in runs):
            of_filter = [run for run in runs if run["filter"] == name]
            axes.plot(
                [run[field] for run in of_filter],
                [schemas.index(run["schema"]) for run in of_filter],
                "o",
                color=colours.of_filter(name),
                label=name,
            )
        axes.set_title(title, loc="left", fontsize=11, color=INK)
        axes.set_yticks(range(len(schemas)), schemas)
        axes.set_ylim(len(schemas) - 0.5, -0.5)
        axes.set_xlim(left=0)
        drawing.tidy(axes)
    figure.legend(
        *all_axes[0].get_legend_handles_labels(), loc="lower left", ncols=5, frameon=False
    )
    drawing.margins(figure, 1.5, 0.2, 0.8, 0.9)
    return drawing.as_png(figure)


def draw_loading(document):
    """A bar for each block cache and filter, full and partitioned side by side."""
    trees = list(dict.fromkeys(run["tree"] for run in document["runs"]))
    rows = max(sum(run["tree"] == tree for run in document["runs"]) for tree in trees)
    figure, all_axes = drawing.figure(1, len(trees), 15, 1.5 + 0.35 * rows)
    figure.suptitle(
        f"What loading filters costs: {document['runs'][0]['keys']:,} keys in RocksDB, "
        "bytes read per Get of an absent key",
        x=0.02,
        ha="left",
        fontsize=13,
        fontweight="bold",
        color=INK,
    )
    for axes, tree in zip(all_axes, trees):
        runs = [run for run in document["runs"] if run["tree"] == tree]
        names = [
            f"{run['filter']}, {run['cache'].replace('cache_index_and_filter_blocks', 'cache_...')}"
            for run in runs
        ]
        drawing.filter_bars(
            axes, names, [run["absent_bytes_read_per_lookup"] for run in runs], "{:,.0f}".format
        )
        axes.set_title(f"{tree} filters", loc="left", fontsize=11, color=INK, pad=10)
    figure.subplots_adjust(wspace=0.7)
    drawing.margins(figure, 2.7, 0.1, 0.3, 0.9)
    return drawing.as_png(figure)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: plot.py FILE.png < FIGURES.json")
    # The demo has claimed the name.
    document = json.load(sys.stdin)
    drawn = {
        "levels": functools.partial(draw_false_positives, row="tree"),
        "phases": functools.partial(draw_false_positives, row="phase"),
        "ranges": draw_ranges,
        "loading": draw_loading,
    }.get(document["preset"], draw)(document)
    pathlib.Path(sys.argv[1]).write_bytes(drawn)


if __name__ == "__main__":
    terminal.run("plot.py", main)
