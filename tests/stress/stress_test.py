#!/usr/bin/env python3
"""A smoke test of script/test --long stress, with a stand-in for db_stress: a run of
three processes, and what they counted."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import run as stress  # noqa: E402

FLAGS = set(stress.FLAGS).union(*(flags for _, _, flags in stress.CONFIGURATIONS.values()))
# The program reads the last dump of a process.
LOG = """
rocksdb.bloom.filter.useful COUNT : 1
rocksdb.bloom.filter.useful COUNT : 10
rocksdb.bloom.filter.full.positive COUNT : 20
rocksdb.bloom.filter.prefix.checked COUNT : 7
rocksdb.bloom.filter.prefix.useful COUNT : 3
rocksdb.number.keys.written COUNT : 100
rocksdb.number.db.seek COUNT : 5
2026/01/01-00:00:00 12 EVENT_LOG_v1 {"event": "table_file_creation", \
"table_properties": {"filter_size": 69, "filter_policy": "deltabloom"}}
"""
STAND_IN = f"""#!/bin/bash
[ "$1" != --help ] || {{ printf '    -%s (text)\\n' {' '.join(sorted(FLAGS))}; exit 1; }}
for flag in "$@"; do
  case $flag in
    --db=*) db=${{flag#*=}} ;;
    --ops_per_thread=*) operations=${{flag#*=}} ;;
  esac
done
if [ -f "$db/LOG" ]; then
  mv "$db/LOG" "$db/LOG.old.$$"
  echo '{stress.VERIFIED} :)'
fi
cat >"$db/LOG" <<'END'
{LOG}
END
echo 'now {stress.STARTED}'
[ "$operations" = 1000 ] || exec sleep 600
"""


class Stress(unittest.TestCase):
    def test_kills_and_counts(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        program = folder / "db_stress"
        program.write_text(STAND_IN, encoding="utf-8")
        program.chmod(0o755)
        done = subprocess.run(
            [sys.executable, HERE / "run.py", program, "--only", "local"]
            + ["--kills", "2", "--seconds", "0.1"],
            capture_output=True,
            text=True,
            env={"PATH": "/usr/bin:/bin", "TMPDIR": str(folder)},
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        # Three processes: kills, operations, filters, lookups, negatives.
        self.assertRegex(done.stdout, r"local +2 +315 +3 +111 +39 ")
        self.assertEqual([path.name for path in folder.iterdir()], ["db_stress"])


if __name__ == "__main__":
    unittest.main()
