"""Prints what gcovr counted (its JSON): a table of folders, and the lines that
were not reached. Arguments: the JSON file, the top of the tree."""

import collections
import json
import pathlib
import sys


def folder_of(file):
    """The folder of a file, layouts and engines apart."""
    return "/".join(file.split("/")[:2]) if file.count("/") > 1 else file.split("/")[0]


def per_cent(part, whole):
    return f"{100 * part / whole:.1f} %" if whole else "-"


def merged_lines(file):
    """number -> (count, branches, branches taken): a template has a line for
    each of its instances."""
    lines = {}
    for line in file["lines"]:
        if line.get("gcovr/noncode"):
            continue
        number = line["line_number"]
        count, branches, taken = lines.get(number, (0, 0, 0))
        lines[number] = (
            count + line["count"],
            branches + len(line["branches"]),
            taken + sum(branch["count"] > 0 for branch in line["branches"]),
        )
    return lines


def main():
    report = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    top = pathlib.Path(sys.argv[2])
    folders = collections.defaultdict(lambda: [0, 0, 0, 0])
    missed = []
    for file in report["files"]:
        source = (top / file["file"]).read_text(encoding="utf-8").splitlines()
        for number, (count, branches, taken) in sorted(merged_lines(file).items()):
            for name in (folder_of(file["file"]), "all"):
                row = folders[name]
                row[0] += 1
                row[1] += count > 0
                row[2] += branches
                row[3] += taken
            if count == 0:
                missed.append((file["file"], number, source[number - 1].strip()))
    print(f"{'folder':24}{'lines':>8}{'reached':>9}{'branches':>12}{'taken':>9}")
    for name in sorted(folders, key=lambda n: (n == "all", n)):
        lines, reached, branches, taken = folders[name]
        print(f"{name:24}{lines:8}{per_cent(reached, lines):>9}"
              f"{branches:12}{per_cent(taken, branches):>9}")  # fmt: skip
    print(f"\n{len(missed)} lines not reached:")
    for file, number, text in missed:
        print(f"{file}:{number}: {text}")


if __name__ == "__main__":
    main()
