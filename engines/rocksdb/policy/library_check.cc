#include <array>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "engines/rocksdb/policy/policy.h"
#include "engines/rocksdb/policy/private_abi.h"
#include "engines/rocksdb/policy/sealed_bits.h"
#include "engines/rocksdb/range/ranges.h"
#include "rocksdb/env.h"
#include "rocksdb/iterator.h"
#include "rocksdb/sst_file_reader.h"
#include "rocksdb/sst_file_writer.h"
#include "rocksdb/table.h"

namespace deltabloom::internal {
namespace {

using rocksdb::Slice;

// A table of the keys kStep, 2 * kStep and so on.
constexpr int64_t kTableKeys = 256;
constexpr int64_t kStep = 1'000'000'000;
constexpr char kFile[] = "/deltabloom.range";

std::string KeyOf(int64_t number) {
  std::string key(8, '\0');
  StoreFixed64(key.data(), __builtin_bswap64(static_cast<uint64_t>(number)));
  return key;
}

class CheckedPolicy final : public rocksdb::FilterPolicy {
 public:
  const char* Name() const override { return "deltabloom.RangeCheck"; }
  const char* CompatibilityName() const override { return Name(); }

  rocksdb::FilterBitsBuilder* GetBuilderWithContext(
      const rocksdb::FilterBuildingContext&) const override {
    BuilderSettings settings;
    settings.layout = FindLayout(Layout::kLocal, Hash::kMurmurHash2, kNoLevel);
    settings.millibits_per_key = 40'000;
    settings.range = true;
    return new BitsBuilder(settings);
  }

  rocksdb::FilterBitsReader* GetFilterBitsReader(
      const Slice& filter) const override {
    ReaderSettings settings;
    settings.range = true;
    settings.statistics = statistics;
    return NewSealedBitsReader(filter, settings);
  }

  const std::shared_ptr<PolicyStatistics> statistics =
      std::make_shared<PolicyStatistics>();
};

rocksdb::Status WriteTable(const rocksdb::Options& options) {
  rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options);
  rocksdb::Status status = writer.Open(kFile);
  for (int64_t i = 1; i <= kTableKeys && status.ok(); ++i) {
    status = writer.Put(KeyOf(i * kStep), "value");
  }
  return status.ok() ? writer.Finish() : status;
}

// Whether seeks find the first key from `lower` on that is less than `upper`.
bool SeeksAreRight(rocksdb::SstFileReader* table) {
  // Bounds relative to a key: without one, with this one, with later ones.
  constexpr std::pair<int64_t, int64_t> kRanges[] = {
      {1, 1000}, {-1000, 0},     {-1000, 1},
      {0, 1000}, {1, kStep + 1}, {1, 20 * kStep}};
  for (int64_t key = kStep; key <= kTableKeys * kStep; key += kStep) {
    for (const auto& [below, above] : kRanges) {
      const std::string upper = KeyOf(key + above);
      const Slice upper_slice = upper;
      rocksdb::ReadOptions options;
      options.auto_prefix_mode = true;
      options.iterate_upper_bound = &upper_slice;
      const std::unique_ptr<rocksdb::Iterator> at(table->NewIterator(options));
      at->Seek(KeyOf(key + below));
      const int64_t first = (key + below + kStep - 1) / kStep * kStep;
      const bool found = first < key + above && first <= kTableKeys * kStep;
      if (!at->status().ok() || at->Valid() != found ||
          (found && at->key() != KeyOf(first))) {
        return false;
      }
    }
  }
  return true;
}

// What is wrong with ranges in tables, or null.
const char* RangesAreWrong(bool partitioned) {
  const std::unique_ptr<rocksdb::Env> env(
      rocksdb::NewMemEnv(rocksdb::Env::Default()));
  const auto policy = std::make_shared<CheckedPolicy>();
  const auto extractor = std::make_shared<RangeExtractor>();
  extractor->Trust();
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy = policy;
  table.no_block_cache = true;
  table.block_size = 128;
  if (partitioned) {
    table.partition_filters = true;
    table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
    table.metadata_block_size = 256;
  }
  rocksdb::Options options;
  options.env = env.get();
  options.compression = rocksdb::kNoCompression;
  options.prefix_extractor = extractor;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  if (!WriteTable(options).ok()) return "it cannot write a table in memory";
  rocksdb::SstFileReader reader(options);
  if (!reader.Open(kFile).ok()) return "it cannot read a table in memory";
  if (!SeeksAreRight(&reader)) return "a seek misses keys";
  // RocksDB 7.0 does not query partitions.
  const auto total = policy->statistics->Get().Total();
  if (!partitioned && total.range_negatives < kTableKeys) {
    return "its seeks do not pass their bounds to a filter";
  }
  return nullptr;
}

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

const std::string& RangeProblem() {
  static const std::string& problem = *new std::string([] {
    for (const bool partitioned : {false, true}) {
      const char* const wrong = RangesAreWrong(partitioned);
      if (wrong == nullptr) continue;
      return std::string(
                 "the loaded RocksDB does not query ranges as expected (") +
             (partitioned ? "partitioned" : "full") + " filters: " + wrong +
             "): range=on has no effect; use an unmodified RocksDB";
    }
    return std::string();
  }());
  return problem;
}

}  // namespace deltabloom::internal
