"""Functions that tests in Python share: the seed of a run, which random.h has for
others, a terminal, and whether a script takes the options of its program."""

import os
import pathlib
import pty
import random
import re
import subprocess


def seed_of_this_run():
    """A fresh seed, or the one in the environment variable DELTABLOOM_SEED;
    printed, so that a failure can be repeated."""
    wish = os.environ.get("DELTABLOOM_SEED")
    seed = int(wish) if wish else random.SystemRandom().randrange(1, 2**31)
    print(f"DELTABLOOM_SEED={seed}", flush=True)
    return seed


def open_terminal(test):
    """Both ends, as pty.openpty() gives them; skips `test` where none are to be
    had, as in a chroot without /dev/pts."""
    try:
        return pty.openpty()
    except OSError as error:
        test.skipTest(str(error))


def assert_script_takes_options_of(test, script, program):
    """The script checks options before it builds the program, from a list of its
    own. It must have all options that the program's help names."""
    usage = subprocess.run([program, "--help"], capture_output=True, text=True, check=True)
    options = set(re.findall(r"^ +(?:-[a-z],)?(--[a-z-]+)", usage.stdout, re.MULTILINE))
    text = (pathlib.Path(__file__).parents[1] / "script" / script).read_text()
    test.assertEqual(options - set(re.findall(r"--[a-z-]+", text)), {"--help"})
