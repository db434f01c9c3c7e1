#include "engines/rocksdb/policy/transform_conflict.h"

#include <string>
#include <string_view>

#include "rocksdb/memtablerep.h"
#include "rocksdb/options.h"
#include "rocksdb/table.h"

namespace deltabloom::internal {
namespace {

using rocksdb::ColumnFamilyOptions;

// Returns whether tables of the family have an index by the hash of a key's
// prefix.
bool HasHashIndex(const ColumnFamilyOptions& family) {
  using Table = rocksdb::BlockBasedTableOptions;
  if (family.table_factory == nullptr) return false;
  const auto* const table = family.table_factory->GetOptions<Table>();
  return table != nullptr && table->index_type == Table::kHashSearch;
}

}  // namespace

std::string TransformConflict(const ColumnFamilyOptions& family) {
  std::string option;
  const std::string_view memtable =
      family.memtable_factory == nullptr ? "" : family.memtable_factory->Name();
  if (family.memtable_prefix_bloom_size_ratio > 0 &&
      family.memtable_whole_key_filtering) {
    option = "memtable_whole_key_filtering";
  } else if (family.memtable_prefix_bloom_size_ratio > 0 &&
             family.prefix_extractor != nullptr) {
    option = "memtable_prefix_bloom_size_ratio with a prefix_extractor";
  } else if (memtable == "HashSkipListRepFactory" ||
             memtable == "HashLinkListRepFactory") {
    option = "memtable_factory " + std::string(memtable);
  } else if (HasHashIndex(family)) {
    option = "index_type kHashSearch";
  }
  if (option.empty()) return {};
  return option +
         " hashes the bytes of keys in RocksDB, where a key transform has no "
         "effect, and would lose keys that are equal but differ in bytes: do "
         "without it, or without key_transform";
}

}  // namespace deltabloom::internal
