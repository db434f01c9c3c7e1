"""Every command on every kind of folder: its exit status and its last line. A
folder of a kind that a command cannot use is no reason to crash, and its message
says what to do.

Usage: folders_test.py DELTABLOOM PLUGIN [unittest options]
"""

import json
import re
import sys
import threading
import unittest

from databases import DatabaseTest, edit_options
from leveldb import make_leveldb
from preload import preloadable, run

TOOL, PLUGIN = sys.argv[1], preloadable(sys.argv[2])

COMMANDS = (
    ("doctor",),
    ("inspect",),
    ("verify",),
    ("estimate",),
    ("refilter", "--dry-run"),
    ("refilter",),
)

# What a command ends with: its exit status, and a part of the last line of standard output, or
# of standard error if there is none.
HEALTHY = {
    "doctor": (0, "no problem found"),
    "inspect": (0, "checksum ok: Deltabloom"),
    "verify": (0, "absent: 1999 keys"),
    "estimate": (0, "range filters: none"),
    "refilter --dry-run": (0, "1 table: 0 to be replaced, 1 without a gain"),
    "refilter": (0, "1 table: 0 replaced, 1 without a gain"),
}
NO_TABLES = {
    "inspect": (2, "expected table files (*.sst, *.ldb), found none"),
    "verify": (2, "expected table files (*.sst, *.ldb), found none"),
}
NO_DATABASE = {
    "doctor": (2, "to do: name the directory that has the file CURRENT"),
    **NO_TABLES,
    "estimate": (2, "CURRENT: cannot be opened: No such file or directory"),
    "refilter --dry-run": (1, "CURRENT: cannot be opened: No such file or directory"),
    "refilter": (1, "CURRENT: cannot be opened: No such file or directory"),
}
LEVELDB = {
    "doctor": (2, "uses those filters whose name, as deltabloom inspect shows it"),
    "inspect": (0, "checksum ok: filter block, "),
    "verify": (0, "absent: 1993 keys"),
    "estimate": (2, "has tables of LevelDB, and this command reads databases of RocksDB"),
    "refilter --dry-run": (1, "if it is LevelDB's, its filters stay"),
    "refilter": (1, "if it is LevelDB's, its filters stay"),
}
NOT_A_TABLE = (2, "expected the magic number of a LevelDB table or of a RocksDB block-based table")
OTHER_POLICY = (1, "no column family was last opened with Deltabloom's policy")
UNREADABLE_MANIFEST = (1, "CURRENT: expected at most 4096 bytes, found ")


class Folders(DatabaseTest):
    plugin = PLUGIN

    def new(self, name):
        folder = self.folder / name
        folder.mkdir()
        return folder

    def leveldb(self, name, *details, **more):
        return make_leveldb(self.folder / name, *details, **more)

    def two_families(self, name):
        database = self.folder / name
        self.fill(
            database, "deltabloom", flags=["--num_column_families=2", "--num_hot_column_families=1"]
        )
        return database

    def dropped_family(self):
        database = self.two_families("dropped")
        done = run("ldb", f"--db={database}", "drop_column_family", "column_family_name_000001")
        self.assertEqual(done.returncode, 0, done.stderr)
        edit_options(database, "filter_policy=nullptr", "filter_policy=deltabloom")
        return database

    def plain_tables(self):
        database = self.folder / "plain tables"
        options = self.folder / "plain.options"
        options.write_text(
            "[Version]\n  rocksdb_version=7.8.3\n  options_file_version=1.1\n"
            "[DBOptions]\n  create_if_missing=true\n  allow_mmap_reads=true\n"
            '[CFOptions "default"]\n  compression=kNoCompression\n'
            "  prefix_extractor=rocksdb.FixedPrefix.8\n  table_factory=PlainTable\n"
            '[TableOptions/PlainTable "default"]\n'
        )
        done = run(
            "db_bench",
            f"--options_file={options}",
            f"--db={database}",
            "--num=2000",
            "--benchmarks=fillseq,flush",
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return database

    def encrypted(self):
        """As RocksDB's EncryptedEnv leaves files: 4096 bytes first, and nothing is
        readable."""
        database = self.database()
        for file in database.iterdir():
            if file.name != "LOCK":
                text = bytes(4096) + file.read_bytes()
                file.write_bytes(bytes(byte ^ 0xAA for byte in text))
        return database

    def without(self, database, name):
        for file in database.glob(name):
            file.unlink()
        return database

    def of_a_later_version(self):
        database = self.database()
        edit_options(database, "rocksdb_version=.*", "rocksdb_version=99.1.0")
        edit_options(database, r"\[DBOptions\]", r"\g<0>\n  option_of_later=1")
        return database

    def with_file(self, name, file, text):
        folder = self.new(name)
        (folder / file).write_text(text)
        return folder

    # What it is; the folder; for each command what it ends with.
    FOLDERS = [
        ("LevelDB, with filters", lambda t: t.leveldb("leveldb", 10, 2000), LEVELDB),
        (
            "LevelDB, without filters",
            lambda t: t.leveldb("leveldb without filters", 0, 2000),
            {
                **LEVELDB,
                "doctor": (1, "uses those filters whose name, as deltabloom inspect shows it"),
                "inspect": (0, "LevelDB table, format_version 0, checksums CRC32c, no filter"),
                "verify": (0, "LevelDB table, no filter"),
            },
        ),
        (
            "LevelDB, with only a log",
            lambda t: t.leveldb("leveldb log", 10, 3, compact=False),
            {**LEVELDB, **NO_TABLES, "estimate": (2, "has no tables yet: flush the database")},
        ),
        ("RocksDB", lambda t: t.database(), HEALTHY),
        (
            "RocksDB, with only a WAL",
            lambda t: t.database(benchmarks="fillseq", num=3),
            {
                **HEALTHY,
                **NO_TABLES,
                "estimate": (2, "has no tables yet: flush the database"),
                "refilter --dry-run": (0, "0 tables: 0 to be replaced"),
                "refilter": (0, "0 tables: 0 replaced"),
            },
        ),
        (
            "two column families",
            lambda t: t.two_families("two families"),
            {
                **HEALTHY,
                "inspect": (0, "all filters: "),
                "verify": (0, "2 tables: 2 without a false negative, 0 with false negatives"),
                "refilter --dry-run": (0, "2 tables: 0 to be replaced, 2 without a gain"),
                "refilter": (0, "2 tables: 0 replaced, 2 without a gain"),
            },
        ),
        ("a dropped column family", dropped_family, {**HEALTHY, "verify": (0, "absent: 998 keys")}),
        ("blob files", lambda t: t.database(family="enable_blob_files=true"), HEALTHY),
        (
            "PlainTable",
            plain_tables,
            {
                "doctor": (0, "its tables are of PlainTable, which have no such filters"),
                "inspect": (2, "RocksDB's plain table"),
                "verify": (2, "RocksDB's plain table"),
                "estimate": (2, "has tables of PlainTable or CuckooTable only"),
                "refilter --dry-run": OTHER_POLICY,
                "refilter": OTHER_POLICY,
            },
        ),
        (
            "encrypted",
            encrypted,
            {
                "doctor": (2, "to do: see the files that are encrypted, or not RocksDB's"),
                "inspect": NOT_A_TABLE,
                "verify": NOT_A_TABLE,
                "estimate": (2, "line 1: expected NAME=VALUE or [SECTION], found neither"),
                "refilter --dry-run": UNREADABLE_MANIFEST,
                "refilter": UNREADABLE_MANIFEST,
            },
        ),
        (
            "no OPTIONS file",
            lambda t: t.without(t.database(), "OPTIONS-*"),
            {
                **HEALTHY,
                "doctor": (2, "to do: pass the directory that has the file CURRENT"),
                "refilter --dry-run": (1, "has no OPTIONS file: use --filter"),
                "refilter": (1, "has no OPTIONS file: use --filter"),
            },
        ),
        (
            "OPTIONS of a later RocksDB",
            of_a_later_version,
            {
                **HEALTHY,
                "doctor": (0, "to do: what is said here may be wrong: take a Deltabloom for it"),
                "refilter --dry-run": (1, "was last opened by RocksDB 99.1.0"),
                "refilter": (1, "was last opened by RocksDB 99.1.0"),
            },
        ),
        (
            "a blank and a quote in its name",
            lambda t: t.database().rename(t.folder / "a b'c"),
            HEALTHY,
        ),
        ("empty", lambda t: t.new("empty"), NO_DATABASE),
        ("other files", lambda t: t.with_file("text", "a.txt", "hello\n"), NO_DATABASE),
        (
            "a file that is called .sst",
            lambda t: t.with_file("called", "000001.sst", "hello\n" * 100),
            {**NO_DATABASE, "inspect": NOT_A_TABLE, "verify": NOT_A_TABLE},
        ),
    ]

    def ends(self, command, folder, expected, *before):
        done = run(*before, TOOL, *command, folder)
        text = done.stdout if done.stdout.strip() else done.stderr
        status, words = expected[" ".join(command)]
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertIn(words, text.rstrip("\n").split("\n")[-1])

    def test_every_command_on_every_kind_of_folder(self):
        for name, make, expected in self.FOLDERS:
            folder = make(self)
            for command in COMMANDS:
                with self.subTest(f"{' '.join(command)}: {name}"):
                    self.ends(command, folder, expected)

    def test_read_only_mount(self):
        """Only refilter writes, and says that it cannot."""
        database = self.database()
        mounted = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
        mounted += ['mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"']
        mounted += ["sh", database]
        if run(*mounted, "true").returncode != 0:
            self.skipTest("no mount can be made here")
        expected = {**HEALTHY, "refilter": (1, "is open, or cannot be locked: ")}
        for command in COMMANDS:
            with self.subTest(command):
                self.ends(command, database, expected, *mounted)

    def test_tables_that_are_being_written(self):
        """A running database writes tables, which are no reason for an alarm."""
        database = self.database()
        growing = database / "000999.sst"
        stop = threading.Event()

        def grow():
            with growing.open("ab", buffering=0) as file:
                while not stop.wait(0.01):
                    file.write(b"a block of a table, of which the footer is still to come" * 10)

        thread = threading.Thread(target=grow)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(stop.set)
        while not growing.exists() or growing.stat().st_size < 1000:
            pass
        done = run(TOOL, "inspect", database)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertIn(" 0 unreadable, 1 being written, 0 gone", done.stdout)
        self.assertIn(f"  being written: {growing}\n", done.stdout)
        verified = run(TOOL, "verify", database)
        self.assertEqual((verified.returncode, verified.stderr), (0, ""), verified.stdout)
        stop.set()
        thread.join()
        self.assertEqual(run(TOOL, "inspect", database).returncode, 2)

    def test_folders_that_are_none(self):
        for command in COMMANDS:
            for path in (self.folder / "missing", __file__):
                with self.subTest(f"{command} {path}"):
                    done = run(TOOL, *command, path)
                    self.assertEqual(done.returncode, 2)
                    self.assertEqual(done.stdout, "")
                    self.assertEqual(len(done.stderr.splitlines()), 1)
                    self.assertIn(str(path), done.stderr)

    def test_leveldb_tables_and_their_filters(self):
        """What doctor knows of LevelDB is in the tables."""
        database = self.leveldb("partly", 10, 2000)
        findings = self.findings(database, 2)
        self.assertEqual(set(findings), {"no_options_file"})
        self.assertIn("a database of LevelDB", findings["no_options_file"]["what"])
        self.leveldb("partly", 0, 2500)
        findings = self.findings(database, 1)
        self.assertEqual(set(findings), {"no_options_file", "tables_without_filter"})
        advice = findings["tables_without_filter"]["to_do"]
        self.assertIn("CompactRange(nullptr, nullptr)", advice)
        self.assertNotIn("ldb", re.sub("leveldb", "", advice))
        # The advice is right: the policy and a compaction give them filters.
        self.leveldb("partly", 10, 3000)
        self.assertEqual(set(self.findings(database, 2)), {"no_options_file"})

    def findings(self, database, status):
        done = run(TOOL, "doctor", "--json", database)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return {finding["code"]: finding for finding in json.loads(done.stdout)["findings"]}


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
