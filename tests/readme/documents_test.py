"""Tests that commands and programs of the documents work when they are pasted. README and the
guide: C++ compiles, programs run, and RocksDB takes the policies.
docs/operations.md: its commands run in their order in one shell; its alerts, dashboard and
tickers have names that exist.

Usage: documents_test.py SOURCE CXX LIBRARY TOOL ROCKSDB_INCLUDE [unittest options]
"""

import ctypes
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE, CXX, LIBRARY, TOOL, ROCKSDB = sys.argv[1:6]
os.environ["PATH"] = f"{pathlib.Path(TOOL).parent}:{os.environ['PATH']}"
README, GUIDE, TEXT = (
    (pathlib.Path(SOURCE) / name).read_text()
    for name in ("README.md", "docs/guide.md", "docs/operations.md")
)
README += GUIDE


def blocks(text, language):
    """The blocks of a Markdown text that are marked as `language`."""
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def run(script, folder):
    """Runs a script in one shell, which stops at the first failure."""
    command = ["bash", "-euo", "pipefail", "-c", script]
    return subprocess.run(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=900,
    )


def compile_error(program):
    """Returns the errors of a C++17 compiler; empty if it accepts the program."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "paste.cc"
        file.write_text(program)
        command = [
            CXX,
            "-std=c++17",
            "-Wall",
            "-Wno-unused",
            "-fsyntax-only",
            f"-I{SOURCE}/include",
            str(file),
        ]
        done = subprocess.run(command, capture_output=True, text=True)
    return done.stderr or ("failed" if done.returncode else "")


# The text that a block of C++ needs before it to compile. Each block is found
# by a name that occurs in no other.
SURROUNDINGS = {
    "NewRocksDBFilterPolicy": "",
    "FilterBuilder": "#include <deltabloom/filter.h>\n",
    "FitRocksDBFilters": "#include <deltabloom/rocksdb.h>\n#include <rocksdb/db.h>\n"
    "rocksdb::DB* db;\nrocksdb::ColumnFamilyHandle* family;\nstd::string error;\n"
    "std::vector<rocksdb::ColumnFamilyHandle*> families;\nrocksdb::Status status;\n",
    "RocksDBRanges::New": "",
}


class Readme(unittest.TestCase):
    def test_blocks_of_cpp_compile(self):
        found = blocks(README, "cpp")
        self.assertGreaterEqual(len(found), 3)
        for block in found:
            names = [name for name in SURROUNDINGS if name in block]
            self.assertEqual(len(names), 1, block)
            lines = block.splitlines()
            includes = [line for line in lines if line.startswith("#include")]
            body = [line for line in lines if not line.startswith("#include")]
            if "int main() {" not in body:
                body = ["void Paste() {", *body, "}"]
            program = "\n".join([*includes, SURROUNDINGS[names[0]], *body, ""])
            with self.subTest(names[0]):
                self.assertEqual(compile_error(program), "", program)

    @unittest.skipUnless(LIBRARY, "a build without the shared library")
    def test_programs_of_the_readme_run(self):
        text = (pathlib.Path(SOURCE) / "README.md").read_text()
        outputs = ["OK\n", "user:17:order:1\n"]
        programs = blocks(text, "cpp")
        self.assertEqual(len(programs), len(outputs))
        library = pathlib.Path(LIBRARY).parent
        for program, output in zip(programs, outputs):
            with self.subTest(program), tempfile.TemporaryDirectory() as folder:
                pathlib.Path(folder, "your_program.cc").write_text(program)
                done = run(
                    f"{CXX} -std=c++17 -I'{SOURCE}/include' -I'{ROCKSDB}' your_program.cc"
                    f" -o your_program -L'{library}' -Wl,-rpath,'{library}'"
                    " -ldeltabloom_rocksdb -lrocksdb && ./your_program",
                    folder,
                )
                self.assertEqual((done.returncode, done.stdout), (0, output))

    @unittest.skipUnless(LIBRARY, "a build without the shared library for other languages")
    def test_policies_of_options_files_are_taken(self):
        policies = re.findall(r"filter_policy=([^\s`]+)", README)
        policies += re.findall(r"`(deltabloom:\d[^`]*)`", README)
        self.assertGreaterEqual(len(policies), 3)
        make = ctypes.CDLL(LIBRARY).deltabloom_rocksdb_filterpolicy
        make.restype = ctypes.c_void_p
        for policy in policies:
            error = ctypes.c_char_p()
            self.assertTrue(
                make(policy.strip("{}").encode(), ctypes.byref(error)), (policy, error.value)
            )


BREAK = "--- the next block ---"
# The first RocksDB that counts filtered seeks apart.
SEEKS_SINCE = (8, 3)


class Commands(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.commands = blocks(TEXT, "sh")
        script = f"\necho '{BREAK}'\n".join(cls.commands)
        done = run(script, cls.folder)
        cls.outputs = done.stdout.split(BREAK + "\n")
        if done.returncode != 0:
            failed = cls.commands[len(cls.outputs) - 1]
            raise AssertionError(f"{failed}\nended with {done.returncode}:\n{cls.outputs[-1]}")

    def output(self, words):
        """Returns what the only block that has `words` printed."""
        found = [i for i, block in enumerate(self.commands) if words in block]
        self.assertEqual(len(found), 1, words)
        return self.outputs[found[0]]

    def kinds(self, words):
        """The kinds of filters that a block counted last."""
        return set(re.findall(r"(?m)^ +\d+ ([A-Za-z][\w ]*)$", self.output(words)))

    def test_filters_are_those_of_each_step(self):
        first = next(
            i for i, block in enumerate(self.commands) if block.startswith("deltabloom inspect")
        )
        self.assertRegex(self.outputs[first], r"^ +\d+ RocksDB Bloom\n$")
        self.assertEqual(self.kinds("--checkpoint_dir=copy"), {"Deltabloom compact"})
        canary = self.kinds('version\' "$db/LOG"')
        self.assertTrue(canary & {"Deltabloom local", "Deltabloom compact"}, canary)
        whole = self.kinds('deltabloom run ldb --db="$db" --try_load_options compact')
        self.assertNotIn("RocksDB Bloom", whole)
        self.assertEqual(self.kinds("filter_policy=bloomfilter:10:false|' "), {"RocksDB Bloom"})

    def test_outputs_are_those_that_the_text_names(self):
        self.assertRegex(self.output("--checkpoint_dir=copy"), r"\b0 with false negatives")
        self.assertIn("doctor: exit status 1\n", self.output("put zz 1"))
        self.assertRegex(self.output("| grep 'bloom.filter.useful'\n"), r"useful COUNT : 0\n")

    def check_queries(self, text):
        """Queries of Prometheus have metrics and labels that a scrape has."""
        scrape = (self.folder / "deltabloom.prom").read_text()
        written = set(re.findall(r"^(deltabloom_\w+)\{", scrape, re.MULTILINE))
        used = set(re.findall(r"\b(deltabloom_\w+)", text))
        self.assertGreaterEqual(len(used), 4)
        self.assertLessEqual(used, written)
        labels = set(re.findall(r'[{,](\w+)="', scrape)) | {"instance", "file"}
        for clause in re.findall(r"by \(([^)]*)\)", text):
            self.assertLessEqual(set(clause.split(", ")), labels)
        for matchers in re.findall(r"\{([^}]*)\}", text):
            self.assertLessEqual(set(re.findall(r"(\w+)!?[=~]+\"", matchers)), labels)

    def test_dashboard_shows_what_exists(self):
        dashboard = json.loads((pathlib.Path(SOURCE) / "docs/grafana_dashboard.json").read_text())
        panels = dashboard["panels"]
        queries = [target["expr"] for panel in panels for target in panel["targets"]]
        self.check_queries("\n".join(queries))
        for query in queries:
            self.assertEqual(query.count("("), query.count(")"), query)
            self.assertIn('{instance=~"$instance"', query)
        # Two columns that fill the width of 24, without gaps.
        places = [tuple(panel["gridPos"][side] for side in "xywh") for panel in panels]
        self.assertEqual(places, [(12 * (i % 2), 8 * (i // 2), 12, 8) for i in range(len(panels))])
        self.assertEqual([panel["id"] for panel in panels], list(range(1, len(panels) + 1)))

    def test_alerts_name_what_exists(self):
        rules = (pathlib.Path(SOURCE) / "docs/prometheus_alerts.yml").read_text()
        self.check_queries(rules)
        self.assertEqual(
            re.findall(r"alert: (\w+)", rules), re.findall(r"(?m)^\| `(Delta\w+)` \|", TEXT)
        )
        layouts = re.findall(r'layout!?[=~]+"([^"]*)"', rules)
        self.assertLessEqual({"always", "rocksdb"}, set("|".join(layouts).split("|")))
        if shutil.which("promtool"):
            promtool = ["promtool", "check", "rules", f"{SOURCE}/docs/prometheus_alerts.yml"]
            done = subprocess.run(promtool, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Text(unittest.TestCase):
    def test_tickers_exist(self):
        header = pathlib.Path(ROCKSDB)
        version = (header / "rocksdb/version.h").read_text()
        major, minor = (
            int(re.search(rf"ROCKSDB_{x} (\d+)", version)[1]) for x in ("MAJOR", "MINOR")
        )
        known = (header / "rocksdb/statistics.h").read_text()
        named = set(re.findall(r"`((?:BLOOM|BLOCK_CACHE|LAST|NON_LAST)_[A-Z_]+)`", TEXT))
        self.assertGreaterEqual(len(named), 8)
        for ticker in named:
            if "_LEVEL_SEEK_" in ticker and (major, minor) < SEEKS_SINCE:
                continue
            self.assertRegex(known, rf"\b{ticker}\b")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[6:])
