"""Runs the cells of a comparison. Each finished run is kept on disk, so that an
interrupted comparison continues where it stopped."""

import json
import pathlib
import shutil

import databases
import parse
from child import CellError, CompareError

from common import whole_file

COMPLETE = ("readrandom", "multireadrandom", "readwhilewriting")  # find every key


def check_use(cell, figures):
    """The filter must have been used, and must not have lost a key."""
    database, workload = cell.database, cell.workload
    asked = sum(
        figures["tickers"].get("rocksdb.bloom.filter." + name, 0)
        for name in ("useful", "full.positive", "prefix.checked")
    )
    if database.filter.uri and not workload.fresh and not asked:
        raise CellError(f"{cell.name}: the filter was never asked")
    if not database.filter.uri and asked:
        raise CellError(f"{cell.name}: a filter was asked although there is none")
    if workload.name in COMPLETE and figures["found"] != figures["asked"]:
        raise CellError(
            f"{cell.name}: {figures['asked'] - figures['found']} keys that were written are missing"
        )


class Measurement:
    def __init__(self, settings, folder, display):
        self.settings = settings
        self.display = display
        self.databases = databases.Databases(folder / "databases", settings, display)
        self.runs = pathlib.Path(folder / "runs")
        for made in (self.databases.folder, self.runs):
            made.mkdir(parents=True, exist_ok=True)
        self.failures = {}

    def command(self, cell, path):
        workload, settings = cell.workload, self.settings
        options = self.databases.write_options(cell.database, not workload.writes, workload.prefix)
        command = self.databases.base_command(path, options, cell.cache_bytes)
        command += [f"--benchmarks={workload.benchmark}", *workload.flags]
        if workload.fresh:
            return command
        reads = max(1, int(settings.reads * workload.reads))
        command += ["--use_existing_db=true", f"--reads={reads}", "--threads=1"]
        if not workload.writes:
            command.append("--disable_auto_compactions=true")
        return command + (databases.PREFIX_FLAGS if workload.prefix else [])

    def measure(self, cell, repetition):
        """Runs the cell once, unless that run is finished."""
        finished = self.runs / f"{cell.name.replace('/', '_')}@{repetition}.json"
        if finished.exists():
            return json.loads(finished.read_text(encoding="utf-8"))
        database, workload = cell.database, cell.workload
        scratch = self.databases.folder / "scratch"
        path = scratch
        shutil.rmtree(scratch, ignore_errors=True)
        if not workload.fresh:
            self.databases.load(database, workload.prefix)
            if workload.writes:
                self.databases.checkpoint(database, workload.prefix, scratch)
            else:
                path = self.databases.path(database, workload.prefix)
        command = self.command(cell, path)
        log = finished.with_suffix(".log")
        output = self.databases.run(command, log, cell.name, database)
        try:
            figures = parse.result(output, workload.benchmark)
        except CellError as error:
            raise CellError(f"{cell.name}: {error} (see {log})") from error
        check_use(cell, figures)
        if workload.fresh:
            self.databases.check_filter(database, self.databases.table_facts(path), path)
        figures["command"] = command
        whole_file.write(finished, json.dumps(figures, indent=1))
        shutil.rmtree(scratch, ignore_errors=True)
        return figures

    def check_shapes(self, cells):
        """All trees must have the same levels, except those that grew: the report
        shows theirs."""
        shapes = {}
        for cell in cells:
            database, workload = cell.database, cell.workload
            if workload.fresh or workload.grown or database.name in self.failures:
                continue
            facts = self.databases.load(database, workload.prefix)
            levels = [level for level, _ in facts["levels"]]
            shapes.setdefault(workload.prefix, {})[database.name] = levels
        for by_name in shapes.values():
            if len(set(map(tuple, by_name.values()))) > 1:
                text = ", ".join(f"{name}: levels {shape}" for name, shape in by_name.items())
                raise CompareError(f"the trees differ, a comparison would not be fair: {text}")

    def attempt(self, name, label, action):
        """Returns the result of action(). Keeps a failure by name."""
        self.display.label = f"[{label}] "
        try:
            return action()
        except CellError as error:
            self.failures[name] = str(error)
            self.display.say(f"script/compare: {error}")
            return None

    def run_all(self, cells, repetitions):
        """{cell: [figures of each repetition]} without the cells that failed."""
        wanted = dict.fromkeys(
            (one.database, one.workload.prefix) for one in cells if not one.workload.fresh
        )
        for number, (database, prefix) in enumerate(wanted, 1):
            self.attempt(
                database.name,
                f"database {number}/{len(wanted)}",
                lambda one=database, other=prefix: self.databases.load(one, other),
            )
        self.check_shapes(cells)
        done = {cell: [] for cell in cells}
        rounds = [(repetition, cell) for repetition in range(1, repetitions + 1) for cell in cells]
        for number, (repetition, cell) in enumerate(rounds, 1):
            if self.failures.keys() & {cell.name, cell.database.name}:
                continue
            done[cell].append(
                self.attempt(
                    cell.name,
                    f"{number}/{len(rounds)}",
                    lambda one=cell, at=repetition: self.measure(one, at),
                )
            )
        self.display.label = ""
        self.display.clear()
        return {
            cell: runs for cell, runs in done.items() if runs and cell.name not in self.failures
        }
