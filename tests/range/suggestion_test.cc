// What is suggested by the scans that read tables for nothing.
#include "util/range/suggestion.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/range/declarations.h"

namespace deltabloom::test {
namespace {

using internal::range::Suggestion;

void Note(Suggestion* suggestion, const char* common, int times) {
  for (int i = 0; i < times; ++i) suggestion->Note(common);
}

TEST(RangeSuggestion, Delimiters) {
  Suggestion suggestion;
  EXPECT_EQ(suggestion.Text(Declared("auto")), "");
  Note(&suggestion, "a/bc/", 94);
  Note(&suggestion, "abc", 6);
  EXPECT_EQ(suggestion.Text(Declared("auto")),
            "94 % of 100 empty scans share a prefix that ends with '/': "
            "prefixes='/'");
  // What is declared goes on; what is declared already is not suggested.
  EXPECT_EQ(suggestion.Text(Declared("8,':'")),
            "94 % of 100 empty scans share a prefix that ends with '/': "
            "prefixes=8,':','/'");
  EXPECT_EQ(suggestion.Text(Declared("'/'")), "");
}

TEST(RangeSuggestion, Sizes) {
  Suggestion suggestion;
  Note(&suggestion, "12345678", 3);
  Note(&suggestion, "a/", 1);
  EXPECT_EQ(suggestion.Text(Declared("auto")),
            "75 % of 4 empty scans agree in 8 bytes: prefixes=8");
}

TEST(RangeSuggestion, NothingForScansOfManyKinds) {
  Suggestion suggestion;
  Note(&suggestion, "a/", 2);
  Note(&suggestion, "b:", 2);
  Note(&suggestion, "abc", 2);
  EXPECT_EQ(suggestion.Text(Declared("auto")), "");
}

TEST(RangeSuggestion, NothingForScansThatShareNothing) {
  Suggestion suggestion;
  Note(&suggestion, "", 10);
  EXPECT_EQ(suggestion.Text(Declared("auto")), "");
}

TEST(RangeSuggestion, LongPrefixes) {
  Suggestion suggestion;
  suggestion.Note(std::string(1000, 'x'));
  EXPECT_EQ(suggestion.Text(Declared("auto")),
            "100 % of 1 empty scans agree in 64 bytes: prefixes=64");
}

}  // namespace
}  // namespace deltabloom::test
