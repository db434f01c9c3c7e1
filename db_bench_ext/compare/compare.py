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
import re
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import child  # noqa: E402
import matrix  # noqa: E402
import parse  # noqa: E402
import report  # noqa: E402
from measure import Measurement  # noqa: E402

from common import terminal, whole_file  # noqa: E402


class Parser(argparse.ArgumentParser):
    def error(self, message):
        print(f"{self.prog}: {message}; see {self.prog} --help", file=sys.stderr)
        sys.exit(2)


def positive(text):
    value = float(text)
    if not 0 < value < 1e12:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return value


def arguments(argv):
    filters = ",".join(one.name for one in matrix.FILTERS)
    workloads = ",".join(one.name for one in matrix.WORKLOADS)
    parser = Parser(prog="script/compare", description=__doc__)
    add = parser.add_argument
    add(
        "--preset",
        choices=("quick", "full"),
        default="quick",
        help="quick: lookups in about three minutes; full: some ninety cells in under an hour",
    )
    add(
        "--output",
        type=pathlib.Path,
        default=pathlib.Path("compare-report"),
        metavar="DIR",
        help="the report and the finished runs; an interrupted comparison continues there "
        "(default %(default)s)",
    )
    add("--filters", help=f"comma-separated, default all: {filters}")
    add("--workloads", help=f"comma-separated, instead of the preset's: {workloads}")
    add("--bits-per-key", help="comma-separated, with --workloads (default 10)")
    add("--cache-mib", help="comma-separated block cache sizes, with --workloads (default 8)")
    add(
        "--shapes",
        help="full, partitioned or both, comma-separated, with --workloads (default full)",
    )
    add("--keys", type=positive, help="keys per database (default: the preset's)")
    add("--reads", type=positive, help="lookups per run (default: the preset's)")
    add("--repetitions", type=positive, help="runs per cell (default: the preset's)")
    add("--value-bytes", type=positive, default=100, help="default %(default)s")
    add("--seed", type=positive, default=1, help="default %(default)s")
    add(
        "--timeout",
        type=positive,
        default=900,
        metavar="SECONDS",
        help="limit of one run of db_bench (default %(default)s)",
    )
    add("--db-bench", help="db_bench to run (default: the one in PATH)")
    add("--sst-dump", help="sst_dump to run (default: the one in PATH)")
    add("--plugin", type=pathlib.Path, help="libdeltabloom_rocksdb_plugin.so")
    add("--keep-databases", action="store_true", help="do not remove the databases at the end")
    add("--list", action="store_true", help="print the names of the cells and exit")
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
    """The cells of the options; sets the preset's sizes where none are given."""
    filters = matrix.FILTERS
    if chosen.filters:
        filters = matrix.by_name(filters, chosen.filters.split(","), "--filters")
    wanted, keys, reads, repetitions = matrix.preset(chosen.preset, filters)
    if chosen.workloads:
        shapes = (chosen.shapes or "full").split(",")
        for shape in shapes:
            if shape not in ("full", "partitioned"):
                raise ValueError(f"--shapes {shape}: unknown; use full, partitioned")
        wanted = matrix.product(
            filters,
            matrix.by_name(matrix.WORKLOADS, chosen.workloads.split(","), "--workloads"),
            numbers(chosen.bits_per_key or "10", "--bits-per-key"),
            [int(size * matrix.MIB) for size in numbers(chosen.cache_mib or "8", "--cache-mib")],
            shapes,
        )
    chosen.keys = int(chosen.keys or keys)
    chosen.reads = int(chosen.reads or reads)
    chosen.repetitions = int(chosen.repetitions or repetitions)
    chosen.value_bytes, chosen.seed = int(chosen.value_bytes), int(chosen.seed)
    return list(dict.fromkeys(wanted))


def direct_reads_work(folder):
    """Returns whether the file system takes O_DIRECT."""
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
    text = child.run(
        [settings.db_bench, "--benchmarks=levelstats", f"--db={folder / 'probe'}"],
        folder / "probe.log",
        "asking db_bench for its version",
        60,
        display,
    )
    shutil.rmtree(folder / "probe", ignore_errors=True)
    found = parse.version(text)
    if found is None:
        raise child.CompareError(
            f"{settings.db_bench}: does not say its version (see {folder / 'probe.log'})"
        )
    if int(found.split(".")[0]) < 7:
        raise child.CompareError(f"{settings.db_bench} is version {found}; 7.0 or later is needed")
    return found


def check_same_comparison(chosen, folder):
    """A folder holds the runs of one comparison; another would mix figures."""
    # The settings that all runs of a comparison must share.
    names = ("keys", "reads", "value_bytes", "seed", "version", "direct")
    identity = {name: str(getattr(chosen, name)) for name in names}
    if chosen.plugin:
        identity["plugin"] = hashlib.sha256(chosen.plugin.read_bytes()).hexdigest()
    path = folder / "comparison.json"
    if not path.exists():
        whole_file.write(path, json.dumps(identity, indent=1))
        return
    before = json.loads(path.read_text(encoding="utf-8"))
    for name, value in identity.items():
        if before.get(name) != value:
            raise child.CompareError(
                f"{folder} holds another comparison ({name} was {before.get(name)}, is {value}); "
                "choose another --output or remove it"
            )


def prepare(chosen, folder, display):
    chosen.db_bench = child.tool("db_bench", chosen.db_bench)
    chosen.sst_dump = child.tool("sst_dump", chosen.sst_dump)
    if any(cell.database.filter.ours for cell in chosen.cells):
        if chosen.plugin is None or not chosen.plugin.exists():
            raise child.CompareError(
                "--plugin: needed for Deltabloom's filters; script/compare builds and names it"
            )
        chosen.plugin = pathlib.Path(child.preloadable(chosen.plugin))
    chosen.direct = direct_reads_work(folder)
    chosen.version = library_version(chosen, folder, display)
    check_same_comparison(chosen, folder)


def cpu_name():
    names = re.findall(
        r"^model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text("utf-8"), re.MULTILINE
    )
    return names[0] if names else platform.machine()


def about(chosen):
    return {
        "date": datetime.date.today().isoformat(),
        "machine": f"{cpu_name()}, {os.cpu_count()} cores, {platform.system()}",
        "RocksDB": f"{chosen.version}, stock db_bench",
        "data": f"{chosen.keys:,} keys of 16 bytes, values of {chosen.value_bytes} bytes, seed "
        f"{chosen.seed}",
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
        report.write(
            folder,
            report.document(
                folder, about(chosen), done, measurement.databases.loaded, measurement.failures
            ),
        )
    except OSError as error:
        raise child.CompareError(f"{error.filename}: {error.strerror}") from error
    if not chosen.keep_databases and not measurement.failures:
        shutil.rmtree(folder / "databases", ignore_errors=True)
    print(f"{len(done)} cells, {len(measurement.failures)} failures: {folder / 'report.md'}")
    return 1 if measurement.failures else 0


def main():
    chosen = arguments(sys.argv[1:])
    if chosen.list:
        print("\n".join(cell.name for cell in chosen.cells))
        return 0
    try:
        return compare(chosen)
    except KeyboardInterrupt:
        terminal.Display().say(
            f"script/compare: interrupted; finished runs are kept in {chosen.output}, "
            "the same command continues there"
        )
        return terminal.INTERRUPTED


if __name__ == "__main__":
    terminal.run("compare", main, errors=(child.CompareError,))
