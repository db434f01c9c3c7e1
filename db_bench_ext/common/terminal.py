"""The output of a script that runs: one line of progress, one line of error, and
the end by an interrupt."""

import os
import shutil
import signal
import stat
import sys

INTERRUPTED = 130


class Display:
    """One line on the terminal that says what runs; nothing elsewhere, nor
    while standard output is a pipe (common/program.h says why)."""

    def __init__(self, stream=sys.stderr):
        self.stream = stream
        out = os.fstat(1).st_mode
        self.live = stream.isatty() and not stat.S_ISFIFO(out) and not stat.S_ISSOCK(out)
        self.label = ""

    def show(self, text):
        if self.live:
            width = shutil.get_terminal_size().columns - 1
            self.stream.write("\r\033[K" + text[:width])
            self.stream.flush()

    def clear(self):
        self.show("")

    def say(self, text):
        """A line that stays."""
        self.clear()
        print(text, file=self.stream, flush=True)


def run(name, main, errors=(OSError,)):
    """Runs main() and ends with its result as exit code. SIGINT and SIGTERM are
    KeyboardInterrupt in it, once, so that cleaning up is not disturbed; that
    and `errors` become one line on standard error."""

    def interrupt(_signal, _frame):
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)
    display = Display()
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        display.say(f"{name}: interrupted")
        sys.exit(INTERRUPTED)
    except errors as error:
        display.say(f"{name}: {error}")
        sys.exit(1)
