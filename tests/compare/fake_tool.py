#!/usr/bin/python3
"""Stands in for db_bench and sst_dump: replays recorded outputs, or fails in
the way that the environment variable FAKE names."""

import json
import os
import pathlib
import re
import signal
import sys
import time

RECORDED = json.loads(pathlib.Path(__file__).resolve().with_name("recorded.json").read_text())
flags = dict(part.lstrip("-").partition("=")[::2] for part in sys.argv[1:])
failure = os.environ.get("FAKE", "")


def replay(name):
    lines = RECORDED[name].splitlines(keepends=True)
    if "/none" in flags.get("db", "") or "/none" in flags.get("options_file", ""):
        lines = [line for line in lines if not line.startswith("rocksdb.bloom.")]
    sys.stdout.writelines(lines)
    sys.stdout.flush()


if pathlib.Path(sys.argv[0]).name == "sst_dump":
    without = "/none" in flags["file"] or failure == "dropped"
    replay("properties_none" if without else "properties")
    sys.exit(0)

benchmark = flags["benchmarks"].split(",")[0]
database = pathlib.Path(flags["db"])
database.mkdir(parents=True, exist_ok=True)
if benchmark == "levelstats":
    version = "6.4.1" if failure == "old" else "7.8.3"
    print("" if failure == "mute" else f"RocksDB:    version {version}")
    sys.exit(0)
ours = re.search(
    r"filter_policy=(\{id=)?deltabloom", pathlib.Path(flags["options_file"]).read_text()
)
policy = "deltabloom" if ours and failure != "misnamed" else "bloomfilter"
# The LOG looks as RocksDB 7.8.3 writes it; every path may hold any name.
(database / "LOG").write_text(
    f"2026/11/21-12:00:00.000000 7fe0 DB SUMMARY\n"
    f"2026/11/21-12:00:00.000001 7fe0 SST files in {database} dir, Total Num: 0, files: \n"
    f"2026/11/21-12:00:00.000002 7fe0                           Options.wal_dir: {database}\n"
    "2026/11/21-12:00:00.000003 7fe0   table_factory options:   "
    "flush_block_policy_factory: FlushBlock (0x1)\n"
    f"  cache_index_and_filter_blocks: 1\n"
    f"  filter_policy: {policy}\n"
    f"  whole_key_filtering: 1\n"
)
(database / "000007.sst").write_text("table")
(database / "CURRENT").write_text("MANIFEST\n")
if benchmark == "filluniquerandom" or "fillrandom,flush" in flags["benchmarks"]:
    # A tree that grows: the lines of a load under the other benchmark's name.
    print(RECORDED["load"].replace("filluniquerandomdeterministic", benchmark))
    sys.exit(0)
if benchmark.endswith("deterministic"):
    if failure == "few":
        replay("too_few_keys")
        sys.exit(1)
    replay("load")
    sys.exit(0)
with open(os.environ["FAKE_CALLS"], "a") as calls:
    calls.write(f"{benchmark} {database.name}\n")
if failure == "crash":
    os.kill(os.getpid(), signal.SIGSEGV)
if failure == "full":
    replay("disk_full")
    sys.exit(1)
if failure == "garbage":
    print("Segmentation of the output: none")
    sys.exit(0)
if failure == "slow":
    time.sleep(600)
replay(f"{benchmark}")
