#!/usr/bin/env python3
"""The plugin in programs that know nothing of it: the distribution's programs
and others under LD_PRELOAD, and the files that RocksDB's own build reads.

usage: plugin_test.py SOURCE_DIR PLUGIN.so 'SOURCE;SOURCE;...' LIBROCKSDB.so
           PROGRAM_FOLDER [unittest options]
       plugin_test.py SOURCE_DIR '' '' '' '' Programs
           for programs in PATH that were built with the plugin inside
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import preload as stock  # noqa: E402

SOURCE, PLUGIN = map(pathlib.Path, sys.argv[1:3])
PRELOAD = stock.preloadable(PLUGIN) if sys.argv[2] else None
COMPILED = sys.argv[3].split(";")
ROCKSDB, PROGRAMS = map(pathlib.Path, sys.argv[4:6])
MODULE = next(PLUGIN.parent.glob("deltabloom/rocksdb-*.so"), None)
KEYS = 20000
# More than a busy machine takes for anything here.
LONG_SECONDS = 1800


def run(*command, preload=PRELOAD, check=True, **more):
    result = stock.run(*command, preload=preload, **more)
    if check and result.returncode != 0:
        raise AssertionError(f"{command}: {result.returncode}\n{result.stdout}{result.stderr}")
    return result


class InAFolder(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.db = self.folder / "db"

    def db_bench(self, policy, benchmarks, num=KEYS):
        """The command line."""
        options = self.folder / "options.ini"
        options.write_text(stock.OPTIONS % policy)
        return [
            "db_bench",
            f"--options_file={options}",
            f"--db={self.db}",
            f"--benchmarks={benchmarks}",
            f"--num={num}",
            "--seed=1",
            "--cache_size=8388608",
            "--statistics",
        ]

    def useful(self, output):
        """RocksDB's count of absent keys that filters rejected."""
        useful = int(re.search(r"bloom\.filter\.useful COUNT : (\d+)", output)[1])
        self.assertGreater(useful, KEYS * 9 // 10)
        return useful


class Programs(InAFolder):
    def bench(self, policy, benchmarks, **arguments):
        return run(*self.db_bench(policy, benchmarks), **arguments)

    def properties(self):
        dump = ["sst_dump", "--show_properties", "--command=none"]
        return "".join(
            run(*dump, f"--file={table}", preload=None).stdout for table in self.db.glob("*.sst")
        )

    def log(self):
        return (self.db / "LOG").read_text(errors="replace")

    def test_db_bench_builds_and_uses_our_filters(self):
        policy = "{id=deltabloom;bits_per_key=9.9;layout=classic;}"
        output = self.bench(policy, "fillseq,flush,readmissing,readrandom").stdout
        self.useful(output)
        self.assertIn(f"({KEYS} of {KEYS} found)", output)  # readrandom
        self.assertIn(f"(0 of {KEYS} found)", output)  # readmissing
        properties = self.properties()
        self.assertRegex(properties, r"filter policy name: deltabloom\b")
        self.assertRegex(properties, r"filter block size: [1-9]")
        self.assertRegex(properties, rf"entries for filter: {KEYS}\b")
        line = (
            r"\[deltabloom\] version \S+: bits_per_key=9.9 layout=classic "
            "upper_bits_per_key=unset"
        )
        self.assertEqual(len(re.findall(line, self.log())), 1)

    def test_ldb_loads_the_policy_from_the_options_file(self):
        self.bench("deltabloom:9.9", "fillseq,flush")
        key = "0x" + (7).to_bytes(8, "big").hex() + "30" * 8
        get = ["ldb", f"--db={self.db}", "--try_load_options", "--hex", "get", key]
        self.assertTrue(run(*get).stdout.startswith("0x"))
        run("ldb", f"--db={self.db}", "--try_load_options", "compact")
        self.assertRegex(self.log(), r"\[deltabloom\] version \S+: bits_per_key=9.9 ")
        # RocksDB finds every key when the plugin is not loaded.
        self.assertTrue(run(*get, preload=None).stdout.startswith("0x"))


class Preload(Programs):
    def test_bad_policy_is_reported(self):
        for policy, answer in (
            ("deltabloom:nan", "deltabloom: bits_per_key 'nan' is not valid: use 0 to 1000"),
            (
                "{id=deltabloom;layout=cuckoo;}",
                "deltabloom: layout 'cuckoo' is not valid: use classic",
            ),
        ):
            result = self.bench(policy, "fillseq", check=False)
            # The answer is on a line of its own, whatever the program makes of
            # it.
            self.assertRegex(result.stderr, "(?m)^" + re.escape(answer))
            self.assertNotEqual(result.returncode, 0)

    def test_what_an_earlier_option_does_now_is_said(self):
        for policy, lines in (
            ("deltabloom:10", []),
            (
                "{id=deltabloom;bits_per_key=10;filter_memory=2GiB;}",
                ["deltabloom: filter_memory=2GiB is ignored, as this version has no such option"],
            ),
        ):
            errors = self.bench(policy, "fillseq").stderr
            # The line goes on with what filters get instead, and comes more than once, as
            # RocksDB makes the policy more than once.
            said = {line.split(": tables")[0] for line in re.findall("^deltabloom.*", errors, re.M)}
            self.assertEqual(list(said), lines)

    def test_without_the_plugin_there_is_no_filter_and_no_error(self):
        """What docs/compatibility.md warns of."""
        self.bench("deltabloom:9.9", "fillseq,flush", preload=None)
        self.assertRegex(self.properties(), r"filter block size: 0\b")


class InTree(InAFolder):
    """RocksDB's build with ROCKSDB_PLUGINS=deltabloom, as far as it reads our
    files."""

    def setUp(self):
        super().setUp()
        plugin = self.folder / "plugin" / "deltabloom"
        plugin.mkdir(parents=True)
        for name in ("deltabloom.mk", "CMakeLists.txt"):
            (plugin / name).write_text((SOURCE / "engines/rocksdb/plugin" / name).read_text())
        (plugin / "source").symlink_to(SOURCE)

    def check_sources(self, sources, without_c=False):
        expected = {
            f"source/{file}" for file in COMPILED if not (without_c and "/rocksdb/c/" in file)
        }
        self.assertEqual(len(sources), len(set(sources)))
        self.assertEqual(set(sources), expected)
        self.assertEqual(len(expected), len(COMPILED) - (3 if without_c else 0))
        for source in sources:
            self.assertTrue((self.folder / "plugin/deltabloom" / source).is_file(), source)

    def test_make(self):
        for objects in (".", "objs"):
            (self.folder / "Makefile").write_text(
                "CXXFLAGS = -base\n"
                "include $(foreach p,$(ROCKSDB_PLUGINS),plugin/$(p)/*.mk)\n"
                "show:\n\t@echo '$(deltabloom_SOURCES)'; echo '$(deltabloom_FUNC)'\n"
                f"{objects}/%.o:\n\t@echo '$(CXXFLAGS)'\n"
            )
            make = ["make", "-s", "-C", str(self.folder), "ROCKSDB_PLUGINS=deltabloom"]
            sources, function = run(*make, "show", preload=None).stdout.splitlines()
            self.check_sources(sources.split())
            self.assertEqual(function, "deltabloom_register")
            without_c = run(*make, "DELTABLOOM_C=0", "show", preload=None).stdout.splitlines()[0]
            self.check_sources(without_c.split(), without_c=True)
            ours = f"{objects}/plugin/deltabloom/source/util/json.o"
            self.assertIn(
                "-DDELTABLOOM_IN_ROCKSDB -iquote plugin/deltabloom/source",
                run(*make, ours, preload=None).stdout,
            )
            theirs = run(*make, f"{objects}/util/hash.o", preload=None).stdout
            self.assertEqual(theirs.strip(), "-base")

    def test_cmake(self):
        (self.folder / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.10)\nproject(rocksdb NONE)\n"
            "add_subdirectory(plugin/deltabloom)\n"
            'message(STATUS "sources=${deltabloom_SOURCES}")\n'
            'message(STATUS "flags=${deltabloom_COMPILE_FLAGS}")\n'
        )
        for with_c in ("OFF", "ON"):
            output = run(
                "cmake",
                "-S",
                self.folder,
                "-B",
                self.folder / "build",
                f"-DDELTABLOOM_C={with_c}",
                preload=None,
            ).stdout
            self.check_sources(
                re.search(r"sources=(.*)", output).group(1).split(";"), without_c=with_c == "OFF"
            )
        self.assertRegex(
            output, r"flags=-DDELTABLOOM_IN_ROCKSDB -iquote \S+/plugin/deltabloom/source"
        )
        # RocksDB's CMake build picks these variables from the make file.
        text = (self.folder / "plugin/deltabloom/deltabloom.mk").read_text()
        self.assertEqual(re.findall(r"_FUNC = ([^\n]*)", text), ["deltabloom_register"])
        self.assertEqual(re.findall(r"SOURCES = ([^\n]*)", text), [])
        self.assertEqual(re.findall(r"_LIBS = ([^\n]*)", text), [])

    def test_newer_rocksdb(self):
        """An untested RocksDB is taken in its own build, and
        elsewhere if that is asked for."""
        include = self.folder / "rocksdb"
        include.mkdir()
        compile_header = [
            "c++",
            "-fsyntax-only",
            "-I",
            str(self.folder),
            "-x",
            "c++",
            str(SOURCE / "engines/rocksdb/base/rocksdb_version.h"),
        ]
        for version, macro, is_taken in (
            ("11 12 3", None, True),
            ("11 13 0", None, False),
            ("12 0 0", None, False),
            ("11 13 0", "DELTABLOOM_ROCKSDB_UNTESTED", True),
            ("11 13 0", "DELTABLOOM_IN_ROCKSDB", True),
            ("7 0 2", "DELTABLOOM_ROCKSDB_UNTESTED", False),
        ):
            with self.subTest(version=version, macro=macro):
                numbers = zip(("MAJOR", "MINOR", "PATCH"), version.split())
                (include / "version.h").write_text(
                    "".join(f"#define ROCKSDB_{name} {number}\n" for name, number in numbers)
                )
                defined = [f"-D{macro}"] if macro else []
                result = run(*compile_header, *defined, preload=None, check=False)
                self.assertEqual(result.returncode == 0, is_taken, result.stderr)
                if version.startswith("11") and not is_taken:
                    self.assertIn("DELTABLOOM_ROCKSDB_UNTESTED=ON", result.stderr)


class Hosts(InAFolder):
    """RocksDB where the loader finds it, and where it refuses: then it says so in
    one line, and the program goes on with its own filters."""

    OTHER, STATIC, SAME, NONE = (
        PROGRAMS / f"rocksdb_preload_{kind}" for kind in ("other", "static", "same", "none")
    )

    def refused(self, program, *expected, mark="other", **variables):
        """Runs a program, which prints one line more than without the plugin."""
        done = run(program, **variables)
        self.assertIn(
            f"ran with {'' if mark == 'none' else 'rocksdb_build_git_tag:'}{mark}", done.stdout
        )
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        start = f"deltabloom: no filters of Deltabloom in {program}: "
        self.assertTrue(done.stderr.startswith(start), done.stderr)
        for text in expected:
            self.assertIn(text, done.stderr)
        return done

    def later(self, code="pass", library=ROCKSDB, plugin=PLUGIN, **variables):
        """What the binding is told: 1, or 0 and a line."""
        done = stock.load_later(plugin, library, code, **variables)
        self.assertEqual(done.stderr, "")
        loaded, line = done.stdout.rstrip("\n").split(" ", 1)
        self.assertNotIn("\n", line)
        return int(loaded), line

    def test_another_version(self):
        done = self.refused(
            self.OTHER,
            "there is no module for its RocksDB 99.1.2 (",
            "librocksdb.so.99)",
            "no rocksdb-99.1-cxx11abi1.so in ",
            "script/package modules --cxx11-abi 1 HEADERS",
        )
        loaded = [line for line in done.stdout.splitlines() if line.startswith("loaded: ")]
        self.assertEqual([pathlib.Path(line).name for line in loaded], ["librocksdb.so.99"])

    def test_older_than_all(self):
        self.refused(self.OTHER, "its RocksDB 6.20.3 (", "older than 7.0.3", OTHER_VERSION="6.20.3")

    def test_a_library_without_the_functions(self):
        """A module for this version is there, but the library lacks what it needs."""
        shutil.copy(MODULE, self.folder / "rocksdb-99.1-cxx11abi1.so")
        self.refused(
            self.OTHER,
            "rocksdb-99.1-cxx11abi1.so does not load into ",
            "librocksdb.so.99: undefined symbol: _Z",
            DELTABLOOM_MODULES=str(self.folder),
        )

    def test_no_module_at_all(self):
        (self.folder / "rocksdb-99.1-cxx11abi1.so").write_text("no module\n" * 1000)
        self.refused(self.OTHER, "invalid ELF header", DELTABLOOM_MODULES=str(self.folder))

    def test_hidden_in_the_program(self):
        for strip in (False, True):
            with self.subTest(strip):
                program = self.folder / "program"
                shutil.copy(self.STATIC, program)
                if strip:
                    subprocess.run(["strip", program], check=True)
                done = self.refused(
                    program, "the RocksDB in the program itself hides its functions"
                )
                self.assertNotIn("loaded: ", done.stdout)

    @unittest.skipUnless((PROGRAMS / "rocksdb_preload_exported").exists(), "no static RocksDB")
    def test_exported_by_the_program(self):
        """300,000 absent keys: 0.11 % false positives with compact, 0.95 % with
        RocksDB's Bloom filter."""
        program = PROGRAMS / "rocksdb_preload_exported"
        for number, (policy, least, most) in enumerate(
            (
                ("{id=deltabloom;bits_per_key=10;upper_bits_per_key=10}", 240, 420),
                ("bloomfilter:10:false", 2500, 3200),
            )
        ):
            options = f"block_based_table_factory={{filter_policy={policy}}}"
            done = run(program, self.folder / str(number), options)
            self.assertEqual(done.stderr, "")
            counts = [int(count) for count in re.findall(r"(\d+) false positives", done.stdout)]
            self.assertEqual(len(counts), 2, done.stdout)
            for count in counts:
                self.assertTrue(least <= count <= most, f"{policy}: {counts}")

    def test_two_in_a_process(self):
        another = str(PROGRAMS / "librocksdb.so.99")
        loaded, line = self.later(f"ctypes.CDLL({another!r})")
        self.assertEqual(loaded, 0)
        self.assertIn("more than one RocksDB, ", line)
        self.assertIn(another, line)

    def test_without_rocksdb_nothing_happens(self):
        done = run(self.NONE)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "ran with none\n", ""))

    def test_rocksdb_has_the_mark(self):
        mark = b"rocksdb_build_git_tag:"
        self.assertIn(mark, ROCKSDB.read_bytes())
        self.assertNotIn(mark, MODULE.read_bytes())
        self.assertNotIn(mark, PLUGIN.read_bytes())

    def test_a_plugin_alone(self):
        alone = pathlib.Path(shutil.copy(PLUGIN, self.folder))
        elsewhere = f"no {MODULE.name} in {self.folder}/deltabloom, /usr/local/lib/deltabloom"
        self.refused(self.SAME, elsewhere, mark="none", preload=alone)
        for folder in (self.folder / "deltabloom", self.folder / "named by the environment"):
            with self.subTest(folder):
                folder.mkdir()
                shutil.copy(MODULE, folder)
                variables = {"DELTABLOOM_MODULES": str(folder)} if " " in folder.name else {}
                done = run(self.SAME, preload=alone, **variables)
                self.assertEqual(done.stderr, "")
                shutil.rmtree(folder)

    def test_loaded_later_it_stays_local(self):
        seen = "print('global:', hasattr(ctypes.CDLL(None), 'rocksdb_open'))"
        done = stock.load_later(PLUGIN, ROCKSDB, after=seen)
        self.assertEqual((done.stdout, done.stderr), ("1 \nglobal: False\n", ""))
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_before_rocksdb(self):
        loaded, line = self.later(library="libc.so.6")
        self.assertEqual(loaded, 0)
        self.assertIn("no RocksDB is loaded yet", line)

    def test_its_file_was_deleted_or_replaced(self):
        copy = shutil.copy(ROCKSDB, self.folder / "librocksdb-of-an-archive.so")
        loaded, line = self.later("os.remove(library)", copy)
        self.assertEqual(loaded, 0)
        self.assertIn(f"the file of its RocksDB, {copy}, is not there any more", line)
        copy = shutil.copy(ROCKSDB, self.folder / "librocksdb-of-an-archive.so")
        replace = "shutil.copy(library, library + '2'); os.replace(library + '2', library)"
        loaded, line = self.later(replace, copy)
        self.assertEqual(loaded, 0)
        self.assertIn(f"the file {copy} is not the one that was loaded", line)

    def test_its_constants_cannot_be_read(self):
        """As in a program that protects its own memory."""
        of_constants = "library in line and ' r--p 00002000 ' in line"
        loaded, line = self.later(
            f"start = next(line for line in open('/proc/self/maps') if {of_constants}); "
            "start = ctypes.c_void_p(int(start.split('-')[0], 16)); "
            "assert ctypes.CDLL(None).mprotect(start, 4096, 0) == 0",
            PROGRAMS / "librocksdb.so.99",
        )
        self.assertEqual(loaded, 0)
        self.assertIn("no RocksDB is loaded yet", line)

    def test_folders_of_links(self):
        for folder, expected in (
            (self.folder / "none", "No such file or directory (TMPDIR)"),
            (self.folder, None),
        ):
            loaded, line = self.later(TMPDIR=str(folder))
            self.assertEqual(loaded, 0 if expected else 1)
            self.assertIn(expected or "", line)
            self.assertEqual(list(self.folder.iterdir()), [])

    @unittest.skipIf(os.getuid() != 0, "only root can mount")
    def test_noexec(self):
        """Links to files may be on such a mount; a module may not."""
        for variable, loads in (("TMPDIR", True), ("DELTABLOOM_MODULES", False)):
            mounted = stock.noexec(self.folder, MODULE)
            done = stock.load_later(PLUGIN, ROCKSDB, before=mounted, **{variable: str(self.folder)})
            # Within a chroot nothing can be mounted for one process alone.
            if "unshare: " in done.stderr or "permission denied" in done.stderr:
                self.skipTest(done.stderr)
            self.assertEqual(done.stdout[:1], "1" if loads else "0", done.stdout + done.stderr)
            if not loads:
                self.assertIn("mounted noexec?", done.stdout)


class Module(unittest.TestCase):
    def test_what_it_needs_of_rocksdb(self):
        """A host with any filter policy has these functions: none of the C API, of
        OPTIONS files, of tools."""
        listed = (SOURCE / "tests/rocksdb/module_symbols.txt").read_text().splitlines()
        known = {line for line in listed if not line.startswith("#")}
        symbols = run("nm", "-DC", "--undefined-only", MODULE, preload=None).stdout
        needed = {
            re.sub(r"std::__cxx11::", "std::", line.split(" U ")[1]).strip()
            for line in symbols.splitlines()
            if "rocksdb::" in line or "U rocksdb_" in line
        }
        names = {re.sub(r"\(.*|\[abi:cxx11\]", "", name) for name in needed}
        self.assertEqual(names - known, set())

    def test_what_it_exports(self):
        symbols = run("nm", "-D", "--defined-only", MODULE, preload=None).stdout
        self.assertEqual(
            [line.split()[-1] for line in symbols.splitlines()], ["deltabloom_rocksdb_module"]
        )


LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
# A metric in the text format 0.0.4: HELP and TYPE once and in front, one group
# of lines, and counters that end in _total.
METRIC = (
    r"# HELP (\w+) [^\n]+\.\n# TYPE \1 (?:(?<=_total )counter|(?<!_total )gauge)\n"
    rf"(?:\1\{{{LABEL}(?:,{LABEL})*\}} [0-9.e+-]+\n)*"
)


class StatisticsFile(InAFolder):
    """The file that receives the statistics of a program."""

    BENCHMARKS = "fillseq,flush,readmissing,readrandom"
    # Programs that run for seconds leave most of the processor to other tests.
    SLOW = ["--benchmark_read_rate_limit=10000", "--benchmark_write_rate_limit=4000000"]
    UNTIL_KILLED = ["--reads=1000000000", f"--duration={LONG_SECONDS}", *SLOW]

    def counted(self, name, policy="deltabloom:10:local", num=KEYS, **variables):
        """Runs db_bench with a file for the statistics."""
        command = self.db_bench(policy, self.BENCHMARKS, num)
        return run(*command, cwd=self.folder, DELTABLOOM_STATISTICS=str(name), **variables)

    def ours(self, result):
        return [line for line in result.stderr.splitlines() if line.startswith("deltabloom")]

    def names(self, pattern="*"):
        return sorted(path.name for path in self.folder.glob(pattern) if path.is_file())

    def test_json_at_the_end(self):
        result = self.counted(self.folder / "out.json")
        self.assertEqual(self.ours(result), [])
        statistics = json.loads((self.folder / "out.json").read_text())
        self.assertEqual([row["level"] for row in statistics["rows"]], [0])
        row = statistics["rows"][0]
        self.assertEqual((row["layout"], row["keys_built"]), ("local", KEYS))
        self.assertEqual(row["negatives"], self.useful(result.stdout))
        # db_bench closes its database before it ends.
        self.assertEqual(row["filters_open"], 0)
        self.assertEqual(self.names("out*"), ["out.json"])

    def test_prometheus(self):
        result = self.counted("relative.prom")
        self.assertEqual(self.ours(result), [])
        text = (self.folder / "relative.prom").read_text()
        self.assertEqual(re.sub(METRIC, "", text), "")
        names = re.findall("# HELP (\\S+)", text)
        self.assertEqual((len(names), len(set(names))), (11, 11))
        samples = [line.rsplit(" ", 1) for line in text.splitlines() if line[0] != "#"]
        values = {name: float(value) for name, value in samples}
        self.assertEqual(len(values), len(samples))
        built, negatives, lookups, expected = (
            values[f'deltabloom_{name}_total{{level="0",layout="local"}}']
            for name in (
                "filters_built_keys",
                "filter_negatives",
                "filter_lookups",
                "filter_expected_false_positives",
            )
        )
        self.assertEqual(built, KEYS)
        self.assertGreaterEqual(lookups, 2 * KEYS - 10)  # absent keys outside are not looked up
        self.assertLess(
            abs(lookups - KEYS - negatives - expected), 6 * expected**0.5 + expected / 3
        )

    def test_written_while_the_program_runs(self):
        out = self.folder / "running.json"
        started = time.monotonic()
        process = subprocess.Popen(
            self.db_bench("deltabloom:10:local", "fillseq,flush,readrandom") + self.UNTIL_KILLED,
            env=dict(
                os.environ,
                LD_PRELOAD=PRELOAD,
                DELTABLOOM_STATISTICS=str(out),
                DELTABLOOM_STATISTICS_SECONDS="1",
            ),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        seen, written = set(), set()
        while len(seen) < 3 and time.monotonic() < started + LONG_SECONDS:
            time.sleep(0.05)
            if not out.exists():
                continue
            written.add(out.stat().st_mtime_ns)
            # Whole, whenever it is looked at.
            rows = json.loads(out.read_text())["rows"]
            lookups = sum(row["lookups"] for row in rows)
            self.assertGreaterEqual(lookups, max(seen, default=0))
            if lookups > 0:
                seen.add(lookups)
                self.assertEqual(sum(row["filters_open"] for row in rows), 1)
        self.assertEqual(len(seen), 3)
        # The file is written once a second, not more often.
        self.assertLessEqual(len(written), time.monotonic() - started + 1)

    def blocked(self, command, fill):
        """Runs the command with a file for the statistics that cannot be
        opened, or, if it is to be filled, not be written."""
        out = self.folder / "blocked.json"
        script = 'mkfifo "$0.$$.tmp"; read go; exec env LD_PRELOAD="$1" "${@:2}"'
        process = subprocess.Popen(
            ["bash", "-c", script, out, PRELOAD, *command],
            env=dict(os.environ, DELTABLOOM_STATISTICS=str(out), DELTABLOOM_STATISTICS_SECONDS="1"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        pipe = self.folder / f"blocked.json.{process.pid}.tmp"
        while not pipe.exists():
            time.sleep(0.01)
        if fill:
            end = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
            self.addCleanup(os.close, end)
            with self.assertRaises(BlockingIOError):
                while True:
                    os.write(end, bytes(4096))
        # Whoever waits for the file waits for ever.
        stdout, stderr = process.communicate("go\n", timeout=LONG_SECONDS)
        self.assertEqual(process.returncode, 0, stderr)
        return stdout, stderr

    def test_nothing_waits_for_a_file_system_that_hangs(self):
        command = self.db_bench("deltabloom:10:local", "fillrandom,flush,readrandom", 100000000)
        command += ["--duration=2", "--write_buffer_size=1000000", *self.SLOW]
        for fill in (False, True):
            with self.subTest(fill=fill):
                stdout, stderr = self.blocked(command, fill)
                self.assertIn("readrandom ", stdout)
                (line,) = [line for line in stderr.splitlines() if "deltabloom" in line]
                self.assertIn("deltabloom: the last statistics are not in ", line)

    def host(self, mode, **variables):
        """Starts a program that is no program of RocksDB's: Python."""
        host = pathlib.Path(__file__).parent / "preload" / "host.py"
        # Python 3.12 and later warn of a fork beside threads.
        command = [sys.executable, "-W", "ignore::DeprecationWarning", host]
        process = subprocess.Popen(
            [*command, PLUGIN, ROCKSDB, self.db, mode],
            env=dict(os.environ, DELTABLOOM_STATISTICS_SECONDS="1", **variables),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def lookups_in(self, path, at_least):
        """Waits until the file has `at_least` lookups, and returns their number."""
        lookups = -1
        deadline = time.monotonic() + LONG_SECONDS
        while lookups < at_least and time.monotonic() < deadline:
            time.sleep(0.05)
            if path.exists():
                lookups = sum(row["lookups"] for row in json.loads(path.read_text())["rows"])
        return lookups

    def test_an_idle_program_that_only_reads(self):
        self.counted(self.folder / "filled.json")
        out = self.folder / "out.json"
        process = self.host("read", DELTABLOOM_STATISTICS=str(out))
        self.assertEqual(process.stdout.readline(), "3 lookups\n")
        self.assertEqual(self.lookups_in(out, 3), 3)
        out.unlink()
        self.assertEqual(self.lookups_in(out, 3), 3)
        self.assertEqual(process.communicate("\n")[1], "")
        self.assertEqual(process.returncode, 0)

    def test_forked_children(self):
        """One without a policy of its own writes nothing, also at its end; one
        that makes a policy has a thread again."""
        self.counted(self.folder / "filled.json")
        process = self.host("fork", DELTABLOOM_STATISTICS=str(self.folder / "out.%p.json"))
        silent, reading = process.stdout.readline().split()
        parent = self.folder / f"out.{process.pid}.json"
        self.assertEqual(self.lookups_in(parent, 3), 3)
        self.assertEqual(self.lookups_in(self.folder / f"out.{reading}.json", 3), 3)
        self.assertEqual(process.communicate("\n")[1], "")
        self.assertEqual(process.returncode, 0)
        expected = sorted([parent.name, f"out.{reading}.json"])
        self.assertEqual(self.names("out*"), expected)
        self.assertNotEqual(silent, reading)

    def test_process_number_in_the_name(self):
        self.counted(self.folder / "out.%p.json")
        (name,) = self.names("out*")
        self.assertRegex(name, r"^out\.\d+\.json$")

    def test_files_of_several_processes_for_the_node_exporter(self):
        """No two files of a folder have the same series; the file of a process
        ends with it, and that of a killed one with the next start."""
        name = self.folder / "deltabloom-%p.prom"
        (self.folder / "deltabloom-2147483647.prom").write_text("of a process that does not run\n")
        (self.folder / "deltabloom-1.prom").write_text("of one that does\n")
        (self.folder / "deltabloom-x.prom").write_text("of no process\n")
        running = []
        for number in range(2):
            self.db = self.folder / f"db{number}"
            running.append(
                subprocess.Popen(
                    self.db_bench("deltabloom:10", "fillseq,flush,readrandom") + self.UNTIL_KILLED,
                    env=dict(
                        os.environ,
                        LD_PRELOAD=PRELOAD,
                        DELTABLOOM_STATISTICS=str(name),
                        DELTABLOOM_STATISTICS_SECONDS="1",
                    ),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            )
            self.addCleanup(running[-1].wait)
            self.addCleanup(running[-1].kill)
        paths = [self.folder / f"deltabloom-{process.pid}.prom" for process in running]
        deadline = time.monotonic() + LONG_SECONDS
        # A busy machine has no filter yet when the first file is written.
        while time.monotonic() < deadline and not all(
            path.exists() and "filter_lookups_total{" in path.read_text() for path in paths
        ):
            time.sleep(0.05)
        others = ["deltabloom-1.prom", "deltabloom-x.prom"]
        self.assertEqual(self.names("*.prom"), sorted([path.name for path in paths] + others))
        series = []
        for process, path in zip(running, paths):
            text = path.read_text()
            self.assertEqual(re.sub(METRIC, "", text), "")
            samples = [line.rsplit(" ", 1)[0] for line in text.splitlines() if line[0] != "#"]
            for sample in samples:
                self.assertIn(f'{{process="{process.pid}",', sample)
            series += samples
        self.assertGreater(len(series), 20)
        self.assertEqual(len(series), len(set(series)))
        for process in running:
            process.kill()
            process.wait()
        result = self.counted(name, num=100)
        self.assertEqual(self.ours(result), [])
        self.assertEqual(self.names("*.prom"), others)

    def test_programs_without_a_policy_write_nothing(self):
        out = self.folder / "out.json"
        run("sst_dump", "--help", check=False, DELTABLOOM_STATISTICS=str(out))
        self.assertFalse(out.exists())
        self.counted(out, policy="rocksdb.BuiltinBloomFilter:10", num=100)
        self.assertFalse(out.exists())

    def test_what_is_wrong_is_one_line(self):
        (self.folder / "folder.json").mkdir()
        for name, seconds, line in (
            ("out.txt", None, "'out.txt' ends in neither .json nor .prom: nothing is written"),
            (".json", None, "'.json' ends in neither .json nor .prom"),
            ("no/such/folder/out.json", "0", "cannot write the statistics to "),
            ("folder.json", "0", "cannot replace the statistics to "),
            ("out.json", "soon", "_SECONDS 'soon' is not a number of seconds: use 0 to"),
            ("out.json", "-1", "_SECONDS '-1' is not a number of seconds: use 0 to"),
        ):
            wait = {} if seconds is None else {"DELTABLOOM_STATISTICS_SECONDS": seconds}
            (ours,) = self.ours(self.counted(name, num=1000, **wait))
            self.assertIn(line, ours)
            self.assertIn("DELTABLOOM_STATISTICS", ours)
        full = ["sh", "-c", 'trap "" XFSZ; ulimit -f 0; exec "$@"', "sh"]  # as a full disk
        ldb = ["ldb", f"--db={self.db}", "--try_load_options", "get", "key"]
        result = run(*full, *ldb, check=False, DELTABLOOM_STATISTICS=str(self.folder / "full.json"))
        self.assertIn("cannot write the statistics to ", *self.ours(result))
        self.assertEqual(self.names("*.tmp"), [])
        self.assertEqual(self.names("*.txt"), [])
        self.assertEqual(self.names("out.json"), ["out.json"])  # 15 seconds taken


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[6:])
