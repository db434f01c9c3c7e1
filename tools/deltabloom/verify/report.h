// Findings of verify in a table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/program/console.h"

namespace deltabloom::tools {

// A key of the table that its filter denies.
struct MissedKey {
  uint64_t offset = 0;  // of the filter in the file
  std::string key;      // as looked up: without timestamp and sequence number
  bool prefix = false;  // the prefix of a key, and not a key
  // The lookups that deny it: those of Get and MultiGet, which have kernels of
  // their own.
  bool alone = false;
  bool batched = false;
};

// A range that holds a key of the table and that the range filter denies; both
// bounds as the filter gets them.
struct MissedRange {
  std::string key;
  std::string lower;
  std::string upper;
};

// The lookups in the range filter of a table.
struct RangeLookups {
  uint64_t keys = 0;
  uint64_t ranges = 0;              // that hold one of them
  uint64_t false_negatives = 0;     // keys for which one is denied
  std::vector<MissedRange> missed;  // the first `show` of these
};

struct TableReport {
  uint64_t AllFalseNegatives() const {
    return false_negatives + (ranges.has_value() ? ranges->false_negatives : 0);
  }

  std::string path;
  std::string engine;         // LevelDB or RocksDB; empty: not known
  std::string column_family;  // of RocksDB, if the table names it
  std::string filter;         // "full filter NAME"; empty: none
  uint64_t entries = 0;       // read, including deletions
  uint64_t keys = 0;          // looked up
  uint64_t prefixes = 0;      // looked up
  uint64_t false_negatives = 0;
  std::vector<MissedKey> missed;  // the first `show` false negatives
  uint64_t show = 0;
  uint64_t absent = 0;  // lookups of keys or prefixes that are not in the table
  uint64_t false_positives = 0;
  // The expected share of absent keys that match; nothing if the rate of a
  // filter is not known.
  std::optional<double> expected_rate;
  std::optional<RangeLookups> ranges;    // nothing: there is no range filter
  bool cut_short = false;                // by the limit of time
  std::vector<std::string> not_checked;  // what could not be looked up, and why
  bool damaged = false;                  // a filter; `error` says how
  std::string error;  // why the table was not read to its end
};

void ShowTable(const TableReport& report, Console* console);

}  // namespace deltabloom::tools
