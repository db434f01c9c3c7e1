#!/usr/bin/env python3
"""Runs the demo as its users do and checks what it prints, writes, refuses and
leaves behind.    usage: demo_test.py PROGRAM [unittest options]"""

import concurrent.futures
import json
import math
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from seed import seed_of_this_run  # noqa: E402
from terminal import open_terminal  # noqa: E402

PROGRAM = sys.argv.pop(1)
SEED = seed_of_this_run()
FILTERS = [
    "none", "rocksdb-bloom", "rocksdb-ribbon", "deltabloom-classic", "deltabloom-local",
    "deltabloom-auto", "deltabloom-auto-levels",
]  # fmt: skip
RUN_KEYS = [
    "filter", "keys", "bits_per_key", "filter_bytes", "false_positive_rate",
    "absent_data_block_reads_per_lookup", "present_data_block_reads_per_lookup",
    "absent_micros_per_lookup", "present_micros_per_lookup", "load_seconds",
    "missed_present_keys",
]
TIMES = {"absent_micros_per_lookup", "present_micros_per_lookup", "load_seconds"}
SORTED_RUNS = 5
KEYS = 20000


class DemoTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.top = pathlib.Path(self.folder.name)
        self.tmp = self.top / "tmp"
        self.tmp.mkdir()
        self.environment = dict(os.environ, TMPDIR=str(self.tmp))

    def run_demo(self, *arguments, **options):
        return subprocess.run(
            [PROGRAM, *map(str, arguments)], stdin=subprocess.DEVNULL,
            stdout=options.pop("stdout", subprocess.PIPE), stderr=subprocess.PIPE,
            text=True, env=self.environment, check=False, timeout=120, **options)

    def run_demos(self, *all_arguments):
        """Several at the same time: they wait for the disk more than they
        compute."""
        with concurrent.futures.ThreadPoolExecutor() as pool:
            return list(pool.map(lambda arguments: self.run_demo(*arguments), all_arguments))

    def start_demo(self, *arguments, **options):
        return subprocess.Popen(
            [PROGRAM, *map(str, arguments)], stdin=subprocess.DEVNULL,
            env=self.environment, **options)

    def assert_one_line_error(self, done, code, *words):
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertTrue(done.stderr.endswith("\n"))
        for word in words:
            self.assertIn(word, done.stderr)

    def assert_nothing_left(self):
        self.assertEqual(os.listdir(self.tmp), [])
        self.assertEqual(list(self.top.rglob("*.unfinished")), [])


class Results(DemoTest):
    def test_whole_runs_repeat_with_their_seed(self):
        lookups = 3000
        seeds = {"first": SEED, "again": SEED, "other": SEED + 1}
        done = self.run_demos(*(
            ["--keys", KEYS, "--lookups", lookups, "--seed", seed,
             "--json", self.top / f"{name}.json"]
            + (["--plot", self.top / "figures.png"] if name == "first" else [])
            for name, seed in seeds.items()))
        for one in done:
            self.assertEqual(one.returncode, 0, one.stderr)
            self.assertEqual(one.stderr, "")
        self.assert_nothing_left()
        self.check_output(done[0].stdout)
        picture = self.top / "figures.png"
        self.assertEqual(picture.read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        self.assertGreater(picture.stat().st_size, 20000)

        documents = {name: json.loads((self.top / f"{name}.json").read_text()) for name in seeds}
        for document in documents.values():
            self.assertEqual(list(document), ["runs"])
            self.check_runs(document["runs"], lookups)
        figures = {name: self.figures(document["runs"]) for name, document in documents.items()}
        (size, rates, reads), (size_again, rates_again, reads_again) = figures["first"], figures["again"]
        self.assertEqual(size, size_again)
        self.assertEqual(rates, rates_again)
        # The cache counts what malloc really gave, which varies a little.
        for one, other in zip(reads, reads_again):
            self.assertAlmostEqual(one, other, delta=0.02)
        self.assertNotEqual(rates, figures["other"][1])

    @staticmethod
    def figures(runs):
        return ([run["filter_bytes"] for run in runs],
                [run["false_positive_rate"] for run in runs],
                [run["absent_data_block_reads_per_lookup"] for run in runs])

    def check_output(self, text):
        for control in "\r\033\b":
            self.assertNotIn(control, text)
        for name in FILTERS:
            self.assertIn(f"\n{name} ", text)
        self.assertEqual(text.count("\nlevel "), SORTED_RUNS)
        self.assertIn("one of every key.", text)
        self.assertIn("\nWith the bytes of rocksdb-bloom", text)
        self.assertIn("\nWithout a filter: ", text)

    def check_runs(self, runs, lookups):
        self.assertEqual([run["filter"] for run in runs], FILTERS)
        for run in runs:
            self.check_run(run, lookups)
        reads = {run["filter"]: run["absent_data_block_reads_per_lookup"] for run in runs}
        for name in FILTERS[1:]:
            self.assertLess(reads[name], 0.1 * reads["none"], name)
        self.assertLess(runs[2]["filter_bytes"], 0.8 * runs[1]["filter_bytes"])

    def check_run(self, run, lookups):
        self.assertEqual(list(run), RUN_KEYS)
        self.assertEqual(run["keys"], KEYS)
        self.assertEqual(run["missed_present_keys"], 0)
        for key in TIMES:
            self.assertGreater(run[key], 0, key)
        reads = run["absent_data_block_reads_per_lookup"]
        if run["filter"] == "none":
            self.assertIsNone(run["false_positive_rate"])
            self.assertEqual(run["bits_per_key"], 0)
            self.assertEqual(run["filter_bytes"], 0)
            self.assertGreater(reads, 0.3)
            self.assertLessEqual(reads, SORTED_RUNS)
            return
        self.assertAlmostEqual(run["bits_per_key"],
                               8 * run["filter_bytes"] / run["keys"])
        low, high = {"rocksdb-ribbon": (6.5, 7.5), "deltabloom-auto-levels": (9.5, 10.5)}.get(
            run["filter"], (10, 10.2))
        self.assertGreaterEqual(run["bits_per_key"], low)
        self.assertLessEqual(run["bits_per_key"], high)
        # Only a false positive makes a lookup of an absent key read a block.
        rate = run["false_positive_rate"]
        self.assertLessEqual(reads, SORTED_RUNS * rate + 1e-9)
        # All promise what 6 probes give at 10 bits, or less; a classic
        # filter of up to 100,000 keys can be up to 2.4 times worse where its
        # size is an unlucky one, and tables of few keys are rounded up to
        # better ones. Four filters or more are asked per lookup.
        promised = (1 - math.exp(-6 / 10)) ** 6
        error = 5 * math.sqrt(promised / (4 * lookups))
        self.assertLess(rate, 2.4 * promised + error)
        if run["filter"] == "deltabloom-classic":
            self.assertGreater(rate, promised - error)
        elif "auto" in run["filter"]:
            self.assertLess(rate, 0.6 * promised + error)
        else:
            self.assertGreater(rate, 0.6 * promised - error)

    def test_help(self):
        done = self.run_demo("--help")
        self.assertEqual(done.returncode, 0)
        for option in ("--help", "--keys", "--bits-per-key", "--db", "--seed",
                       "--json", "--plot", "--layout", "--lookups"):
            self.assertIn(option, done.stdout)


class BadUsage(DemoTest):
    def test_bad_values_are_named(self):
        for option, value in (
                ("--keys", "abc"), ("--keys", "-5"), ("--keys", "0"),
                ("--keys", "1e6"), ("--keys", "2000.5"), ("--keys", ""),
                ("--keys", "99999999999999999999999"),
                ("--bits-per-key", "nan"), ("--bits-per-key", "inf"),
                ("--bits-per-key", "-1"), ("--bits-per-key", "0"),
                ("--bits-per-key", "1e9"), ("--bits-per-key", "ten"),
                ("--seed", "x"), ("--seed", "-1"),
                ("--seed", "18446744073709551616"),
                ("--lookups", "0"), ("--layout", "nonsense"),
                ("--layout", "classic,classic"), ("--layout", "auto:nonsense"),
                ("--plot", "figures.jpg"), ("--db", ""),
                ("--json", "/nonexistent/figures.json"), ("--json", "/"),
                ("--db", "/dev/null")):
            with self.subTest(option=option, value=value):
                done = self.run_demo(option, value)
                self.assert_one_line_error(done, 2, option, value.split(",")[0])
                self.assertEqual(done.stdout, "")
                self.assert_nothing_left()

    def test_unknown_options_are_named(self):
        for argument in ("--key", "--nonsense", "-x", "nonsense"):
            with self.subTest(argument=argument):
                self.assert_one_line_error(self.run_demo(argument), 2, argument)

    def test_missing_values_are_named(self):
        for option in ("--keys", "--bits-per-key", "--db", "--seed", "--json",
                       "--plot"):
            with self.subTest(option=option):
                self.assert_one_line_error(self.run_demo(option), 2, option)


class Folders(DemoTest):
    def test_a_folder_that_is_not_empty_is_refused_and_untouched(self):
        folder = self.top / "mine"
        folder.mkdir()
        (folder / "precious").write_text("precious")
        done = self.run_demo("--keys", 1000, "--db", folder)
        self.assert_one_line_error(done, 2, "--db", str(folder))
        self.assertEqual(os.listdir(folder), ["precious"])
        self.assertEqual((folder / "precious").read_text(), "precious")

    def test_databases_of_the_size_asked_for_are_kept_where_asked(self):
        (self.top / "empty").mkdir()
        sizes = {"new": 4.5, "empty": 20}
        done = self.run_demos(*(
            ["--keys", 1000, "--lookups", 100, "--bits-per-key", bits, "--layout", "classic",
             "--db", self.top / name, "--json", self.top / f"{name}.json"]
            for name, bits in sizes.items()))
        for (name, bits), one in zip(sizes.items(), done):
            self.assertEqual(one.returncode, 0, one.stderr)
            folder = self.top / name
            self.assertEqual(sorted(os.listdir(folder)), sorted(FILTERS[:4]))
            self.assertTrue((folder / "deltabloom-classic" / "CURRENT").exists())
            runs = json.loads((self.top / f"{name}.json").read_text())["runs"]
            # The tables of the upper levels have few keys, but at least 64 bits.
            self.assertGreaterEqual(runs[3]["bits_per_key"], bits)
            self.assertLess(runs[3]["bits_per_key"], bits + 1)
            self.assert_one_line_error(self.run_demo("--db", folder), 2, "--db")

    def test_without_space_for_files_it_says_so_and_cleans_up(self):
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (200000, 200000))

        done = self.run_demo("--keys", 20000, "--db", self.top / "new",
                             preexec_fn=limit)
        self.assert_one_line_error(done, 1, "cannot")
        self.assertFalse((self.top / "new").exists())
        self.assert_nothing_left()

    def test_a_full_device_for_the_figures(self):
        done = self.run_demo("--keys", 1000, "--lookups", 100, "--json", "/dev/full")
        self.assert_one_line_error(done, 1, "/dev/full")
        self.assert_nothing_left()

    def test_a_reader_that_goes_away(self):
        read_end, write_end = os.pipe()
        os.close(read_end)
        with os.fdopen(write_end, "w") as pipe:
            done = self.run_demo("--keys", 1000, stdout=pipe)
        self.assert_one_line_error(done, 1, "standard output")
        self.assert_nothing_left()


class Interrupts(DemoTest):
    def interrupt(self, when, signal_number, *arguments):
        """Sends the signal once `when()` holds; returns the finished process."""
        process = self.start_demo(*arguments, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 60
        while not when() and process.poll() is None:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        process.send_signal(signal_number)
        stdout, stderr = process.communicate(timeout=60)
        return subprocess.CompletedProcess(arguments, process.returncode,
                                           stdout, stderr)

    def test_while_loading(self):
        figures, folder = self.top / "figures.json", self.top / "mine"
        figures.write_text("old")
        folder.mkdir()
        (self.top / "figures.png").write_text("old")
        for number in (signal.SIGINT, signal.SIGTERM):
            done = self.interrupt(
                lambda: list(folder.glob("none/*.sst")), number,
                "--keys", 5_000_000, "--json", figures, "--db", folder,
                "--plot", self.top / "figures.png")
            self.assert_one_line_error(done, 128 + number, "interrupted")
            self.assertEqual(figures.read_text(), "old")
            self.assertEqual((self.top / "figures.png").read_text(), "old")
            self.assertEqual(os.listdir(folder), [])  # a folder of the user's
            self.assert_nothing_left()

    def test_while_measuring(self):
        figures, folder = self.top / "figures.json", self.top / "mine"
        done = self.interrupt(
            lambda: (folder / FILTERS[-1] / "LOG").exists()
            and list((folder / FILTERS[-1]).glob("LOG.old*")),
            signal.SIGINT, "--keys", 5000, "--lookups", 1_000_000_000,
            "--json", figures, "--db", folder)
        self.assert_one_line_error(done, 130, "interrupted")
        self.assertFalse(figures.exists())
        self.assertFalse(folder.exists())
        self.assert_nothing_left()

    def test_in_a_temporary_folder(self):
        done = self.interrupt(lambda: list(self.tmp.glob("*/none/*.sst")),
                              signal.SIGHUP, "--keys", 5_000_000)
        self.assert_one_line_error(done, 128 + signal.SIGHUP, "interrupted")
        self.assert_nothing_left()


class Terminal(DemoTest):
    def output_on_terminal(self, **only):
        """What reaches a terminal when stdout, stderr or both are one."""
        master, slave = open_terminal(self)
        self.addCleanup(os.close, master)
        streams = {"stdout": slave, "stderr": slave, **only}
        process = self.start_demo(
            "--keys", 1000, "--lookups", 100, "--layout", "auto:levels", **streams)
        os.close(slave)
        text = b""
        while True:
            try:
                chunk = os.read(master, 4096)
            except OSError:  # all ends of the terminal are closed
                break
            if not chunk:
                break
            text += chunk
        if process.stdout:
            process.stdout.read()
            process.stdout.close()
        self.assertEqual(process.wait(timeout=60), 0)
        return text.decode()

    def test_a_bar_is_drawn_on_terminals_and_erased(self):
        cases = {
            "both a terminal": {},
            # Its reader may write to the same terminal at any time.
            "stdout a pipe": {"stdout": subprocess.PIPE},
            "stdout a file": {"stdout": open(self.top / "out", "w")},
            "stderr no terminal": {"stderr": subprocess.DEVNULL},
        }
        self.addCleanup(cases["stdout a file"]["stdout"].close)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            texts = dict(zip(cases, pool.map(
                lambda case: self.output_on_terminal(**case), cases.values())))
        for case in ("both a terminal", "stdout a file"):
            with self.subTest(case=case):
                self.assertIn("loading: deltabloom-auto-levels", texts[case])
                self.assertIn(" %  ", texts[case])
                self.assertNotIn("[#", texts[case].rsplit("\r\033[K", 1)[1])
        for case in ("stdout a pipe", "stderr no terminal"):
            with self.subTest(case=case):
                self.assertNotIn("\033", texts[case])
                self.assertNotIn("loading", texts[case])


if __name__ == "__main__":
    unittest.main()
