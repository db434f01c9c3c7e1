#!/usr/bin/env python3
"""Holds the source tree to its own rules: includes point only downwards,
only one file names RocksDB's private classes, public headers include nothing
but the standard library, links in the documents lead somewhere."""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(sys.argv.pop()).resolve()

# A folder may include from itself and from the folders named here.
MAY_INCLUDE = {
    "include": set(),
    "util": {"include"},
    "table": {"include", "util"},
    "engines/leveldb": {"include", "util", "table"},
    "engines/rocksdb": {"include", "util", "table"},
    "shared_filters": {"include", "util", "table"},
    "shared_filters/redis": {"include", "util", "table", "shared_filters"},
    "tools": {
        "include",
        "util",
        "table",
        "engines/rocksdb",
        "shared_filters",
        "shared_filters/redis",
    },
    "db_bench_ext": {
        "include",
        "util",
        "table",
        "engines/leveldb",
        "engines/rocksdb",
        "shared_filters",
        "shared_filters/redis",
    },
    "examples": {"include"},
}
PRIVATE_CLASSES = re.compile(r"\bclass FilterBits(Builder|Reader)\b")
SKIPPED = {"build", ".git"}


def files(*patterns):
    for pattern in patterns:
        for path in ROOT.rglob(pattern):
            if not SKIPPED & set(path.relative_to(ROOT).parts):
                yield path


def layer_of(relative):
    """The entry of MAY_INCLUDE that a path belongs to, or None."""
    parts = relative.split("/")
    for depth in (2, 1):
        if "/".join(parts[:depth]) in MAY_INCLUDE:
            return "/".join(parts[:depth])
    return None


def includes(path):
    for line in path.read_text(encoding="utf-8").splitlines():
        match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if match:
            yield match.group(1)


class Tidiness(unittest.TestCase):
    def test_includes_point_downwards(self):
        seen = 0
        for path in files("*.h", "*.cc"):
            here = path.relative_to(ROOT).as_posix()
            layer = layer_of(here)
            if layer is None:
                continue
            for name in includes(path):
                target = "include" if name.startswith("deltabloom/") else layer_of(name)
                if target is None:
                    continue
                seen += 1
                self.assertTrue(
                    target == layer or target in MAY_INCLUDE[layer],
                    f"{here} includes {name}: {layer} may not include from {target}",
                )
        self.assertGreater(seen, 20)

    def test_public_headers_use_the_standard_library_only(self):
        for path in files("*.h"):
            here = path.relative_to(ROOT).as_posix()
            if not here.startswith("include/"):
                continue
            for name in re.findall(r"#include <([^>]+)>", path.read_text(encoding="utf-8")):
                self.assertNotIn("/", name, here)
                c_names = name.endswith(".h") and here != "include/deltabloom/c.h"
                self.assertFalse(c_names, f"{here} includes <{name}>")

    def test_one_file_names_private_classes_of_rocksdb(self):
        for path in files("*.h", "*.cc"):
            here = path.relative_to(ROOT).as_posix()
            if PRIVATE_CLASSES.search(path.read_text(encoding="utf-8")):
                self.assertEqual(here, "engines/rocksdb/policy/private_abi.h")

    def test_include_guards_name_the_path(self):
        for path in files("*.h"):
            here = path.relative_to(ROOT).as_posix()
            name = here.removeprefix("include/deltabloom/")
            guard = re.sub(r"[^A-Z0-9]", "_", name.upper()) + "_"
            text = path.read_text(encoding="utf-8")
            self.assertIn(f"#ifndef DELTABLOOM_{guard}\n", text, here)

    def test_links_in_documents_lead_somewhere(self):
        for path in files("*.md"):
            text = path.read_text(encoding="utf-8")
            for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
                if "://" in link:
                    continue
                self.assertTrue(
                    (path.parent / link).exists(),
                    f"{path.relative_to(ROOT)} links to {link}",
                )


if __name__ == "__main__":
    unittest.main()
