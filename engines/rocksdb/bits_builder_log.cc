// What a builder tells the LOG.
#include <exception>
#include <new>

#include "engines/rocksdb/bits_builder.h"
#include "rocksdb/env.h"

namespace deltabloom::internal {

void BitsBuilder::WarnOfManyKeys() const {
  const uint64_t many = settings_.layout->many_keys;
  if (many == 0 || hashes_.size() <= many || settings_.log == nullptr ||
      settings_.tally->warned_of_many_keys.exchange(true)) {
    return;
  }
  try {
    ROCKSDB_NAMESPACE::Warn(
        settings_.log,
        "[deltabloom] %llu keys in one %s filter: beyond some %llu million its "
        "hash adds false positives; use another layout or partitioned filters",
        static_cast<unsigned long long>(hashes_.size()), settings_.layout->name,
        static_cast<unsigned long long>(many / 1'000'000));
  } catch (const std::bad_alloc&) {
    settings_.tally->warned_of_many_keys = false;  // the next filter says it
  }
}

// Once each, for they would stand in the LOG for every table.
void BitsBuilder::TellOf(const FilterBits& bits) const {
  if (settings_.log == nullptr) return;
  SharedTally& tally = *settings_.tally;
  const auto keys = static_cast<unsigned long long>(hashes_.size());
  const auto limit =
      static_cast<unsigned long long>(settings_.max_filter_bytes);
  if (bits.rate_missed && !tally.told_of_missed_rate.exchange(true)) {
    ROCKSDB_NAMESPACE::Warn(
        settings_.log,
        "[deltabloom] a filter of %llu keys has a higher rate than "
        "false_positive_rate=%g, which its layout cannot reach: use another "
        "layout or partitioned filters",
        keys, settings_.false_positive_rate);
  }
  if (bits.millibits_per_key == 0) {
    if (tally.told_of_no_filter.exchange(true)) return;
    ROCKSDB_NAMESPACE::Warn(
        settings_.log,
        "[deltabloom] no filter for %llu keys, max_filter_bytes=%llu leaves "
        "less than 2 bits per key: use a higher limit, smaller tables or "
        "partitioned filters",
        keys, limit);
  } else if (bits.lowered && !tally.told_of_lowered_bits.exchange(true)) {
    ROCKSDB_NAMESPACE::Warn(
        settings_.log,
        "[deltabloom] %.3f bits per key in a filter of %llu keys, which has to "
        "fit max_filter_bytes=%llu",
        bits.millibits_per_key / 1000.0, keys, limit);
  }
}

// Once, for it would stand in the LOG for every table.
void BitsBuilder::TellOfNoRangePart(RangeKeys::State why) const {
  const char* reason = nullptr;
  switch (why) {
    case RangeKeys::State::kOff:
    case RangeKeys::State::kTaken:  // of no key
      return;
    case RangeKeys::State::kNoExtractor:
      reason =
          "the column family lacks prefix_extractor=deltabloom.Range or "
          "whole_key_filtering";
      break;
    case RangeKeys::State::kNotInOrder:
      reason = "its keys do not ascend bytewise, or memory ran out";
      break;
    case RangeKeys::State::kTooLarge:
      reason = "it would not fit max_build_bytes or max_filter_bytes";
      break;
    case RangeKeys::State::kUnfit:
      reason = "there is none for its keys at so few bits per key";
      break;
  }
  if (settings_.log == nullptr ||
      settings_.tally->told_of_no_range_part.exchange(true)) {
    return;
  }
  try {
    ROCKSDB_NAMESPACE::Warn(
        settings_.log,
        "[deltabloom] range=on, and a filter has no range part: %s", reason);
  } catch (const std::exception&) {
    settings_.tally->told_of_no_range_part = false;  // the next filter says it
  }
}

}  // namespace deltabloom::internal
