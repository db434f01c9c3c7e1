"""The scripts: their help, what they install, and where they write. Nothing is
installed or built.

Usage: scripts_test.py SOURCE
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from support import open_terminal  # noqa: E402

SOURCE = pathlib.Path(sys.argv.pop(1))
LONG = ["torture", "stress", "mutation", "portability", "coverage", "packages", "abi"]
TOOLS = "bash env cat sed dirname basename".split()
APT_LINE = re.compile(
    r"^  apt-get update && apt-get install -y --no-install-recommends (.+)$", re.M
)
NO_PASSWORD = 'echo "sudo $*" >>"$CALLS"; exit 1'


def run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, timeout=900, **options)


class ScriptTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(
            self.enterContext(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        )

    def path_with(self, tools):
        folder = self.folder / "bin"
        folder.mkdir()
        for tool in tools:
            (folder / tool).symlink_to(shutil.which(tool))
        return folder


class Help(ScriptTest):
    """--help of every script, without anything installed or built."""

    def test_every_script_tells_how_it_is_used(self):
        # A copy that cannot be written to shows that nothing is built, and a PATH
        # of nothing but these that nothing is installed.
        top = self.folder / "top"
        top.mkdir()
        for name in ["script", "db_bench_ext", "tests/fuzz", *(f"tests/{name}" for name in LONG)]:
            shutil.copytree(SOURCE / name, top / name)
        tools = self.path_with(TOOLS)
        scripts = sorted({path.name for path in (SOURCE / "script").iterdir()} - {"common.sh"})
        self.assertGreater(len(scripts), 6)
        commands = [[script] for script in scripts] + [["test", "--long", name] for name in LONG]
        for command in commands:
            self.check_help(top, command, tools)
        common = top / "script/common.sh"
        common.write_text(common.read_text().replace("/usr/bin/python3", "/no/python3"))
        without = [self.check_help(top, command, tools) for command in commands]
        self.assertEqual(sum("once Python is installed" in text for text in without), 4)
        self.assertFalse((top / "build").exists())

    def check_help(self, top, command, tools):
        with self.subTest(command):
            script, *name = command
            done = run(
                ["/usr/bin/env", "bash", str(top / "script" / script), *name, "--help"],
                cwd=tools,
                env={"PATH": str(tools)},
            )
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn(" ".join([f"script/{script}", *name]), done.stdout)
            self.assertGreaterEqual(len(done.stdout.splitlines()), 4)
            return done.stdout


class Bootstrap(ScriptTest):
    """script/bootstrap where packages are missing, with stand-ins for apt, dpkg and
    sudo."""

    def setUp(self):
        super().setUp()
        self.bin = self.path_with([*TOOLS, *"sort grep mktemp rm tail tr cut".split()])
        self.calls = self.folder / "calls"
        self.calls.touch()
        self.stand_in("dpkg-query", "exit 1")
        self.stand_in("id", "echo 1000")
        self.stand_in("sleep", f"exec {shutil.which('sleep')} 0.01")
        self.stand_in("apt-get", 'echo "apt-get $*" >>"$CALLS"')

    def stand_in(self, name, text):
        path = self.bin / name
        path.write_text(f"#!{shutil.which('bash')}\n{text}\n")
        path.chmod(0o755)

    def bootstrap(self, *groups, name="bootstrap", stdin=subprocess.DEVNULL):
        return run(
            [shutil.which("bash"), SOURCE / "script" / name, *groups],
            stdin=stdin,
            start_new_session=True,
            env={
                "PATH": str(self.bin),
                "CALLS": str(self.calls),
                "TMPDIR": str(self.folder),
                "BUILD_DIR": str(self.folder),
            },
        )

    def assert_tells_what_to_run(self, done, *words):
        self.assertEqual(done.returncode, 1, done.stderr)
        (names,) = APT_LINE.findall(done.stderr)
        names = names.split()
        self.assertEqual(len(names), len(set(names)), "a package is named twice")
        for word in words:
            self.assertIn(word, done.stderr)
        return names

    def test_without_sudo_the_line_to_run_is_printed(self):
        groups = "core build demo test bench compare study ci clang fuzz".split()
        names = self.assert_tells_what_to_run(
            self.bootstrap(*groups), "no right to install them. As root, run:"
        )
        for name in ("librocksdb-dev", "wamerican-huge", "rocksdb-tools", "chromium"):
            self.assertIn(name, names)
        self.assertEqual(self.calls.read_text(), "")

    def test_demo_needs_what_draws_only_to_draw(self):
        printed = "no right to install them"
        for arguments in ([], ["--plot", "demo.png"], ["--plot=demo.png"]):
            names = self.assert_tells_what_to_run(self.bootstrap(*arguments, name="demo"), printed)
            self.assertEqual("python3-matplotlib" in names, bool(arguments))

    def test_bad_options_are_refused_before_anything_is_installed(self):
        for name, arguments, said in (
            ("demo", "--keys abc", "--keys 'abc' is not a number"),
            ("demo", "--key 1", "bad option '--key'"),
            ("demo", "--plot --keys 10k", "--plot needs a value"),
            ("bench", "--report --repetition 2", "bad option '--repetition'"),
            ("study", "colours", "bad option 'colours'"),
        ):
            done = self.bootstrap(*arguments.split(), name=name)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertEqual(done.stderr, f"script/{name}: {said}: see script/{name} --help\n")
        for name, arguments, said in (
            ("compare", "--keys abc", "--keys: invalid positive value: 'abc'"),
            ("fuzz", "no_fuzz", "there is no harness 'no_fuzz'"),
            ("test", "--cor", "--cor"),
            ("test", "--long torture --nonsense", "--nonsense"),
        ):
            done = self.bootstrap(*arguments.split(), name=name)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(said, done.stderr)
        self.assertEqual(self.calls.read_text(), "")

    def test_sudo_without_a_password(self):
        self.stand_in("sudo", NO_PASSWORD)
        self.assert_tells_what_to_run(
            self.bootstrap("demo"), "sudo needs a password, and there is no terminal"
        )
        ends = open_terminal(self)
        done = self.bootstrap("demo", stdin=ends[1])
        for end in ends:
            os.close(end)
        self.assert_tells_what_to_run(done, "sudo refuses")
        self.assertEqual(self.calls.read_text(), "sudo -n true\nsudo -v\n")

    def test_sudo_that_needs_no_password_installs(self):
        self.stand_in("sudo", '[ "$1" = -n ] || exec "$@"')
        done = self.bootstrap("demo", "study")
        self.assertEqual(done.returncode, 0, done.stderr)
        update, install = self.calls.read_text().splitlines()
        self.assertEqual(update, "apt-get update")
        self.assertTrue(install.startswith("apt-get install -y --no-install-recommends "), install)
        self.assertEqual(install.count(" libcli11-dev"), 1)
        self.assertTrue(done.stderr.startswith("Installing: libcli11-dev "), done.stderr)

    def test_other_outcomes(self):
        done = self.bootstrap("nonsense")
        self.assertEqual(done.returncode, 2)
        self.assertIn("unknown group 'nonsense': use core, ", done.stderr)
        self.stand_in("dpkg-query", "echo installed")
        done = self.bootstrap("demo", "test")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual(self.calls.read_text(), "")
        (self.bin / "dpkg-query").unlink()
        done = self.bootstrap("demo", "study")
        self.assertEqual(done.returncode, 1)
        self.assertIn("not a Debian system", done.stderr)
        self.assertEqual(done.stderr.count("libcli11-dev"), 1)


if __name__ == "__main__":
    unittest.main()
