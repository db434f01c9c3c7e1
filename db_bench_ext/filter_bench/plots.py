#!/usr/bin/env python3
"""Draws false positives over the length of ranges:
plots.py FILE.png < RESULTS.json, of filter_bench --ranges"""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import report  # noqa: E402
from common import drawing, terminal  # noqa: E402
from common.colours import FILTERS, INK  # noqa: E402


GROUPS = ("index", "orders", "folders")


def range_style(name, names):
    if name.startswith("deltabloom"):
        colour = {"deltabloom": "compact", "deltabloom, learned": "classic"}.get(name, "local")
        return {"color": FILTERS["deltabloom-" + colour], "marker": "D", "linewidth": 1.5}
    prefixes = [other for other in names if not other.startswith("deltabloom")]
    line = (":", "--", "-.")[prefixes.index(name) % 3]
    return {"color": FILTERS["rocksdb-bloom"], "marker": "o", "linestyle": line, "linewidth": 1}


def range_panel(axis, rows):
    names = list(dict.fromkeys(row["competitor"] for row in rows))
    for name in names:
        own = sorted(
            (row for row in rows if row["competitor"] == name), key=lambda row: row["length"]
        )
        xs = [row["length"] for row in own]
        # A rate of 0 is drawn as half a match.
        ys = [100 * max(row["false_positive_rate"], 0.5 / row["samples"]) for row in own]
        axis.plot(xs, ys, markersize=3.5, label=name, **range_style(name, names))
        bounds = [100 * row["bound"] for row in own if "bound" in row]
        if name == "deltabloom" and bounds:
            axis.plot(xs, bounds, ":", color=INK, linewidth=0.8, label="Grafite's bound")
    drawing.logarithmic(axis, "y", steps=(1,))
    if any("bound" in row for row in rows):
        axis.set_xscale("log", base=2)
        axis.set_xlabel("numbers in the range")
    else:
        axis.set_xlabel("bytes at the end that are free")
    axis.set_title(f"{rows[0]['set']}, {rows[0]['keys']:,} keys", fontsize=10)
    drawing.tidy(axis)
    axis.legend(fontsize=6.5, frameon=False)


def draw(rows, path):
    """The bits per key that are nearest to 18, and the sets with several lengths."""
    bits = min({row["bits_per_key"] for row in rows}, key=lambda value: abs(value - 18))
    rows = [row for row in rows if row["bits_per_key"] == bits and row["set"] not in GROUPS]
    sets = list(dict.fromkeys(row["set"] for row in rows))
    figure, axes = drawing.figure(2, 3, 13, 8)
    for axis, name in zip(axes, sets):
        some = [row for row in rows if row["set"] == name]
        range_panel(axis, [row for row in some if row["keys"] == some[0]["keys"]])
    for axis in axes[len(sets) :]:
        axis.set_axis_off()
    for axis in (axes[0], axes[3]):
        axis.set_ylabel("empty ranges that match, %")
    figure.suptitle(f"{bits:g} bits per key", fontsize=11)
    figure.subplots_adjust(hspace=0.32, wspace=0.2)
    drawing.margins(figure, 0.75, 0.2, 0.6, 0.7)
    drawing.write_png(figure, path)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: plots.py FILE.png < RESULTS.json")
    results = json.load(sys.stdin)
    draw(report.rows_of(results), sys.argv[1])


if __name__ == "__main__":
    terminal.run("--plot", main)
