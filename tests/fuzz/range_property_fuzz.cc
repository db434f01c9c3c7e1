// The table property of range filters. Any bytes as one: it is refused, or its
// fields are the bytes, and its filter never says no to what it cannot know.
// Keys that are built into one are found in every range that holds one of them,
// and what is left of it after a cut or a changed byte is safe to ask.
//
// Input: what to do, two bounds, then a property, or its fields and keys.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engines/rocksdb/ranges/property.h"
#include "tests/fuzz/harness.h"
#include "util/range/filter.h"
#include "util/range/filter_builder.h"

namespace deltabloom::fuzz {
namespace {

using namespace internal;
using Bounds = std::vector<std::string>;

void AskFilter(const range::Filter& filter, const Bounds& bounds) {
  for (const std::string& lower : bounds) {
    for (const std::string& upper : bounds) {
      const bool may_match = filter.MayMatch(lower, upper);
      Check(may_match || (lower < upper && !filter.AlwaysMatches()));
    }
    const bool may_match = filter.MayMatch(lower, std::nullopt);
    Check(may_match || !filter.AlwaysMatches());
    Check(!filter.HasKeyFrom(lower) || may_match);
  }
}

// Queries the bytes as a scan does, in a copy, so that ASan sees reads beyond
// its end.
void AskProperty(std::string_view bytes, const Bounds& bounds) {
  const std::vector<char> copy(bytes.begin(), bytes.end());
  RangeProperty property;
  if (!ParseRangeProperty(View(copy), &property)) return;
  Check(property.timestamp_size <= kMaxRangePropertyField);
  Check(property.transform.size() <= kMaxRangePropertyField);
  // There is one way to write it.
  Check(RangePropertyHeader(property) + std::string(property.filter) == bytes);
  AskFilter(range::Filter(property.filter), bounds);
}

void Build(Input* input, const Bounds& bounds) {
  RangeProperty property;
  property.timestamp_size = input->Byte();
  const std::string transform = input->Key(100);
  property.transform = transform;
  const size_t cut = input->Number();
  const auto change = static_cast<char>(input->Byte());
  range::FilterBuilder builder(2 + input->Byte() / 8.0);
  std::vector<std::string> keys;
  while (!input->empty()) keys.push_back(input->Key(20));
  std::sort(keys.begin(), keys.end());
  for (const std::string& key : keys) builder.AddKey(key);
  property.entries = keys.size();
  std::string bytes = RangePropertyHeader(property);
  const size_t header = bytes.size();
  if (!builder.Finish(&bytes)) {
    Check(bytes.size() == header);
    return;
  }
  RangeProperty parsed;
  Check(ParseRangeProperty(bytes, &parsed));
  Check(parsed.timestamp_size == property.timestamp_size);
  Check(parsed.transform == transform);
  Check(parsed.entries == keys.size());
  Check(parsed.filter == std::string_view(bytes).substr(header));
  const range::Filter filter(parsed.filter);
  Check(!filter.AlwaysMatches());
  AskFilter(filter, bounds);
  for (const std::string& key : keys) {
    Check(filter.MayMatch(key, key + '\0'));
    Check(filter.MayMatch(key, std::nullopt));
  }
  // Truncates the bytes, then changes one of them.
  const size_t at = cut % bytes.size();
  AskProperty(std::string_view(bytes).substr(0, at), bounds);
  bytes[at] = static_cast<char>(bytes[at] ^ change);
  AskProperty(bytes, bounds);
}

}  // namespace

void FuzzOne(std::string_view all) {
  Input input(all);
  const uint8_t what = input.Byte();
  Bounds bounds = {"", input.Key(20), input.Key(20)};
  bounds.push_back(bounds[1] + '\0');
  bounds.push_back(std::string(24, '\xff'));
  if (what % 2 == 0) {
    const std::vector<char> bytes = input.Rest();
    AskProperty(View(bytes), bounds);
  } else {
    Build(&input, bounds);
  }
}

}  // namespace deltabloom::fuzz
