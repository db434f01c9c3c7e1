#include "engines/rocksdb/policy/library_check.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <memory>

#include "engines/rocksdb/policy/private_abi.h"

namespace deltabloom::internal {
namespace {

using ROCKSDB_NAMESPACE::FilterBitsBuilder;
using ROCKSDB_NAMESPACE::FilterBitsReader;
using ROCKSDB_NAMESPACE::FilterPolicy;
using ROCKSDB_NAMESPACE::Slice;
using ROCKSDB_NAMESPACE::Status;

struct Version {
  int major = 0;
  int minor = 0;
  int patch = 0;
};

bool ParseVersion(std::string_view text, Version* version) {
  const char* at = text.data();
  const char* const end = at + text.size();
  for (int* part : {&version->major, &version->minor, &version->patch}) {
    const auto [next, status] = std::from_chars(at, end, *part);
    if (status != std::errc() || *part < 0) return false;
    at = next;
    if (part == &version->patch) break;
    if (at == end || *at != '.') return false;
    ++at;
  }
  return at == end;
}

// FilterPolicy has CompatibilityName from here on.
constexpr int kOldestRocksDB = DELTABLOOM_ROCKSDB_VERSION(7, 0, 3);

constexpr bool HasAddKeyAndAlt(int major, int minor, int patch) {
  return DELTABLOOM_ROCKSDB_VERSION(major, minor, patch) >=
         DELTABLOOM_ROCKSDB_VERSION(9, 6, 1);
}

}  // namespace

std::string HeadersVersion() {
  return std::to_string(ROCKSDB_MAJOR) + "." + std::to_string(ROCKSDB_MINOR) +
         "." + std::to_string(ROCKSDB_PATCH);
}

std::string VersionProblem(std::string_view loaded_version) {
  Version loaded;
  if (ParseVersion(loaded_version, &loaded) && loaded.major == ROCKSDB_MAJOR &&
      loaded.minor == ROCKSDB_MINOR &&
      DELTABLOOM_ROCKSDB_VERSION(loaded.major, loaded.minor, loaded.patch) >=
          kOldestRocksDB &&
      HasAddKeyAndAlt(loaded.major, loaded.minor, loaded.patch) ==
          DELTABLOOM_ROCKSDB_HAS_ADD_KEY_AND_ALT) {
    return {};
  }
  return "deltabloom: built for RocksDB " + HeadersVersion() +
         ", but the RocksDB loaded is " + std::string(loaded_version) +
         ": build Deltabloom against the headers of that version";
}

std::string SelfCheckProblem() {
  constexpr int kKeys = 32;
  const auto problem = [](const char* what) {
    return std::string("deltabloom: the RocksDB loaded (built as ") +
           HeadersVersion() + ") does not behave as expected: " + what +
           "; use an unmodified RocksDB of this version";
  };
  const std::unique_ptr<const FilterPolicy> policy(
      ROCKSDB_NAMESPACE::NewBloomFilterPolicy(10));
  const std::unique_ptr<FilterBitsBuilder> builder = NewBitsBuilder(*policy);
  if (builder == nullptr) return problem("its Bloom policy has no builder");

  std::array<std::string, 2 * kKeys> names;
  for (size_t i = 0; i < names.size(); ++i) {
    names[i] = "deltabloom self-check " + std::to_string(i);
  }
  for (size_t i = 0; i < kKeys; ++i) builder->AddKey(names[i]);
  if (builder->EstimateEntriesAdded() != kKeys) {
    return problem("its builder miscounts keys");
  }
  std::unique_ptr<const char[]> owner;
  Status status;
  const Slice filter = builder->Finish(&owner, &status);
  if (!status.ok() || filter.size() < kKeys || filter.size() > 16 * kKeys) {
    return problem("its builder finishes with an odd filter");
  }
  if (!builder->MaybePostVerify(filter).ok() ||
      builder->ApproximateNumEntries(1000) < 100) {
    return problem("its builder gives odd answers");
  }
  const std::unique_ptr<FilterBitsReader> reader =
      NewBitsReader(*policy, filter);
  std::array<Slice, 2 * kKeys> keys;
  std::array<Slice*, 2 * kKeys> pointers;
  std::array<bool, 2 * kKeys> batch;
  for (size_t i = 0; i < names.size(); ++i) {
    keys[i] = names[i];
    pointers[i] = &keys[i];
  }
  for (size_t i = 0; i < names.size(); i += kKeys) {
    reader->MayMatch(kKeys, &pointers[i], &batch[i]);
  }
  int absent_matches = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    const bool match = reader->MayMatch(keys[i]);
    if (match != batch[i]) return problem("its reader contradicts itself");
    if (i < kKeys && !match) return problem("its reader loses keys");
    if (i >= kKeys && match) ++absent_matches;
  }
  if (absent_matches > kKeys / 2) return problem("its filters filter nothing");
  return {};
}

const std::string& LibraryProblem() {
  static const std::string problem = [] {
    std::string text =
        VersionProblem(ROCKSDB_NAMESPACE::GetRocksVersionAsString(true));
    return text.empty() ? SelfCheckProblem() : text;
  }();
  return problem;
}

}  // namespace deltabloom::internal
