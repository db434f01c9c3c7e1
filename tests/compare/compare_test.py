#!/usr/bin/python3
"""A smoke test of the comparison with the stock db_bench, whose reads must be those
of the filters.

Usage: compare_test.py PLUGIN [unittest options]
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from support import seed_of_this_run  # noqa: E402

PLUGIN = sys.argv[1]
SEED = seed_of_this_run()
COMPARE = HERE.parents[1] / "db_bench_ext" / "compare" / "compare.py"


def compare(*arguments):
    return subprocess.run(
        ["/usr/bin/python3", COMPARE, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=900,
    )


class Compare(unittest.TestCase):
    def run_cells(self, out, *arguments):
        """The report, and the data blocks that each filter reads in it."""
        done = compare(
            "--output", out, "--repetitions", 1, "--seed", SEED, "--plugin", PLUGIN, *arguments
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads((out / "report.json").read_text())
        return report, {
            row["filter"]: row["data_block_reads_per_lookup"] for row in report["cells"]
        }

    def test_lists_of_the_presets(self):
        for preset, least, most in (("quick", 12, 25), ("full", 65, 100)):
            names = compare("--preset", preset, "--list").stdout.split()
            self.assertEqual(len(names), len(set(names)))
            self.assertIn(len(names), range(least, most + 1))

    def test_trees_that_are_full(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder, "out")
            filters = "none,rocksdb-bloom,deltabloom-classic,deltabloom"
            keys = ("--keys", 60000, "--reads", 2000)
            report, reads = self.run_cells(
                out, "--filters", filters, "--workloads", "readmissing", *keys
            )
            self.assertGreater(reads.pop("none"), 0.5)
            for name, value in reads.items():
                # Four runs at about 1 %: ten times that would be no filter.
                self.assertLess(value, 0.4, name)
            self.assertIn("| rocksdb-bloom |", (out / "report.md").read_text())
            self.assertTrue(list(out.rglob("*.svg")))
            # Tables above the last level have 12.5 bits per key.
            stored = {row["database"]: row["bits_per_key"] for row in report["databases"]}
            self.assertLess(stored["deltabloom-classic-10-full"], 10.15)
            self.assertGreater(stored["deltabloom-10-full"], 10.15)
            self.assertLess(stored["deltabloom-10-full"], 12.5)

    def test_trees_that_grow(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder)
            filters = "rocksdb-bloom,deltabloom-compact-uniform,deltabloom"
            keys = ("--keys", 150000, "--reads", 20000)
            _, reads = self.run_cells(
                out, "--filters", filters, "--workloads", "readmissing-grown", *keys
            )
            self.assertLess(reads["deltabloom-compact-uniform"], reads["rocksdb-bloom"])
            self.assertLess(reads["deltabloom"], reads["rocksdb-bloom"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
