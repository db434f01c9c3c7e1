#!/usr/bin/env python3
"""The study program as a user meets it."""

import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from seed import seed_of_this_run  # noqa: E402

REPORT = sys.argv.pop()
STUDY = sys.argv.pop()
SEED = str(seed_of_this_run())


def study(*arguments):
    return subprocess.run([STUDY, *arguments], capture_output=True, text=True, timeout=300)


class Study(unittest.TestCase):
    def test_interrupt_leaves_nothing_behind(self):
        with tempfile.TemporaryDirectory() as folder:
            process = subprocess.Popen(
                [STUDY, "rates", "--rate-keys", "100000000", "--json", folder + "/out.json"],
                stderr=subprocess.PIPE, text=True)
            deadline = time.monotonic() + 60
            while not list(pathlib.Path(folder).iterdir()) and time.monotonic() < deadline:
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 130)
            self.assertEqual(errors, "study: interrupted, nothing was kept\n")
            self.assertEqual(list(pathlib.Path(folder).iterdir()), [])

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

    def test_help(self):
        done = study("--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("--keys", done.stdout)

    def test_own_keys(self):
        with tempfile.TemporaryDirectory() as folder:
            keys = pathlib.Path(folder, "keys")
            keys.write_bytes(b"\n".join(b"own\xff%d" % i for i in range(4000)))
            out = pathlib.Path(folder, "out.json")
            done = study("--keys", str(keys), "--repetitions", "1", "--seed", SEED, "--json", str(out))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn("\r", done.stderr)
            self.assertIn("4000 lines", done.stdout)
            data = json.loads(out.read_text())
            self.assertEqual({row["keys"] for row in data["hashes"]}, {2000})
            self.assertEqual(len(data["hashes"]), 19)
            self.assert_advice(done.stdout)
            self.assertTrue(all(row["missed_keys"] == 0 for row in data["space"]))

    def assert_advice(self, text):
        advice = text[text.index("\nFor these keys, in filters of 2,000:\n") :]
        self.assertTrue(text.endswith(advice))
        for words in (
            "- Fewest false positives at 10 bits per key: compact, ",
            "- Bits per key for 1 %: classic 9.",
            "- Bits per key for 0.1 %: classic ",
            "- MurMurHash2, the hash of classic, is even on these keys: ",
            "- Deltabloom64, the hash of local and compact, is even",
            "filter_policy=deltabloom:10:auto",
        ):
            self.assertIn(words, advice)

    def test_the_table_of_hashes_agrees_with_the_rates_beside_it(self):
        # So many keys that a classic filter takes a size that probes well.
        with tempfile.TemporaryDirectory() as folder:
            keys = pathlib.Path(folder, "keys")
            keys.write_text("\n".join(f"{SEED} {i}" for i in range(80000)))
            out = pathlib.Path(folder, "out.json")
            done = study("--keys", str(keys), "--repetitions", "1", "--json", str(out))
            self.assertEqual(done.returncode, 0, done.stderr)
            data = json.loads(out.read_text())
            by_hash = {row["hash"]: row["false_positive_rate"] for row in data["hashes"]}
            (classic,) = (
                row["false_positive_rate"]
                for row in data["space"]
                if row["layout"] == "classic" and row["bits_per_key"] == 10
            )
            self.assertEqual(by_hash["MurMurHash2"], classic)

    def test_the_advice_of_one_study_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            keys = pathlib.Path(folder, "keys")
            keys.write_text("\n".join(map(str, range(1000))))
            done = study("space", "--keys", str(keys))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn("MurMurHash2", done.stdout)
            self.assertIn("- A filter of 10 bits per key takes ", done.stdout)
            done = study("hashes", "--keys", str(keys), "--repetitions", "1")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("\nFor these keys:\n- MurMurHash2", done.stdout)
            self.assertNotIn("bits per key takes", done.stdout)

    def test_json_that_cannot_be_written(self):
        with tempfile.TemporaryDirectory() as folder:
            keys = pathlib.Path(folder, "keys")
            keys.write_text("\n".join(map(str, range(1000))))
            done = study("space", "--keys", str(keys), "--json", folder + "/no/out.json")
            self.assertEqual(done.returncode, 2)
            self.assertIn("out.json", done.stderr)
            done = study("space", "--keys", str(keys), "--json", "/dev/full")
            self.assertEqual(done.returncode, 1)
            self.assertIn("/dev/full", done.stderr)

    def test_report_from_a_quick_run(self):
        with tempfile.TemporaryDirectory() as folder:
            out = folder + "/out.json"
            done = study("--quick", "--seed", SEED, "--repetitions", "1", "--queries", "20000",
                         "--rate-keys", "2000", "--max-keys", "10000", "--json", out)
            self.assertEqual(done.returncode, 0, done.stderr)
            subprocess.run(["/usr/bin/python3", REPORT, out, "--docs", folder], check=True)
            text = pathlib.Path(folder, "studies.md").read_text()
            for words in ("Which hash?", "How many bits?", "What k?", "MurmurHash2"):
                self.assertIn(words, text)
            for image in ("rates", "growth", "hashes"):
                self.assertGreater(
                    pathlib.Path(folder, "images", f"study_{image}.png").stat().st_size, 10000
                )


if __name__ == "__main__":
    unittest.main()
