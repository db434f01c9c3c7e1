// The table property of range filters. Any bytes as one: it is refused, or its
// fields are the bytes, and its filter never says no to what it cannot know.
// What is left of one after a cut or a changed byte is safe to ask.
//
// Input: what to do, two bounds, then a property, or its fields and keys.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engines/rocksdb/ranges/property.h"
#include "tests/fuzz/harness.h"
#include "util/range/asked_filters.h"
#include "util/range/filter.h"
#include "util/range/filter_builder.h"
#include "util/range/functions.h"
#include "util/range/key_range.h"
#include "util/range/prefixes_option.h"

namespace deltabloom::fuzz {
namespace {

using namespace internal;
using range::Answer;
using range::Order;
using Bounds = std::vector<std::string>;

void AskFilter(const range::Filter& filter, const Bounds& bounds) {
  for (const std::string& lower : bounds) {
    for (const std::string& upper : bounds) {
      const Answer answer =
          range::AskedFilters(range::FindBuiltInFunction)
              .Ask(filter, range::RangeOfBounds(Order::kBytewise, lower,
                                                std::string_view(upper)));
      Check(answer != Answer::kNo || (lower < upper && filter.known()));
    }
  }
}

// Queries the bytes as a scan does, in a copy, so that ASan sees reads beyond
// its end.
void AskProperty(std::string_view bytes, const Bounds& bounds) {
  const std::vector<char> copy(bytes.begin(), bytes.end());
  RangeProperty property;
  if (!ParseRangeProperty(View(copy), &property)) return;
  // There is one way to write it.
  Check(RangePropertyHeader(property) + std::string(property.filter) == bytes);
  AskFilter(range::Filter(property.filter), bounds);
}

void Build(Input* input, const Bounds& bounds) {
  RangeProperty property;
  property.timestamp_size = input->Byte();
  const std::string transform = input->Key(100);
  const std::string comparator = input->Key(100);
  property.transform = transform;
  property.comparator = comparator;
  const size_t cut = input->Number();
  const auto change = static_cast<char>(input->Byte());
  range::PlacesToHold places;
  Check(range::ParsePrefixes("1,2,'/',20b", range::FindBuiltInFunction, &places)
            .empty());
  range::FilterBuilder builder(places, Order::kBytewise, 100);
  std::vector<std::string> keys;
  while (!input->empty()) keys.push_back(input->Key(20));
  std::sort(keys.begin(), keys.end());
  for (const std::string& key : keys) Check(builder.Add(key));
  property.entries = keys.size();
  std::string bytes = RangePropertyHeader(property);
  const size_t header = bytes.size();
  if (!builder.Finish({}, &bytes).empty()) {
    Check(bytes.size() == header);
    return;
  }
  RangeProperty parsed;
  Check(ParseRangeProperty(bytes, &parsed));
  Check(parsed.timestamp_size == property.timestamp_size);
  Check(parsed.transform == transform);
  Check(parsed.comparator == comparator);
  Check(parsed.entries == keys.size());
  Check(parsed.filter == std::string_view(bytes).substr(header));
  const range::Filter filter(parsed.filter);
  Check(filter.known());
  AskFilter(filter, bounds);
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
