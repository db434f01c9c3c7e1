"""Kills RocksDB's own stress test, db_stress, with Deltabloom's filters: the
program of script/test --long stress. See docs/trust.md for its results."""

import argparse
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

HELP = """Runs db_stress, the stress test of RocksDB's source tree, on databases with
Deltabloom's filters, and kills it over and over. Each process first compares the
whole database with what the killed one has written: a key that a filter lost is
found. db_stress must have been built with the plugin inside (see
docs/compatibility.md, "Inside RocksDB's own build"); nothing is built here."""
EPILOG = """Prints a line per configuration: kills; operations (keys read and written,
seeks); filters built; lookups in filters; negatives, which are lookups that a
filter rejected. The numbers are RocksDB's own, from its LOG, to which it writes
them every second: what a process did in its last second is not counted.

Exit code: 0; 1 if db_stress found anything, crashed, or did not use Deltabloom's
filters, of which the folder is kept; 2 for bad usage. Works under $TMPDIR."""

TABLE = {
    "partition_filters": "true",
    "index_type": "kTwoLevelIndexSearch",
    "metadata_block_size": "512",
}
# Transactions and MultiScan know no deletion of ranges.
NO_RANGES = {"delpercent": 5, "delrangepercent": 0}
# Commits and rollbacks instead of single writes. db_stress opens checkpoints and
# backups without transactions, and fails if a prepared one is in them.
TRANSACTIONS = {
    "use_txn": 1,
    "txn_write_policy": 0,
    "checkpoint_one_in": 0,
    "backup_one_in": 0,
    **NO_RANGES,
}
# Each key is written ten times, with a prefix of its own, and read as a batch.
BATCHES = {
    "test_batches_snapshots": 1,
    "prefix_size": 7,
    "delrangepercent": 0,
    "writepercent": 31,
    "verify_iterator_with_expected_state_one_in": 0,
    "ingest_external_file_one_in": 0,
}


def fixed_prefix(size):
    return {"prefix_size": size}


# Name: the policy, changed options of tables, changed flags of db_stress. Prefixes
# of 8 bytes are those of the shortest keys as a whole.
CONFIGURATIONS = {
    "classic": ("deltabloom:10:classic", {}, {}),
    "local": ("deltabloom:10:local", {}, {}),
    "compact": ("deltabloom:10:compact", {}, {}),
    "partitioned": ("deltabloom:10", TABLE, {}),
    "no filters in the last level": (
        "{id=deltabloom;bits_per_key=0;upper_bits_per_key=12}",
        {},
        {},
    ),
    "fixed prefix 5": ("deltabloom:10", {}, fixed_prefix(5)),
    "fixed prefix 8, partitioned": ("deltabloom:10", TABLE, fixed_prefix(8)),
    "coupled partitions, prefix 7": (
        "deltabloom:10",
        {**TABLE, "decouple_partitioned_filters": "false"},
        fixed_prefix(7),
    ),
    "MultiGet": ("deltabloom:10:compact", {}, {"use_multiget": 1}),
    "MultiScan": ("deltabloom:10", {}, {"use_multiscan": 1, **NO_RANGES}),
    "transactions": ("deltabloom:10", {}, TRANSACTIONS),
    "transactions, prefix": ("deltabloom:10:local", {}, {**TRANSACTIONS, **fixed_prefix(7)}),
    "batches and snapshots": ("deltabloom:10", {}, BATCHES),
}

# Small tables, so that there are levels and many filters.
OPTIONS = """
[Version]
  rocksdb_version=7.0.3
  options_file_version=1.1
[DBOptions]
  create_if_missing=true
  create_missing_column_families=true
  stats_dump_period_sec=1
  enable_thread_tracking=true
[CFOptions "default"]
  write_buffer_size=262144
  target_file_size_base=262144
  max_bytes_for_level_base=1048576
  level0_file_num_compaction_trigger=2
  prefix_extractor={prefix}
[TableOptions/BlockBasedTable "default"]
  filter_policy={policy}
"""
FLAGS = {
    "statistics": 1,
    "bloom_bits": -1,  # no policy but the one of the OPTIONS file
    "destroy_db_initially": 0,
    "reopen": 0,
    "threads": 8,
    "max_key": 100000,
    "max_key_len": 3,
    "key_len_percent_dist": "1,30,69",
    "column_families": 2,
    "prefix_size": -1,
    "readpercent": 50,
    "prefixpercent": 5,
    "writepercent": 30,
    "delpercent": 4,
    "delrangepercent": 1,
    "iterpercent": 10,
    "nooverwritepercent": 1,
    "flush_one_in": 5000,
    "compact_files_one_in": 20000,
    "compact_range_one_in": 20000,
    "checkpoint_one_in": 50000,
    "backup_one_in": 50000,
    "ingest_external_file_one_in": 20000,
    "acquire_snapshot_one_in": 1000,
    "snapshot_hold_ops": 10000,
    "verify_iterator_with_expected_state_one_in": 20,
    "clear_column_family_one_in": 0,
    "remote_compaction_worker_threads": 0,
    "compression_manager": "none",
    # Errors that it injects are no test of filters, and hide real ones.
    "sync_fault_injection": 0,
    "read_fault_one_in": 0,
    "write_fault_one_in": 0,
    "metadata_read_fault_one_in": 0,
    "metadata_write_fault_one_in": 0,
}
UNTIL_KILLED = 100_000_000
STARTED = "Starting database operations"
VERIFIED = "Crash-recovery verification passed"

OPERATIONS = [
    "rocksdb.number.keys.written",
    "rocksdb.number.keys.read",
    "rocksdb.number.multiget.keys.read",
    "rocksdb.number.db.seek",
]
NEGATIVES = ["rocksdb.bloom.filter.useful", "rocksdb.bloom.filter.prefix.useful"]
# Lookups are these and, of whole keys, the negatives.
CHECKED = ["rocksdb.bloom.filter.full.positive", "rocksdb.bloom.filter.prefix.checked"]


class Failure(Exception):
    pass


def arguments():
    parser = argparse.ArgumentParser(
        prog="script/test --long stress",
        description=HELP,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add(
        "rocksdb",
        nargs="?",
        metavar="ROCKSDB",
        help="RocksDB's tree, its CMake folder, or db_stress itself",
    )
    add("--kills", type=int, default=5, metavar="N", help="kills per configuration; default 5")
    add("--seconds", type=float, default=10, metavar="S", help="longest time to a kill; default 10")
    add("--seed", type=int, metavar="N", help="seed of what is drawn; default: random, and printed")
    add("--only", nargs="+", metavar="NAME", help="these configurations")
    add("--list", action="store_true", help="print the configurations, run nothing")
    chosen = parser.parse_args()
    if chosen.list:
        print("\n".join(f"{name:30}{policy}" for name, (policy, _, _) in CONFIGURATIONS.items()))
        sys.exit(0)
    if chosen.rocksdb is None:
        parser.error("name RocksDB's source tree in which db_stress was built")
    if chosen.kills < 1 or chosen.seconds <= 0:
        parser.error("--kills must be at least 1, --seconds more than 0")
    for name in chosen.only or []:
        if name not in CONFIGURATIONS:
            parser.error(f"no configuration '{name}': see --list")
    program = find_program(parser, pathlib.Path(chosen.rocksdb))
    check_flags(parser, program)
    return chosen, program


def find_program(parser, place):
    if place.is_file():
        return place.resolve()
    for folder in ("", "build", "cmake"):
        for name in ("db_stress", "db_stress_tool/db_stress"):
            if (place / folder / name).is_file():
                return (place / folder / name).resolve()
    if (place / "db_stress_tool").is_dir():
        parser.error(
            f"{place} has no db_stress yet: build that target of RocksDB with "
            "ROCKSDB_PLUGINS=deltabloom (docs/compatibility.md)"
        )
    parser.error(f"{place} is no source tree of RocksDB, and has no db_stress")


def check_flags(parser, program):
    """Exits if the program does not know a flag that is used."""
    used = set(FLAGS).union(*(flags for _, _, flags in CONFIGURATIONS.values()))
    try:
        known = subprocess.run(
            [program, "--help"], capture_output=True, text=True, errors="replace", timeout=60
        )
    except OSError as error:
        parser.error(f"{program} does not run: {error.strerror}")
    missing = sorted(flag for flag in used if not re.search(rf"^ *-{flag} \(", known.stdout, re.M))
    if missing:
        parser.error(
            f"{program} is no db_stress, or one of a RocksDB that is too old: it has no flag "
            f"--{missing[0]} (11.8 and later have all that are used)"
        )


class Process:
    """A db_stress whose output is kept, and that tells when it has verified the
    database and begun to work."""

    def __init__(self, command, log):
        # Line by line: what a killed process has printed counts.
        self.child = subprocess.Popen(
            ["stdbuf", "-oL", *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        self.lines = []
        self.working = threading.Event()
        self.reader = threading.Thread(target=self.read, args=(log,))
        self.reader.start()

    def read(self, log):
        with open(log, "w") as file:
            for line in self.child.stdout:
                file.write(line)
                self.lines.append(line)
                if STARTED in line:
                    self.working.set()
        self.working.set()

    def end(self):
        self.child.wait()
        self.reader.join()
        return self.child.returncode

    def has(self, text):
        return any(text in line for line in self.lines)


class Run:
    def __init__(self, program, name, folder, drawn):
        self.policy, self.table, flags = CONFIGURATIONS[name]
        self.program, self.folder, self.drawn = program, folder, drawn
        self.flags = {**FLAGS, **flags, "seed": drawn.randrange(1, 2**31)}
        if self.flags["prefix_size"] < 0:  # it has no scans of a prefix then
            self.flags["readpercent"] += self.flags["prefixpercent"]
            self.flags["prefixpercent"] = 0
        self.kills = 0

    def command(self, operations):
        options = self.folder / "OPTIONS"
        prefix = self.flags["prefix_size"]
        text = OPTIONS.format(
            policy=self.policy, prefix=f"rocksdb.FixedPrefix.{prefix}" if prefix > 0 else "nullptr"
        )
        options.write_text(
            text + "".join(f"  {key}={value}\n" for key, value in self.table.items())
        )
        for name in ("db", "expected"):
            (self.folder / name).mkdir(exist_ok=True)
        flags = {
            **self.flags,
            "db": self.folder / "db",
            "expected_values_dir": self.folder / "expected",
            "options_file": options,
            "ops_per_thread": operations,
        }
        return [self.program, *(f"--{name}={value}" for name, value in flags.items())]

    def start(self, operations):
        return Process(self.command(operations), self.folder / f"output.{self.kills}")

    def kill_once(self, seconds):
        process = self.start(UNTIL_KILLED)
        process.working.wait()
        wait = self.drawn.uniform(seconds / 10, seconds)
        try:
            process.child.wait(wait)
        except subprocess.TimeoutExpired:
            process.child.kill()
        code = process.end()
        if code != -9 or not process.has(STARTED):
            raise Failure(f"ended before the kill, {describe(code)}")
        self.check_recovery(process)
        self.kills += 1

    def check_recovery(self, process):
        # Batches verify themselves when they are read.
        if (
            self.kills > 0
            and not self.flags.get("test_batches_snapshots")
            and not process.has(VERIFIED)
        ):
            raise Failure("did not compare the database with what the killed process wrote")

    def end(self):
        """A last process, which is left to its end."""
        process = self.start(operations=1000)
        code = process.end()
        if code != 0:
            raise Failure(f"the last process failed, {describe(code)}")
        self.check_recovery(process)

    def count(self):
        """What the LOGs of all processes say, as a dictionary of tickers, with the
        number of filters."""
        total = dict.fromkeys(["filters", *OPERATIONS, *NEGATIVES, *CHECKED], 0)
        for log in (self.folder / "db").glob("LOG*"):
            last = {}
            with open(log, errors="replace") as lines:
                for line in lines:
                    if '"event": "table_file_creation"' in line:
                        total["filters"] += has_filter(line)
                    elif match := re.match(r"(rocksdb\.[a-z.]+) COUNT : (\d+)", line):
                        last[match[1]] = int(match[2])
            for ticker in total:
                total[ticker] += last.get(ticker, 0)
        return total

    def check(self, kills, seconds):
        """Returns the numbers of the line."""
        for _ in range(kills):
            self.kill_once(seconds)
        self.end()
        total = self.count()
        negatives = sum(total[ticker] for ticker in NEGATIVES)
        lookups = sum(total[ticker] for ticker in CHECKED) + total["rocksdb.bloom.filter.useful"]
        if total["filters"] == 0:
            raise Failure(
                "no filter of Deltabloom was built: is the plugin inside? (docs/compatibility.md)"
            )
        if negatives == 0:
            raise Failure("no filter rejected a key: they were not used")
        operations = sum(total[ticker] for ticker in OPERATIONS)
        return self.kills, operations, total["filters"], lookups, negatives


def has_filter(line):
    properties = json.loads(line[line.index("{") :])["table_properties"]
    return properties["filter_policy"] == "deltabloom" and properties["filter_size"] > 0


def describe(code):
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def main():
    chosen, program = arguments()
    seed = chosen.seed if chosen.seed is not None else random.SystemRandom().randrange(1, 2**31)
    names = chosen.only or list(CONFIGURATIONS)
    print(f"{program}, --seed {seed}")
    columns = ["kills", "operations", "filters", "lookups", "negatives"]
    print(f"{'':30}" + "".join(f"{column:>12}" for column in columns), flush=True)
    top = pathlib.Path(tempfile.mkdtemp(prefix="deltabloom-stress."))
    failed = 0
    for name in names:
        folder = top / re.sub(r"\W+", "-", name)
        folder.mkdir()
        # Each configuration has its own seed, so that --only repeats it.
        run = Run(program, name, folder, random.Random(f"{seed} {name}"))
        begin = time.monotonic()
        try:
            numbers = run.check(chosen.kills, chosen.seconds)
            print(
                f"{name:30}"
                + "".join(f"{number:12,}" for number in numbers)
                + f"   {time.monotonic() - begin:.0f} s",
                flush=True,
            )
            shutil.rmtree(folder)
        except Failure as failure:
            failed += 1
            print(f"{name:30}FAILED after {run.kills} kills: {failure}", flush=True)
            outputs = sorted(folder.glob("output.*"), key=os.path.getmtime)
            tail = outputs[-1].read_text(errors="replace").splitlines()[-5:]
            print(
                "".join(f"    {line[:200]}\n" for line in tail)
                + f"    database and outputs: {folder}",
                flush=True,
            )
    if failed == 0:
        top.rmdir()
    print(f"{len(names)} configurations, {failed} failures")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
