#!/usr/bin/env python3
"""script/fuzz's program, with a program in the place of harnesses."""

import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent

# Prints what libFuzzer of clang 14 prints; what it does is in the file `act`
# beside it.
HARNESS = """#!/usr/bin/python3
import os, pathlib, signal, sys, time
options = dict(a[1:].split("=", 1) for a in sys.argv[1:] if a.startswith("-"))
inputs = [a for a in sys.argv[1:] if not a.startswith("-")]
here = pathlib.Path(sys.argv[0])
act = here.with_suffix(".act")
name = act.read_text() if act.exists() else ""
def end(code, number):
    print(f"stat::number_of_executed_units: {number}", flush=True)
    sys.exit(code)
if "artifact_prefix" not in options:
    if inputs and name == "slow":
        limit = time.process_time() + 2
        while time.process_time() < limit: pass
    sys.exit(0)
assert options["timeout"] == "1" and options["rss_limit_mb"] == "512", options
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
        self.top = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.programs = self.top / "build/tests/fuzz"
        self.programs.mkdir(parents=True)

    def start(self, *options, act=""):
        program = self.programs / "sst_fuzz"
        program.write_text(HARNESS, encoding="utf-8")
        program.chmod(0o755)
        if act:
            program.with_suffix(".act").write_text(act, encoding="utf-8")
        command = [
            sys.executable,
            HERE / "fuzz.py",
            "--build",
            self.top / "build",
            "--work",
            self.top / "work",
        ]
        return subprocess.Popen(
            [*command, *options], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )

    def fuzz(self, *options, act="", code=0):
        running = self.start(*options, act=act)
        said = running.communicate(timeout=900)[0]
        self.assertEqual(running.returncode, code, said)
        return said

    def total(self, kind="address,undefined"):
        return json.loads((self.top / "work/total.json").read_text(encoding="utf-8"))["sst_fuzz"][
            kind
        ]

    def test_counts_add_up_over_runs(self):
        self.assertRegex(self.fuzz("--seconds", "1", "sst_fuzz"), r"\nsst_fuzz +1,000 .* 0\n")
        self.fuzz("--seconds", "1", "sst_fuzz")
        self.fuzz("--hours", "0.0006", "--fast", "sst_fuzz")
        self.assertEqual(self.total()["executions"], 2000)
        self.assertIn(self.total("plain")["executions"], range(1000, 100000, 1000))

    def test_a_finding_is_kept_and_the_turn_goes_on(self):
        said = self.fuzz("--seconds", "3", "sst_fuzz", act="crash", code=1)
        finding = self.top / "work/findings/sst_fuzz/crash-1"
        self.assertEqual(finding.read_text(), "boo")
        self.assertIn(f"sst_fuzz: replay with\n  {self.programs / 'sst_fuzz'} {finding}\n", said)
        self.assertIn("deadly signal", finding.with_suffix(".log").read_text())
        self.assertEqual(self.total()["findings"], 1)
        self.assertEqual(self.total()["executions"] % 1000, 10)

    def test_a_slow_input_is_a_finding_and_a_busy_machine_is_none(self):
        self.assertIn("timeout-1", self.fuzz("--seconds", "1", "sst_fuzz", act="slow", code=1))
        for kept in (self.top / "work/findings/sst_fuzz").iterdir():
            kept.unlink()
        self.assertIn(
            "1 inputs took a second by the clock",
            self.fuzz("--seconds", "1", "sst_fuzz", act="busy"),
        )

    def test_a_killed_harness_fails_the_run(self):
        self.assertIn("ended without a finding", self.fuzz("sst_fuzz", act="killed", code=1))
        self.assertEqual(self.total()["executions"], 2048)

    def test_an_interrupt_counts(self):
        running = self.start("--seconds", "600", "sst_fuzz", act="wait")
        while not (self.programs / "started").exists():
            time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        self.assertRegex(running.communicate(timeout=900)[0], "interrupted")
        self.assertEqual(running.returncode, 130)
        self.assertEqual(self.total()["executions"], 55)

    def test_wrong_command_lines(self):
        for options, what in (
            (["cuckoo_fuzz"], "there is no harness 'cuckoo_fuzz'"),
            (["--seconds", "0"], "not a positive number"),
            (["--hours", "nan"], "not a positive number"),
            (["--hours", "1", "--seconds", "1"], "not allowed with"),
            (["--jobs", "0"], "--jobs"),
        ):
            self.assertIn(what, self.fuzz(*options, code=2))
        self.assertIn("was not built", self.fuzz("policy_fuzz", code=1))
        (self.top / "work").mkdir(exist_ok=True)
        (self.top / "work/total.json").write_text("counts", encoding="utf-8")
        self.assertIn("is not the JSON of an earlier run", self.fuzz("sst_fuzz", code=1))

    def test_each_harness_has_a_corpus(self):
        for folder in (HERE, HERE.parents[1] / "shared_filters/tests/fuzz"):
            harnesses = {source.stem for source in folder.glob("*_fuzz.cc")}
            self.assertGreater(len(harnesses), 1)
            self.assertEqual(harnesses, {corpus.name for corpus in (folder / "corpus").iterdir()})
            self.assertTrue(all(any((folder / "corpus" / name).iterdir()) for name in harnesses))


if __name__ == "__main__":
    unittest.main()
