#!/usr/bin/env python3
"""Bloom filters of RocksDB and LevelDB replaced in programs that know nothing of
it, by the library for LD_PRELOAD.

usage: replace_bloom_test.py LIBRARY.so LIBROCKSDB.so LIBLEVELDB.so OTHER_ROCKSDB.so
           [unittest options]
"""

import os
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import preload as stock  # noqa: E402

LIBRARY, ROCKSDB, LEVELDB, OTHER = map(pathlib.Path, sys.argv[1:5])
PROGRAM = pathlib.Path(__file__).parent / "preload" / "bloom.py"
KEYS = 20000
FOUND = {"rocksdb": "rocksdb 2000 of 2000\n", "leveldb": "leveldb 2000 of 2000\n"}
# Under `deltabloom run`, which a program replaces.
AS_RUN = ["sh", "-c", 'export DELTABLOOM_RUN=$$; exec "$@"', "-"]


def run(*command, preload=LIBRARY, **more):
    name = None if preload is None else stock.preloadable(pathlib.Path(preload))
    return stock.run(*command, preload=name, **more)


class InAFolder(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.db = self.folder / "db"

    def run_well(self, *command, **more):
        """Returns what it printed on standard output; there is no line of ours."""
        done = run(*command, **more)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("deltabloom", done.stderr)
        return done.stdout

    def program(self, *words, expected=None, line=None, count=1, command=(), **more):
        """Runs the program, which prints `count` lines of ours on standard error."""
        done = run(*command, sys.executable, PROGRAM, *words, **more)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout, expected or FOUND["rocksdb"])
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), count if line else 0, done.stderr)
        for one in lines:
            self.assertTrue(one.startswith("deltabloom: no filters of Deltabloom in "), one)
            self.assertIn(line, one)

    def policies(self, db=None):
        """The policies that built the filters of the tables."""
        names = set()
        for table in (db or self.db).glob("*.sst"):
            dump = run(
                "sst_dump", "--show_properties", "--command=none", f"--file={table}", preload=None
            )
            self.assertRegex(dump.stdout, r"filter block size: [1-9]")
            names.add(re.search(r"filter policy name: (\S+)", dump.stdout)[1])
        return names

    def options(self):
        newest = max(self.db.glob("OPTIONS-*"), key=lambda path: int(path.name.split("-")[1]))
        return re.search(r"filter_policy=(.*)", newest.read_text())[1]

    def db_bench(self, benchmarks, *more, **variables):
        return self.run_well(
            "db_bench",
            f"--db={self.db}",
            f"--benchmarks={benchmarks}",
            f"--num={KEYS}",
            "--seed=1",
            "--statistics",
            "--compression_type=none",
            *more,
            **variables,
        )

    def false_positives(self, output):
        counts = [
            int(re.search(rf"bloom\.filter\.{name} COUNT : (\d+)", output)[1])
            for name in ("full.positive", "full.true.positive")
        ]
        return counts[0] - counts[1]


class RocksDB(InAFolder):
    def test_db_bench(self):
        """Of 20,000 absent keys some 190 pass RocksDB's Bloom filter, and 4 one
        of 12.5 bits."""
        counts = {}
        for preload in (None, LIBRARY):
            shutil.rmtree(self.db, ignore_errors=True)
            output = self.db_bench(
                "fillseq,flush,readmissing,readrandom", "--bloom_bits=10", preload=preload
            )
            self.assertIn(f"({KEYS} of {KEYS} found)", output)
            counts[preload] = self.false_positives(output)
        self.assertTrue(120 < counts[None] < 280, counts)
        self.assertLess(counts[LIBRARY], 30)
        self.assertEqual(self.policies(), {"deltabloom"})
        self.assertRegex(self.options(), r"^\{id=deltabloom;.*\bbits_per_key=10;\}$")
        log = (self.db / "LOG").read_text()
        self.assertEqual(len(re.findall(r"\[deltabloom\] version \S+: bits_per_key=10 ", log)), 1)
        # Without us RocksDB finds all keys; its policy lets every key pass.
        output = self.db_bench(
            "readrandom,readmissing", "--bloom_bits=10", "--use_existing_db", preload=None
        )
        self.assertIn(f"({KEYS} of {KEYS} found)", output)
        self.assertIn("bloom.filter.useful COUNT : 0", output)

    def test_bits(self):
        for options, bits in (
            (["--bloom_bits=16"], 16),
            (["--bloom_bits=200"], 100),  # RocksDB's own limit
            (["--bloom_bits=10", "--use_ribbon_filter"], 7.2),
            (["--bloom_bits=20", "--use_ribbon_filter"], 13.4),
        ):
            with self.subTest(options):
                shutil.rmtree(self.db, ignore_errors=True)
                self.db_bench("fillseq,flush", *options)
                asked = float(re.search(r"\bbits_per_key=([0-9.]+);\}", self.options())[1])
                self.assertAlmostEqual(
                    asked, bits, delta=0.3 if "--use_ribbon_filter" in options else 0
                )
                self.assertEqual(self.policies(), {"deltabloom"})

    def test_options_files_name_their_own(self):
        """What they name is not replaced; and a policy of ours in them asks
        RocksDB for its own Bloom filter."""
        file = self.folder / "options"
        for text, policy, expected in (
            ("deltabloom:9.9", "deltabloom", r"\bbits_per_key=9.9;\}$"),
            ("bloomfilter:10:false", "bloomfilter", "^bloomfilter:10:false$"),
        ):
            with self.subTest(text):
                shutil.rmtree(self.db, ignore_errors=True)
                file.write_text(stock.OPTIONS % text)
                self.db_bench("fillseq,flush", f"--options_file={file}")
                self.assertRegex(self.options(), expected)
                self.assertEqual(self.policies(), {policy})

    def test_loaded_for_one_user_alone(self):
        """As the libraries of Java are: others do not see it."""
        self.program(ROCKSDB, self.db)
        self.assertEqual(self.policies(), {"deltabloom"})
        # RocksDB's C functions wrap the policy, whose options are not to be seen.
        self.assertEqual(self.options(), "deltabloom")
        self.program(ROCKSDB, self.db, preload=None)

    def test_fork_and_exec(self):
        for how in ("fork", "exec"):
            for before in ([], ["policy", ROCKSDB]):
                with self.subTest(how=how, before=before):
                    shutil.rmtree(self.db, ignore_errors=True)
                    self.program(*before, how, ROCKSDB, self.db)
                    self.assertEqual(self.policies(), {"deltabloom"})

    def test_another_is_loaded_later(self):
        """It keeps its own filters, and the first ours."""
        second = self.folder / "second"
        self.program(
            *(ROCKSDB, self.db, "policy", OTHER, "policy", OTHER, ROCKSDB, second),
            expected=FOUND["rocksdb"] * 2,
            line="they are in one RocksDB of this process, not in the other",
        )
        self.assertEqual(self.policies() | self.policies(second), {"deltabloom"})

    def test_two_before_the_first_policy(self):
        self.program(
            *("load", OTHER, ROCKSDB, self.db, ROCKSDB, self.folder / "second"),
            expected=FOUND["rocksdb"] * 2,
            line="it has more than one RocksDB, ",
        )
        self.assertNotIn("deltabloom", self.policies())

    def test_without_its_module(self):
        alone = shutil.copy(LIBRARY, self.folder)
        self.program(
            *(ROCKSDB, self.db, ROCKSDB, self.folder / "second"),
            expected=FOUND["rocksdb"] * 2,
            line="there is no module for its RocksDB ",
            preload=alone,
        )
        self.assertNotIn("deltabloom", self.policies())

    def test_another_module(self):
        (module,) = LIBRARY.parent.glob("deltabloom/rocksdb-*.so")
        shutil.copy(module.parent / "leveldb.so", self.folder / module.name)
        self.program(
            ROCKSDB, self.db, line="does not load into ", DELTABLOOM_MODULES=str(self.folder)
        )

    def test_its_file_was_deleted(self):
        copy = shutil.copy(ROCKSDB, self.folder / "librocksdb-of-an-archive.so")
        self.program(
            *("load", copy, "delete", copy, copy, self.db),
            line=f"the file of its RocksDB, {copy}, is not there any more",
        )
        self.assertNotIn("deltabloom", self.policies())


class LevelDB(InAFolder):
    TWICE = FOUND["leveldb"] * 2

    def tables(self, db):
        return {path.name: path.read_bytes() for path in db.glob("*.ldb")}

    def test_the_same_filters(self):
        """Byte for byte, so that any LevelDB reads them."""
        self.program(LEVELDB, self.db, expected=FOUND["leveldb"])
        own = self.folder / "own"
        self.program(LEVELDB, own, expected=FOUND["leveldb"], preload=None)
        self.assertEqual(self.tables(self.db), self.tables(own))
        self.assertEqual(len(self.tables(own)), 1)
        (table,) = self.tables(own).values()
        self.assertIn(b"filter.leveldb.BuiltinBloomFilter2", table)
        self.program(LEVELDB, self.db, expected=FOUND["leveldb"], preload=None)

    def test_it_is_ours(self):
        """The module is there, opened for LevelDB, and the folder of links is not."""
        code = f"""if True:
            import ctypes
            library = ctypes.CDLL({str(LEVELDB)!r})
            library.leveldb_filterpolicy_create_bloom(10)
            print("deltabloom-module.so" in open("/proc/self/maps").read() or
                  "leveldb.so\\n" in open("/proc/self/maps").read())"""
        self.assertEqual(
            self.run_well(sys.executable, "-c", code, TMPDIR=str(self.folder)), "True\n"
        )
        self.assertEqual(list(self.folder.iterdir()), [])
        self.assertEqual(self.run_well(sys.executable, "-c", code, preload=None), "False\n")

    def test_refusals(self):
        alone = shutil.copy(LIBRARY, self.folder)
        first, second = self.folder / "first", self.folder / "second"
        self.program(
            *(LEVELDB, first, LEVELDB, second),
            expected=self.TWICE,
            line="there is no module for its LevelDB ",
            preload=alone,
        )
        copy = shutil.copy(LEVELDB, self.folder / "libleveldb-again.so")
        self.program(
            *(LEVELDB, first, copy, second),
            expected=self.TWICE,
            line="they are in one LevelDB of this process, not in the other",
        )
        self.program(LEVELDB, first, expected=FOUND["leveldb"], line="bits_per_key", BITS="1001")

    def test_beside_rocksdb(self):
        self.program(
            *(LEVELDB, self.folder / "leveldb", ROCKSDB, self.db),
            expected=FOUND["leveldb"] + FOUND["rocksdb"],
        )
        self.assertEqual(self.policies(), {"deltabloom"})


class AtTheEnd(InAFolder):
    """What `deltabloom run` says of a program that used no filter of ours."""

    NONE = "none was made or read: "
    PLUGIN = LIBRARY.parent / "libdeltabloom_rocksdb_plugin.so"

    def said(self, *command, preload=PLUGIN, **more):
        done = run(*AS_RUN, *command, preload=preload, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [line for line in done.stderr.splitlines() if line.startswith("deltabloom")]

    def db_bench(self, *more):
        return [
            *("db_bench", f"--db={self.db}", "--num=1000", "--benchmarks=fillseq,flush,readrandom"),
            *more,
        ]

    def test_one_line(self):
        for preload, expected in (
            (self.PLUGIN, "its options have to name them"),
            (LIBRARY, "it did not ask RocksDB or LevelDB for a Bloom filter"),
        ):
            for command in (["true"], self.db_bench("--bloom_bits=0")):
                with self.subTest(preload=preload, command=command):
                    (line,) = self.said(*command, preload=preload)
                    start = f"deltabloom: no filters of Deltabloom in {shutil.which(command[0])}: "
                    self.assertTrue(line.startswith(start + self.NONE + expected), line)

    def test_silence(self):
        options = self.folder / "options"
        options.write_text(stock.OPTIONS % "deltabloom:10")
        with_options = self.db_bench(f"--options_file={options}")
        self.assertEqual(self.said(*with_options), [])
        only_reads = ("--use_existing_db=1", "--benchmarks=readrandom")
        self.assertEqual(self.said(*with_options, *only_reads), [])
        self.assertEqual(self.said(*self.db_bench("--bloom_bits=10"), preload=LIBRARY), [])
        # A shell only starts others: it prints no line, they do.
        self.assertEqual(self.said("sh", "-c", "ls /; true"), [])
        self.assertEqual(len(self.said("sh", "-c", '"$@"; true', "-", *self.db_bench())), 1)
        # Nobody asked for it.
        done = run(*self.db_bench(), preload=self.PLUGIN)
        self.assertNotIn("deltabloom", done.stderr)

    def test_a_refusal_is_enough(self):
        alone = shutil.copy(self.PLUGIN, self.folder)
        (line,) = self.said(*self.db_bench(), preload=alone)
        self.assertIn("there is no module for its RocksDB", line)

    def test_a_forked_child_is_silent(self):
        code = "import os\nif os.fork() == 0: raise SystemExit\nos.wait()"
        self.assertEqual(self.said(sys.executable, "-c", code), [])

    def test_loaded_by_a_binding(self):
        """With a loader of its own, and so a module that the other did not open."""
        folder = self.folder / "binding"
        shutil.copytree(self.PLUGIN.parent / "deltabloom", folder / "deltabloom")
        binding = shutil.copy(self.PLUGIN, folder)
        code = f"""if True:
            import ctypes
            rocksdb = ctypes.CDLL({str(ROCKSDB)!r})
            binding = ctypes.CDLL({str(binding)!r})
            assert binding.deltabloom_load(None, None)
            pointer = ctypes.c_void_p
            rocksdb.rocksdb_options_create.restype = pointer
            options = pointer(rocksdb.rocksdb_options_create())
            rocksdb.rocksdb_options_set_create_if_missing(options, 1)
            if {{used}}:
                assert binding.deltabloom_load_set_filters(options, b"deltabloom:10", None)
            rocksdb.rocksdb_open.restype = pointer
            error = ctypes.c_char_p()
            db = pointer(rocksdb.rocksdb_open(options, {os.fsencode(self.db)!r}, ctypes.byref(error)))
            rocksdb.rocksdb_writeoptions_create.restype = pointer
            write = pointer(rocksdb.rocksdb_writeoptions_create())
            rocksdb.rocksdb_put(db, write, b"key", ctypes.c_size_t(3), b"value",
                                ctypes.c_size_t(5), ctypes.byref(error))
            rocksdb.rocksdb_compact_range(db, None, ctypes.c_size_t(0), None, ctypes.c_size_t(0))
            rocksdb.rocksdb_close(db)"""
        self.assertEqual(self.said(sys.executable, "-c", code.format(used=True)), [])
        self.assertEqual(len(self.said(sys.executable, "-c", code.format(used=False))), 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:])
