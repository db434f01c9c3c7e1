#include "util/range/range_part.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <stdexcept>

#include "util/coding.h"

namespace deltabloom::internal {
namespace {

constexpr char kVersion = 1;
constexpr char kNumbers = 1;
constexpr char kPrefixes = 3;
// Prefixes are taken in the place of numbers without a comparison if no more
// questions pass.
constexpr double kFewPass = 0.01;
constexpr size_t kHeaderSize = 2;

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

RangePartBuilder::RangePartBuilder(double bits_per_key, uint64_t range_length)
    : bits_per_key_(bits_per_key), range_length_(range_length) {}

void RangePartBuilder::AddKey(std::string_view key) noexcept {
  if (gave_up_ || WithMemory([&] { return keys_.Add(key); })) return;
  gave_up_ = true;
  keys_.Clear();
}

void RangePartBuilder::AddQuestion(std::string_view lower,
                                   std::string_view upper) {
  lower = lower.substr(0, range::kMaxCutBytes);
  upper = upper.substr(0, range::kMaxCutBytes);
  keys_.KeepFirst(std::max(lower.size(), upper.size()) + 8);
  questions_.push_back({std::string(lower), std::string(upper)});
}

size_t RangePartBuilder::EstimatedBuildBytes() const {
  // Keys of one size may turn out to be no numbers.
  const uint64_t per_key =
      std::max(range::kNumbersBytesPerKey, range::kPrefixesBytesPerKey);
  return keys_.MemorySize() + static_cast<size_t>(per_key * keys_.size());
}

std::string RangePartBuilder::PartOf(
    char shape, uint64_t bytes,
    const std::vector<range::EmptyRange>& ranges) const {
  std::string part{kVersion, shape};
  if (shape == kNumbers
          ? !range::AppendNumbers(keys_, bytes, range_length_, &part)
          : !range::AppendPrefixes(keys_, bytes, ranges,
                                   seed_.has_value() ? &*seed_ : nullptr,
                                   &part)) {
    return {};
  }
  part.resize(part.size() + kRangePartSizeBytes);
  const size_t size = part.size() - kRangePartSizeBytes;
  StoreFixed64(&part[size], size);
  return part;
}

std::string RangePartBuilder::BestPart(uint64_t bytes) const {
  const std::vector<range::EmptyRange> ranges =
      range::EmptyRanges(keys_, questions_);
  if (!range::AreNumbers(keys_)) return PartOf(kPrefixes, bytes, ranges);
  // Unless a scan is likely to be of one integer of several.
  if (ranges.empty() && !range::AreComposite(keys_)) {
    return PartOf(kNumbers, bytes, ranges);
  }
  const auto passed = [&](const std::string& part) {
    const RangePart range(part, seed_.has_value() ? &*seed_ : nullptr);
    return std::count_if(
        ranges.begin(), ranges.end(), [&](const range::EmptyRange& empty) {
          return range.MayMatch(empty.question->lower, empty.question->upper);
        });
  };
  std::string prefixes = PartOf(kPrefixes, bytes, ranges);
  const auto passed_prefixes = passed(prefixes);
  if (!prefixes.empty() && static_cast<double>(passed_prefixes) <=
                               kFewPass * static_cast<double>(ranges.size())) {
    return prefixes;
  }
  std::string numbers = PartOf(kNumbers, bytes, ranges);
  const bool better = !numbers.empty() && passed(numbers) < passed_prefixes;
  return prefixes.empty() || better ? numbers : prefixes;
}

bool RangePartBuilder::Finish(std::string* dst) noexcept {
  const bool done = WithMemory([&] {
    if (gave_up_ || keys_.size() == 0 || !(bits_per_key_ > 0)) return false;
    keys_.Close();
    const uint64_t most = MaxRangePartSize(keys_.size(), bits_per_key_);
    const std::string part = BestPart(most - kHeaderSize - kRangePartSizeBytes);
    dst->append(part);
    return !part.empty();
  });
  gave_up_ = false;
  keys_.Clear();
  return done;
}

RangePart::RangePart(std::string_view range_part, const SipHashKey* seed) {
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
    parsed = shape_.emplace<range::Prefixes>().Parse(body, seed);
  }
  if (!parsed) shape_.emplace<Unknown>();
}

range::Answer RangePart::Ask(std::string_view lower,
                             std::string_view upper) const {
  if (lower >= upper) return range::Answer::kMayMatch;
  if (const auto* const numbers = std::get_if<range::Numbers>(&shape_)) {
    return numbers->MayMatch(lower, upper) ? range::Answer::kMayMatch
                                           : range::Answer::kNo;
  }
  const auto* const prefixes = std::get_if<range::Prefixes>(&shape_);
  return prefixes == nullptr ? range::Answer::kMayMatch
                             : prefixes->Ask(lower, upper);
}

bool RangePart::HasKeyFrom(std::string_view bound) const {
  return std::visit([&](const auto& s) { return s.HasKeyFrom(bound); }, shape_);
}

std::vector<range::Cut> RangePart::Cuts() const {
  const auto* const prefixes = std::get_if<range::Prefixes>(&shape_);
  return prefixes == nullptr ? std::vector<range::Cut>() : prefixes->Cuts();
}

std::string RangePart::Describe() const {
  return std::visit([](const auto& s) { return s.Describe(); }, shape_);
}

}  // namespace deltabloom::internal
