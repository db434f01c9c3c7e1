#!/usr/bin/env python3
"""The preloaded plugin in programs that run with another RocksDB than it was
built for, have one linked into them, or have none.

usage: preload_test.py PLUGIN.so POLICY.so LIBROCKSDB PROGRAM_FOLDER [unittest options]
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PLUGIN, POLICY, ROCKSDB, PROGRAMS = map(pathlib.Path, sys.argv[1:5])


def run(*command, preload=PLUGIN):
    environment = dict(os.environ, LD_PRELOAD=str(preload))
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


class PreloadTest(unittest.TestCase):
    def refused(self, program):
        """Runs a program as if nothing were preloaded, but for one line, which is returned."""
        done = run(program)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("ran with rocksdb_build_git_sha:other", done.stdout)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        start = f"deltabloom: no filters of Deltabloom in {program}: "
        self.assertTrue(done.stderr.startswith(start), done.stderr)
        return done

    def test_another_version(self):
        program = PROGRAMS / "rocksdb_preload_other"
        done = self.refused(program)
        self.assertIn("it runs with the RocksDB in ", done.stderr)
        self.assertIn("librocksdb.so.99, and this plugin was built for librocksdb.so", done.stderr)
        loaded = [line for line in done.stdout.splitlines() if line.startswith("loaded: ")]
        self.assertEqual([pathlib.Path(line).name for line in loaded], ["librocksdb.so.99"])

    def test_linked_into_the_program(self):
        for strip in (False, True):
            with self.subTest(strip), tempfile.TemporaryDirectory() as folder:
                program = pathlib.Path(folder) / "program"
                shutil.copy(PROGRAMS / "rocksdb_preload_static", program)
                if strip:
                    subprocess.run(["strip", program], check=True)
                done = self.refused(program)
                self.assertIn("it has a RocksDB linked into it", done.stderr)
                self.assertNotIn("loaded: ", done.stdout)

    def test_without_rocksdb_nothing_happens(self):
        done = run(PROGRAMS / "rocksdb_preload_none")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "ran with none\n", ""))

    def test_the_plugin_brings_no_rocksdb(self):
        needed = subprocess.run(["readelf", "-d", PLUGIN], capture_output=True, text=True, check=True)
        self.assertNotIn("rocksdb.so", needed.stdout)

    def test_rocksdb_has_the_mark(self):
        self.assertIn(b"rocksdb_build_git_sha:", ROCKSDB.read_bytes())
        self.assertNotIn(b"rocksdb_build_git_sha:", POLICY.read_bytes())

    def test_without_the_second_file(self):
        with tempfile.TemporaryDirectory() as folder:
            alone = pathlib.Path(shutil.copy(PLUGIN, folder))
            done = run(PROGRAMS / "rocksdb_preload_same", preload=alone)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertIn("install the plugin with both of its files", done.stderr)
            self.assertIn(POLICY.name, done.stderr)
            shutil.copy(POLICY, folder)
            self.assertEqual(run(PROGRAMS / "rocksdb_preload_same", preload=alone).stderr, "")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:])
