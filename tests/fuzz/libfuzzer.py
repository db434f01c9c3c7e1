"""One run of one harness: its command line, what it prints, what it found."""

import dataclasses
import os
import pathlib
import re
import signal
import subprocess

# Of what an input may take. CPU time, but the harness measures by the clock.
SECONDS_PER_INPUT = 1
MEMORY_MB = 512
# Bytes of the longest input made; harnesses for longer ones are named.
MAX_INPUT = 300
MAX_INPUT_OF = {"sst_fuzz": 600}

# A quarantine of freed memory beside the limit, not in it.
SANITIZERS = {
    "ASAN_OPTIONS": "quarantine_size_mb=32:detect_leaks=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


@dataclasses.dataclass
class Outcome:
    executions: int = 0
    seconds: float = 0
    coverage: int = 0
    features: int = 0
    corpus: int = 0
    peak_mb: int = 0
    findings: list = dataclasses.field(default_factory=list)
    # Inputs that took a second by the clock, but not of the CPU.
    held_up: int = 0
    # The end of what a harness said that ended without a finding or statistics.
    failure: str = ""


def last_numbers(pattern, text):
    found = re.findall(pattern, text)
    if not found:
        return None
    return found[-1] if isinstance(found[-1], tuple) else (found[-1],)


def read_log(text):
    """An Outcome of what a harness printed."""
    outcome = Outcome()
    numbers = last_numbers(r"stat::number_of_executed_units: +(\d+)", text)
    if numbers is None:
        # Killed: the last line of progress counts.
        numbers = last_numbers(r"(?m)^#(\d+)\t", text) or ("0",)
        outcome.failure = text[-2000:]
    outcome.executions = int(numbers[0])
    numbers = last_numbers(r"cov: (\d+) ft: (\d+) corp: (\d+)/", text)
    if numbers is not None:
        outcome.coverage, outcome.features, outcome.corpus = map(int, numbers)
    numbers = last_numbers(r"stat::peak_rss_mb: +(\d+)", text)
    if numbers is not None:
        outcome.peak_mb = int(numbers[0])
    return outcome


class Harness:
    """A harness of a build, with its committed corpus and the grown one."""

    def __init__(self, program, source, work):
        self.program = pathlib.Path(program)
        self.name = self.program.name
        self.seeds = source / "corpus" / self.name
        self.dictionary = source / "dictionaries" / self.name
        self.grown = work / "corpus" / self.name
        self.findings = work / "findings" / self.name
        self.log = work / "logs" / f"{self.name}.log"
        self.child = None
        for folder in (self.grown, self.findings, self.log.parent):
            folder.mkdir(parents=True, exist_ok=True)

    def command(self, *options):
        limits = [
            f"-max_len={MAX_INPUT_OF.get(self.name, MAX_INPUT)}",
            f"-timeout={SECONDS_PER_INPUT}",
            f"-rss_limit_mb={MEMORY_MB}",
            f"-malloc_limit_mb={MEMORY_MB}",
            # Weighing inputs takes up to half of the time of small ones.
            "-entropic=0",
            # Nobody else adds to the corpus.
            "-reload=0",
        ]
        if self.dictionary.is_file():
            limits.append(f"-dict={self.dictionary}")
        return [str(self.program), *limits, *options]

    def replay_command(self, finding):
        return f"{self.program} {finding}"

    def _call(self, command, log):
        """Runs a command to its end; the seconds of CPU that it took."""
        with open(log, "wb") as out:
            self.child = subprocess.Popen(
                command, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                # An interrupt at the terminal is ours to pass on.
                env={**SANITIZERS, **os.environ}, start_new_session=True)
            _, status, usage = os.wait4(self.child.pid, 0)
            self.child.returncode = os.waitstatus_to_exitcode(status)
        return usage.ru_utime + usage.ru_stime

    def stop(self):
        """From another thread: the run ends soon, with its statistics."""
        child = self.child
        if child is not None and child.returncode is None:
            try:
                child.send_signal(signal.SIGUSR1)
            except ProcessLookupError:
                pass

    def _takes_too_long(self, finding):
        """Whether an input takes its time from the CPU: on a busy machine a
        harness may just not have been given any."""
        empty = self._call(self.command("-runs=0"), os.devnull)
        once = self._call(self.command("-timeout=600", str(finding)), os.devnull)
        return once - empty > SECONDS_PER_INPUT

    def run(self, seconds):
        """Fuzzes for that long, or to the first finding."""
        before = set(self.findings.iterdir())
        used = self._call(
            self.command(f"-max_total_time={max(1, round(seconds))}", "-print_final_stats=1",
                         f"-artifact_prefix={self.findings}/", str(self.grown), str(self.seeds)),
            self.log)
        outcome = read_log(self.log.read_text(encoding="utf-8", errors="replace"))
        outcome.seconds = used
        for finding in sorted(set(self.findings.iterdir()) - before):
            if finding.name.startswith("timeout-") and not self._takes_too_long(finding):
                finding.unlink()
                outcome.held_up += 1
            else:
                outcome.findings.append(str(finding))
        if outcome.findings:
            # The log tells where: it stays beside its input.
            first = outcome.findings[0]
            pathlib.Path(first + ".log").write_bytes(self.log.read_bytes())
            outcome.failure = ""
        if outcome.held_up or self.child.returncode == 0:
            outcome.failure = ""
        return outcome

    def minimise(self, folder):
        """Adds to the inputs in `folder` those of the grown corpus that reach
        code which these do not."""
        # What is slow was found and judged before.
        self._call(self.command("-set_cover_merge=1", "-use_counters=0", "-timeout=600",
                                f"-artifact_prefix={self.findings}/", str(folder), str(self.grown)),
                   self.log)
        if self.child.returncode != 0:
            raise OSError(f"{self.name} could not merge its corpora: see {self.log}")
