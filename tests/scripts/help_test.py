"""--help of every script, without anything installed or built.

Usage: help_test.py SOURCE
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv[1])
LONG = ["torture", "mutation", "portability", "coverage", "packages"]


def run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, **options)


class HelpTest(unittest.TestCase):
    def test_every_script_tells_how_it_is_used(self):
        # A copy that cannot be written to shows that nothing is built, and a PATH
        # of nothing but these that nothing is installed.
        with tempfile.TemporaryDirectory() as folder:
            top = pathlib.Path(folder) / "top"
            top.mkdir()
            for name in ["script", "db_bench_ext", "tests/fuzz", *(f"tests/{name}" for name in LONG)]:
                shutil.copytree(SOURCE / name, top / name)
            tools = pathlib.Path(folder) / "bin"
            tools.mkdir()
            for tool in ["bash", "env", "cat", "sed", "dirname", "basename"]:
                (tools / tool).symlink_to(shutil.which(tool))
            scripts = sorted(
                path.name
                for path in (SOURCE / "script").iterdir()
                if path.is_file() and path.name != "common.sh"
            )
            self.assertGreater(len(scripts), 6)
            commands = [[script] for script in scripts] + [["test", "--long", name] for name in LONG]
            for command in commands:
                self.check_help(top, command, tools)
            common = top / "script/common.sh"
            common.write_text(common.read_text().replace("/usr/bin/python3", "/no/python3"))
            without = [self.check_help(top, command, tools) for command in commands]
            said = [help for help in without if "once Python is installed" in help]
            self.assertEqual(len(said), 3)
            self.assertFalse((top / "build").exists())

    def check_help(self, top, command, tools):
        with self.subTest(command):
            script, *name = command
            done = run(
                ["/usr/bin/env", "bash", str(top / "script" / script), *name, "--help"],
                cwd=tools,
                env={"PATH": str(tools)},
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stderr, "")
            self.assertIn(" ".join([f"script/{script}", *name]), done.stdout)
            self.assertGreaterEqual(len(done.stdout.splitlines()), 4)
            return done.stdout


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
