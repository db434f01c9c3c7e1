"""One failing call at a time, each of them: doctor, estimate, inspect, verify and
refilter end with exit status 0 only with the answer, and the tables, of a run without a
failure.

Usage: fault_test.py DELTABLOOM PLUGIN FAIL_CALL [unittest options]
"""

import shutil
import sys
import unittest

from databases import DatabaseTest, edit_options
from preload import preloadable, run

TOOL, PLUGIN, FAIL_CALL = sys.argv[1], preloadable(sys.argv[2]), preloadable(sys.argv[3])


def contents(database):
    """Returns the files that the command may change; a lock has no bytes."""
    return {
        file.name: file.read_bytes()
        for file in database.iterdir()
        if file.is_file() and file.name != "LOCK"
    }


class Faults(DatabaseTest):
    plugin = PLUGIN

    def setUp(self):
        # Two tables, in two levels; few calls, so that all can be tried.
        self.original = self.database(
            "bloomfilter:10", benchmarks="fillseq,compact,overwrite,flush", num=300
        )
        edit_options(self.original, "filter_policy=.*", "filter_policy=deltabloom:10")
        # So that doctor reads the LOG.
        edit_options(
            self.original,
            "cache_index_and_filter_blocks=false",
            "cache_index_and_filter_blocks=true",
        )
        self.tables = {file.name for file in self.original.glob("*.sst")}
        self.assertEqual(len(self.tables), 2)
        self.path = self.folder / "faults"
        self.log = self.folder / "failed"

    def once(self, call, *arguments):
        """Exit status, output, files, and the name of the call that failed."""
        shutil.rmtree(self.path, ignore_errors=True)
        shutil.copytree(self.original, self.path)
        self.log.unlink(missing_ok=True)
        done = run(
            TOOL,
            *arguments,
            self.path,
            preload=FAIL_CALL,
            FAIL_CALL=str(call),
            FAIL_LOG=str(self.log),
        )
        failed = self.log.read_text() if self.log.exists() else None
        return done, contents(self.path), failed

    def check(self, *arguments, least):
        """Returns the calls that failed, with their exit statuses."""
        good, good_files, failed = self.once(0, *arguments)
        self.assertEqual((good.returncode, good.stderr, failed), (0, "", None), good.stdout)
        old_files = contents(self.original)
        seen = {}
        for call in range(1, 5000):
            done, files, failed = self.once(call, *arguments)
            if failed is None:
                self.assertGreater(call, least)
                break
            with self.subTest(f"{arguments[0]}: call {call}, {failed}"):
                self.assertIn(done.returncode, (0, 1, 2), done.stderr)
                seen.setdefault(failed, set()).add(done.returncode)
                if done.returncode == 0:
                    self.assertEqual(done.stdout, good.stdout)
                    self.assertEqual(files, good_files)
                else:
                    # Standard output may be what failed; doctor's findings are there.
                    self.assertTrue(done.stderr or arguments[0] == "doctor", done.stdout)
                    self.assertNotIn("filesystem error", done.stderr)
                    self.assertEqual(done.stderr.count("\n"), len(done.stderr.splitlines()))
                # A table is the old one or the new one.
                for name in self.tables:
                    self.assertIn(files[name], (old_files[name], good_files[name]))
        return seen

    def test_standard_output(self):
        """Its bytes are written within the C library."""
        for command in ("doctor", "estimate", "inspect", "verify", "refilter"):
            done = run("sh", "-c", 'exec "$@" > /dev/full', "sh", TOOL, command, self.original)
            self.assertNotEqual(done.returncode, 0, command)
            self.assertIn(
                "standard output: cannot be written: No space left on device", done.stderr
            )

    def test_doctor(self):
        self.check("doctor", least=30)

    def test_estimate(self):
        self.check("estimate", least=30)

    def test_inspect(self):
        self.check("inspect", least=20)

    def test_verify(self):
        self.check("verify", least=20)

    def test_refilter(self):
        seen = self.check("refilter", least=60)
        for call in ("fsync", "rename"):
            self.assertEqual(seen[call], {1}, seen)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
