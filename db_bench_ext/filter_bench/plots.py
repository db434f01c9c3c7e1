#!/usr/bin/env python3
"""Draws the results of filter_bench.

    plots.py DIR < RESULTS.json

writes DIR/lookup_ns.png (time over key count) and DIR/false_positives.png
(false positives over bits per key); of --ranges DIR/ranges.png."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from common import drawing, terminal  # noqa: E402
from common.colours import of_filter  # noqa: E402
from filter_bench import range_plots  # noqa: E402
from matplotlib.ticker import NullLocator  # noqa: E402

MARKERS = {"rocksdb": "o", "leveldb": "s", "naive": "x", "deltabloom": "D"}
FLOORS = {"floor-call": ":", "floor-hash": "--", "floor-cache-line": "-."}
PANELS = [
    ("miss_ns", "Absent keys"),
    ("hit_ns", "Added keys"),
    ("batch_miss_ns", "Absent keys, in batches"),
    ("build_ns_per_key", "Building"),
]


def style(name):
    return {
        "color": of_filter(name),
        "marker": MARKERS.get(name.split("-")[0], "^"),
        "markersize": 4,
        "linewidth": 1.6 if name.startswith("deltabloom") else 1.1,
        "label": name,
    }


def names_of(rows):
    return list(dict.fromkeys(row["competitor"] for row in rows))


def most_common(rows, key):
    values = [row[key] for row in rows]
    return max(dict.fromkeys(values), key=values.count) if values else None


def plain(number):
    for unit, letter in ((1_000_000, "M"), (1000, "k")):
        if number >= unit and number % unit == 0:
            return f"{number // unit}{letter}"
    return str(number)


def series(rows, name, x_key, y_key):
    points = sorted(
        (row[x_key], row[y_key])
        for row in rows
        if row["competitor"] == name and row[y_key] is not None
    )
    return [x for x, _ in points], [y for _, y in points]


def fix(rows, *keys):
    """Rows that agree in `keys`: those of the most common value of each."""
    for key in keys:
        value = most_common(rows, key)
        rows = [row for row in rows if row[key] == value]
    return rows


def draw_lookups(results, path):
    rows = fix(results["rows"], "threads", "bits_per_key", "key_bytes")
    if not rows:
        return
    like = rows[0]
    same = ("threads", "bits_per_key", "key_bytes")
    counts = sorted({row["keys"] for row in rows})
    floors = [f for f in results["floors"] if all(f[key] == like[key] for key in same)]
    figure, axes = drawing.figure(2, 2, 11, 8, sharex=True)
    for axis, (key, title) in zip(axes, PANELS):
        for name in names_of(rows):
            xs, ys = series(rows, name, "keys", key)
            axis.plot(xs, ys, **style(name))
        for name in names_of(floors):
            xs, ys = series(floors, name, "keys", key)
            if any(ys):
                axis.plot(xs, ys, FLOORS.get(name, ":"), color="black", linewidth=0.8, label=name)
        axis.set_xscale("log")
        axis.set_title(title, fontsize=10)
        axis.set_ylabel("ns per key")
        drawing.logarithmic(axis, "y")
        axis.set_xticks(counts, [plain(count) for count in counts])
        axis.xaxis.set_minor_locator(NullLocator())
        axis.grid(True, alpha=0.35, linewidth=0.5)
    for axis in axes[2:]:
        axis.set_xlabel("keys in the filter")
    figure.suptitle(
        f"{like['bits_per_key']:g} bits per key, keys of {like['key_bytes']} bytes: "
        f"{results['context']['cpu']}, {results['context']['cpu_level']}",
        fontsize=11,
    )
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncol=4, fontsize=8, frameon=False)
    figure.subplots_adjust(hspace=0.13, wspace=0.17)
    drawing.margins(figure, 0.75, 0.2, 1.2, 0.65)
    drawing.write_png(figure, path)


def draw_false_positives(results, path):
    rows = fix(results["rows"], "threads", "key_bytes", "keys")
    rows = [row for row in rows if row["false_positive_rate"]]
    if not rows:
        return
    figure, (axis,) = drawing.figure(1, 1, 9, 6.5)
    for name in names_of(rows):
        own = sorted(
            (row for row in rows if row["competitor"] == name),
            key=lambda row: row["stored_bits_per_key"],
        )
        xs = [row["stored_bits_per_key"] for row in own]
        axis.errorbar(
            xs,
            [100 * row["false_positive_rate"] for row in own],
            yerr=[300 * row["false_positive_error"] for row in own],
            capsize=2,
            **style(name),
        )
        theory = [(x, row["theoretical_false_positive_rate"]) for x, row in zip(xs, own)]
        theory = [(x, 100 * rate) for x, rate in theory if rate]
        if theory:
            axis.plot(*zip(*theory), ":", color=of_filter(name), linewidth=0.8)
    low = min(row["stored_bits_per_key"] for row in rows)
    high = max(row["stored_bits_per_key"] for row in rows)
    bits = [low + (high - low) * i / 50 for i in range(51)]
    axis.plot(bits, [100 * 2**-b for b in bits], "k--", linewidth=0.8, label="least possible")
    axis.set_xlabel("stored bits per key")
    axis.set_ylabel("false positives, %")
    axis.set_title(
        f"{rows[0]['keys']:,} keys; bars: three standard errors; dotted: theory", fontsize=10
    )
    drawing.logarithmic(axis, "y")
    axis.grid(True, alpha=0.35, linewidth=0.5)
    axis.legend(fontsize=8, frameon=False)
    drawing.margins(figure, 0.8, 0.2, 0.6, 0.4)
    drawing.write_png(figure, path)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: plots.py DIR < RESULTS.json")
    results = json.load(sys.stdin)
    directory = pathlib.Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    draw_lookups(results, directory / "lookup_ns.png")
    draw_false_positives(results, directory / "false_positives.png")
    range_plots.draw(results, directory / "ranges.png")


if __name__ == "__main__":
    terminal.run("--plot", main)
