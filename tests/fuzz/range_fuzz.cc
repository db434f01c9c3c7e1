// Any bytes as a range part: no read out of bounds; and a range part of keys
// taken from the same bytes finds each of them.
//
// Input: a byte of bits per key; keys of a size of one byte each; a byte of
// 255; a range part.
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tests/fuzz/harness.h"
#include "util/range/range_part.h"

namespace {

using namespace deltabloom;
using fuzz::Check;
using internal::RangePart;

void AskAll(const RangePart& range, const std::vector<std::string>& bounds) {
  for (const std::string& lower : bounds) {
    for (const std::string& upper : bounds) {
      const bool may_match = range.MayMatch(lower, upper);
      if (lower >= upper || range.AlwaysMatches()) Check(may_match);
    }
    range.HasKeyFrom(lower);
  }
  range.Describe();
}

void BuildAndAsk(double bits, const std::set<std::string>& keys) {
  internal::RangePartBuilder builder(bits);
  for (const std::string& key : keys) builder.AddKey(key);
  std::string part;
  if (!builder.Finish(&part)) {
    Check(part.empty());
    return;
  }
  Check(part.size() <= internal::MaxRangePartSize(keys.size(), bits));
  const RangePart range(part);
  Check(!range.AlwaysMatches());
  for (const std::string& key : keys) {
    Check(range.MayMatch(key, key + '\0'));
    Check(range.MayMatch(key, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"));
    Check(range.MayMatch("", key + '\0'));
    if (range.HasKeyFrom(key)) Check(key <= *keys.rbegin());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const double bits = input.Byte() / 8.0;
  std::set<std::string> keys;
  while (!input.empty()) {
    const uint8_t key_size = input.Byte();
    if (key_size == 255) break;
    const std::vector<char> key = input.Bytes(key_size % 11);
    keys.insert(std::string(key.begin(), key.end()));
  }
  // 0xff bytes beyond the bound above would be behind it.
  keys.erase(keys.lower_bound(std::string(10, '\xff')), keys.end());
  BuildAndAsk(bits, keys);
  std::vector<std::string> bounds = {"", "a", std::string(8, '\0'),
                                     std::string(8, '\x7f'), "\xff"};
  for (const std::string& key : keys) {
    if (bounds.size() < 12) bounds.push_back(key);
  }
  const std::vector<char> part = input.Rest();
  AskAll(RangePart(fuzz::View(part)), bounds);
  return 0;
}
