// Declarations for tests, and range filters with them.
#pragma once

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "util/range/filter_builder.h"
#include "util/range/functions.h"
#include "util/range/key_range.h"
#include "util/range/prefixes_option.h"

namespace deltabloom::test {

// The functions of tests: "thirds" ends a component after every third byte,
// "throws" throws, and "last" breaks the contract: it ends only after the last
// ':'.
inline const internal::range::RegisteredFunction* FindTestFunction(
    std::string_view text) {
  static const auto& functions = *[] {
    auto* const all = new internal::range::Functions();
    all->Add({"thirds", 1, [](std::string_view key, std::vector<size_t>* ends) {
                for (size_t i = 3; i <= key.size(); i += 3) ends->push_back(i);
              }});
    all->Add({"throws", 1, [](std::string_view, std::vector<size_t>*) {
                throw std::runtime_error("of a test");
              }});
    all->Add({"unordered", 1, [](std::string_view, std::vector<size_t>* ends) {
                *ends = {2, 1};
              }});
    all->Add({"beyond", 1, [](std::string_view key, std::vector<size_t>* ends) {
                *ends = {key.size() + 1};
              }});
    return all;
  }();
  return functions.Find(text);
}

inline internal::range::PlacesToHold Declared(const std::string& text) {
  internal::range::PlacesToHold places;
  EXPECT_EQ(internal::range::ParsePrefixes(text, FindTestFunction, &places),
            "");
  return places;
}

// Returns a filter of the keys, which are in order; empty if there is none, and
// *why says why.
inline std::string FilterOf(
    const std::string& declaration, const std::vector<std::string>& keys,
    double bits_per_key = 1000,
    internal::range::Order order = internal::range::Order::kBytewise,
    std::string* why = nullptr,
    internal::range::FilterBuilder::Limits limits = {}) {
  limits.more_bytes = 0;
  internal::range::FilterBuilder builder(Declared(declaration), order,
                                         bits_per_key);
  for (const std::string& key : keys) EXPECT_TRUE(builder.Add(key));
  std::string bytes;
  const std::string problem = builder.Finish(limits, &bytes);
  EXPECT_EQ(problem.empty(), !bytes.empty());
  if (why != nullptr) *why = problem;
  return bytes;
}

}  // namespace deltabloom::test
