"""Bytes that a release has written stay what they are: the goldens and known answers
of each release are listed in released.json with their SHA-256, and none may change
or go. New bytes get a new marker, and a file of their own.

A new release is listed by

    released_test.py SOURCE --list VERSION

Usage: released_test.py SOURCE [unittest options]
"""

import hashlib
import json
import pathlib
import re
import sys
import unittest

SOURCE = pathlib.Path(sys.argv.pop(1))
LIST = pathlib.Path(__file__).with_name("released.json")
# Measurements, which define nothing.
NO_FORMAT = {"tests/data/false_positive_rates.csv"}


def known_answers():
    """The SHA-256 of each file of known answers, by its path."""
    folders = ("tests/golden", "tests/data", "shared_filters/tests/data")
    paths = sorted(path for folder in folders for path in SOURCE.glob(f"{folder}/*.csv"))
    hashes = {
        path.relative_to(SOURCE).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in paths
    }
    return {name: value for name, value in hashes.items() if name not in NO_FORMAT}


class Released(unittest.TestCase):
    def test_no_known_answer_has_changed(self):
        now = known_answers()
        for version, files in json.loads(LIST.read_text()).items():
            for name, value in files.items():
                self.assertEqual(
                    now.get(name),
                    value,
                    f"{name} is part of release {version}: see released_test.py",
                )

    def test_every_release_is_listed(self):
        log = (SOURCE / "CHANGELOG.md").read_text()
        released = re.findall(r"^## ([0-9.]+) \([0-9-]+\)$", log, re.MULTILINE)
        self.assertGreaterEqual(len(released), 1)
        self.assertEqual(set(json.loads(LIST.read_text())), set(released))


def list_release(version):
    releases = json.loads(LIST.read_text()) if LIST.exists() else {}
    releases[version] = known_answers()
    LIST.write_text(json.dumps(releases, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--list"]:
        list_release(sys.argv[2])
    else:
        unittest.main()
