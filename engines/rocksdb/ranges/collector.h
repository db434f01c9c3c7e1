// Builds the range filter of a table while RocksDB writes it.
#pragma once

#include <memory>
#include <string>

#include "engines/rocksdb/ranges/state.h"
#include "rocksdb/options.h"
#include "rocksdb/utilities/object_registry.h"

namespace deltabloom::internal {

// Adds the factory of its collectors to *family, in place of others of this
// name. REQUIRES: the family has a comparator.
void AddRangeCollector(std::shared_ptr<RangesState> state,
                       rocksdb::ColumnFamilyOptions* family);

// Reads options as OPTIONS files have them: "bits_per_key=8;prefixes=8".
// Throws std::runtime_error about the first that is not legal.
RocksDBRangeOptions ParseRangeOptions(const std::string& text);

// Makes the collector known by its name, for OPTIONS files.
void RegisterRangeCollector(rocksdb::ObjectLibrary* library);

}  // namespace deltabloom::internal
