"""The report of a finished comparison: report.json, and report.md with plots,
which are made from it."""

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
    "keys": "keys, in each level",
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
    return next(
        (kinds[kind][name] for kind in ("read", "seek", "op", "write") if kind in kinds), None
    )


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
    # These are all filters, because filters are pinned in the cache.
    "filter_cache_bytes": lambda run: run["tickers"].get(
        "rocksdb.block.cache.filter.bytes.insert", 0
    ),
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
            **{
                name: six_digits(facts[name])
                for name in ("bits_per_key", "load_seconds", "compaction_cpu_seconds")
            },
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
    columns = {
        name: head for name, head in columns.items() if any(row[name] is not None for row in rows)
    }
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


def headline(rows):
    """The main findings, from the first groups of absent lookups."""
    return " ".join(filter(None, (reads_saved(rows), fewer_on_grown(rows))))


def fewer_on_grown(rows):
    """Returns a sentence on reads of the first tree that grew."""
    reads = {}
    for row in rows:
        if row["workload"] == "readmissing-grown":
            reads.setdefault(row["filter"], row["data_block_reads_per_lookup"])
    bloom, ours = reads.get("rocksdb-bloom"), reads.get("deltabloom")
    if not bloom or not ours:
        return ""
    return (
        "On a tree that RocksDB's compactions made, a lookup of an absent key reads "
        f"{bloom / ours:.1f} times fewer blocks with deltabloom than with rocksdb-bloom."
    )


def reads_saved(rows):
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


def write_plots(folder, report):
    """Draws into the folder; {title of a chapter: Markdown of its plots}, where
    None is the overview."""
    import plots  # loads matplotlib, which a report of failures does not need

    stored = {row["database"]: row["bits_per_key"] for row in report["databases"]}
    drawn = [
        (None, "Reads over bits", "reads_over_bits", plots.reads_over_bits(report["cells"], stored))
    ]
    for number, (title, rows) in enumerate(groups(report["cells"]).items(), 1):
        for field, name, unit in (
            ("data_block_reads_per_lookup", "Data-block reads", "per lookup"),
            ("ops_per_second", "Throughput", "operations per second"),
        ):
            drawn.append((title, name, f"{number:02}_{field}", plots.bars(rows, field, name, unit)))
    images = {}
    for title, name, file, picture in drawn:
        if picture:
            whole_file.write(folder / f"{file}.svg", picture)
            images[title] = images.get(title, "") + f"![{name}]({file}.svg)\n"
    return images


def as_markdown(report, images):
    lines = [
        f"# {TITLE}",
        "",
        headline(report["cells"]),
        "",
        *(f"- {fact}" for fact in facts(report)),
    ]
    lines += ["", images.get(None, "")]
    for title, rows in groups(report["cells"]).items():
        lines += [
            f"## {title}",
            "",
            markdown.table(*table(rows, CELL_COLUMNS)),
            "",
            images.get(title, ""),
        ]
    lines += ["## Databases", "", markdown.table(*table(report["databases"], DATABASE_COLUMNS))]
    lines += ["", "## Commands", "", COMMANDS_NOTE, "", "```"]
    lines += [f"# {name}\n{command}" for name, command in report["commands"].items()]
    return "\n".join([*lines, "```", ""])


def write(folder, report):
    images = write_plots(folder, report) if report["cells"] else {}
    whole_file.write(folder / "report.json", json.dumps(report, indent=1) + "\n")
    whole_file.write(folder / "report.md", as_markdown(report, images))
