#!/usr/bin/env python3
"""The manual pages and the completion of deltabloom-shared as they are built, and
what is installed.

usage: documents_test.py DELTABLOOM_SHARED BUILD_DIR CMAKE [unittest options]
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL, BUILD_DIR, CMAKE = (pathlib.Path(sys.argv.pop(1)) for _ in range(3))
COMMANDS = [
    "create",
    "add",
    "check",
    "rebuild",
    "info",
    "confirm",
    "move",
    "export",
    "import",
    "delete",
]
PAGES = ["deltabloom-shared.1", *(f"deltabloom-shared-{command}.1" for command in COMMANDS)]


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=900, check=True)


class Documents(unittest.TestCase):
    def page(self, name):
        """As it is shown, with single spaces: lines are stretched."""
        shown = run("groff", "-man", "-ww", "-rHY=0", "-Tascii", "-P-cbou", str(TOOL.parent / name))
        self.assertEqual(shown.stderr, "", name)
        return " ".join(shown.stdout.split())

    def test_pages_have_every_command_and_its_options(self):
        whole = self.page("deltabloom-shared.1")
        self.assertIn("DELTABLOOM_REDIS_PASSWORD", whole)
        for command in COMMANDS:
            self.assertIn(f"deltabloom-shared-{command}(1)", whole)
            page = self.page(f"deltabloom-shared-{command}.1")
            shown = run(str(TOOL), command, "--help").stdout
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
        script = (
            'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
            '_deltabloom_shared; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        for words, offered in (
            ("reb", ["rebuild"]),
            ("check --fail", ["--fail-closed"]),
            ("info --fail", []),
            ("check n", []),
            ("--v", ["--version"]),
        ):
            result = run(
                "bash", "-uc", script, "bash", f"{TOOL}.bash", "deltabloom-shared", *words.split()
            )
            self.assertEqual((result.stdout.split(), result.stderr), (offered, ""), words)

    def test_what_is_installed(self):
        with tempfile.TemporaryDirectory() as name:
            prefix = pathlib.Path(name)
            run(
                str(CMAKE),
                "--install",
                str(BUILD_DIR),
                "--prefix",
                name,
                "--component",
                "deltabloom_shared_tools",
            )
            files = {
                str(path.relative_to(prefix)) for path in prefix.rglob("*") if not path.is_dir()
            }
            expected = {
                "bin/deltabloom-shared",
                "share/bash-completion/completions/deltabloom-shared",
            }
            self.assertEqual(files, expected | {f"share/man/man1/{page}" for page in PAGES})
            self.assertIn(
                "deltabloom-shared ", run(str(prefix / "bin/deltabloom-shared"), "--version").stdout
            )


if __name__ == "__main__":
    unittest.main()
