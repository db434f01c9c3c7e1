#include "engines/rocksdb/policy/family_check.h"

#include "engines/rocksdb/range/range_extractor.h"
#include "rocksdb/comparator.h"
#include "rocksdb/convenience.h"
#include "rocksdb/memtablerep.h"
#include "rocksdb/table.h"

namespace deltabloom::internal {
namespace {

using rocksdb::ColumnFamilyOptions;
using rocksdb::Comparator;

constexpr char kWithTimestamps[] = "leveldb.BytewiseComparator.u64ts";

bool IsBytewise(const Comparator* comparator) {
  if (comparator == rocksdb::BytewiseComparator()) return true;
  // By name, as older headers do not declare the function.
  const Comparator* with_timestamps = nullptr;
  const rocksdb::Status status = Comparator::CreateFromString(
      rocksdb::ConfigOptions(), kWithTimestamps, &with_timestamps);
  return status.ok() && comparator == with_timestamps;
}

// Whether the memtable keeps keys in buckets by the hash of their prefix.
bool HashesPrefixes(const ColumnFamilyOptions& family) {
  if (family.memtable_factory == nullptr) return false;
  const std::string_view name = family.memtable_factory->Name();
  return name == "HashSkipListRepFactory" || name == "HashLinkListRepFactory";
}

// Whether tables have an index by the hash of a key's prefix.
bool HasHashIndex(const ColumnFamilyOptions& family) {
  using Table = rocksdb::BlockBasedTableOptions;
  if (family.table_factory == nullptr) return false;
  const auto* const table = family.table_factory->GetOptions<Table>();
  return table != nullptr && table->index_type == Table::kHashSearch;
}

// Where RocksDB itself hashes the bytes of keys, it does not find keys that are
// equal but differ in bytes, whatever filters do.
std::string TransformConflict(const ColumnFamilyOptions& family) {
  std::string option;
  if (family.memtable_whole_key_filtering &&
      family.memtable_prefix_bloom_size_ratio > 0) {
    option = "memtable_whole_key_filtering";
  } else if (family.memtable_prefix_bloom_size_ratio > 0 &&
             family.prefix_extractor != nullptr) {
    option = "memtable_prefix_bloom_size_ratio with a prefix_extractor";
  } else if (HashesPrefixes(family)) {
    option = std::string("memtable_factory ") + family.memtable_factory->Name();
  } else if (HasHashIndex(family)) {
    option = "index_type kHashSearch";
  }
  if (option.empty()) return {};
  return option +
         " hashes the bytes of keys in RocksDB, where a key transform has no "
         "effect, and would lose keys that are equal but differ in bytes: do "
         "without it, or without key_transform";
}

}  // namespace

bool IsBytewiseName(std::string_view comparator) {
  return comparator == rocksdb::BytewiseComparator()->Name() ||
         comparator == kWithTimestamps;
}

std::string RangeConflict(const ColumnFamilyOptions& family, bool range) {
  const RangeExtractor* const extractor =
      AsRangeExtractor(family.prefix_extractor.get());
  if (extractor == nullptr && !range) return {};
  const std::string what =
      range ? "range=on"
            : std::string("prefix_extractor=") + kRangeExtractorName;
  if (family.comparator == nullptr || !IsBytewise(family.comparator)) {
    // For good: a program that gets this error may go on with a call in which
    // RocksDB does not validate options.
    if (extractor != nullptr) extractor->Distrust();
    return what + " needs keys in the order of their bytes, and comparator " +
           (family.comparator == nullptr ? "" : family.comparator->Name()) +
           " has another: use BytewiseComparator, or do without ranges" +
           (extractor == nullptr
                ? ""
                : "; this prefix_extractor answers no ranges from now on, "
                  "wherever else it is used: restart, or make a new one");
  }
  if (extractor == nullptr) return {};
  if (HasHashIndex(family)) {
    return what +
           " gives all keys one prefix, which index_type kHashSearch cannot "
           "tell apart: use another index_type, or do without ranges";
  }
  extractor->Trust();
  return {};
}

std::string FamilyConflict(const ColumnFamilyOptions& family,
                           const PolicyOptions& options) {
  return options.transform != nullptr ? TransformConflict(family)
                                      : RangeConflict(family, options.range);
}

}  // namespace deltabloom::internal
