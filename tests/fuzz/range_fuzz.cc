// Range filters. Any bytes as one: no read out of bounds, and ranges that are
// none always match. Keys that are built into one are found in every range that
// holds one of them, whatever is declared.
//
// Input: what to do, two bounds, then a range filter, or a declaration, bits
// per key and keys.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/harness.h"
#include "util/coding.h"
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
using range::KeyRange;
using range::Order;
using Bounds = std::vector<std::string>;

Answer AskFor(const range::Filter& filter, const KeyRange& keys) {
  const Answer answer =
      range::AskedFilters(range::FindBuiltInFunction).Ask(filter, keys);
  Check(filter.known() || answer == Answer::kUnknown);
  Check(!keys.empty || answer != Answer::kNo);
  return answer;
}

void AskFilter(std::string_view bytes, const Bounds& bounds) {
  // A copy of its own, so that ASan sees its end.
  const std::vector<char> copy(bytes.begin(), bytes.end());
  const range::Filter filter(View(copy));
  for (const Order order : {Order::kBytewise, Order::kReverse}) {
    for (const std::string& lower : bounds) {
      for (const std::string& upper : bounds) {
        AskFor(filter,
               range::RangeOfBounds(order, lower, std::string_view(upper)));
      }
      const KeyRange open = range::RangeOfBounds(order, lower, std::nullopt);
      AskFor(filter, open);
      if (filter.known()) static_cast<void>(filter.HasKeyFromFront(open));
      AskFor(filter, range::RangeOfPrefix(order, lower));
    }
  }
  const std::string description = filter.Describe();
  Check(!description.empty());
}

// Queries the bytes as they are, then with their size where it belongs.
void AskBytes(Input* input, const Bounds& bounds) {
  std::vector<char> bytes = input->Rest();
  AskFilter(View(bytes), bounds);
  if (bytes.size() < 9) return;
  bytes[0] = range::kFilterVersion;
  StoreFixed64(&bytes[1], bytes.size());
  AskFilter(View(bytes), bounds);
}

void Build(Input* input, Bounds bounds) {
  const std::string declaration = input->Key(40);
  const double bits_per_key = 1 + input->Byte() / 4.0;
  const Order order =
      input->Byte() % 2 == 0 ? Order::kBytewise : Order::kReverse;
  range::PlacesToHold places;
  if (!range::ParsePrefixes(declaration, range::FindBuiltInFunction, &places)
           .empty()) {
    return;
  }
  // There is one text of what was parsed.
  const std::string text = range::PrefixesText(places);
  range::PlacesToHold again;
  Check(range::ParsePrefixes(text, range::FindBuiltInFunction, &again).empty());
  Check(range::PrefixesText(again) == text);
  std::vector<std::string> keys;
  while (!input->empty()) keys.push_back(input->Key(60));
  std::sort(keys.begin(), keys.end());
  if (order == Order::kReverse) std::reverse(keys.begin(), keys.end());
  range::FilterBuilder builder(places, order, bits_per_key);
  for (const std::string& key : keys) Check(builder.Add(key));
  std::string bytes = "in front";
  const size_t front = bytes.size();
  if (!builder.Finish({}, &bytes).empty()) {
    Check(bytes.size() == front);
    return;
  }
  const std::string_view written = std::string_view(bytes).substr(front);
  AskFilter(written, bounds);
  const range::Filter filter(written);
  Check(filter.known());
  bounds.insert(bounds.end(), keys.begin(), keys.end());
  for (size_t i = 0; i < bounds.size(); ++i) {
    const std::string& lower = bounds[i];
    const std::string& upper = bounds[(i * 7 + 1) % bounds.size()];
    const auto asked = [&](std::optional<std::string_view> end) {
      return AskFor(filter, range::RangeOfBounds(order, lower, end));
    };
    const bool up = order == Order::kBytewise;
    for (const std::string& key : keys) {
      const bool from = up ? key >= lower : key <= lower;
      const bool to = up ? key < upper : key > upper;
      if (from) Check(asked(std::nullopt) != Answer::kNo);
      if (from && to) Check(asked(upper) != Answer::kNo);
      if (key.compare(0, lower.size(), lower) == 0) {
        Check(AskFor(filter, range::RangeOfPrefix(order, lower)) !=
              Answer::kNo);
      }
    }
  }
}

}  // namespace

void FuzzOne(std::string_view all) {
  Input input(all);
  const uint8_t what = input.Byte();
  Bounds bounds = {"", input.Key(20), input.Key(20)};
  bounds.push_back(bounds[1] + '\0');
  bounds.push_back(std::string(24, '\xff'));
  if (what % 4 == 0) {
    AskBytes(&input, bounds);
  } else {
    Build(&input, bounds);
  }
}

}  // namespace deltabloom::fuzz
