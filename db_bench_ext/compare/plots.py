"""The plots of a report, as SVG."""

from common import drawing
from common.colours import of_filter


def figure(height, left):
    made, (axes,) = drawing.figure(1, 1, 5.2, height)
    drawing.margins(made, left, 0.1, 0.55, 0.35)
    return made, axes


def bars(rows, field, title, unit):
    """One bar per filter, one panel: the rows of one group."""
    rows = [row for row in rows if row[field] is not None]
    if not rows:
        return None
    made, axes = figure(1.1 + 0.34 * len(rows), left=1.9)
    names, values, errors = zip(
        *((row["filter"], row[field], row[field + "_spread"] or 0) for row in rows)
    )
    drawing.filter_bars(
        axes,
        names,
        values,
        lambda value: f"{value:,.0f}" if value >= 1000 else f"{value:.4g}",
        errors,
    )
    axes.set_xlabel(unit)
    axes.set_title(title, fontsize=11, loc="left")
    return drawing.as_svg(made)


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
    made, axes = figure(3.6, left=0.9)
    for name, line in points.items():
        bits, reads = zip(*sorted(line))
        axes.plot(bits, reads, marker="o", color=of_filter(name), label=name)
    for row in chosen:
        if row["filter"] == "none":
            axes.axhline(
                row["data_block_reads_per_lookup"],
                linestyle="--",
                color=of_filter("none"),
                label="none",
            )
            break
    drawing.logarithmic(axes, "y")
    axes.set_xlabel("stored bits per key")
    axes.set_ylabel("data-block reads, log scale")
    axes.set_title("Data-block reads left per lookup of an absent key", fontsize=11, loc="left")
    drawing.tidy(axes)
    axes.legend(frameon=False, fontsize=8)
    return drawing.as_svg(made)
