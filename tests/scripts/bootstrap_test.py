"""script/bootstrap where packages are missing, with stand-ins for apt, dpkg and
sudo: what it says, and what it never does.

Usage: bootstrap_test.py SOURCE
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

from terminal import open_terminal  # noqa: E402

SOURCE = pathlib.Path(sys.argv.pop(1))
TOOLS = "bash env cat sed dirname basename sort grep mktemp rm tail tr cut".split()
APT_LINE = re.compile(r"^  apt-get update && apt-get install -y --no-install-recommends (.+)$", re.M)
NO_PASSWORD = 'echo "sudo $*" >>"$CALLS"; exit 1'


class Bootstrap(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        self.calls = self.folder / "calls"
        self.calls.touch()
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool))
        self.stand_in("dpkg-query", "exit 1")
        self.stand_in("id", "echo 1000")
        self.stand_in("sleep", f"exec {shutil.which('sleep')} 0.01")
        self.stand_in("apt-get", 'echo "apt-get $*" >>"$CALLS"')

    def stand_in(self, name, text):
        path = self.bin / name
        path.write_text(f"#!{shutil.which('bash')}\n{text}\n")
        path.chmod(0o755)

    def bootstrap(self, *groups, **streams):
        return self.script("bootstrap", *groups, **streams)

    def script(self, name, *arguments, **streams):
        streams.setdefault("stdin", subprocess.DEVNULL)
        streams.setdefault("stderr", subprocess.PIPE)
        return subprocess.run(
            [shutil.which("bash"), str(SOURCE / "script" / name), *arguments],
            env={"PATH": str(self.bin), "CALLS": str(self.calls), "TMPDIR": str(self.folder)},
            stdout=subprocess.PIPE,
            text=True,
            timeout=60,
            start_new_session=True,
            **streams,
        )

    def assert_tells_what_to_run(self, done, *words):
        self.assertEqual(done.returncode, 1, done.stderr)
        (names,) = APT_LINE.findall(done.stderr)
        names = names.split()
        self.assertEqual(len(names), len(set(names)), "a package is named twice")
        for word in words:
            self.assertIn(word, done.stderr)
        return names

    def test_without_sudo_the_line_to_run_is_told(self):
        groups = "core build demo test bench compare study ci clang fuzz".split()
        names = self.assert_tells_what_to_run(
            self.bootstrap(*groups), "no right to install them. As root, run:"
        )
        for name in ("librocksdb-dev", "wamerican-huge", "rocksdb-tools", "chromium"):
            self.assertIn(name, names)
        self.assertEqual(self.calls.read_text(), "")

    def test_demo_needs_what_draws_only_to_draw(self):
        told = "no right to install them"
        self.assertNotIn("python3-matplotlib", self.assert_tells_what_to_run(self.script("demo"), told))
        for arguments in (["--plot", "demo.png"], ["--plot=demo.png"]):
            names = self.assert_tells_what_to_run(self.script("demo", *arguments), told)
            self.assertIn("python3-matplotlib", names)

    def test_sudo_that_cannot_ask_is_not_waited_for(self):
        self.stand_in("sudo", NO_PASSWORD)
        self.assert_tells_what_to_run(self.bootstrap("demo"), "a password that nobody can type here")
        self.assertEqual(self.calls.read_text(), "sudo -n true\n")

    def test_sudo_that_refuses_on_a_terminal(self):
        self.stand_in("sudo", NO_PASSWORD)
        main, other = open_terminal(self)
        try:
            done = self.bootstrap("demo", stdin=other)
        finally:
            os.close(main)
            os.close(other)
        self.assert_tells_what_to_run(done, "sudo refuses")
        self.assertEqual(self.calls.read_text(), "sudo -v\n")

    def test_sudo_that_needs_no_password_installs(self):
        self.stand_in("sudo", '[ "$1" = -n ] || exec "$@"')
        done = self.bootstrap("demo", "study")
        self.assertEqual(done.returncode, 0, done.stderr)
        update, install = self.calls.read_text().splitlines()
        self.assertEqual(update, "apt-get update")
        self.assertTrue(install.startswith("apt-get install -y --no-install-recommends "), install)
        self.assertEqual(install.count(" libcli11-dev"), 1)
        self.assertTrue(done.stderr.startswith("Installing: libcli11-dev "), done.stderr)

    def test_apt_that_takes_long_shows_that_it_works(self):
        self.stand_in("id", "echo 0")
        go = self.folder / "go"
        slow = shutil.which("sleep")
        self.stand_in(
            "apt-get", f'echo "Get:1 something"; while ! [ -e {go} ]; do {slow} 0.01; done'
        )
        # Time runs by the stand-in: at the 25th second apt may go on.
        self.stand_in(
            "sleep",
            f'echo second >>"$CALLS"; n=0; while read -r _; do n=$((n + 1)); done <"$CALLS"\n'
            f'[ "$n" -lt 25 ] || : >{go}; exec {slow} 0.02',
        )
        done = self.bootstrap("demo")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("  apt-get update, 10 s: Get:1 something\n", done.stderr)
        self.assertIn("  apt-get update, 20 s: ", done.stderr)

    def test_apt_that_fails_shows_its_words(self):
        self.stand_in("id", "echo 0")
        self.stand_in("apt-get", 'echo "E: no such mirror"; exit 100')
        done = self.bootstrap("demo")
        self.assert_tells_what_to_run(done, "E: no such mirror", "apt could not install them")
        self.assertEqual(list(self.folder.glob("tmp.*")), [])

    def test_nothing_is_done_where_nothing_is_missing(self):
        self.stand_in("dpkg-query", "echo installed")
        done = self.bootstrap("demo", "test")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual(self.calls.read_text(), "")

    def test_other_systems_get_the_names(self):
        (self.bin / "dpkg-query").unlink()
        done = self.bootstrap("demo", "study")
        self.assertEqual(done.returncode, 1)
        self.assertIn("not a Debian system", done.stderr)
        self.assertEqual(done.stderr.count("libcli11-dev"), 1)

    def test_an_unknown_group_is_named(self):
        done = self.bootstrap("nonsense")
        self.assertEqual(done.returncode, 2)
        self.assertIn("unknown group 'nonsense': use core, ", done.stderr)


if __name__ == "__main__":
    unittest.main()
