// What a builder tells the LOG.
#include <exception>

#include "engines/rocksdb/policy/bits_builder.h"
#include "rocksdb/env.h"

namespace deltabloom::internal {

using ROCKSDB_NAMESPACE::Logger;

// Once each, for they would stand in the LOG for every table.
template <typename Warning>
void BitsBuilder::WarnOnce(std::atomic<bool>* told,
                           const Warning& warning) const {
  if (settings_.log == nullptr || told->exchange(true)) return;
  try {
    warning(settings_.log);
  } catch (const std::exception&) {
    *told = false;  // the next filter says it
  }
}

void BitsBuilder::WarnOfManyKeys() const {
  const uint64_t many = settings_.layout->many_keys;
  if (many == 0 || hashes_.size() <= many) return;
  WarnOnce(&settings_.tally->warned_of_many_keys, [&](Logger* log) {
    ROCKSDB_NAMESPACE::Warn(
        log,
        "[deltabloom] %llu keys in one %s filter: beyond some %llu million its "
        "hash adds false positives; use another layout or partitioned filters",
        static_cast<unsigned long long>(hashes_.size()), settings_.layout->name,
        static_cast<unsigned long long>(many / 1'000'000));
  });
}

void BitsBuilder::TellOf(const FilterBits& bits) const {
  SharedTally& tally = *settings_.tally;
  const auto keys = static_cast<unsigned long long>(hashes_.size());
  const auto limit =
      static_cast<unsigned long long>(settings_.max_filter_bytes);
  if (bits.rate_missed) {
    WarnOnce(&tally.told_of_missed_rate, [&](Logger* log) {
      ROCKSDB_NAMESPACE::Warn(
          log,
          "[deltabloom] a filter of %llu keys has a higher rate than "
          "false_positive_rate=%g, which its layout cannot reach: use another "
          "layout or partitioned filters",
          keys, settings_.false_positive_rate);
    });
  }
  if (bits.millibits_per_key == 0) {
    WarnOnce(&tally.told_of_no_filter, [&](Logger* log) {
      ROCKSDB_NAMESPACE::Warn(
          log,
          "[deltabloom] no filter for %llu keys, max_filter_bytes=%llu leaves "
          "less than 2 bits per key: use a higher limit, smaller tables or "
          "partitioned filters",
          keys, limit);
    });
  } else if (bits.lowered) {
    WarnOnce(&tally.told_of_lowered_bits, [&](Logger* log) {
      ROCKSDB_NAMESPACE::Warn(
          log,
          "[deltabloom] %.3f bits per key in a filter of %llu keys, which has "
          "to fit max_filter_bytes=%llu",
          bits.millibits_per_key / 1000.0, keys, limit);
    });
  }
}

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
  WarnOnce(&settings_.tally->told_of_no_range_part, [&](Logger* log) {
    ROCKSDB_NAMESPACE::Warn(
        log, "[deltabloom] range=on, and a filter has no range part: %s",
        reason);
  });
}

}  // namespace deltabloom::internal
