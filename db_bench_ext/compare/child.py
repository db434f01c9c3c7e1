"""Runs db_bench and sst_dump as child processes: with a time limit, a display
of progress, and no process left running."""

import atexit
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time


class CompareError(Exception):
    """One line that ends the comparison; finished runs are kept."""


class CellError(Exception):
    """One line about one run that failed; the comparison goes on."""


def tool(name, override=None):
    """The path of a RocksDB tool, or CompareError."""
    path = shutil.which(override or name)
    if path is None:
        raise CompareError(
            f"{override or name} not found; install RocksDB's tools "
            "(Debian: apt-get install rocksdb-tools) or name it with --db-bench"
        )
    return path


def end(process):
    """Ends a child and all it started."""
    for sign, patience in ((signal.SIGTERM, 5), (signal.SIGKILL, 5)):
        try:
            os.killpg(process.pid, sign)
            process.wait(patience)
            return
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


def judge(code, output, log, what):
    """Turns the end of a child into an error where it is one."""
    if "No space left on device" in output:
        raise CompareError(f"{what}: disk full; free space or choose another --output (see {log})")
    if code < 0:
        raise CellError(f"{what}: ended by {signal.Signals(-code).name} (see {log})")
    if code != 0:
        lines = [line for line in output.replace("\r", "\n").splitlines() if line.strip()]
        raise CellError(f"{what}: exit code {code}: {' / '.join(lines[-3:])} (see {log})")


def preloadable(library):
    """A path of a library that LD_PRELOAD takes: the loader splits its value at
    blanks and colons, so that a path with one of them gets a link elsewhere."""
    library = pathlib.Path(library).resolve()
    if not re.search(r"[\s:]", str(library)):
        return str(library)
    folder = tempfile.mkdtemp(prefix="deltabloom_")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    link = pathlib.Path(folder, library.name)
    link.symlink_to(library)
    return str(link)


def run(command, log, what, limit_s, display, preload=None):
    """Runs a command, its output kept in the file `log`; returns the output."""
    environment = dict(os.environ)
    if preload:
        environment["LD_PRELOAD"] = str(preload)
    log = pathlib.Path(log)
    start = time.monotonic()
    try:
        with open(log, "wb") as out:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )
            try:
                while process.poll() is None:
                    seconds = time.monotonic() - start
                    if seconds > limit_s:
                        raise CellError(
                            f"{what}: not done after {limit_s:.0f} s; raise --timeout (see {log})"
                        )
                    display.show(f"{display.label}{what}  {seconds:.0f} s")
                    try:
                        process.wait(0.2)
                    except subprocess.TimeoutExpired:
                        pass
            finally:
                if process.poll() is None:
                    end(process)
    except OSError as error:
        raise CompareError(f"{what}: {error}") from error
    output = log.read_text(encoding="utf-8", errors="replace")
    judge(process.returncode, output, log, what)
    return output
