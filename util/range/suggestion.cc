#include "util/range/suggestion.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "util/range/bytes.h"
#include "util/range/declaration.h"
#include "util/range/place.h"
#include "util/range/prefixes_option.h"

namespace deltabloom::internal::range {
namespace {

bool IsPunctuation(char byte) {
  return (byte >= '!' && byte <= '/') || (byte >= ':' && byte <= '@') ||
         (byte >= '[' && byte <= '`') || (byte >= '{' && byte <= '~');
}

// Returns the element that is largest.
template <typename Counters>
size_t LargestIn(const Counters& counters) {
  return static_cast<size_t>(
      std::max_element(counters.begin(), counters.end(),
                       [](const auto& a, const auto& b) {
                         return a.load(std::memory_order_relaxed) <
                                b.load(std::memory_order_relaxed);
                       }) -
      counters.begin());
}

}  // namespace

void Suggestion::Note(std::string_view common) {
  const auto count = [](std::atomic<uint64_t>* counter) {
    counter->fetch_add(1, std::memory_order_relaxed);
  };
  count(&scans_);
  if (!common.empty() && IsPunctuation(common.back())) {
    count(&of_delimiter_[ByteAt(common, common.size() - 1)]);
  } else {
    count(&of_size_[std::min(common.size(), kMostBytes)]);
  }
}

std::string Suggestion::Text(const PlacesToHold& declared) const {
  const uint64_t scans = scans_.load(std::memory_order_relaxed);
  const size_t size = LargestIn(of_size_);
  const size_t delimiter = LargestIn(of_delimiter_);
  const uint64_t of_size = of_size_[size].load(std::memory_order_relaxed);
  const uint64_t of_delimiter =
      of_delimiter_[delimiter].load(std::memory_order_relaxed);
  const bool by_size = of_size > of_delimiter;
  const uint64_t most = std::max(of_size, of_delimiter);
  // Nothing can be declared for keys that share nothing.
  if (most == 0 || 2 * most < scans || (by_size && size == 0)) return {};
  Place place;
  std::string what;
  if (by_size) {
    place.bits = static_cast<uint16_t>(8 * size);
    what = "agree in " + TextOf(place) + " bytes";
  } else {
    place.kind = Place::Kind::kEach;
    place.byte = static_cast<uint8_t>(delimiter);
    what = "share a prefix that ends with " + TextOf(place);
  }
  std::string prefixes = TextOf(place);
  if (!declared.automatic) {
    for (const Place& other : declared.places.places()) {
      if (TextOf(other) == prefixes) return {};
    }
    prefixes = PrefixesText(declared) + "," + prefixes;
  }
  return std::to_string(100 * most / scans) + " % of " + std::to_string(scans) +
         " empty scans " + what + ": prefixes=" + prefixes;
}

}  // namespace deltabloom::internal::range
