#!/usr/bin/env python3
"""Holds the source tree to its own rules: includes point only downwards,
files include the standard headers of what they use, only one file names
RocksDB's private classes, public headers include nothing but the standard
library, links in the documents lead somewhere, and commands there have options
that exist."""

import pathlib
import re
import sys
import unittest

from standard_headers import HEADERS

ROOT = pathlib.Path(sys.argv.pop()).resolve()

# A folder may include from itself and from the folders named here.
CORE = {"include", "util", "table"}
ROCKSDB = {
    "engines/rocksdb/" + folder
    for folder in ["api", "base", "c", "plugin", "policy", "ranges", "statistics"]
}
ENGINES = CORE | ROCKSDB
SHARED = CORE | {"shared_filters/include", "shared_filters/memory"}
# No subcommand includes another one.
SUBCOMMANDS = ["check", "doctor", "estimate", "inspect", "refilter", "run", "verify"]
TABLES = ENGINES | {"tools/program", "tools/sst"}
SUBCOMMAND = TABLES | {"tools/deltabloom" + folder for folder in ["", "/database", "/tables"]}
MAY_INCLUDE = {
    "include": set(),
    "util": {"include"},
    "table": {"include", "util"},
    "engines/leveldb": CORE,
    "engines/rocksdb/base": CORE,
    "engines/rocksdb/statistics": CORE | {"engines/rocksdb/base"},
    "engines/rocksdb/ranges": CORE | {"engines/rocksdb/base"},
    "engines/rocksdb/policy": CORE
    | {"engines/rocksdb/" + folder for folder in ["base", "statistics"]},
    "engines/rocksdb/api": CORE | ROCKSDB - {"engines/rocksdb/c", "engines/rocksdb/plugin"},
    "engines/rocksdb/c": CORE | ROCKSDB - {"engines/rocksdb/plugin"},
    "engines/rocksdb/plugin": CORE | ROCKSDB - {"engines/rocksdb/c"},
    "tools": ENGINES,
    "tools/program": CORE,
    "tools/sst": CORE,
    "tools/deltabloom/tables": TABLES,
    "tools/deltabloom/database": TABLES | {"tools/deltabloom/tables"},
    **{"tools/deltabloom/" + folder: SUBCOMMAND for folder in SUBCOMMANDS},
    "tools/deltabloom": CORE | {"tools/program"},
    "db_bench_ext": ENGINES | {"engines/leveldb", "tools/sst"},
    "examples": {"include"},
    # Nothing of what it is compared with.
    "tests/reference": {"include"},
    "shared_filters/include": {"include"},
    "shared_filters/memory": CORE | {"shared_filters/include"},
    "shared_filters/redis": SHARED,
    "shared_filters/command": SHARED | {"tools/program"},
    "shared_filters/bench": SHARED | {"db_bench_ext"},
    "shared_filters/examples": {"shared_filters/include"},
}
PRIVATE_CLASSES = re.compile(r"\bclass FilterBits(Builder|Reader)\b")
PUBLIC = re.compile(r"^(shared_filters/)?include/deltabloom/")
# Folders that may include everything, and that no other may include.
TESTS = re.compile(r"^(tests|shared_filters/tests|bindings)/")
SKIPPED = {"build", ".git"}


def files(*patterns):
    """(path in the tree, text) of each file."""
    for pattern in patterns:
        for path in ROOT.rglob(pattern):
            here = path.relative_to(ROOT)
            if not SKIPPED & set(here.parts):
                yield here.as_posix(), path.read_text(encoding="utf-8")


def layer_of(relative):
    """The entry of MAY_INCLUDE that a path belongs to, or None."""
    parts = relative.split("/")
    for depth in (3, 2, 1):
        if "/".join(parts[:depth]) in MAY_INCLUDE:
            return "/".join(parts[:depth])
    return None


def layer_of_include(name):
    """The layer of an included file; public headers are in one of two folders."""
    if not name.startswith("deltabloom/"):
        return layer_of(name)
    shared = (ROOT / "shared_filters/include" / name).exists()
    return "shared_filters/include" if shared else "include"


def included(text):
    """The standard headers that a file includes itself."""
    headers = set(re.findall(r"(?m)^\s*#\s*include\s+<([^>]+)>", text))
    # These promise the classes of the stream that they are about.
    streams = {"iostream", "sstream", "fstream"} & headers
    return headers | ({"istream", "ostream"} if streams else set())


def headers_of_names(text):
    """The standard headers of the names that a file uses, each with a name."""
    text = re.sub(r'//[^\n]*|"(\\.|[^"\\\n])*"', "", text)
    names = re.findall(r"\bstd::([A-Za-z_0-9]+)", text)
    used = {HEADERS[name]: "std::" + name for name in names if name in HEADERS}
    for name in re.findall(r"\bu?int(?:8|16|32|64)_t\b", text)[:1]:
        used["cstdint"] = name
    return used


class Tidiness(unittest.TestCase):
    def test_includes_point_downwards(self):
        for here, text in files("*.h", "*.cc", "*.c"):
            layer = layer_of(here)
            if layer is None:
                self.assertRegex(here, TESTS, "a folder that is not in MAY_INCLUDE")
                continue
            for name in re.findall(r'(?m)^\s*#\s*include\s+"([^"]+)"', text):
                target = layer_of_include(name)
                if target or TESTS.match(name):
                    self.assertIn(target, MAY_INCLUDE[layer] | {layer}, f"{here} includes {name}")

    def test_standard_headers_are_included_where_they_are_used(self):
        # In the file itself or in its own header, so that no header can go that another file
        # needs. Tests, which share headers for their own use, are left out.
        texts = dict(files("*.h", "*.cc"))
        for here, text in texts.items():
            if not layer_of(here):
                continue
            own = texts.get(here.removesuffix(".cc") + ".h", "")
            there = (
                included(text) | included(own) | ({"cstdint"} if "<stdint.h>" in text else set())
            )
            missing = {h: name for h, name in headers_of_names(text).items() if h not in there}
            self.assertEqual(missing, {}, f"{here}: names of headers that it does not include")

    def test_public_headers_use_the_standard_library_only(self):
        for here, text in files("*.h"):
            for name in re.findall(r"#include <([^>]+)>", text) if PUBLIC.match(here) else []:
                self.assertNotIn("/", name, here)
                c_names = name.endswith(".h") and here != "include/deltabloom/c.h"
                self.assertFalse(c_names, f"{here} includes <{name}>")

    def test_one_file_names_private_classes_of_rocksdb(self):
        for here, text in files("*.h", "*.cc"):
            if PRIVATE_CLASSES.search(text):
                self.assertEqual(here, "engines/rocksdb/policy/private_abi.h")

    def test_include_guards(self):
        # Public headers can be met twice, as installed and in the source tree.
        for here, text in files("*.h"):
            public = PUBLIC.match(here)
            guard = re.sub(r"[^A-Z0-9]", "_", PUBLIC.sub("", here).upper())
            self.assertIn(
                f"#ifndef DELTABLOOM_{guard}_\n" if public else "#pragma once\n", text, here
            )

    def test_links_in_documents_lead_somewhere(self):
        for here, text in files("*.md"):
            for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
                there = "://" in link or ((ROOT / here).parent / link).exists()
                self.assertTrue(there, f"{here} links to {link}")

    def test_commands_in_documents_have_options_of_their_scripts(self):
        commands = 0
        for here, text in files("*.md"):
            for script, options in re.findall(r"script/(demo|bench|study)( [^`|#\n]*)", text):
                commands += 1
                takes = re.findall(r"--[a-z-]+", (ROOT / "script" / script).read_text())
                for option in re.findall(r"--[a-z-]+", options):
                    self.assertIn(option, takes, f"{here}: script/{script}{options}")
        self.assertGreater(commands, 10)

    def test_each_option_of_the_policy_is_where_it_belongs(self):
        # Every member has a row, or options.cc would not compile.
        text = (ROOT / "engines/rocksdb/base/options.cc").read_text()
        rows = text[text.index("kRowsOfOptions[] = {") : text.index("MembersOf(")]
        names = re.findall(r'(?m)^ +(?:\{|[^"]*\()?"(\w+)",', rows)
        names += re.findall(r'Switch<&PolicyOptions::\w+>\("(\w+)"\)', rows)
        members = re.search(r"std::tie\(([^)]*)\)", text)[1].split(",")
        self.assertEqual(len(set(names)), len(members), names)
        for file in [
            "docs/guide.md",
            "tests/torture/database.cc",
            "tests/fuzz/dictionaries/policy_fuzz",
        ]:
            there = (ROOT / file).read_text()
            for name in names:
                self.assertRegex(there, rf"\b{name}\b", f"{file} lacks {name}")


if __name__ == "__main__":
    unittest.main()
