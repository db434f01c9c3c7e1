#!/usr/bin/env python3
"""Draws the figures of docs/measurements.md: plots.py FOLDER < STUDY.json"""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from common import drawing, terminal  # noqa: E402
from common.colours import MUTED, of_filter  # noqa: E402


def axes(count, width, height, left=0.8):
    figure, all_axes = drawing.figure(1, count, width, height)
    drawing.margins(figure, left, 0.15, 0.55, 0.4)
    for one in all_axes:
        drawing.tidy(one)
    return figure, all_axes


def rates(rows, path):
    figure, (left, right) = axes(2, 10.5, 4.2)
    bits = sorted({row["bits_per_key"] for row in rows})
    best = [
        min((row for row in rows if row["bits_per_key"] == one), key=lambda row: row["theory"])
        for one in bits
    ]
    left.plot(
        bits, [row["theory"] for row in best], color=of_filter("theory"), lw=3, label="theory"
    )
    for name, marker in (("ideal", "o"), ("classic", "s")):
        shown = [row for row in best if row[name] > 0]
        left.errorbar(
            [row["bits_per_key"] for row in shown],
            [row[name] for row in shown],
            yerr=[row[name + "_error"] for row in shown],
            fmt=marker,
            ms=4,
            color=of_filter(name),
            label=name + " (measured)",
        )
    drawing.logarithmic(left, "y", steps=(1,))
    left.set_xlabel("bits per key")
    left.set_ylabel("false-positive rate, log scale")
    left.set_title("Best k of 1 to 8")
    left.legend(frameon=False)
    for k in (1, 2, 4, 6, 8):
        # If fewer than 100 false positives are expected, the ratio is mostly
        # noise.
        chosen = [row for row in rows if row["k"] == k and row["classic_error"] < row["theory"] / 5]
        ratios = [row["classic"] / row["theory"] for row in chosen]
        right.plot([row["bits_per_key"] for row in chosen], ratios, marker=".", label=f"k = {k}")
    right.axhline(1, color=of_filter("theory"), lw=2)
    right.set_xlabel("bits per key")
    right.set_ylabel("classic / theory")
    right.set_title("Where the delta-rotated probes leave the theory")
    right.legend(frameon=False)
    drawing.write_png(figure, path)


def growth(rows, path):
    figure, (one,) = axes(1, 7, 4.2)
    for layout in dict.fromkeys(row["layout"] for row in rows):
        chosen = [row for row in rows if row["layout"] == layout]
        one.errorbar(
            [row["keys"] for row in chosen],
            [100 * row["false_positive_rate"] for row in chosen],
            yerr=[100 * row["error"] for row in chosen],
            marker="o",
            ms=4,
            color=of_filter(layout),
            label=layout,
        )
    drawing.logarithmic(one, "x", steps=(1,))
    decades = [keys for keys in {row["keys"] for row in rows} if str(keys).strip("0") == "1"]
    one.set_xticks(decades, [f"{keys:,}" for keys in decades])
    one.set_ylim(bottom=0)
    one.set_xlabel("keys in one filter, log scale")
    one.set_ylabel("false positives, %")
    one.set_title("10 bits per key")
    one.legend(frameon=False)
    drawing.write_png(figure, path)


def hashes(rows, path):
    words = [row for row in rows if row["dataset"] == "words"] or rows
    words = sorted(words, key=lambda row: row["ns_per_key"], reverse=True)
    names = [row["hash"] for row in words]
    figure, (left, right) = axes(2, 10.5, 5, left=1.4)
    left.barh(names, [row["ns_per_key"] for row in words], color=MUTED)
    left.set_xlabel("ns per key (words)")
    right.barh(
        names, [100 * row["false_positive_rate"] for row in words], color=of_filter("classic")
    )
    drawing.logarithmic(right, "x", steps=(1,))
    right.set_yticklabels([])
    right.set_xlabel("false positives at 10 bits per key, % (words), log scale")
    drawing.write_png(figure, path)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    results = json.load(sys.stdin)
    for draw in (rates, growth, hashes):
        draw(results[draw.__name__], folder / f"study_{draw.__name__}.png")


if __name__ == "__main__":
    terminal.run("plots.py", main)
