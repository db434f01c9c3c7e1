"""deltabloom estimate from the outside.

Usage: estimate_cli_test.py DELTABLOOM
"""

import json
import subprocess
import sys
import unittest

TOOL = sys.argv[1]


def run(*arguments):
    return subprocess.run(
        [TOOL, "estimate", *arguments], capture_output=True, text=True, timeout=60
    )


class Estimate(unittest.TestCase):
    def test_text_and_json_agree(self):
        text = run("--keys", "1e9").stdout
        document = json.loads(run("--keys", "1G", "--json").stdout)
        self.assertEqual([level["runs"] for level in document["levels"]], [2, 1, 1, 1, 1])
        self.assertEqual(len(document["filters"]), 9)
        for row in document["filters"]:
            lines = [
                line
                for line in text.splitlines()
                if line.split()[:2] == [row["filter"], row["allocation"]]
            ]
            self.assertEqual(len(lines), 1, row)
            words = lines[0].split()
            reads = float(words[words.index("GiB") + 1])
            self.assertAlmostEqual(reads / row["absent_reads"], 1, delta=0.01)
            self.assertEqual(len(row["levels"]), 5)
        self.assertIn("{id=deltabloom;bits_per_key=10;layout=auto;allocation=levels}", text)

    def test_units(self):
        want = run("--keys", "64000000", "--entry-size", "1024", "--memory", "67108864")
        self.assertEqual(want.returncode, 0, want.stderr)
        self.assertEqual(run("--keys", "64M", "--entry-size", "1KiB", "--memory", "64MiB").stdout, want.stdout)

    def test_wrong_use_is_named(self):
        for arguments, words in {
            (): "--keys",
            ("--keys", "0"): "'0' is no amount from 1 to 1e+15",
            ("--keys", "nan"): "'nan' is no amount",
            ("--keys", "10X"): "use a number as in",
            ("--keys", "1M", "--size-ratio", "1"): "--size-ratio",
            ("--keys", "1M", "--levels", "0"): "--levels",
            ("--keys", "1M", "--bits-per-key", "0.4"): "--bits-per-key",
            ("--keys", "1M", "--bits-per-key", "9", "--memory", "1M"): "excludes",
            ("--keys", "1M", "--rate", "0"): "--rate",
            ("--keys", "1M", "more"): "more",
            ("--html", ""): "needs the name of a file",
        }.items():
            done = run(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(words, done.stderr)
            self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
