#include <array>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "engines/rocksdb/policy/policy.h"
#include "engines/rocksdb/policy/private_abi.h"

namespace deltabloom::internal {
namespace {

using rocksdb::Slice;

// Builds and reads a filter of RocksDB's own through private_abi.h.
bool FiltersAreRight() {
  constexpr int kKeys = 32;
  const std::unique_ptr<const rocksdb::FilterPolicy> policy(
      rocksdb::NewBloomFilterPolicy(10));
  const auto builder = NewBitsBuilder(*policy);
  if (builder == nullptr) return false;
  // The first half is in the filter.
  std::array<std::string, 2 * kKeys> names;
  std::array<Slice, 2 * kKeys> keys;
  std::array<Slice*, 2 * kKeys> pointers;
  for (size_t i = 0; i < names.size(); ++i) {
    names[i] = "deltabloom self-check " + std::to_string(i);
    keys[i] = names[i];
    pointers[i] = &keys[i];
    if (i < kKeys) builder->AddKey(keys[i]);
  }
  if (builder->EstimateEntriesAdded() != kKeys) return false;
  std::unique_ptr<const char[]> owner;
  rocksdb::Status status;
  const Slice filter = builder->Finish(&owner, &status);
  if (!status.ok() || filter.size() < kKeys || filter.size() > 16 * kKeys ||
      !builder->MaybePostVerify(filter).ok() ||
      builder->ApproximateNumEntries(1000) < 100) {
    return false;
  }
  const auto reader = NewBitsReader(*policy, filter);
  std::array<bool, 2 * kKeys> batch;
  reader->MayMatch(kKeys, &pointers[0], &batch[0]);
  reader->MayMatch(kKeys, &pointers[kKeys], &batch[kKeys]);
  int absent_matches = 0;
  for (size_t i = 0; i < keys.size(); ++i) {
    const bool match = reader->MayMatch(keys[i]);
    if (match != batch[i] || (i < kKeys && !match)) return false;
    if (i >= kKeys && match) ++absent_matches;
  }
  return absent_matches <= kKeys / 2;
}

}  // namespace

std::string HeadersVersion() {
  return std::to_string(ROCKSDB_MAJOR) + "." + std::to_string(ROCKSDB_MINOR) +
         "." + std::to_string(ROCKSDB_PATCH);
}

std::string VersionProblem(const std::string& loaded) {
  const std::string minor =
      std::to_string(ROCKSDB_MAJOR) + "." + std::to_string(ROCKSDB_MINOR) + ".";
  if (loaded.compare(0, minor.size(), minor) == 0) {
    const int version = DELTABLOOM_ROCKSDB_VERSION(
        ROCKSDB_MAJOR, ROCKSDB_MINOR, std::atoi(&loaded[minor.size()]));
    const bool has_alt = version >= DELTABLOOM_ROCKSDB_VERSION(9, 6, 1);
    if (version >= DELTABLOOM_ROCKSDB_VERSION(7, 0, 3) &&
        has_alt == DELTABLOOM_ROCKSDB_HAS_ADD_KEY_AND_ALT) {
      return {};
    }
  }
  return "deltabloom: built for RocksDB " + HeadersVersion() +
         ", but the RocksDB loaded is " + loaded +
         ": build Deltabloom against the headers of that version";
}

// Never destroyed, as the next: compactions may outlive static objects.
const std::string& LibraryProblem() {
  static const std::string& problem = *new std::string([] {
    std::string text = VersionProblem(rocksdb::GetRocksVersionAsString(true));
    if (!text.empty() || FiltersAreRight()) return text;
    return "deltabloom: the RocksDB loaded (built as " + HeadersVersion() +
           ") does not build and read its own filters as expected: use an "
           "unmodified RocksDB of this version";
  }());
  return problem;
}

}  // namespace deltabloom::internal
