#!/usr/bin/env python3
"""The study program as a user meets it."""

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


def study(*arguments):
    return subprocess.run([STUDY, *arguments], capture_output=True, text=True, timeout=900)


class Study(unittest.TestCase):
    def test_the_script_takes_all_options(self):
        assert_script_takes_options_of(self, "study", STUDY)

    def test_bad_use_is_one_line_and_exit_2(self):
        for arguments in (
            ["--no-such-option"],
            ["colours"],
            ["--repetitions", "0"],
            ["--rate-keys", "ten"],
            ["--keys", "/no/such/file"],
            ["rates", "--keys", __file__],
            ["sizes", "--keys", __file__],
        ):
            done = study(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertTrue(done.stderr.startswith("study: "), done.stderr)

    def test_own_keys(self):
        with tempfile.TemporaryDirectory() as folder:
            keys = pathlib.Path(folder, "keys")
            keys.write_bytes(b"\n".join(b"own\xff%d" % i for i in range(4000)))
            out = pathlib.Path(folder, "out.json")
            words = ("--keys", str(keys), "--repetitions", "1", "--seed", SEED, "--json")
            done = study(*words, str(out))
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("Deltabloom64", done.stdout)
            data = json.loads(out.read_text())
            self.assertEqual({row["keys"] for row in data["hashes"]}, {2000})
            self.assertEqual(len(data["hashes"]), 19)
            self.assertEqual(set(json.loads(study(*words).stdout)), set(data))

    def test_the_hash_of_classic_has_the_rate_of_classic(self):
        # At 10,000 keys a classic filter and the study's take the same size.
        done = study("rates", "--quick", "--rate-keys", "10000", "--seed", SEED, "--json")
        (rate,) = (
            row
            for row in json.loads(done.stdout)["growth"]
            if (row["layout"], row["keys"]) == ("classic", 10000)
        )
        with tempfile.TemporaryDirectory() as folder:
            keys = pathlib.Path(folder, "keys")
            keys.write_text("\n".join(f"{SEED} {i}" for i in range(20000)))
            done = study("hashes", "--keys", str(keys), "--repetitions", "1", "--json")
        (own,) = (row for row in json.loads(done.stdout)["hashes"] if row["hash"] == "MurMurHash2")
        difference = abs(own["false_positive_rate"] - rate["false_positive_rate"])
        # Half a 95 % interval is two standard deviations: five of them here.
        self.assertLess(difference, 2.5 * (own["error"] + rate["error"]))

    def test_figures_from_a_quick_run(self):
        with tempfile.TemporaryDirectory() as folder:
            done = study(
                "--quick",
                "--seed",
                SEED,
                "--repetitions",
                "1",
                "--queries",
                "20000",
                "--rate-keys",
                "2000",
                "--max-keys",
                "10000",
                "--json",
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            subprocess.run(
                ["/usr/bin/python3", PLOTS, folder], input=done.stdout, text=True, check=True
            )
            for image in ("rates", "growth", "hashes"):
                self.assertGreater(pathlib.Path(folder, f"study_{image}.png").stat().st_size, 10000)


if __name__ == "__main__":
    unittest.main()
