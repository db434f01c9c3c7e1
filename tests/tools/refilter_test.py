"""deltabloom refilter where something around it is odd: limits, attributes of
files, one table that cannot be replaced.

Usage: refilter_test.py DELTABLOOM PLUGIN [unittest options]
"""

import errno
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

from databases import DatabaseTest, edit_options
from preload import preloadable, run

TOOL, PLUGIN = sys.argv[1], preloadable(sys.argv[2])


def refilter(database, *arguments):
    return run(TOOL, "refilter", *arguments, database)


class Refilter(DatabaseTest):
    plugin = PLUGIN

    def two_tables(self):
        database = self.database("bloomfilter:10", benchmarks="fillseq,compact,overwrite,flush")
        edit_options(database, "filter_policy=.*", "filter_policy=deltabloom:10")
        tables = sorted(database.glob("*.sst"))
        self.assertEqual(len(tables), 2)
        return database, tables

    def test_limit_of_the_size_of_files(self):
        database, tables = self.two_tables()
        before = [table.read_bytes() for table in tables]
        done = run("sh", "-c", 'ulimit -f 20; exec "$@"', "sh", TOOL, "refilter", database)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        for table in tables:
            self.assertIn(f"{table}: its copy: cannot be written: File too large\n", done.stderr)
        self.assertEqual([table.read_bytes() for table in tables], before)
        self.assertEqual(list(database.glob("*.dbtmp")), [])
        # A program that "run" starts is limited in the same way.
        limited = run(
            "sh",
            "-c",
            'ulimit -f 0; exec "$@"',
            "sh",
            TOOL,
            "run",
            "sh",
            "-c",
            "echo > file",
            cwd=database,
        )
        self.assertNotEqual(limited.returncode, 0)

    def many_tables(self):
        """So many that the lines on them do not fit into a pipe."""
        family = "write_buffer_size=65536\n  disable_auto_compactions=true\n  "
        family += "level0_slowdown_writes_trigger=-1\n  level0_stop_writes_trigger=10000"
        database = self.database("bloomfilter:10", family=family, num=60000)
        edit_options(database, "filter_policy=.*", "filter_policy=deltabloom:10")
        self.assertGreater(len(list(database.glob("*.sst"))), 60)
        return database

    def interrupted(self, database, *signals):
        """The program waits for its reader when the signals come."""
        program = subprocess.Popen(
            [TOOL, "refilter", database],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            pipesize=4096,
        )
        line = program.stdout.readline()
        self.assertIn("RocksDB Bloom", line)
        for number in signals:
            program.send_signal(number)
        out, err = program.communicate(timeout=900)
        return program.returncode, out, err

    def test_interrupt_is_answered(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number):
                database = self.many_tables()
                status, out, err = self.interrupted(database, number)
                self.assertEqual(status, 1)
                self.assertIn("deltabloom refilter: interrupted: ", err)
                self.assertEqual(len(err.split()), len(err.replace("\n\n", "\n").split()))
                self.assertTrue(out.endswith("; stopped by a signal\n"), out[-300:])
                self.assertEqual(list(database.glob("*.dbtmp")), [])
                done = refilter(database)
                self.assertEqual(done.returncode, 0)
                self.assertIn(" 0 failed, ", done.stdout)
                verified = run(TOOL, "verify", database)
                self.assertEqual(verified.returncode, 0, verified.stdout[-300:])

    def test_keep_old_on_another_file_system(self):
        other = pathlib.Path("/dev/shm")
        database, tables = self.two_tables()
        if not other.is_dir() or other.stat().st_dev == database.stat().st_dev:
            self.skipTest("there is no other file system")
        before = [table.read_bytes() for table in tables]
        with tempfile.TemporaryDirectory(dir=other) as keep:
            done = refilter(database, "--keep-old", keep)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(f"{keep}: tables of {database} cannot be linked there: ", done.stderr)
            self.assertIn("Name a directory of the same file system", done.stderr)
            below = pathlib.Path(keep, "not", "there")
            self.assertEqual(refilter(database, "--keep-old", below).returncode, 1)
            self.assertEqual(os.listdir(keep), [])
        self.assertEqual([table.read_bytes() for table in tables], before)
        keep = database / "old"
        done = refilter(database, "--keep-old", keep)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(os.listdir(keep)), [table.name for table in tables])

    def test_what_estimate_promises(self):
        """estimate names refilter where refilter --dry-run replaces tables, with the
        like reads; and a command that a shell can run."""
        partitions = "partition_filters=true\n  index_type=kTwoLevelIndexSearch\n  "
        for policy in ("bloomfilter:10", "ribbonfilter:10", "ribbonfilter:14", "bloomfilter:6"):
            for size in (0, 300, 512, 1000, 4096):
                table = partitions + f"metadata_block_size={size}" if size else ""
                with self.subTest(policy=policy, size=size):
                    database = self.database(policy, num=20000, table=table)
                    edit_options(database, "filter_policy=.*", "filter_policy=deltabloom:10")
                    database = database.rename(self.folder / f"a 'quoted' {policy} {size}")
                    (family,) = json.loads(run(TOOL, "estimate", "--json", database).stdout)[
                        "column_families"
                    ]
                    dry = json.loads(refilter(database, "--dry-run", "--json").stdout)
                    planned = dry["summary"]["planned"]
                    if family["refilter"] is None:
                        if planned == 1:  # estimate knows the mean of the partitions only
                            text = run(TOOL, "inspect", database).stdout
                            sizes = [int(one) for one in re.findall(r"offset \d+, (\d+) b", text)]
                            self.assertGreater(max(sizes), 4 * min(sizes))
                        continue
                    self.assertEqual(planned, 1, dry)
                    (reads,) = (one["reads_after"] for one in dry["column_families"])
                    # RocksDB 9.10 makes large and small partitions by turns.
                    estimated = family["refilter"]["absent_reads"]
                    self.assertTrue(0.3 < estimated / reads < 2, (estimated, reads))
                    text = run(TOOL, "estimate", database).stdout
                    (command,) = re.findall(r"deltabloom (refilter .*): [\d.]+ reads", text)
                    done = run("sh", "-c", f"'{TOOL}' {command}")
                    self.assertEqual(done.returncode, 0, done.stderr)

    def test_attributes_of_a_table_stay(self):
        database, tables = self.two_tables()
        # Read and write for the owner, read for user 1 and the mask; then the
        # default of the directory, which tables without an ACL must not get.
        entries = [
            (1, 6, 2**32 - 1),
            (2, 4, 1),
            (4, 0, 2**32 - 1),
            (16, 4, 2**32 - 1),
            (32, 0, 2**32 - 1),
        ]
        acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
        wanted = {"user.deltabloom": b"\x00any", "system.posix_acl_access": acl}
        try:
            for name, value in wanted.items():
                os.setxattr(tables[0], name, value)
            os.setxattr(database, "system.posix_acl_default", acl)
        except OSError as error:
            if error.errno != errno.ENOTSUP:
                raise
            self.skipTest("the file system has no such attributes")
        modes = [table.stat().st_mode for table in tables]
        done = refilter(database)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("2 tables: 2 replaced", done.stdout)
        for name, value in wanted.items():
            self.assertEqual(os.getxattr(tables[0], name), value)
        self.assertEqual(os.listxattr(tables[1]), [])
        self.assertEqual([table.stat().st_mode for table in tables], modes)

    def test_one_table_that_cannot_be_replaced(self):
        database, tables = self.two_tables()
        kept = self.folder / "kept"
        kept.mkdir(exist_ok=True)
        (kept / tables[0].name).write_text("of another database")
        done = refilter(database, "--keep-old", kept)
        self.assertEqual(done.returncode, 1)
        self.assertIn(
            "2 tables: 1 replaced, 0 without a gain, 0 left as they are, 1 failed", done.stdout
        )
        self.assertNotIn("stopped", done.stdout)
        self.assertEqual(
            done.stderr,
            f"{tables[0]}: {kept / tables[0].name}: cannot be linked to the table: File exists\n",
        )
        shutil.rmtree(kept)

    def test_a_line_names_a_table_once(self):
        database, tables = self.two_tables()
        table = tables[0].read_bytes()
        tables[0].write_bytes(table[:100] + b"?" + table[101:])
        done = refilter(database)
        self.assertEqual(done.returncode, 1)
        (line,) = done.stderr.splitlines()
        self.assertTrue(line.startswith(f"{tables[0]}: its copy: offset 0: "), line)
        self.assertEqual(line.count(tables[0].name), 1)
        tables[0].write_bytes(table[:-1])
        (line,) = refilter(database).stderr.splitlines()
        self.assertRegex(line, rf"^{tables[0]}: expected \d+ bytes by the MANIFEST, found \d+$")

    def test_filters_that_say_nothing_or_two_things(self):
        database, _ = self.two_tables()
        for uri, words in [
            ("", "expected a policy, found none"),
            (" ", "expected a policy, found none"),
            (
                "id=deltabloom;bits_per_key=10;bits_per_key=20",
                "option 'bits_per_key' is given twice: use it once",
            ),
        ]:
            done = refilter(
                database, f"--filter={uri}" if uri else "--filter", *([] if uri else [""])
            )
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(words, done.stderr)

    def test_errors_of_the_file_system_are_sentences(self):
        database, tables = self.two_tables()
        (self.folder / "file").touch()
        done = refilter(database, "--keep-old", self.folder / "file" / "below")
        self.assertEqual(done.returncode, 1)
        self.assertNotIn("filesystem error", done.stderr)
        self.assertIn("Not a directory", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
