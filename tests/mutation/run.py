"""Changes one line of meaning at a time and sees whether a test notices: the
program of script/test --long mutation. See docs/trust.md for its results."""

import argparse
import collections
import fnmatch
import hashlib
import itertools
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

import mutants

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ["util", "table", "engines"]
MEMORY_LIMIT = 8 << 30
WALL_LIMIT_SECONDS = 300
SWITCHED_OFF = ["INSTALL", "EXAMPLES", "REDIS", "DB_BENCH_EXT"]
STATUSES = ["killed", "survived", "equivalent", "same code", "did not compile"]

# The tests that cover each file. All of engines/rocksdb/'s for each survivor there
# would take minutes. The order of a list means nothing: tests run fastest first,
# and the first failure ends a mutant.
LAYOUTS = [
    "hash_*test",
    "cpu_test*",
    "layout_*test",
    "compact_*test",
    "filter_test",
    "golden_test",
    "filter_fuzz_replay",
    "filter_block_fuzz_replay",
]
SST = [
    "sst_crafted_test",
    "sst_bounded_memory_test",
    "inspect_memory_test",
    "inspect_test",
    "sst_real_test",
]
LEVELDB = ["leveldb_filter_test", "leveldb_database_test"]
POLICY = [
    "rocksdb_policy_test",
    "rocksdb_out_of_memory_test",
    "rocksdb_*options_test",
    "rocksdb_plugin_test",
    "rocksdb_c_test",
]
BUILDING = [
    "rocksdb_filter_test",
    "rocksdb_lookup_test",
    "rocksdb_key_transform_test",
    "rocksdb_statistics_test",
]
STATISTICS = ["rocksdb_statistics_test", "rocksdb_threads_test", "rocksdb_lookup_test"]
BITS = ["rocksdb_table_bits_test", "rocksdb_trees_test"]

# Patterns of files, where * also stands for slashes, and of tests: the first line
# that fits counts.
TESTS = [
    ("*/c_*", ["c_core_test", "rocksdb_c_test"]),
    ("tools/sst/*", SST),
    ("engines/leveldb/*", LEVELDB),
    (
        "engines/rocksdb/plugin/*",
        [
            "rocksdb_dlclose_test",
            "rocksdb_plugin_test",
            "rocksdb_hosts_test",
            "rocksdb_statistics_file_test",
        ],
    ),
    ("engines/rocksdb/policy/table_bits.*", BITS),
    ("engines/rocksdb/base/filter_total.*", BITS),
    ("engines/rocksdb/statistics/*", [*POLICY, *STATISTICS]),
    ("engines/rocksdb/policy/bits_reader.*", [*POLICY, *BUILDING, *STATISTICS]),
    ("engines/rocksdb/base/key_*", [*POLICY, "rocksdb_key_transform_test", "rocksdb_filter_test"]),
    (
        "engines/rocksdb/base/options.*",
        [*POLICY, "rocksdb_key_transform_test", "rocksdb_filter_test"],
    ),
    ("engines/rocksdb/policy/bits_builder.*", [*POLICY, *BUILDING]),
    ("engines/rocksdb/policy/builder_warnings.*", [*POLICY, *BUILDING]),
    ("engines/rocksdb/policy/built_filter.*", [*POLICY, *BUILDING]),
    ("engines/rocksdb/policy/corruption_check.*", [*POLICY, *BUILDING]),
    ("engines/rocksdb/policy/filter_size.*", [*POLICY, *BUILDING, "tool_rocksdb_test"]),
    ("engines/rocksdb/policy/memory_charge.*", [*POLICY, *BUILDING]),
    (
        "engines/rocksdb/ranges/*",
        ["rocksdb_ranges_*test", "rocksdb_c_test", "range_property_fuzz_replay"],
    ),
    ("engines/rocksdb/*", ["rocksdb_*_test"]),
    (
        "util/rates/*",
        [
            "rate_test",
            "shared_filters_test",
            "concurrent_filter_test",
            "rocksdb_filter_test",
            "rocksdb_trees_test",
        ],
    ),
    ("util/layouts/*/rate.cc", ["rate_test", *LAYOUTS]),
    ("util/json.*", ["rocksdb_*options_test", "rocksdb_statistics_test", "shared_filters_test"]),
    ("table/range_filter.cc", ["range_test"]),
    ("util/range/*", ["range_*test", "range_fuzz_replay"]),
    ("util/*", [*LAYOUTS, "rate_test"]),
    ("table/*", [*LAYOUTS, *LEVELDB]),
]

HELP = """Changes one line of meaning of util/, table/ and engines/ at a time (a comparison,
a boundary, a constant, an operator, a condition, a return value, a statement),
builds the tests that cover the file, and runs them until one fails. Names the
changes that no test noticed, and exits with 1 if there are any.

  script/test --long mutation                        one change for every function
  script/test --long mutation --sample 500 --seed 7  more of them, others
  script/test --long mutation --files 'util/layouts/local/*'
  script/test --long mutation --resume               goes on where a run was stopped"""
EPILOG = """killed: a test failed, crashed or ran out of time. survived: no test noticed.
equivalent: listed in tests/mutation/equivalents.json, with the reason; not run.
same code: the compiler made the same machine code of it. did not compile: does
not count.

Everything happens in a copy of the tree in build/mutation (from the
environment: BUILD_DIR), which has its own compiler cache. Results are written
to results.jsonl there, as they come."""


def arguments():
    parser = argparse.ArgumentParser(
        prog="script/test --long mutation",
        description=HELP,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add(
        "--sample", type=int, metavar="N", help="number of changes; default: one for every function"
    )
    add("--seed", type=int, default=1, metavar="S", help="which changes; default 1")
    add(
        "--files",
        nargs="+",
        default=["*"],
        metavar="PATTERN",
        help="only these files, e.g. 'table/*' util/layouts/layout.cc",
    )
    add("--only", nargs="+", metavar="ID", help="these changes, by their id")
    add("--resume", action="store_true", help="leave out what results.jsonl has an answer for")
    add("--list", action="store_true", help="print the changes, run nothing")
    add("--jobs", type=int, default=os.cpu_count(), metavar="N", help="compilers at a time")
    add("--check", action="store_true", help=argparse.SUPPRESS)  # options only
    chosen = parser.parse_args()
    if chosen.sample is not None and chosen.sample < 1:
        parser.error("--sample must be at least 1")
    return parser, chosen


def tracked_files():
    # Files of the working tree count, including new ones that are not ignored.
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    return {name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).exists()}


def all_mutants():
    def text_of(file):
        return (ROOT / file).read_text(encoding="utf-8")

    listed = json.loads(text_of("tests/mutation/by_hand.json"))
    by_hand = [
        mutants.by_hand(one["file"], text_of(one["file"]), one["before"], one["after"])
        for one in listed
    ]
    return list(filter(None, by_hand)) + [
        mutant
        for file in sorted(tracked_files())
        if file.split("/")[0] in FOLDERS and file.endswith((".h", ".cc"))
        for mutant in mutants.mutants_of(file, text_of(file))
    ]


def choose(every, sample, seed):
    """One change per function first, in random order, then a second and so on:
    all functions, and so all files, are changed about equally often. Also
    returns what is left of each, to take when one does not compile."""
    # The choice depends on hashes, not on a sequence of random numbers, so that
    # an edit changes it there and nowhere else.
    by_seed = lambda *names: hashlib.sha256(repr((seed, *names)).encode()).digest()
    units = collections.defaultdict(list)
    for mutant in every:
        units[(mutant.file, mutant.unit, mutant.is_function)].append(mutant)
    for unit in units.values():
        unit.sort(key=lambda m: by_seed(m.identity))
    ordered = sorted(units.items(), key=lambda item: by_seed(*item[0]))
    functions = [unit for (_, _, is_function), unit in ordered if is_function]
    constants = [unit for (_, _, is_function), unit in ordered if not is_function]
    # Changes are in this order, so that a run that is stopped has been
    # everywhere, too.
    turns = itertools.zip_longest(*functions, *constants)
    chosen = [mutant for turn in turns for mutant in turn if mutant]
    chosen = chosen[: len(functions) if sample is None else sample]
    taken = {mutant.identity for mutant in chosen}
    return chosen, {
        key: [m for m in unit if m.identity not in taken] for key, unit in units.items()
    }


class Tree:
    """The copy of the sources and its build."""

    def __init__(self, folder, jobs):
        self.tree = folder / "tree"
        self.build = folder / "build"
        self.cache = folder / "ccache"
        self.times = self.build.with_suffix(".json")
        self.jobs = jobs
        self.environment = dict(
            os.environ,
            CCACHE_DIR=str(self.cache),
            CCACHE_MAXSIZE="4G",
            GTEST_FAIL_FAST="1",
            GTEST_BRIEF="1",
            DELTABLOOM_SEED="20260101",
        )
        self.tests = {}
        self.digests = {}  # of the unchanged programs
        self.seconds = {}

    def synchronise(self):
        names = tracked_files()
        for path in [p for p in self.tree.rglob("*") if p.is_file()]:
            if path.relative_to(self.tree).as_posix() not in names:
                path.unlink()
        for name in names:
            source, copy = ROOT / name, self.tree / name
            if not copy.exists() or copy.read_bytes() != source.read_bytes():
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, copy)

    def configure(self):
        self.run_or_exit(
            "CMake cannot configure the copy",
            "cmake",
            "-S",
            self.tree,
            "-B",
            self.build,
            "-G",
            "Ninja",
            "-DCMAKE_BUILD_TYPE=None",
            "-DCMAKE_CXX_FLAGS=-O1 -DNDEBUG",
            "-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=mold",
            "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache",
            "-DDELTABLOOM_TESTS=ON",
            *[f"-DDELTABLOOM_{part}=OFF" for part in SWITCHED_OFF],
        )
        self.read_tests()

    def read_tests(self):
        listed = self.run_or_exit(
            "CTest fails", "ctest", "--test-dir", self.build, "--show-only=json-v1"
        )
        for test in json.loads(listed)["tests"]:
            properties = {p["name"]: p["value"] for p in test.get("properties", [])}
            # A test has no command until its program is built.
            self.tests[test["name"]] = (test.get("command"), properties)

    def run_or_exit(self, problem, *command):
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True)
        if done.returncode != 0:
            sys.stderr.write(done.stdout[-4000:] + done.stderr[-4000:])
            sys.exit(problem)
        return done.stdout

    def target(self, test):
        command, _ = self.tests[test]
        # The program may also be in a setting for the script that runs it:
        # -DPROGRAM=...
        programs = [a[a.index(str(self.build)) :] for a in command if str(self.build) in a]
        return str(pathlib.Path(programs[0]).relative_to(self.build))

    def compile(self, target):
        return (
            0
            == subprocess.run(
                ["ninja", "-C", self.build, f"-j{self.jobs}", target],
                env=self.environment,
                capture_output=True,
            ).returncode
        )

    def digest(self, target):
        program = self.build / target
        # The library that LD_PRELOAD names loads the module from a folder beside it.
        modules = sorted(program.parent.glob("deltabloom/*.so"))
        return hashlib.sha256(b"".join(p.read_bytes() for p in [program, *modules])).hexdigest()

    def run(self, test, cpu_seconds):
        """None if it passed, else how it failed."""
        command, properties = self.tests[test]
        settings = (setting.partition("=") for setting in properties.get("ENVIRONMENT", []))
        environment = {**self.environment, **{name: value for name, _, value in settings}}

        def limit():
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        process = subprocess.Popen(
            command,
            env=environment,
            cwd=properties.get("WORKING_DIRECTORY"),
            preexec_fn=limit,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            code = process.wait(timeout=WALL_LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            code = process.wait()
        if code in (-signal.SIGXCPU, -signal.SIGKILL):
            return "time"
        return "failed" if code else None

    def baseline(self, tests):
        """Builds and runs every test unchanged: their times, and that they pass."""
        listed = self.run_or_exit(
            "Ninja fails", "ninja", "-C", self.build, "-t", "targets", "all"
        ).splitlines()
        known = {line.partition(":")[0] for line in listed}
        # Most tests are named like their programs.
        targets = {test for test in tests if test in known} | {"deltabloom_rocksdb_plugin"}
        if "rocksdb_hosts_test" in tests:
            targets |= {name for name in known if re.fullmatch(r"rocksdb_preload_[a-z]+", name)}
        targets = sorted(targets)
        print(f"Building {len(targets)} programs without a change.", flush=True)
        self.run_or_exit(
            "the tests do not build without a change",
            "ninja",
            "-C",
            self.build,
            f"-j{self.jobs}",
            *targets,
        )
        self.read_tests()
        known = json.loads(self.times.read_text()) if self.times.exists() else {}
        for test in sorted(tests):
            digest = self.digests[self.target(test)] = self.digest(self.target(test))
            if known.get(test, [""])[0] != digest:
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                if self.run(test, 600):
                    sys.exit(f"{test} fails without a change: run script/test first")
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                known[test] = [
                    digest,
                    after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
                ]
                self.times.write_text(json.dumps(known))
            self.seconds[test] = known[test][1]

    def covering(self, file):
        for pattern, names in TESTS:
            if fnmatch.fnmatch(file, pattern):
                return {test for name in names for test in fnmatch.filter(self.tests, name)}
        sys.exit(f"TESTS names no tests for {file}")

    def judge(self, mutant):
        """(status, by what)"""
        path = self.tree / mutant.file
        source = path.read_text(encoding="utf-8")
        changed = source[: mutant.start] + mutant.replacement + source[mutant.end :]
        # Tests named like the file come first, and those of its folder among equals.
        folder = pathlib.Path(mutant.file).parent.name
        words = pathlib.Path(mutant.file).stem.split("_")
        tests = sorted(
            self.covering(mutant.file),
            key=lambda t: (
                -sum(word.rstrip("s") in t for word in words),
                self.seconds[t] * (0.1 if t.startswith(folder) else 1),
                t,
            ),
        )
        same = True
        try:
            path.write_text(changed, encoding="utf-8")
            for test in tests:
                target = self.target(test)
                if not self.compile(target):
                    return "did not compile", ""
                if self.digest(target) == self.digests[target]:
                    continue
                same = False
                failure = self.run(test, int(self.seconds[test] * 4) + 2)
                if failure:
                    return "killed", test + (" (time)" if failure == "time" else "")
        finally:
            path.write_text(source, encoding="utf-8")
        return ("same code" if same else "survived"), ""


def read_equivalents():
    """Changes that alter nothing a test should see, with reasons: (file, line
    before, line after or "*" for every change) -> reason.

    Lines have single spaces and are found by their text, so that entries
    survive edits around them.
    """
    entries = json.loads((ROOT / "tests/mutation/equivalents.json").read_text(encoding="utf-8"))
    return {(one["file"], one["before"], one["after"]): one["reason"] for one in entries}


def find_equivalent(entries, mutant):
    """The key of the entry, or None."""
    keys = [(mutant.file, mutant.before, after) for after in (mutant.after, "*")]
    return next((key for key in keys if key in entries), None)


def describe(mutant):
    return (
        f"{mutant.file}:{mutant.line} {mutant.unit} [{mutant.identity}] {mutant.change}\n"
        f"  - {mutant.before}\n  + {mutant.after}"
    )


def read_results(path):
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {result["id"]: result for result in map(json.loads, lines)}


def summary(results):
    counts = collections.Counter(result["status"] for result in results)
    print(f"\n{len(results)} changes: " + ", ".join(f"{counts[s]} {s}" for s in STATUSES))
    for result in sorted(results, key=lambda r: r["status"]):
        if result["status"] in ("same code", "survived"):
            print(f"\n{result['status']}: {result['text']}")
    return counts["survived"]


def main():
    parser, chosen = arguments()
    if chosen.check:
        return 0
    every = all_mutants()
    if chosen.only:
        selected, spare = [m for m in every if m.identity in chosen.only], {}
    else:
        fitting = [m for m in every if any(fnmatch.fnmatch(m.file, one) for one in chosen.files)]
        selected, spare = choose(fitting, chosen.sample, chosen.seed)
    if not selected:
        parser.error("there is no such change: see script/test --long mutation --list")
    listed = read_equivalents()
    for stale in listed.keys() - {find_equivalent(listed, mutant) for mutant in every}:
        print(f"equivalents.json: fits no change: {stale[0]}: {stale[1]}")
    if chosen.list:
        print("\n".join(describe(m) for m in selected))
        print(
            f"\n{len(selected)} of {len(every)} changes in {len({m.file for m in selected})} files"
        )
        return 0

    folder = pathlib.Path(os.environ.get("BUILD_DIR", ROOT / "build/mutation")).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "results.jsonl"
    earlier = read_results(log) if chosen.resume else {}
    if not chosen.resume and not chosen.only:
        log.unlink(missing_ok=True)
    tree = Tree(folder, chosen.jobs)
    tree.synchronise()
    tree.configure()
    todo = [m for m in selected if m.identity not in earlier and not find_equivalent(listed, m)]
    tree.baseline({test for m in todo for test in tree.covering(m.file)})
    results = []
    started = time.monotonic()
    done = 0
    for mutant in selected:  # grows
        equivalent = find_equivalent(listed, mutant)
        if equivalent:
            result = {"status": "equivalent", "by": listed[equivalent]}
        elif mutant.identity in earlier:
            result = earlier[mutant.identity]
        else:
            result = dict(zip(("status", "by"), tree.judge(mutant)))
            done += 1
            spent = time.monotonic() - started
            print(
                f"{done}/{len(todo)} {result['status']:9} {mutant.file}:{mutant.line} "
                f"{result['by']} "
                f"({spent:.0f} s, {spent / done * (len(todo) - done):.0f} s to go)",
                flush=True,
            )
        results.append({**result, "id": mutant.identity, "text": describe(mutant)})
        with log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(results[-1]) + "\n")
        if result["status"] == "did not compile" and not chosen.only:
            others = spare.get((mutant.file, mutant.unit, mutant.is_function), [])
            selected += others[:1]
            todo += others[:1]
            del others[:1]
    return 1 if summary(results) else 0


if __name__ == "__main__":
    sys.exit(main())
