"""Smoke tests of filter_bench: its results are complete, and bits and rates are those
of the formats. No test looks at how long anything took.

Usage: filter_bench_test.py SOURCE FILTER_BENCH
"""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

SOURCE, PROGRAM = pathlib.Path(sys.argv[1]), sys.argv[2]
sys.path.insert(0, str(SOURCE / "db_bench_ext/filter_bench"))

import report  # noqa: E402

SEED = os.environ.get("DELTABLOOM_SEED", str(random.SystemRandom().getrandbits(32)))
TINY = {
    "--benchmark_min_time": "0.0001",
    "--repetitions": "1",
    "--many-filter-keys": "20k",
    "--samples": "1M",
    "--seed": SEED,
}


def tiny(*words):
    defaults = [f"{name}={value}" for name, value in TINY.items() if name not in words]
    return subprocess.run([PROGRAM, *defaults, *words], capture_output=True, text=True, timeout=900)


def places(results, *keys):
    return {tuple(row[key] for key in keys): row for row in report.rows_of(results)}


class FilterBench(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.done = tiny("--keys", "2k,100k", "--key-bytes", "24", "--json", str(folder / "json"))
        cls.files = {path.name: path.read_bytes() for path in folder.iterdir()}
        cls.results = json.loads(cls.files.get("json", b'{"benchmarks": [], "context": {}}'))
        cls.rows = places(cls.results, "competitor", "keys")

    def test_prints_tables_and_writes_files(self):
        self.assertEqual((self.done.returncode, self.done.stderr), (0, ""))
        self.assertIn("ratio to rocksdb-bloom", self.done.stdout)
        for row in self.results["benchmarks"]:
            self.assertIn(row["family_index"], range(len(self.results["benchmarks"])), row)
            self.assertEqual((row["repetition_index"], row["repetitions"]), (0, 1), row)
        self.assertIn("100k keys, 24 bytes per key, 10 bits per key\n", self.done.stdout)
        self.assertNotIn("\033", self.done.stdout)
        self.assertEqual(set(self.files), {"json"})

    def test_every_competitor_has_every_figure(self):
        names = {name for name, _ in self.rows}
        expected = {
            "rocksdb-bloom",
            "rocksdb-ribbon",
            "leveldb-bloom",
            "deltabloom-classic",
            "deltabloom-local",
            "deltabloom-compact",
        }
        self.assertLessEqual(expected, names)
        self.assertEqual(len(self.rows), 2 * len(names))
        for (name, keys), row in self.rows.items():
            for figure in report.TIMES:
                if figure in ("lookup_ns", "compact_build_ns_per_key"):
                    continue
                # 100k keys are less than five filters of 100k.
                missing = "_filter_" in figure and keys == 100_000
                self.assertEqual(figure not in row, missing, (name, keys, figure))
                self.assertGreater(row.get(figure, 1), 0)
        for key in ("date", "cpu", "cpu_level", "rocksdb", "leveldb", "deltabloom", "compiler"):
            self.assertIsInstance(self.results["context"][key], str)
        self.assertIn("--keys 2k,100k", self.results["context"]["command"])

    def test_stored_bits_are_those_of_the_formats(self):
        for name, keys, bits, delta in (
            (
                "leveldb-bloom",
                2000,
                (2000 * 10 + 8) / 2000,
                1e-7,
            ),  # 10 bits per key, and the byte k
            (
                "rocksdb-bloom",
                100_000,
                (1954 * 64 + 5) * 8 / 100_000,
                1e-7,
            ),  # blocks of 64 bytes, five bytes
            ("rocksdb-ribbon", 100_000, 7.1, 0.2),
        ):
            self.assertAlmostEqual(self.rows[name, keys]["stored_bits_per_key"], bits, delta=delta)

    def test_false_positives_fit_the_formula(self):
        # Five standard deviations: one run in a million fails by chance.
        for (name, keys), row in self.rows.items():
            if name.startswith("rocksdb-"):
                difference = row["false_positive_rate"] - row["theoretical_false_positive_rate"]
                self.assertLess(
                    abs(difference), 5 * row["false_positive_error"], (name, keys, SEED)
                )
        # LevelDB's probes depend on each other, which few keys do not show.
        row = self.rows["leveldb-bloom", 2000]
        rate = row["theoretical_false_positive_rate"]
        self.assertAlmostEqual(
            row["false_positive_rate"], rate, delta=5 * row["false_positive_error"] + 0.1 * rate
        )

    def test_build_bytes_count_what_builders_keep(self):
        kept = {
            name: row["build_bytes_per_key"]
            for (name, keys), row in self.rows.items()
            if keys == 100_000
        }
        self.assertGreaterEqual(kept["rocksdb-bloom"], 8)  # 64-bit hashes
        self.assertLess(kept["rocksdb-bloom"], 10)
        self.assertGreater(kept["leveldb-bloom"], 24 + 8)  # the keys themselves

    def test_the_adapter_for_leveldb_writes_its_bits(self):
        done = tiny(
            "--competitors",
            "leveldb-bloom,deltabloom-leveldb",
            "--keys",
            "1k",
            "--samples",
            "10k",
            "--benchmark_filter=random_filter",
            "--json",
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = places(json.loads(done.stdout), "competitor")
        self.assertEqual(len(rows), 2)
        for row in rows.values():
            self.assertAlmostEqual(row["stored_bits_per_key"], (1000 * 10 + 8) / 1000)
            self.assertGreater(row["random_filter_miss_ns"], 0)

    def test_a_report_has_a_table_for_every_part(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [
                    sys.executable,
                    SOURCE / "db_bench_ext/filter_bench/report.py",
                    "--bench",
                    PROGRAM,
                    "--report",
                    folder,
                    "--quick",
                    "--competitors",
                    "rocksdb-bloom,deltabloom-classic",
                    "--keys",
                    "1k,3k",
                    "--samples",
                    "1000",
                    "--many-filter-keys",
                    "20k",
                    "--repetitions",
                    "1",
                    "--benchmark_min_time=0.00001",
                ],
                capture_output=True,
                text=True,
                timeout=900,
            )
            self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
            text = pathlib.Path(folder, "report.md").read_text()
            chapters = text.split("\n## ")[1:]
            self.assertGreaterEqual(len(chapters), 5)
            for chapter in chapters:
                self.assertIn("| rocksdb-bloom |", chapter)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
