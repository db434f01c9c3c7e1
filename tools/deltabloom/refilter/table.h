// A table whose filter deltabloom refilter may replace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engines/rocksdb/base/options.h"

namespace deltabloom::tools {

struct RefilterOptions {
  internal::PolicyOptions filter;
  std::string problem;   // why no table gets such a filter; empty: none
  std::string keep_old;  // a directory for links to the old files, or empty
  // Also tables that a RocksDB may have written whose rules are not known.
  bool untested = false;
};

enum class Outcome : uint8_t {
  kPlanned,   // a better filter fits
  kReplaced,  // and is there
  kNoGain,    // the filter is as good as one that fits
  kLeft,      // as it is; `reason` says why
  kFailed,    // the table cannot be read, or no other one can be written
  kGone,      // an open database has deleted it
};

// A table of the database.
struct RefilterTable {
  std::string path;
  std::string family;
  int level = 0;
  bool bottommost = false;
  uint64_t size = 0;          // by the MANIFEST
  bool has_checksum = false;  // in the MANIFEST
  std::string first_key;      // by the MANIFEST
  std::string last_key;

  Outcome outcome = Outcome::kLeft;
  std::string reason;
  bool bytewise = true;         // see SharesOfLookups()
  uint64_t filter_keys = 0;     // as `keys`; without a filter its entries
  double share_of_lookups = 0;  // once all tables are planned; see SetShares()
  uint64_t keys = 0;            // and prefixes, in the filter
  uint64_t filter_bytes = 0;
  std::string before;  // "RocksDB Bloom"; empty: no filter
  std::string after;
  // The expected false-positive rates; nothing: not known.
  std::optional<double> rate_before;
  std::optional<double> rate_after;
};

// Reads the filter of the table, and decides whether another one will replace
// it: kPlanned, kNoGain, kLeft or kFailed.
void PlanRefilter(const RefilterOptions& options, RefilterTable* table);

// Sets the outcome and what is `after` by the error, if there was one, and by
// table->reason.
void Conclude(const std::string& error, RefilterTable* table);

}  // namespace deltabloom::tools
