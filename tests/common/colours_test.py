#!/usr/bin/env python3
"""Each filter has one colour in all published pictures."""

import pathlib
import re
import sys
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2] / "db_bench_ext"
sys.path[:0] = [str(TOP), str(TOP / "compare")]

import matrix  # noqa: E402

from common import colours  # noqa: E402


class Colours(unittest.TestCase):
    def test_every_filter_has_one_of_its_own(self):
        self.assertEqual(len(set(colours.FILTERS.values())), len(colours.FILTERS))
        for one in matrix.FILTERS:
            self.assertNotEqual(colours.of_filter(one.name), colours.INK)

    def test_a_filter_has_the_same_under_each_of_its_names(self):
        classic = colours.FILTERS["deltabloom-classic"]
        for name in ("classic", "deltabloom-classic"):
            self.assertEqual(colours.of_filter(name), classic)
        self.assertEqual(colours.of_filter("local"), colours.of_filter("deltabloom-local"))
        self.assertEqual(colours.of_filter("no such filter"), colours.INK)

    def test_pages_that_are_no_python_have_the_same(self):
        folder = TOP.parent / "tools" / "deltabloom" / "estimate"
        found = re.findall(r'{"([a-z-]+)", "(#[0-9a-f]{6})"}', (folder / "page.cc").read_text())
        self.assertGreaterEqual(len(found), 5)
        for name, colour in found:
            self.assertEqual(colours.of_filter(name), colour, name)
        style = (folder / "page.html").read_text()
        for name, colour in (
            ("ink", colours.INK),
            ("muted", colours.MUTED),
            ("grid", colours.GRID),
        ):
            self.assertIn(f"--{name}: {colour};", style)


if __name__ == "__main__":
    unittest.main()
