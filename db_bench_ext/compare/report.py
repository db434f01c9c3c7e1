"""The report of a finished comparison: report.json, and report.md and
report.html, which are printed from it."""

import html
import json
import pathlib
import shlex
import statistics

import matrix

from common import markdown, whole_file

CELL_COLUMNS = {
    "filter": "filter",
    "data_block_reads_per_lookup": "reads per lookup",
    "ops_per_second": "ops/s",
    "p50_micros": "p50, µs",
    "p99_micros": "p99, µs",
    "p999_micros": "p99.9, µs",
    "false_positives_per_lookup": "false positives per lookup",
    "filter_cache_bytes": "filter bytes in cache",
    "compaction_cpu_seconds": "compaction CPU, s",
}
DATABASE_COLUMNS = {
    "database": "database",
    "runs": "runs (level:tables)",
    "keys": "keys",
    "filter_bytes": "filter bytes",
    "bits_per_key": "bits per key",
    "load_seconds": "load, s",
    "compaction_cpu_seconds": "compaction CPU, s",
}
TITLE = "Filters compared with db_bench"
COMMANDS_NOTE = (
    "DIR is the folder given with --output; --keep-databases keeps the databases and the OPTIONS "
    "files there. Deltabloom's filters run with LD_PRELOAD=libdeltabloom_rocksdb_plugin.so."
)
STYLE = """
:root { color-scheme: light; background: #fff; }
body { font: 16px/1.5 system-ui, sans-serif; color: #222; margin: 0 auto; padding: 1rem; max-width: 62rem; }
h2 { font-size: 1.2rem; margin-top: 2.2rem; border-top: 1px solid #ddd; padding-top: 1rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .6rem; text-align: right; white-space: nowrap; border-bottom: 1px solid #eee; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: #fff; }
th { white-space: normal; vertical-align: bottom; min-width: 4rem; line-height: 1.25; }
.plots { display: flex; flex-wrap: wrap; gap: 1rem; margin-top: 1rem; } .plots svg { width: 100%; max-width: 30rem; height: auto; }
pre { font-size: .75rem; overflow-x: auto; background: #f6f6f6; padding: .6rem; } .hint { display: none; }
@media (max-width: 54rem) {
  table { font-size: .75rem; } th, td { padding: .25rem .35rem; } th { min-width: 2.6rem; }
  .hint { display: block; margin: 0 0 .3rem; font-size: .8rem; color: #5f6c7b; }
}
"""


def lookups(figures):
    """The number of keys looked up, or of seeks."""
    tickers = figures["tickers"]
    names = ("number.keys.read", "number.multiget.keys.read", "number.db.seek")
    return sum(tickers.get("rocksdb." + name, 0) for name in names)


def reads_per_lookup(figures):
    count = lookups(figures)
    return figures["tickers"].get("rocksdb.block.cache.data.miss", 0) / count if count else None


def false_positives_per_lookup(figures):
    count = lookups(figures)
    positive, true, useful = (
        figures["tickers"].get("rocksdb.bloom.filter." + name, 0)
        for name in ("full.positive", "full.true.positive", "useful")
    )
    return (positive - true) / count if count and positive + useful else None


def percentile(figures, name):
    kinds = figures["percentiles"]
    return next((kinds[kind][name] for kind in ("read", "seek", "op", "write") if kind in kinds), None)


def compaction_cpu_s(figures):
    """None if nothing was compacted."""
    total = figures["histograms"].get("rocksdb.compaction.times.cpu_micros", {"sum": 0})["sum"]
    return total / 1e6 if total else None


FIGURES = {
    "ops_per_second": lambda run: run["ops_per_second"],
    "micros_per_op": lambda run: run["micros_per_op"],
    "p50_micros": lambda run: percentile(run, "p50"),
    "p99_micros": lambda run: percentile(run, "p99"),
    "p999_micros": lambda run: percentile(run, "p999"),
    "data_block_reads_per_lookup": reads_per_lookup,
    "false_positives_per_lookup": false_positives_per_lookup,
    # All filters, because they are pinned in the cache.
    "filter_cache_bytes": lambda run: run["tickers"].get("rocksdb.block.cache.filter.bytes.insert", 0),
    "compaction_cpu_seconds": compaction_cpu_s,
}


def six_digits(value):
    return float(f"{value:.6g}") if isinstance(value, float) else value


def median_and_spread(values):
    """(median, half the distance between the smallest and the largest)."""
    values = [value for value in values if value is not None]
    if not values:
        return None, None
    return six_digits(statistics.median(values)), six_digits((max(values) - min(values)) / 2)


def cell_rows(done):
    rows = []
    for cell, runs in done.items():
        row = {
            "cell": cell.name,
            "group": cell.group,
            "workload": cell.workload.name,
            "filter": cell.database.filter.name,
            "partitioned": cell.database.partitioned,
            "bits_per_key": cell.database.bits_per_key,
            "cache_bytes": cell.cache_bytes,
            "repetitions": len(runs),
        }
        for name, figure in FIGURES.items():
            row[name], row[name + "_spread"] = median_and_spread([figure(run) for run in runs])
        rows.append(row)
    return rows


def database_rows(loaded):
    """loaded: {(name, prefix): facts} of all databases."""
    return [
        {
            "database": name + (" (with prefixes)" if prefix else ""),
            "tables": facts["tables"],
            "runs": " ".join(f"L{level}:{files}" for level, files in facts["levels"]),
            "keys": facts["entries"],
            "filter_bytes": facts["filter_bytes"],
            **{name: six_digits(facts[name]) for name in ("bits_per_key", "load_seconds", "compaction_cpu_seconds")},
        }
        for (name, prefix), facts in loaded.items()
    ]


def document(folder, about, done, loaded, failures):
    """The content of report.json. Its commands have DIR in place of the folder."""

    def portable(command):
        return shlex.join([pathlib.Path(command[0]).name, *command[1:]]).replace(str(folder), "DIR")

    return {
        "about": about,
        "cells": cell_rows(done),
        "databases": database_rows(loaded),
        "failures": failures,
        "commands": {cell.name: portable(runs[0]["command"]) for cell, runs in done.items()},
    }


def number(value, spread=None):
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    text = f"{value:,.0f}" if isinstance(value, int) or abs(value) >= 1000 else f"{value:.4g}"
    if spread and value and spread / abs(value) >= 0.005:
        text += f" ±{100 * spread / abs(value):.0f} %"
    return text


def table(rows, columns):
    """(header, lines) without the columns in which no row has a figure."""
    columns = {name: head for name, head in columns.items() if any(row[name] is not None for row in rows)}
    if rows and "workload" in rows[0]:
        what = matrix.latency_of(rows[0]["workload"])
        columns = {
            name: head.replace(",", f" of a {what},") if name.endswith("_micros") else head
            for name, head in columns.items()
        }
    lines = [[number(row[name], row.get(name + "_spread")) for name in columns] for row in rows]
    return list(columns.values()), lines


def groups(rows):
    """{title: rows} of the cells that differ in the filter only."""
    found = {}
    for row in rows:
        workload, shape, bits, cache = row["group"].split("/")
        cache = cache.replace("MiB", " MiB")
        title = f"{workload}: {shape} filters, {bits} bits per key, {cache} of block cache"
        found.setdefault(title, []).append(row)
    return found


def group_plots(rows):
    import plots  # loads matplotlib, which a report of failures does not need

    what = matrix.latency_of(rows[0]["workload"])
    drawn = [
        plots.bars(rows, "data_block_reads_per_lookup", "Data-block reads", "per lookup"),
        plots.bars(rows, "ops_per_second", "Throughput", "operations per second"),
        plots.percentiles(rows, f"Latency of a {what}", "microseconds"),
    ]
    return [one for one in drawn if one]


def headline(rows):
    """The main finding in one sentence, from the first group of absent lookups."""
    for group in groups(rows).values():
        reads = {row["filter"]: row["data_block_reads_per_lookup"] for row in group}
        if group[0]["workload"] != "readmissing" or not reads.get("none"):
            continue
        saved = [
            f"{name} {100 * (1 - value / reads['none']):.2f} %"
            for name, value in reads.items()
            if name != "none" and value is not None
        ]
        if saved:
            return "Reads saved per lookup of an absent key: " + ", ".join(saved) + "."
    return ""


def facts(report):
    return [f"{name}: {value}" for name, value in report["about"].items()] + [
        f"failed: {text}" for text in report["failures"].values()
    ]


def chapters(report):
    """(title, header and lines of its table, rows to draw)."""
    for title, rows in groups(report["cells"]).items():
        yield title, table(rows, CELL_COLUMNS), rows
    yield "Databases", table(report["databases"], DATABASE_COLUMNS), []


def commands(report):
    return "\n".join(f"# {name}\n{command}" for name, command in report["commands"].items())


def as_markdown(report):
    lines = [f"# {TITLE}", "", headline(report["cells"]), "", *(f"- {fact}" for fact in facts(report))]
    for title, (header, rows), _ in chapters(report):
        lines += ["", f"## {title}", "", markdown.table(header, rows)]
    return "\n".join([*lines, "", "## Commands", "", COMMANDS_NOTE, "", "```", commands(report), "```", ""])


def as_html(report, overview):
    """One page without anything outside it."""

    def row(cells, tag):
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    body, contents = [], []

    def chapter(title):
        anchor = f"chapter-{len(contents) + 1}"
        contents.append(f'<li><a href="#{anchor}">{html.escape(title)}</a></li>')
        body.append(f'<h2 id="{anchor}">{html.escape(title)}</h2>')

    for title, (header, lines), drawn in chapters(report):
        chapter(title)
        body.append('<p class="hint">More columns to the right: the table scrolls. &rarr;</p>')
        rows = "".join(row(cells, "td") for cells in lines)
        body.append(f'<div class="wide" tabindex="0"><table>{row(header, "th")}{rows}</table></div>')
        body.append(f'<div class="plots">{"".join(group_plots(drawn)) if drawn else ""}</div>')
    chapter("Commands")
    body.append(f"<p>{html.escape(COMMANDS_NOTE)}</p><pre>{html.escape(commands(report))}</pre>")
    return "\n".join([
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        f"<title>{TITLE}</title><style>{STYLE}</style></head><body>",
        f"<h1>{TITLE}</h1><p>{html.escape(headline(report['cells']))}</p><ul>",
        *(f"<li>{html.escape(fact)}</li>" for fact in facts(report)),
        f'</ul><div class="plots">{overview or ""}</div><nav><ul>{"".join(contents)}</ul></nav>',
        *body,
        "</body></html>\n",
    ])  # fmt: skip


def write(folder, report):
    overview = None
    if report["cells"]:
        import plots

        stored = {row["database"]: row["bits_per_key"] for row in report["databases"]}
        overview = plots.reads_over_bits(report["cells"], stored)
    whole_file.write(folder / "report.json", json.dumps(report, indent=1) + "\n")
    whole_file.write(folder / "report.md", as_markdown(report))
    whole_file.write(folder / "report.html", as_html(report, overview))
    if overview:
        whole_file.write(folder / "reads_over_bits.svg", overview)
