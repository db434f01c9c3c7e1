#!/usr/bin/env python3
"""Tables of filter_bench's results, which are Google Benchmark's JSON.

    report.py < RESULTS.json
    report.py --bench FILTER_BENCH --report [DIR] [--quick] [options]

The first prints the tables of one run. The second runs filter_bench part by part
(25 minutes) and writes report.md and the JSON of the parts into DIR
(default: next to the program). A report that was interrupted continues
with the parts that are missing. Further options go to filter_bench and replace
those of the parts."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from common import markdown, terminal, whole_file  # noqa: E402

COUNTED = {
    "stored_bits_per_key": "bits per key",
    "false_positive_rate": "false positives, %",
    "false_positive_error": "±",
    "theoretical_false_positive_rate": "formula, %",
    "bound": "bound, %",
    "bits_per_information_bit": "bits per bit of information",
    "build_bytes_per_key": "build, bytes per key",
}
TIMES = {
    "build_ns_per_key": "build",
    "compact_build_ns_per_key": "build compact",
    "lookup_ns": "lookup",
    "miss_ns": "miss",
    "hit_ns": "hit",
    "batch_miss_ns": "batch miss",
    "batch_hit_ns": "batch hit",
    "random_filter_miss_ns": "random miss",
    "random_filter_hit_ns": "random hit",
    "random_filter_batch_miss_ns": "random batch",
}
FIGURES = {**COUNTED, **TIMES}
SETTING = ("keys", "key_bytes", "bits_per_key", "length", "threads")


def rows_of(results):
    """One row for each competitor and setting. The medians of the repetitions."""
    runs = {}
    for run in results["benchmarks"]:
        if run.get("aggregate_name", "median") == "median":
            runs.setdefault(run.get("run_name", run["name"]), []).append(run)
    rows = {}
    for name, repetitions in runs.items():
        words = name.split("/")
        figure = words.pop(0)
        row = {"competitor": words.pop(0)}
        for word in words:
            key, colon, value = word.partition(":")
            if colon:
                row[key] = float(value) if key == "bits_per_key" else int(value)
        row.setdefault("threads", 1)
        row = rows.setdefault(tuple(row.items()), row)
        for key in (*FIGURES, "samples"):
            if key in repetitions[0]:
                row[key] = repetitions[0][key]
        if "ns_per_key" in repetitions[0]:
            row[figure] = statistics.median(run["ns_per_key"] for run in repetitions)
    return shared(list(rows.values()))


def shared(rows):
    """Rows of several threads get the figures of one thread that do not depend on
    it, and the order of competitors."""
    order = list(dict.fromkeys(row["competitor"] for row in rows))
    rows = sorted(rows, key=lambda row: order.index(row["competitor"]))
    alone = {setting_of(row, "threads"): row for row in rows if row["threads"] == 1}
    return [
        {**alone.get(setting_of(row, "threads"), {}), **row} if row["threads"] > 1 else row
        for row in rows
    ]


def setting_of(row, without=None):
    keys = ("competitor",) + SETTING
    return tuple(row.get(key) for key in keys if key != without)


def plain(number):
    for unit, letter in ((1_000_000, "M"), (1000, "k")):
        if isinstance(number, int) and number >= unit and number % unit == 0:
            return f"{number // unit}{letter}"
    return str(number) if isinstance(number, str) else f"{number:g}"


def shown(key, value):
    if value is None:
        return "-"
    if "rate" in key or key in ("false_positive_error", "bound"):
        return markdown.percent(value)
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}" if value < 1 else f"{value:.2f}"


def with_ratio(key, row, base):
    """The value and, for times, the ratio to the baseline."""
    text = shown(key, row.get(key))
    if base in (None, row) or not base.get(key) or row.get(key) is None or key not in TIMES:
        return text
    return f"{text} ({row[key] / base[key]:.2f})"


def title_of(row):
    names = {"key_bytes": "bytes per key", "bits_per_key": "bits per key"}
    parts = [f"{plain(row[key])} {names.get(key, key)}" for key in SETTING if row.get(key)]
    return ", ".join(parts).removesuffix(", 1 threads")


def tables(rows, baseline):
    """Returns two tables for each setting: the counted figures, and the times."""
    settings = {}
    for row in rows:
        settings.setdefault(setting_of(row)[1:], []).append(row)
    text = []
    for group in settings.values():
        base = next((row for row in group if row["competitor"] == baseline), None)
        text.append(f"{title_of(group[0])}\n")
        for figures, heading in ((COUNTED, ""), (TIMES, f"ns per key (ratio to {baseline})")):
            keys = [key for key in figures if any(key in row for row in group)]
            lines = [
                [row["competitor"]] + [with_ratio(key, row, base) for key in keys]
                for row in group
                if any(key in row for key in keys)
            ]
            if lines:
                text.append(
                    markdown.table([heading] + [figures[key] for key in keys], lines) + "\n"
                )
    return "\n".join(text)


def grid(rows, figure, column, baseline):
    """Competitors down, the values of `column` across."""
    places = {(row["competitor"], row[column]): row for row in rows if figure in row}
    values = sorted({value for _, value in places})
    lines = []
    for name in dict.fromkeys(name for name, _ in places):
        cells = [(places.get((name, value), {}), places.get((baseline, value))) for value in values]
        lines.append([name] + [with_ratio(figure, *cell) for cell in cells])
    return markdown.table([column.replace("_", " ")] + [plain(value) for value in values], lines)


def parts(quick, levels):
    """Title, options and environment of every part of the report, and the option
    whose values are the columns of its tables."""
    main = "^(miss|hit|batch_miss|batch_hit|build)_ns"
    few = {"--many-filter-keys": "0", "--repetitions": "5", "--benchmark_min_time": "0.01"}
    keys = "1k,3k,100k" if quick else "1k,3k,10k,30k,100k,300k,1M,3M,10M,100M"
    bits = "5,10,16" if quick else "5,6,7,8,9,10,11,12,13,14,16,18,20,22,24"
    yield "Keys per filter", "keys", {**few, "--keys": keys, "--repetitions": "9"}, {}
    # Many filters lie anywhere in memory, so single runs differ most.
    many = {"--keys": "10k", "--repetitions": "15", "--benchmark_min_time": "0.01"}
    yield "Many filters", "keys", {**many, "--benchmark_filter": "_filter_"}, {}
    samples = "1M" if quick else "20M"
    yield "Bits per key", "bits_per_key", {
        **few,
        "--keys": "100k",
        "--bits-per-key": bits,
        "--samples": samples,
        "--benchmark_filter": main,
    }, {}
    for kind in ("sequential", "decimal"):
        yield f"Keys: {kind}", "keys", {
            "--keys": "1k,100k,1M",
            "--key-bytes": "24",
            "--key-kind": kind,
            "--rates-only": None,
        }, {}
    for level in levels:
        yield f"DELTABLOOM_CPU={level}", "keys", {
            **few,
            "--keys": "3k,100k" if quick else "3k,100k,1M,10M",
            "--benchmark_filter": main,
        }, {"DELTABLOOM_CPU": level}


def run_part(bench, options, environment, path):
    """filter_bench makes the file whole or not at all."""
    command = [str(bench), "--json", str(path)]
    for name, value in options.items():
        joined = name.startswith("--benchmark_")
        command += [name] if value is None else [f"{name}={value}"] if joined else [name, value]
    process = subprocess.Popen(
        command, env={**os.environ, **environment}, stdout=subprocess.DEVNULL
    )
    try:
        code = process.wait()
    except KeyboardInterrupt:
        # It cleans up, too.
        process.terminate()
        process.wait()
        raise
    if code != 0:
        sys.exit(code)


def options_of(words):
    """--a b --c --d=e as a dictionary; None where there is no value."""
    options = {}
    for word in words:
        if word.startswith("--"):
            name, equals, value = word.partition("=")
            options[name] = value if equals else None
        else:
            options[name] = word
    return options


def context_table(context):
    names = ("date", "cpu", "num_cpus", "cpu_level", "system", "compiler")
    names += ("deltabloom", "rocksdb", "leveldb")
    return markdown.table(["", ""], [[name, context[name]] for name in names], 2)


def write_report(bench, folder, quick, given):
    folder.mkdir(parents=True, exist_ok=True)
    display = terminal.Display()
    text = ["# Filters side by side\n"]
    context = None
    todo = list(parts(quick, ()))
    for title, column, options, environment in todo:
        path = folder / f"{title.lower().replace(' ', '_').replace(':', '')}.json"
        if not path.exists():
            display.say(f"measuring: {title}") if display.live else None
            quickly = {"--quick": None} if quick else {}
            run_part(bench, {**options, **quickly, **given}, environment, path)
        results = json.loads(path.read_text(encoding="utf-8"))
        if context is None:
            context = results["context"]
            lower = {"avx512": ["avx2", "portable"], "avx2": ["portable"], "neon": ["portable"]}
            levels = lower.get(context["cpu_level"], ())
            todo += [part for part in parts(quick, levels) if part[3]]
            text.append(context_table(context) + "\n")
        rows = rows_of(results)
        text.append(f"## {title}\n")
        for figure, name in FIGURES.items():
            if any(figure in row for row in rows):
                grown = grid(rows, figure, column, context["baseline"])
                text.append(f"### {name}{', ns per key' if figure in TIMES else ''}\n\n{grown}\n")
    whole_file.write(folder / "report.md", "\n".join(text))
    if display.live:
        display.say(f"wrote {folder / 'report.md'}")


def main():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--bench", type=pathlib.Path)
    parser.add_argument("--report", type=pathlib.Path, nargs="?", const=pathlib.Path())
    parser.add_argument("--quick", action="store_true")
    arguments, rest = parser.parse_known_args()
    if arguments.report is None:
        results = json.load(sys.stdin)
        print(tables(rows_of(results), results["context"]["baseline"]))
        return
    folder = arguments.report
    if folder == pathlib.Path():
        folder = arguments.bench.parent / "report"
    write_report(arguments.bench, folder, arguments.quick, options_of(rest))


if __name__ == "__main__":
    terminal.run("filter_bench", main)
