"""The plots of a report, as SVG that stands in the page itself."""

import io
import re

import matplotlib

matplotlib.use("Agg")
matplotlib.rcParams["svg.fonttype"] = "path"
matplotlib.rcParams["svg.hashsalt"] = "deltabloom"
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.ticker import EngFormatter, MaxNLocator  # noqa: E402

COLOURS = {
    "none": "#9a9a9a",
    "rocksdb-bloom": "#e9a23b",
    "rocksdb-ribbon": "#8d5a97",
    "deltabloom-classic": "#d1495b",
    "deltabloom-local": "#2a6fbb",
    "deltabloom-compact": "#2a9d8f",
}
INK = "#333333"


def colour(name):
    return COLOURS.get(name, INK)


def drawn(figure, axes):
    for one in axes:
        one.spines[["top", "right"]].set_visible(False)
        one.tick_params(colors=INK)
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    plt.close(figure)
    text = out.getvalue()
    # The metadata says which matplotlib drew it, with addresses.
    return re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)


def bars(rows, field, title, unit, log=False):
    """One bar per filter, one panel: the rows of one group."""
    rows = [row for row in rows if row[field] is not None]
    if not rows:
        return None
    figure, axes = plt.subplots(figsize=(6.4, 1.1 + 0.34 * len(rows)), layout="constrained")
    names = [row["filter"] for row in rows][::-1]
    values = [row[field] for row in rows][::-1]
    errors = [row[field + "_spread"] or 0 for row in rows][::-1]
    axes.barh(names, values, xerr=errors, color=[colour(name) for name in names], ecolor=INK)
    if log and min(values) > 0:
        axes.set_xscale("log")
    else:
        axes.xaxis.set_major_locator(MaxNLocator(5))
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    for place, (value, error) in enumerate(zip(values, errors)):
        axes.annotate(
            f"{value:,.0f}" if value >= 1000 else f"{value:.4g}", (value + error, place), va="center", fontsize=9,
            color=INK, xytext=(4, 0), textcoords="offset points",
        )
    axes.margins(x=0.22)
    axes.set_xlabel(unit)
    axes.set_title(title, fontsize=11, loc="left")
    return drawn(figure, [axes])


def percentiles(rows, title):
    rows = [row for row in rows if row["p50_micros"] is not None]
    if not rows:
        return None
    figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
    for row in rows:
        values = [row["p50_micros"], row["p99_micros"], row["p999_micros"]]
        axes.plot(range(3), values, marker="o", color=colour(row["filter"]), label=row["filter"])
    axes.set_xticks(range(3), ["50 %", "99 %", "99.9 %"])
    axes.set_yscale("log")
    axes.set_ylabel("microseconds")
    axes.set_title(title, fontsize=11, loc="left")
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, fontsize=8)
    return drawn(figure, [axes])


def reads_over_bits(rows, stored):
    """Data-block reads per absent lookup over stored bits per key; needs two
    sizes at least. stored: {database name: bits per key}."""
    chosen = [row for row in rows if row["workload"] == "readmissing" and not row["partitioned"]]
    points = {}
    for row in chosen:
        name = f"{row['filter']}-{row['bits_per_key']:g}-full"
        if row["filter"] != "none" and row["data_block_reads_per_lookup"] and name in stored:
            point = (stored[name], row["data_block_reads_per_lookup"])
            points.setdefault(row["filter"], set()).add(point)
    if not points or max(map(len, points.values())) < 2:
        return None
    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    for name, line in points.items():
        bits, reads = zip(*sorted(line))
        axes.plot(bits, reads, marker="o", color=colour(name), label=name)
    for row in chosen:
        if row["filter"] == "none":
            axes.axhline(row["data_block_reads_per_lookup"], linestyle="--", color=colour("none"), label="none")
            break
    axes.set_yscale("log")
    axes.set_xlabel("stored bits per key")
    axes.set_ylabel("data-block reads")
    axes.set_title("Data-block reads left per lookup of an absent key", fontsize=11, loc="left")
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, fontsize=8)
    return drawn(figure, [axes])
