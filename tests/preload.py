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


# Loads a library with RocksDB, runs code, and then loads Deltabloom, as bindings do.
LATER = """if True:
    import ctypes, os, shutil, sys
    plugin, library = sys.argv[1:3]
    rocksdb = ctypes.CDLL(library)
    {code}
    error = ctypes.c_char_p()
    deltabloom = ctypes.CDLL(plugin)
    for again in range(2):
        done = deltabloom.deltabloom_load(None, ctypes.byref(error))
    print(done, error.value.decode() if error.value else "")
"""


def load_later(plugin, library, code="pass", before=(), after="", **variables):
    """The process that has done so. `before`: a command that runs the program."""
    program = LATER.format(code=code) + (f"    {after}\n" if after else "")
    return run(*before, sys.executable, "-c", program, plugin, library, **variables)


# Mounts a folder noexec, with a file in it, and runs a command that sees the mount.
NOEXEC = 'mount -t tmpfs -o noexec none "$1" && cp "$2" "$1" && shift 2 && exec "$@"'


def noexec(folder, file):
    return ["unshare", "-m", "bash", "-c", NOEXEC, "-", folder, file]
