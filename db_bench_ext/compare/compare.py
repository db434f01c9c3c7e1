#!/usr/bin/env python3
"""Compares filters with the stock db_bench: the same data, seed and tree for
every filter, several repetitions in turn, one report."""

import argparse
import datetime
import hashlib
import json
import os
import pathlib
import platform
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import child  # noqa: E402
import matrix  # noqa: E402
import parse  # noqa: E402
from errors import CompareError  # noqa: E402
from measure import Measurement  # noqa: E402
from report import Report  # noqa: E402

from common import machine, terminal, whole_file  # noqa: E402

SUPPORTED = (7, 0)


class Parser(argparse.ArgumentParser):
    def error(self, message):
        print(f"compare: {message}; see --help", file=sys.stderr)
        sys.exit(2)


def positive(text):
    value = float(text)
    if not 0 < value < 1e12:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return value


def arguments(argv):
    names = [one.name for one in matrix.FILTERS + matrix.LEVELS_FILTERS + matrix.RANGE_FILTERS]
    parser = Parser(prog="script/compare", description=__doc__)
    parser.add_argument("--preset", choices=("quick", "full"), default="quick",
                        help="quick: three workloads in under three minutes; full: some eighty cells in under an hour")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("compare-report"), metavar="DIR",
                        help="the report and the finished runs; a comparison that was interrupted goes on there (default %(default)s)")
    parser.add_argument("--filters", help="comma-separated, default all: " + ",".join(names))
    parser.add_argument("--workloads", help="comma-separated, instead of the preset's: "
                        + ",".join(one.name for one in matrix.WORKLOADS))
    parser.add_argument("--bits-per-key", help="comma-separated, with --workloads (default 10)")
    parser.add_argument("--cache-mib", help="comma-separated block cache sizes, with --workloads (default 8)")
    parser.add_argument("--shapes", help="full, partitioned or both, comma-separated, with --workloads (default full)")
    parser.add_argument("--keys", type=positive, help="keys per database (default: the preset's)")
    parser.add_argument("--reads", type=positive, help="lookups per run (default: the preset's)")
    parser.add_argument("--repetitions", type=positive, help="runs per cell (default: the preset's)")
    parser.add_argument("--value-bytes", type=positive, default=100, help="default %(default)s")
    parser.add_argument("--seed", type=positive, default=1, help="default %(default)s")
    parser.add_argument("--timeout", type=positive, default=900, metavar="SECONDS",
                        help="limit of one run of db_bench (default %(default)s)")
    parser.add_argument("--db-bench", help="db_bench to run (default: the one in PATH)")
    parser.add_argument("--sst-dump", help="sst_dump to run (default: the one in PATH)")
    parser.add_argument("--plugin", type=pathlib.Path, help="libdeltabloom_rocksdb_plugin.so")
    parser.add_argument("--keep-databases", action="store_true", help="do not remove the databases at the end")
    parser.add_argument("--redraw", action="store_true",
                        help="measure nothing: write the report in --output anew from its report.json")
    parser.add_argument("--list", action="store_true", help="print the names of the cells and end")
    chosen = parser.parse_args(argv)
    for option in ("bits_per_key", "cache_mib", "shapes"):
        if getattr(chosen, option) and not chosen.workloads:
            parser.error(f"--{option.replace('_', '-')} needs --workloads")
    try:
        chosen.cells = cells(chosen)
    except ValueError as error:
        parser.error(str(error))
    return chosen


def numbers(text, option):
    try:
        return [positive(part) for part in text.split(",")]
    except (ValueError, argparse.ArgumentTypeError):
        raise ValueError(f"{option} {text}: not a list of positive numbers") from None


def cells(chosen):
    """The cells asked for; fills in the preset's sizes where none were given."""
    everything = matrix.FILTERS + matrix.LEVELS_FILTERS + matrix.RANGE_FILTERS
    if chosen.filters:
        everything = matrix.by_name(everything, chosen.filters.split(","), "--filters")
    filters = [one for one in everything if not one.levels and not one.extractor]
    levels = [one for one in everything if one.levels]
    ranges = [one for one in everything if one.extractor]
    wanted, keys, reads, repetitions = matrix.preset(chosen.preset, filters, levels, ranges)
    if chosen.workloads:
        shapes = (chosen.shapes or "full").split(",")
        for shape in shapes:
            if shape not in ("full", "partitioned"):
                raise ValueError(f"--shapes {shape}: unknown; use full, partitioned")
        workloads = matrix.by_name(matrix.WORKLOADS, chosen.workloads.split(","), "--workloads")
        bits = numbers(chosen.bits_per_key or "10", "--bits-per-key")
        caches = [int(size * matrix.MIB) for size in numbers(chosen.cache_mib or "8", "--cache-mib")]
        wanted = []
        for workload in workloads:
            # A tree that is settled at once teaches a listener nothing.
            some = filters + levels if workload.grown else filters
            if workload.sparse:
                # Other filters are not asked there.
                some = [one for one in filters if not one.uri] + ranges
            wanted += matrix.product(some, [workload], bits, caches, shapes)
    if not wanted:
        raise ValueError(f"--filters {chosen.filters}: not asked in these workloads; "
                         "levels need readmissing-grown, ranges need seekempty or seekfull among --workloads")
    chosen.keys = int(chosen.keys or keys)
    chosen.reads = int(chosen.reads or reads)
    chosen.repetitions = int(chosen.repetitions or repetitions)
    chosen.value_bytes, chosen.seed = int(chosen.value_bytes), int(chosen.seed)
    return list(dict.fromkeys(wanted))


def direct_reads_work(folder):
    """Whether the file system takes O_DIRECT."""
    probe = folder / "direct.probe"
    probe.write_bytes(bytes(4096))
    try:
        os.close(os.open(probe, os.O_RDONLY | os.O_DIRECT))
        return True
    except OSError:
        return False
    finally:
        probe.unlink()


def library_version(settings, folder, display):
    """The version db_bench runs with; CompareError where it is too old."""
    text = child.run([settings.db_bench, "--benchmarks=levelstats", f"--db={folder / 'probe'}"],
                     folder / "probe.log", "asking db_bench for its version", 60, display)
    shutil.rmtree(folder / "probe", ignore_errors=True)
    found = parse.version(text)
    if found is None:
        raise CompareError(f"{settings.db_bench}: does not say its version (see {folder / 'probe.log'})")
    if tuple(map(int, found.split(".")[:2])) < SUPPORTED:
        raise CompareError(f"{settings.db_bench} is version {found}; 7.0 or later is needed")
    return found


def check_same_comparison(chosen, folder):
    """A folder holds the runs of one comparison; another would mix figures."""
    # What a run depends on beside its own cell.
    identity = {name: str(getattr(chosen, name)) for name in
                ("keys", "reads", "value_bytes", "seed", "version", "direct")}
    if chosen.plugin:
        identity["plugin"] = hashlib.sha256(chosen.plugin.read_bytes()).hexdigest()
    path = folder / "comparison.json"
    if not path.exists():
        whole_file.write(path, json.dumps(identity, indent=1))
        return
    before = json.loads(path.read_text(encoding="utf-8"))
    for name, value in identity.items():
        if before.get(name) != value:
            raise CompareError(
                f"{folder} holds another comparison ({name} was {before.get(name)}, is {value}); "
                "choose another --output or remove it")


def prepare(chosen, folder, display):
    chosen.db_bench = child.tool("db_bench", chosen.db_bench)
    chosen.sst_dump = child.tool("sst_dump", chosen.sst_dump)
    chosen.timeout_s = chosen.timeout
    if any(cell.database.filter.ours for cell in chosen.cells):
        if chosen.plugin is None or not chosen.plugin.exists():
            raise CompareError("--plugin: needed for Deltabloom's filters; script/compare builds and names it")
        chosen.plugin = chosen.plugin.resolve()
    chosen.direct = direct_reads_work(folder)
    chosen.version = library_version(chosen, folder, display)
    check_same_comparison(chosen, folder)


def about(chosen):
    return {
        "date": datetime.date.today().isoformat(),
        "machine": f"{machine.cpu_name()}, {os.cpu_count()} cores, {platform.system()}",
        "RocksDB": f"{chosen.version}, stock db_bench",
        "data": f"{chosen.keys:,} keys of 16 bytes, values of {chosen.value_bytes} bytes, seed {chosen.seed}",
        "lookups per run": f"{chosen.reads:,}",
        "repetitions": f"{chosen.repetitions}, medians, ± half the range",
        "reads": "direct" if chosen.direct else "through the page cache",
    }


def compare(chosen):
    folder = chosen.output.resolve()
    display = terminal.Display()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        prepare(chosen, folder, display)
        measurement = Measurement(chosen, folder, display)
        done = measurement.run_all(chosen.cells, chosen.repetitions)
        Report.of_runs(folder, about(chosen), done, measurement.databases.loaded, measurement.failures).write()
    except OSError as error:
        raise CompareError(f"{error.filename}: {error.strerror}") from error
    if not chosen.keep_databases and not measurement.failures:
        shutil.rmtree(folder / "databases", ignore_errors=True)
    print(f"{len(done)} cells, {len(measurement.failures)} failures: {folder / 'report.html'}")
    return 1 if measurement.failures else 0


def redraw(chosen):
    folder = chosen.output.resolve()
    try:
        Report.of_folder(folder).write()
    except OSError as error:
        raise CompareError(f"{error.filename}: {error.strerror}") from error
    print(f"Written anew: {folder / 'report.html'}")
    return 0


def main():
    chosen = arguments(sys.argv[1:])
    if chosen.redraw:
        return redraw(chosen)
    if chosen.list:
        print("\n".join(cell.name for cell in chosen.cells))
        return 0
    try:
        return compare(chosen)
    except KeyboardInterrupt:
        terminal.Display().say(f"compare: interrupted; finished runs are kept in {chosen.output}, "
                               "the same command goes on from there")
        return terminal.INTERRUPTED


if __name__ == "__main__":
    terminal.run("compare", main, errors=(CompareError,))
