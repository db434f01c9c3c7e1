#include "util/range/looked_up_samples.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "util/range/bytes.h"
#include "util/range/cut.h"
#include "util/range/sample.h"

namespace deltabloom::internal::range {

void LookedUpSamples::Add(std::string_view lower, std::string_view upper,
                          double weight) {
  Sample sample;
  sample.lower = lower.substr(0, kMaxCutBytes);
  sample.upper = upper.substr(0, kMaxCutBytes);
  sample.weight = weight;
  bytes_of_bounds_ += sample.lower.size() + sample.upper.size();
  samples_.push_back(std::move(sample));
  is_sorted_ = false;
}

void LookedUpSamples::Sort() {
  std::sort(samples_.begin(), samples_.end(),
            [](const Sample& a, const Sample& b) {
              return std::tie(a.lower, a.upper, a.weight) <
                     std::tie(b.lower, b.upper, b.weight);
            });
  is_sorted_ = true;
}

void LookedUpSamples::NoteKey(std::string_view key, std::string_view before,
                              size_t shared) {
  if (!is_sorted_) Sort();
  // A key that shares more with the key before it than the next sample does is
  // smaller than that sample, too.
  if (shared > next_shared_) return;
  for (; next_ < samples_.size() && samples_[next_].lower <= key; ++next_) {
    const Sample& sample = samples_[next_];
    // Its lower bound lies behind the key before. Ranges before the first key
    // and beyond the last one are rejected without a cut.
    const bool is_between = any_key_ && sample.upper <= key;
    if (!is_between || sample.lower >= sample.upper) continue;
    // No cut tells keys apart beyond kMaxCutBytes, and numbers are shorter.
    WithoutKey& without_key = without_key_.emplace_back();
    without_key.sample = next_;
    without_key.before = before.substr(0, kMaxCutBytes);
    without_key.after = key.substr(0, kMaxCutBytes);
    bytes_of_keys_ += without_key.before.size() + without_key.after.size();
  }
  next_shared_ =
      next_ == samples_.size() ? 0 : CommonPrefix(samples_[next_].lower, key);
  any_key_ = true;
}

std::vector<Sample> LookedUpSamples::Get() const {
  const size_t known = without_key_.size();
  const size_t used = std::min(known, kMostSamples);
  std::vector<Sample> samples;
  for (size_t i = 0; i < used; ++i) {
    const WithoutKey& without_key = without_key_[i * known / used];
    Sample& sample = samples.emplace_back(samples_[without_key.sample]);
    sample.before = without_key.before;
    sample.after = without_key.after;
  }
  return samples;
}

size_t LookedUpSamples::MemorySize() const {
  const size_t bytes = samples_.capacity() * sizeof(Sample) + bytes_of_bounds_ +
                       without_key_.capacity() * sizeof(WithoutKey) +
                       bytes_of_keys_;
  const size_t known = without_key_.size();
  if (known == 0) return bytes;
  const size_t bytes_of_copy = sizeof(Sample) +
                               bytes_of_bounds_ / samples_.size() +
                               bytes_of_keys_ / known;
  return bytes + std::min(known, kMostSamples) * bytes_of_copy;
}

void LookedUpSamples::ForgetKeys() {
  without_key_.clear();
  bytes_of_keys_ = 0;
  next_ = next_shared_ = 0;
  any_key_ = false;
}

}  // namespace deltabloom::internal::range
