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
// An estimate of a share p by this many samples is within
// sqrt(p * (1 - p) / 256) = 3 %.
constexpr size_t kMostSamples = 256;

// Returns what fn returns; false if memory runs out.
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
      const range::Sample& sample = samples_[next_];
      // Ranges beyond the keys are rejected by the first and the last key.
      if (keys_.size() == 0 || sample.lower >= sample.upper ||
          sample.upper > key) {
        continue;
      }
      empty_samples_.push_back(sample);
      empty_samples_.back().before = keys_.Last();
      empty_samples_.back().after = key;
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
  empty_samples_.clear();
  next_ = next_shared_ = 0;
}

void RangePartBuilder::AddSample(std::string_view lower,
                                 std::optional<std::string_view> upper,
                                 double weight) {
  if (!upper.has_value() || !(weight > 0)) return;
  range::Sample sample;
  sample.lower = lower.substr(0, range::kMaxCutBytes);
  sample.upper = upper->substr(0, range::kMaxCutBytes);
  sample.weight = weight;
  const auto after =
      std::upper_bound(samples_.begin(), samples_.end(), sample,
                       [](const range::Sample& a, const range::Sample& b) {
                         return std::tie(a.lower, a.upper, a.weight) <
                                std::tie(b.lower, b.upper, b.weight);
                       });
  samples_.insert(after, std::move(sample));
}

size_t RangePartBuilder::EstimatedBuildBytes() const {
  // Prefixes take more than numbers, which keys may turn out to be.
  static_assert(range::kPrefixesBytesPerKey > range::kNumbersBytesPerKey);
  return keys_.MemorySize() +
         static_cast<size_t>(range::kPrefixesBytesPerKey * keys_.size());
}

// Appends shape and the best body of no more than `bytes`; false if there is
// none.
bool RangePartBuilder::AppendBody(uint64_t bytes, std::string* part) {
  if (!cuts_.empty()) {
    learned_ = false;
    return AppendCuts(range::ChooseBits(keys_, bytes, cuts_), part);
  }
  range::NumbersPlan numbers;  // without buckets: keys cannot be numbers
  if (range::AreNumbers(keys_)) {
    const uint64_t length =
        range_length_ == 0 ? range::kRangeLength : range_length_;
    numbers = range::PlanNumbers(keys_, bytes, length);
  }
  const bool can_be_numbers = numbers.shape.buckets != 0;
  if (can_be_numbers && range_length_ != 0) {
    learned_ = false;
    return AppendNumbers(std::move(numbers), part);
  }
  std::vector<range::Sample> looked_up, suggested;
  const size_t known = empty_samples_.size();
  const size_t used = std::min(known, kMostSamples);
  for (size_t i = 0; i < used; ++i) {
    looked_up.push_back(empty_samples_[i * known / used]);
  }
  learned_ = used > 0;
  if (!learned_) range::MakeUpSamplesAt(keys_, learned_cuts_, &looked_up);
  range::MakeUpSamples(keys_, &suggested);
  range::Choice choice = range::ChooseCuts(keys_, bytes, looked_up, suggested);
  if (!learned_) choice.learned = 0;
  // Numbers are taken where they let no more of either samples pass: their
  // lookups are faster than those of prefixes.
  const auto numbers_are_no_worse = [&] {
    return range::NumbersPassing(keys_, numbers, looked_up) <=
               choice.looked_up_passing &&
           range::NumbersPassing(keys_, numbers, suggested) <=
               choice.suggested_passing;
  };
  if (can_be_numbers && (choice.cuts.empty() || numbers_are_no_worse())) {
    return AppendNumbers(std::move(numbers), part);
  }
  return AppendCuts(choice, part);
}

bool RangePartBuilder::AppendNumbers(range::NumbersPlan plan,
                                     std::string* part) {
  part->push_back(kNumbers);
  range::AppendNumbers(keys_, std::move(plan), part);
  return true;
}

bool RangePartBuilder::AppendCuts(const range::Choice& choice,
                                  std::string* part) {
  if (choice.cuts.empty()) return false;
  part->push_back(kPrefixes);
  range::AppendPrefixes(keys_, choice, part);
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
