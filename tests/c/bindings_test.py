"""The examples in Python, Go, Rust and Node open a database with levels, one in
Python scans with range filters.

Usage: bindings_test.py SOURCE LIBDELTABLOOM_ROCKSDB GO RUSTC [unittest options]
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE, LIBRARY = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
GO, RUSTC = ("" if tool.endswith("-NOTFOUND") else tool for tool in sys.argv[3:5])
EXAMPLES = SOURCE / "examples" / "bindings"
NODE = shutil.which("node")


class Bindings(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        # cgo splits flags at blanks, which the folders of the build may have.
        (self.folder / "lib").symlink_to(LIBRARY.parent)
        (self.folder / "include").symlink_to(SOURCE / "include")
        (self.folder / "deltabloom-rocksdb.pc").write_text(
            "Name: x\nDescription: x\nVersion: 0\n"
            f"Libs: -L{self.folder}/lib -ldeltabloom_rocksdb -lrocksdb\n"
            f"Cflags: -I{self.folder}/include\n"
        )
        self.environment = {
            "HOME": str(self.folder),
            **os.environ,
            "PKG_CONFIG_PATH": str(self.folder),
            "LD_LIBRARY_PATH": str(LIBRARY.parent),
            "GO111MODULE": "off",
            # Go would otherwise take flags of an earlier folder from its cache.
            "CGO_CFLAGS": f"-I{self.folder}",
        }

    def run_step(self, *command):
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def check(self, *command):
        self.assertRegex(self.run_step(*command, "database"), r"lookups|level")
        log = (self.folder / "database" / "LOG").read_text()
        self.assertIn("bits_per_key=12 ", log)

    def test_python(self):
        self.check(sys.executable, EXAMPLES / "database.py")

    def test_python_range_scan(self):
        done = self.run_step(sys.executable, EXAMPLES / "range_scan.py", "database")
        # Empty scans at both ends are not even asked of the table.
        self.assertRegex(
            done, r"^3000 orders found; (29\d\d|3000) of 3000 empty scans read nothing\n$"
        )

    @unittest.skipUnless(GO, "Go is not installed (golang-go)")
    def test_go(self):
        self.run_step(GO, "build", "-o", "program", EXAMPLES / "database.go")
        self.check("./program")

    @unittest.skipUnless(RUSTC, "Rust is not installed (rustc)")
    def test_rust(self):
        self.run_step(RUSTC, "-L", LIBRARY.parent, "-o", "program", EXAMPLES / "database.rs")
        self.check("./program")

    @unittest.skipUnless(
        NODE
        and subprocess.run([NODE, "-e", "require('koffi')"], capture_output=True).returncode == 0,
        "Node and koffi are not installed (npm install koffi, NODE_PATH)",
    )
    def test_node(self):
        self.check(NODE, EXAMPLES / "database.js")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)
