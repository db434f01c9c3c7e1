"""The figure of filter_bench --ranges: false positives over the length of ranges."""

from common import drawing
from common.colours import FILTERS, INK

TEXTS = {"urls", "words"}


def style(name, names):
    if name == "deltabloom":
        return {"color": FILTERS["deltabloom-compact"], "marker": "D", "linewidth": 1.8}
    if name.startswith("deltabloom"):
        return {"color": FILTERS["deltabloom-local"], "marker": "D", "linewidth": 1.2}
    prefixes = [other for other in names if not other.startswith("deltabloom")]
    shade = (":", "--", "-.")[prefixes.index(name) % 3]
    return {"color": FILTERS["rocksdb-bloom"], "marker": "o", "linestyle": shade, "linewidth": 1}


def draw_panel(axis, rows):
    names = list(dict.fromkeys(row["filter"] for row in rows))
    texts = rows[0]["set"] in TEXTS
    for name in names:
        own = [row for row in rows if row["filter"] == name]
        least = [max(row["false_positive_rate"], 0.5 / row["samples"]) for row in own]
        xs = [row["length"] for row in own]
        axis.plot(
            xs, [100 * rate for rate in least], markersize=3.5, label=name, **style(name, names)
        )
    alone = [row for row in rows if row["filter"] == names[1] and row["bound"] is not None]
    if alone:
        xs = [row["length"] for row in alone]
        bounds = [100 * row["bound"] for row in alone]
        axis.plot(xs, bounds, ":", color=INK, linewidth=0.8, label="Grafite's bound, all bits")
    drawing.logarithmic(axis, "y", steps=(1,))
    if texts:
        axis.set_xlabel("bytes at the end that are free")
    else:
        axis.set_xscale("log", base=2)
        axis.set_xlabel("numbers in the range")
    axis.set_title(f"{rows[0]['set']}, {rows[0]['keys']:,} keys", fontsize=10)
    drawing.tidy(axis)
    axis.legend(fontsize=6.5, frameon=False)


def draw(results, path):
    """The bits per key that are nearest to 18."""
    rows = results["ranges"]
    if not rows:
        return
    bits = min({row["bits_per_key"] for row in rows}, key=lambda value: abs(value - 18))
    rows = [row for row in rows if row["bits_per_key"] == bits]
    keys = rows[0]["keys"]
    sets = list(dict.fromkeys(row["set"] for row in rows))
    figure, axes = drawing.figure(2, 3, 13, 8)
    for axis, name in zip(axes, sets):
        some = [row for row in rows if row["set"] == name]
        draw_panel(axis, [row for row in some if row["keys"] == some[0]["keys"]])
    for axis in axes[len(sets) :]:
        axis.set_axis_off()
    for axis in (axes[0], axes[3]):
        axis.set_ylabel("empty ranges that match, %")
    figure.suptitle(f"{bits:g} bits per key, {keys:,} keys asked for", fontsize=11)
    figure.subplots_adjust(hspace=0.32, wspace=0.2)
    drawing.margins(figure, 0.75, 0.2, 0.6, 0.7)
    drawing.write_png(figure, path)
