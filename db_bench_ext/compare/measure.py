"""Runs the cells of a comparison, keeping each finished run on disk, so that
an interrupted comparison goes on where it stopped."""

import json
import pathlib
import shutil

import databases
import parse
from child import run
from errors import CellError, CompareError

from common import whole_file


class Runs:
    """The finished runs under a folder, one JSON file each."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def path(self, cell, repetition):
        return self.folder / f"{cell.name.replace('/', '_')}@{repetition}.json"

    def load(self, cell, repetition):
        path = self.path(cell, repetition)
        if not path.exists():
            return None
        return json.loads(path.read_text(encoding="utf-8"))

    def save(self, cell, repetition, figures):
        whole_file.write(self.path(cell, repetition), json.dumps(figures, indent=1))


def check_use(cell, figures):
    """The filter must have been asked, and must not have lost a key."""
    database, workload = cell.database, cell.workload
    tickers = figures["tickers"]
    asked = sum(
        tickers.get("rocksdb." + name, 0)
        for name in (
            "bloom.filter.useful",
            "bloom.filter.full.positive",
            "bloom.filter.prefix.checked",
        )
    )
    # Ranges wider than its prefix a prefix filter cannot be asked about.
    always_asked = not workload.fresh and (database.filter.ours or not workload.sparse)
    if database.filter.uri and always_asked and not asked:
        hint = (" (db_bench of newer versions than 7 leaves out the prefix extractor of the "
                "OPTIONS file: use one of RocksDB 7)" if workload.sparse else "")
        raise CellError(f"{cell.name}: the filter was never asked{hint}")
    if not database.filter.uri and asked:
        raise CellError(f"{cell.name}: a filter was asked although there is none")
    complete = workload.name in ("readrandom", "multireadrandom", "readwhilewriting")
    if complete and figures["found"] != figures["asked"]:
        raise CellError(
            f"{cell.name}: {figures['asked'] - figures['found']} keys that were written are missing"
        )


class Measurement:
    def __init__(self, settings, folder, display):
        self.settings = settings
        self.folder = pathlib.Path(folder)
        self.display = display
        self.databases = databases.Databases(self.folder / "databases", settings, display)
        self.runs = Runs(self.folder / "runs")
        self.databases.folder.mkdir(parents=True, exist_ok=True)
        self.failures = {}

    def command(self, cell, path):
        workload, settings = cell.workload, self.settings
        options = self.databases.write_options(
            cell.database, frozen=not workload.writes, prefix=workload.prefix
        )
        command = self.databases.base_command(
            path, options, cell.cache_bytes, cell.database, seed_offset=int(workload.sparse)
        )
        command += [f"--benchmarks={workload.benchmark}", *workload.flags]
        if workload.fresh:
            return command
        reads = max(1, int(settings.reads * workload.reads))
        command += ["--use_existing_db=true", f"--reads={reads}", "--threads=1"]
        if not workload.writes:
            command.append("--disable_auto_compactions=true")
        if workload.prefix:
            command += databases.prefix_flags()
        return command

    def prepare(self, cell):
        """The folder in which the workload runs."""
        scratch = self.databases.folder / "scratch"
        if cell.workload.fresh:
            shutil.rmtree(scratch, ignore_errors=True)
            return scratch
        if cell.workload.writes:
            self.databases.checkpoint(cell.database, cell.workload.prefix, scratch)
            return scratch
        return self.databases.path(cell.database, cell.workload.prefix)

    def measure(self, cell, repetition):
        """Runs the cell once, unless that is done already."""
        figures = self.runs.load(cell, repetition)
        if figures is not None:
            return figures
        if not cell.workload.fresh:
            self.databases.load(cell.database, cell.workload.prefix)
        path = self.prepare(cell)
        command = self.command(cell, path)
        log = self.runs.path(cell, repetition).with_suffix(".log")
        output = run(
            command,
            log,
            cell.name,
            self.settings.timeout_s,
            self.display,
            self.databases.preload(cell.database),
        )
        try:
            figures = parse.result(output, cell.workload.benchmark)
        except CellError as error:
            raise CellError(f"{cell.name}: {error} (see {log})") from error
        check_use(cell, figures)
        if cell.workload.fresh:
            facts = self.databases.table_facts(path)
            self.databases.check_filter(cell.database, facts, path)
        figures["command"] = command
        self.runs.save(cell, repetition, figures)
        shutil.rmtree(self.databases.folder / "scratch", ignore_errors=True)
        return figures

    def check_shapes(self, cells):
        """All databases of a kind must be trees of the same shape, but for
        those that grew, whose shapes the report shows."""
        shapes = {}
        for cell in cells:
            workload = cell.workload
            if workload.fresh or workload.grown or workload.sparse:
                continue
            if cell.database.name in self.failures:
                continue
            facts = self.databases.load(cell.database, workload.prefix)
            levels = tuple(level for level, _ in facts["levels"])
            shapes.setdefault(workload.prefix, {})[cell.database.name] = levels
        for by_name in shapes.values():
            if len(set(by_name.values())) > 1:
                text = ", ".join(f"{name}: levels {list(shape)}" for name, shape in by_name.items())
                raise CompareError(f"the trees differ, a comparison would not be fair: {text}")

    def load_all(self, cells):
        wanted = dict.fromkeys(
            (cell.database, cell.workload.prefix) for cell in cells if not cell.workload.fresh
        )
        for number, (database, prefix) in enumerate(wanted, 1):
            self.display.label = f"[database {number}/{len(wanted)}] "
            try:
                self.databases.load(database, prefix)
            except CellError as error:
                self.failures[database.name] = str(error)
                self.display.say(f"compare: {error}")

    def run_all(self, cells, repetitions):
        """{cell: [figures of each repetition]}; cells that failed are in
        self.failures by name, databases that failed by theirs."""
        self.load_all(cells)
        self.check_shapes(cells)
        done = {cell: [] for cell in cells}
        total = len(cells) * repetitions
        number = 0
        for repetition in range(1, repetitions + 1):
            for cell in cells:
                number += 1
                self.display.label = f"[{number}/{total}] "
                if cell.name in self.failures or cell.database.name in self.failures:
                    continue
                try:
                    done[cell].append(self.measure(cell, repetition))
                except CellError as error:
                    self.failures[cell.name] = str(error)
                    self.display.say(f"compare: {error}")
        self.display.label = ""
        self.display.clear()
        return {
            cell: runs
            for cell, runs in done.items()
            if runs and cell.name not in self.failures
        }
