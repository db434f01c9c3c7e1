#!/usr/bin/env python3
"""One smoke test for each preset of script/demo. Each checks the figures of its preset
that are published: counts against the formulas of the filters, sizes against the
settings, and that no key was lost.    usage: demo_test.py PROGRAM [unittest options]"""

import json
import math
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from support import assert_script_takes_options_of, seed_of_this_run  # noqa: E402

PROGRAM = sys.argv.pop(1)
SEED = seed_of_this_run()
UNIFORM = "deltabloom-compact-uniform"
REFILTERED = "rocksdb-bloom-refilter"
READS = "absent_data_block_reads_per_lookup"
BLOCKS = "absent_data_blocks_per_lookup"


class Preset(unittest.TestCase):
    def setUp(self):
        self.top = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.tmp = self.top / "tmp"
        self.tmp.mkdir()

    def start(self, *arguments):
        return subprocess.Popen(
            [PROGRAM, *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=dict(os.environ, TMPDIR=str(self.tmp)),
        )

    def results(self, preset, *arguments):
        """What it printed, and the results in its JSON."""
        path = self.top / "results.json"
        words = ("--preset", preset, "--seed", SEED, "--json", path)
        process = self.start(*words, *arguments)
        stdout, stderr = process.communicate(timeout=900)
        self.assertEqual((process.returncode, stderr), (0, ""))
        self.assertEqual(os.listdir(self.tmp), [])
        return stdout, json.loads(path.read_text())["runs"]

    def picture(self):
        path = self.top / "figures.png"
        self.assertEqual(path.read_bytes()[:8], b"\x89PNG\r\n\x1a\n")

    def test_demo(self):
        lookups = 3000
        text, runs = self.results(
            "demo", "--keys", 20000, "--lookups", lookups, "--plot", self.top / "figures.png"
        )
        self.picture()
        self.assertRegex(text, r"\ndeltabloom .* 3,000 +0\.\d+ +600 +[01]\.\d+ +0\n")
        self.assertRegex(text, r"\ndeltabloom: \d\.\d{4} data blocks, [\d,]+ bytes of filters\.\n")
        none = runs[0]
        self.assertEqual(
            [run["filter"] for run in runs],
            ["none", "rocksdb-bloom", "deltabloom", "rocksdb-ribbon"]
            + ["deltabloom-classic", "deltabloom-local", UNIFORM],
        )
        self.assertGreater(none[BLOCKS], 4.5)
        for run in runs:
            self.assertEqual((run["keys"], run["missed_present_keys"]), (20000, 0))
            self.assertLessEqual(run[READS], run[BLOCKS])
        for run in runs[1:]:
            self.check_filter(run, lookups)

    def check_filter(self, run, lookups):
        name = run["filter"]
        # A tenth of the keys is not in the last level.
        low, high = {"rocksdb-ribbon": (6.5, 7.5), "deltabloom": (10.2, 10.5)}.get(name, (10, 10.2))
        self.assertGreaterEqual(run["bits_per_key"], low, run)
        self.assertLessEqual(run["bits_per_key"], high, run)
        # Each false positive reads a block. RocksDB's formulas are a little off
        # for small filters.
        predicted = run["absent_predicted"]
        error = 5 * math.sqrt(predicted / lookups)
        self.assertAlmostEqual(run[BLOCKS], predicted, delta=0.25 * predicted + error, msg=name)

    def test_demo_with_filters_that_refilter_replaced(self):
        _, (bloom, refiltered) = self.results(
            "demo", "--keys", 20000, "--lookups", 3000, "--filters", f"rocksdb-bloom,{REFILTERED}"
        )
        self.check_filter(refiltered, 3000)
        self.assertEqual(refiltered["filter_bytes"], bloom["filter_bytes"])

    def test_each_filter_is_shown_before_the_next_is_loaded(self):
        process = self.start("--keys", 100000)
        while not process.stdout.readline().startswith("rocksdb-bloom "):
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        stdout, _ = process.communicate(timeout=900)
        self.assertEqual(process.returncode, 128 + signal.SIGINT)
        self.assertNotIn(UNIFORM, stdout)
        self.assertEqual(os.listdir(self.tmp), [])

    def test_folders_of_others_are_not_touched(self):
        folder = self.top / "database"
        folder.mkdir()
        (folder / "CURRENT").write_text("MANIFEST")
        process = self.start("--keys", 1000, "--db", folder)
        self.assertIn("--db", process.communicate(timeout=900)[1])
        self.assertEqual(process.returncode, 2)
        self.assertEqual(os.listdir(folder), ["CURRENT"])

    def test_the_script_takes_all_options(self):
        assert_script_takes_options_of(self, "demo", PROGRAM)

    def test_levels(self):
        """Trees that RocksDB grows: dynamic level sizes, all in level 0, one table."""
        text, runs = self.results(
            "levels",
            "--trees",
            "dynamic-150k,level-0,ingestion",
            "--steps",
            "0,2.5",
            "--lookups",
            50000,
            "--plot",
            self.top / "figures.png",
        )
        self.picture()
        rows = {(run["tree"], run["filter"]): run for run in runs}
        self.assertEqual(len(rows), 9)
        for (tree, name), run in rows.items():
            with self.subTest(tree=tree, filter=name):
                self.assertIn(f"\n{name} ", text)
                self.assertAlmostEqual(
                    run["false_positives_per_lookup"],
                    run["predicted"],
                    delta=0.05 * run["predicted"] + 5 * run["error"],
                )
        for tree, most in (("dynamic-150k", 0.65), ("level-0", 0.25)):
            run = rows[tree, "deltabloom"]
            self.assertLess(run["of_uniform"], most)
            none, default = run["steps"]
            self.assertEqual((none["bits_per_key"], none["of_uniform"]), (10, 1))
            self.assertEqual(default["of_uniform"], run["of_uniform"])
        run = rows["dynamic-150k", "deltabloom"]
        self.assertAlmostEqual(run["of_uniform"], run["estimate"], delta=0.1)
        self.assertAlmostEqual(rows["ingestion", "deltabloom"]["of_uniform"], 1)

    def test_phases(self):
        text, runs = self.results(
            "phases", "--keys", 40000, "--lookups", 20000, "--plot", self.top / "figures.png"
        )
        self.picture()
        names = ["rocksdb-bloom", UNIFORM, "deltabloom"]
        phases = ["load", "hits", "misses", "compacted"]
        self.assertEqual(
            [(run["filter"], run["phase"]) for run in runs],
            [(name, phase) for name in names for phase in phases],
        )
        rows = {(run["filter"], run["phase"]): run for run in runs}
        for phase in phases:
            self.assertIn(f"\n{phase} ", text)
        for phase in ("load", "misses", "compacted"):
            bloom, ours = rows["rocksdb-bloom", phase], rows["deltabloom", phase]
            self.assertLess(
                ours["false_positives_per_lookup"], 0.6 * bloom["false_positives_per_lookup"]
            )
            self.assertEqual(ours["more_than_uniform"], False)

    def test_database(self):
        _, runs = self.results(
            "database", "--keys", 20000, "--lookups", 1000, "--filters", "none,deltabloom"
        )
        self.assertEqual([run["tree"] for run in runs], ["full"] * 2 + ["partitioned"] * 2)
        for run in runs:
            for kind in ("absent", "present", "multiget_absent"):
                self.assertGreater(run[f"{kind}_micros_per_lookup"], 0)
            self.assertEqual(run["missed_present_keys"], 0)

    def test_ranges(self):
        """Each filter in two schemas, and each schema."""
        small = ("--keys", 3000, "--lookups", 100)
        two = ("--schemas", "map-cells,secondary-index", "--plot", self.top / "figures.png")
        _, compared = self.results("ranges", *small, *two)
        self.picture()
        _, others = self.results("ranges", *small, "--filters", "none,deltabloom-ranges")
        for run in compared + others:
            self.assertEqual(run["wrong_scans"], 0, run)
        rows = {(run["schema"], run["filter"]): run for run in compared}
        self.assertGreater(len(rows), 10)
        for schema in ("map-cells", "secondary-index"):
            none, ours = rows[schema, "none"], rows[schema, "deltabloom-ranges"]
            for direction in ("forward", "backward"):
                blocks = direction + "_none_data_blocks_per_scan"
                self.assertGreater(none[blocks], 4)
                self.assertLess(ours[blocks], 0.5)
            self.assertLess(ours["property_bits_per_key"], 9)

    def test_ranges_of_keys_from_a_file_in_each_state(self):
        lines = self.top / "lines"
        lines.write_text("".join(f"/{i % 50:02}/{i % 700:03}/{i:06}\n" for i in range(5000)))
        options = ["--lookups", 100, "--filters", "none,deltabloom-ranges"]
        options += ["--keys-from", lines, "--delimiter", "/", "--state"]
        for state, sorted_runs in (("fresh", 2), ("overwritten", 4), ("compacted", 1)):
            _, runs = self.results("ranges", *options, state)
            for run in runs:
                self.assertEqual((run["wrong_scans"], run["runs"]), (0, sorted_runs))
            # Each run reads a block of an empty scan.
            none, ours = (run["forward_none_data_blocks_per_scan"] for run in runs)
            self.assertGreater(none, 0.9 * sorted_runs)
            self.assertLess(ours, 0.1 * none)

    def test_loading(self):
        text, runs = self.results(
            "loading", "--keys", 60000, "--lookups", 2000, "--plot", self.top / "figures.png"
        )
        self.picture()
        rows = {}
        for run in runs:
            self.assertIn(f" {run['filter']} ", text)
            self.assertEqual(run["missed_present_keys"], 0)
            share = run["cache_share"] if run["cache_index_and_filter_blocks"] else "off"
            rows[run["tree"], share, run["filter"]] = run
        self.assertEqual(len(rows), 20)
        for tree in ("full", "partitioned"):
            # 10 bits for each key, 2.5 more for a tenth of them
            filter_bytes = rows[tree, 1, "deltabloom"]["filter_bytes"]
            self.assertGreater(filter_bytes, 75000)
            self.assertLess(filter_bytes, 80000)
            for share in (0.25, 0.5):
                # And what is rounded up in small tables.
                fitted = rows[tree, share, "fitted"]["filter_bytes"]
                self.assertLess(fitted, 1.05 * share * filter_bytes)
        # A cache of all loads no filter twice, and beside the cache none is loaded
        # but with its table.
        for share in (1, "off"):
            run = rows["full", share, "deltabloom"]
            self.assertEqual(
                (run["filters_opened"], run["absent_filters_loaded_per_lookup"]), (5, 0)
            )
        # A filter that does not fit costs more than it saves.
        none, large, small = (
            rows["full", 0.25, name]["absent_bytes_read_per_lookup"]
            for name in ("none", "deltabloom", "fitted")
        )
        self.assertGreater(large, none)
        self.assertGreater(large, 3 * small)


if __name__ == "__main__":
    unittest.main()
