#!/usr/bin/env python3
"""The changes that script/test --long mutation makes, on sources written for the purpose."""

import unittest

import equivalents
import mutants

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
  int n = 0;
  for (int i = 0; i < 3; ++i) {
    if (v[i] == *out) continue;
    n += v[i] << 2;
  }
  if (n > 0x10 || *out != 5) {
    *out = n;
    return -1;
  }
  return Sum(v, text) + std::min(n, 9);
}
}  // namespace a
"""


def changes(source, unit=None):
    return {
        (m.before, m.after)
        for m in mutants.mutants_of("file.cc", source)
        if unit is None or m.unit == unit
    }


class Mutants(unittest.TestCase):
    def assert_changes(self, unit, before, *afters):
        made = {after for line, after in changes(SOURCE, unit) if line == before}
        self.assertEqual(made, set(afters))

    def test_units(self):
        units = {(m.unit, m.is_function) for m in mutants.mutants_of("file.cc", SOURCE)}
        self.assertEqual(
            units,
            {("kLimit", False), ("Box::Box", True), ("Box::Full", True), ("Count", True)},
        )

    def test_constants(self):
        self.assert_changes("kLimit", "constexpr int kLimit = 7;",
                            "constexpr int kLimit = 8;", "constexpr int kLimit = 6;")  # fmt: skip
        self.assertEqual(mutants.other_numbers("0x10"), ["0x11", "0xf"])
        self.assertEqual(mutants.other_numbers("0"), ["1"])
        self.assertEqual(mutants.other_numbers("0644"), ["421", "419"])
        self.assertEqual(mutants.other_numbers("1'000u"), ["1001u", "999u"])
        self.assertEqual(mutants.other_numbers("0.5"), ["0.625"])
        self.assertEqual(mutants.other_numbers("2e3f"), ["2500.0f"])

    def test_constructor(self):
        line = "explicit Box(int size) : size_(size + 1), rest_{2} { Fill(size); }"
        self.assert_changes("Box::Box", line, line.replace("+ 1", "- 1"), line.replace("+ 1", "+ 2"),
                            line.replace("+ 1", "+ 0"), line.replace("{2}", "{1}"),
                            line.replace("{2}", "{3}"), line.replace("Fill(size)", ""))  # fmt: skip

    def test_condition_of_a_return(self):
        line = "bool Full() const { return !open_ && size_ >= kLimit; }"
        self.assert_changes("Box::Full", line, line.replace("!", ""), line.replace("&&", "||"),
                            line.replace(">=", ">"), line.replace(">=", "<"),
                            line.replace("!open_ && size_ >= kLimit", "{}"))  # fmt: skip

    def test_loops_and_statements(self):
        line = "for (int i = 0; i < 3; ++i) {"
        self.assert_changes("Count", line, line.replace("<", "<="), line.replace("<", ">="),
                            line.replace("= 0", "= 1"), line.replace("3", "4"),
                            line.replace("3", "2"), line.replace("++", "--"))  # fmt: skip
        self.assert_changes("Count", "n += v[i] << 2;", ";", "n -= v[i] << 2;", "n += v[i] >> 2;",
                            "n += v[i] << 3;", "n += v[i] << 1;")  # fmt: skip
        self.assert_changes("Count", "*out = n;", ";")
        self.assert_changes("Count", "return -1;", "return 1;", "return -2;", "return -0;",
                            "return {};")  # fmt: skip

    def test_conditions(self):
        line = "if (n > 0x10 || *out != 5) {"
        self.assert_changes("Count", line, line.replace(">", ">="), line.replace(">", "<="),
                            line.replace("||", "&&"), line.replace("!=", "=="),
                            line.replace("0x10", "0x11"), line.replace("0x10", "0xf"),
                            line.replace("5", "6"), line.replace("5", "4"),
                            "if (!(n > 0x10 || *out != 5)) {",
                            "if ((n > 0x10 || *out != 5) && false) {",
                            "if ((n > 0x10 || *out != 5) || true) {")  # fmt: skip

    def test_calls(self):
        line = "return Sum(v, text) + std::min(n, 9);"
        self.assert_changes("Count", line, line.replace("+", "-"), line.replace("min", "max"),
                            line.replace("9", "8"), line.replace("9", "10"), "return {};")  # fmt: skip

    def test_what_is_left_alone(self):
        for before, _ in changes(SOURCE):
            for text in ("//", "#include", "static_assert", "template", "int size_ = 0", '"a < b"'):
                self.assertNotIn(text, before)

    def test_each_change_has_its_own_identity(self):
        made = mutants.mutants_of("file.cc", "int f(int a) {\n  a = 1 - 1;\n  a = 1 - 1;\n}\n")
        self.assertEqual(len({m.identity for m in made}), len(made))
        moved = mutants.mutants_of("file.cc", "\n\nint f(int a) {\n  a = 1 - 1;\n  a = 1 - 1;\n}\n")
        self.assertEqual([m.identity for m in made], [m.identity for m in moved])

    def test_every_change_is_one(self):
        for mutant in mutants.mutants_of("file.cc", SOURCE):
            self.assertNotEqual(SOURCE[mutant.start : mutant.end], mutant.replacement)


class Equivalents(unittest.TestCase):
    TEXT = "# Why.\n\nfile.cc\n- return -1;\n+ return 1;\n  Nobody\n  looks.\n"

    def test_finds_by_text(self):
        entries = equivalents.parse(self.TEXT)
        self.assertEqual(entries[0].reason, "Nobody looks.")
        found = [m for m in mutants.mutants_of("file.cc", SOURCE) if equivalents.find(entries, m)]
        self.assertEqual([(m.before, m.after) for m in found], [("return -1;", "return 1;")])
        self.assertEqual(equivalents.stale(entries, found), [])
        self.assertEqual(equivalents.stale(entries, []), entries)

    def test_any_change_of_a_line(self):
        entries = equivalents.parse("file.cc\n- return -1;\n+ *\n  Nobody looks.\n")
        found = [m for m in mutants.mutants_of("file.cc", SOURCE) if equivalents.find(entries, m)]
        self.assertEqual({m.before for m in found}, {"return -1;"})
        self.assertGreater(len(found), 2)

    def test_an_entry_without_a_reason_is_refused(self):
        with self.assertRaisesRegex(ValueError, "file.cc"):
            equivalents.parse("file.cc\n- a\n+ b\n")
        with self.assertRaises(ValueError):
            equivalents.parse("file.cc\n+ b\n- a\n  reason\n")


if __name__ == "__main__":
    unittest.main()
