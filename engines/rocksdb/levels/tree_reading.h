// Reads trees from RocksDB, and keeps them up to date by events.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engines/rocksdb/base/process.h"
#include "engines/rocksdb/levels/tree_files.h"
#include "engines/rocksdb/levels/trees.h"
#include "rocksdb/db.h"

namespace deltabloom::internal {

// Returns the trees of a database, as TreesOf() does.
std::shared_ptr<DatabaseTrees> TreesOfDB(Process* process, rocksdb::DB* db);

// Returns null if the column family is not known. REQUIRES: trees->mutex is
// held.
FamilyTree* FindFamily(DatabaseTrees* trees, const std::string& name);

// Brings a tree up to date, after an event or before a table is written: by the
// change that the event reports, or by reading all trees from RocksDB if they
// are not known yet, or may be wrong.
// REQUIRES: neither trees->order nor trees->mutex is held.
void UpdateTree(rocksdb::DB* db, DatabaseTrees* trees,
                const std::string& family_name,
                const std::vector<uint64_t>& removed = {},
                const std::vector<LiveTable>& added = {});

// Reads the trees of a database, as the listener does at the first event.
void ReadTrees(Process* process, rocksdb::DB* db);

}  // namespace deltabloom::internal
