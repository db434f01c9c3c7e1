#!/usr/bin/env python3
"""Measures everything that docs/performance.md shows, and writes it.

    report.py --bench FILTER_BENCH --source TREE --to DIR [--quick] [options]

Further options go to filter_bench and replace those of the parts below. Parts
that are done stay in a folder beside the program until the report is written:
a report that was interrupted continues where it was. The text around the
generated tables is that of TREE/docs/performance.md."""

import argparse
import hashlib
import json
import os
import pathlib
import subprocess
import sys

import plots
import report_tables

from common import terminal, whole_file

COUNTS = "1k,3k,10k,30k,100k,300k,1M,3M,10M,100M"
MAIN_FIGURES = "^(miss|hit|batch_miss|batch_hit|build)_ns"


def parts(quick, levels, known, cpus):
    """Name, options and environment of every run."""
    deltabloom = [name for name in known if name.startswith("deltabloom-")]
    against = ",".join(
        [name for name in known if name.startswith("rocksdb-")] + deltabloom
    )
    options = {
        "keys": {
            "--keys": "1k,3k,100k" if quick else COUNTS,
            "--many-filter-keys": "0",
            "--repetitions": "9",
            "--benchmark_min_time": "0.01",
        },
        "many": {
            "--keys": "10k",
            # Many filters lie anywhere in memory, so single runs differ most.
            "--repetitions": "15",
            "--benchmark_min_time": "0.01",
            "--benchmark_filter": "_filter_",
        },
        "bits": {
            "--keys": "100k",
            "--bits-per-key": "5,10,16" if quick else "5,6,7,8,9,10,11,12,13,14,16,18,20,22,24",
            "--samples": "1M" if quick else "20M",
            "--many-filter-keys": "0",
            "--repetitions": "5",
            "--benchmark_min_time": "0.01",
            "--benchmark_filter": MAIN_FIGURES,
        },
        "key_bytes": {
            "--keys": "100k",
            "--key-bytes": "8,16,24,40,100",
            "--many-filter-keys": "0",
            "--repetitions": "5",
            "--benchmark_min_time": "0.01",
            "--benchmark_filter": MAIN_FIGURES,
        },
        "threads": {
            "--keys": "1M",
            "--threads": ",".join(str(n) for n in sorted({1, cpus})),
            "--many-filter-keys": "0",
            "--repetitions": "5",
            "--benchmark_min_time": "0.01",
            "--benchmark_filter": "^(miss|hit|batch_miss)_ns",
        },
    }
    options["database"] = {
        "--database": None,
        "--keys": "100k" if quick else "1M",
        "--repetitions": "5",
        # Per key, as the times are: some thousand chunks of keys.
        "--benchmark_min_time": "0.002",
    }
    for kind in ("sequential", "decimal"):
        options[kind] = {
            "--keys": "1k,100k,1M",
            "--key-bytes": "24",
            "--key-kind": kind,
            "--rates-only": None,
        }
    result = [(name, values, {}) for name, values in options.items()]
    for level in levels:
        result.append(
            (
                level,
                {
                    "--keys": "3k,100k" if quick else "3k,100k,1M,10M",
                    "--competitors": against,
                    "--many-filter-keys": "0",
                    "--repetitions": "9",
                    "--benchmark_min_time": "0.01",
                    "--benchmark_filter": MAIN_FIGURES,
                },
                {"DELTABLOOM_CPU": level},
            )
        )
    return result


def split_options(words):
    """--a b --c --d=e as a dictionary; None where there is no value."""
    options = {}
    name = None
    for word in words:
        if word.startswith("--"):
            name, equals, value = word.partition("=")
            options[name] = value if equals else None
        else:
            options[name] = word
    return options


def command_of(bench, options, output):
    command = [str(bench)]
    for name, value in options.items():
        if value is None:
            command.append(name)
        elif name.startswith("--benchmark_"):
            command.append(f"{name}={value}")
        else:
            command += [name, value]
    return command + ["--json", str(output)]


class Runner:
    """Runs parts, and remembers those that are done."""

    def __init__(self, bench, asked, quick):
        self.display = terminal.Display()
        self.bench = bench
        self.asked = asked
        self.quick = quick
        self.done = bench.parent / "report"
        self.done.mkdir(exist_ok=True)
        self.program = hashlib.sha256(bench.read_bytes()).hexdigest()

    def run(self, name, options, environment):
        options = {**options, **self.asked}
        if self.quick:
            options["--quick"] = None
        if environment and not set(options) & {"--rates-only"}:
            name = f"level {name}"
        identity = json.dumps([self.program, options, environment], sort_keys=True)
        stamp = hashlib.sha256(identity.encode()).hexdigest()[:24]
        file = self.done / f"{stamp}.json"
        if not file.exists():
            self.say(f"measuring: {name}")
            # --json makes the file whole or not at all.
            self.run_bench(command_of(self.bench, options, file), environment)
        return json.loads(file.read_text(encoding="utf-8"))

    def run_bench(self, command, environment):
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

    def say(self, text):
        if self.display.live:
            self.display.say(text)

    def forget(self):
        for file in self.done.iterdir():
            file.unlink()
        self.done.rmdir()


def describe(bench):
    """Known competitors and the CPU level, from a run that does next to nothing."""
    output = subprocess.run(
        [bench, "--rates-only", "--keys", "1k", "--samples", "1k", "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    if output.returncode != 0:
        sys.exit(output.stderr.strip())
    result = json.loads(output.stdout)
    return plots.names_of(result["rows"]), result["context"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bench", type=pathlib.Path, required=True)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--to", type=pathlib.Path, required=True)
    parser.add_argument("--quick", action="store_true")
    arguments, rest = parser.parse_known_args()

    frame = (arguments.source / "docs" / "performance.md").read_text(encoding="utf-8")
    arguments.to.mkdir(parents=True, exist_ok=True)
    known, context = describe(arguments.bench)
    lower = {"avx512": ["avx2", "portable"], "avx2": ["portable"]}
    levels = lower.get(context["cpu_level"], [])
    asked = split_options(rest)
    runner = Runner(arguments.bench, asked, arguments.quick)
    results = {}
    for name, options, environment in parts(
        arguments.quick, levels, known, int(context["cpus"])
    ):
        results[name] = runner.run(name, options, environment)

    words = ["script/bench", "--report"] + ["--quick"] * arguments.quick + rest
    context["report_command"] = " ".join(words)
    text = report_tables.fill(frame, results, context)
    images = arguments.to / "performance"
    images.mkdir(exist_ok=True)
    plots.draw_lookups(results["keys"], images / "lookup_ns.png")
    plots.draw_false_positives(results["bits"], images / "false_positives.png")
    whole_file.write(arguments.to / "performance.md", text)
    runner.forget()
    runner.say(f"wrote {arguments.to / 'performance.md'}")


if __name__ == "__main__":
    terminal.run("filter_bench", main)
