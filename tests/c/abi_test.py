"""The C interface is what programs were compiled against: each declaration of
deltabloom/c.h is in abi.json without names of parameters, and each line there is
declared. A line that was in a release stays as it is for as long as the SONAME
does: what has to change gets a new name beside it, and a new function a new line.

Usage: abi_test.py HEADER [unittest options]
"""

import json
import pathlib
import re
import sys
import unittest

HEADER = pathlib.Path(sys.argv.pop(1))
LISTED = pathlib.Path(__file__).with_name("abi.json")


class Abi(unittest.TestCase):
    def test_declarations_are_those_listed(self):
        text = re.sub(r"/\*.*?\*/", " ", HEADER.read_text(), flags=re.DOTALL)
        text = re.sub(r'^#.*$|extern "C" \{|^\}', "", text, flags=re.MULTILINE)
        declared = []
        for statement in text.replace("DELTABLOOM_C_EXPORT", " ").split(";"):
            statement = re.sub(r"\s+", " ", statement).replace("( ", "(").strip()
            statement = re.sub(r"([\w*]) \w+(?=[,)])", r"\1", statement)
            declared += [statement] if statement else []
        self.assertGreater(len(declared), 20)
        self.assertEqual(
            sorted(json.loads(LISTED.read_text())), sorted(declared), "see the head of abi_test.py"
        )


if __name__ == "__main__":
    unittest.main()
