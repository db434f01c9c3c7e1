"""deltabloom estimate of databases of the distribution's db_bench: what it says
that lookups read is what they read, and what is missing is named.

With Chromium the page is compared with the program.

Usage: estimate_database_test.py DELTABLOOM PLUGIN [CHROMIUM]
"""

import json
import re
import shutil
import struct
import sys
import unittest

import browser
from databases import DatabaseTest, edit_options, options_file
from preload import preloadable, run

TOOL, PLUGIN = sys.argv[1], preloadable(sys.argv[2])
CHROMIUM = sys.argv[3] if len(sys.argv) > 3 else None

# The levels of small trees.
SMALL = """write_buffer_size=131072
  target_file_size_base=131072
  max_bytes_for_level_base=524288
  level0_file_num_compaction_trigger=4
  max_bytes_for_level_multiplier={}
  level_compaction_dynamic_level_bytes={}"""
UNIVERSAL = """write_buffer_size=131072
  compaction_style=kCompactionStyleUniversal
  level0_file_num_compaction_trigger=6"""

# RocksDB 7.8.3 writes statistics into the LOG in this form; most are left out.
STATISTICS = """2026/11/24-11:44:20.319901 24939 [db/db_impl/db_impl.cc:788] STATISTICS:
 rocksdb.block.cache.miss COUNT : 3724
rocksdb.bloom.filter.useful COUNT : 970
rocksdb.bloom.filter.full.positive COUNT : 630
rocksdb.bloom.filter.full.true.positive COUNT : 600
rocksdb.memtable.hit COUNT : 100
rocksdb.l0.hit COUNT : 200
rocksdb.l1.hit COUNT : 0
rocksdb.l2andup.hit COUNT : 400
rocksdb.number.keys.read COUNT : 600
rocksdb.number.db.seek COUNT : 50
rocksdb.number.db.seek.found COUNT : 20
rocksdb.number.multiget.keys.read COUNT : 400
rocksdb.db.get.micros P50 : 0.5 P95 : 0.6 P99 : 0.7 P100 : 1.0 COUNT : 600 SUM : 300
"""


def listed(folder):
    return {file.name: (file.stat().st_size, file.stat().st_mtime_ns) for file in folder.iterdir()}


def sum_of(output, *tickers):
    return sum(
        int(re.search(rf"^{re.escape(ticker)} COUNT : (\d+)$", output, re.M)[1])
        for ticker in tickers
    )


def crc32c(data):
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return value ^ 0xFFFFFFFF


class EstimateDatabase(DatabaseTest):
    plugin = PLUGIN

    def estimate(self, database, *arguments, status=0, error=""):
        """The JSON document, which the text agrees with."""
        before = listed(database)
        done = run(TOOL, "estimate", database, *arguments, "--json")
        self.assertEqual(
            (done.returncode, done.stderr.count("\n")), (status, error.count("\n")), done.stderr
        )
        self.assertIn(error.strip(), done.stderr)
        text = run(TOOL, "estimate", database, *arguments)
        self.assertEqual((text.returncode, text.stderr), (status, done.stderr))
        self.assertEqual(listed(database), before)  # nothing is written
        document = json.loads(done.stdout)
        for family in document["column_families"]:
            self.assertIn(
                f"\ncolumn family {family['name']}: {family['keys']:,.0f} keys, ", text.stdout
            )
            if family["now"] is not None:
                self.assertIn(f"now: {family['now']['absent_reads']:.4f} data blocks", text.stdout)
        self.text = text.stdout
        return document

    def measured(self, database, num, reads):
        """Data blocks that db_bench reads per lookup of an absent key, in `reads` of them."""
        done = run(
            "db_bench",
            f"--options_file={options_file(database)}",
            f"--db={database}",
            "--use_existing_db",
            "--benchmarks=readmissing",
            f"--num={num}",
            f"--reads={reads}",
            "--seed=7",
            "--statistics",
            "--cache_size=67108864",
            preload=PLUGIN,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"(0 of {reads} found)", done.stdout)
        return (
            sum_of(done.stdout, "rocksdb.block.cache.data.hit", "rocksdb.block.cache.data.miss")
            / reads
        )

    def test_reads_are_those_of_db_bench(self):
        """Five trees that RocksDB grew."""
        bloom = "bloomfilter:10:false"
        grown = "fillrandom,flush,waitforcompaction"
        for name, policy, sections in [
            ("leveled, T = 4, no filter", "nullptr", {"family": SMALL.format(4, 0)}),
            ("leveled, T = 4, Bloom", bloom, {"family": SMALL.format(4, 0)}),
            ("leveled, T = 10, dynamic, Bloom", bloom, {"family": SMALL.format(10, 1)}),
            # Universal compactions may stay pending although there is none to do.
            ("universal, Bloom", bloom, {"family": UNIVERSAL, "benchmarks": "fillrandom,flush"}),
            (
                "leveled, T = 4, dynamic, Deltabloom at 4 bits per key",
                "deltabloom:4",
                {"family": SMALL.format(4, 1)},
            ),
        ]:
            with self.subTest(name):
                num = 100000
                value = "--value_size=64"
                database = self.database(
                    policy, num=num, flags=[value], **{"benchmarks": grown, **sections}
                )
                # A run more that nothing compacts: all others may have become one.
                sections["family"] += "\n  disable_auto_compactions=true"
                self.fill(
                    database,
                    policy,
                    num=num,
                    flags=[value, "--use_existing_db", "--writes=500"],
                    **{**sections, "benchmarks": "overwrite,flush"},
                )
                (family,) = self.estimate(database)["column_families"]
                estimated = family["now"]["absent_reads"]
                # They read 6,000 blocks, so that chance is 1.3 %.
                reads = round(max(20000, 6000 / estimated))
                measured = self.measured(database, num, reads)
                # The tree is still the same.
                self.assertEqual(self.estimate(database)["column_families"], [family])
                print(
                    f"{name}: {len(family['tree'])} runs, estimated {estimated:.5f}, "
                    f"measured {measured:.5f}, {estimated / measured:.3f}"
                )
                self.assertAlmostEqual(estimated / measured, 1, delta=0.1)
                self.assertGreaterEqual(len(family["tree"]), 2)

    def test_runs_are_as_they_are(self):
        """Two tables over the same range, of which every lookup asks both."""
        twice = {"benchmarks": "fillseq,flush,overwrite,flush", "num": 20000}
        for policy, reads, kind, size in [
            ("nullptr", 2.0, "none", 0),
            ("bloomfilter:10:false", 0.019, "RocksDB Bloom", 40850),
            ("deltabloom:10:local", 0.020, "Deltabloom local", 40850),
            ("deltabloom:10", 0.00041, "Deltabloom compact", 51000),
        ]:
            with self.subTest(policy):
                (family,) = self.estimate(self.database(policy, **twice))["column_families"]
                (level,) = family["levels"]
                self.assertAlmostEqual(family["now"]["absent_reads"] / reads, 1, delta=0.04)
                self.assertEqual((level["level"], level["tables"], level["keys"]), (0, 2, 32609))
                self.assertEqual(level["filters"], {kind: 2})
                self.assertAlmostEqual(level["filter_bytes"], size, delta=size / 100)
                self.assertAlmostEqual(level["filters_asked"], 2, delta=0.001)
                self.assertEqual([run["tables"] for run in family["tree"]], [1, 1])
                self.assertEqual(
                    family["filter_policy"].split(":")[0].strip("{").split(";")[0],
                    {"nullptr": "nullptr", "bloomfilter:10:false": "bloomfilter"}.get(
                        policy, "id=deltabloom"
                    ),
                )

    def test_filters_that_are_not_used_are_none(self):
        database = self.database("deltabloom:10")
        edit_options(database, "filter_policy=.*", "filter_policy=bloomfilter:10:false")
        (family,) = self.estimate(database)["column_families"]
        self.assertEqual(family["now"]["absent_reads"], 1)
        self.assertEqual(family["levels"][0]["filters"], {"Deltabloom compact (not used)": 1})
        self.assertIn("Deltabloom compact (not used)", self.text)
        for file in database.glob("OPTIONS-*"):
            file.unlink()
        (family,) = self.estimate(database)["column_families"]
        self.assertLess(family["now"]["absent_reads"], 0.02)
        self.assertIn("has no OPTIONS file, so filters are taken to be used", self.text)

    def test_what_the_log_counted(self):
        database = self.database("bloomfilter:10:false")
        self.assertIsNone(self.estimate(database)["statistics"])
        self.assertIn("no statistics in the LOG", self.text)
        log = database / "LOG"
        old = database / "LOG.old.1700000000000000"
        old.write_text(log.read_text() + STATISTICS)
        expected = {
            "file": old.name,
            "time": "2026/11/24-11:44:20",
            "gets": {"all": 1000, "missed": 300, "share": 0.3},
            "filtered": {"all": 1000, "passed": 30, "share": 0.03},
            "seeks": {"all": 50, "missed": 30, "share": 0.6},
            "run_seeks": None,
        }
        self.assertEqual(self.estimate(database)["statistics"], expected)
        self.assertIn("  1,000 keys were looked up: 30.0 % of them were not found\n", self.text)
        self.assertIn(
            "  1,000 times a filter was asked for a key it did not hold: 3.00 % passed", self.text
        )
        self.assertIn("  50 seeks: 60.0 % found nothing\n", self.text)
        self.assertNotIn("sorted run that read", self.text)
        # The LOG is newer, and long.
        newer = STATISTICS.replace("seek.found COUNT : 20", "seek.found COUNT : 45")
        with log.open("a") as file:
            file.write(newer + 3000000 * "more\n")
        statistics = self.estimate(database)["statistics"]
        self.assertEqual((statistics["file"], statistics["seeks"]["missed"]), ("LOG", 5))
        log.unlink()
        self.assertEqual(self.estimate(database)["statistics"], expected)
        log.mkdir()
        self.estimate(
            database, status=2, error=f"warning: {log}: expected a file, found a directory\n"
        )

    def test_ways_to_get_there(self):
        database = self.database("bloomfilter:10:false", num=20000)
        (family,) = self.estimate(database)["column_families"]
        (table,) = database.glob("*.sst")
        for way in ("compaction", "refilter"):
            rewrite = family["rewrite"][way]
            self.assertEqual((rewrite["tables"], rewrite["write_bytes"]), (1, table.stat().st_size))
            self.assertGreater(rewrite["cpu_seconds"], 0.001)
        self.assertLess(family["refilter"]["absent_reads"], family["now"]["absent_reads"] / 5)
        self.assertIn(f"deltabloom refilter {database}: ", self.text)
        self.assertIn("range filters: none; with 8 bits per key they take 19.5 KiB", self.text)
        # refilter reaches the reads that estimate predicts for it.
        done = run(TOOL, "refilter", "--filter", "deltabloom:10:compact", "--json", database)
        self.assertEqual(done.returncode, 0, done.stderr)
        after = json.loads(done.stdout)["column_families"][0]["reads_after"]
        self.assertAlmostEqual(family["refilter"]["absent_reads"] / after, 1, delta=0.02)

    def test_what_cannot_be_read_is_named(self):
        for name, change, error in [
            (
                "no tables",
                lambda path: [file.unlink() for file in path.glob("*.sst")],
                "1 table not in this directory (db_paths, cf_paths): they are left out",
            ),
            ("half a table", lambda path: self.cut(path, "*.sst"), ".sst: "),
            ("half a MANIFEST", lambda path: self.cut(path, "MANIFEST-*"), "MANIFEST-"),
            (
                "no CURRENT",
                lambda path: (path / "CURRENT").unlink(),
                "CURRENT: cannot be opened: No such file",
            ),
            (
                "not a database",
                lambda path: [file.unlink() for file in path.iterdir()],
                "CURRENT: cannot be opened: No such file or directory",
            ),
            (
                "tables of LevelDB",
                self.to_leveldb,
                "has tables of LevelDB, and this command reads databases of RocksDB",
            ),
        ]:
            with self.subTest(name):
                database = self.database()
                change(database)
                done = run(TOOL, "estimate", database)
                self.assertEqual(done.returncode, 2, done.stdout)
                self.assertIn(str(database), done.stderr)
                self.assertIn(error, done.stderr)
        empty = self.database(benchmarks="fillseq", num=1)
        done = run(TOOL, "estimate", empty)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn(f"{empty}: has no tables yet: flush the database, or estimate", done.stderr)

    def cut(self, folder, name):
        (file,) = folder.glob(name)
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])

    def to_leveldb(self, folder):
        """An empty table of LevelDB: a block without entries, a footer with its handle twice."""
        (table,) = folder.glob("*.sst")
        block = struct.pack("<II", 0, 1) + b"\0"
        checksum = crc32c(block)
        handle = b"\0" + bytes([len(block) - 1])
        bytes_ = block + struct.pack(
            "<I", (((checksum >> 15) | (checksum << 17)) + 0xA282EAD8) & 0xFFFFFFFF
        )
        table.write_bytes(
            bytes_ + (2 * handle).ljust(40, b"\0") + bytes.fromhex("57fb808b247547db")
        )

    def test_page_begins_at_the_database(self):
        database = self.database("bloomfilter:10:false", num=20000)
        page = self.folder / "page.html"
        document = self.estimate(database, "--html", page)
        data = json.loads(re.search(r"^const DATA = (.*);$", page.read_text(), re.M)[1])
        (family,) = data["families"]
        (said,) = document["column_families"]
        self.assertEqual(data["database"], str(database))
        self.assertEqual(
            (family["name"], family["keys"], family["tree"]), ("default", 20000, said["tree"])
        )
        # Its one table is in level 0, which would have 2.5 bits more.
        self.assertAlmostEqual(family["bits"], 7.51, delta=0.01)
        self.assertEqual(family["now"]["reads"], said["now"]["absent_reads"])
        done = run(TOOL, "estimate", database, "--html", "/no/such/folder/page.html")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/no/such/folder/page.html: cannot be written: No such file", done.stderr)

    def test_figures_of_the_page_are_the_programs(self):
        if not CHROMIUM:
            self.skipTest("no Chromium")
        database = self.database(
            "bloomfilter:10:false", benchmarks="fillseq,flush,overwrite,flush", num=20000
        )
        page = self.folder / "figures.html"
        (said,) = self.estimate(database, "--html", page)["column_families"]
        # And for twice the keys.
        views = browser.View(page), browser.View(page, "keys=65218")
        shown, grown = browser.dump(CHROMIUM, self.folder, views)
        shown = browser.attribute("result", shown)
        # All with the bits_per_key of the last one.
        bits = said["filters"][-1]["bits_per_key"]
        (rows,) = (
            family["filters"]
            for family in self.estimate(database, f"--bits-per-key={bits}")["column_families"]
        )
        self.assertEqual([row["filter"] for row in shown], [row["filter"] for row in rows])
        for ours, theirs in zip(shown, rows):
            with self.subTest(theirs["filter"]):
                self.assertAlmostEqual(ours["absent_reads"] / theirs["absent_reads"], 1, delta=0.05)
                self.assertEqual(
                    ours["bits"], [level["bits_per_key"] for level in theirs["levels"]]
                )
        # Twice the keys, each run twice as large.
        self.assertIn("<td>40,000</td>", grown)
        self.assertIn("<td>25,218</td>", grown)
        self.assertRegex(grown, "The filters that are there: 0.019[0-9] reads, 39.9 KiB")

    def test_names_cannot_end_the_script(self):
        database = self.folder / "<script>"
        shutil.copytree(self.database(), database)
        page = self.folder / "odd.html"
        self.estimate(database, "--html", page)
        self.assertEqual(page.read_text().count("<script>"), 1)

    def test_wrong_use_is_named(self):
        database = self.database()
        for arguments, words in {
            ("--keys", "1M"): "DIR excludes --keys",
            ("--levels", "3"): "DIR excludes --levels",
            ("--filter-memory", "1M", "--rate", "0.1"): "--filter-memory excludes --rate",
        }.items():
            done = run(TOOL, "estimate", database, *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(words, done.stderr)
        self.assertEqual(run(TOOL, "estimate", self.folder / "none").returncode, 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
