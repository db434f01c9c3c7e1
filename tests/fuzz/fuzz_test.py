#!/usr/bin/env python3
"""A smoke test of script/fuzz, with a program in the place of a harness: it keeps
what the harness finds, names the command that repeats it, and counts."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent

# Prints what libFuzzer of clang 14 prints. It finds something each time.
HARNESS = """#!/usr/bin/python3
import pathlib, sys
options = dict(a[1:].split("=", 1) for a in sys.argv[1:] if a.startswith("-"))
assert options["timeout"] == "1" and options["rss_limit_mb"] == "512", options
findings = pathlib.Path(options["artifact_prefix"])
(findings / f"crash-{len(list(findings.iterdir()))}").write_text("boo")
print("==1== ERROR: libFuzzer: deadly signal")
print("stat::number_of_executed_units: 10")
sys.exit(77)
"""


class Fuzz(unittest.TestCase):
    def test_findings_are_kept_and_counted(self):
        top = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        harness = top / "build/tests/fuzz/sst_fuzz"
        harness.parent.mkdir(parents=True)
        harness.write_text(HARNESS, encoding="utf-8")
        harness.chmod(0o755)
        done = subprocess.run(
            [sys.executable, HERE / "fuzz.py", "--build", top / "build", "--work", top / "work"]
            + ["--seconds", "600", "sst_fuzz"],
            capture_output=True,
            text=True,
        )
        # The run ends early, as the findings of a whole run would fill a disk.
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stdout, r"\nsst_fuzz +200 .* 20\n")
        finding = top / "work/findings/sst_fuzz/crash-0"
        self.assertEqual(finding.read_text(), "boo")
        self.assertIn(f"sst_fuzz: replay with\n  {harness} {finding}\n", done.stdout)
        self.assertIn("deadly signal", finding.with_suffix(".log").read_text())
        total = json.loads((top / "work/total.json").read_text(encoding="utf-8"))
        counts = total["sst_fuzz"]["address,undefined"]
        self.assertEqual((counts["executions"], counts["findings"]), (200, 20))


if __name__ == "__main__":
    unittest.main()
