#!/usr/bin/env python3
"""The changes that script/test --long mutation makes to a source."""

import json
import pathlib
import unittest

import mutants

FOLDER = pathlib.Path(__file__).resolve().parent

SOURCE = """// Comments < are left alone.
#include <vector>
namespace a {
constexpr int kLimit = 7;
template <typename T, int n = 3>
class Box {
 public:
  explicit Box(int size) : size_(size + 1), rest_{2} { Fill(size); }
  bool Full() const { return !open_ && size_ >= kLimit; }

 private:
  int size_ = 0;
};

int Count(const std::vector<int>& v, int* out) {
  static_assert(sizeof(int) == 4);
  const char* text = "a < b";
  for (int i = 0; i < 3; ++i) {
    if (v[i] == *out) continue;
  }
  n += v[i] << 2;
  if (n > 0x10 || *out != 5) {
    return -1;
  }
  return Sum(v, text) + std::min(n, 9);
}
}  // namespace a
"""
# Unit, line, and the replacements of a text of the line that make its changes.
CHANGES = [
    ("kLimit", "constexpr int kLimit = 7;", [("7", "8"), ("7", "6")]),
    (
        "Box::Box",
        "explicit Box(int size) : size_(size + 1), rest_{2} { Fill(size); }",
        [
            ("+ 1", "- 1"),
            ("+ 1", "+ 2"),
            ("+ 1", "+ 0"),
            ("{2}", "{1}"),
            ("{2}", "{3}"),
            ("Fill(size)", ""),
        ],
    ),
    (
        "Box::Full",
        "bool Full() const { return !open_ && size_ >= kLimit; }",
        [("!", ""), ("&&", "||"), (">=", ">"), (">=", "<"), ("!open_ && size_ >= kLimit", "{}")],
    ),
    (
        "Count",
        "for (int i = 0; i < 3; ++i) {",
        [("<", "<="), ("<", ">="), ("= 0", "= 1"), ("3", "4"), ("3", "2"), ("++", "--")],
    ),
    (
        "Count",
        "if (v[i] == *out) continue;",
        [
            ("==", "!="),
            ("v[i] == *out", "!(v[i] == *out)"),
            ("continue", ""),
            ("v[i] == *out", "(v[i] == *out) && false"),
            ("v[i] == *out", "(v[i] == *out) || true"),
        ],
    ),
    (
        "Count",
        "n += v[i] << 2;",
        [("n += v[i] << 2", ""), ("+=", "-="), ("<<", ">>"), ("2", "3"), ("2", "1")],
    ),
    (
        "Count",
        "if (n > 0x10 || *out != 5) {",
        [
            (">", ">="),
            (">", "<="),
            ("||", "&&"),
            ("!=", "=="),
            ("0x10", "0x11"),
            ("0x10", "0xf"),
            ("5", "6"),
            ("5", "4"),
            ("n > 0x10 || *out != 5", "!(n > 0x10 || *out != 5)"),
            ("n > 0x10 || *out != 5", "(n > 0x10 || *out != 5) && false"),
            ("n > 0x10 || *out != 5", "(n > 0x10 || *out != 5) || true"),
        ],
    ),
    ("Count", "return -1;", [("-", ""), ("1", "2"), ("1", "0"), ("-1", "{}")]),
    (
        "Count",
        "return Sum(v, text) + std::min(n, 9);",
        [
            ("+", "-"),
            ("min", "max"),
            ("9", "8"),
            ("9", "10"),
            ("Sum(v, text) + std::min(n, 9)", "{}"),
        ],
    ),
]


class Mutants(unittest.TestCase):
    def test_changes(self):
        made = [(m.unit, m.before, m.after) for m in mutants.mutants_of("file.cc", SOURCE)]
        wanted = [
            (unit, line, line.replace(*change))
            for unit, line, changes in CHANGES
            for change in changes
        ]
        self.assertEqual(sorted(made), sorted(wanted))

    def test_numbers(self):
        for number, others in [
            ("0", ["1"]),
            ("0644", ["421", "419"]),
            ("0.5", ["0.625"]),
            ("1'000u", ["1001u", "999u"]),
            ("2e3f", ["2500.0f"]),
        ]:
            self.assertEqual(mutants.other_numbers(number), others)

    def test_identities(self):
        code = "int f(int a) {\n  a = 1 - 1;\n  a = 1 - 1;\n}\n"
        made = [m.identity for m in mutants.mutants_of("file.cc", code)]
        self.assertEqual(len(set(made)), len(made))
        self.assertEqual([m.identity for m in mutants.mutants_of("file.cc", "\n\n" + code)], made)

    def test_listed_changes_fit_the_code(self):
        for name in ("by_hand", "equivalents"):
            for one in json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")):
                text = (FOLDER.parents[1] / one["file"]).read_text(encoding="utf-8")
                if name == "by_hand":
                    self.assertEqual(text.count(one["before"]), 1, one)
                    continue
                made = {
                    m.after
                    for m in mutants.mutants_of(one["file"], text)
                    if m.before == one["before"]
                }
                self.assertTrue(one["after"] in made or (one["after"] == "*" and made), one)


if __name__ == "__main__":
    unittest.main()
