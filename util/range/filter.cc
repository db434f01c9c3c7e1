#include "util/range/filter.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "util/coding.h"
#include "util/layouts/layout.h"
#include "util/range/answer.h"
#include "util/range/choice.h"
#include "util/range/cut.h"
#include "util/range/key_store.h"
#include "util/range/numbers.h"
#include "util/range/prefixes.h"

namespace deltabloom::internal::range {
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

uint64_t MaxFilterSize(uint64_t keys, double bits_per_key) {
  if (!(bits_per_key > 0)) return 0;
  const double bytes =
      std::min(bits_per_key, kMaxBitsPerKey) * static_cast<double>(keys) / 8;
  return kFilterFreeBytes +
         static_cast<uint64_t>(std::min(bytes, std::ldexp(1.0, 40)));
}

void FilterBuilder::AddKey(std::string_view key) noexcept {
  const auto add = [&] {
    if (!samples_are_sorted_) SortSamples();
    const size_t shared = CommonPrefix(keys_.Last(), key);
    // A key that shares more with the last one than the next sample does is
    // smaller than that, too.
    if (shared > next_shared_) return keys_.Add(key, shared);
    // The samples between the last key and this one are empty.
    for (; next_ < samples_.size() && samples_[next_].lower <= key; ++next_) {
      const Sample& sample = samples_[next_];
      // Ranges beyond the keys are rejected by the first and the last key.
      if (keys_.size() == 0 || sample.lower >= sample.upper ||
          sample.upper > key) {
        continue;
      }
      empty_samples_.push_back(sample);
      empty_samples_.back().before = keys_.Last();
      empty_samples_.back().after = key;
    }
    next_shared_ =
        next_ == samples_.size() ? 0 : CommonPrefix(samples_[next_].lower, key);
    return keys_.Add(key, shared);
  };
  if (gave_up_ || WithMemory(add)) return;
  Clear();
  gave_up_ = true;
}

void FilterBuilder::Clear() {
  gave_up_ = false;
  keys_ = KeyStore();
  empty_samples_.clear();
  next_ = next_shared_ = 0;
}

void FilterBuilder::AddSample(std::string_view lower,
                              std::optional<std::string_view> upper,
                              double weight) {
  if (!upper.has_value() || !(weight > 0)) return;
  Sample sample;
  sample.lower = lower.substr(0, kMaxCutBytes);
  sample.upper = upper->substr(0, kMaxCutBytes);
  sample.weight = weight;
  samples_.push_back(std::move(sample));
  samples_are_sorted_ = false;
}

void FilterBuilder::SortSamples() {
  std::sort(samples_.begin(), samples_.end(),
            [](const Sample& a, const Sample& b) {
              return std::tie(a.lower, a.upper, a.weight) <
                     std::tie(b.lower, b.upper, b.weight);
            });
  samples_are_sorted_ = true;
}

size_t FilterBuilder::EstimatedBuildBytes() const {
  // Prefixes take more than numbers, which keys may turn out to be.
  static_assert(kPrefixesBytesPerKey > kNumbersBytesPerKey);
  return keys_.MemorySize() +
         static_cast<size_t>(kPrefixesBytesPerKey * keys_.size());
}

// Appends shape and the best body of no more than `bytes`; false if there is
// none.
bool FilterBuilder::AppendBody(uint64_t bytes, std::string* filter) {
  if (!cuts_.empty()) {
    return AppendCuts(ChooseBits(keys_, bytes, cuts_), filter);
  }
  NumbersPlan numbers;  // without buckets: keys cannot be numbers
  if (AreNumbers(keys_)) {
    const uint64_t length = range_length_ == 0 ? kRangeLength : range_length_;
    numbers = PlanNumbers(keys_, bytes, length);
  }
  const bool can_be_numbers = numbers.shape.buckets != 0;
  if (can_be_numbers && range_length_ != 0) {
    return AppendNumbers(std::move(numbers), filter);
  }
  std::vector<Sample> looked_up, suggested;
  const size_t known = empty_samples_.size();
  const size_t used = std::min(known, kMostSamples);
  for (size_t i = 0; i < used; ++i) {
    looked_up.push_back(empty_samples_[i * known / used]);
  }
  const bool learned = used > 0;
  if (!learned) SuggestSamplesAt(keys_, learned_cuts_, &looked_up);
  SuggestSamples(keys_, &suggested);
  Choice choice = ChooseCuts(keys_, bytes, looked_up, suggested);
  if (!learned) choice.learned = 0;
  // Numbers are taken where they let no more of either samples pass: their
  // lookups are faster than those of prefixes.
  const auto numbers_are_no_worse = [&] {
    return NumbersPassing(keys_, numbers, looked_up) <=
               choice.looked_up_passing &&
           NumbersPassing(keys_, numbers, suggested) <=
               choice.suggested_passing;
  };
  if (can_be_numbers && (choice.cuts.empty() || numbers_are_no_worse())) {
    return AppendNumbers(std::move(numbers), filter);
  }
  numbers = NumbersPlan();  // frees its memory
  return AppendCuts(choice, filter);
}

bool FilterBuilder::AppendNumbers(NumbersPlan plan, std::string* filter) {
  filter->push_back(kNumbers);
  range::AppendNumbers(keys_, std::move(plan), filter);
  return true;
}

bool FilterBuilder::AppendCuts(const Choice& choice, std::string* filter) {
  if (choice.cuts.empty()) return false;
  filter->push_back(kPrefixes);
  AppendPrefixes(keys_, choice, filter);
  return true;
}

bool FilterBuilder::Finish(std::string* dst) noexcept {
  const bool done = WithMemory([&] {
    if (gave_up_ || keys_.size() == 0 || !(bits_per_key_ > 0)) return false;
    const uint64_t most = MaxFilterSize(keys_.size(), bits_per_key_);
    std::string filter{kVersion};
    if (!AppendBody(most - kHeaderSize - kFilterSizeBytes, &filter)) {
      return false;
    }
    const size_t size = filter.size();
    filter.resize(size + kFilterSizeBytes);
    StoreFixed64(&filter[size], size);
    if (filter.size() > most) return false;
    dst->append(filter);
    return true;
  });
  Clear();
  return done;
}

Filter::Filter(std::string_view bytes) {
  if (bytes.size() < kHeaderSize + kFilterSizeBytes) return;
  const size_t size = bytes.size() - kFilterSizeBytes;
  if (LoadFixed64(bytes.data() + size) != size || bytes[0] != kVersion) {
    return;
  }
  const std::string_view body = bytes.substr(kHeaderSize, size - kHeaderSize);
  bool parsed = false;
  if (bytes[1] == kNumbers) {
    parsed = shape_.emplace<Numbers>().Parse(body);
  } else if (bytes[1] == kPrefixes) {
    parsed = shape_.emplace<Prefixes>().Parse(body);
  }
  if (!parsed) shape_.emplace<Unknown>();
}

Answer Filter::Ask(std::string_view lower,
                   std::optional<std::string_view> upper) const {
  if (upper.has_value() && lower >= *upper) return Answer::kMayMatch;
  return std::visit([&](const auto& s) { return s.Ask(lower, upper); }, shape_);
}

bool Filter::HasKeyFrom(std::string_view bound) const {
  return std::visit([&](const auto& s) { return s.HasKeyFrom(bound); }, shape_);
}

std::vector<Cut> Filter::LearnedCuts() const {
  const auto* const prefixes = std::get_if<Prefixes>(&shape_);
  if (prefixes == nullptr) return {};
  return prefixes->LearnedCuts();
}

std::string Filter::Describe() const {
  return std::visit([](const auto& s) { return s.Describe(); }, shape_);
}

}  // namespace deltabloom::internal::range
