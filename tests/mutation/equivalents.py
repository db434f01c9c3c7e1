"""The list of changes that alter nothing a test should see, with reasons.

An entry is three paragraphs without blank lines between them: the file, the
lines before (-) and after (+) the change on one line each with single spaces,
and the reason, indented. A + with * stands for every change of that line.
Entries are separated by blank lines; # begins a
comment. Lines are found by their text, so that entries survive edits around
them.
"""

import dataclasses
import sys


@dataclasses.dataclass
class Entry:
    file: str
    before: str
    after: str
    reason: str


def parse(text):
    entries = []
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if line.strip() and not line.startswith("#")]
        if not lines:
            continue
        if (len(lines) < 4 or not lines[1].startswith("- ") or not lines[2].startswith("+")
                or not all(line.startswith("  ") for line in lines[3:])):  # fmt: skip
            raise ValueError(
                f"'{lines[0]}': an entry is a file, a line with -, one with +, and an indented reason")
        reason = " ".join(line.strip() for line in lines[3:])
        entries.append(Entry(lines[0].strip(), lines[1][2:].strip(), lines[2][1:].strip(), reason))
    return entries


def read(path):
    try:
        return parse(path.read_text(encoding="utf-8"))
    except ValueError as error:
        sys.exit(f"script/test --long mutation: {path}: {error}")


def find(entries, mutant):
    for entry in entries:
        if (entry.file, entry.before) == (mutant.file, mutant.before) and entry.after in (
            "*", mutant.after):  # fmt: skip
            return entry
    return None


def stale(entries, every):
    """Entries that fit no change of today's sources."""
    return [entry for entry in entries if not any(find([entry], mutant) for mutant in every)]
