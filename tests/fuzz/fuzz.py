#!/usr/bin/env python3
"""Runs the fuzz harnesses in turn, each on the corpus beside its source and on
what earlier runs have found, and prints what they did. An input
may take 512 MB and one second of CPU time. Inputs that break a rule are kept,
and the command that repeats each is printed; exit code 1 then."""

import argparse
import concurrent.futures
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

TOP = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = [TOP / "tests/fuzz", TOP / "shared_filters/tests/fuzz"]
sys.path.insert(0, str(TOP / "db_bench_ext"))

from common import terminal, whole_file  # noqa: E402

# Turns in a run of hours last no longer, so that all harnesses progress.
TURN_SECONDS = 60
# A harness that fails all the time must not fill the disk.
MAX_FINDINGS = 20
SECONDS_PER_INPUT = 1
LIMITS = ["-rss_limit_mb=512", "-malloc_limit_mb=512", "-entropic=0", "-reload=0"]
SANITIZERS = {
    "ASAN_OPTIONS": "quarantine_size_mb=32:detect_leaks=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


def harness_sources():
    """The source of each harness, by its name."""
    return {path.stem: path for folder in FOLDERS for path in sorted(folder.glob("*_fuzz.cc"))}


def harness_names():
    return sorted(harness_sources())


class Harness:
    """A harness of a build, its corpora, and the sums of its runs."""

    def __init__(self, name, build, work):
        self.name = name
        self.folder = harness_sources()[name].parent
        self.program = build / self.folder.relative_to(TOP) / name
        if not self.program.is_file():
            raise OSError(f"{self.program} was not built")
        self.seeds = self.folder / "corpus" / name
        self.grown = work / "corpus" / self.name
        self.findings = work / "findings" / self.name
        self.log = work / "logs" / f"{self.name}.log"
        self.child = None
        self.executions = self.cpu_seconds = self.held_up = 0
        self.found, self.failure = [], ""
        for folder in (self.grown, self.findings, self.log.parent):
            folder.mkdir(parents=True, exist_ok=True)

    def call(self, *options, log=os.devnull):
        """Runs the harness to its end; returns its CPU seconds."""
        command = [self.program, *LIMITS, f"-max_len={600 if self.name == 'sst_fuzz' else 300}"]
        dictionary = self.folder / "dictionaries" / self.name
        command += [f"-dict={dictionary}"] if dictionary.is_file() else []
        with open(log, "wb") as out:
            self.child = subprocess.Popen(
                [*command, *options],
                stdout=out,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                env={**SANITIZERS, **os.environ},
                start_new_session=True,
            )
            _, status, usage = os.wait4(self.child.pid, 0)
            self.child.returncode = os.waitstatus_to_exitcode(status)
        return usage.ru_utime + usage.ru_stime

    def is_slow(self, finding):
        """libFuzzer measures by the clock; on a busy machine that says little."""
        return self.call("-timeout=600", finding) - self.call("-runs=0") > SECONDS_PER_INPUT

    def run(self, seconds):
        """Fuzzes for this long or to the first finding."""
        before = set(self.findings.iterdir())
        cpu_seconds = self.call(
            f"-max_total_time={max(1, round(seconds))}",
            f"-timeout={SECONDS_PER_INPUT}",
            "-print_final_stats=1",
            f"-artifact_prefix={self.findings}/",
            self.grown,
            self.seeds,
            log=self.log,
        )
        text = self.log.read_text(encoding="utf-8", errors="replace")
        # A harness that was killed has its last line of progress only.
        executions = int(
            (
                re.findall(r"stat::number_of_executed_units: +(\d+)", text)
                or re.findall(r"(?m)^#(\d+)\t", text)
                or ["0"]
            )[-1]
        )
        new = sorted(set(self.findings.iterdir()) - before)
        held_up = [
            finding
            for finding in new
            if finding.name.startswith("timeout-") and not self.is_slow(finding)
        ]
        found = [finding for finding in new if finding not in held_up]
        for finding in held_up:
            finding.unlink()
        for finding in found:
            shutil.copy(self.log, f"{finding}.log")
        self.held_up += len(held_up)
        if not found and not self.held_up and self.child.returncode != 0:
            self.failure = text[-2000:]
        self.executions += executions
        self.cpu_seconds += cpu_seconds
        self.found += found
        return {"executions": executions, "cpu_seconds": cpu_seconds, "findings": len(found)}

    def stop(self):
        """From another thread: the run ends soon, with its statistics."""
        if self.child is not None and self.child.returncode is None:
            self.child.send_signal(signal.SIGUSR1)

    def minimise(self):
        """Adds to the committed corpus what reaches code that it does not."""
        before = len(list(self.seeds.iterdir()))
        with tempfile.TemporaryDirectory() as folder:
            merged = pathlib.Path(folder, "merged")
            shutil.copytree(self.seeds, merged)
            self.call(
                "-set_cover_merge=1",
                "-use_counters=0",
                "-timeout=600",
                merged,
                self.grown,
                log=self.log,
            )
            if self.child.returncode != 0:
                raise OSError(f"{self.name} could not merge its corpora: see {self.log}")
            for path in merged.iterdir():
                shutil.copy(path, self.seeds)
        print(f"{self.name}: {before} inputs, now {len(list(self.seeds.iterdir()))}")


class Campaign:
    def __init__(self, chosen, harnesses):
        self.chosen, self.harnesses, self.stopped = chosen, harnesses, False
        self.path = chosen.total or chosen.work / "total.json"
        try:
            self.total = (
                json.loads(self.path.read_text(encoding="utf-8")) if self.path.exists() else {}
            )
        except ValueError as error:
            raise OSError(f"{self.path} is not the JSON of an earlier run: {error}") from error

    def count(self, name, counts):
        row = self.total.setdefault(name, {}).setdefault(
            "plain" if self.chosen.fast else "address,undefined", {}
        )
        for key, value in counts.items():
            row[key] = round(row.get(key, 0) + value, 1)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        whole_file.write(self.path, json.dumps(self.total, indent=1, sort_keys=True) + "\n")

    def turn(self, harness, seconds):
        """However many findings end a run, the turn goes on to its end."""
        deadline = time.monotonic() + seconds
        while not self.stopped and not harness.failure and len(harness.found) < MAX_FINDINGS:
            self.count(harness.name, harness.run(deadline - time.monotonic()))
            if deadline - time.monotonic() < 1:
                return

    def run(self):
        seconds = (self.chosen.hours or 0) * 3600
        end = time.monotonic() + seconds
        turn = (
            min(TURN_SECONDS, seconds * self.chosen.jobs / len(self.harnesses))
            or self.chosen.seconds
        )
        display = terminal.Display()
        with concurrent.futures.ThreadPoolExecutor(self.chosen.jobs) as pool:
            try:
                while True:
                    turns = [pool.submit(self.turn, harness, turn) for harness in self.harnesses]
                    while not all(one.done() for one in turns):
                        done = sum(harness.executions for harness in self.harnesses)
                        display.show(f"{done:,} executions in turns that have ended")
                        time.sleep(0.2)
                    for one in turns:
                        one.result()
                    if end - time.monotonic() <= 1:
                        break
            finally:
                self.stopped = True
                for harness in self.harnesses:
                    harness.stop()
                display.clear()
        return self.report()

    def report(self):
        print(f"{'harness':<20}{'executions':>14}{'per CPU second':>16}{'findings':>10}")
        for harness in self.harnesses:
            speed = harness.executions / harness.cpu_seconds if harness.cpu_seconds else 0
            print(
                f"{harness.name:<20}{harness.executions:>14,}"
                f"{speed:>16,.0f}{len(harness.found):>10}"
            )
        for harness in self.harnesses:
            if harness.held_up:
                print(
                    f"{harness.name}: {harness.held_up} inputs took a second by the clock "
                    "but not of the CPU: "
                    "the machine is busy"
                )
            for finding in harness.found:
                print(
                    f"{harness.name}: replay with\n  {harness.program} {finding}\n  its "
                    f"log is {finding}.log"
                )
            if harness.failure:
                print(
                    f"{harness.name} ended without a finding:\n{harness.failure}", file=sys.stderr
                )
        executions = sum(
            row["executions"] for kinds in self.total.values() for row in kinds.values()
        )
        print(f"{executions:,} executions in all runs counted in {self.path}")
        return 1 if any(harness.found or harness.failure for harness in self.harnesses) else 0


def positive(text):
    value = float(text)
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return value


def main():
    parser = argparse.ArgumentParser(prog="script/fuzz", description=__doc__)
    add = parser.add_argument
    add(
        "harnesses", nargs="*", metavar="HARNESS", help="default all: " + ", ".join(harness_names())
    )
    length = parser.add_mutually_exclusive_group()
    length.add_argument(
        "--seconds",
        type=positive,
        default=60,
        metavar="N",
        help="by the clock, for each harness (default %(default)s)",
    )
    length.add_argument(
        "--hours",
        type=positive,
        metavar="N",
        help=f"by the clock, for all together, in turns of {TURN_SECONDS} seconds at most",
    )
    add(
        "--jobs",
        type=int,
        choices=range(1, 65),
        default=1,
        metavar="N",
        help="harnesses at a time (default %(default)s)",
    )
    add(
        "--fast",
        action="store_true",
        help="a build without sanitizers: faster, but reads out of bounds show only where they "
        "crash",
    )
    add(
        "--total",
        type=pathlib.Path,
        metavar="FILE",
        help="JSON to which the counts of this run are added (default: total.json beside the "
        "corpora)",
    )
    add(
        "--minimise",
        action="store_true",
        help="do not fuzz: add to the corpora what reaches code that they do not reach yet",
    )
    add("--build", type=pathlib.Path, help=argparse.SUPPRESS)  # script/fuzz sets it
    add("--work", type=pathlib.Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    names = chosen.harnesses or harness_names()
    for name in set(names) - set(harness_names()):
        parser.error(f"there is no harness {name!r}: use {', '.join(harness_names())}")
    if chosen.build is None:
        return 0  # only the arguments were to be checked
    harnesses = [Harness(name, chosen.build, chosen.work) for name in names]
    if not chosen.minimise:
        return Campaign(chosen, harnesses).run()
    for harness in harnesses:
        harness.minimise()
    return 0


if __name__ == "__main__":
    terminal.run("fuzz", main)
