#include "util/range/filter_builder.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "util/coding.h"
#include "util/layouts/layout.h"
#include "util/range/bytes.h"
#include "util/range/choice.h"
#include "util/range/filter.h"
#include "util/range/key_store.h"
#include "util/range/numbers_writer.h"
#include "util/range/prefixes_writer.h"
#include "util/range/sample.h"
#include "util/range/suggested_samples.h"

namespace deltabloom::internal::range {
namespace {

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
  // The limit of 2^40 bytes keeps the conversion defined.
  return kFilterFreeBytes +
         static_cast<uint64_t>(std::min(bytes, std::ldexp(1.0, 40)));
}

void FilterBuilder::AddSample(std::string_view lower,
                              std::optional<std::string_view> upper,
                              double weight) {
  if (!upper.has_value() || !(weight > 0)) return;
  looked_up_.Add(lower, *upper, weight);
}

void FilterBuilder::AddKey(std::string_view key) noexcept {
  if (gave_up_ || WithMemory([&] { return Add(key); })) return;
  Clear();
  gave_up_ = true;
}

bool FilterBuilder::Add(std::string_view key) {
  const std::string_view before = keys_.Last();
  const size_t shared = CommonPrefix(before, key);
  looked_up_.NoteKey(key, before, shared);
  return keys_.Add(key, shared);
}

void FilterBuilder::Clear() {
  gave_up_ = false;
  keys_ = KeyStore();
  looked_up_.ForgetKeys();
}

size_t FilterBuilder::EstimatedBuildBytes() const {
  // Prefixes take more than numbers, which keys may turn out to be.
  static_assert(kPrefixesBytesPerKey > kNumbersBytesPerKey);
  return keys_.MemorySize() + looked_up_.MemorySize() +
         static_cast<size_t>(kPrefixesBytesPerKey * keys_.size());
}

// Appends shape and the best body of no more than `bytes`; false if there is
// none.
bool FilterBuilder::AppendBody(uint64_t bytes, std::string* filter) {
  if (!cuts_.empty()) {
    return AppendCuts(ChooseBits(keys_, bytes, cuts_), filter);
  }
  NumbersPlan numbers;  // does not fit if keys cannot be numbers
  if (AreNumbers(keys_)) {
    const uint64_t length = range_length_ == 0 ? kRangeLength : range_length_;
    numbers = PlanNumbers(keys_, bytes, length);
    if (numbers.Fits() && range_length_ != 0) {
      return AppendNumbers(std::move(numbers), filter);
    }
  }
  std::vector<Sample> samples = looked_up_.Get();
  const bool learned = !samples.empty();
  if (!learned) samples = SuggestSamplesAt(keys_, learned_cuts_);
  const size_t looked_up = samples.size();
  AppendSuggestedSamples(keys_, &samples);
  Choice choice = ChooseCuts(keys_, bytes, samples, looked_up);
  if (!learned) choice.learned = 0;
  // Numbers are taken where they let no more of either samples pass: their
  // lookups are faster than those of prefixes.
  const auto numbers_are_no_worse = [&] {
    return NumbersPassing(keys_, numbers, samples, 0, looked_up) <=
               choice.looked_up_passing &&
           NumbersPassing(keys_, numbers, samples, looked_up, samples.size()) <=
               choice.suggested_passing;
  };
  if (numbers.Fits() && (choice.cuts.empty() || numbers_are_no_worse())) {
    return AppendNumbers(std::move(numbers), filter);
  }
  numbers = NumbersPlan();  // frees its memory
  return AppendCuts(choice, filter);
}

bool FilterBuilder::AppendNumbers(NumbersPlan plan, std::string* filter) {
  filter->push_back(kNumbersShape);
  range::AppendNumbers(keys_, std::move(plan), filter);
  return true;
}

bool FilterBuilder::AppendCuts(const Choice& choice, std::string* filter) {
  if (choice.cuts.empty()) return false;
  filter->push_back(kPrefixesShape);
  AppendPrefixes(keys_, choice, filter);
  return true;
}

bool FilterBuilder::Finish(std::string* dst) noexcept {
  const bool is_done = WithMemory([&] {
    if (gave_up_ || keys_.size() == 0 || !(bits_per_key_ > 0)) return false;
    const uint64_t most = MaxFilterSize(keys_.size(), bits_per_key_);
    std::string filter{kFilterVersion};
    if (!AppendBody(most - kFilterHeaderBytes - kFilterSizeBytes, &filter)) {
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
  return is_done;
}

}  // namespace deltabloom::internal::range
