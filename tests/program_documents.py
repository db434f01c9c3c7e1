"""What the manual pages, the completion and the installation of a program must
be. A test of one program names it, as in tests/tools/documents_test.py:

usage: documents_test.py PROGRAM BUILD_DIR CMAKE [unittest options]
"""

import pathlib
import subprocess
import sys
import tempfile

PROGRAM, BUILD_DIR, CMAKE = (pathlib.Path(sys.argv.pop(1)) for _ in range(3))


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=900, check=True)


class ProgramDocuments:
    """Base of a unittest.TestCase, which sets `commands`, for each of which there is
    a manual page, and `component`, that of the installation."""

    def pages(self):
        names = ["", *(f"-{command}" for command in self.commands)]
        return {f"{PROGRAM.name}{name}.1" for name in names}

    def help(self, command):
        return run(PROGRAM, command, "--help").stdout

    def page(self, name):
        """Returns the page as it is shown, with single spaces: lines are stretched."""
        shown = run("groff", "-man", "-ww", "-rHY=0", "-Tascii", "-P-cbou", PROGRAM.parent / name)
        self.assertEqual(shown.stderr, "", name)
        return " ".join(shown.stdout.split())

    def complete(self, *words):
        """Returns what Bash offers for the last of the words."""
        script = (
            'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
            f'_{PROGRAM.name.replace("-", "_")}; printf "%s\\n" "${{COMPREPLY[@]}}"'
        )
        done = run("bash", "-uc", script, "bash", f"{PROGRAM}.bash", PROGRAM.name, *words)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_pages_name_every_command_and_have_no_warnings(self):
        whole = self.page(f"{PROGRAM.name}.1")
        for command in self.commands:
            self.assertIn(f"{PROGRAM.name}-{command}(1)", whole)
            self.page(f"{PROGRAM.name}-{command}.1")

    def test_program_pages_and_completion_are_installed(self):
        with tempfile.TemporaryDirectory() as name:
            run(CMAKE, "--install", BUILD_DIR, "--prefix", name, "--component", self.component)
            prefix = pathlib.Path(name)
            files = {
                str(path.relative_to(prefix)) for path in prefix.rglob("*") if not path.is_dir()
            }
            expected = {f"bin/{PROGRAM.name}", f"share/bash-completion/completions/{PROGRAM.name}"}
            expected |= {f"share/man/man1/{page}" for page in self.pages()}
            self.assertEqual(files, expected)
            version = run(prefix / "bin" / PROGRAM.name, "--version").stdout
            self.assertRegex(version, rf"^{PROGRAM.name} [0-9]+\.[0-9]+")
