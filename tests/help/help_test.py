"""The help of a program and of its commands: every option that its sources declare,
each in a line of its own, and nothing that a terminal would not show as text. A
user who cannot read the help cannot find the option.

Usage: help_test.py PROGRAM FOLDER...    FOLDERs hold the sources
"""

import pathlib
import re
import subprocess
import sys
import unittest

PROGRAM, *FOLDERS = sys.argv[1:]

# A string of nothing but the names of an option: "--seed", "-h,--help".
DECLARED = re.compile(r'"(?:-[a-z],)?(--[a-z][a-z0-9-]*)"')
SHOWN = re.compile(r"^ +(?:-[a-z],)?(--[a-z][a-z0-9-]*)", re.M)
COMMAND = re.compile(r"^  ([a-z-]+) ", re.M)
# Only the build uses this option, of tools/program/main.cc.
HIDDEN = {"--write-documents"}


def help_of(*words):
    done = subprocess.run([PROGRAM, *words, "--help"], capture_output=True, timeout=900, check=True)
    return done.stdout.decode()


class Help(unittest.TestCase):
    def setUp(self):
        self.texts = [help_of()]
        _, _, commands = self.texts[0].partition("\nCommands:\n")
        self.texts += [help_of(command) for command in COMMAND.findall(commands)]

    def test_help_is_text(self):
        for text in self.texts:
            with self.subTest(text[:70]):
                self.assertEqual([c for c in text if not c.isprintable() and c != "\n"], [])
                self.assertTrue(text.endswith("\n"))

    def test_help_has_every_option(self):
        declared = set()
        for folder in FOLDERS:
            for source in pathlib.Path(folder).rglob("*.cc"):
                declared |= set(DECLARED.findall(source.read_text()))
        declared -= HIDDEN
        self.assertGreater(len(declared), 2)
        shown = {option for text in self.texts for option in SHOWN.findall(text)}
        self.assertEqual(declared - shown, set())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
