// The options in an OPTIONS file of RocksDB that concern filters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace deltabloom::tools {

struct FamilyOptions {
  std::string name;
  // Values as they are in the file; empty if they are not there.
  std::string table_factory;
  std::string prefix_extractor;
  std::string comparator;
  std::string collectors;  // table_properties_collectors
  std::string policy;
  bool is_fifo = false;  // compaction_style
  bool optimize_filters_for_hits = false;
  bool whole_key_filtering = true;
  bool cache_index_and_filter_blocks = false;
  std::string metadata_cache_options;
  uint64_t metadata_block_size = 4096;  // of a partition

  bool BlockBased() const {
    return table_factory.empty() || table_factory == "BlockBasedTable";
  }
  bool NamesPolicy() const {
    return !policy.empty() && policy != "nullptr" && policy != "{}";
  }
  // Returns whether the filters of tables are in the block cache, which may
  // drop them. Partitions are in it whatever cache_index_and_filter_blocks is.
  bool CachesFilters(bool partitioned) const;
  bool NamesDeltabloom() const;
  // Options of Deltabloom's policy.
  bool OwnCompatibility() const;
  bool HasKeyTransform() const;
  // Returns whether the file has several collectors, that of range filters
  // among them.
  bool HasSeveralCollectors() const;
};

// The last RocksDB whose rules for the keys and prefixes in filters are those
// of filter_keys.h: its major and minor version.
inline constexpr std::pair<unsigned, unsigned> kLastKnownRocksDB = {11, 12};

// Returns kLastKnownRocksDB as text.
std::string LastKnownRocksDB();

struct OptionsFile {
  std::string name;                     // in its directory; empty: none
  uint64_t time = 0;                    // last change, in seconds since 1970
  std::string rocksdb_version;          // that wrote it
  std::string log_directory;            // empty: that of the database
  std::vector<FamilyOptions> families;  // in the order of the file

  // Null if there is no such column family.
  const FamilyOptions* Find(const std::string& family) const;

  // Returns whether a RocksDB later than kLastKnownRocksDB has written the
  // file.
  bool IsOfLaterRocksDB() const;
};

// Returns what is wrong, in a line without a file name, or nothing. Any bytes
// are safe.
std::string ParseOptionsFile(std::string_view text, OptionsFile* file);

// The number in a name like "OPTIONS-000012"; false for other names.
bool ParseOptionsFileName(std::string_view name, uint64_t* number);

// Reads the newest OPTIONS file of the database. Returns what is wrong: without
// a name if the directory cannot be listed. Tries again where a running
// database replaces it meanwhile.
std::string ReadNewestOptionsFile(const std::string& database,
                                  OptionsFile* file);

}  // namespace deltabloom::tools
