"""Stock programs of RocksDB, with Deltabloom's plugin and without it."""

import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "db_bench_ext" / "compare"))
from child import preloadable  # noqa: E402, F401

# An OPTIONS file of any policy.
OPTIONS = """
[Version]
  rocksdb_version=7.8.3
  options_file_version=1.1
[DBOptions]
  create_if_missing=true
[CFOptions "default"]
  compression=kNoCompression
[TableOptions/BlockBasedTable "default"]
  filter_policy=%s
"""


def run(*command, preload=None, cwd=None, **variables):
    environment = dict(os.environ, **variables, **({"LD_PRELOAD": str(preload)} if preload else {}))
    return subprocess.run(
        [str(word) for word in command],
        env=environment,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=900,
    )
