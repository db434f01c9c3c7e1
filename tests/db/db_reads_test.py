#!/usr/bin/env python3
"""Runs db_reads as its users do and checks what it prints, writes, rejects and
leaves on disk.    usage: db_reads_test.py PROGRAM [unittest options]"""

import json
import math
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from support import assert_script_takes_options_of, open_terminal, seed_of_this_run  # noqa: E402

PROGRAM = sys.argv.pop(1)
SEED = seed_of_this_run()
DEMO = [
    "none",
    "rocksdb-bloom",
    "rocksdb-ribbon",
    "deltabloom-classic",
    "deltabloom-local",
    "deltabloom-auto",
    "deltabloom-auto-levels",
    "rocksdb-bloom-refilter",
]
UNIFORM = ["rocksdb-bloom", "rocksdb-ribbon", "deltabloom-local", "deltabloom-compact"]
READS = "absent_data_block_reads_per_lookup"
BLOCKS = "absent_data_blocks_per_lookup"


class Case(unittest.TestCase):
    def setUp(self):
        self.top = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.tmp = self.top / "tmp"
        self.tmp.mkdir()
        self.environment = dict(os.environ, TMPDIR=str(self.tmp))

    def start(self, *arguments, **options):
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
        return subprocess.Popen(
            [PROGRAM, *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            env=self.environment,
            **options,
        )

    def finish(self, process):
        stdout, stderr = process.communicate(timeout=900)
        return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)

    def run_program(self, *arguments, **options):
        return self.finish(self.start(*arguments, **options))

    def results(self, *arguments):
        """What it printed, and the results in its JSON."""
        path = self.top / "results.json"
        done = self.run_program(*arguments, "--json", path)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assert_nothing_left()
        return done.stdout, json.loads(path.read_text())["runs"]

    def assert_one_line_error(self, done, code, *words):
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def assert_nothing_left(self):
        self.assertEqual(os.listdir(self.tmp), [])
        self.assertEqual(list(self.top.rglob("*.unfinished")), [])


class Demo(Case):
    def test_figures_depend_on_the_seed_alone(self):
        lookups = 3000
        picture = self.top / "figures.png"
        first, again, other = (
            self.results("--keys", 20000, "--lookups", lookups, "--seed", seed, *more)
            for seed, more in ((SEED, ["--plot", picture]), (SEED, []), (SEED ^ 1, []))
        )
        self.assertIn(f"\nWritten: {picture}\n", first[0])
        self.assertEqual(picture.read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        self.assertGreater(picture.stat().st_size, 20000)
        self.check_text(first[0])
        for _, runs in (first, other):
            self.check_runs(runs, lookups)
        for field in ("filter_bytes", "false_positive_rate", BLOCKS):
            one, same, differs = ([run[field] for run in runs] for _, runs in (first, again, other))
            self.assertEqual(one, same)
            if field != "filter_bytes":
                self.assertNotEqual(one, differs)

    def check_text(self, text):
        for control in "\r\033\b":
            self.assertNotIn(control, text)
        for name in DEMO:
            self.assertIn(f"\n{name} ", text)
        self.assertEqual(text.count("\nlevel "), 5)
        for words in (
            "3,000 of absent keys, 600 of present ones.",
            "\nWith the bytes of rocksdb-bloom",
            "\nWithout a filter: ",
        ):
            self.assertIn(words, text)

    def check_runs(self, runs, lookups):
        self.assertEqual([run["filter"] for run in runs], DEMO)
        none, bloom, ribbon = runs[:3]
        self.assertEqual((none["bits_per_key"], none["filter_bytes"]), (0, 0))
        self.assertIsNone(none["false_positive_rate"])
        self.assertGreater(none[BLOCKS], 4.5)
        self.assertLess(ribbon["filter_bytes"], 0.8 * bloom["filter_bytes"])
        for run in runs:
            self.assertEqual((run["keys"], run["missed_present_keys"]), (20000, 0))
            for field in ("absent_micros_per_lookup", "present_micros_per_lookup", "load_seconds"):
                self.assertGreater(run[field], 0, field)
            self.assertLessEqual(run[READS], run[BLOCKS])
        for run in runs[1:]:
            self.check_filter(run, none, lookups)

    def check_filter(self, run, none, lookups):
        name = run["filter"]
        self.assertLess(run[READS], 0.1 * none[READS], name)
        low, high = {"rocksdb-ribbon": (6.5, 7.5), "deltabloom-auto-levels": (9.5, 10.5)}.get(
            name, (10, 10.2)
        )
        self.assertGreaterEqual(run["bits_per_key"], low, run)
        self.assertLessEqual(run["bits_per_key"], high, run)
        # All filters promise what 6 probes give at 10 bits, or less. A classic
        # filter of an unlucky size is up to 2.4 times worse, and tables of few
        # keys are rounded up to better ones. A lookup queries four filters or
        # more.
        promised = (1 - math.exp(-6 / 10)) ** 6
        error = 5 * math.sqrt(promised / (4 * lookups))
        rate = run["false_positive_rate"]
        self.assertLess(rate, (0.6 if "auto" in name else 2.4) * promised + error, name)
        if name == "deltabloom-classic":
            self.assertGreater(rate, promised - error)
        elif "auto" not in name:
            self.assertGreater(rate, 0.6 * promised - error)


class Levels(Case):
    """Settled trees are the same in every run: what holds for these keys holds
    always."""

    @classmethod
    def setUpClass(cls):
        cls.case = cls("test_equal_bytes_in_the_planned_runs")
        cls.case.setUp()
        cls.addClassCleanup(cls.case.doCleanups)
        filters = [
            "none",
            *UNIFORM,
            *(name + "-by-hand" for name in UNIFORM),
            "deltabloom-compact-levels",
        ]
        cls.text, runs = cls.case.results(
            "--preset",
            "levels",
            "--runs",
            4,
            "--size-ratio",
            4,
            "--keys",
            42500,
            "--lookups",
            60000,
            "--filters",
            ",".join(filters),
        )
        cls.databases = {run["filter"]: run for run in runs}
        assert list(cls.databases) == filters

    def test_equal_bytes_in_the_planned_runs(self):
        for name, one in self.databases.items():
            with self.subTest(filter=name):
                self.assertEqual(
                    [(run["level"], run["entries"]) for run in one["runs"]],
                    [(0, 500), (1, 2000), (2, 8000), (3, 32000)],
                )
                stored = sum(run["filter_bytes"] for run in one["runs"])
                self.assertEqual(stored, one["filter_bytes"])
                if name != "none":
                    self.assertLess(abs(8 * stored / 42500 - 10), 0.1)
                self.assertEqual(self.text.count(f"\n{name} "), 1, self.text)

    def test_the_prediction_agrees(self):
        for name, one in self.databases.items():
            with self.subTest(filter=name):
                noise = 4 * one["absent_counting_error"]
                # Real filters of one size differ, those of few keys most.
                self.assertAlmostEqual(
                    one[BLOCKS],
                    one["absent_predicted"],
                    delta=0.1 * one["absent_predicted"] + noise,
                )
                self.assertLess(noise, 0.8 * one["absent_predicted"])
                self.assertAlmostEqual(
                    one["present_data_blocks_per_lookup"],
                    one["present_predicted"],
                    delta=0.02 + 0.01 * one["present_predicted"],
                )

        self.assertGreater(self.databases["none"][BLOCKS], 3.95)
        self.assertLessEqual(self.databases["none"][BLOCKS], 4)

    def test_levels_by_hand_beat_uniform_bits(self):
        for name in UNIFORM:
            with self.subTest(filter=name):
                uniform, by_hand = self.databases[name], self.databases[name + "-by-hand"]
                # T = 4 and four runs allow 2.1 times fewer.
                self.assertLess(1.5 * by_hand["absent_predicted"], uniform["absent_predicted"])
                self.assertLess(1.5 * by_hand[BLOCKS], uniform[BLOCKS])
                bits = [8 * run["filter_bytes"] / run["entries"] for run in by_hand["runs"]]
                self.assertEqual(bits, sorted(bits, reverse=True))
                self.assertGreater(by_hand["share_of_gain"], 0.8)
        self.assertGreater(
            self.databases["deltabloom-compact-by-hand"]["times_fewer_than_rocksdb_bloom"], 8
        )

        # The policy itself spreads bits nearly as well.
        by_hand, levels = (
            self.databases["deltabloom-compact" + end] for end in ("-by-hand", "-levels")
        )
        self.assertLess(levels["absent_predicted"], 1.2 * by_hand["absent_predicted"])


class OtherTrees(Case):
    def test_one_run_has_uniform_bits(self):
        _, (bare, uniform, levels) = self.results(
            "--preset",
            "levels",
            "--runs",
            1,
            "--keys",
            20000,
            "--lookups",
            50000,
            "--filters",
            "none,deltabloom-local,deltabloom-local-levels",
        )
        self.assertEqual(bare[BLOCKS], 1)
        # A rate of 1 % in 50,000 lookups: six standard errors of the difference.
        self.assertAlmostEqual(uniform[BLOCKS], levels[BLOCKS], delta=0.004)
        self.assertLess(abs(uniform["bits_per_key"] / levels["bits_per_key"] - 1), 0.01)

    def test_database_times_every_kind_of_lookup(self):
        _, runs = self.results(
            "--preset",
            "database",
            "--keys",
            20000,
            "--lookups",
            1000,
            "--filters",
            "none,deltabloom-compact",
        )
        self.assertEqual([run["tree"] for run in runs], ["full"] * 2 + ["partitioned"] * 2)
        for run in runs:
            for kind in ("absent", "present", "multiget_absent"):
                self.assertGreater(run[f"{kind}_micros_per_lookup"], 0)
            self.assertEqual(run["missed_present_keys"], 0)


class Ranges(Case):
    def test_scans_of_each_kind_with_each_filter(self):
        picture = self.top / "figures.png"
        scans = 100
        text, runs = self.results(
            "--preset",
            "ranges",
            "--keys",
            20000,
            "--lookups",
            scans,
            "--seed",
            SEED,
            "--schemas",
            "map-cells,secondary-index",
            "--plot",
            picture,
        )
        self.assertEqual(picture.read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        by_name = {(run["schema"], run["filter"]): run for run in runs}
        self.assertEqual(len(by_name), len(runs))
        self.assertNotIn(
            ("map-cells", "rocksdb-bloom-prefix"), by_name
        )  # whose cells are no prefixes
        for (schema, name), run in by_name.items():
            with self.subTest(schema=schema, filter=name):
                self.assertIn(f"\n{name} ", text)
                self.assertLessEqual(abs(run["keys"] - 20000), 10)
                self.assertEqual(run["wrong_scans"], 0)
                self.check_run(run, scans)
        for schema in ("map-cells", "secondary-index"):
            before, learned = (
                by_name[schema, "deltabloom-ranges" + end] for end in ("", "-learned")
            )
            none = by_name[schema, "none"]["forward_none_data_blocks_per_scan"]
            self.assertGreater(none, 4.5)
            for run, most in ((before, 0.3), (learned, 0.02)):
                for direction in ("forward", "backward"):
                    blocks = run[direction + "_none_data_blocks_per_scan"]
                    self.assertLess(blocks, most * none + 4 * math.sqrt(most * none / scans))

    def check_run(self, run, scans):
        ours = run["filter"].startswith("deltabloom")
        self.assertEqual(run["property_bytes"] > 0, ours or run["filter"] == "rocksdb-segments")
        if ours:
            self.assertGreater(run["property_bits_per_key"], 1)
            self.assertLess(run["property_bits_per_key"], 9)
        for kind in (
            "forward_none",
            "forward_one",
            "forward_ten",
            "backward_none",
            "backward_one",
            "backward_ten",
        ):
            self.assertEqual(run[kind + "_scans"], scans)
            self.assertGreater(run[kind + "_micros_per_scan"], 0)
            if not kind.endswith("none"):
                self.assertGreaterEqual(run[kind + "_data_blocks_per_scan"], 1)
            asked = run[kind + "_tables_asked_per_scan"]
            self.assertEqual(asked > 0, run["property_bytes"] > 0)
        self.assertGreater(run["build_nanos_per_key"], 0)
        self.assertGreater(run["compressed_build_nanos_per_key"], 0)

    def test_small_tables_in_one_run(self):
        options = ["--preset", "ranges", "--keys", 10000, "--lookups", 100, "--seed", SEED]
        options += ["--one-run", "--table-bytes", 16000, "--schemas", "user-orders"]
        _, runs = self.results(*options, "--filters", "none,deltabloom-ranges")
        for run in runs:
            self.assertEqual(run["wrong_scans"], 0)
            self.assertGreater(run["tables"], 50)
        for direction in ("forward", "backward"):
            # The table that the seek finds, and a neighbour where a scan ends between two.
            self.assertLess(runs[1][direction + "_none_tables_asked_per_scan"], 1.5)
            self.assertLess(runs[1][direction + "_ten_tables_asked_per_scan"], 2)


class Loading(Case):
    """Counts of one thread with one cache shard: the same in every run of a seed."""

    @classmethod
    def setUpClass(cls):
        cls.case = cls("test_rows_are_those_of_the_preset")
        cls.case.setUp()
        cls.addClassCleanup(cls.case.doCleanups)
        cls.picture = cls.case.top / "figures.png"
        cls.text, runs = cls.case.results(
            "--preset",
            "loading",
            "--keys",
            60000,
            "--lookups",
            2000,
            "--seed",
            SEED,
            "--plot",
            cls.picture,
        )
        cls.rows = {
            (
                run["tree"],
                run["cache_share"] if run["cache_index_and_filter_blocks"] else "off",
                run["filter"],
            ): run
            for run in runs
        }
        assert len(cls.rows) == len(runs)

    def test_rows_are_those_of_the_preset(self):
        caches = [
            (share, name)
            for share in (0.25, 0.5, 1)
            for name in ("none", "uniform", "filter_memory")
        ]
        caches += [("off", "none"), ("off", "uniform")]
        self.assertEqual(
            list(self.rows),
            [(tree, *cache) for tree in ("full", "partitioned") for cache in caches],
        )
        for (tree, _, name), run in self.rows.items():
            self.assertIn(f" {name} ", self.text)
            self.assertEqual(
                (run["keys"], run["absent_lookups"], run["missed_present_keys"]), (60000, 2000, 0)
            )
            self.assertLessEqual(
                run["absent_filter_bytes_read_per_lookup"], run["absent_bytes_read_per_lookup"]
            )
            self.assertLessEqual(run[READS], run["absent_block_reads_per_lookup"])
            filter_bytes = self.rows[tree, 1, "uniform"]["filter_bytes"]
            if name == "none":
                self.assertEqual((run["filter_bytes"], run["filters_opened"]), (0, 0))
                self.assertGreater(run[READS], 2)
            elif name == "uniform":
                self.assertEqual(run["filter_bytes"], filter_bytes)
                # 10 bits for each key
                self.assertGreater(filter_bytes, 75000)
                self.assertLess(filter_bytes, 80000)
                self.assertLess(run[READS], 0.03)
            else:
                # The total, and what is rounded up in small tables.
                self.assertLess(run["filter_bytes"], 1.05 * run["cache_share"] * filter_bytes)
        self.assertEqual(self.picture.read_bytes()[:8], b"\x89PNG\r\n\x1a\n")

    def test_a_cache_of_all_loads_no_filter_twice(self):
        for name in ("uniform", "filter_memory"):
            full, partitioned = (self.rows[tree, 1, name] for tree in ("full", "partitioned"))
            self.assertEqual(
                (full["filters_opened"], full["filters_dropped_by_cache"]), (5, 0)
            )  # of each table
            # The bookkeeping of a cache of many small blocks may push one out.
            self.assertLess(partitioned["absent_filters_loaded_per_lookup"], 0.02)

    def test_beside_the_cache_full_filters_are_loaded_with_their_tables_only(self):
        off = self.rows["full", "off", "uniform"]
        self.assertEqual((off["filters_opened"], off["absent_filters_loaded_per_lookup"]), (5, 0))
        # Partitions are in the cache all the same.
        self.assertGreater(
            self.rows["partitioned", "off", "uniform"]["absent_filters_loaded_per_lookup"], 0.3
        )

    def test_a_filter_that_does_not_fit_costs_more_than_it_saves(self):
        largest = 0.8 * 10 * 60000 / 8  # the filter of the last level, at least
        none, uniform, small = (
            self.rows["full", 0.25, name] for name in ("none", "uniform", "filter_memory")
        )
        self.assertGreater(uniform["absent_filter_bytes_read_per_lookup"], largest)
        self.assertGreater(
            uniform["absent_bytes_read_per_lookup"], none["absent_bytes_read_per_lookup"]
        )
        self.assertGreater(
            uniform["absent_bytes_read_per_lookup"], 3 * small["absent_bytes_read_per_lookup"]
        )
        partitioned = self.rows["partitioned", 0.25, "uniform"]
        self.assertLess(
            10 * partitioned["absent_bytes_read_per_lookup"],
            uniform["absent_bytes_read_per_lookup"],
        )
        # The largest partition has 4 KiB and a little.
        self.assertLess(
            partitioned["absent_filter_bytes_read_per_lookup"],
            4500 * partitioned["absent_filters_loaded_per_lookup"],
        )


class Usage(Case):
    def test_the_script_takes_all_options(self):
        assert_script_takes_options_of(self, "demo", PROGRAM)

    def test_bad_values_are_named(self):
        for option, values in (
            ("--keys", ["abc", "-5", "0", "1e6", "", "99999999999999999999999", None]),
            ("--bits-per-key", ["nan", "0", "1e9"]),
            ("--seed", ["x", "-1", "18446744073709551616"]),
            ("--lookups", ["0"]),
            ("--filters", ["none,none", "cuckoo", "", "rocksdb-bloom-by-hand"]),
            ("--preset", ["nonsense"]),
            ("--db", ["", "/dev/null"]),
            ("--json", ["/nonexistent/x.json"]),
            ("--runs", ["0", "8"]),
            ("--table-bytes", ["1", "x"]),
            ("--size-ratio", ["1", "101"]),
            ("--schemas", ["edges,edges", "nonsense"]),
            ("--nonsense", [None]),
            ("nonsense", [None]),
        ):
            for value in values:
                with self.subTest(option=option, value=value):
                    preset = {
                        "--runs": ["--preset", "levels"],
                        "--size-ratio": ["--preset", "levels"],
                        "--schemas": ["--preset", "ranges"],
                        "--table-bytes": ["--preset", "ranges"],
                    }.get(option, [])
                    done = self.run_program(*preset, option, *([] if value is None else [value]))
                    self.assert_one_line_error(done, 2, option, re.split("[,:]", value or "")[-1])
                    self.assertEqual(done.stdout, "")
                    self.assert_nothing_left()
        self.assert_one_line_error(self.run_program("--runs", 4), 2, "--runs", "--preset levels")
        self.assert_one_line_error(
            self.run_program("--schemas", "edges"), 2, "--schemas", "--preset ranges"
        )
        self.assert_one_line_error(
            self.run_program("--preset", "ranges", "--filters", "rocksdb-ribbon"),
            2,
            "--filters",
            "rocksdb-ribbon",
        )
        self.assert_one_line_error(
            self.run_program("--preset", "loading", "--filters", "none"), 2, "--filters", "loading"
        )
        self.assert_one_line_error(
            self.run_program("--preset", "levels", "--runs", 7, "--keys", 10000),
            2,
            "--keys",
            "10000",
            "2222222",
        )


class Folders(Case):
    def test_databases_are_kept_in_new_and_empty_folders(self):
        (self.top / "empty").mkdir()
        for name, bits in (("new", 4.5), ("empty", 20)):
            folder = self.top / name
            _, runs = self.results(
                "--keys",
                1000,
                "--lookups",
                100,
                "--bits-per-key",
                bits,
                "--filters",
                ",".join(DEMO[:4]),
                "--db",
                folder,
            )
            self.assertEqual(
                sorted(os.listdir(folder)), [f"demo-{one}" for one in sorted(DEMO[:4])]
            )
            self.assertTrue((folder / "demo-deltabloom-classic" / "CURRENT").exists())
            # The tables of the upper levels have few keys, but at least 64 bits.
            self.assertGreaterEqual(runs[3]["bits_per_key"], bits)
            self.assertLess(runs[3]["bits_per_key"], bits + 1)
            before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
            self.assert_one_line_error(self.run_program("--db", folder), 2, "--db", str(folder))
            self.assertEqual({path: path.stat().st_mtime_ns for path in folder.rglob("*")}, before)

    def test_without_space_for_files_it_says_so_and_cleans_up(self):
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (200000, 200000))

        done = self.run_program("--keys", 20000, "--db", self.top / "new", preexec_fn=limit)
        self.assert_one_line_error(done, 1, "cannot")
        self.assertEqual(os.listdir(self.top / "new"), [])
        self.assert_nothing_left()

    def test_places_that_take_nothing(self):
        small = ["--keys", 1000, "--lookups", 100, "--filters", "deltabloom-auto"]
        self.assert_one_line_error(self.run_program(*small, "--json", "/dev/full"), 1, "/dev/full")
        read_end, write_end = os.pipe()
        os.close(read_end)
        with os.fdopen(write_end, "w") as pipe:
            self.assert_one_line_error(self.run_program(*small, stdout=pipe), 1, "standard output")
        self.assert_nothing_left()


class Interrupts(Case):
    def interrupt(self, when, number, *arguments):
        """Sends the signal once `when()` holds."""
        process = self.start(*arguments)
        deadline = time.monotonic() + 600
        while not when() and process.poll() is None:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        process.send_signal(number)
        self.assert_one_line_error(self.finish(process), 128 + number, "interrupted")
        self.assert_nothing_left()

    def test_while_loading(self):
        folder, old = self.top / "mine", [self.top / "figures.json", self.top / "figures.png"]
        folder.mkdir()
        for path in old:
            path.write_text("old")
        self.interrupt(
            lambda: list(folder.glob("*-none/*.sst")),
            signal.SIGTERM,
            "--keys",
            5_000_000,
            "--json",
            old[0],
            "--plot",
            old[1],
            "--db",
            folder,
        )
        self.assertEqual([path.read_text() for path in old], ["old", "old"])
        self.assertEqual(os.listdir(folder), [])  # a folder of the user's

    def test_in_a_temporary_folder(self):
        self.interrupt(
            lambda: list(self.tmp.glob("*/*-none/*.sst")), signal.SIGHUP, "--keys", 5_000_000
        )


class Terminal(Case):
    def output_on_terminal(self, **only):
        """What reaches a terminal when stdout, stderr or both are one."""
        master, slave = open_terminal(self)
        process = self.start(
            "--keys",
            1000,
            "--lookups",
            100,
            "--filters",
            "none,deltabloom-auto-levels",
            **{"stdout": slave, "stderr": slave, **only},
        )
        os.close(slave)
        text = b""
        with open(master, "rb", buffering=0) as terminal:
            try:
                while chunk := terminal.read(4096):
                    text += chunk
            except OSError:  # all ends of the terminal are closed
                pass
        process.communicate(timeout=900)
        self.assertEqual(process.returncode, 0)
        return text.decode()

    def test_a_bar_is_drawn_on_terminals_and_erased(self):
        with open(self.top / "out", "w") as file:
            shown = [self.output_on_terminal(**only) for only in ({}, {"stdout": file})]
        for text in shown:
            self.assertIn("loading: deltabloom-auto-levels", text)
            self.assertNotIn("[#", text.rsplit("\r\033[K", 1)[1])
        # The reader of a pipe may write to the same terminal at any time.
        self.assertNotIn("\033", self.output_on_terminal(stdout=subprocess.PIPE))


if __name__ == "__main__":
    unittest.main()
