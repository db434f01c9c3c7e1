#!/usr/bin/env python3
"""The file that receives the statistics of a program under LD_PRELOAD: the
distribution's db_bench, which knows nothing of it.

usage: statistics_file_test.py PLUGIN.so [unittest options]
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

PLUGIN = os.path.abspath(sys.argv[1])
KEYS = 20000

OPTIONS = """
[Version]
  rocksdb_version=7.8.3
  options_file_version=1.1
[DBOptions]
  create_if_missing=true
[CFOptions "default"]
  compression=kNoCompression
[TableOptions/BlockBasedTable "default"]
  filter_policy=%s
"""

LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(
    r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(" + LABEL + r"(?:," + LABEL + r")*)\})? ([0-9.e+-]+)"
)


def parse_prometheus(text):
    """{name: {labels: value}}, after the text format 0.0.4, strictly: HELP and
    TYPE once and in front, one group of lines for each metric, no sample twice,
    counters that end in _total, and a line feed at the end."""
    assert text.endswith("\n")
    metrics = {}
    name = kind = None
    expecting = "HELP"
    for line in text[:-1].split("\n"):
        if line.startswith("# "):
            _, word, about, rest = line.split(" ", 3)
            if word == "HELP":
                assert about not in metrics, f"{about} twice"
                assert rest and rest.endswith("."), line
                name, expecting = about, "TYPE"
            else:
                assert (word, about, expecting) == ("TYPE", name, "TYPE"), line
                kind, expecting = rest, "sample"
                assert kind in ("counter", "gauge"), line
                assert (kind == "counter") == name.endswith("_total"), line
                metrics[name] = {}
            continue
        match = SAMPLE.fullmatch(line)
        assert match and expecting == "sample" and match[1] == name, line
        labels = dict(re.findall(r'(\w+)="([^"]*)"', match[2]))
        key = tuple(sorted(labels.items()))
        assert key not in metrics[name], f"{line} twice"
        metrics[name][key] = float(match[3])
    return metrics


class StatisticsFile(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def bench(self, name, *options, policy="deltabloom:10:local", seconds=None, num=KEYS):
        ini = self.folder / "options.ini"
        ini.write_text(OPTIONS % policy)
        environment = dict(os.environ, LD_PRELOAD=PLUGIN, DELTABLOOM_STATISTICS=str(name))
        if seconds is not None:
            environment["DELTABLOOM_STATISTICS_SECONDS"] = seconds
        result = subprocess.run(
            [
                "db_bench", f"--options_file={ini}", f"--db={self.folder / 'db'}",
                "--benchmarks=fillseq,flush,readmissing,readrandom", f"--num={num}",
                "--seed=1", "--cache_size=8388608", "--statistics", *options,
            ],
            env=environment, capture_output=True, text=True, timeout=120, check=False,
            cwd=self.folder,
        )  # fmt: skip
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result

    def ours(self, result):
        return [line for line in result.stderr.splitlines() if line.startswith("deltabloom")]

    def names(self, pattern="*"):
        return sorted(path.name for path in self.folder.glob(pattern) if path.is_file())

    def test_json_at_the_end(self):
        result = self.bench(self.folder / "out.json")
        self.assertEqual(self.ours(result), [])
        statistics = json.loads((self.folder / "out.json").read_text())
        self.assertEqual([row["level"] for row in statistics["rows"]], [0])
        row = statistics["rows"][0]
        self.assertEqual((row["layout"], row["keys_built"]), ("local", KEYS))
        useful = int(re.search(r"bloom\.filter\.useful COUNT : (\d+)", result.stdout)[1])
        self.assertEqual(row["negatives"], useful)
        self.assertGreater(useful, KEYS * 9 // 10)
        # db_bench closes its database before it ends.
        self.assertEqual(row["filters_open"], 0)
        self.assertEqual(self.names("out*"), ["out.json"])

    def test_prometheus(self):
        result = self.bench("relative.prom")
        self.assertEqual(self.ours(result), [])
        metrics = parse_prometheus((self.folder / "relative.prom").read_text())
        labels = (("layout", "local"), ("level", "0"))
        self.assertEqual(metrics["deltabloom_filters_built_keys_total"][labels], KEYS)
        negatives = metrics["deltabloom_filter_negatives_total"][labels]
        lookups = metrics["deltabloom_filter_lookups_total"][labels]
        expected = metrics["deltabloom_filter_expected_false_positives_total"][labels]
        self.assertGreaterEqual(lookups, 2 * KEYS - 10)  # those outside are not asked
        self.assertLess(abs(lookups - KEYS - negatives - expected), 6 * expected**0.5 + expected / 3)
        self.assertEqual(len(metrics), 11)

    def test_written_while_the_program_runs(self):
        ini = self.folder / "options.ini"
        ini.write_text(OPTIONS % "deltabloom:10:local")
        out = self.folder / "running.json"
        started = time.monotonic()
        process = subprocess.Popen(
            [
                "db_bench", f"--options_file={ini}", f"--db={self.folder / 'db'}",
                "--benchmarks=fillseq,flush,readrandom", f"--num={KEYS}", "--reads=1000000000",
                "--duration=60",
            ],
            env=dict(
                os.environ, LD_PRELOAD=PLUGIN, DELTABLOOM_STATISTICS=str(out),
                DELTABLOOM_STATISTICS_SECONDS="1",
            ),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            lookups = 0
            seen = 0
            written = set()
            while seen < 3 and time.monotonic() < started + 50:
                time.sleep(0.05)
                if not out.exists():
                    continue
                written.add(out.stat().st_mtime_ns)
                # Whole, whenever it is looked at.
                rows = json.loads(out.read_text())["rows"]
                now = sum(row["lookups"] for row in rows)
                if now > lookups:
                    lookups = now
                    seen += 1
                    self.assertEqual(sum(row["filters_open"] for row in rows), 1)
            self.assertEqual(seen, 3)
            # Once a second and no more.
            self.assertLessEqual(len(written), time.monotonic() - started + 1)
        finally:
            process.kill()
            process.wait()

    def test_process_number_in_the_name(self):
        self.bench(self.folder / "out.%p.json")
        (name,) = self.names("out*")
        self.assertRegex(name, r"^out\.\d+\.json$")

    def test_programs_without_a_policy_write_nothing(self):
        out = self.folder / "out.json"
        subprocess.run(
            ["sst_dump", "--help"],
            env=dict(os.environ, LD_PRELOAD=PLUGIN, DELTABLOOM_STATISTICS=str(out)),
            capture_output=True, check=False,
        )  # fmt: skip
        self.assertFalse(out.exists())
        self.bench(out, policy="rocksdb.BuiltinBloomFilter:10", num=100)
        self.assertFalse(out.exists())

    def test_what_is_wrong_is_one_line(self):
        (self.folder / "folder.json").mkdir()
        for name, seconds, line in (
            ("out.txt", None, "'out.txt' ends in neither .json nor .prom: nothing is written"),
            (".json", None, "'.json' ends in neither .json nor .prom"),
            ("no/such/folder/out.json", "0", "cannot write the statistics to "),
            ("folder.json", "0", "cannot replace the statistics to "),
            ("out.json", "soon", "_SECONDS 'soon' is not a number of seconds: use 0 to"),
            ("out.json", "-1", "_SECONDS '-1' is not a number of seconds: use 0 to"),
        ):
            (ours,) = self.ours(self.bench(name, seconds=seconds, num=1000))
            self.assertIn(line, ours)
            self.assertIn("DELTABLOOM_STATISTICS", ours)
        self.assertEqual(self.names("*.tmp"), [])
        self.assertEqual(self.names("*.txt"), [])
        self.assertEqual(self.names("out.json"), ["out.json"])  # 15 seconds taken


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
