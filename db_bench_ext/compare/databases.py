"""Loads one database per filter, all of the same tree, and checks that the
filter asked for is really in it."""

import json
import os
import pathlib
import re
import shutil
import time

import matrix
import options_file
import parse
from child import run
from errors import CellError, CompareError

DONE = "LOADED.json"


class Databases:
    """settings: an object with keys, seed, value_bytes, timeout_s, version,
    direct, db_bench, sst_dump, plugin; folder: where databases live."""

    def __init__(self, folder, settings, display):
        self.folder = pathlib.Path(folder)
        self.settings = settings
        self.display = display
        self.loaded = {}

    def base_command(self, path, options, cache_bytes, database=None, seed_offset=0):
        settings = self.settings
        gap = matrix.SPARSE_GAP if database and database.sparse else 1
        command = [
            settings.db_bench,
            f"--options_file={options}",
            f"--db={path}",
            f"--num={settings.keys * gap}",
            "--key_size=16",
            "--compression_type=none",
            f"--value_size={settings.value_bytes}",
            f"--cache_size={cache_bytes}",
            # Seeks of the numbers that were drawn for keys would find them.
            f"--seed={settings.seed + seed_offset}",
            "--statistics=true",
            "--histogram=true",
        ]
        return command

    def preload(self, database):
        return self.settings.plugin if database.filter.ours else None

    def write_options(self, database, frozen, prefix):
        name = f"{database.name}{'' if frozen else '-live'}{'-prefix' if prefix else ''}.options"
        path = self.folder / name
        path.write_text(
            options_file.text(
                self.settings.version, database, frozen, self.settings.direct, prefix
            ),
            encoding="utf-8",
        )
        return path

    def path(self, database, prefix):
        return self.folder / (database.name + ("-prefix" if prefix else ""))

    def load(self, database, prefix):
        """Loads the database unless it is there; returns its facts."""
        key = (database.name, prefix)
        if key in self.loaded:
            return self.loaded[key]
        path = self.path(database, prefix)
        done = path / DONE
        if done.exists():
            facts = json.loads(done.read_text(encoding="utf-8"))
        else:
            facts = self.load_anew(database, prefix, path)
            done.write_text(json.dumps(facts), encoding="utf-8")
        self.loaded[key] = facts
        return facts

    def load_anew(self, database, prefix, path):
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        grows = database.grown or database.sparse
        options = self.write_options(database, frozen=not grows, prefix=prefix)
        command = self.base_command(path, options, 64 << 20, database)
        if grows:
            benchmark = "filluniquerandom"
            if database.sparse:
                benchmark = "fillrandom"
                command.append(f"--writes={self.settings.keys}")
            command += [f"--benchmarks={benchmark},flush,waitforcompaction,levelstats"]
        else:
            benchmark = "filluniquerandomdeterministic"
            command += [f"--benchmarks={benchmark},levelstats", "--disable_auto_compactions=true"]
        if prefix:
            command += prefix_flags()
        what = f"loading {path.name}"
        start = time.monotonic()
        output = run(
            command,
            self.folder / f"{path.name}.load.log",
            what,
            self.settings.timeout_s,
            self.display,
            self.preload(database),
        )
        seconds = time.monotonic() - start
        figures = parse.result(output, benchmark)
        facts = self.table_facts(path)
        facts.update(
            load_seconds=figures["seconds"],
            load_wall_seconds=seconds,
            levels=parse.levels(output),
            compaction_cpu_seconds=figures["histograms"]
            .get("rocksdb.compaction.times.cpu_micros", {"sum": 0})["sum"]
            / 1e6,
            command=command,
        )
        self.check_filter(database, facts, path)
        return facts

    def table_facts(self, path):
        output = run(
            [self.settings.sst_dump, f"--file={path}", "--command=none", "--show_properties"],
            self.folder / f"{path.name}.properties.log",
            f"reading table properties of {path.name}",
            self.settings.timeout_s,
            self.display,
        )
        facts = parse.table_properties(output)
        facts["bits_per_key"] = (
            8 * facts["filter_bytes"] / facts["filter_entries"] if facts["filter_entries"] else 0
        )
        return facts

    def check_filter(self, database, facts, path):
        """A policy that RocksDB does not know is dropped without a word, and
        the database is then loaded without a filter."""
        if not database.filter.uri:
            if facts["filter_bytes"]:
                raise CellError(f"{path.name}: has filters although none were asked for")
            return
        if not facts["filter_bytes"] or not facts["filter_entries"]:
            raise CellError(
                f"{path.name}: loaded without filters: db_bench does not know the policy "
                f"{database.filter.policy(database.bits_per_key)}"
            )
        log = (path / "LOG").read_text(encoding="utf-8", errors="replace")
        # Paths may hold our name, too.
        policies = re.findall(r"^ *filter_policy: (\S+)", log, re.MULTILINE)
        if database.filter.ours != ("deltabloom" in policies):
            raise CellError(f"{path.name}: {path / 'LOG'} does not name the policy asked for")

    def checkpoint(self, database, prefix, target):
        """A copy that shares the tables by hard links: they never change."""
        source = self.path(database, prefix)
        shutil.rmtree(target, ignore_errors=True)
        try:
            target.mkdir(parents=True)
            for file in source.iterdir():
                if file.suffix == ".sst":
                    os.link(file, target / file.name)
                elif file.name not in ("LOCK", DONE) and not file.name.startswith("LOG"):
                    shutil.copy2(file, target / file.name)
        except OSError as error:
            raise CompareError(f"copying {source} to {target}: {error.strerror}") from error


def prefix_flags():
    return [
        f"--prefix_size={options_file.PREFIX_SIZE}",
        f"--keys_per_prefix={options_file.KEYS_PER_PREFIX}",
    ]
