#include "engines/rocksdb/policy/transform_conflicts.h"

#include <string_view>

#include "engines/rocksdb/policy/hash_index.h"
#include "rocksdb/memtablerep.h"

namespace deltabloom::internal {
namespace {

using ROCKSDB_NAMESPACE::ColumnFamilyOptions;

// Memtables that keep keys in buckets by the hash of their prefix.
bool HashesPrefixes(const ColumnFamilyOptions& family) {
  if (family.memtable_factory == nullptr) return false;
  const std::string_view name = family.memtable_factory->Name();
  return name == "HashSkipListRepFactory" || name == "HashLinkListRepFactory";
}

}  // namespace

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
         " hashes the bytes of keys in RocksDB, where a key transform does not "
         "reach, and would lose keys that are equal but differ in bytes: do "
         "without it, or without key_transform";
}

}  // namespace deltabloom::internal
