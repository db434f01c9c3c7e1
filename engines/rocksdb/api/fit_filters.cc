// Defines FitRocksDBFilters() of deltabloom/rocksdb.h.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "deltabloom/rocksdb.h"
#include "engines/rocksdb/base/errors.h"
#include "engines/rocksdb/base/filter_total.h"
#include "engines/rocksdb/base/options.h"
#include "rocksdb/db.h"
#include "rocksdb/metadata.h"
#include "rocksdb/options.h"
#include "rocksdb/status.h"
#include "rocksdb/table_properties.h"

namespace deltabloom {
namespace {

using internal::PolicyOptions;
using internal::Require;
using internal::TableKeys;

// Throws if RocksDB cannot read the properties.
void AddTables(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family,
               std::vector<TableKeys>* tables) {
  rocksdb::TablePropertiesCollection properties;
  const rocksdb::Status status =
      db->GetPropertiesOfAllTables(family, &properties);
  if (!status.ok()) {
    Require("the table properties cannot be read: " + status.ToString());
  }
  // Paths come in more than one spelling; their last part is unique.
  std::map<std::string, uint64_t> keys_of;
  for (const auto& [path, table] : properties) {
    keys_of[path.substr(path.rfind('/') + 1)] = table->num_entries;
  }
  rocksdb::ColumnFamilyMetaData metadata;
  db->GetColumnFamilyMetaData(family, &metadata);
  const bool is_fifo =
      db->GetOptions(family).compaction_style == rocksdb::kCompactionStyleFIFO;
  int lowest = 0;
  for (const rocksdb::LevelMetaData& level : metadata.levels) {
    if (!level.files.empty()) lowest = level.level;
  }
  for (const rocksdb::LevelMetaData& level : metadata.levels) {
    const bool bottommost =
        is_fifo || (level.level > 0 && level.level == lowest);
    for (const rocksdb::SstFileMetaData& file : level.files) {
      const auto found = keys_of.find(file.relative_filename);
      // A compaction has replaced it between the two calls.
      if (found == keys_of.end()) continue;
      tables->push_back({found->second, bottommost});
    }
  }
}

}  // namespace

bool FitRocksDBFilters(
    rocksdb::DB* db, const std::vector<rocksdb::ColumnFamilyHandle*>& families,
    uint64_t filter_bytes, RocksDBFilterOptions* options, std::string* error) {
  return internal::Catch(error, [&] {
    std::vector<TableKeys> tables;
    for (rocksdb::ColumnFamilyHandle* family : families) {
      AddTables(db, family, &tables);
    }
    if (tables.empty()) Require("there is no table yet, so there are no keys");
    PolicyOptions fitted;
    Require(fitted.Set(*options));
    if (!internal::FitTotal(tables, filter_bytes, &fitted)) {
      uint64_t keys = 0;
      for (const TableKeys& table : tables) keys += table.keys;
      Require(std::to_string(filter_bytes) +
              " bytes of filters are too few for " + std::to_string(keys) +
              " keys in " + std::to_string(tables.size()) +
              " tables: 0.5 bits per key in the last level, and what the other "
              "tables have more, take more");
    }
    options->bits_per_key = fitted.bits_per_key;
    options->upper_bits_per_key.reset();
    return true;
  });
}

}  // namespace deltabloom
