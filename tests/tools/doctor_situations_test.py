"""Databases in which nothing or little filters, and healthy ones: what deltabloom
doctor says of each.

Usage: doctor_situations_test.py DELTABLOOM PLUGIN [unittest options]
"""

import json
import os
import shutil
import sys
import unittest

from databases import DatabaseTest, edit_options, options_file
from preload import preloadable, run

TOOL, PLUGIN = sys.argv[1], preloadable(sys.argv[2])

BLOOM, RIBBON, OURS = "bloomfilter:10:false", "ribbonfilter:10", "deltabloom:10"
OWN = "{id=deltabloom;compatibility=own;}"
UPPER_ONLY = "{id=deltabloom;bits_per_key=0;upper_bits_per_key=10;}"
LOWERCASE = "{id=deltabloom;key_transform=ascii_lowercase;}"
PARTITIONED = {
    "table": "partition_filters=true\n  index_type=kTwoLevelIndexSearch\n  metadata_block_size=512"
}
PREFIX = "prefix_extractor=rocksdb.FixedPrefix.4"
CACHED = "cache_index_and_filter_blocks=true"
# The filter of its table has 78.1 kB.
SMALL_CACHE = {"num": 50000, "flags": ["--cache_size=16384"]}
# All of a filter in one partition.
ONE_PARTITION = {"table": PARTITIONED["table"].replace("=512", "=1000000")}
# Keys of db_bench begin with their number, in eight bytes: 2000 keys have one
# prefix of four bytes, 125 of seven in sixteen times as many.
ONLY_PREFIXES = {"family": PREFIX.replace("4", "8"), "table": "whole_key_filtering=false"}
TWO_COLLECTORS = (
    "table_properties_collectors={id=CompactOnDeletionCollector;window_size=9;deletion_trigger=5}:"
    "{id=deltabloom.range}"
)


class Situations(DatabaseTest):
    plugin = PLUGIN

    def then(self, policy, database):
        """Changes the OPTIONS file as an open under that policy would."""
        edit_options(database, "filter_policy=.*", f"filter_policy={policy}")
        return database

    def edited(self, database, pattern, replacement):
        edit_options(database, pattern, replacement)
        return database

    def refiltered(self, policy, **details):
        """After deltabloom refilter, and then under the policy."""
        database = self.database(BLOOM, **details)
        done = run(TOOL, "refilter", "--filter", "deltabloom:20:compact", database)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 replaced", done.stdout)
        return self.then(policy, database)

    def ldb(self, database, *command, preload=None):
        done = run("ldb", f"--db={database}", "--try_load_options", *command, preload=preload)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return database

    def more(self, database, policy, family="", flags=(), **details):
        """With another table, written under that policy."""
        lines = "disable_auto_compactions=true\n  " + family
        self.fill(
            database,
            policy,
            "overwrite,flush",
            flags=["--use_existing_db", *flags],
            family=lines,
            **details,
        )
        return database

    def other_family(self, policy):
        """A second column family, with the policy and without a table."""
        database = self.database()
        with options_file(database).open("a") as file:
            file.write(
                f'[CFOptions "b"]\n[TableOptions/BlockBasedTable "b"]\n  filter_policy={policy}\n'
            )
        return database

    def changed(self, database, name, change):
        (file,) = database.glob(name)
        file.write_bytes(change(file.read_bytes()))
        return database

    def encrypted(self, database):
        for file in database.iterdir():
            file.write_bytes(bytes(byte ^ 0xAA for byte in file.read_bytes()))
        return database

    def removed(self, database, name):
        for file in database.glob(name):
            file.unlink()
        return database

    # A row: what happened; the database; exit status; code; words of the line.
    NOTHING_FILTERS = [
        (
            "no policy in the OPTIONS",
            lambda t: t.then("nullptr", t.database()),
            1,
            "options_without_policy",
            "was last opened without a filter policy",
        ),
        (
            "ldb without the plugin rewrote the tables",
            lambda t: t.ldb(t.database(), "compact"),
            1,
            "tables_without_filter",
            "no filter in 1 table in level ",
        ),
        (
            "the policy came after the tables",
            lambda t: t.then(OURS, t.database("nullptr")),
            1,
            "tables_without_filter",
            "reads 1.0000 data blocks",
        ),
        (
            "a table above the last level was written without",
            lambda t: t.then(
                UPPER_ONLY,
                t.more(t.ldb(t.database(UPPER_ONLY), "compact", preload=PLUGIN), "nullptr"),
            ),
            1,
            "tables_without_filter",
            "no filter in 1 table in level 0, of ",
        ),
        (
            "one table of two was written without",
            lambda t: t.more(t.database("nullptr"), OURS),
            1,
            "tables_without_filter",
            "no filter in 1 table in level 0, of ",
        ),
        (
            "filters left out, but not only in the last level",
            lambda t: t.edited(
                t.more(
                    t.ldb(t.database("nullptr"), "compact"),
                    "nullptr",
                    family="optimize_filters_for_hits=1",
                ),
                "filter_policy=.*",
                f"filter_policy={OURS}",
            ),
            1,
            "tables_without_filter",
            "no filter in 1 table in level 0, of ",
        ),
        (
            "another column family has no policy",
            lambda t: t.other_family("nullptr"),
            1,
            "options_without_policy",
            "column family b: was last opened without a filter policy",
        ),
        (
            "refilter before the policy is rolled out",
            lambda t: t.refiltered(BLOOM),
            1,
            "filters_not_queried",
            "1 table of 0.2 MB (Deltabloom compact under the name rocksdb.BuiltinBloomFilter) are "
            "not used under filter_policy=bloomfilter:10:false: a lookup of an absent key "
            "reads 1.0000 data blocks",
        ),
        (
            "the same with partitions",
            lambda t: t.refiltered(BLOOM, **PARTITIONED),
            1,
            "filters_not_queried",
            "Deltabloom compact under",
        ),
        (
            "rolled back to Bloom",
            lambda t: t.then(BLOOM, t.database()),
            1,
            "filters_not_queried",
            "Deltabloom compact under",
        ),
        (
            "rolled back to Ribbon",
            lambda t: t.then(RIBBON, t.database()),
            1,
            "filters_not_queried",
            "are not used under filter_policy=ribbonfilter:10",
        ),
        (
            "rolled back, and one table rewritten",
            lambda t: t.more(t.database(), BLOOM),
            1,
            "filters_not_queried",
            "the filters of 1 table of ",
        ),
        (
            "rolled back, partitioned filters",
            lambda t: t.then(BLOOM, t.database(**PARTITIONED)),
            1,
            "filters_not_queried",
            "the filters of 1 table of ",
        ),
        (
            "Bloom over filters under a name of their own",
            lambda t: t.then(BLOOM, t.database(OWN)),
            1,
            "filters_not_queried",
            "under the name deltabloom.SealedFilter",
        ),
        (
            "compatibility=own over Deltabloom's filters",
            lambda t: t.then(OWN, t.database()),
            1,
            "filters_not_queried",
            "under the name rocksdb.BuiltinBloomFilter",
        ),
        (
            "compatibility=own over Bloom filters",
            lambda t: t.then(OWN, t.database(BLOOM)),
            1,
            "filters_not_queried",
            "RocksDB Bloom under the name rocksdb.BuiltinBloomFilter",
        ),
        (
            "compatibility=builtin over own",
            lambda t: t.then(OURS, t.database(OWN)),
            1,
            "filters_not_queried",
            "under the name deltabloom.SealedFilter",
        ),
        (
            "deltabloom:0 over filters of another name",
            lambda t: t.then("deltabloom:0", t.database(OWN)),
            1,
            "filters_not_queried",
            "not used under filter_policy=deltabloom:0",
        ),
        (
            "a key transform over filters without",
            lambda t: t.then(LOWERCASE, t.database()),
            1,
            "filters_not_queried",
            "key_transform=ascii_lowercase",
        ),
        (
            "a key transform over Bloom filters",
            lambda t: t.then(LOWERCASE, t.database(BLOOM)),
            1,
            "filters_not_queried",
            "RocksDB Bloom",
        ),
        (
            "no key transform over filters of one",
            lambda t: t.then(OURS, t.database(LOWERCASE)),
            1,
            "filters_not_queried",
            "Deltabloom compact",
        ),
        (
            "neither whole keys nor prefixes are looked up",
            lambda t: t.edited(
                t.database(), "whole_key_filtering=true", "whole_key_filtering=false"
            ),
            1,
            "filters_not_queried",
            "the filters of 1 table",
        ),
        (
            "filters of the prefixes of another extractor",
            lambda t: t.edited(
                t.database(**ONLY_PREFIXES), "rocksdb.FixedPrefix.8", "rocksdb.FixedPrefix.5"
            ),
            1,
            "filters_not_queried",
            "the filters of 1 table",
        ),
        (
            "filters of prefixes without their extractor",
            lambda t: t.edited(
                t.database(**ONLY_PREFIXES), " prefix_extractor=.*", " prefix_extractor=nullptr"
            ),
            1,
            "filters_not_queried",
            "the filters of 1 table",
        ),
        (
            "filters too small for their tables",
            lambda t: t.database("{id=deltabloom;max_filter_bytes=200;}"),
            1,
            "filters_match_most_keys",
            "match more than half of the keys that they do not hold",
        ),
        (
            "one bit per key",
            lambda t: t.database("{id=deltabloom;bits_per_key=1;upper_bits_per_key=1;}"),
            1,
            "filters_match_most_keys",
            "the filters of 1 table of ",
        ),
        (
            "no filter fits max_filter_bytes",
            lambda t: t.then("{id=deltabloom;max_filter_bytes=1;}", t.database()),
            1,
            "policy_cannot_work",
            "its filter of 1000 keys matches every key",
        ),
        (
            "an option that does not exist",
            lambda t: t.then("{id=deltabloom;no_such=1;}", t.database()),
            1,
            "policy_cannot_work",
            "no_such",
        ),
        (
            "only prefixes, of which there is one",
            lambda t: t.database(family=PREFIX, table="whole_key_filtering=false"),
            1,
            "filters_of_few_prefixes",
            "a filter rejects no key with a prefix that it holds: a lookup of an absent key reads "
            "0.99",
        ),
        (
            "only prefixes, of which there is one, in partitions",
            lambda t: t.database(
                family=PREFIX, table="whole_key_filtering=false\n  " + PARTITIONED["table"]
            ),
            1,
            "filters_of_few_prefixes",
            "hold prefixes only, at most ten each",
        ),
        (
            "RocksDB's filters of one prefix",
            lambda t: t.database(BLOOM, family=PREFIX, table="whole_key_filtering=false"),
            1,
            "filters_of_few_prefixes",
            "keys begin alike",
        ),
        (
            "filters under no policy at all",
            lambda t: t.then("nullptr", t.database()),
            1,
            "filters_not_queried",
            "not used under filter_policy=nullptr: a lookup of an absent key reads 1.0000 data",
        ),
        (
            "two collectors",
            lambda t: t.database(family=TWO_COLLECTORS),
            1,
            "collectors_not_read",
            "its tables have no range filters",
        ),
        (
            "encrypted",
            lambda t: t.encrypted(t.database()),
            2,
            "unknown_files",
            "encrypted, or not RocksDB's",
        ),
        (
            "a policy that is not registered",
            lambda t: t.then("deltablom:10", t.database()),
            2,
            "unknown_policy",
            "RocksDB silently treats an unknown policy as no filters",
        ),
        (
            "a key transform that is not registered",
            lambda t: t.then("{id=deltabloom;key_transform=their;}", t.database()),
            2,
            "unknown_key_transform",
            "their",
        ),
        (
            "no OPTIONS file",
            lambda t: t.removed(t.database(), "OPTIONS-*"),
            2,
            "no_options_file",
            "the policy it was last opened with is not known",
        ),
        (
            "tables in other places",
            lambda t: t.removed(t.database(), "*.sst"),
            2,
            "tables_elsewhere",
            "1 table not in this directory",
        ),
        (
            "half a table",
            lambda t: t.changed(t.database(), "*.sst", lambda table: table[: len(table) // 2]),
            2,
            "unreadable",
            ".sst: ",
        ),
        (
            "half a MANIFEST",
            lambda t: t.changed(t.database(), "MANIFEST-*", lambda log: log[: len(log) // 2]),
            2,
            "unreadable",
            "MANIFEST-",
        ),
    ]

    # A row: what it is; the database; notes.
    HEALTHY = [
        ("the defaults", lambda t: t.database(), []),
        ("classic", lambda t: t.database("deltabloom:10:classic"), []),
        ("local", lambda t: t.database("deltabloom:10:local"), []),
        ("compact", lambda t: t.database("deltabloom:10:compact"), []),
        ("few bits per key", lambda t: t.database("deltabloom:3"), []),
        ("uniform bits", lambda t: t.database("{id=deltabloom;upper_bits_per_key=10;}"), []),
        (
            "options of an earlier version",
            lambda t: t.database(
                "{id=deltabloom;layout=auto;allocation=levels;filter_memory=1MiB;}",
                db="listeners=deltabloom",
            ),
            [],
        ),
        ("partitions", lambda t: t.database(**PARTITIONED), []),
        ("partitions of compact", lambda t: t.database("deltabloom:10:compact", **PARTITIONED), []),
        ("a seed", lambda t: t.database("{id=deltabloom;seeded=on;}"), []),
        ("a check of the payload", lambda t: t.database("{id=deltabloom;payload_check=on;}"), []),
        ("a key transform", lambda t: t.database(LOWERCASE), []),
        ("a name of its own", lambda t: t.database(OWN), []),
        ("prefixes and keys", lambda t: t.database(family=PREFIX), []),
        ("only prefixes", lambda t: t.database(**ONLY_PREFIXES), []),
        (
            "only prefixes, in partitions",
            lambda t: t.database(
                family=ONLY_PREFIXES["family"],
                table="whole_key_filtering=false\n  " + PARTITIONED["table"],
            ),
            [],
        ),
        ("Bloom", lambda t: t.database(BLOOM), ["other_policy"]),
        ("Ribbon", lambda t: t.database(RIBBON), ["other_policy"]),
        ("Deltabloom over Bloom filters", lambda t: t.then(OURS, t.database(BLOOM)), []),
        ("Deltabloom over Ribbon filters", lambda t: t.then(OURS, t.database(RIBBON)), []),
        (
            "Bloom over Ribbon filters",
            lambda t: t.then(BLOOM, t.database(RIBBON)),
            ["other_policy"],
        ),
        ("a table of each kind", lambda t: t.more(t.database(BLOOM), OURS), []),
        ("refilter", lambda t: t.refiltered(OURS), []),
        ("refilter of partitions", lambda t: t.refiltered(OURS, **PARTITIONED), []),
        (
            "more bits per key than the filters have",
            lambda t: t.then("deltabloom:20", t.database()),
            ["fewer_bits_than_policy"],
        ),
        (
            "more bits per key than the filters of refilter have",
            lambda t: t.then("deltabloom:12", t.refiltered(OURS)),
            ["fewer_bits_than_policy"],
        ),
        (
            "fewer bits per key than the filters have",
            lambda t: t.then("deltabloom:8", t.database()),
            [],
        ),
        (
            "fewer bits than the policy has, because of its limit",
            lambda t: t.database("{id=deltabloom;bits_per_key=20;max_filter_bytes=2500;}"),
            [],
        ),
        (
            "none in the last level, and a level 0 above it",
            lambda t: t.more(
                t.ldb(
                    t.database(
                        family="optimize_filters_for_hits=1", benchmarks="fillseq,flush,compact"
                    ),
                    "compact",
                    preload=PLUGIN,
                ),
                OURS,
                family="optimize_filters_for_hits=1",
            ),
            ["no_filter_by_choice"],
        ),
        (
            "filters in the last level that are not asked",
            lambda t: t.edited(
                t.ldb(t.database(), "compact", preload=PLUGIN),
                "optimize_filters_for_hits=false",
                "optimize_filters_for_hits=true",
            ),
            ["filters_not_asked"],
        ),
        (
            "a comparator that is not known here",
            lambda t: t.edited(t.database(), " comparator=.*", " comparator=case.Insensitive"),
            ["comparator_not_known"],
        ),
        (
            "such a comparator with its key transform",
            lambda t: t.edited(
                t.database(LOWERCASE), " comparator=.*", " comparator=case.Insensitive"
            ),
            [],
        ),
        (
            "one collector",
            lambda t: t.database(family="table_properties_collectors={{id=deltabloom.range}}"),
            [],
        ),
        (
            "more filters than data",
            lambda t: t.database("deltabloom:1000:local", flags=["--value_size=20"]),
            ["filters_exceed_data"],
        ),
        (
            "no filters, by choice",
            lambda t: t.database("deltabloom:0"),
            ["no_filter_by_choice"] * 2,
        ),
        (
            "filters above the last level only",
            lambda t: t.more(t.ldb(t.database(UPPER_ONLY), "compact", preload=PLUGIN), UPPER_ONLY),
            ["no_filter_by_choice"] * 2,
        ),
        (
            "no new filters, by choice",
            lambda t: t.then("deltabloom:0", t.database()),
            ["no_filter_by_choice"],
        ),
        (
            "none in the last level, by choice",
            lambda t: t.ldb(
                t.database(
                    family="optimize_filters_for_hits=1", benchmarks="fillseq,flush,compact"
                ),
                "compact",
                preload=PLUGIN,
            ),
            ["no_filter_by_choice"],
        ),
        ("no table yet", lambda t: t.database(benchmarks="fillseq", num=1), []),
        (
            "deletions of ranges only",
            lambda t: t.ldb(
                t.database(benchmarks="fillseq", num=0), "deleterange", "a", "b", preload=PLUGIN
            ),
            [],
        ),
        ("a second column family without tables", lambda t: t.other_family(OURS), []),
        (
            "a column family of plain tables",
            lambda t: t.edited(
                t.other_family("nullptr"), r'CFOptions "b"\]', r"\g<0>\n  table_factory=PlainTable"
            ),
            ["not_block_based"],
        ),
    ]

    # Each row has the situation, the database, and the words of the note, or none.
    LOADING = [
        (
            "a full filter, larger than the cache",
            lambda t: t.database(table=CACHED, **SMALL_CACHE),
            [
                "filters of 78.1 kB in a block cache of 16.4 kB (by the LOG)",
                "at least 0.79 filters, 61.8 kB, and saves 1.00 data",
                "lookups load 3.2 kB once",
            ],
        ),
        (
            "RocksDB's",
            lambda t: t.database(BLOOM, table=CACHED, **SMALL_CACHE),
            ["at least 0.74 filters, 46.1 kB"],
        ),
        (
            "by the option in the OPTIONS only",
            lambda t: t.edited(
                t.database(**SMALL_CACHE), "cache_index_and_filter_blocks=false", CACHED
            ),
            ["at least 0.79 filters, 61.8 kB"],
        ),
        (
            "twice as large as the cache",
            lambda t: t.database(table=CACHED, num=50000, flags=["--cache_size=40000"]),
            ["4.6 bits per key, which the cache can hold", " --filter-memory 2895"],
        ),
        (
            "two tables in level 0",
            lambda t: t.more(
                t.database(table=CACHED, **SMALL_CACHE), OURS, **SMALL_CACHE, table=CACHED
            ),
            ["at least 1.79 filters, ", ", and saves 2.00 data blocks, "],
        ),
        (
            "a partition, larger than the cache",
            lambda t: t.database(**SMALL_CACHE, **ONE_PARTITION),
            ["at least 0.79 partitions, 61.8 kB", "a smaller metadata_block_size"],
        ),
        ("the same filter in a larger cache", lambda t: t.database(table=CACHED, num=50000), []),
        ("beside the cache", lambda t: t.database(**SMALL_CACHE), []),
        (
            "in small partitions",
            lambda t: t.database(table=CACHED + "\n  " + PARTITIONED["table"], **SMALL_CACHE),
            [],
        ),
        (
            "pinned",
            lambda t: t.database(
                table=CACHED + "\n  metadata_cache_options={unpartitioned_pinning=kAll}",
                **SMALL_CACHE,
            ),
            [],
        ),
        (
            "a pinned partition",
            lambda t: t.database(
                **SMALL_CACHE,
                table=(
                    ONE_PARTITION["table"] + "\n  metadata_cache_options={partition_pinning=kAll}"
                ),
            ),
            [],
        ),
        ("without a LOG", lambda t: t.removed(t.database(table=CACHED, **SMALL_CACHE), "LOG"), []),
        (
            "with the LOG elsewhere",
            lambda t: t.edited(
                t.database(table=CACHED, **SMALL_CACHE),
                r"\[DBOptions\]",
                r"\g<0>\n  db_log_dir=/elsewhere",
            ),
            [],
        ),
        (
            "with a LOG that names no cache",
            lambda t: t.changed(
                t.database(table=CACHED, **SMALL_CACHE),
                "LOG",
                lambda log: log.replace(b"capacity", b"size"),
            ),
            [],
        ),
        (
            "filters of another policy, which are not read",
            lambda t: t.then(OWN, t.database(table=CACHED, **SMALL_CACHE)),
            None,
        ),
    ]

    def look(self, make, status):
        database = make(self)
        document = json.loads(run(TOOL, "doctor", "--json", database).stdout)
        text = run(TOOL, "doctor", database)
        self.assertEqual((text.returncode, text.stderr), (status, ""), text.stdout)
        shutil.rmtree(database)
        return document["findings"]

    def test_nothing_filters(self):
        self.assertGreaterEqual(len(self.NOTHING_FILTERS), 25)
        for name, make, status, code, words in self.NOTHING_FILTERS:
            with self.subTest(name):
                found = [finding for finding in self.look(make, status) if finding["code"] == code]
                self.assertEqual(len(found), 1, found)
                self.assertIn(words, found[0]["what"])
                self.assertEqual(found[0]["severity"], {1: "problem", 2: "unknown"}[status])
                self.assertNotEqual(found[0]["to_do"], "")

    def test_healthy(self):
        self.assertGreaterEqual(len(self.HEALTHY), 25)
        for name, make, notes in self.HEALTHY:
            with self.subTest(name):
                self.assertEqual([finding["code"] for finding in self.look(make, 0)], notes)

    def test_filters_above_the_last_level_only(self):
        (note,) = self.look(lambda t: t.database(UPPER_ONLY), 0)
        self.assertIn(" builds no filters in the last level: ", note["what"])

    def test_loading(self):
        for name, make, words in self.LOADING:
            with self.subTest(name):
                found = self.look(make, 1 if words is None else 0)
                notes = [note for note in found if note["code"] == "filter_loads_exceed_reads"]
                self.assertEqual(len(notes), 1 if words else 0, found)
                for note in notes:
                    self.assertEqual(note["severity"], "note")
                    for word in words:
                        self.assertIn(word, note["what"] + note["to_do"])

    def test_a_log_that_cannot_be_read(self):
        database = self.removed(self.database(table=CACHED, **SMALL_CACHE), "LOG")
        os.mkfifo(database / "LOG")
        done = run(TOOL, "doctor", database)
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"unknown: {database}/LOG: ", done.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
