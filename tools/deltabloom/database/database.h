// Reads the directory of a database: its options, and its tables with their
// levels and filters.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/deltabloom/database/filter_use.h"
#include "tools/deltabloom/database/options_file.h"
#include "tools/deltabloom/database/policy_verdict.h"
#include "tools/program/console.h"

namespace deltabloom::tools {

struct DatabaseTable {
  std::string family;  // empty: not known
  int level = -1;      // -1: not known
  std::string first_key;
  std::string last_key;
  bool bytewise = false;        // see SharesOfLookups()
  double share_of_lookups = 0;  // see SetShares()
  uint64_t bytes = 0;
  uint64_t entries = 0;
  uint64_t written = 0;      // in seconds since 1970; 0: not known
  uint64_t filter_keys = 0;  // keys and prefixes; without a filter, entries
  bool counts_filter_keys = false;  // false: filter_keys are entries
  bool only_prefixes = false;       // its filter holds no whole keys
  uint64_t filter_bytes = 0;
  uint64_t filter_partitions = 0;  // 0: a full filter, or none
  uint64_t index_bytes = 0;
  uint64_t data_bytes = 0;
  uint64_t data_blocks = 0;
  uint64_t range_filter_bytes = 0;
  // The name of the filter in the table; empty without a filter.
  std::string compatibility_name;
  FilterUse use;
  // optimize_filters_for_hits: it needs no filter, and none is asked; or the
  // policy builds none there.
  bool needs_no_filter = false;
  bool is_leveldb = false;
  bool has_checksum = false;  // in the MANIFEST
};

struct Database {
  std::string path;
  bool listed = false;  // false: nothing of the directory is known
  OptionsFile options;
  // The verdicts by column family, for those that name a policy.
  std::map<std::string, PolicyVerdict> verdicts;
  std::vector<DatabaseTable> tables;
  // The verdict on the policy of a column family; the default if it names none,
  // and in builds without RocksDB.
  PolicyVerdict VerdictOf(const std::string& family) const;
  bool is_none = false;  // it has neither a file CURRENT nor an OPTIONS file
  bool is_leveldb = false;
  uint64_t not_block_based = 0;  // tables of PlainTable and CuckooTable
  // Files without a known magic number, if no file has one and the MANIFEST or
  // the options do not say that they are block-based tables.
  uint64_t unknown_files = 0;
  uint64_t gone = 0;                  // tables that vanished meanwhile
  uint64_t unused = 0;                // tables that are not in the MANIFEST
  uint64_t elsewhere = 0;             // tables in other directories, or lost
  uint64_t unfinished = 0;            // tables that are being written
  std::vector<std::string> problems;  // what could not be read; lines
};

// Reads the newest OPTIONS file, the MANIFEST, and some kilobytes of each
// table: its properties and the end of its filter. Nothing is written, and the
// database may be open. Other tables are in the directories `paths`.
Database ReadDatabase(const std::string& path,
                      const std::vector<std::string>& paths, Console* console);

}  // namespace deltabloom::tools
