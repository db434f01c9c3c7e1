"""Small databases of the distribution's db_bench and ldb, for tests of the
command."""

import pathlib
import re
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from preload import run  # noqa: E402

OPTIONS = """
[Version]
  rocksdb_version=7.8.3
  options_file_version=1.1
[DBOptions]
  create_if_missing=true
  {db}
[CFOptions "default"]
  compression=kNoCompression
  {family}
[TableOptions/BlockBasedTable "default"]
  filter_policy={policy}
  {table}
"""


def options_file(database):
    return max(database.glob("OPTIONS-*"))


def edit_options(database, pattern, replacement):
    """Changes one place of the newest OPTIONS file."""
    file = options_file(database)
    text, changes = re.subn(pattern, replacement, file.read_text())
    if changes != 1:
        raise ValueError(f"{pattern} is found {changes} times in {file}")
    file.write_text(text)


class DatabaseTest(unittest.TestCase):
    """Sets of tests name the plugin, with which databases are made."""

    plugin = None

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.made = {}
        cls.copies = 0

    def fill(self, database, policy, benchmarks="fillseq,flush", num=2000, flags=(), **sections):
        """Writes `num` keys with db_bench, under the policy. `sections`: lines for
        db, family and table."""
        lines = {"db": "", "family": "", "table": "", **sections}
        options = self.folder / "options"
        options.write_text(OPTIONS.format(policy=policy, **lines))
        done = run(
            "db_bench",
            f"--options_file={options}",
            f"--db={database}",
            f"--num={num}",
            f"--benchmarks={benchmarks}",
            "--cache_size=8388608",
            "--seed=1",
            *flags,
            preload=self.plugin,
        )
        self.assertEqual(done.returncode, 0, done.stderr)

    def database(self, policy="deltabloom", **details):
        """A copy of a database of one table, of which each kind is made once."""
        kind = repr((policy, details))
        if kind not in self.made:
            self.made[kind] = self.folder / f"original-{len(self.made)}"
            self.fill(self.made[kind], policy, **details)
        type(self).copies += 1
        return shutil.copytree(self.made[kind], self.folder / f"copy-{self.copies}")
