#!/usr/bin/env python3
"""A smoke test of script/test --long mutation: the changes that it makes to the
sources include those that by_hand.json and equivalents.json list."""

import json
import pathlib
import unittest

import mutants

FOLDER = pathlib.Path(__file__).resolve().parent


class Mutants(unittest.TestCase):
    def test_listed_changes_are_made(self):
        for one in json.loads((FOLDER / "by_hand.json").read_text(encoding="utf-8")):
            text = (FOLDER.parents[1] / one["file"]).read_text(encoding="utf-8")
            self.assertEqual(text.count(one["before"]), 1, one)
        for one in json.loads((FOLDER / "equivalents.json").read_text(encoding="utf-8")):
            text = (FOLDER.parents[1] / one["file"]).read_text(encoding="utf-8")
            made = mutants.mutants_of(one["file"], text)
            after = {mutant.after for mutant in made if mutant.before == one["before"]}
            self.assertTrue(one["after"] in after or (one["after"] == "*" and after), one)


if __name__ == "__main__":
    unittest.main()
