"""Switches each heuristic of the choice of cuts off, or gives a constant
another value, one at a time, and measures which empty scans pass then, in
several sets of random keys. Prints the table of docs/design.md, "What each part
is worth".

    python3 tests/ablation/range_cuts.py [--keys N] [--bits N] [--sets N] [--jobs N] [NAME...]

    NAME  parts of the names of rows; "A+B" switches the rows A and B together

A copy of the sources is built in which an environment variable selects the
rows, so one build serves all measurements.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import shutil
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "ablation-range-cuts"
TREE = FOLDER / "tree"
PROGRAM = "range_cuts_table"
MEASURES = ["by keys", "looked up", "another kind", "restarted"]

# Included by each file that has a switch.
SWITCHES = """
#include <cstdlib>
#include <cstring>
namespace deltabloom::internal::range {
inline bool IsSwitched(int row) {
  static const auto& switched = *new auto([] {
    struct { bool row[100] = {}; } of;
    const char* at = std::getenv("ABLATION");
    for (; at != nullptr; at = std::strchr(at, ',')) {
      if (*at == ',') ++at;
      of.row[std::atoi(at)] = true;
    }
    return of;
  }());
  return switched.row[row];
}
}
"""

# A place in the sources: the file, its text there, in which backticks enclose
# the value or condition that rows replace, and names of rows with what takes
# its place.
PARTS = [
    (
        "choice.cc",
        "constexpr double kShareOfKeys = `1.0 / 3`;",
        {
            "share of what keys suggest: none": "0.0",
            "share of what keys suggest: a fifth": "0.2",
            "share of what keys suggest: half": "0.5",
            "share of what keys suggest: two thirds": "2.0 / 3",
        },
    ),
    (
        "choice.cc",
        "constexpr double kLeastImprovement = `0.1`;",
        {
            "cuts are added as long as any fewer samples pass": "0.0",
            "cuts are added as long as 5 % fewer samples pass": "0.05",
            "cuts are added as long as 20 % fewer samples pass": "0.2",
        },
    ),
    (
        "choice.cc",
        "const double least_improvement = `set_.empty() ? 0 : kLeastImprovement`;",
        {"the first cut must help 10 %, too": "kLeastImprovement"},
    ),
    (
        "choice.cc",
        "constexpr double kBitsBeyond = `2`;",
        {
            "bytes are spent to the last (`kBitsBeyond` 20)": "20.0",
            "buying stops at 2^-b (`kBitsBeyond` 0)": "0.0",
        },
    ),
    (
        "bit_division.cc",
        "if (`bits[i] == kMaxBits`) continue;",
        {"at most 12 bits per prefix": "bits[i] == 12"},
    ),
    (
        "bit_division.cc",
        "RejectedByNextBit(by_prefixes, bits[i]) / `std::max(cost, 1.0 / 8)`;",
        {
            "the next bit goes where most samples are rejected, whatever it costs": "1.0",
            "bits that rounding makes free come first": "std::max(cost, 1e-9)",
        },
    ),
    (
        "choice.cc",
        "if (`with.passing >= best_passing * (1 - kRounding)`) continue;",
        {
            "rounding may decide between equal cuts": "with.passing >= best_passing",
            "of equal cuts the shallowest": (
                "with.passing >= best_passing * (1 + (best == kNone ? -1 : 1) * kRounding)"
            ),
        },
    ),
    (
        "choice.cc",
        "while (`set_.size() < kMaxCuts`) {",
        {"at most four cuts": "set_.size() < 4", "at most eight cuts": "set_.size() < 8"},
    ),
    (
        "delimiters.cc",
        "if (`delimiters.size() == kMaxDelimiters`) break;",
        {
            "no delimiters": "true",
            "one delimiter": "delimiters.size() == 1",
            "two delimiters": "delimiters.size() == 2",
            "16 delimiters": "delimiters.size() == 16",
        },
    ),
    (
        "delimiters.cc",
        "`count == kMaxDelimiterCount`) continue;",
        {
            "each delimiter counts at its first place only": "count == 1",
            "each delimiter counts up to its 255th": "count == 255",
        },
    ),
    (
        "delimiters.cc",
        "if (`at > 0 && IsAlphanumeric(text[at - 1])`) {",
        {"delimiters may follow delimiters": "true"},
    ),
    (
        "delimiters.cc",
        "if (`use.varies` && ",
        {"delimiters may be at the same place always": "true"},
    ),
    (
        "delimiters.cc",
        "&& `use.weight >= kLeastShare * all`)",
        {
            "delimiters of any share of the samples": "true",
            "delimiters of half of the samples": "2 * use.weight >= all",
        },
    ),
    (
        "candidates.cc",
        "prefixes < `kLeastPrefixes`) continue;\n    cut.bits",
        {"a cut may have one prefix": "1u"},
    ),
    (
        "candidates.cc",
        "if (`reach.HasOnePrefix()`) depths.insert(reach.common() - begin);",
        {"no candidates at the deepest cut with one prefix": "false"},
    ),
    (
        "candidates.cc",
        "depths.insert(`reach.last()` - begin);",
        {"no candidates at the deepest cut with several prefixes": "reach.common()"},
    ),
    (
        "sampled_keys.cc",
        "constexpr uint64_t kKeysForSamples = `64`;",
        {
            "16 keys suggest samples": "16u",
            "32 keys suggest samples": "32u",
            "256 keys suggest samples": "256u",
        },
    ),
    (
        "suggested_samples.cc",
        "for (const unsigned halvings : `kGapHalvings`) {\n",
        {
            "no ranges between keys": "std::vector<unsigned>()",
            "one range between keys, of 2^-4": "std::vector<unsigned>{4}",
            "two ranges between keys, of 2^-1 and 2^-7": "std::vector<unsigned>{1, 7}",
            "ranges between keys of 2^-1 to 2^-10 and 2^-16": (
                "std::vector<unsigned>{1, 4, 7, 10, 16}"
            ),
        },
    ),
    (
        "suggested_samples.cc",
        "`1.0 / std::size(kGapHalvings)`);",
        {
            "each range between keys weighs as much as a group": "1.0",
            "ranges between keys weigh a tenth of that": "0.1 / std::size(kGapHalvings)",
        },
    ),
    (
        "suggested_samples.cc",
        "const uint64_t lower = first + `gap / 2`;",
        {"ranges between keys begin behind the first": "1"},
    ),
    (
        "components.cc",
        "return `0 < end && end < key.size()` ? end + 1 : end;",
        {"the byte behind the text is not part of it": "false"},
    ),
    (
        "components.cc",
        "const bool goes_on = `end < text_end && IsAlphanumeric(key[end - 1])`;",
        {
            "components of text end with the text only": "end < text_end",
            "each byte of text is a component": "false",
        },
    ),
    (
        "components.cc",
        "find_if_not(key.begin(), key.end(), `IsText`)",
        {"no part of a key is text": "[](char) { return false; }"},
    ),
    (
        "components.cc",
        "while (`differs[last + 1]`) ++last;",
        {"each byte behind the text ends a component": "false"},
    ),
    (
        "components.cc",
        "if (`2 * prefixes.At(8 * (i + 1)) <= prefixes.At(8 * (last + 1))`) {",
        {
            "no component ends within bytes that differ": "false",
            "components end within where prefixes are a fifth": (
                "5 * prefixes.At(8 * (i + 1)) <= prefixes.At(8 * (last + 1))"
            ),
        },
    ),
    (
        "suggested_samples.cc",
        "if (`2 * at_cut.size() < sampled.size()`) continue;",
        {
            "cuts of other tables count for any share of the keys": "false",
            "cuts of other tables do not count": "true",
        },
    ),
    (
        "looked_up_samples.h",
        "static constexpr size_t kMostSamples = `256`;",
        {"64 looked-up samples": "64u", "128 looked-up samples": "128u"},
    ),
    (
        "filter_builder.cc",
        "choice.cuts.empty() || `numbers_are_no_worse()`",
        {
            "numbers only where prefixes are impossible": "false",
            "numbers wherever they are possible": "true",
        },
    ),
    (
        "filter_builder.h",
        "inline constexpr uint64_t kFilterFreeBytes = `160`;",
        {"64 bytes for the fixed part of a filter": "64u"},
    ),
    (
        "prefixes_writer.cc",
        "constexpr size_t kBytesOfEnds = `16`;",
        {"8 bytes of the first and last key": "8u", "64 bytes of them": "64u"},
    ),
    (
        "numbers_writer.h",
        "inline constexpr uint64_t kRangeLength = `1024`;",
        {"numbers for ranges of 16": "16u", "numbers for ranges of 65,536": "65536u"},
    ),
    (
        "numbers_writer.cc",
        "constexpr double kRate = `0.05`;",
        {"numbers: 1 % of ranges may match": "0.01", "numbers: 20 %": "0.2"},
    ),
    (
        "numbers_writer.cc",
        "if (`unit == most` ||",
        {"numbers: units may be as large as gaps": "false"},
    ),
    (
        "numbers_writer.cc",
        "`codes * keys_per_code <= kRate` ||",
        {"numbers: units as coarse as ranges": "false"},
    ),
    (
        "numbers_writer.cc",
        "if (`CodesSize(keys.size(), exact) <= bytes_of_codes`) plan.shape",
        {"numbers: all bytes even where fewer are exact": "false"},
    ),
]

ROWS = [None] + [name for _, _, rows in PARTS for name in rows]  # counted from 1


def switch():
    """Makes the parts of the copy of the sources switchable."""
    folder = TREE / "util" / "range"
    (folder / "ablation.h").write_text("#pragma once\n" + SWITCHES)
    for file, text, rows in PARTS:
        before, value, after = text.split("`")
        code = (folder / file).read_text(encoding="utf-8")
        if code.count(before + value + after) != 1:
            raise SystemExit(f"{file} has changed: {text}")
        choice = value
        for name, other in rows.items():
            choice = f"IsSwitched({ROWS.index(name)}) ? {other} : {choice}"
        if "`kGapHalvings`" in text:
            value = "std::vector<unsigned>(std::begin(kGapHalvings), std::end(kGapHalvings))"
            choice = choice.replace(" : kGapHalvings", " : " + value)
        if "IsText" in value:
            choice = choice.replace(" : IsText", " : +[](char byte) { return IsText(byte); }")
            choice = choice.replace("? [](", "? +[](")
        before = before.replace("static constexpr", "inline static const")
        before = before.replace("constexpr", "const")
        code = code.replace(text.replace("`", ""), f"{before}({choice}){after}")
        if "range/ablation.h" not in code:
            code = code.replace("#include", '#include "util/range/ablation.h"\n#include', 1)
        (folder / file).write_text(code, encoding="utf-8")


def build():
    """The program that measures."""
    shutil.rmtree(TREE, ignore_errors=True)
    shutil.copytree(ROOT, TREE, ignore=shutil.ignore_patterns("build", ".git"))
    switch()
    configure = ["cmake", "-S", TREE, "-B", FOLDER / "build", "-G", "Ninja"]
    options = ["-DCMAKE_BUILD_TYPE=Release", "-DDELTABLOOM_TESTS=ON"]
    subprocess.run([*configure, *options], check=True, stdout=subprocess.DEVNULL)
    command = ["cmake", "--build", FOLDER / "build", "--target", PROGRAM]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return FOLDER / "build" / "tests" / "range" / PROGRAM


Table = collections.namedtuple("Table", "kinds means building")


def measure(program, arguments, rows):
    """The mean of the tables of all sets of keys with these rows switched."""
    tables = [measure_set(program, arguments, rows, i) for i in range(arguments.sets)]
    kinds = {
        kind: [statistics.mean(table.kinds[kind][i] for table in tables) for i in range(4)]
        for kind in tables[0].kinds
    }
    means = [statistics.mean(table.means[i] for table in tables) for i in range(4)]
    return Table(kinds, means, sum(table.building for table in tables))


def measure_set(program, arguments, rows, keys):
    """The table of the program for one set of keys."""
    switched = ",".join(str(ROWS.index(row)) for row in rows)
    environment = {**os.environ, "ABLATION": switched, "DELTABLOOM_SEED": str(keys)}
    command = [program, f"-n{arguments.keys}", f"-b{arguments.bits}"]
    output = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    kinds, means, building = {}, None, None
    for line in output.stdout.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) < 10 or not re.match(r"\d", cells[2]):
            continue
        passing = [float(cell) for cell in cells[2:6]]
        if cells[0].startswith("all "):
            means, building = passing, float(cells[8]) + float(cells[9])
        else:
            kinds[f"{cells[0]} {cells[1]}"] = passing
    return Table(kinds, means, building)


def most(now, base, sign):
    """The kind of scan of which most more pass (sign 1), or fewer (-1)."""
    more = {
        (kind, i): now.kinds[kind][i] - base.kinds[kind][i]
        for kind in base.kinds
        for i in range(len(MEASURES))
    }
    kind, i = max(more, key=lambda place: sign * more[place])
    return f"{more[kind, i]:+.1f} ({kind}, {MEASURES[i]})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--keys", type=int, default=20_000, help="of each table [%(default)s]")
    parser.add_argument("--bits", type=float, default=8, help="per key [%(default)s]")
    parser.add_argument("--sets", type=int, default=3, help="of random keys [%(default)s]")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--program", type=pathlib.Path, help="a program that was built before")
    parser.add_argument("names", nargs="*", help="parts of the names of rows [all]")
    arguments = parser.parse_args()
    chosen = [[]]
    if not arguments.names:
        chosen += [[row] for row in ROWS[1:]]
    for name in arguments.names:
        parts = name.split("+")
        if len(parts) == 1:
            chosen += [[row] for row in ROWS[1:] if name in row]
        else:
            chosen.append([row for row in ROWS[1:] if any(part in row for part in parts)])
    program = arguments.program or build()
    print("| | " + ", % | ".join(MEASURES) + ", % | a kind, most | a kind, least | building |")
    print("|---|" + "---|" * (len(MEASURES) + 3))
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        base = None
        for rows, now in zip(
            chosen, pool.map(lambda rows: measure(program, arguments, rows), chosen)
        ):
            base = base or now
            means = " | ".join(f"{mean:.2f}" for mean in now.means)
            print(
                f"| {' and '.join(rows) or 'as it is'} | {means} "
                f"| {most(now, base, 1)} | {most(now, base, -1)} "
                f"| {now.building / base.building:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
