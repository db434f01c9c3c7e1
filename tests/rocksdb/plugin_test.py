#!/usr/bin/env python3
"""The plugin in programs that know nothing of it: the distribution's db_bench
and ldb under LD_PRELOAD, and the files that RocksDB's own build reads.

usage: plugin_test.py SOURCE_DIR PLUGIN.so 'SOURCE;SOURCE;...' [unittest options]
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv[1])
PLUGIN = sys.argv[2]
COMPILED = sys.argv[3].split(";")
KEYS = 20000

OPTIONS = """
[Version]
  rocksdb_version=7.8.3
  options_file_version=1.1
[DBOptions]
  create_if_missing=true
[CFOptions "default"]
  compression=kNoCompression
[TableOptions/BlockBasedTable "default"]
  filter_policy=%s
"""


def run(*command, preload=True, check=True):
    environment = dict(os.environ)
    if preload:
        environment["LD_PRELOAD"] = PLUGIN
    result = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    if check and result.returncode != 0:
        raise AssertionError(f"{command}: {result.returncode}\n{result.stdout}{result.stderr}")
    return result


class Preload(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.db = self.folder / "db"

    def bench(self, policy, benchmarks, preload=True, check=True):
        options = self.folder / "options.ini"
        options.write_text(OPTIONS % policy)
        return run(
            "db_bench", f"--options_file={options}", f"--db={self.db}",
            f"--benchmarks={benchmarks}", f"--num={KEYS}", "--seed=1",
            "--cache_size=8388608", "--statistics",
            preload=preload, check=check,
        )  # fmt: skip

    def properties(self):
        text = ""
        for table in self.db.glob("*.sst"):
            text += run(
                "sst_dump", f"--file={table}", "--show_properties", "--command=none", preload=False
            ).stdout
        return text

    def log(self):
        return (self.db / "LOG").read_text(errors="replace")

    def test_db_bench_builds_and_uses_our_filters(self):
        output = self.bench(
            "{id=deltabloom;bits_per_key=9.9;layout=classic;}",
            "fillseq,flush,readmissing,readrandom",
        ).stdout
        useful = int(re.search(r"bloom\.filter\.useful COUNT : (\d+)", output).group(1))
        self.assertGreater(useful, KEYS * 9 // 10)
        self.assertIn(f"({KEYS} of {KEYS} found)", output)  # readrandom
        self.assertIn(f"(0 of {KEYS} found)", output)  # readmissing
        properties = self.properties()
        self.assertRegex(properties, r"filter policy name: deltabloom\b")
        self.assertRegex(properties, r"filter block size: [1-9]")
        self.assertRegex(properties, rf"entries for filter: {KEYS}\b")
        line = r"\[deltabloom\] version \S+: bits_per_key=9.9 layout=classic allocation=uniform compatibility=builtin"
        self.assertEqual(len(re.findall(line, self.log())), 1)

    def test_short_uri_and_partitions(self):
        self.bench(
            "deltabloom:12\n  partition_filters=true\n  index_type=kTwoLevelIndexSearch",
            "fillseq,flush,readrandom",
        )
        self.assertRegex(self.log(), r"\[deltabloom\] version \S+: bits_per_key=12 ")
        self.assertRegex(self.properties(), r"filter block size: [1-9]")

    def test_ldb_loads_the_policy_from_the_options_file(self):
        self.bench("deltabloom:9.9", "fillseq,flush")
        key = "0x" + (7).to_bytes(8, "big").hex() + "30" * 8
        get = ["ldb", f"--db={self.db}", "--try_load_options", "--hex", "get", key]
        self.assertTrue(run(*get).stdout.startswith("0x"))
        run("ldb", f"--db={self.db}", "--try_load_options", "compact")
        self.assertRegex(self.log(), r"\[deltabloom\] version \S+: bits_per_key=9.9 ")
        # Without the plugin every key is still there.
        self.assertTrue(run(*get, preload=False).stdout.startswith("0x"))

    def test_bad_policy_is_told(self):
        for policy, answer in (
            ("deltabloom:nan", "deltabloom: bits_per_key 'nan' is out of range: use 0 to 1000"),
            ("{id=deltabloom;layout=cuckoo;}", "deltabloom: layout 'cuckoo' is unknown: use classic"),
        ):
            result = self.bench(policy, "fillseq", check=False)
            # On a line of its own, whatever the program makes of it.
            self.assertRegex(result.stderr, "(?m)^" + re.escape(answer))
            self.assertNotEqual(result.returncode, 0)

    def test_without_the_plugin_there_is_no_filter_and_no_error(self):
        """What docs/compatibility.md warns of."""
        self.bench("deltabloom:9.9", "fillseq,flush", preload=False)
        self.assertRegex(self.properties(), r"filter block size: 0\b")

    def test_other_programs_run_undisturbed(self):
        result = run("/bin/true")
        self.assertEqual(result.stdout + result.stderr, "")


class InTree(unittest.TestCase):
    """RocksDB's build with ROCKSDB_PLUGINS=deltabloom, as far as it reads our
    files."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        plugin = self.root / "plugin" / "deltabloom"
        plugin.mkdir(parents=True)
        for name in ("deltabloom.mk", "CMakeLists.txt"):
            (plugin / name).write_text((SOURCE / "engines/rocksdb/plugin" / name).read_text())
        (plugin / "source").symlink_to(SOURCE)

    def check_sources(self, sources):
        for source in sources:
            self.assertTrue((self.root / "plugin/deltabloom" / source).is_file(), source)
        for compiled in COMPILED:
            self.assertIn(f"source/{compiled}", sources)
        self.assertEqual(len(sources), len(COMPILED))

    def test_make(self):
        for objects in (".", "objs"):
            (self.root / "Makefile").write_text(
                "CXXFLAGS = -base\n"
                "include $(foreach p,$(ROCKSDB_PLUGINS),plugin/$(p)/*.mk)\n"
                "show:\n\t@echo '$(deltabloom_SOURCES)'; echo '$(deltabloom_FUNC)'\n"
                f"{objects}/%.o:\n\t@echo '$(CXXFLAGS)'\n"
            )
            make = ["make", "-s", "-C", str(self.root), "ROCKSDB_PLUGINS=deltabloom"]
            sources, function = run(*make, "show", preload=False).stdout.splitlines()
            self.check_sources(sources.split())
            self.assertEqual(function, "deltabloom_register")
            ours = f"{objects}/plugin/deltabloom/source/util/json.o"
            self.assertIn("-iquote plugin/deltabloom/source", run(*make, ours, preload=False).stdout)
            theirs = run(*make, f"{objects}/util/hash.o", preload=False).stdout
            self.assertEqual(theirs.strip(), "-base")

    def test_cmake(self):
        (self.root / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.10)\nproject(rocksdb NONE)\n"
            "add_subdirectory(plugin/deltabloom)\n"
            'message(STATUS "sources=${deltabloom_SOURCES}")\n'
            'message(STATUS "flags=${deltabloom_COMPILE_FLAGS}")\n'
        )
        output = run("cmake", "-S", self.root, "-B", self.root / "build", preload=False).stdout
        self.check_sources(re.search(r"sources=(.*)", output).group(1).split(";"))
        self.assertRegex(output, r"flags=-iquote \S+/plugin/deltabloom/source")
        # What RocksDB's CMake build picks from the make file.
        text = (self.root / "plugin/deltabloom/deltabloom.mk").read_text()
        self.assertEqual(re.findall(r"_FUNC = ([^\n]*)", text), ["deltabloom_register"])
        self.assertEqual(re.findall(r"SOURCES = ([^\n]*)", text), [])
        self.assertEqual(re.findall(r"_LIBS = ([^\n]*)", text), [])

    def test_the_function_is_the_one_exported(self):
        policy = PLUGIN.replace("_plugin.so", "_plugin_policy.so")
        names = run("nm", "-D", "--defined-only", policy, preload=False).stdout.split()
        self.assertEqual(names[1:], ["T", "deltabloom_register"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
