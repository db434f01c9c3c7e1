"""The C interface is what programs were compiled against: each declaration of
deltabloom/c.h is in abi.txt, and each line of abi.txt is declared.

Usage: abi_test.py HEADER [unittest options]
"""

import pathlib
import re
import sys
import unittest

HEADER = pathlib.Path(sys.argv[1])
LISTED = pathlib.Path(__file__).with_name("abi.txt")


def declarations(header):
    """Functions and types, each in one line without names of parameters."""
    text = re.sub(r"/\*.*?\*/", " ", header, flags=re.DOTALL)
    text = re.sub(r"^#.*$", "", text, flags=re.MULTILINE)
    text = re.sub(r'extern "C" \{|^\}', "", text, flags=re.MULTILINE)
    text = text.replace("DELTABLOOM_C_EXPORT", " ")
    lines = []
    for statement in text.split(";"):
        statement = re.sub(r"\s+", " ", statement).replace("( ", "(").strip()
        statement = re.sub(r"([\w*]) \w+(?=[,)])", r"\1", statement)
        if statement:
            lines.append(statement)
    return lines


class Abi(unittest.TestCase):
    def test_declarations_are_those_listed(self):
        declared = declarations(HEADER.read_text())
        self.assertGreater(len(declared), 20)
        listed = [line for line in LISTED.read_text().splitlines() if line and line[0] != "#"]
        self.assertEqual(sorted(listed), sorted(declared), "see the head of tests/c/abi.txt")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
