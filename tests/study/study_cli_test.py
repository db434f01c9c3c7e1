#!/usr/bin/env python3
"""A smoke test of the study program: all its parts, and the pictures from them.

Usage: study_cli_test.py STUDY PLOTS
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from support import assert_script_takes_options_of, seed_of_this_run  # noqa: E402

PLOTS = sys.argv.pop()
STUDY = sys.argv.pop()
SEED = str(seed_of_this_run())


class Study(unittest.TestCase):
    def test_the_script_takes_all_options(self):
        assert_script_takes_options_of(self, "study", STUDY)

    def test_figures_from_a_quick_run(self):
        sizes = "--repetitions 1 --queries 20000 --rate-keys 2000 --max-keys 10000"
        done = subprocess.run(
            [STUDY, "--quick", "--seed", SEED, *sizes.split(), "--json"],
            capture_output=True,
            text=True,
            timeout=900,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(len({row["hash"] for row in json.loads(done.stdout)["hashes"]}), 19)
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(
                ["/usr/bin/python3", PLOTS, folder], input=done.stdout, text=True, check=True
            )
            for image in ("rates", "growth", "hashes"):
                self.assertGreater(pathlib.Path(folder, f"study_{image}.png").stat().st_size, 10000)


if __name__ == "__main__":
    unittest.main()
