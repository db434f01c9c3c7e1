#!/usr/bin/env python3
"""The manual pages and the completion of deltabloom-shared as they are built, and
what is installed."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tests"))

from program_documents import ProgramDocuments  # noqa: E402


class Documents(ProgramDocuments, unittest.TestCase):
    commands = "create add check rebuild info confirm move export import delete".split()
    component = "deltabloom_shared_tools"

    def test_every_command_has_the_options_of_the_server(self):
        self.assertIn("DELTABLOOM_REDIS_PASSWORD", self.page("deltabloom-shared.1"))
        for command in self.commands:
            page, shown = self.page(f"deltabloom-shared-{command}.1"), self.help(command)
            for word in (
                "--host HOST",
                "--password-file FILE",
                "--json",
                "DELTABLOOM_REDIS_PASSWORD",
            ):
                self.assertIn(word, page)
                self.assertIn(word, shown)
        self.assertIn("--fail-closed", self.page("deltabloom-shared-check.1"))
        self.assertNotIn("--fail-closed", self.page("deltabloom-shared-info.1"))

    def test_completion(self):
        for words, offered in (
            ("reb", ["rebuild"]),
            ("check --fail", ["--fail-closed"]),
            ("info --fail", []),
            ("check n", []),
            ("--v", ["--version"]),
        ):
            self.assertEqual(self.complete(*words.split()), offered, words)


if __name__ == "__main__":
    unittest.main()
