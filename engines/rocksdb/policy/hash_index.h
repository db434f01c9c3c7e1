// The index of tables that RocksDB asks by the hash of a key's prefix.
#ifndef DELTABLOOM_ENGINES_ROCKSDB_POLICY_HASH_INDEX_H_
#define DELTABLOOM_ENGINES_ROCKSDB_POLICY_HASH_INDEX_H_

#include "rocksdb/options.h"
#include "rocksdb/table.h"

namespace deltabloom::internal {

// Whether the column family's tables have index_type kHashSearch.
inline bool HasHashIndex(const ROCKSDB_NAMESPACE::ColumnFamilyOptions& family) {
  using Table = ROCKSDB_NAMESPACE::BlockBasedTableOptions;
  if (family.table_factory == nullptr) return false;
  const auto* const table = family.table_factory->GetOptions<Table>();
  return table != nullptr && table->index_type == Table::kHashSearch;
}

}  // namespace deltabloom::internal

#endif  // DELTABLOOM_ENGINES_ROCKSDB_POLICY_HASH_INDEX_H_
