#include "engines/rocksdb/policy/result_check.h"

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "engines/rocksdb/policy/private_abi.h"
#include "rocksdb/slice.h"
#include "rocksdb/status.h"

namespace deltabloom::internal {
namespace {

using rocksdb::FilterBitsBuilder;
using rocksdb::Slice;
using rocksdb::Status;

}  // namespace

const char* WrongResult(FilterBitsBuilder* builder,
                        const rocksdb::FilterPolicy& policy) {
  // The space has more bytes than keys; ApproximateNumEntries would return
  // fewer.
  const size_t space = builder->CalculateSpace(1000);
  if (space <= 1000 || space > 4000) return "CalculateSpace";
  const size_t entries = builder->ApproximateNumEntries(space);
  if (entries < 900 || entries > 1200) return "ApproximateNumEntries";
  const double rate = builder->EstimatedFpRate(1000, space);
  if (!(rate > 0 && rate < 0.1)) return "EstimatedFpRate";

  constexpr int kKeys = 32;
  // The first half is in the filter.
  std::array<std::string, 2 * kKeys> names;
  std::array<Slice, 2 * kKeys> keys;
  std::array<Slice*, 2 * kKeys> pointers;
  for (size_t i = 0; i < names.size(); ++i) {
    names[i] = "deltabloom self-check " + std::to_string(i);
    keys[i] = names[i];
    pointers[i] = &keys[i];
  }
  const Slice prefix = "deltabloom";
  builder->AddKey(prefix);
  for (size_t i = 0; i < kKeys; ++i) {
#if DELTABLOOM_ROCKSDB_HAS_ADD_KEY_AND_ALT
    if (i % 2 == 0) {
      builder->AddKeyAndAlt(keys[i], prefix);
      continue;
    }
#endif
    builder->AddKey(keys[i]);
  }
  if (builder->EstimateEntriesAdded() != kKeys + 1) return "AddKey";
  std::unique_ptr<const char[]> owner;
  Status status;
  const Slice filter = builder->Finish(&owner, &status);
  if (!status.ok() || filter.size() < kKeys || filter.size() > 32 * kKeys) {
    return "Finish with a status";
  }
  if (!builder->MaybePostVerify(filter).ok()) return "MaybePostVerify";

  const auto reader = NewBitsReader(policy, filter);
  std::array<bool, 2 * kKeys> batch;
  reader->MayMatch(kKeys, pointers.data(), batch.data());
  reader->MayMatch(kKeys, &pointers[kKeys], &batch[kKeys]);
  int absent_matches = 0;
  for (size_t i = 0; i < keys.size(); ++i) {
    const bool match = reader->MayMatch(keys[i]);
    if (match != batch[i] || (i < kKeys && !match)) return "MayMatch";
    if (i >= kKeys && match) ++absent_matches;
  }
  const bool is_right = reader->MayMatch(prefix) && absent_matches <= kKeys / 2;
  return is_right ? nullptr : "MayMatch";
}

}  // namespace deltabloom::internal
