#!/usr/bin/env python3
"""Runs levels_bench as its users do.    usage: levels_bench_test.py PROGRAM
[unittest options]"""

import csv
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = sys.argv.pop(1)

# Settled trees are the same in every run of the program: what holds for these
# keys holds always.
SMALL = ["--quick", "--runs", 4, "--size-ratio", 4, "--keys", 42500]
LOOKUPS = ["--lookups", 60000]
UNIFORM = ["rocksdb-bloom", "rocksdb-ribbon", "deltabloom-local", "deltabloom-compact"]


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = pathlib.Path(folder.name)
        self.tmp = self.top / "tmp"
        self.tmp.mkdir()
        self.environment = dict(os.environ, TMPDIR=str(self.tmp))

    def run_bench(self, *arguments):
        return subprocess.run(
            [PROGRAM, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True,
            text=True, env=self.environment, check=False, timeout=300)

    def figures(self, *arguments):
        path = self.top / "figures.json"
        done = self.run_bench(*arguments, "--json", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(os.listdir(self.tmp), [])
        return done, json.loads(path.read_text())

    def assert_one_line_error(self, done, code, *words):
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)


class Settled(Case):
    @classmethod
    def setUpClass(cls):
        cls.case = cls("test_equal_bytes_in_the_planned_runs")
        cls.case.setUp()
        cls.addClassCleanup(cls.case.doCleanups)
        filters = ["none", *UNIFORM, *(name + "-by-hand" for name in UNIFORM),
                   "deltabloom-compact-levels"]
        cls.csv = cls.case.top / "figures.csv"
        cls.done, cls.json = cls.case.figures(
            *SMALL, *LOOKUPS, "--filters", ",".join(filters), "--csv", cls.csv)
        cls.databases = {one["filter"]: one for one in cls.json["trees"][0]["databases"]}
        assert list(cls.databases) == filters

    def test_equal_bytes_in_the_planned_runs(self):
        for name, one in self.databases.items():
            with self.subTest(filter=name):
                self.assertEqual([(run["level"], run["entries"]) for run in one["runs"]],
                                 [(0, 500), (1, 2000), (2, 8000), (3, 32000)])
                stored = sum(run["filter_bytes"] for run in one["runs"])
                self.assertEqual(stored, one["filter_bytes"])
                if name != "none":
                    self.assertLess(abs(8 * stored / 42500 - 10), 0.1)

    def test_the_model_agrees_within_the_noise(self):
        for name, one in self.databases.items():
            for kind in ("absent", "half_exist"):
                with self.subTest(filter=name, kind=kind):
                    self.assertLess(abs(one[kind]["standard_errors"]), 4)
                    # Noise that would hide anything is no agreement.
                    self.assertLess(one[kind]["counting_error"] + one[kind]["model_error"],
                                    0.2 * one[kind]["predicted"])

    def test_without_a_filter_every_run_is_read(self):
        reads = self.databases["none"]["absent"]["reads_per_lookup"]
        self.assertGreater(reads, 3.95)
        self.assertLessEqual(reads, 4)

    def test_levels_by_hand_beat_uniform_bits(self):
        for name in UNIFORM:
            with self.subTest(filter=name):
                uniform, by_hand = (self.databases[one]["absent"]
                                    for one in (name, name + "-by-hand"))
                # T = 4 and four runs allow 2.1 times fewer.
                self.assertLess(1.5 * by_hand["predicted"], uniform["predicted"])
                self.assertLess(1.5 * by_hand["data_blocks"], uniform["data_blocks"])
                runs = self.databases[name + "-by-hand"]["runs"]
                bits = [8 * run["filter_bytes"] / run["entries"] for run in runs]
                self.assertEqual(bits, sorted(bits, reverse=True))
                self.assertGreater(self.databases[name + "-by-hand"]["share_of_gain"], 0.8)

    def test_the_policy_spreads_bits_as_well_as_a_hand(self):
        by_hand, levels = (self.databases["deltabloom-compact" + tail]
                           for tail in ("-by-hand", "-levels"))
        self.assertLess(levels["absent"]["predicted"], 1.2 * by_hand["absent"]["predicted"])
        self.assertAlmostEqual(levels["absent"]["formula"], levels["absent"]["predicted"],
                               delta=0.1 * levels["absent"]["predicted"])

    def test_compact_beats_bloom(self):
        compact = self.databases["deltabloom-compact-by-hand"]
        self.assertGreater(compact["times_fewer_than_rocksdb_bloom"], 8)

    def test_text_and_csv_have_every_database(self):
        with open(self.csv, newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([row["filter"] for row in rows], list(self.databases))
        for row in rows:
            one = self.databases[row["filter"]]
            self.assertEqual(int(row["filter_bytes"]), one["filter_bytes"])
            self.assertAlmostEqual(float(row["absent_reads"]),
                                   one["absent"]["reads_per_lookup"], 6)
            lines = [line for line in self.done.stdout.splitlines()
                     if line.split()[:1] == [row["filter"]]]
            self.assertEqual(len(lines), 2, self.done.stdout)
        self.assertIn("L0:500 L1:2,000 L2:8,000 L3:32,000", self.done.stdout)


class OneRun(Case):
    def test_reads_are_counted_and_as_with_uniform_bits(self):
        _, data = self.figures(
            "--quick", "--runs", 1, "--keys", 20000, "--lookups", 50000, "--filters",
            "none,deltabloom-local,deltabloom-local-levels")
        bare, uniform, levels = data["trees"][0]["databases"]
        self.assertEqual(bare["absent"]["reads_per_lookup"], 1)
        # A rate of 1 % in 50,000 lookups: six standard errors of the difference.
        self.assertAlmostEqual(uniform["absent"]["reads_per_lookup"],
                               levels["absent"]["reads_per_lookup"], delta=0.004)
        self.assertLess(abs(uniform["bits_per_key"] / levels["bits_per_key"] - 1), 0.01)
        for one in (uniform, levels):
            self.assertLess(abs(one["absent"]["standard_errors"]), 6)


class Grown(Case):
    def test_trees_grow_and_are_measured(self):
        _, data = self.figures(
            "--quick", "--trees", "insert,mixed", "--runs", 3, "--size-ratio", 4, "--keys",
            30000, "--lookups", 20000, "--filters", "none,deltabloom-compact")
        self.assertEqual([tree["tree"] for tree in data["trees"]],
                         ["insert-3-T4", "mixed-3-T4"])
        for tree in data["trees"]:
            for one in tree["databases"]:
                with self.subTest(tree=tree["tree"], filter=one["filter"]):
                    # Compactions differ from run to run: six standard errors.
                    self.assertLess(abs(one["absent"]["standard_errors"]), 6)
                    if one["filter"] != "none":
                        self.assertLess(abs(one["bits_per_key"] - 10), 0.5)
        self.assertEqual(data["trees"][0]["databases"][0]["entries"], 30000)


class Usage(Case):
    def test_help(self):
        done = self.run_bench("--help")
        self.assertEqual(done.returncode, 0)
        for word in ("--trees", "--runs", "--size-ratio", "--filters", "--lookups", "--quick",
                     "--csv", "--json", "-by-hand", "-levels"):
            self.assertIn(word, done.stdout)

    def test_bad_values_are_named(self):
        for option, value in (
                ("--trees", "oak"), ("--trees", ""), ("--runs", "0"), ("--runs", "8"),
                ("--runs", "x"), ("--size-ratio", "1"), ("--size-ratio", "101"),
                ("--keys", "1"), ("--keys", "1e6"), ("--bits-per-key", "nan"),
                ("--bits-per-key", "0"), ("--bits-per-key", "51"), ("--filters", "cuckoo"),
                ("--filters", ""), ("--lookups", "0"), ("--seed", "-1"), ("--json", ""),
                ("--csv", "/nonexistent/figures.csv"), ("--db", "/dev/null")):
            with self.subTest(option=option, value=value):
                done = self.run_bench(option, value)
                self.assert_one_line_error(done, 2, option)
                self.assertEqual(done.stdout, "")
        self.assert_one_line_error(self.run_bench("--nonsense"), 2, "--nonsense")
        self.assert_one_line_error(
            self.run_bench("--runs", 7, "--keys", 10000), 2, "--keys", "10000", "2222222")
        self.assert_one_line_error(
            self.run_bench("--trees", "insert", "--runs", 2), 2, "--runs")

    def test_databases_are_kept_where_asked(self):
        folder = self.top / "mine"
        done = self.run_bench(*SMALL, "--lookups", 1000, "--filters", "none", "--db", folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue((folder / "settled-4-T4-none" / "CURRENT").exists())
        self.assert_one_line_error(self.run_bench("--db", folder), 2, "--db", str(folder))

    def test_an_interrupt_leaves_nothing(self):
        process = subprocess.Popen(
            [PROGRAM, "--json", str(self.top / "figures.json")], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment)
        deadline = time.monotonic() + 60
        while not list(self.tmp.glob("*/*/*.sst")) and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, errors)
        self.assertEqual(os.listdir(self.tmp), [])
        self.assertEqual(list(self.top.glob("figures*")), [])


if __name__ == "__main__":
    unittest.main()
