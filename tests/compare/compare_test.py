#!/usr/bin/python3
"""The comparison as a user meets it, over a stand-in for db_bench and over the
stock one.

Usage: compare_test.py PLUGIN [unittest options]
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from support import seed_of_this_run  # noqa: E402

PLUGIN = sys.argv[1]
SEED = seed_of_this_run()
COMPARE = HERE.parents[1] / "db_bench_ext" / "compare" / "compare.py"
FAKE = HERE / "fake_tool.py"


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name in ("db_bench", "sst_dump"):
            (self.folder / name).symlink_to(FAKE)
        self.out = self.folder / "out"
        self.calls = self.folder / "calls"
        self.plugin = self.folder / "plugin.so"
        # Any library that the loader accepts will do: the stand-in does not
        # look at it.
        self.plugin.symlink_to("/usr/lib/x86_64-linux-gnu/libm.so.6")

    def start(self, *arguments, fake=""):
        return subprocess.Popen(
            [
                "/usr/bin/python3",
                COMPARE,
                "--output",
                self.out,
                "--repetitions",
                "2",
                "--plugin",
                self.plugin,
                "--db-bench",
                self.folder / "db_bench",
                "--sst-dump",
                self.folder / "sst_dump",
                *arguments,
            ],
            env=dict(os.environ, FAKE=fake, FAKE_CALLS=str(self.calls)),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def compare(self, *arguments, **fake):
        process = self.start(*arguments, **fake)
        stdout, stderr = process.communicate(timeout=900)
        return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)

    def cells(self, *arguments):
        """Those of a comparison that succeeds."""
        done = self.compare(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads((self.out / "report.json").read_text())["cells"]

    def options(self, kind):
        """The OPTIONS files of databases of a kind, by name."""
        return {
            path.name: path.read_text()
            for path in (self.out / "databases").glob(f"*-{kind}*.options")
        }

    def made_calls(self):
        return self.calls.read_text().splitlines() if self.calls.exists() else []

    two = ("--filters", "none,rocksdb-bloom", "--workloads", "readmissing,seekrandom")
    # Tests that are not about pictures use these arguments, with which none is
    # drawn.
    one = ("--filters", "rocksdb-bloom", "--workloads", "readmissing")


class Finished(Case):
    """Tests the files of a comparison that is done; each test has a copy of them."""

    @classmethod
    def setUpClass(cls):
        cls.first = cls("test_report_with_plots")
        cls.first.setUp()
        cls.addClassCleanup(cls.first.doCleanups)
        cls.first_done = cls.first.compare(*cls.two)

    def setUp(self):
        super().setUp()
        if self is not self.first:
            shutil.copytree(self.first.out, self.out)

    def test_report_with_plots(self):
        done = self.first_done
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("\r", done.stderr)
        self.assertEqual(len(self.first.made_calls()), 8)
        data = json.loads((self.out / "report.json").read_text())
        self.assertEqual(len(data["cells"]), 4)
        self.assertEqual(data["about"]["RocksDB"], "7.8.3, stock db_bench")
        text = (self.out / "report.md").read_text()
        self.assertIn("| rocksdb-bloom |", text)
        self.assertFalse(str(self.first.out) in text, "the report names the folder it was made in")
        self.assertEqual(
            len(re.findall("^## ", text, re.MULTILINE)), 4
        )  # two groups, databases, commands
        pictures = re.findall(r"!\[.*\]\((.*)\)", text)
        self.assertEqual(len(pictures), 4)
        for picture in pictures:
            # Text is text.
            root = xml.etree.ElementTree.fromstring((self.out / picture).read_text())
            words = [one.text for one in root.iter("{http://www.w3.org/2000/svg}text")]
            self.assertIn("rocksdb-bloom", words)
            self.assertFalse([word for word in words if re.fullmatch(r"[\d.]+m", word)])
        self.assertFalse((self.out / "databases").exists())
        self.assertEqual(list(self.out.rglob("*.unfinished")), [])

    def test_finished_runs_are_not_run_again(self):
        path = self.out / "report.json"
        before = json.loads(path.read_text())["cells"]
        path.unlink()
        self.assertEqual(self.cells(*self.two), before)
        self.assertEqual(self.made_calls(), [])

    def test_another_comparison_in_the_same_folder_is_refused(self):
        done = self.compare(*self.two, "--keys", "77777")
        self.assertEqual(done.returncode, 1)
        self.assertIn("holds another comparison (keys was", done.stderr)

    def test_a_full_disk_keeps_results(self):
        runs = self.out / "runs"
        for path in runs.glob("*@2.json"):
            path.unlink()
        done = self.compare(*self.two, fake="full")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        self.assertIn("disk full", done.stderr)
        self.assertEqual(len(list(runs.glob("*@1.json"))), 4)


class Cells(Case):
    def test_a_folder_of_our_name_does_not_make_a_filter_ours(self):
        self.out = self.folder / "deltabloom" / "filter_policy: deltabloom"
        filters = "rocksdb-bloom,rocksdb-ribbon,deltabloom-local"
        self.assertEqual(len(self.cells("--filters", filters, "--workloads", "readmissing")), 3)

    def test_presets_have_distinct_cells(self):
        for preset, least, most in (("quick", 12, 25), ("full", 65, 100)):
            names = self.compare("--preset", preset, "--list").stdout.split()
            self.assertEqual(len(names), len(set(names)))
            self.assertIn(len(names), range(least, most + 1))

    def test_trees_grow_live_and_are_read_frozen(self):
        cells = self.cells(
            "--filters",
            "rocksdb-bloom,deltabloom-compact-uniform,deltabloom",
            "--workloads",
            "readmissing-grown",
            "--keep-databases",
        )
        options = self.options("grown")
        self.assertEqual(len(options), 6, options.keys())  # grown live, read frozen
        for name, text in options.items():
            self.assertEqual("disable_auto_compactions=false" in text, "-live" in name, name)
        self.assertEqual({row["workload"] for row in cells}, {"readmissing-grown"})
        for name, text in options.items():
            policy = re.search("filter_policy=(.*)", text)[1]
            if "uniform" in name:
                self.assertEqual(
                    policy, "{id=deltabloom;bits_per_key=10;upper_bits_per_key=10}", name
                )
            elif "deltabloom" in name:
                self.assertEqual(policy, "deltabloom:10", name)


class Failures(Case):
    def one_line(self, done, code, *words):
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_bad_use(self):
        for arguments, word in (
            (["--filters", "nix"], "--filters nix"),
            (["--workloads", "nix"], "--workloads nix"),
            (["--keys", "-3"], "--keys"),
            (["--keys", "nan"], "--keys"),
            (["--preset", "huge"], "--preset"),
            (["--bits-per-key", "10"], "needs --workloads"),
            (["--workloads", "readrandom", "--bits-per-key", "ten"], "--bits-per-key ten"),
            (["--workloads", "readrandom", "--shapes", "round"], "--shapes round"),
            (["--no-such-option"], "--no-such-option"),
        ):
            self.one_line(self.compare(*arguments), 2, word)

    def test_tools_and_plugins_that_do_not_fit(self):
        for arguments, fake, words in (
            (
                [*self.two, "--db-bench", "/no/such/db_bench"],
                "",
                ("/no/such/db_bench not found", "rocksdb-tools"),
            ),
            (self.two, "old", ("version 6.4.1", "7.0")),
            (self.two, "mute", ("does not say its version",)),
            (["--filters", "deltabloom-classic", "--plugin", "/no/plugin.so"], "", ("--plugin",)),
            (self.two, "few", ("200,000 keys are too few to fill 5 levels", "--keys")),
        ):
            self.one_line(self.compare(*arguments, fake=fake), 1, *words)

    def test_crash_is_one_error_per_cell(self):
        done = self.compare(*self.two, fake="crash")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.count("SIGSEGV"), 4)
        self.assertIn("SIGSEGV", (self.out / "report.md").read_text())

    def test_runs_that_fail_say_why(self):
        for arguments, fake, words in (
            (self.one, "garbage", ("no line of results for readmissing", ".log")),
            (self.one, "dropped", ("loaded without filters",)),
            (
                ["--filters", "none", "--workloads", "readmissing", "--timeout", "1"],
                "slow",
                ("not done after 1 s",),
            ),
            (
                ["--filters", "deltabloom-local", "--workloads", "readmissing"],
                "misnamed",
                ("LOG does not name the policy of the OPTIONS file",),
            ),
        ):
            shutil.rmtree(self.out, ignore_errors=True)
            done = self.compare(*arguments, fake=fake)
            self.assertEqual(done.returncode, 1)
            for word in words:
                self.assertIn(word, done.stderr)

    def test_interrupt_leaves_no_child_and_no_half_report(self):
        process = self.start(*self.two, fake="slow")
        deadline = time.monotonic() + 600
        while not self.made_calls() and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=900)
        self.assertEqual(process.returncode, 130)
        self.assertIn("interrupted; finished runs are kept", errors)
        self.assertFalse(list(self.out.glob("report.*")))
        self.assertFalse(list(self.out.rglob("*.unfinished")))
        listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
        self.assertNotIn(str(self.folder), listed)


class Real(unittest.TestCase):
    """Small runs of the stock db_bench; all at once, because it sleeps for seconds
    after it has loaded a tree that grows."""

    runs = {
        "plain": (
            "none,rocksdb-bloom,deltabloom-classic",
            "--workloads",
            "readmissing,multireadrandom",
            "--keys",
            "60000",
            "--reads",
            "2000",
        ),
        "grown": (
            "rocksdb-bloom,deltabloom-compact-uniform,deltabloom",
            "--workloads",
            "readmissing-grown",
            "--keys",
            "150000",
            "--reads",
            "20000",
        ),
    }

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.processes = {}
        for name, arguments in cls.runs.items():
            cls.processes[name] = subprocess.Popen(
                [
                    "/usr/bin/python3",
                    COMPARE,
                    "--output",
                    cls.folder / name,
                    "--repetitions",
                    "1",
                    "--seed",
                    str(SEED),
                    "--plugin",
                    PLUGIN,
                    "--filters",
                    *arguments,
                ],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            cls.addClassCleanup(cls.processes[name].communicate, timeout=900)

    def finish(self, name):
        """The folder of a run, its report and the reads of each cell."""
        out, errors = self.folder / name, self.processes[name].communicate(timeout=900)[1]
        self.assertEqual(self.processes[name].returncode, 0, errors)
        report = json.loads((out / "report.json").read_text())
        reads = {
            (row["workload"], row["filter"]): row["data_block_reads_per_lookup"]
            for row in report["cells"]
        }
        return out, report, reads

    def test_stock_db_bench(self):
        _, _, reads = self.finish("plain")
        self.assertGreater(reads["readmissing", "none"], 0.5)
        for (workload, name), value in reads.items():
            if workload == "readmissing" and name != "none":
                # Four runs at about 1 %: ten times that would be no filter.
                self.assertLess(value, 0.4, name)

    def test_stock_db_bench_grows_trees(self):
        out, report, reads = self.finish("grown")
        bloom, uniform, ours = reads.values()
        self.assertLess(uniform, bloom)
        self.assertLess(ours, bloom)
        self.assertRegex(
            (out / "report.md").read_text(), r"reads [1-9]\d*\.\d times fewer blocks with"
        )
        # Tables of the upper levels have 12.5 bits per key.
        stored = {row["database"]: row["bits_per_key"] for row in report["databases"]}
        self.assertLess(stored["deltabloom-compact-uniform-10-full-grown"], 10.15)
        self.assertGreater(stored["deltabloom-10-full-grown"], 10.15)
        self.assertLess(stored["deltabloom-10-full-grown"], 12.5)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
