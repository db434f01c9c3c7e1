#!/usr/bin/env python3
"""The manual pages and the completion of deltabloom as they are built, and
what is installed.

usage: documents_test.py TOOL_DIR BUILD_DIR CMAKE [unittest options]
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL_DIR, BUILD_DIR, CMAKE = (pathlib.Path(sys.argv.pop(1)) for _ in range(3))
PAGES = [f"deltabloom{name}.1" for name in ("", "-inspect", "-estimate", "-verify", "-doctor")]
# Not every build has these commands.
OPTIONAL = [f"deltabloom-{name}.1" for name in ("refilter", "run")]
PAGES += [page for page in OPTIONAL if (TOOL_DIR / page).exists()]


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=900, check=True)


class ManPages(unittest.TestCase):
    def test_no_warnings(self):
        for page in PAGES:
            result = run("groff", "-man", "-ww", "-z", str(TOOL_DIR / page))
            self.assertEqual(result.stdout + result.stderr, "", page)

    def text(self, page):
        """As it is shown, with single spaces: lines are stretched."""
        shown = run("groff", "-man", "-Tascii", "-P-cbou", str(TOOL_DIR / page)).stdout
        return " ".join(shown.split())

    def test_options_are_those_of_help(self):
        text = self.text("deltabloom-inspect.1")
        shown = run(str(TOOL_DIR / "deltabloom"), "inspect", "--help").stdout
        for word in ("--help", "--json", "PATH...", "deltabloom inspect /var/lib/db"):
            self.assertIn(word, text)
            self.assertIn(word, shown)

    def test_environment_and_exit_status_of_verify(self):
        text = self.text("deltabloom-verify.1")
        status, environment = text.split("EXIT STATUS")[1].split("ENVIRONMENT")
        self.assertIn("could not be checked", status)
        self.assertIn("DELTABLOOM_CPU", environment)
        for word in ("--time-limit DURATION", "--byte-limit SIZE", "--show N"):
            self.assertIn(word, text)


class Completion(unittest.TestCase):
    def complete(self, *words):
        """What Bash offers for the last of the words."""
        script = (
            'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
            '_deltabloom; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        result = run("bash", "-uc", script, "bash", str(TOOL_DIR / "deltabloom.bash"), *words)
        self.assertEqual(result.stderr, "")
        return result.stdout.split()

    def test_offers(self):
        cases = {
            "ins": ["inspect"],
            "--v": ["--version"],
            "inspect --j": ["--json"],
            "inspect a.sst --j": ["--json"],
            "inspect a": [],  # files are left to Bash itself
            "nonsense --": [],
        }
        for words, offered in cases.items():
            self.assertEqual(self.complete("deltabloom", *words.split()), offered, words)
        self.assertIn("inspect", self.complete("deltabloom", ""))


class Installed(unittest.TestCase):
    def test_program_pages_and_completion(self):
        with tempfile.TemporaryDirectory() as name:
            prefix = pathlib.Path(name)
            run(
                str(CMAKE),
                "--install",
                str(BUILD_DIR),
                "--prefix",
                name,
                "--component",
                "deltabloom_tools",
            )
            files = {
                str(path.relative_to(prefix)) for path in prefix.rglob("*") if not path.is_dir()
            }
            expected = {"bin/deltabloom", "share/bash-completion/completions/deltabloom"}
            expected |= {f"share/man/man1/{page}" for page in PAGES}
            self.assertEqual(files, expected)
            self.assertIn("deltabloom ", run(str(prefix / "bin/deltabloom"), "--version").stdout)


if __name__ == "__main__":
    unittest.main()
