// Range filters. Any bytes as one: no read out of bounds, and ranges that are
// none always match. Keys that are built into one are found in every range that
// holds one of them.
//
// Input: what to do, two bounds, then a range filter, or bits per key and keys.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/fuzz/harness.h"
#include "util/coding.h"
#include "util/range/cut.h"
#include "util/range/filter.h"
#include "util/range/filter_builder.h"

namespace deltabloom::fuzz {
namespace {

using namespace internal;
using Bounds = std::vector<std::string>;

void AskFilter(std::string_view bytes, const Bounds& bounds) {
  // A copy of its own, so that ASan sees its end.
  const std::vector<char> copy(bytes.begin(), bytes.end());
  const range::Filter filter(View(copy));
  for (const std::string& lower : bounds) {
    for (const std::string& upper : bounds) {
      const bool may_match = filter.MayMatch(lower, upper);
      Check(may_match || (lower < upper && !filter.AlwaysMatches()));
    }
    const bool may_match = filter.MayMatch(lower, std::nullopt);
    Check(may_match || !filter.AlwaysMatches());
    Check(!filter.HasKeyFrom(lower) || (may_match && !filter.AlwaysMatches()));
  }
  const std::string description = filter.Describe();
  Check(!description.empty() && description.find('\n') == std::string::npos);
}

// Queries the bytes as they are, then with their size behind them.
void AskBytes(Input* input, const Bounds& bounds) {
  const std::vector<char> bytes = input->Rest();
  AskFilter(View(bytes), bounds);
  std::string whole(bytes.begin(), bytes.end());
  char size[range::kFilterSizeBytes];
  StoreFixed64(size, whole.size());
  whole.append(size, sizeof(size));
  AskFilter(whole, bounds);
}

// Samples of the bounds, fixed cuts, or those of other keys.
void Choose(uint8_t how, const Bounds& bounds, range::FilterBuilder* builder) {
  if (how % 4 == 1) {
    for (const std::string& lower : bounds) {
      for (const std::string& upper : bounds) {
        builder->AddSample(lower, upper, how / 32.0 - 1);
      }
    }
  } else if (how % 4 >= 2) {
    range::Cut cut, delimiter;
    cut.bits = static_cast<uint16_t>(1 + how);
    delimiter.byte = how;
    delimiter.count = static_cast<uint8_t>(1 + how % 3);
    if (how % 4 == 2) builder->SetCuts({cut, delimiter});
    if (how % 4 == 3) builder->SetLearnedCuts({cut, delimiter});
  }
}

void Build(Input* input, bool numbers, Bounds bounds) {
  const double bits_per_key = 1 + input->Byte() / 4.0;
  const uint8_t how = input->Byte();
  const uint64_t range_length = uint64_t{1} << how % 40;
  std::vector<std::string> keys;
  while (!input->empty()) {
    std::string key = input->Key(20);
    if (numbers) key.resize(8);
    keys.push_back(std::move(key));
  }
  std::sort(keys.begin(), keys.end());
  range::FilterBuilder builder(bits_per_key, range_length);
  Choose(how, bounds, &builder);
  for (const std::string& key : keys) builder.AddKey(key);
  const uint64_t added = builder.KeysAdded();
  std::string bytes = "in front";
  const size_t front = bytes.size();
  if (!builder.Finish(&bytes)) {
    Check(bytes.size() == front);
    return;
  }
  const std::string_view written = std::string_view(bytes).substr(front);
  Check(written.size() <= range::MaxFilterSize(added, bits_per_key));
  AskFilter(written, bounds);
  const range::Filter filter(written);
  for (const std::string& key : keys) {
    Check(filter.MayMatch(key, key + '\0'));
    Check(filter.MayMatch("", key + '\0'));
    bounds.push_back(key);
  }
  for (size_t i = 0; i < bounds.size(); ++i) {
    const std::string& lower = bounds[i];
    const std::string& upper = bounds[(i * 7 + 1) % bounds.size()];
    const auto next = std::lower_bound(keys.begin(), keys.end(), lower);
    if (next != keys.end() && *next < upper)
      Check(filter.MayMatch(lower, upper));
    if (next != keys.end()) Check(filter.MayMatch(lower, std::nullopt));
    Check(!filter.HasKeyFrom(lower) || next != keys.end());
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
    Build(&input, what % 4 == 1, bounds);
  }
}

}  // namespace deltabloom::fuzz
