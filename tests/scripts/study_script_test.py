"""script/study writes documents where it is told to, and only then. Nothing is
built: the program is a stand-in.

Usage: study_script_test.py SOURCE
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv.pop(1))


class StudyScript(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = pathlib.Path(folder.name)
        (self.top / "script").mkdir()
        (self.top / "docs").mkdir()
        for name in ("study", "common.sh"):
            shutil.copy(SOURCE / "script" / name, self.top / "script")
        for name, text in (
            ("script/bootstrap", ""),
            ("bin/cmake", ""),
            ("build/release/db_bench_ext/study/study", 'echo "studied $*"'),
            ("docs/measurements.md", "as it was"),
        ):
            path = self.top / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"#!/bin/sh\n{text}\n")
            path.chmod(0o755)
        self.docs = (self.top / "docs" / "measurements.md").read_text()

    def run_script(self, *arguments):
        done = subprocess.run(
            [str(self.top / "script" / "study"), *arguments],
            env={"PATH": f"{self.top / 'bin'}:/usr/bin:/bin"},
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertEqual((self.top / "docs" / "measurements.md").read_text(), self.docs)
        self.assertEqual(len(list((self.top / "docs").iterdir())), 1)
        return done

    def test_bare_it_prints(self):
        done = self.run_script()
        self.assertEqual((done.returncode, done.stdout), (0, "studied \n"), done.stderr)

    def test_options_are_the_programs(self):
        done = self.run_script("rates", "--quick")
        self.assertEqual(done.stdout, "studied rates --quick\n", done.stderr)

    def test_a_report_goes_where_it_is_told_to(self):
        # The stand-in writes no figures, so nothing is drawn from them.
        done = self.run_script("--report", str(self.top / "elsewhere"))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("studied --json", done.stdout)
        self.assertTrue((self.top / "elsewhere").is_dir())


if __name__ == "__main__":
    unittest.main()
