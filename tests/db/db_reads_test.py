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
    "deltabloom",
    "rocksdb-ribbon",
    "deltabloom-classic",
    "deltabloom-local",
    "deltabloom-compact-uniform",
]
UNIFORM = "deltabloom-compact-uniform"
REFILTERED = "rocksdb-bloom-refilter"
COMPACT = (UNIFORM, "deltabloom", REFILTERED)
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

    def test_fifteen_times_fewer_false_positives_than_blooms(self):
        text, (bloom, ours) = self.results(
            "--keys",
            400000,
            "--lookups",
            20000,
            "--seed",
            SEED,
            "--filters",
            "rocksdb-bloom,deltabloom",
        )
        # By the formulas: of 20,000 lookups only some forty read a block.
        self.assertGreater(bloom["absent_predicted"], 15 * ours["absent_predicted"])
        more = ours["filter_bytes"] / bloom["filter_bytes"] - 1
        self.assertLess(more, 0.04)
        self.assertRegex(
            text,
            r"\ndeltabloom reads \d+(\.\d)? times fewer data blocks than rocksdb-bloom, "
            rf"with {100 * more:.1f} % more bytes of filters\.\n",
        )

    def test_filters_that_refilter_replaced(self):
        _, (none, bloom, refiltered) = self.results(
            "--keys",
            20000,
            "--lookups",
            3000,
            "--seed",
            SEED,
            "--filters",
            f"none,rocksdb-bloom,{REFILTERED}",
        )
        self.check_filter(refiltered, none, 3000)
        self.assertEqual(refiltered["filter_bytes"], bloom["filter_bytes"])

    def test_each_filter_is_shown_before_the_next_is_loaded(self):
        process = self.start("--keys", 100000)
        while not process.stdout.readline().startswith("rocksdb-bloom "):
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        done = self.finish(process)
        self.assertNotEqual(done.returncode, 0)
        self.assertNotIn(UNIFORM, done.stdout)
        self.assert_nothing_left()

    def check_text(self, text):
        for control in "\r\033\b":
            self.assertNotIn(control, text)
        for name in DEMO:
            self.assertIn(f"\n{name} ", text)
        self.assertRegex(text, r"\ndeltabloom .* 3,000 +0\.\d+ +600 +[01]\.\d+ +0\n")
        self.assertEqual(text.count("\nlevel "), 5)
        for words in (
            "\nnone: ",
            "\nrocksdb-bloom: ",
            "\ndeltabloom: ",
        ):
            self.assertIn(words, text)

    def check_runs(self, runs, lookups):
        self.assertEqual([run["filter"] for run in runs], DEMO)
        none, bloom, _, ribbon = runs[:4]
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
        # A tenth of the keys is not in the last level.
        low, high = {"rocksdb-ribbon": (6.5, 7.5), "deltabloom": (10.2, 10.5)}.get(name, (10, 10.2))
        self.assertGreaterEqual(run["bits_per_key"], low, run)
        self.assertLessEqual(run["bits_per_key"], high, run)
        # All filters promise what 6 probes give at 10 bits, or less. A classic
        # filter of an unlucky size is up to 2.4 times worse, and tables of few
        # keys are rounded up to better ones. A lookup queries four filters or
        # more.
        promised = (1 - math.exp(-6 / 10)) ** 6
        error = 5 * math.sqrt(promised / (4 * lookups))
        rate = run["false_positive_rate"]
        self.assertLess(rate, (0.6 if name in COMPACT else 2.4) * promised + error, name)
        if name == "deltabloom-classic":
            self.assertGreater(rate, promised - error)
        elif name not in COMPACT:
            self.assertGreater(rate, 0.6 * promised - error)


class Levels(Case):
    """Trees that RocksDB grows. They are the same in every run of a seed, unless
    a compaction is so slow that another one starts first."""

    @classmethod
    def setUpClass(cls):
        cls.case = cls("test_upper_levels_have_more_bits")
        cls.case.setUp()
        cls.addClassCleanup(cls.case.doCleanups)
        cls.text, runs = cls.case.results(
            "--preset",
            "levels",
            "--trees",
            "dynamic-150k,level-0,ingestion",
            "--plot",
            cls.case.top / "figures.png",
            "--steps",
            "0,2.5",
            "--lookups",
            50000,
            "--seed",
            SEED,
        )
        cls.rows = {(run["tree"], run["filter"]): run for run in runs}
        assert len(cls.rows) == len(runs) == 9

    def bits(self, tree, name):
        """{level: bits per key of its tables}"""
        found = {}
        for run in self.rows[tree, name]["runs"]:
            bits = 8 * run["filter_bytes"] / run["filter_keys"]
            found.setdefault(run["level"], []).append(bits)
        return found

    def test_upper_levels_have_more_bits(self):
        levels = self.bits("dynamic-150k", "deltabloom")
        self.assertGreater(len(levels), 1)
        for level, bits in levels.items():
            low, high = (9.95, 10.15) if level == 6 else (12.45, 12.65)
            self.assertGreater(min(bits), low, level)
            self.assertLess(max(bits), high, level)
        self.assertGreater(min(self.bits("level-0", "deltabloom")[0]), 12.45)
        for name in ("rocksdb-bloom", UNIFORM):
            self.assertLess(self.rows["dynamic-150k", name]["bits_per_key"], 10.15)
        for bits in self.bits("ingestion", "deltabloom").values():
            self.assertLess(max(bits), 10.2)

    def test_false_positives_are_those_of_the_formulas(self):
        for (tree, name), run in self.rows.items():
            with self.subTest(tree=tree, filter=name):
                self.assertIn(f"\n{name} ", self.text)
                self.assertEqual(run["lookups"], 50000)
                self.assertAlmostEqual(
                    run["false_positives_per_lookup"],
                    run["predicted"],
                    delta=0.05 * run["predicted"] + 5 * run["error"],
                )

    def test_fewer_than_with_uniform_bits_or_bloom(self):
        for tree, most in (("dynamic-150k", 0.65), ("level-0", 0.25)):
            ours, uniform, bloom = (
                self.rows[tree, name] for name in ("deltabloom", UNIFORM, "rocksdb-bloom")
            )
            self.assertLess(ours["of_uniform"], most)
            self.assertLess(ours["predicted"], 0.75 * uniform["predicted"])
            self.assertLess(ours["predicted"], 0.1 * bloom["predicted"])
        self.assertAlmostEqual(self.rows["ingestion", "deltabloom"]["of_uniform"], 1)
        # It is for trees with tables of both kinds.
        self.assertIsNone(self.rows["ingestion", "deltabloom"]["estimate"])
        self.assertIsNone(self.rows["level-0", "deltabloom"]["estimate"])
        self.assertLess(
            abs(
                self.rows["dynamic-150k", "deltabloom"]["of_uniform"]
                - self.rows["dynamic-150k", "deltabloom"]["estimate"]
            ),
            0.1,
        )

    def test_picture(self):
        picture = self.case.top / "figures.png"
        self.assertEqual(picture.read_bytes()[:8], b"\x89PNG\r\n\x1a\n")

    def test_steps(self):
        for tree in ("dynamic-150k", "level-0"):
            run = self.rows[tree, "deltabloom"]
            none, default = run["steps"]
            self.assertEqual((none["bits_per_key"], none["of_uniform"]), (10, 1))
            self.assertEqual(default["of_uniform"], run["of_uniform"])
            # Without framing.
            self.assertLess(abs(default["bits_per_key"] - run["bits_per_key"]), 0.1)
            self.assertAlmostEqual(
                default["false_positives_per_lookup"],
                run["predicted"],
                delta=0.02 * run["predicted"],
            )


class Phases(Case):
    def test_each_phase_of_each_filter(self):
        text, runs = self.results(
            "--preset",
            "phases",
            "--keys",
            40000,
            "--lookups",
            20000,
            "--seed",
            SEED,
            "--plot",
            self.top / "figures.png",
        )
        names = ["rocksdb-bloom", UNIFORM, "deltabloom"]
        phases = ["load", "hits", "misses", "compacted"]
        self.assertEqual(
            [(run["filter"], run["phase"]) for run in runs],
            [(name, phase) for name in names for phase in phases],
        )
        by_name = {(run["filter"], run["phase"]): run for run in runs}
        for run in runs:
            self.assertEqual(run["lookups"], 20000)
            self.assertEqual(run.get("more_than_uniform", False), False)
        for phase in phases:
            self.assertIn(f"\n{phase} ", text)
            bloom, ours = (
                by_name[name, phase]["false_positives_per_lookup"]
                for name in ("rocksdb-bloom", "deltabloom")
            )
            if phase != "hits":  # where nearly every lookup ends with a key
                self.assertLess(ours, 0.6 * bloom)
        # Overwrites are flushed and compacted between the phases.
        tables = [by_name["deltabloom", phase]["runs"] for phase in ("load", "hits")]
        self.assertNotEqual(*tables)


class OtherTrees(Case):
    def test_database_times_every_kind_of_lookup(self):
        _, runs = self.results(
            "--preset",
            "database",
            "--keys",
            20000,
            "--lookups",
            1000,
            "--filters",
            "none,deltabloom",
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
            run = by_name[schema, "deltabloom-ranges"]
            none = by_name[schema, "none"]["forward_none_data_blocks_per_scan"]
            self.assertGreater(none, 4.5)
            for direction in ("forward", "backward"):
                blocks = run[direction + "_none_data_blocks_per_scan"]
                self.assertLess(blocks, 0.02 * none + 4 * math.sqrt(0.02 * none / scans))

    def test_keys_from_a_file(self):
        lines = self.top / "lines"
        lines.write_text("".join(f"/{i % 50:02}/{i % 700:03}/{i:06}\n" for i in range(5000)))
        options = ["--preset", "ranges", "--lookups", 100, "--seed", SEED]
        options += ["--filters", "none,deltabloom-ranges", "--keys-from", lines]
        for delimiter in ("/", "13"):
            _, runs = self.results(*options, "--delimiter", delimiter)
            none, ours = runs
            self.assertEqual(none["schema"], "file")
            self.assertEqual([run["wrong_scans"] for run in runs], [0, 0])
            self.assertLess(
                ours["forward_none_data_blocks_per_scan"],
                max(0.1 * none["forward_none_data_blocks_per_scan"], 0.1),
            )

    def check_run(self, run, scans):
        ours = run["filter"] == "deltabloom-ranges"
        # Keys of bytes have no delimiter.
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
            by_filter = run["filter"].startswith("deltabloom-ranges")
            self.assertEqual(asked > 0, by_filter or run["property_bytes"] > 0)
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
            (share, name) for share in (0.25, 0.5) for name in ("none", "deltabloom", "fitted")
        ]
        caches += [(share, name) for share in (1, "off") for name in ("none", "deltabloom")]
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
            filter_bytes = self.rows[tree, 1, "deltabloom"]["filter_bytes"]
            if name == "none":
                self.assertEqual((run["filter_bytes"], run["filters_opened"]), (0, 0))
                self.assertGreater(run[READS], 2)
            elif name == "deltabloom":
                self.assertEqual(run["filter_bytes"], filter_bytes)
                # 10 bits for each key, 2.5 more for a tenth of them
                self.assertGreater(filter_bytes, 75000)
                self.assertLess(filter_bytes, 80000)
                self.assertLess(run[READS], 0.03)
            else:
                # The total, and what is rounded up in small tables.
                self.assertLess(run["filter_bytes"], 1.05 * run["cache_share"] * filter_bytes)
        self.assertEqual(self.picture.read_bytes()[:8], b"\x89PNG\r\n\x1a\n")

    def test_a_cache_of_all_loads_no_filter_twice(self):
        full, partitioned = (self.rows[tree, 1, "deltabloom"] for tree in ("full", "partitioned"))
        self.assertEqual(
            (full["filters_opened"], full["filters_dropped_by_cache"]), (5, 0)
        )  # of each table
        # The bookkeeping of a cache of many small blocks may push one out.
        self.assertLess(partitioned["absent_filters_loaded_per_lookup"], 0.02)

    def test_beside_the_cache_full_filters_are_loaded_with_their_tables_only(self):
        off = self.rows["full", "off", "deltabloom"]
        self.assertEqual((off["filters_opened"], off["absent_filters_loaded_per_lookup"]), (5, 0))
        # Partitions are in the cache all the same.
        self.assertGreater(
            self.rows["partitioned", "off", "deltabloom"]["absent_filters_loaded_per_lookup"], 0.3
        )

    def test_a_filter_that_does_not_fit_costs_more_than_it_saves(self):
        largest = 0.8 * 10 * 60000 / 8  # the filter of the last level, at least
        none, large, small = (
            self.rows["full", 0.25, name] for name in ("none", "deltabloom", "fitted")
        )
        self.assertGreater(large["absent_filter_bytes_read_per_lookup"], largest)
        self.assertGreater(
            large["absent_bytes_read_per_lookup"], none["absent_bytes_read_per_lookup"]
        )
        self.assertGreater(
            large["absent_bytes_read_per_lookup"], 3 * small["absent_bytes_read_per_lookup"]
        )
        partitioned = self.rows["partitioned", 0.25, "deltabloom"]
        self.assertLess(
            10 * partitioned["absent_bytes_read_per_lookup"], large["absent_bytes_read_per_lookup"]
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
            ("--filters", ["none,none", "cuckoo", ""]),
            ("--preset", ["nonsense"]),
            ("--db", ["", "/dev/null"]),
            ("--json", ["/nonexistent/x.json"]),
            ("--trees", ["fifo,fifo", "nonsense"]),
            ("--table-bytes", ["1", "x"]),
            ("--steps", ["-1", "21", "x"]),
            ("--schemas", ["edges,edges", "nonsense"]),
            ("--nonsense", [None]),
            ("nonsense", [None]),
        ):
            for value in values:
                with self.subTest(option=option, value=value):
                    preset = {
                        "--trees": ["--preset", "levels"],
                        "--steps": ["--preset", "levels"],
                        "--schemas": ["--preset", "ranges"],
                        "--table-bytes": ["--preset", "ranges"],
                    }.get(option, [])
                    done = self.run_program(*preset, option, *([] if value is None else [value]))
                    self.assert_one_line_error(done, 2, option, re.split("[,:]", value or "")[-1])
                    self.assertEqual(done.stdout, "")
                    self.assert_nothing_left()
        self.assert_one_line_error(
            self.run_program("--trees", "fifo"), 2, "--trees", "--preset levels"
        )
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
            self.run_program("--preset", "levels", "--keys", 10000), 2, "--keys", "levels"
        )


class Folders(Case):
    def test_databases_are_kept_in_new_and_empty_folders(self):
        (self.top / "empty").mkdir()
        filters = ["deltabloom-classic", "none"]
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
                ",".join(filters),
                "--db",
                folder,
            )
            self.assertEqual(sorted(os.listdir(folder)), [f"demo-{one}" for one in filters])
            self.assertTrue((folder / "demo-deltabloom-classic" / "CURRENT").exists())
            # The tables of the upper levels have few keys, but at least 64 bits.
            self.assertGreaterEqual(runs[0]["bits_per_key"], bits)
            self.assertLess(runs[0]["bits_per_key"], bits + 1)
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
        small = ["--keys", 1000, "--lookups", 100, "--filters", "deltabloom"]
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
            "none,deltabloom",
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
            self.assertIn("loading: demo, deltabloom", text)
            self.assertNotIn("[#", text.rsplit("\r\033[K", 1)[1])
        # The reader of a pipe may write to the same terminal at any time.
        self.assertNotIn("\033", self.output_on_terminal(stdout=subprocess.PIPE))


if __name__ == "__main__":
    unittest.main()
