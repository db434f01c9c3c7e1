"""Writes a finished comparison as HTML, Markdown, CSV and JSON."""

import csv
import html
import io
import itertools
import json
import pathlib
import shlex

import matrix
import tables
from errors import CompareError

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
COMMANDS_NOTE = (
    "DIR is the folder given with --output; --keep-databases keeps the databases and the OPTIONS "
    "files there. Deltabloom's filters run with LD_PRELOAD=libdeltabloom_rocksdb_plugin.so."
)
STYLE = """
:root { color-scheme: light; background: #fff; }
body { font: 16px/1.5 system-ui, sans-serif; color: #222; margin: 0 auto; padding: 1rem; max-width: 62rem; }
h1 { font-size: 1.6rem; line-height: 1.2; } h2 { font-size: 1.2rem; margin-top: 2.2rem; border-top: 1px solid #ddd; padding-top: 1rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .6rem; text-align: right; white-space: nowrap; border-bottom: 1px solid #eee; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: #fff; }
th { white-space: normal; vertical-align: bottom; min-width: 4rem; line-height: 1.25; } .plots { display: flex; flex-wrap: wrap; gap: 1rem; margin-top: 1rem; }
.plots svg { width: 100%; max-width: 30rem; height: auto; } pre { font-size: .75rem; overflow-x: auto; background: #f6f6f6; padding: .6rem; }
.failed { color: #a11; } nav ul { columns: 2 18rem; padding-left: 1.2rem; } .hint { display: none; }
.wide { background: linear-gradient(to left, #fff 40%, #fff0) right / 3rem 100% no-repeat local,
  linear-gradient(to left, #0003, #0000) right / .8rem 100% no-repeat scroll; }
@media (max-width: 54rem) {
  table { font-size: .75rem; } th, td { padding: .25rem .35rem; } th { min-width: 2.6rem; }
  .hint { display: block; margin: 0 0 .3rem; font-size: .8rem; color: #5f6c7b; }
}
"""


def number(value, spread=None):
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if isinstance(value, int) or abs(value) >= 1000:
        text = f"{value:,.0f}"
    else:
        text = f"{value:.4g}"
    if spread and value and spread / abs(value) >= 0.005:
        text += f" ±{100 * spread / abs(value):.0f} %"
    return text


def cells_of(row, columns):
    return [number(row[name], row.get(name + "_spread")) for name in columns]


def columns_of(rows, columns):
    """Without those in which no row has a figure. Latencies say of what."""
    kept = {
        name: head
        for name, head in columns.items()
        if any(row[name] is not None for row in rows)
    }
    if "workload" in rows[0]:
        what = matrix.latency_of(rows[0]["workload"])
        for name in kept:
            if name.endswith("_micros"):
                kept[name] = kept[name].replace(",", f" of a {what},")
    return kept


def groups(rows):
    order = {}
    for row in rows:
        order.setdefault(row["group"], []).append(row)
    return order


def anchor(group):
    return group.replace("/", "-").replace(".", "-")


def title(group):
    workload, shape, bits, cache = group.split("/")
    cache = cache.replace("MiB", " MiB")
    return f"{workload}: {shape} filters, {bits} bits per key, {cache} of block cache"


def group_plots(group, rows):
    import plots  # loads matplotlib, which a report of failures does not need

    what = matrix.latency_of(group.split("/")[0])
    drawn = [
        plots.bars(rows, "data_block_reads_per_lookup", "Data-block reads", "per lookup"),
        plots.bars(rows, "ops_per_second", "Throughput", "operations per second"),
        plots.percentiles(rows, f"Latency of a {what}", "microseconds"),
    ]
    return [one for one in drawn if one]


def headline(rows):
    """The main finding in one sentence, from the largest group of absent lookups."""
    for group in groups(rows).values():
        if group[0]["workload"] != "readmissing":
            continue
        reads = {row["filter"]: row["data_block_reads_per_lookup"] for row in group}
        none = reads.get("none")
        saved = [
            f"{name} {100 * (1 - value / none):.2f} %"
            for name, value in reads.items()
            if none and name != "none" and value is not None
        ]
        if saved:
            return "Reads saved per lookup of an absent key: " + ", ".join(saved) + "."
    return ""


def portable(command, folder):
    """The command line with DIR for the report's folder."""
    words = [pathlib.Path(command[0]).name, *command[1:]]
    return shlex.join(words).replace(str(folder), "DIR")


class Report:
    """Of a document, which is what report.json holds."""

    def __init__(self, folder, document):
        self.folder = folder
        self.document = document
        self.about = document["about"]
        self.rows = document["cells"]
        self.databases = document["databases"]
        self.failures = document["failures"]
        self.commands = document["commands"]
        self.stored = {row["database"]: row["bits_per_key"] for row in self.databases}

    @classmethod
    def of_runs(cls, folder, about, done, loaded, failures):
        return cls(
            folder,
            {
                "about": about,
                "cells": tables.cell_rows(done),
                "databases": tables.database_rows(loaded),
                "failures": failures,
                "commands": {
                    cell.name: portable(runs[0]["command"], folder) for cell, runs in done.items()
                },
            },
        )

    @classmethod
    def of_folder(cls, folder):
        """That of the report.json in it."""
        path = folder / "report.json"
        try:
            return cls(folder, json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError as error:
            raise CompareError(f"--redraw: {path} does not exist; name its folder with --output") from error
        except (ValueError, KeyError, TypeError) as error:
            raise CompareError(f"--redraw: {path} is not a report of script/compare") from error

    def overview(self):
        if not self.rows:
            return None
        import plots

        return plots.reads_over_bits(self.rows, self.stored)

    def write(self):
        overview = self.overview()
        whole_file.write(self.folder / "report.json", self.as_json())
        whole_file.write(self.folder / "report.csv", self.as_csv())
        whole_file.write(self.folder / "report.md", self.as_markdown())
        whole_file.write(self.folder / "report.html", self.as_html(overview))
        if overview:
            whole_file.write(self.folder / "reads_over_bits.svg", overview)

    def as_json(self):
        return json.dumps(self.document, indent=1) + "\n"

    def as_csv(self):
        out = io.StringIO()
        if self.rows:
            writer = csv.DictWriter(out, self.rows[0].keys(), lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows)
        return out.getvalue()

    def facts(self):
        return [f"{name}: {value}" for name, value in self.about.items()]

    def as_markdown(self):
        def table(rows, columns):
            columns = columns_of(rows, columns) if rows else columns
            return markdown.table(list(columns.values()), [cells_of(row, columns) for row in rows])

        lines = ["# Filters compared with db_bench", "", headline(self.rows), ""]
        lines += [f"- {fact}" for fact in self.facts()]
        lines += [f"- failed: {text}" for text in self.failures.values()]
        for group, rows in groups(self.rows).items():
            lines += ["", f"## {title(group)}", "", table(rows, CELL_COLUMNS)]
        lines += ["", "## Databases", "", table(self.databases, DATABASE_COLUMNS)]
        lines += ["", "## Commands", "", COMMANDS_NOTE, "", "```"]
        lines += [f"# {name}\n{command}" for name, command in self.commands.items()]
        return "\n".join(lines + ["```", ""])

    def contents(self):
        places = {anchor(group): title(group) for group in groups(self.rows)}
        places |= {"databases": "Databases", "commands": "Commands"}
        links = "".join(
            f'<li><a href="#{html.escape(place)}">{html.escape(text)}</a></li>'
            for place, text in places.items()
        )
        return f"<nav><h2>Contents</h2><ul>{links}</ul></nav>"

    def as_html(self, overview):
        def table(rows, columns):
            columns = columns_of(rows, columns) if rows else columns
            head = "".join(f"<th>{html.escape(name)}</th>" for name in columns.values())
            body = "".join(
                "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells_of(row, columns)) + "</tr>"
                for row in rows
            )
            hint = '<p class="hint">More columns to the right: the table scrolls. &rarr;</p>'
            return f'{hint}<div class="wide" tabindex="0"><table><tr>{head}</tr>{body}</table></div>'

        parts = [
            "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
            "<meta name='viewport' content='width=device-width, initial-scale=1'>",
            f"<title>Filters compared with db_bench</title><style>{STYLE}</style></head><body>",
            "<h1>Filters compared with db_bench</h1>",
            f"<p>{html.escape(headline(self.rows))}</p><ul>",
            *(f"<li>{html.escape(fact)}</li>" for fact in self.facts()),
            *(f"<li class='failed'>failed: {html.escape(text)}</li>" for text in self.failures.values()),
            "</ul>",
        ]
        if overview:
            parts.append(f'<div class="plots">{overview}</div>')
        parts.append(self.contents())
        for group, rows in groups(self.rows).items():
            parts.append(f'<h2 id="{html.escape(anchor(group))}">{html.escape(title(group))}</h2>')
            parts.append(table(rows, CELL_COLUMNS))
            parts.append('<div class="plots">' + "".join(group_plots(group, rows)) + "</div>")
        parts += ['<h2 id="databases">Databases</h2>', table(self.databases, DATABASE_COLUMNS)]
        commands = itertools.chain.from_iterable(
            (f"# {name}", command) for name, command in self.commands.items()
        )
        parts += [f'<h2 id="commands">Commands</h2><p>{html.escape(COMMANDS_NOTE)}</p><pre>', html.escape("\n".join(commands)), "</pre></body></html>"]
        return "\n".join(parts)
