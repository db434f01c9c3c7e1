"""Switches each heuristic of allocation=levels off, one at a time, and measures
what gets worse on the loads of tests/rocksdb/levels_workloads_test.cc. Prints
the table of docs/measurements.md.

    python3 tests/ablation/run.py [--keys N] [--repeats N] [--jobs N] [NAME...]

Each load runs with several seeds, and the table has the geometric means. Its
first row compares all heuristics with themselves, with other seeds: smaller
differences than those of this row are chance.

A copy of the sources is built in which an environment variable selects the
heuristic that is off, so one build serves all measurements.
"""

import argparse
import concurrent.futures
import csv
import math
import os
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "ablation"
TEST = "rocksdb_levels_workloads_test"
LEVELED = ["leveled4", "leveled4dynamic", "leveled10", "leveled10dynamic"]
UNIVERSAL = ["universal"]
ALL = LEVELED + UNIVERSAL

# Name, file, text with the heuristic, text in its place while OFF holds, styles
# that it concerns.
HEURISTICS = [
    (
        "levels planned full (else as they are)",
        "full_tree.cc",
        "if (!limits.Known()) return tree;",
        "if (OFF) { for (const auto& [l, of] : now) if (l < last) tree.levels[l] = of; }\n"
        "  if (OFF || !limits.Known()) return tree;",
        LEVELED,
    ),
    (
        "level 0 planned half full (else full)",
        "full_tree.cc",
        "limits.level0_files / 2",
        "limits.level0_files / (OFF ? 1 : 2)",
        LEVELED,
    ),
    (
        "last run: the largest level (else the deepest)",
        "full_tree.cc",
        "!(of.keys >= most)",
        "!(OFF || of.keys >= most)",
        LEVELED,
    ),
    (
        "no level planned larger than the last run",
        "full_tree.cc",
        "std::min(full, last_keys)",
        "(OFF ? full : std::min(full, last_keys))",
        LEVELED,
    ),
    (
        "dynamic levels above the base level are empty",
        "full_tree.cc",
        "full > limits.base / limits.ratio",
        "OFF || full > limits.base / limits.ratio",
        LEVELED,
    ),
    (
        "up to 3 % over the average (else 0)",
        "tree_bits.cc",
        "average_ * (1 + kMostExcess) *",
        "average_ * (1 + (OFF ? 0 : kMostExcess)) *",
        LEVELED,
    ),
    (
        "up to 3 % over the average (else no limit)",
        "tree_bits.cc",
        "if (goal_ == BitsGoal::kAverage && given",
        "if (!OFF && goal_ == BitsGoal::kAverage && given",
        LEVELED,
    ),
    (
        "a compaction may have the bits that it replaces",
        "tree_bits.cc",
        "const double replaced =\n",
        "const double replaced = OFF ? 0 :\n",
        LEVELED,
    ),
    (
        "what a compaction has written counts",
        "tree_bits.cc",
        "bits += table.compaction->written",
        "if (!OFF) bits += table.compaction->written",
        LEVELED,
    ),
    (
        "universal: smaller runs have more bits",
        "tree_bits.cc",
        "if (largest <= run) return given;",
        "if (OFF || largest <= run) return given;",
        UNIVERSAL,
    ),
    (
        "universal: up to 5 % over the average (else 3 %)",
        "tree_bits.cc",
        "(1 + kMostExcessOfRuns)",
        "(1 + (OFF ? 0.03 : kMostExcessOfRuns))",
        UNIVERSAL,
    ),
    (
        "universal: half of what is free (else all)",
        "tree_bits.cc",
        "kPartOfFree * std::max(free, 0.0)",
        "(OFF ? 1 : kPartOfFree) * std::max(free, 0.0)",
        UNIVERSAL,
    ),
    # Its text is what the part before leaves.
    (
        "universal: half of what is free (else a quarter)",
        "tree_bits.cc",
        "kPartOfFree) * std::max(free, 0.0)",
        "(OFF ? 0.25 : kPartOfFree)) * std::max(free, 0.0)",
        UNIVERSAL,
    ),
    (
        "weights by use",
        "tree_bits.cc",
        "return it == use_.end() ? 1 :",
        "return OFF || it == use_.end() ? 1 :",
        ALL,
    ),
    (
        "bits are given back",
        "tree_bits.cc",
        "UseOf(origin) >= kNeededUse",
        "OFF || UseOf(origin) >= kNeededUse",
        ALL,
    ),
    (
        "3 % of the total are not planned (else 0)",
        "filter_memory.cc",
        "memory.Shared() * kPlannedMemory",
        "memory.Shared() * (OFF ? 1 : kPlannedMemory)",
        ALL,
    ),
    (
        "room for keys to come",
        "tree_bits.cc",
        "if (!(run.dated_keys > 0)) return 0;",
        "if (OFF || !(run.dated_keys > 0)) return 0;",
        ALL,
    ),
    (
        "universal: smaller runs leave no room",
        "tree_bits.cc",
        "if (table.whole_run && table.level < last) return 0;",
        "if (!OFF && table.whole_run && table.level < last) return 0;",
        UNIVERSAL,
    ),
    (
        "flushes are averaged over keys (else over flushes)",
        "tree_files.cc",
        "const double part = n / (n +",
        "const double part = OFF ? (flush_keys_ > 0 ? 0.333 : 1) : n / (n +",
        ALL,
    ),
]

FIELDS = ["style", "load", "reads", "idle_reads", "best", "bits", "idle_bits", "excess"]


def switch(tree):
    """Makes the heuristics of a copy of the sources switchable."""
    for number, (name, file, text, without, _) in enumerate(HEURISTICS):
        path = tree / "engines/rocksdb/levels" / file
        code = path.read_text()
        if text not in code:
            raise SystemExit(f"{name}: {file} has changed")
        off = f'(std::getenv("ABLATION") && std::atoi(std::getenv("ABLATION")) == {number})'
        code = code.replace(text, without.replace("OFF", off), 1)
        if "#include <cstdlib>" not in code:
            code = "#include <cstdlib>\n" + code
        path.write_text(code)


def build():
    """The program that measures."""
    shutil.rmtree(FOLDER / "tree", ignore_errors=True)
    shutil.copytree(ROOT, FOLDER / "tree", ignore=shutil.ignore_patterns("build", ".git"))
    switch(FOLDER / "tree")
    configure = ["cmake", "-S", FOLDER / "tree", "-B", FOLDER / "build", "-G", "Ninja"]
    options = ["-DCMAKE_BUILD_TYPE=Release", "-DDELTABLOOM_FAST_BUILD=ON"]
    parts = ["-DDELTABLOOM_ROCKSDB=ON", "-DDELTABLOOM_TESTS=ON"]
    subprocess.run([*configure, *options, *parts], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", FOLDER / "build", "--target", TEST], check=True)
    return FOLDER / "build" / "tests" / "rocksdb" / TEST


def measure(program, number, style, seed, keys):
    """{(style, load): measures}, with heuristic `number` switched off."""
    table = FOLDER / f"{number}_{style}_{seed}.csv"
    table.unlink(missing_ok=True)
    environment = {
        **os.environ,
        "ABLATION": str(number),
        "DELTABLOOM_SEED": str(seed),
        "DELTABLOOM_LEVELS_TABLE": str(table),
        "DELTABLOOM_LEVELS_KEYS": str(keys),
        "GTEST_FILTER": f"*TableTest*/{style}",
    }
    subprocess.run([program], check=True, stdout=subprocess.DEVNULL, env=environment)
    with open(table, newline="", encoding="utf-8") as rows:
        return {
            (row["style"], row["load"]): {name: float(row[name]) for name in FIELDS[2:]}
            for row in csv.DictReader(rows, FIELDS)
        }


TOTAL = ("grown", "overwritten")


def mean(values):
    return math.exp(sum(math.log(max(value, 1e-9)) for value in values) / len(values))


def combined(runs):
    """The measures of several seeds: means, and the largest excess."""
    loads = {}
    for load in runs[0]:
        all_of = {field: [run[load][field] for run in runs] for field in FIELDS[2:]}
        loads[load] = {field: mean(values) for field, values in all_of.items()}
        loads[load]["excess"] = max(all_of["excess"])
    return loads


def summary(name, now, base):
    """A row of the table."""
    ratios = {key: now[key]["reads"] / base[key]["reads"] for key in now}
    others = {key: ratio for key, ratio in ratios.items() if key[1] not in TOTAL}
    totals = [ratio for key, ratio in ratios.items() if key[1] in TOTAL]
    worst = max(others, key=others.get)
    idle = [of["idle_bits"] for (_, load), of in now.items() if load not in (*TOTAL, "hits 100 %")]
    hits = [of["idle_bits"] for (_, load), of in now.items() if load == "hits 100 %"]
    excess = max(of["excess"] for of in now.values())
    return (
        f"| {name} | {mean(others.values()):.2f} | {others[worst]:.2f} ({worst[0]}, {worst[1]}) "
        f"| {mean(totals):.2f} | {min(idle):.2f} to {max(idle):.2f} "
        f"| {sum(hits) / len(hits):.1f} | {100 * excess:.1f} |"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--keys", type=int, default=100_000, help="of each load [%(default)s]")
    parser.add_argument("--repeats", type=int, default=3, help="seeds of each load [%(default)s]")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--program", type=pathlib.Path, help="a program that was built before")
    parser.add_argument("names", nargs="*", help="parts of the names of heuristics [all]")
    arguments = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    program = arguments.program or build()
    names = arguments.names or [""]
    chosen = [(-1, "nothing", ALL, 0), (-1, "nothing, other seeds", ALL, arguments.repeats)]
    for number, (name, _, _, _, styles) in enumerate(HEURISTICS):
        if any(part in name for part in names):
            chosen.append((number, name, styles, 0))
    seeds = range(1, arguments.repeats + 1)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:

        def start(number, style, seed):
            return pool.submit(measure, program, number, style, seed, arguments.keys)

        runs = {
            (row, style): [start(number, style, seed + first) for seed in seeds]
            for row, (number, _, styles, first) in enumerate(chosen)
            for style in styles
        }
        print(
            "| without | reads, mean | reads, most | under a total | idle bits | if all hit "
            "| excess, % |"
        )
        print("|---|---|---|---|---|---|---|")
        base = {}
        for row, (_, name, styles, _) in enumerate(chosen):
            now = {}
            for style in styles:
                now.update(combined([run.result() for run in runs[(row, style)]]))
            base = base or now
            print(summary(name, now, base), flush=True)


if __name__ == "__main__":
    main()
