// Builds range filters.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "util/range/choice.h"
#include "util/range/cut.h"
#include "util/range/key_store.h"
#include "util/range/looked_up_samples.h"
#include "util/range/numbers_writer.h"

namespace deltabloom::internal::range {

// A range filter may take this many bytes, however few keys it has. In small
// tables the header and the ends of keys would otherwise take the place of
// prefixes; docs/design.md has the measure with 64 bytes.
inline constexpr uint64_t kFilterFreeBytes = 160;

// Returns the most bytes of a range filter of this many distinct keys.
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
  // ignored, as is one whose weight is not positive. Samples stay for all
  // filters. REQUIRES: no key was added.
  void AddSample(std::string_view lower, std::optional<std::string_view> upper,
                 double weight = 1);
  // Fixes the cuts, for keys of any form; samples then have no effect. Cuts
  // stay for all filters. REQUIRES: no key was added.
  void SetCuts(std::vector<Cut> cuts) { cuts_ = std::move(cuts); }
  // Sets the cuts that samples chose for other keys, of which some may be like
  // these. As long as there are no samples, scans of the prefixes at these cuts
  // take their place. These cuts stay for all filters.
  void SetLearnedCuts(std::vector<Cut> cuts) {
    learned_cuts_ = std::move(cuts);
  }

  // From now on the filter takes no more bits per key than `most`.
  void LimitBits(double most) { bits_per_key_ = std::min(bits_per_key_, most); }

  void AddKey(std::string_view key) noexcept;

  // Returns the distinct keys since construction or the last Finish; 0 once it
  // gave up.
  uint64_t KeysAdded() const { return keys_.size(); }

  // Returns the most memory that Finish would hold now, without what it
  // appends.
  size_t EstimatedBuildBytes() const;

  // Appends the range filter, which ends in its own size, to *dst. Returns
  // false and appends nothing where RangeFilterBuilder::Finish does.
  bool Finish(std::string* dst) noexcept;
  void Clear();

 private:
  bool Add(std::string_view key);
  bool AppendBody(uint64_t bytes, std::string* filter);
  bool AppendNumbers(NumbersPlan plan, std::string* filter);
  bool AppendCuts(const Choice& choice, std::string* filter);

  double bits_per_key_;
  uint64_t range_length_;
  LookedUpSamples looked_up_;
  std::vector<Cut> cuts_, learned_cuts_;
  KeyStore keys_;
  bool gave_up_ = false;
};

}  // namespace deltabloom::internal::range
