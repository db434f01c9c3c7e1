#!/usr/bin/env python3
"""The manual pages and the completion of deltabloom as they are built, and what is
installed."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from program_documents import PROGRAM, ProgramDocuments  # noqa: E402

# Not every build has these commands.
OPTIONAL = [
    name
    for name in ("refilter", "check", "run")
    if (PROGRAM.parent / f"deltabloom-{name}.1").exists()
]


class Documents(ProgramDocuments, unittest.TestCase):
    commands = ["inspect", "estimate", "verify", "doctor", *OPTIONAL]
    component = "deltabloom_tools"

    def test_options_are_those_of_help(self):
        page, shown = self.page("deltabloom-inspect.1"), self.help("inspect")
        for word in ("--help", "--json", "PATH...", "deltabloom inspect /var/lib/db"):
            self.assertIn(word, page)
            self.assertIn(word, shown)

    def test_environment_and_exit_status_of_verify(self):
        page = self.page("deltabloom-verify.1")
        status, environment = page.split("EXIT STATUS")[1].split("ENVIRONMENT")
        self.assertIn("could not be checked", status)
        self.assertIn("DELTABLOOM_CPU", environment)
        for word in ("--time-limit DURATION", "--byte-limit SIZE", "--show N"):
            self.assertIn(word, page)

    def test_completion(self):
        for words, offered in (
            ("ins", ["inspect"]),
            ("--v", ["--version"]),
            ("inspect --j", ["--json"]),
            ("inspect a.sst --j", ["--json"]),
            ("inspect a", []),  # files are left to Bash itself
            ("nonsense --", []),
        ):
            self.assertEqual(self.complete(*words.split()), offered, words)
        self.assertIn("inspect", self.complete(""))


if __name__ == "__main__":
    unittest.main()
