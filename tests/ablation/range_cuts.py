"""Changes each constant of the choice of cuts, one at a time, and measures which
empty scans pass then. Prints the table of docs/design.md, "What each part is
worth", and the time of building relative to the first row.

    python3 tests/ablation/range_cuts.py [NAME...]

A copy of the sources is built for each row. A row takes about a minute.
"""

import argparse
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "ablation-range-cuts"
TREE = FOLDER / "tree"
PROGRAM = "range_cuts_table"

SHARE = ("choose_cuts.cc", "kShareOfKeys = 1.0 / 3;")
IMPROVEMENT = ("choose_cuts.cc", "kLeastImprovement = 0.1;")
BEYOND = ("choose_cuts.cc", "kBitsBeyond = 2;")
DELIMITERS = ("candidates.cc", "kMaxDelimiters = 4;")
KEYS = ("suggested_samples.cc", "kKeysForSamples = 64;")
GAPS = ("suggested_samples.cc", "kGapHalvings[] = {1, 4, 7, 10};")
COMPONENTS = ("suggested_samples.cc", "if (2 * prefixes_at(i + 1)")

# Name, file and text, what takes the place of its value or condition.
ROWS = [
    ("as it is", SHARE, SHARE[1]),
    ("share of what keys suggest: none", SHARE, "kShareOfKeys = 0;"),
    ("a fifth", SHARE, "kShareOfKeys = 0.2;"),
    ("half", SHARE, "kShareOfKeys = 0.5;"),
    ("two thirds", SHARE, "kShareOfKeys = 2.0 / 3;"),
    ("cuts are added as long as any fewer samples pass", IMPROVEMENT, "kLeastImprovement = 0;"),
    ("or 5 % fewer", IMPROVEMENT, "kLeastImprovement = 0.05;"),
    ("bytes are spent to the last (`kBitsBeyond` 20)", BEYOND, "kBitsBeyond = 20;"),
    ("no delimiters", DELIMITERS, "kMaxDelimiters = 0;"),
    ("one delimiter", DELIMITERS, "kMaxDelimiters = 1;"),
    ("16 keys suggest samples", KEYS, "kKeysForSamples = 16;"),
    ("256 keys", KEYS, "kKeysForSamples = 256;"),
    ("one range between keys, of 2^-4", GAPS, "kGapHalvings[] = {4};"),
    (
        "no component ends within bytes that differ",
        COMPONENTS,
        "if (false && 2 * prefixes_at(i + 1)",
    ),
]


def configure():
    shutil.rmtree(TREE, ignore_errors=True)
    shutil.copytree(ROOT, TREE, ignore=shutil.ignore_patterns("build", ".git"))
    command = [
        "cmake",
        "-S",
        TREE,
        "-B",
        FOLDER / "build",
        "-G",
        "Ninja",
        "-DCMAKE_BUILD_TYPE=Release",
    ]
    subprocess.run([*command, "-DDELTABLOOM_TESTS=ON"], check=True, stdout=subprocess.DEVNULL)


def measure(name, file, text, changed):
    """The last row of the program's table: means over all kinds of scans."""
    path = TREE / "util" / "range" / file
    code = path.read_text(encoding="utf-8")
    if code.count(text) != 1:
        raise SystemExit(f"{name}: {file} has changed")
    path.write_text(code.replace(text, changed), encoding="utf-8")
    build = ["cmake", "--build", FOLDER / "build", "--target", PROGRAM]
    subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
    table = subprocess.run(
        [FOLDER / "build" / "tests" / "range" / PROGRAM], check=True, capture_output=True, text=True
    )
    path.write_text(code, encoding="utf-8")
    means = next(line for line in table.stdout.splitlines() if line.startswith("| all "))
    cells = [cell.strip() for cell in means.strip("|").split("|")]
    alone, learned, drifted = (float(cell) for cell in cells[2:5])
    building = sum(float(cell) for cell in cells[8:10])
    return alone, learned, drifted, building


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("names", nargs="*", help="parts of the names of rows [all]")
    names = parser.parse_args().names or [""]
    configure()
    print(
        "| | by keys alone, % | looked up, % | another kind was looked up, % | building |\n|---|---|---|---|---|"
    )
    base = None
    for name, (file, text), changed in ROWS:
        if base is not None and not any(part in name for part in names):
            continue
        alone, learned, drifted, building = measure(name, file, text, changed)
        base = base or building
        print(
            f"| {name} | {alone:.1f} | {learned:.2f} | {drifted:.1f} | {building / base:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
