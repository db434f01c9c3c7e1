"""The seed of this run, for tests in Python, as random.h has it for others."""

import os
import random


def seed_of_this_run():
    """A fresh seed, or the one in the environment variable DELTABLOOM_SEED;
    printed, so that a failure can be repeated."""
    wish = os.environ.get("DELTABLOOM_SEED")
    seed = int(wish) if wish else random.SystemRandom().randrange(1, 2**31)
    print(f"DELTABLOOM_SEED={seed}", flush=True)
    return seed
