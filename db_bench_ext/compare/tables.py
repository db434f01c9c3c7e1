"""Turns runs into rows: medians, spread, and reads per lookup."""

import statistics


def six_digits(value):
    """As many as a figure can have that repeats within a percent, and more."""
    return float(f"{value:.6g}") if isinstance(value, float) else value


def median_and_spread(values):
    """(median, half the distance between smallest and largest)."""
    values = [value for value in values if value is not None]
    if not values:
        return None, None
    return six_digits(statistics.median(values)), six_digits((max(values) - min(values)) / 2)


def lookups(figures):
    """Keys that were looked up, or seeks."""
    tickers = figures["tickers"]
    count = tickers.get("rocksdb.number.keys.read", 0)
    count += tickers.get("rocksdb.number.multiget.keys.read", 0)
    count += tickers.get("rocksdb.number.db.seek", 0)
    return count


def reads_per_lookup(figures):
    count = lookups(figures)
    if not count:
        return None
    return figures["tickers"].get("rocksdb.block.cache.data.miss", 0) / count


def false_positives_per_lookup(figures):
    tickers = figures["tickers"]
    count = lookups(figures)
    positive = tickers.get("rocksdb.bloom.filter.full.positive", 0)
    true = tickers.get("rocksdb.bloom.filter.full.true.positive", 0)
    useful = tickers.get("rocksdb.bloom.filter.useful", 0)
    if not count or not positive + useful:
        return None
    return (positive - true) / count


def percentile(figures, name):
    kinds = figures["percentiles"]
    for kind in ("read", "seek", "op", "write"):
        if kind in kinds:
            return kinds[kind][name]
    return None


def filter_cache_bytes(figures):
    """Bytes of filters put into the block cache: all of them, as they are
    pinned there."""
    return figures["tickers"].get("rocksdb.block.cache.filter.bytes.insert", 0)


def compaction_cpu_s(figures):
    """None where nothing was compacted."""
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
    "filter_cache_bytes": filter_cache_bytes,
    "compaction_cpu_seconds": compaction_cpu_s,
}


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
    rows = []
    for (name, prefix), facts in loaded.items():
        rows.append(
            {
                "database": name + (" (with prefixes)" if prefix else ""),
                "tables": facts["tables"],
                "runs": " ".join(f"L{level}:{files}" for level, files in facts["levels"]),
                "keys": facts["entries"],
                "filter_bytes": facts["filter_bytes"],
                "bits_per_key": six_digits(facts["bits_per_key"]),
                "load_seconds": six_digits(facts["load_seconds"]),
                "compaction_cpu_seconds": six_digits(facts["compaction_cpu_seconds"]),
            }
        )
    return rows
