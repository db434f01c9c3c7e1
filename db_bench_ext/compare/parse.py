"""Reads the output of db_bench and sst_dump."""

import re

from child import CellError

RESULT = re.compile(
    r"^(?P<name>\w+) *: +(?P<micros>[\d.]+) micros/op (?P<ops>\d+) ops/sec "
    r"(?P<seconds>[\d.]+) seconds (?P<operations>\d+) operations;(?P<rest>.*)$",
    re.MULTILINE,
)
FOUND = re.compile(r"\((\d+) of (\d+) found\)")
PERCENTILES = re.compile(
    r"Microseconds per (\w+):\nCount: (\d+) Average: ([\d.]+) .*\n.*\n"
    r"Percentiles: P50: ([\d.]+) P75: ([\d.]+) P99: ([\d.]+) P99.9: ([\d.]+)"
)
TICKER = re.compile(r"^(rocksdb\.\S+) COUNT : (\d+)$", re.MULTILINE)
HISTOGRAM = re.compile(r"^(rocksdb\.\S+) P50 : .* COUNT : (\d+) SUM : (\d+)$", re.MULTILINE)
LEVEL = re.compile(r"^ +(\d+) +(\d+) +(\d+)$", re.MULTILINE)
VERSION = re.compile(r"^RocksDB: +version (\S+)$", re.MULTILINE)
PROPERTIES = {
    "entries": "# entries",
    "filter_bytes": "filter block size",
    "filter_entries": "# entries for filter",
}


def result(output, benchmark):
    """The figures of one benchmark from the output of db_bench with
    --statistics and --histogram."""
    output = output.replace("\r", "\n")
    lines = [match for match in RESULT.finditer(output) if match["name"] == benchmark]
    if not lines:
        raise CellError(f"no line of results for {benchmark} in the output of db_bench")
    line = lines[-1]
    tickers = {name: int(count) for name, count in TICKER.findall(output)}
    if not tickers:
        raise CellError("no statistics in the output of db_bench")
    histograms = {
        name: {"count": int(count), "sum": int(total)}
        for name, count, total in HISTOGRAM.findall(output)
    }
    found = FOUND.search(line["rest"])
    return {
        "micros_per_op": float(line["micros"]),
        "ops_per_second": int(line["ops"]),
        "seconds": float(line["seconds"]),
        "operations": int(line["operations"]),
        "found": int(found[1]) if found else None,
        "asked": int(found[2]) if found else None,
        "percentiles": {
            kind: {"count": int(count), "p50": float(p50), "p99": float(p99), "p999": float(p999)}
            for kind, count, _, p50, _, p99, p999 in PERCENTILES.findall(output)
        },
        "tickers": tickers,
        "histograms": histograms,
    }


def levels(output):
    """[(level, files), ...] of the non-empty levels from `levelstats`."""
    parts = output.replace("\r", "\n").split("Level Files Size(MB)")
    if len(parts) < 2:
        raise CellError("no level statistics in the output of db_bench")
    rows = [(int(level), int(files)) for level, files, _ in LEVEL.findall(parts[-1])]
    return [row for row in rows if row[1] > 0]


def version(output):
    """The version of the library that db_bench reports, or None."""
    match = VERSION.search(output)
    return match[1] if match else None


def table_properties(output):
    """Sums over all tables that `sst_dump --show_properties` printed."""
    sums = {"tables": output.count("Table Properties:")}
    for name, label in PROPERTIES.items():
        values = re.findall(rf"^ +{label}: (\d+)$", output, re.MULTILINE)
        if len(values) < sums["tables"] or not sums["tables"]:
            raise CellError(f"no table properties ({name}) in the output of sst_dump")
        sums[name] = sum(map(int, values[: sums["tables"]]))
    return sums
