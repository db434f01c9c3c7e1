#!/usr/bin/env python3
"""Runs the fuzz harnesses in turn, each on the corpus in tests/fuzz/corpus and
on what earlier runs have found beside it, and prints a table of what they did.
An input may take 512 MB and one second of CPU time. Inputs that break a rule
are kept, and the command that repeats each is printed; exit code 1 then."""

import argparse
import json
import pathlib
import queue
import shutil
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "db_bench_ext"))

from libfuzzer import Harness, Outcome  # noqa: E402

from common import terminal, whole_file  # noqa: E402

# The most seconds of a turn in a run of hours, so that all harnesses get on.
TURN = 60
# One harness that breaks all the time must not fill the disk.
MAX_FINDINGS = 20


class Parser(argparse.ArgumentParser):
    def error(self, message):
        print(f"fuzz: {message}; see --help", file=sys.stderr)
        sys.exit(2)


def positive(text):
    value = float(text)
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return value


def harness_names():
    return sorted(path.stem for path in HERE.glob("*_fuzz.cc"))


def arguments(argv):
    names = harness_names()
    parser = Parser(prog="script/fuzz", description=__doc__)
    parser.add_argument("harnesses", nargs="*", metavar="HARNESS",
                        help="default all: " + ", ".join(names))
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--seconds", type=positive, default=60, metavar="N",
                        help="by the clock, for each harness (default %(default)s)")
    length.add_argument("--hours", type=positive, metavar="N",
                        help=f"by the clock, for all together, in turns of {TURN} seconds at most")
    parser.add_argument("--jobs", type=int, choices=range(1, 65), default=1, metavar="N",
                        help="harnesses at a time (default %(default)s)")
    parser.add_argument("--fast", action="store_true",
                        help="a build without sanitizers: faster, but what reads out of bounds shows only "
                        "where it crashes")
    parser.add_argument("--total", type=pathlib.Path, metavar="FILE",
                        help="JSON to which the counts of this run are added after each turn "
                        "(default: fuzz/total.json beside the build)")
    parser.add_argument("--minimise", action="store_true",
                        help="do not fuzz: add to tests/fuzz/corpus what reaches code that it does not reach yet")
    parser.add_argument("--list", action="store_true", help="print the names of the harnesses and end")
    parser.add_argument("--build", type=pathlib.Path, help=argparse.SUPPRESS)  # script/fuzz sets it
    parser.add_argument("--work", type=pathlib.Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args(argv)
    for name in chosen.harnesses:
        if name not in names:
            parser.error(f"there is no harness {name!r}: use {', '.join(names)}")
    chosen.harnesses = chosen.harnesses or names
    return chosen


class Total:
    """Counts per harness and kind of build, in a file that runs add to."""

    def __init__(self, path, kind):
        self.path = path
        self.kind = kind
        self.lock = threading.Lock()
        try:
            self.counts = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            self.counts = {}
        except ValueError as error:
            raise OSError(f"{path} is not the JSON of an earlier run: {error}") from error

    def add(self, name, outcome):
        with self.lock:
            row = self.counts.setdefault(name, {}).setdefault(
                self.kind, {"executions": 0, "cpu_seconds": 0, "findings": 0})
            row["executions"] += outcome.executions
            row["cpu_seconds"] = round(row["cpu_seconds"] + outcome.seconds, 1)
            row["findings"] += len(outcome.findings)
            self.path.parent.mkdir(parents=True, exist_ok=True)
            whole_file.write(self.path, json.dumps(self.counts, indent=1, sort_keys=True) + "\n")

    def executions(self):
        return sum(row["executions"] for kinds in self.counts.values() for row in kinds.values())


class Campaign:
    """Turns of harnesses, some at a time, until there is no time left."""

    def __init__(self, chosen, harnesses, total):
        self.chosen = chosen
        self.harnesses = harnesses
        self.total = total
        self.sums = {harness.name: Outcome() for harness in harnesses}
        self.stopped = threading.Event()
        self.display = terminal.Display()
        self.running = set()
        self.lock = threading.Lock()
        seconds = (chosen.hours or 0) * 3600
        self.end = time.monotonic() + seconds
        self.turn = min(TURN, seconds * chosen.jobs / len(harnesses)) if chosen.hours else chosen.seconds
        self.waiting = queue.Queue()

    def _turn_of(self, harness, seconds):
        """To the end of the turn, however many findings end a run before."""
        deadline = time.monotonic() + seconds
        while not self.stopped.is_set():
            outcome = harness.run(deadline - time.monotonic())
            self._add(harness, outcome)
            if outcome.failure or deadline - time.monotonic() < 1:
                return
            if len(self.sums[harness.name].findings) >= MAX_FINDINGS:
                return

    def _add(self, harness, outcome):
        self.total.add(harness.name, outcome)
        with self.lock:
            total = self.sums[harness.name]
            for field in ("executions", "seconds", "held_up", "findings"):
                setattr(total, field, getattr(total, field) + getattr(outcome, field))
            for field in ("coverage", "features", "corpus", "peak_mb"):
                setattr(total, field, max(getattr(total, field), getattr(outcome, field)))
            total.failure = total.failure or outcome.failure
        for finding in outcome.findings:
            self.display.say(f"{harness.name}: found {finding}")

    def _work(self):
        while not self.stopped.is_set():
            try:
                harness = self.waiting.get_nowait()
            except queue.Empty:
                return
            seconds = self.turn
            if self.chosen.hours:
                seconds = min(seconds, self.end - time.monotonic())
                if seconds < 1:
                    return
            with self.lock:
                self.running.add(harness)
            self._turn_of(harness, seconds)
            with self.lock:
                self.running.discard(harness)
            if self.chosen.hours and not self.sums[harness.name].failure:
                self.waiting.put(harness)

    def _show(self):
        with self.lock:
            names = " ".join(sorted(harness.name for harness in self.running))
            done = sum(outcome.executions for outcome in self.sums.values())
        self.display.show(f"{names}: {done:,} executions in turns that have ended")

    def run(self):
        for harness in self.harnesses:
            self.waiting.put(harness)
        workers = [threading.Thread(target=self._work, daemon=True) for _ in range(self.chosen.jobs)]
        for worker in workers:
            worker.start()
        try:
            while any(worker.is_alive() for worker in workers):
                self._show()
                # Not by join: an interrupt there may make the thread look ended.
                time.sleep(.2)
        except KeyboardInterrupt:
            # Their statistics are to be counted.
            self.stopped.set()
            for harness in list(self.running):
                harness.stop()
            for worker in workers:
                worker.join(timeout=10)
            raise
        finally:
            self.display.clear()
            print(self.table())

    def table(self):
        header = ("harness", "executions", "per CPU second", "covered edges", "features", "inputs", "peak MB",
                  "findings")
        rows = [header]
        for name, sums in self.sums.items():
            speed = sums.executions / sums.seconds if sums.seconds else 0
            rows.append((name, f"{sums.executions:,}", f"{speed:,.0f}", f"{sums.coverage:,}",
                         f"{sums.features:,}", f"{sums.corpus:,}", f"{sums.peak_mb:,}", str(len(sums.findings))))
        rows.append(("all", f"{sum(sums.executions for sums in self.sums.values()):,}", "", "", "", "", "",
                     str(sum(len(sums.findings) for sums in self.sums.values()))))
        widths = [max(len(row[i]) for row in rows) for i in range(len(header))]
        lines = [row[0].ljust(widths[0]) + "".join("  " + cell.rjust(width)
                                                   for cell, width in zip(row[1:], widths[1:])) for row in rows]
        return "\n".join(lines)

    def report(self):
        """What is to be done; the exit code."""
        broken = 0
        for harness in self.harnesses:
            sums = self.sums[harness.name]
            if sums.held_up:
                print(f"{harness.name}: {sums.held_up} inputs took a second by the clock but not of the CPU: "
                      "the machine is busy")
            for finding in sums.findings:
                print(f"{harness.name}: replay with\n  {harness.replay_command(finding)}\n"
                      f"  its log is {finding}.log")
            if sums.failure:
                print(f"{harness.name} ended without a finding:\n{sums.failure}", file=sys.stderr)
            broken += len(sums.findings) + bool(sums.failure)
        print(f"{self.total.executions():,} executions in all runs counted in {self.total.path}")
        return 1 if broken else 0


def minimise(harnesses):
    for harness in harnesses:
        before = len(list(harness.seeds.iterdir()))
        # Beside it, so that an interrupt leaves nothing half done.
        with tempfile.TemporaryDirectory() as folder:
            merged = pathlib.Path(folder) / "merged"
            shutil.copytree(harness.seeds, merged)
            harness.minimise(merged)
            for path in merged.iterdir():
                if not (harness.seeds / path.name).exists():
                    shutil.copy(path, harness.seeds)
        after = len(list(harness.seeds.iterdir()))
        print(f"{harness.name}: {before} inputs, now {after}")


def main():
    chosen = arguments(sys.argv[1:])
    if chosen.list:
        print("\n".join(harness_names()))
        return 0
    if chosen.build is None or chosen.work is None:
        raise OSError("needs --build and --work: run script/fuzz, which gives them")
    harnesses = []
    for name in chosen.harnesses:
        program = chosen.build / "tests" / "fuzz" / name
        if not program.is_file():
            raise OSError(f"{program} was not built")
        harnesses.append(Harness(program, HERE, chosen.work))
    if chosen.minimise:
        minimise(harnesses)
        return 0
    kind = "plain" if chosen.fast else "address,undefined"
    campaign = Campaign(chosen, harnesses, Total(chosen.total or chosen.work / "total.json", kind))
    campaign.run()
    return campaign.report()


if __name__ == "__main__":
    terminal.run("fuzz", main)
