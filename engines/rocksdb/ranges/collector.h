// Builds the range filter of a table while RocksDB writes it.
#pragma once

#include <memory>
#include <string>

#include "engines/rocksdb/ranges/state.h"
#include "rocksdb/comparator.h"
#include "rocksdb/options.h"
#include "rocksdb/table_properties.h"
#include "rocksdb/utilities/object_registry.h"

namespace deltabloom::internal {

// Returns the factory of the collectors of a family with this comparator.
std::shared_ptr<rocksdb::TablePropertiesCollectorFactory>
NewRangeCollectorFactory(std::shared_ptr<RangesState> state,
                         const rocksdb::Comparator& comparator);

// Puts the factory into *family, in the place of those of the same name.
void ReplaceRangeCollector(
    std::shared_ptr<rocksdb::TablePropertiesCollectorFactory> factory,
    rocksdb::ColumnFamilyOptions* family);

// Reads options as OPTIONS files have them: "bits_per_key=8;prefixes=8".
// Throws std::runtime_error about the first that is not legal.
RocksDBRangeOptions ParseRangeOptions(const std::string& text);

// Makes the collector known by its name, for OPTIONS files.
void RegisterRangeCollector(rocksdb::ObjectLibrary* library);

}  // namespace deltabloom::internal
