#!/usr/bin/env python3
"""script/fuzz's program, on harnesses that only act as if."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import libfuzzer  # noqa: E402

# What libFuzzer of clang 14 prints; what it does is in the file `act` beside it.
FAKE = """#!/usr/bin/python3
import os, pathlib, signal, sys, time
options = dict(a[1:].split("=", 1) for a in sys.argv[1:] if a.startswith("-"))
inputs = [a for a in sys.argv[1:] if not a.startswith("-")]
here = pathlib.Path(sys.argv[0])
act = here.with_suffix(".act")
name = act.read_text() if act.exists() else ""
def end(code, number):
    print(f"#{number}\\tDONE   cov: 12 ft: 34 corp: 5/67b lim: 4 exec/s: 0 rss: 28Mb")
    print(f"stat::number_of_executed_units: {number}")
    print("stat::average_exec_per_sec:     7")
    print("stat::peak_rss_mb:              31", flush=True)
    sys.exit(code)
if "set_cover_merge" in options:
    for path in pathlib.Path(inputs[1]).iterdir():
        (pathlib.Path(inputs[0]) / path.name).write_bytes(path.read_bytes())
    sys.exit(0)
if "artifact_prefix" not in options:
    if inputs and name == "slow":
        limit = time.process_time() + 1.3
        while time.process_time() < limit: pass
    sys.exit(0)
assert options["timeout"] == "1" and options["rss_limit_mb"] == "512", options
assert options["malloc_limit_mb"] == "512" and int(options["max_total_time"]) >= 1
prefix = pathlib.Path(options["artifact_prefix"])
if name == "crash":
    act.unlink()
    (prefix / "crash-1").write_text("boo")
    print("==1== ERROR: libFuzzer: deadly signal")
    end(77, 10)
if name in ("busy", "slow") and not list(prefix.iterdir()):
    (prefix / "timeout-1").write_text("")
    if name == "busy": act.unlink()
    end(70, 20)
if name == "killed":
    print("#2048\\tpulse  cov: 1 ft: 2 corp: 3/4b", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
if name == "wait":
    signal.signal(signal.SIGUSR1, lambda *_: end(0, 55))
    (here.parent / "started").touch()
    while True: time.sleep(.05)
time.sleep(.2)
end(0, 1000)
"""


class FuzzTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.top = pathlib.Path(self.folder.name)
        self.programs = self.top / "build" / "tests" / "fuzz"
        self.programs.mkdir(parents=True)
        for name in ("sst_fuzz", "guava_fuzz"):
            self.act(name, "")

    def act(self, name, what):
        program = self.programs / name
        program.write_text(FAKE, encoding="utf-8")
        program.chmod(0o755)
        if what:
            program.with_suffix(".act").write_text(what, encoding="utf-8")

    def command(self, *options):
        return [sys.executable, HERE / "fuzz.py", "--build", self.top / "build", "--work", self.top / "work",
                *options]

    def run_fuzz(self, *options, code=0):
        names = [] if any(option.endswith("_fuzz") for option in options) else ["sst_fuzz", "guava_fuzz"]
        done = subprocess.run(self.command("--seconds", "1", "--jobs", "2", *options, *names), capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def total(self):
        return json.loads((self.top / "work" / "total.json").read_text(encoding="utf-8"))

    def test_table_and_total(self):
        done = self.run_fuzz()
        lines = {line.split()[0]: line.split() for line in done.stdout.splitlines()}
        self.assertEqual([lines["sst_fuzz"][i] for i in (3, 4, 5, 6, 7)], ["12", "34", "5", "31", "0"])
        self.assertGreaterEqual(int(lines["sst_fuzz"][1].replace(",", "")), 1000)
        first = self.total()["sst_fuzz"]["address,undefined"]["executions"]
        self.assertEqual(first % 1000, 0)
        self.run_fuzz("sst_fuzz")
        self.run_fuzz("--fast", "sst_fuzz")
        total = self.total()
        self.assertGreater(total["sst_fuzz"]["address,undefined"]["executions"], first)
        self.assertGreaterEqual(total["sst_fuzz"]["plain"]["executions"], 1000)
        self.assertNotIn("plain", total["guava_fuzz"])

    def test_hours_are_shared(self):
        done = subprocess.run(self.command("--hours", ".0012", "sst_fuzz", "guava_fuzz"), capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(set(self.total()), {"sst_fuzz", "guava_fuzz"})

    def test_finding_is_kept_and_the_turn_goes_on(self):
        self.act("sst_fuzz", "crash")
        done = self.run_fuzz("--seconds", "3", "sst_fuzz", code=1)
        finding = self.top / "work" / "findings" / "sst_fuzz" / "crash-1"
        self.assertEqual(finding.read_text(), "boo")
        self.assertIn(f"sst_fuzz: replay with\n  {self.programs / 'sst_fuzz'} {finding}\n", done.stdout)
        self.assertIn("deadly signal", finding.with_suffix(".log").read_text())
        row = self.total()["sst_fuzz"]["address,undefined"]
        self.assertEqual(row["findings"], 1)
        self.assertEqual(row["executions"] % 1000, 10)
        self.assertGreater(row["executions"], 1000)

    def test_slow_input_is_a_finding(self):
        self.act("sst_fuzz", "slow")
        self.assertIn("timeout-1", self.run_fuzz("sst_fuzz", code=1).stdout)

    def test_busy_machine_is_none(self):
        self.act("sst_fuzz", "busy")
        done = self.run_fuzz("sst_fuzz")
        self.assertIn("sst_fuzz: 1 inputs took a second by the clock but not of the CPU", done.stdout)
        self.assertEqual(list((self.top / "work" / "findings" / "sst_fuzz").iterdir()), [])

    def test_killed_harness_fails_the_run(self):
        self.act("sst_fuzz", "killed")
        done = self.run_fuzz(code=1)
        self.assertIn("sst_fuzz ended without a finding", done.stderr)
        self.assertEqual(self.total()["sst_fuzz"]["address,undefined"]["executions"], 2048)

    def test_interrupt_counts(self):
        self.act("sst_fuzz", "wait")
        with subprocess.Popen(self.command("--seconds", "600", "sst_fuzz"), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as running:
            while not (self.programs / "started").exists():
                time.sleep(.02)
            running.send_signal(signal.SIGINT)
            out, error = running.communicate(timeout=60)
        self.assertEqual(running.returncode, 130, error)
        self.assertIn("fuzz: interrupted", error)
        self.assertIn("sst_fuzz", out)
        self.assertEqual(self.total()["sst_fuzz"]["address,undefined"]["executions"], 55)

    def test_wrong_command_lines(self):
        for options, what in ((["cuckoo_fuzz"], "there is no harness 'cuckoo_fuzz'"),
                              (["--seconds", "0", "sst_fuzz"], "not a positive number"),
                              (["--hours", "nan", "sst_fuzz"], "not a positive number"),
                              (["--hours", "1", "--seconds", "1"], "not allowed with"),
                              (["--jobs", "0"], "--jobs")):
            done = subprocess.run(self.command(*options), capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2, options)
            self.assertIn(what, done.stderr)
            self.assertIn("see --help", done.stderr)
        self.assertIn("was not built", self.run_fuzz("policy_fuzz", code=1).stderr)
        (self.top / "work").mkdir(exist_ok=True)
        (self.top / "work" / "total.json").write_text("counts", encoding="utf-8")
        self.assertIn("is not the JSON of an earlier run", self.run_fuzz(code=1).stderr)

    def test_minimise_adds(self):
        harness = libfuzzer.Harness(self.programs / "sst_fuzz", self.top / "source", self.top / "work")
        (harness.grown / "new").write_text("new")
        merged = self.top / "merged"
        merged.mkdir()
        (merged / "seed").write_text("seed")
        harness.minimise(merged)
        self.assertEqual(sorted(os.listdir(merged)), ["new", "seed"])

    def test_each_harness_has_a_corpus(self):
        for source in HERE.glob("*_fuzz.cc"):
            self.assertTrue(any((HERE / "corpus" / source.stem).iterdir()), source)
        for folder in (HERE / "corpus").iterdir():
            self.assertTrue((HERE / f"{folder.name}.cc").exists(), folder)


if __name__ == "__main__":
    unittest.main()
