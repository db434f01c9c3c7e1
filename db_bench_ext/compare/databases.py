"""Loads one database per filter, all with the same tree, and checks that the
filters are really in it."""

import json
import os
import pathlib
import re
import shutil

import matrix
import parse
from child import CellError, CompareError, run

DONE = "LOADED.json"
PREFIX_SIZE = 8
TOO_FEW = re.compile(r"n is too small to fill (\d+) levels")
PREFIX_FLAGS = [f"--prefix_size={PREFIX_SIZE}", "--keys_per_prefix=10"]

# Everything that a comparison keeps equal; only the filter differs.
OPTIONS = """\
[Version]
  rocksdb_version={version}
  options_file_version=1.1

[DBOptions]
  create_if_missing=true
  use_direct_reads={direct}
  max_open_files=-1
  max_background_jobs=2

[CFOptions "default"]
  num_levels=5
  compression=kNoCompression
  write_buffer_size=524288
  target_file_size_base=2097152
  max_bytes_for_level_base=4194304
  max_bytes_for_level_multiplier=4
  level_compaction_dynamic_level_bytes=false
  disable_auto_compactions={frozen}
{prefix}
[TableOptions/BlockBasedTable "default"]
  cache_index_and_filter_blocks=true
  metadata_cache_options={{top_level_index_pinning=kAll;partition_pinning=kAll;unpartitioned_pinning=kAll}}
  optimize_filters_for_memory=false
{table}"""


class Databases:
    """settings: an object with keys, seed, value_bytes, timeout, version,
    direct, db_bench, sst_dump, plugin; folder: holds the databases."""

    def __init__(self, folder, settings, display):
        self.folder = pathlib.Path(folder)
        self.settings = settings
        self.display = display
        self.loaded = {}

    def run(self, command, log, what, database=None):
        plugin = self.settings.plugin if database and database.filter.ours else None
        return run(command, log, what, self.settings.timeout, self.display, plugin)

    def base_command(self, path, options, cache_bytes):
        settings = self.settings
        return [
            settings.db_bench,
            f"--options_file={options}",
            f"--db={path}",
            f"--num={settings.keys}",
            "--key_size=16",
            "--compression_type=none",
            f"--value_size={settings.value_bytes}",
            f"--cache_size={cache_bytes}",
            f"--seed={settings.seed}",
            "--statistics=true",
            "--histogram=true",
        ]

    def write_options(self, database, frozen, prefix):
        """frozen: no compaction changes the tree. prefix: filters hold prefixes of
        PREFIX_SIZE bytes beside the keys."""
        table = ""
        if database.filter.uri:
            table += f"  filter_policy={database.filter.policy(database.bits_per_key)}\n"
        if database.partitioned:
            table += "  partition_filters=true\n  index_type=kTwoLevelIndexSearch\n"
            table += "  metadata_block_size=4096\n"
        name = f"{database.name}{'' if frozen else '-live'}{'-prefix' if prefix else ''}.options"
        (self.folder / name).write_text(
            OPTIONS.format(
                version=self.settings.version,
                direct=str(self.settings.direct).lower(),
                frozen=str(frozen).lower(),
                prefix=f"  prefix_extractor=rocksdb.FixedPrefix.{PREFIX_SIZE}\n" if prefix else "",
                table=table,
            ),
            encoding="utf-8",
        )
        return self.folder / name

    def path(self, database, prefix):
        return self.folder / (database.name + ("-prefix" if prefix else ""))

    def load(self, database, prefix):
        """Loads the database unless it exists; returns its facts."""
        key = (database.name, prefix)
        if key not in self.loaded:
            path = self.path(database, prefix)
            done = path / DONE
            if not done.exists():
                facts = self.load_anew(database, prefix, path)
                done.write_text(json.dumps(facts), encoding="utf-8")
            self.loaded[key] = json.loads(done.read_text(encoding="utf-8"))
        return self.loaded[key]

    def load_anew(self, database, prefix, path):
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        options = self.write_options(database, frozen=not database.grown, prefix=prefix)
        command = self.base_command(path, options, 64 << 20)
        if database.grown:
            benchmark = "filluniquerandom"
            command.append(f"--benchmarks={benchmark},flush,waitforcompaction,levelstats")
        else:
            benchmark = "filluniquerandomdeterministic"
            command += [f"--benchmarks={benchmark},levelstats", "--disable_auto_compactions=true"]
        command += PREFIX_FLAGS if prefix else []
        what = f"loading {path.name}"
        log = self.folder / f"{path.name}.load.log"
        try:
            output = self.run(command, log, what, database)
        except CellError as error:
            few = TOO_FEW.search(log.read_text(encoding="utf-8", errors="replace"))
            if few:
                raise CompareError(
                    f"{what}: {self.settings.keys:,} keys are too few to fill {few[1]} levels; "
                    "raise --keys, of which the presets take 200,000 and 500,000"
                ) from error
            raise
        figures = parse.result(output, benchmark)
        compactions = figures["histograms"].get("rocksdb.compaction.times.cpu_micros", {"sum": 0})
        facts = {
            **self.table_facts(path),
            "load_seconds": figures["seconds"],
            "levels": parse.levels(output),
            "compaction_cpu_seconds": compactions["sum"] / 1e6,
        }
        self.check_filter(database, facts, path)
        return facts

    def table_facts(self, path):
        command = [self.settings.sst_dump, f"--file={path}", "--command=none", "--show_properties"]
        log = self.folder / f"{path.name}.properties.log"
        facts = parse.table_properties(
            self.run(command, log, f"reading table properties of {path.name}")
        )
        facts["bits_per_key"] = 8 * facts["filter_bytes"] / max(1, facts["filter_entries"])
        return facts

    def check_filter(self, database, facts, path):
        """RocksDB silently drops a policy that it does not know."""
        if not database.filter.uri:
            if facts["filter_bytes"]:
                raise CellError(f"{path.name}: has filters although the OPTIONS file names none")
            return
        if not facts["filter_bytes"] or not facts["filter_entries"]:
            raise CellError(
                f"{path.name}: loaded without filters: db_bench does not know the policy "
                f"{database.filter.policy(database.bits_per_key)}"
            )
        log = (path / "LOG").read_text(encoding="utf-8", errors="replace")
        # Paths may contain our name, too.
        policies = re.findall(r"^ *filter_policy: (\S+)", log, re.MULTILINE)
        if database.filter.ours != ("deltabloom" in policies):
            raise CellError(
                f"{path.name}: {path / 'LOG'} does not name the policy of the OPTIONS file"
            )

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
