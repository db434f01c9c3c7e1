"""Functions that tests in Python share: the seed of a run, which random.h has for
others, and a terminal."""

import os
import pty
import random


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
