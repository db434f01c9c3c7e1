#!/usr/bin/env python3
"""Draws the results of filter_bench: plots.py FILE.png < RESULTS.json

Times over key counts; false positives over bits per key where there are
several; false positives over the length of ranges for --ranges."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import report  # noqa: E402
from common import drawing, terminal  # noqa: E402
from common.colours import FILTERS, INK, of_filter  # noqa: E402
from matplotlib.ticker import NullLocator  # noqa: E402

# The parts of the report that have a figure.
FIGURES = {"Keys per filter": "lookup_ns.png", "Bits per key": "false_positives.png"}

MARKERS = {"rocksdb": "o", "leveldb": "s", "deltabloom": "D"}
PANELS = {
    "miss_ns": "Absent keys",
    "hit_ns": "Added keys",
    "batch_miss_ns": "Absent keys, in batches",
    "build_ns_per_key": "Building",
}


def style(name):
    if name == "floor-call":
        return {"color": "black", "linestyle": ":", "linewidth": 0.8, "label": name}
    return {
        "color": of_filter(name),
        "marker": MARKERS.get(name.split("-")[0], "^"),
        "markersize": 4,
        "linewidth": 1.6 if name.startswith("deltabloom") else 1.1,
        "label": name,
    }


def by_competitor(rows, key):
    """The rows of each competitor in the order of `key`."""
    for name in dict.fromkeys(row["competitor"] for row in rows):
        yield name, sorted((row for row in rows if row["competitor"] == name), key=lambda r: r[key])


def like(rows, *keys):
    """The rows with the most common value of each key."""
    for key in keys:
        values = [row[key] for row in rows]
        common = max(dict.fromkeys(values), key=values.count)
        rows = [row for row in rows if row[key] == common]
    return rows


def lookups(rows, context, path):
    rows = like(rows, "threads", "bits_per_key", "key_bytes")
    counts = sorted({row["keys"] for row in rows})
    figure, axes = drawing.figure(2, 2, 11, 8, sharex=True)
    for axis, (key, title) in zip(axes, PANELS.items()):
        for name, own in by_competitor(rows, "keys"):
            own = [row for row in own if key in row]
            axis.plot([row["keys"] for row in own], [row[key] for row in own], **style(name))
        axis.set_xscale("log")
        axis.set_title(title, fontsize=10)
        axis.set_ylabel("ns per key")
        drawing.logarithmic(axis, "y")
        axis.set_xticks(counts, [report.plain(count) for count in counts])
        axis.xaxis.set_minor_locator(NullLocator())
        axis.grid(True, alpha=0.35, linewidth=0.5)
    for axis in axes[2:]:
        axis.set_xlabel("keys in the filter")
    figure.suptitle(
        f"{rows[0]['bits_per_key']:g} bits per key, keys of {rows[0]['key_bytes']} bytes: "
        f"{context['cpu']}, {context['cpu_level']}",
        fontsize=11,
    )
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncol=4, fontsize=8, frameon=False)
    figure.subplots_adjust(hspace=0.13, wspace=0.17)
    drawing.margins(figure, 0.75, 0.2, 1.2, 0.65)
    drawing.write_png(figure, path)


def false_positives(rows, context, path):
    rows = [row for row in rows if row.get("false_positive_rate")]
    rows = like(rows, "threads", "key_bytes", "keys")
    figure, (axis,) = drawing.figure(1, 1, 9, 6.5)
    for name, own in by_competitor(rows, "stored_bits_per_key"):
        xs = [row["stored_bits_per_key"] for row in own]
        ys = [100 * row["false_positive_rate"] for row in own]
        errors = [300 * row["false_positive_error"] for row in own]
        axis.errorbar(xs, ys, yerr=errors, capsize=2, **style(name))
        formula = [100 * row.get("theoretical_false_positive_rate", 0) for row in own]
        if all(formula):
            axis.plot(xs, formula, ":", color=of_filter(name), linewidth=0.8)
    stored = [row["stored_bits_per_key"] for row in rows]
    bits = [min(stored) + (max(stored) - min(stored)) * i / 50 for i in range(51)]
    axis.plot(bits, [100 * 2**-b for b in bits], "k--", linewidth=0.8, label="least possible")
    axis.set_xlabel("stored bits per key")
    axis.set_ylabel("false positives, %")
    axis.set_title(
        f"{rows[0]['keys']:,} keys; bars: three standard errors; dotted: formula", fontsize=10
    )
    drawing.logarithmic(axis, "y")
    axis.grid(True, alpha=0.35, linewidth=0.5)
    axis.legend(fontsize=8, frameon=False)
    drawing.margins(figure, 0.8, 0.2, 0.6, 0.4)
    drawing.write_png(figure, path)


def range_style(name, names):
    if name.startswith("deltabloom"):
        colour = "deltabloom-compact" if name == "deltabloom" else "deltabloom-local"
        return {"color": FILTERS[colour], "marker": "D", "linewidth": 1.5}
    prefixes = [other for other in names if not other.startswith("deltabloom")]
    line = (":", "--", "-.")[prefixes.index(name) % 3]
    return {"color": FILTERS["rocksdb-bloom"], "marker": "o", "linestyle": line, "linewidth": 1}


def range_panel(axis, rows):
    names = list(dict.fromkeys(row["competitor"] for row in rows))
    for name, own in by_competitor(rows, "length"):
        xs = [row["length"] for row in own]
        # Where nothing matched, half a match.
        ys = [100 * max(row["false_positive_rate"], 0.5 / row["samples"]) for row in own]
        axis.plot(xs, ys, markersize=3.5, label=name, **range_style(name, names))
        bounds = [100 * row["bound"] for row in own if "bound" in row]
        if name == "deltabloom, ranges alone" and bounds:
            axis.plot(xs, bounds, ":", color=INK, linewidth=0.8, label="Grafite's bound, all bits")
    drawing.logarithmic(axis, "y", steps=(1,))
    if any("bound" in row for row in rows):
        axis.set_xscale("log", base=2)
        axis.set_xlabel("numbers in the range")
    else:
        axis.set_xlabel("bytes at the end that are free")
    axis.set_title(f"{rows[0]['set']}, {rows[0]['keys']:,} keys", fontsize=10)
    drawing.tidy(axis)
    axis.legend(fontsize=6.5, frameon=False)


def ranges(rows, context, path):
    """The bits per key that are nearest to 18."""
    bits = min({row["bits_per_key"] for row in rows}, key=lambda value: abs(value - 18))
    rows = [row for row in rows if row["bits_per_key"] == bits]
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


def draw(rows, context, path):
    if rows[0]["set"]:
        ranges(rows, context, path)
    elif len({row["bits_per_key"] for row in rows}) > 1:
        false_positives(rows, context, path)
    else:
        lookups(rows, context, path)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: plots.py FILE.png < RESULTS.json")
    results = json.load(sys.stdin)
    draw(report.rows_of(results), results["context"], sys.argv[1])


if __name__ == "__main__":
    terminal.run("--plot", main)
