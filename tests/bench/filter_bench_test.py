"""Small runs of filter_bench: the results are complete and true. No test looks at
how long anything took.

Usage: filter_bench_test.py SOURCE FILTER_BENCH
"""

import json
import os
import pathlib
import random
import signal
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


def run(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=900)


def tiny(*words):
    defaults = [f"{name}={value}" for name, value in TINY.items() if name not in words]
    return run(*defaults, *words)


def places(results, *keys):
    return {tuple(row[key] for key in keys): row for row in report.rows_of(results)}


class FilterBench(unittest.TestCase):
    def rows_of_run(self, done, *keys):
        self.assertEqual(done.returncode, 0, f"{done.stderr} DELTABLOOM_SEED={SEED}")
        return places(json.loads(done.stdout), *keys)


class TinyRun(FilterBench):
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


class Modes(FilterBench):
    def test_lists_choose_any_part(self):
        done = tiny(
            "--competitors",
            "deltabloom-classic,rocksdb-bloom",
            "--keys",
            "1k",
            "--threads",
            "1,2",
            "--bits-per-key",
            "5,9.9",
            "--key-kind",
            "decimal",
            "--json",
        )
        rows = self.rows_of_run(done, "competitor", "bits_per_key", "threads")
        names = ("deltabloom-classic", "rocksdb-bloom")
        self.assertEqual(set(rows), {(n, b, t) for n in names for b in (5, 9.9) for t in (1, 2)})
        self.assertGreater(min(row["miss_ns"] for row in rows.values()), 0)

        done = tiny("--rates-only", "--competitors", "rocksdb-bloom", "--keys", "1k", "--json")
        (row,) = self.rows_of_run(done, "competitor").values()
        self.assertFalse(set(row) & set(report.TIMES))
        self.assertGreater(row["false_positive_rate"], 0)

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
        rows = self.rows_of_run(done, "competitor")
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

    def test_google_benchmarks_options_work(self):
        words = ("--competitors", "rocksdb-bloom,leveldb-bloom", "--keys", "1k")
        listed = tiny(*words, "--benchmark_list_tests")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertIn("batch_miss_ns/leveldb-bloom/keys:1000", listed.stdout)
        done = tiny(*words, "--benchmark_filter=^miss_ns/leveldb", "--json")
        timed = [one for one in json.loads(done.stdout)["benchmarks"] if "ns_per_key" in one]
        self.assertEqual(len(timed), 1)
        self.assertTrue(timed[0]["name"].startswith("miss_ns/leveldb-bloom"))


class Usage(unittest.TestCase):
    def test_an_interrupt_removes_everything(self):
        with tempfile.TemporaryDirectory() as folder:
            words = ["--keys", "100M", "--json", folder + "/json"]
            process = subprocess.Popen([PROGRAM, *words], stderr=subprocess.PIPE, text=True)
            while not list(pathlib.Path(folder).iterdir()):
                self.assertIsNone(process.poll())
            process.send_signal(signal.SIGINT)
            errors = process.communicate(timeout=900)[1]
            self.assertEqual(process.returncode, 130)
            self.assertIn("filter_bench: interrupted, nothing was kept\n", errors)
            self.assertEqual(list(pathlib.Path(folder).iterdir()), [])

    def test_bad_usage_gets_one_line(self):
        for words, named in [
            ("--competitors rocksdb-blom", "rocksdb-blom not in {rocksdb-bloom,"),
            ("--competitors ,", "--competitors"),
            ("--keys 0", "'0'"),
            ("--bits-per-key 0.5", "'0.5'"),
            ("--key-bytes 4", "'4'"),
            ("--key-bytes 8 --key-kind decimal", "16"),
            ("--key-kind pretty", "--key-kind"),
            ("--threads 0", "'0'"),
            ("--repetitions 0", "'0'"),
            ("--benchmark_format=csv", "--json"),
            ("--benchmark_out=x", "--json"),
            ("--no-such-option", "--no-such-option"),
            ("surplus", "surplus"),
            # These are rejected before anything is measured, which would take
            # hours here.
            ("--keys 2000M --json /nonexistent/x", "/nonexistent/x"),
            ("--keys 2000M --json /", "--json"),
        ]:
            with self.subTest(words):
                done = run(*words.split())
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)
                self.assertTrue(done.stderr.startswith("filter_bench: "))
                self.assertIn(named, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
