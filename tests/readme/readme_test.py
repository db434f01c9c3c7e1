"""What README lets a user paste compiles, and RocksDB takes its policies.

Usage: readme_test.py SOURCE CXX CREATE_POLICY [unittest options]
"""

import pathlib
import re
import subprocess
import sys
import unittest

from paste import blocks, compile_error

SOURCE = pathlib.Path(sys.argv[1])
CXX = sys.argv[2]
CREATE_POLICY = sys.argv[3]
README = (SOURCE / "README.md").read_text()

# What stands around a block of C++ in the program that it is pasted into, by a
# name that only this block has.
SURROUNDINGS = {
    "AddRocksDBFilters": "",
    "FilterBuilder": "#include <deltabloom/filter.h>\n",
    "GuavaFilter": (
        "#include <deltabloom/guava_filter.h>\n"
        "void NotFound();\nstd::string bytes, error, id;\n"
    ),
    "RedisFilter": (
        "#include <deltabloom/redis_filter.h>\n"
        "void NotFound();\nstd::string id;\ndeltabloom::RedisOptions redis;\n"
    ),
}


class ReadmeTest(unittest.TestCase):
    def test_blocks_of_cpp_compile(self):
        found = blocks(README, "cpp")
        self.assertGreaterEqual(len(found), 2)
        for block in found:
            names = [name for name in SURROUNDINGS if name in block]
            self.assertEqual(len(names), 1, block)
            lines = block.splitlines()
            includes = [line for line in lines if line.startswith("#include")]
            body = [line for line in lines if not line.startswith("#include")]
            if "int main() {" not in body:
                body = ["void Paste() {", *body, "}"]
            program = "\n".join([*includes, SURROUNDINGS[names[0]], *body, ""])
            with self.subTest(names[0]):
                error = compile_error(CXX, SOURCE / "include", program)
                self.assertEqual(error, "", program)

    def test_policies_of_options_files_are_taken(self):
        policies = re.findall(r"filter_policy=([^\s`]+)", README)
        policies += re.findall(r"`(deltabloom:\d[^`]*)`", README)
        self.assertGreaterEqual(len(policies), 3)
        done = subprocess.run([CREATE_POLICY, *policies], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
