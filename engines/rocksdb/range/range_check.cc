#include "engines/rocksdb/range/range_check.h"

#include <cstdint>
#include <memory>

#include "engines/rocksdb/policy/bits_builder.h"
#include "engines/rocksdb/policy/bits_reader.h"
#include "engines/rocksdb/policy/private_abi.h"
#include "engines/rocksdb/range/range_extractor.h"
#include "rocksdb/env.h"
#include "rocksdb/iterator.h"
#include "rocksdb/sst_file_reader.h"
#include "rocksdb/sst_file_writer.h"
#include "rocksdb/table.h"

namespace deltabloom::internal {
namespace {

using ROCKSDB_NAMESPACE::BlockBasedTableOptions;
using ROCKSDB_NAMESPACE::Env;
using ROCKSDB_NAMESPACE::FilterBitsBuilder;
using ROCKSDB_NAMESPACE::FilterBitsReader;
using ROCKSDB_NAMESPACE::FilterBuildingContext;
using ROCKSDB_NAMESPACE::FilterPolicy;
using ROCKSDB_NAMESPACE::Iterator;
using ROCKSDB_NAMESPACE::Options;
using ROCKSDB_NAMESPACE::ReadOptions;
using ROCKSDB_NAMESPACE::Slice;
using ROCKSDB_NAMESPACE::SstFileReader;
using ROCKSDB_NAMESPACE::SstFileWriter;
using ROCKSDB_NAMESPACE::Status;

// A table of the keys kStep, 2 * kStep and so on.
constexpr uint64_t kKeys = 256;
constexpr uint64_t kStep = 1'000'000'000;
constexpr char kFile[] = "/deltabloom.range";

std::string KeyOf(uint64_t number) {
  std::string key(8, '\0');
  for (size_t i = 0; i < key.size(); ++i) {
    key[i] = static_cast<char>(number >> (56 - 8 * i));
  }
  return key;
}

// Counts the ranges that a filter rejects.
class CheckedReader final : public FilterBitsReader {
 public:
  CheckedReader(FilterBitsReader* reader, uint64_t* negatives)
      : reader_(reader), negatives_(negatives) {}

  bool MayMatch(const Slice& key) override {
    const bool may_match = reader_->MayMatch(key);
    if (!may_match) ++*negatives_;
    return may_match;
  }
  void MayMatch(int n, Slice** keys, bool* may_match) override {
    reader_->MayMatch(n, keys, may_match);
  }

 private:
  const std::unique_ptr<FilterBitsReader> reader_;
  uint64_t* const negatives_;
};

class CheckedPolicy final : public FilterPolicy {
 public:
  const char* Name() const override { return "deltabloom.RangeCheck"; }
  const char* CompatibilityName() const override { return Name(); }

  FilterBitsBuilder* GetBuilderWithContext(
      const FilterBuildingContext&) const override {
    BuilderSettings settings;
    settings.layout = FindLayout(Layout::kLocal, Hash::kMurmurHash2, kNoLevel);
    settings.millibits_per_key = 40'000;
    settings.range = true;
    return new BitsBuilder(settings);
  }

  FilterBitsReader* GetFilterBitsReader(const Slice& filter) const override {
    ReaderSettings settings;
    settings.range = true;
    return new CheckedReader(NewSealedBitsReader(filter, settings),
                             &negatives_);
  }

  uint64_t negatives() const { return negatives_; }

 private:
  mutable uint64_t negatives_ = 0;
};

Status WriteTable(const Options& options) {
  SstFileWriter writer(ROCKSDB_NAMESPACE::EnvOptions(), options);
  Status status = writer.Open(kFile);
  for (uint64_t i = 1; i <= kKeys && status.ok(); ++i) {
    status = writer.Put(KeyOf(i * kStep), "value");
  }
  return status.ok() ? writer.Finish() : status;
}

// Whether a seek to `lower` finds what it has to.
bool SeekIsRight(SstFileReader* table, uint64_t lower, uint64_t upper) {
  const std::string bound = KeyOf(upper);
  const Slice bound_slice = bound;
  ReadOptions options;
  options.auto_prefix_mode = true;
  options.iterate_upper_bound = &bound_slice;
  const std::unique_ptr<Iterator> at(table->NewIterator(options));
  at->Seek(KeyOf(lower));
  if (!at->status().ok()) return false;
  const uint64_t first = (lower + kStep - 1) / kStep * kStep;
  if (first >= upper || first > kKeys * kStep) return !at->Valid();
  return at->Valid() && at->key() == KeyOf(first);
}

bool SeeksAreRight(SstFileReader* table) {
  for (uint64_t i = 1; i <= kKeys; ++i) {
    const uint64_t key = i * kStep;
    if (!SeekIsRight(table, key + 1, key + 1000) ||
        !SeekIsRight(table, key - 1000, key) ||
        !SeekIsRight(table, key - 1000, key + 1) ||
        !SeekIsRight(table, key, key + 1000) ||
        !SeekIsRight(table, key + 1, key + kStep + 1) ||
        !SeekIsRight(table, key + 1, key + 20 * kStep)) {
      return false;
    }
  }
  return true;
}

const char* WhatIsWrong(bool partitioned) {
  const std::unique_ptr<Env> env(ROCKSDB_NAMESPACE::NewMemEnv(Env::Default()));
  const auto policy = std::make_shared<CheckedPolicy>();
  const auto extractor = std::make_shared<RangeExtractor>();
  extractor->Trust();
  BlockBasedTableOptions table;
  table.filter_policy = policy;
  table.no_block_cache = true;
  table.block_size = 128;
  if (partitioned) {
    table.partition_filters = true;
    table.index_type = BlockBasedTableOptions::kTwoLevelIndexSearch;
    table.metadata_block_size = 256;
  }
  Options options;
  options.env = env.get();
  options.compression = ROCKSDB_NAMESPACE::kNoCompression;
  options.prefix_extractor = extractor;
  options.table_factory.reset(
      ROCKSDB_NAMESPACE::NewBlockBasedTableFactory(table));
  if (!WriteTable(options).ok()) return "it cannot write a table in memory";
  SstFileReader reader(options);
  if (!reader.Open(kFile).ok()) return "it cannot read a table in memory";
  if (!SeeksAreRight(&reader)) return "a seek misses keys";
  // RocksDB 7.0 does not query partitions.
  if (!partitioned && policy->negatives() < kKeys) {
    return "its seeks do not pass their bounds to a filter";
  }
  return nullptr;
}

}  // namespace

std::string RangeProblemIn(bool partitioned) {
  const char* const wrong = WhatIsWrong(partitioned);
  return wrong == nullptr
             ? std::string()
             : std::string(
                   "the loaded RocksDB does not query ranges as expected "
                   "(") +
                   (partitioned ? "partitioned" : "full") +
                   " filters: " + wrong +
                   "): range=on has no effect; use an unmodified RocksDB";
}

const std::string& RangeProblem() {
  static const std::string problem = [] {
    std::string text = RangeProblemIn(/*partitioned=*/false);
    return text.empty() ? RangeProblemIn(/*partitioned=*/true) : text;
  }();
  return problem;
}

}  // namespace deltabloom::internal
