#include "util/range/looked_up_samples.h"

#include <algorithm>
#include <cstddef>
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
    Sample& without_key = without_key_.emplace_back(sample);
    without_key.before = before;
    without_key.after = key;
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
    samples.push_back(without_key_[i * known / used]);
  }
  return samples;
}

void LookedUpSamples::ForgetKeys() {
  without_key_.clear();
  next_ = next_shared_ = 0;
  any_key_ = false;
}

}  // namespace deltabloom::internal::range
