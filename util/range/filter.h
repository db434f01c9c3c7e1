// A range filter: answers "is any key in [lower, upper)?".
// docs/format.md, chapter "Range filter", defines its bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "util/range/answer.h"
#include "util/range/choice.h"
#include "util/range/cut.h"
#include "util/range/key_store.h"
#include "util/range/numbers.h"
#include "util/range/prefixes.h"

namespace deltabloom::internal::range {

// The size that ends a range filter: that of the bytes before it.
inline constexpr size_t kFilterSizeBytes = 8;

// A range filter may take this many bytes, however few keys it has.
inline constexpr uint64_t kFilterFreeBytes = 160;

// The most bytes of a range filter of this many distinct keys.
uint64_t MaxFilterSize(uint64_t keys, double bits_per_key);

// Builds one range filter, and is empty again after Finish. Keys must come in
// ascending bytewise order; equal neighbours are allowed and count once.
// Without memory it gives up: it throws nothing.
class FilterBuilder {
 public:
  // `range_length`: as in RangeFilterOptions.
  explicit FilterBuilder(double bits_per_key, uint64_t range_length = 0)
      : bits_per_key_(bits_per_key), range_length_(range_length) {}

  // Adds a range that was looked up, of which kMaxCutBytes of each bound count.
  // One of weight 2 counts as two. An open range says nothing about cuts and is
  // ignored, as is one whose weight is not positive. REQUIRES: no key was
  // added. Samples stay for all filters.
  void AddSample(std::string_view lower, std::optional<std::string_view> upper,
                 double weight = 1);
  // Cuts for keys of any form; samples then have no effect. REQUIRES: no key
  // was added. Stay, too.
  void SetCuts(std::vector<Cut> cuts) { cuts_ = std::move(cuts); }
  // The cuts that samples chose for other keys, of which some may be like
  // these: without samples they count more than others. Stay, too.
  void SetLearnedCuts(std::vector<Cut> cuts) {
    learned_cuts_ = std::move(cuts);
  }

  // From now on the filter takes no more bits per key than `most`.
  void LimitBits(double most) { bits_per_key_ = std::min(bits_per_key_, most); }

  void AddKey(std::string_view key) noexcept;

  // Distinct keys since construction or the last Finish; 0 once it gave up.
  uint64_t KeysAdded() const { return keys_.size(); }

  // The most memory that Finish would hold now, without what it appends.
  size_t EstimatedBuildBytes() const;

  // Appends the range filter, ending in its own size, to *dst. False, and
  // nothing appended, as RangeFilterBuilder::Finish.
  bool Finish(std::string* dst) noexcept;
  void Clear();

 private:
  void SortSamples();
  bool AppendBody(uint64_t bytes, std::string* filter);
  bool AppendNumbers(NumbersPlan plan, std::string* filter);
  bool AppendCuts(const Choice& choice, std::string* filter);

  double bits_per_key_;
  uint64_t range_length_;
  // In the order of their bounds from the first key on; keys are at or beyond
  // the lower bounds of those before `next_`.
  std::vector<Sample> samples_;
  bool samples_are_sorted_ = true;
  size_t next_ = 0;
  size_t next_shared_ = 0;  // bytes with which it and the last key begin
  std::vector<Sample> empty_samples_;  // with the keys around them
  std::vector<Cut> cuts_, learned_cuts_;
  KeyStore keys_;
  bool gave_up_ = false;
};

// A view over a range filter, parsed once; the bytes must outlive it. Any bytes
// are safe: damaged ones and those of a later version always match.
class Filter {
 public:
  explicit Filter(std::string_view bytes);

  // False only if no added key k has lower <= k < upper, bytewise; true if
  // lower >= upper. Without `upper` all keys from `lower` on are meant.
  bool MayMatch(std::string_view lower,
                std::optional<std::string_view> upper) const {
    return Ask(lower, upper) != Answer::kNo;
  }
  Answer Ask(std::string_view lower,
             std::optional<std::string_view> upper) const;

  // True only if some added key k has k >= bound. A filter of numbers knows it
  // for every bound, one of prefixes unless the bound begins like the last key.
  bool HasKeyFrom(std::string_view bound) const;

  // Returns whether these bytes can never say no.
  bool AlwaysMatches() const { return std::holds_alternative<Unknown>(shape_); }
  std::string Describe() const;
  // None unless samples chose them.
  std::vector<Cut> LearnedCuts() const;

 private:
  struct Unknown {
    Answer Ask(std::string_view, std::optional<std::string_view>) const {
      return Answer::kMayMatch;
    }
    bool HasKeyFrom(std::string_view) const { return false; }
    std::string Describe() const { return "damaged or of another version"; }
  };

  std::variant<Unknown, Numbers, Prefixes> shape_;
};

}  // namespace deltabloom::internal::range
