#include "util/range/range_part.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <stdexcept>
#include <tuple>

#include "util/coding.h"

namespace deltabloom::internal {
namespace {

constexpr char kVersion = 1;
constexpr char kNumbers = 1;
constexpr char kPrefixes = 3;
constexpr size_t kHeaderSize = 2;
constexpr size_t kFewEmptyRanges = 8;
constexpr size_t kManyEmptyRanges = 128;

// What fn returns; false without memory.
template <typename Fn>
bool WithMemory(const Fn& fn) {
  try {
    return fn();
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  return false;
}

}  // namespace

uint64_t MaxRangePartSize(uint64_t keys, double bits_per_key) {
  if (!(bits_per_key > 0)) return 0;
  const double bytes =
      std::min(bits_per_key, kMaxBitsPerKey) * static_cast<double>(keys) / 8;
  return kRangePartFreeBytes +
         static_cast<uint64_t>(std::min(bytes, std::ldexp(1.0, 40)));
}

void RangePartBuilder::AddKey(std::string_view key) noexcept {
  const auto add = [&] {
    const size_t shared = range::CommonPrefix(keys_.Last(), key);
    // A key that shares more with the last one than the next sample does is
    // smaller than that, too.
    if (shared > next_shared_) return keys_.Add(key, shared);
    // The samples between the last key and this one are empty.
    for (; next_ < samples_.size() && samples_[next_].lower <= key; ++next_) {
      const auto& [lower, upper, weight] = samples_[next_];
      // What lies beyond the keys of this filter is not its concern.
      if (keys_.size() > 0 && lower < upper && upper <= key) {
        empty_ranges_.push_back({lower, upper, std::string(keys_.Last()),
                                 std::string(key), weight});
      }
    }
    next_shared_ = next_ == samples_.size()
                       ? 0
                       : range::CommonPrefix(samples_[next_].lower, key);
    return keys_.Add(key, shared);
  };
  if (gave_up_ || WithMemory(add)) return;
  Clear();
  gave_up_ = true;
}

void RangePartBuilder::Clear() {
  gave_up_ = false;
  keys_ = range::KeyStore();
  empty_ranges_.clear();
  next_ = next_shared_ = 0;
}

void RangePartBuilder::AddSample(std::string_view lower,
                                 std::optional<std::string_view> upper,
                                 double weight) {
  if (!upper.has_value() || !(weight > 0)) return;
  Sample sample{std::string(lower.substr(0, range::kMaxCutBytes)),
                std::string(upper->substr(0, range::kMaxCutBytes)), weight};
  const auto after =
      std::upper_bound(samples_.begin(), samples_.end(), sample,
                       [](const Sample& a, const Sample& b) {
                         return std::tie(a.lower, a.upper, a.weight) <
                                std::tie(b.lower, b.upper, b.weight);
                       });
  samples_.insert(after, std::move(sample));
}

size_t RangePartBuilder::EstimatedBuildBytes() const {
  // Prefixes take more than numbers, which keys may turn out to be.
  static_assert(range::kPrefixesBytesPerKey > range::kNumbersBytesPerKey);
  const uint64_t per_key = range::kPrefixesBytesPerKey + 8 * cuts_.size() +
                           (samples_.empty() ? 0 : 16);
  return keys_.MemorySize() + static_cast<size_t>(per_key * keys_.size());
}

// Appends shape and the best body of no more than `bytes`; false if there is
// none.
bool RangePartBuilder::AppendBody(uint64_t bytes, std::string* part) {
  // Few say little, and the time for many must be short beside that for keys.
  std::vector<range::EmptyRange> ranges;
  const size_t known = empty_ranges_.size();
  const size_t used =
      std::min<size_t>(known, kManyEmptyRanges + keys_.size() / 250);
  for (size_t i = 0; i < used && known >= kFewEmptyRanges; ++i) {
    ranges.push_back(empty_ranges_[i * known / used]);
  }
  learned_ = cuts_.empty() && !ranges.empty();
  const bool are_numbers = cuts_.empty() && range::AreNumbers(keys_);
  range::PrefixesPlan prefixes;
  // Without ranges a scan is likely to be of numbers near each other, unless
  // there are several in a row.
  if (!are_numbers || !ranges.empty() || range::AreComposite(keys_)) {
    prefixes = range::PlanPrefixes(keys_, bytes, ranges, cuts_, learned_cuts_);
  }
  if (are_numbers && (prefixes.cuts.empty() || !ranges.empty())) {
    range::NumbersPlan numbers =
        range::PlanNumbers(keys_, bytes, range_length_);
    // Prefixes, the best of many choices, must be better by two standard
    // errors.
    if (numbers.shape.buckets != 0 &&
        (prefixes.cuts.empty() ||
         range::NumbersPassing(keys_, numbers, ranges) <
             prefixes.passing + 2 * std::sqrt(prefixes.passing))) {
      part->push_back(kNumbers);
      range::AppendNumbers(keys_, std::move(numbers), part);
      return true;
    }
  }
  if (prefixes.cuts.empty()) return false;
  part->push_back(kPrefixes);
  range::AppendPrefixes(keys_, prefixes.cuts, learned_, part);
  return true;
}

bool RangePartBuilder::Finish(std::string* dst) noexcept {
  const bool done = WithMemory([&] {
    if (gave_up_ || keys_.size() == 0 || !(bits_per_key_ > 0)) return false;
    const uint64_t most = MaxRangePartSize(keys_.size(), bits_per_key_);
    std::string part{kVersion};
    if (!AppendBody(most - kHeaderSize - kRangePartSizeBytes, &part)) {
      return false;
    }
    const size_t size = part.size();
    part.resize(size + kRangePartSizeBytes);
    StoreFixed64(&part[size], size);
    if (part.size() > most) return false;
    dst->append(part);
    return true;
  });
  Clear();
  return done;
}

RangePart::RangePart(std::string_view range_part) {
  if (range_part.size() < kHeaderSize + kRangePartSizeBytes) return;
  const size_t size = range_part.size() - kRangePartSizeBytes;
  if (LoadFixed64(range_part.data() + size) != size ||
      range_part[0] != kVersion) {
    return;
  }
  const std::string_view body =
      range_part.substr(kHeaderSize, size - kHeaderSize);
  bool parsed = false;
  if (range_part[1] == kNumbers) {
    parsed = shape_.emplace<range::Numbers>().Parse(body);
  } else if (range_part[1] == kPrefixes) {
    parsed = shape_.emplace<range::Prefixes>().Parse(body);
  }
  if (!parsed) shape_.emplace<Unknown>();
}

range::Answer RangePart::Ask(std::string_view lower,
                             std::optional<std::string_view> upper) const {
  if (upper.has_value() && lower >= *upper) return range::Answer::kMayMatch;
  return std::visit([&](const auto& s) { return s.Ask(lower, upper); }, shape_);
}

bool RangePart::HasKeyFrom(std::string_view bound) const {
  return std::visit([&](const auto& s) { return s.HasKeyFrom(bound); }, shape_);
}

bool RangePart::HasKeyBelow(std::string_view bound) const {
  return std::visit([&](const auto& s) { return s.HasKeyBelow(bound); },
                    shape_);
}

std::vector<range::Cut> RangePart::LearnedCuts() const {
  const auto* const prefixes = std::get_if<range::Prefixes>(&shape_);
  if (prefixes == nullptr) return {};
  return prefixes->LearnedCuts();
}

std::string RangePart::Describe() const {
  return std::visit([](const auto& s) { return s.Describe(); }, shape_);
}

}  // namespace deltabloom::internal
