"""deltabloom doctor from the outside: on databases of the distribution's ldb and
db_bench, with the plugin and without it.

Usage: doctor_test.py DELTABLOOM PLUGIN [unittest options]
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from databases import DatabaseTest, edit_options, options_file
from preload import OPTIONS, preloadable, run

TOOL, PLUGIN = sys.argv[1], preloadable(sys.argv[2])


def doctor(database, *arguments):
    return run(TOOL, "doctor", database, *arguments)


def listed(folder):
    return {file.name: (file.stat().st_size, file.stat().st_mtime_ns) for file in folder.iterdir()}


class Doctor(DatabaseTest):
    plugin = PLUGIN

    def diagnose(self, database, status):
        """{code: finding} of the JSON document, which the text agrees with."""
        before = listed(database)
        done = doctor(database, "--json")
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        document = json.loads(done.stdout)
        text = doctor(database)
        self.assertEqual((text.returncode, text.stderr), (status, ""))
        for finding in document["findings"]:
            self.assertIn(finding["severity"] + ": " + finding["what"], text.stdout)
            if finding["to_do"] is not None:
                self.assertIn("  to do: " + finding["to_do"], text.stdout)
        self.assertEqual("no problem found" in text.stdout, not document["findings"])
        self.assertEqual(run(TOOL, "doctor", "--db", database).stdout, text.stdout)
        self.assertEqual(listed(database), before)  # nothing is written
        self.document = document
        return {finding["code"]: finding for finding in document["findings"]}

    def tables(self):
        rows = self.document["database"]["tables"]
        return {(row["column_family"], row["filter"]): row["tables"] for row in rows}

    def test_process_alone(self):
        done = run(TOOL, "doctor")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("filter policy in this process: can be made", done.stdout)
        document = json.loads(run(TOOL, "doctor", "--json").stdout)
        process = document["process"]
        self.assertTrue(process["policy_can_be_made"])
        self.assertEqual(process["built_for_rocksdb"], process["loaded_rocksdb"])
        self.assertEqual(len(process["libraries"]), 1)
        self.assertTrue(pathlib.Path(process["libraries"][0]).name.startswith("librocksdb.so"))
        self.assertNotIn("database", document)
        portable = run(TOOL, "doctor", DELTABLOOM_CPU="portable")
        self.assertEqual(portable.stderr, "")
        self.assertIn("kernels for this CPU: portable\n", portable.stdout)
        unknown = run(TOOL, "doctor", DELTABLOOM_CPU="avx-512")
        self.assertEqual(
            unknown.stderr,
            "deltabloom doctor: warning: DELTABLOOM_CPU=avx-512 is ignored: "
            "use portable, avx2 or avx512\n",
        )

    def test_all_is_well(self):
        self.assertEqual(self.diagnose(self.database(), 0), {})
        self.assertEqual(self.tables(), {("default", "Deltabloom compact"): 1})
        row = self.document["database"]["tables"][0]
        self.assertEqual(row["compatibility_name"], "rocksdb.BuiltinBloomFilter")
        self.assertEqual(row["entries"], 2000)
        self.assertGreater(row["filter_bytes"], 2000)
        self.assertEqual(row["oldest"], row["newest"])
        (family,) = self.document["database"]["column_families"]
        self.assertTrue(family["names_deltabloom"])
        self.assertIn("layout=compact", family["filter_policy"])

    def test_stock_ldb_leaves_a_database_without_filters(self):
        database = self.database()
        ldb = ["ldb", f"--db={database}", "--try_load_options"]
        self.assertEqual(run(*ldb, "put", "key", "value").stdout, "OK\n")
        self.assertIn("filter_policy=nullptr", options_file(database).read_text())
        found = self.diagnose(database, 1)
        # The key went into a table of its own when ldb opened the database, or is in the WAL.
        self.assertEqual(found.pop("options_without_policy")["severity"], "problem")
        self.assertLessEqual(set(found), {"filters_not_queried", "tables_without_filter"})

        self.assertEqual(run(*ldb, "compact").returncode, 0)
        found = self.diagnose(database, 1)
        self.assertEqual(set(found), {"options_without_policy", "tables_without_filter"})
        self.assertEqual(self.tables(), {("default", None): 1})
        self.assertIn("no filter in 1 table in level ", found["tables_without_filter"]["what"])

        # The advised change removes the finding.
        self.assertIn("filter_policy=deltabloom:10", found["options_without_policy"]["to_do"])
        edit_options(database, "filter_policy=nullptr", "filter_policy=deltabloom:10")
        self.assertEqual(set(self.diagnose(database, 1)), {"tables_without_filter"})
        self.assertEqual(run(*ldb, "compact", preload=PLUGIN).returncode, 0)
        self.assertEqual(self.diagnose(database, 0), {})
        self.assertEqual(self.tables(), {("default", "Deltabloom compact"): 1})

    def test_options_and_their_findings(self):
        """Databases, by the policy they are written with, and the codes that are found after each
        change of the OPTIONS file."""
        policy = "filter_policy=.*"
        for written_with, changes in {
            # Deltabloom uses the filters of RocksDB; not under a name of its own.
            "bloomfilter:10:false": [
                (policy, "filter_policy=bloomfilter:10:false", 0, {"other_policy"}),
                (policy, "filter_policy=deltabloom:10", 0, set()),
                (
                    policy,
                    "filter_policy={id=deltabloom;compatibility=own;}",
                    1,
                    {"filters_not_queried"},
                ),
            ],
            "{id=deltabloom;compatibility=own;}": [
                ("compatibility=own", "compatibility=own", 0, set()),
                ("compatibility=own", "compatibility=builtin", 1, {"filters_not_queried"}),
            ],
            "nullptr": [
                (policy, "filter_policy=deltabloom:0", 0, {"no_filter_by_choice"}),
                (policy, "filter_policy=deltabloom", 1, {"tables_without_filter"}),
                (
                    "optimize_filters_for_hits=false",
                    "optimize_filters_for_hits=true",
                    0,
                    {"no_filter_by_choice"},
                ),
            ],
        }.items():
            database = self.database(written_with)
            for pattern, replacement, status, codes in changes:
                with self.subTest(replacement):
                    edit_options(database, pattern, replacement)
                    self.assertEqual(set(self.diagnose(database, status)), codes)
            if written_with.startswith("bloom"):
                self.assertEqual(self.tables(), {("default", "RocksDB Bloom"): 1})
            shutil.rmtree(database)

    def test_policies_that_cannot_work(self):
        database = self.database()
        for policy, status, code, words in [
            ("deltabloomm:10", 2, "unknown_policy", "deltabloomm:10"),
            ("deltabloom:nan", 1, "policy_cannot_work", "nan"),
            ("deltabloom:10:tiny", 1, "policy_cannot_work", "tiny"),
            ("{id=deltabloom;layout=tiny;}", 1, "policy_cannot_work", "tiny"),
            ("{id=deltabloom;no_such=1;}", 1, "policy_cannot_work", "no_such"),
            ("{id=deltabloom;key_transform=own;}", 2, "unknown_key_transform", "own"),
            ("{id=deltabloom;max_filter_bytes=1;}", 1, "policy_cannot_work", "matches every key"),
        ]:
            with self.subTest(policy):
                edit_options(database, "filter_policy=.*", f"filter_policy={policy}")
                finding = self.diagnose(database, status)[code]
                self.assertIn(words, finding["what"])
                self.assertIsNotNone(finding["to_do"])

    def test_what_cannot_be_read(self):
        database = self.database()
        (database / "a.sst").write_bytes(b"no table")  # not the database's
        self.assertEqual(self.diagnose(database, 0), {})
        (table,) = set(database.glob("*.sst")) - {database / "a.sst"}
        table.write_bytes(table.read_bytes()[:-10])
        found = self.diagnose(database, 2)
        self.assertEqual(set(found), {"unreadable"})
        self.assertIn(table.name, found["unreadable"]["what"])
        self.assertEqual(self.tables(), {})

        options_file(database).write_text("[CFOptions")
        self.assertIn("line 1: expected ]", json.dumps(doctor(database, "--json").stdout))
        for file in database.glob("*"):
            file.unlink()
        found = self.diagnose(database, 2)
        self.assertEqual(set(found), {"no_database"})

    def test_a_path_that_is_missing_exits_as_elsewhere(self):
        self.assertEqual(doctor(self.folder, "--db", self.folder).returncode, 2)
        for command in ("inspect", "verify", "doctor"):
            done = run(TOOL, command, self.folder / "none")
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), command)
            self.assertIn(f"{self.folder}/none", done.stderr)

    def test_tables_in_other_directories(self):
        database = self.database()
        other = self.folder / "other tables"
        other.mkdir()
        for table in database.glob("*.sst"):
            table.rename(other / table.name)
        self.assertEqual(set(self.diagnose(database, 2)), {"tables_elsewhere"})
        found = doctor(database, "--path", other, "--path", database)
        self.assertEqual((found.returncode, found.stderr), (0, ""), found.stdout)
        self.assertIn("Deltabloom compact", found.stdout)
        alone = run(TOOL, "doctor", "--path", other)
        self.assertEqual((alone.returncode, alone.stdout), (2, ""))
        self.assertIn("--path requires PATH", alone.stderr)

    def test_names_are_escaped_and_tables_are_elsewhere(self):
        database = self.database()
        for table in database.glob("*.sst"):
            table.rename(database / "999999.sst")
        self.assertEqual(set(self.diagnose(database, 2)), {"tables_elsewhere"})
        self.assertEqual(self.document["database"]["unused"], 1)
        self.assertEqual(self.document["database"]["elsewhere"], 1)
        with options_file(database).open("a") as file:
            file.write('[CFOptions "a\x1b]0;b"]\n')
        done = doctor(database)
        self.assertNotIn("\x1b", done.stdout)
        self.assertIn("column family a\\x1b]0;b", done.stdout)

    def test_manifests_that_cannot_be_read(self):
        database = self.database()
        (manifest,) = database.glob("MANIFEST-*")
        log = manifest.read_bytes()
        for damaged, words in [
            (log[:60], "is cut off within a record"),
            (log[:-1], "is cut off within a record"),
            (b"", "this is not the start of a MANIFEST"),
            (bytes(100000), "this is not the start of a MANIFEST"),
            (log + b"\1\2\3\4\5\0\1wrong", "checksum does not hold"),
            (log + bytes(100) + log, "expected zeros, found other bytes"),
            (log[:20] + b"?" + log[21:], "checksum does not hold"),
        ]:
            with self.subTest(words):
                manifest.write_bytes(damaged)
                finding = self.diagnose(database, 2)["unreadable"]
                self.assertEqual(finding["what"].split(": ")[0], str(manifest))
                self.assertIn(words, finding["what"])
                self.assertIsNone(self.document["database"]["tables"][0]["level"])
                self.assertEqual(self.tables(), {("default", "Deltabloom compact"): 1})
                done = run(TOOL, "refilter", database)
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertEqual(done.stderr, f"deltabloom refilter: {finding['what']}\n")
        manifest.write_bytes(log + bytes(100000))  # allocated in advance
        self.assertEqual(self.diagnose(database, 0), {})

    def test_files_that_are_none(self):
        """What RocksDB does not write, and what would never end."""
        for name in ("CURRENT", "MANIFEST-*", "OPTIONS-*", "*.sst"):
            for kind, words in [
                ("fifo", "expected a file, found a FIFO"),
                ("folder", "expected a file, found a directory"),
                ("huge", ""),
            ]:
                with self.subTest(f"{name} {kind}"):
                    database = self.database()
                    file = max(database.glob(name))
                    file.unlink()
                    if kind == "fifo":
                        os.mkfifo(file)
                    elif kind == "folder":
                        file.mkdir()
                    else:
                        file.touch()
                        os.truncate(file, 3 << 30)
                    # The address space is far smaller than the file.
                    limited = ["sh", "-c", 'ulimit -v 1000000; exec "$@"', "sh", TOOL]
                    done = run(*limited, "doctor", database)
                    self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                    self.assertIn(f"unknown: {file}: {words}", done.stdout)
                    done = run(*limited, "refilter", "--filter", "deltabloom:20:compact", database)
                    if name != "OPTIONS-*":
                        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
                    shutil.rmtree(database)

    def test_a_running_database(self):
        database = self.database()
        options = self.folder / "running"
        options.write_text(
            (OPTIONS % "deltabloom").replace(
                '"default"]', '"default"]\n  write_buffer_size=65536', 1
            )
        )
        bench = subprocess.Popen(
            [
                "db_bench",
                f"--options_file={options}",
                f"--db={database}",
                "--num=1000000",
                "--use_existing_db",
                "--benchmarks=overwrite",
                "--duration=600",
            ],
            env=dict(os.environ, LD_PRELOAD=PLUGIN),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.addCleanup(bench.wait)
        self.addCleanup(bench.kill)
        seen = []
        while len(seen) < 5 or max(seen) < 2:
            done = doctor(database, "--json")
            self.assertEqual(done.returncode, 0, done.stdout)
            seen.append(sum(row["tables"] for row in json.loads(done.stdout)["database"]["tables"]))
        self.assertIsNone(bench.poll())


class Run(unittest.TestCase):
    def setUp(self):
        # The folders are those of a build. The loader splits LD_PRELOAD at
        # blanks.
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()), "a folder")
        self.plugins = self.folder / "engines" / "rocksdb"
        self.plugins.mkdir(parents=True)
        (self.folder / "tools" / "deltabloom").mkdir(parents=True)
        self.tool = shutil.copy(TOOL, self.folder / "tools" / "deltabloom")

    def test_with_a_plugin(self):
        for file in pathlib.Path(sys.argv[2]).parent.glob("libdeltabloom_*.so"):
            shutil.copy(file, self.plugins)
        modules = pathlib.Path(sys.argv[2]).parent / "deltabloom"
        shutil.copytree(modules, self.plugins / modules.name)
        done = run(self.tool, "run")
        self.assertEqual(done.stdout, f"{self.plugins}/libdeltabloom_rocksdb_plugin.so\n")
        done = run(self.tool, "run", "--replace-bloom")
        self.assertEqual(done.stdout, f"{self.plugins}/libdeltabloom_replace_bloom.so\n")
        options = self.folder / "options"
        options.write_text(OPTIONS % "deltabloom:10")
        done = run(
            self.tool,
            "run",
            "db_bench",
            f"--options_file={options}",
            f"--db={self.folder}/db",
            "--num=10000",
            "--benchmarks=filluniquerandom,flush,readmissing",
            "--statistics",
        )
        useful = re.search(r"bloom\.filter\.useful COUNT : (\d+)", done.stdout)
        self.assertGreater(int(useful[1]), 9000, done.stdout + done.stderr)
        self.assertNotIn("ld.so", done.stderr)
        self.assertNotIn("deltabloom: ", done.stderr)
        for option in ([], ["--replace-bloom"]):
            done = run(self.tool, "run", *option, "true")
            self.assertEqual(done.stderr.count("none was made or read"), 1, done.stderr)
        self.assertEqual(run(self.tool, "run", "--", "echo", "--", "--json").stdout, "-- --json\n")
        self.assertEqual(run(self.tool, "run", "--jsn", "--", "echo").returncode, 2)
        done = run(self.tool, "run", "no_such_program", "--json")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(
            done.stderr, "deltabloom run: no_such_program: No such file or directory\n"
        )

    def test_without_a_plugin(self):
        done = run(self.tool, "run", "true")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn(
            "libdeltabloom_rocksdb_plugin.so does not exist: install the plugin", done.stderr
        )


class Check(unittest.TestCase):
    def test_texts(self):
        for text, expected in (
            ("deltabloom:12", "bits_per_key=12"),
            ("filter_policy={id=deltabloom;layout=compact;}", "layout=compact"),
            ("deltabloom.range", "id=deltabloom.range"),
            ("table_properties_collectors={id=deltabloom.range;bits_per_key=6}", "bits_per_key=6"),
        ):
            with self.subTest(text):
                done = run(TOOL, "check", text)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertIn(expected, done.stdout)
                self.assertRegex(done.stdout, r"valid, as RocksDB \d+\.\d+\.\d+ parses it\n$")

    def test_wrong_texts(self):
        for text, expected in (
            ("deltabloom:nan", "bits_per_key 'nan' is not valid: use 0 to 1000"),
            ("deltablom:10", "'deltablom:10' is no filter policy of Deltabloom: RocksDB takes it"),
            (
                "bloomfilter:10",
                "is no filter policy of Deltabloom: RocksDB takes it for bloomfilter",
            ),
            ("deltabloom.rnge", "is no filter policy of Deltabloom"),
            ("{id=deltabloom.range;bits=6}", "bits"),
            ("", "'' is no filter policy of Deltabloom: RocksDB takes it for none"),
        ):
            with self.subTest(text):
                done = run(TOOL, "check", text, "--json")
                self.assertEqual(done.returncode, 1, done.stdout)
                answer = json.loads(done.stdout)
                self.assertFalse(answer["valid"])
                self.assertRegex(answer["error"], "^deltabloom: ")
                self.assertIn(expected, answer["error"])

    def ceph(self, text):
        done = run(TOOL, "check", "--ceph", text, "--json")
        return done.returncode, json.loads(done.stdout)

    def test_ceph(self):
        status, answer = self.ceph(
            "m(3)=block_based_table_factory={filter_policy=deltabloom:10} p(3,0-12) "
            "O(3,0-)=block_cache={type=binned_lru;size=1M;filter_policy=deltabloom:14} "
            "L=min_write_buffer_number_to_merge=32"
        )
        self.assertEqual((status, answer["valid"]), (0, True))
        filters = {family["name"]: family["options"] for family in answer["families"]}
        self.assertEqual(list(filters), ["m", "p", "O", "L"])
        self.assertIn(";bits_per_key=10;", filters["m"])
        self.assertIn(";bits_per_key=14;", filters["O"])
        self.assertEqual((filters["p"], filters["L"]), (None, None))
        done = run(TOOL, "check", "--ceph", "p m=block_cache={filter_policy=deltabloom:9.5}")
        self.assertRegex(
            done.stdout,
            r"^p: Ceph's own filters\nm: \{id=deltabloom;.*;bits_per_key=9.5;\}\nvalid, as RocksDB",
        )

    def test_wrong_texts_of_ceph(self):
        policy = "block_based_table_factory={filter_policy=deltabloom:10}"
        for text, expected in (
            (f"m={policy} default", "family 'default' must not be named"),
            (f"default(2)={policy}", "family 'default' must not be named"),
            ("m(3) L P", "no family has a filter policy of Deltabloom"),
            ("m=block_cache={filter_policy=bloomfilter:10}", "no family has a filter policy"),
            ("", "a family has no name"),
            (f"m={policy}  L", "a family has no name: one blank separates"),
            (f"m={policy} ", "a family has no name"),
            (f"m={policy} m", "family 'm' is named twice"),
            (f"m(0)={policy}", "family 'm(0)': use NAME"),
            (f"m(3={policy}", "family 'm(3': use NAME"),
            (f"m(3)x={policy}", "family 'm(3)x': use NAME"),
            (f"m(3,0)={policy}", "family 'm(3,0)': use NAME"),
            (f"m(3,13-13)={policy}", "family 'm(3,13-13)': use NAME"),
            (f"m()={policy}", "family 'm()': use NAME"),
            ("m=filter_policy=deltabloom:10", "Could not find option: : filter_policy"),
            (policy.replace("block", "m=block")[:-1], "Mismatched curly braces"),
            ("m=" + policy.replace("deltabloom:10", "deltabloom:x"), "bits_per_key 'x'"),
            ("m=" + policy.replace("deltabloom", "deltablom"), "FilterPolicy: deltablom:10"),
            ("m=" + policy.replace("filter_p", "filterp"), "family 'm': Invalid argument"),
            ("m=block_cache={filter_policy=deltabloom:10:q}", "layout 'q' is not valid"),
            (r"m=block_cache={type=lru\;filter_policy=deltabloom:10}", "a backslash before ';'"),
            (f"m=block_cache={{size=1M}};{policy}", "block_cache replaces block_based_table"),
        ):
            with self.subTest(text):
                status, answer = self.ceph(text)
                self.assertEqual((status, answer["valid"]), (1, False), answer)
                self.assertRegex(answer["error"], "^deltabloom: [^\n]+$")
                self.assertIn(expected, answer["error"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
