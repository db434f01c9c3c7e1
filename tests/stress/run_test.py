#!/usr/bin/env python3
"""script/test --long stress with a stand-in for db_stress: what it counts, and
what it takes for a failure."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import run as stress  # noqa: E402

FLAGS = sorted(set(stress.FLAGS).union(*(flags for _, _, flags in stress.CONFIGURATIONS.values())))
EVENT = (
    '2026/01/01-00:00:00 12 EVENT_LOG_v1 {"time_micros": 1, "event": "table_file_creation", '
    '"table_properties": {"filter_size": %d, "filter_policy": "%s"}}'
)
# The last dump of a process counts.
LOG = """
rocksdb.bloom.filter.useful COUNT : 1
rocksdb.bloom.filter.useful COUNT : %d
rocksdb.bloom.filter.full.positive COUNT : 20
rocksdb.bloom.filter.prefix.checked COUNT : 7
rocksdb.bloom.filter.prefix.useful COUNT : 3
rocksdb.number.keys.written COUNT : 100
rocksdb.number.db.seek COUNT : 5
rocksdb.db.get.micros P50 : 1.0 COUNT : 9
"""
STAND_IN = """#!/bin/bash
[ "$1" != --help ] || { printf '    -%%s (text)\\n' %(flags)s; exit 1; }
for flag in "$@"; do
  case $flag in
    --db=*) db=${flag#*=} ;;
    --ops_per_thread=*) operations=${flag#*=} ;;
  esac
done
[ ! -f "$db/LOG" ] || { mv "$db/LOG" "$db/LOG.old.$$"; %(recovery)s; }
cat >"$db/LOG" <<'END'
%(log)s
END
echo 'now Starting database operations'
[ "$operations" = 1000 ] || %(work)s
"""


class Stress(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.enterContext(mock.patch.object(tempfile, "tempdir", str(self.folder)))

    def output_of(
        self,
        *words,
        log=LOG % 10 + EVENT % (69, "deltabloom"),
        work="exec sleep 60",
        recovery="echo 'Crash-recovery verification passed :)'",
        flags=FLAGS,
    ):
        program = self.folder / "db_stress"
        program.write_text(
            STAND_IN % {"flags": " ".join(flags), "log": log, "work": work, "recovery": recovery}
        )
        program.chmod(0o755)
        command = [
            "stress",
            str(self.folder),
            "--kills",
            "2",
            "--seconds",
            "0.1",
            "--only",
            "local",
            *words,
        ]
        out, err = io.StringIO(), io.StringIO()
        with mock.patch.object(sys, "argv", command), contextlib.redirect_stdout(
            out
        ), contextlib.redirect_stderr(err):
            try:
                code = stress.main()
            except SystemExit as end:
                code = end.code
        return code, out.getvalue() + err.getvalue()

    def test_counts_over_all_processes(self):
        code, output = self.output_of()
        self.assertEqual(code, 0, output)
        # Three processes: kills, operations, filters, lookups, negatives.
        self.assertRegex(output, r"local +2 +315 +3 +111 +39 ")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["db_stress"])

    def failure(self, **how):
        code, output = self.output_of(**how)
        self.assertEqual(code, 1, output)
        self.assertIn("1 configurations, 1 failures", output)
        self.assertIn(f"database and outputs: {self.folder}", output)
        return output

    def test_filters_must_be_deltablooms(self):
        for event in ("", EVENT % (69, "bloomfilter"), EVENT % (0, "deltabloom")):
            self.assertIn("no filter of Deltabloom was built", self.failure(log=LOG % 10 + event))

    def test_filters_must_be_used(self):
        log = (LOG % 0).replace("prefix.useful COUNT : 3", "prefix.useful COUNT : 0")
        log = log.replace("useful COUNT : 1\n", "useful COUNT : 0\n")
        self.assertIn("they were not used", self.failure(log=log + EVENT % (69, "deltabloom")))

    def test_what_db_stress_finds(self):
        self.assertIn(
            "after 0 kills: ended before the kill, exit code 1", self.failure(work="exit 1")
        )
        self.assertIn("ended before the kill, exit code 0", self.failure(work="exit 0"))
        self.assertIn("ended before the kill, signal 6", self.failure(work="kill -6 $$"))
        found = self.failure(recovery="echo 'Verification failed for key 7'; exit 1")
        self.assertIn("after 1 kills", found)
        self.assertIn("    Verification failed for key 7", found)
        self.assertIn("did not compare the database", self.failure(recovery=":"))

    def test_usage(self):
        for words, flags, text in (
            (["--kills", "0"], FLAGS, "--kills must be at least 1"),
            (["--only", "nothing"], FLAGS, "no configuration 'nothing'"),
            ([], FLAGS[1:], f"it has no flag --{FLAGS[0]}"),
        ):
            code, output = self.output_of(*words, flags=flags)
            self.assertEqual(code, 2, output)
            self.assertIn(text, output)


if __name__ == "__main__":
    unittest.main()
