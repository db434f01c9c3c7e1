"""What README and the guide let a user paste compiles, RocksDB takes its policies, and the
stock db_bench its OPTIONS file.

Usage: readme_test.py SOURCE CXX LIBRARY TOOL [unittest options]
"""

import ctypes
import os
import pathlib
import re
import sys
import tempfile
import unittest

from paste import blocks, compile_error, run

SOURCE = pathlib.Path(sys.argv[1])
CXX = sys.argv[2]
LIBRARY = sys.argv[3]
TOOL = sys.argv[4]
os.environ["PATH"] = f"{pathlib.Path(TOOL).parent}:{os.environ['PATH']}"
README = "".join((SOURCE / name).read_text() for name in ("README.md", "docs/guide.md"))

# What stands around a block of C++ in the program that it is pasted into, by a
# name that only this block has.
SURROUNDINGS = {
    "AddRocksDBFilters": "",
    "FilterBuilder": "#include <deltabloom/filter.h>\n",
    "ReadOptions": "#include <rocksdb/options.h>\nrocksdb::Slice upper;\n",
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

    def test_the_options_file_makes_the_difference_it_promises(self):
        (options,), (commands,) = blocks(README, "ini"), blocks(README, "sh")
        # Fewer keys; else as it stands.
        self.assertEqual(commands.count("--num=500000"), 1)
        commands = commands.replace("--num=500000", "--num=150000")
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "deltabloom.options").write_text(options)
            done = run(commands, folder)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(len(re.findall(r"\(0 of 150000 found\)", done.stdout)), 2, done.stdout)
        counts = re.findall(r"full\.positive COUNT : (\d+)", done.stdout)
        bloom, deltabloom = map(int, counts)
        useful = re.findall(r"filter\.useful COUNT : (\d+)", done.stdout)
        self.assertTrue(all(int(count) > 140000 for count in useful), done.stdout)
        # Some 1 % and .15 %, summed over the runs of a tree that differs a little
        # from run to run.
        self.assertGreater(bloom, 500)
        self.assertLess(2 * deltabloom, bloom)

    @unittest.skipUnless(LIBRARY, "a build without the shared library for other languages")
    def test_policies_of_options_files_are_taken(self):
        policies = re.findall(r"filter_policy=([^\s`]+)", README)
        policies += re.findall(r"`(deltabloom:\d[^`]*)`", README)
        self.assertGreaterEqual(len(policies), 3)
        make = ctypes.CDLL(LIBRARY).deltabloom_rocksdb_filterpolicy
        make.restype = ctypes.c_void_p
        for policy in policies:
            error = ctypes.c_char_p()
            self.assertTrue(make(policy.strip("{}").encode(), ctypes.byref(error)), (policy, error.value))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:])
