// Verifies the filters of one table by lookups.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "deltabloom/filter.h"
#include "table/framing.h"
#include "tools/sst/sst.h"

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

// One filter of a table, in which the table's entries are to be looked up.
struct VerifyTask {
  const internal::SstSource& source;
  const internal::SstFile& file;
  const internal::SstFilter& filter;
  // Called now and then with the share of the table that is done. Returns false
  // to stop.
  const std::function<bool(double share)>& go_on;
  TableReport* report;
};

// Each throws std::runtime_error if the table cannot be checked to its end; the
// report then holds what was done before.

// Keys need not have sequence numbers, as those of a database have.
void VerifyLevelDB(const VerifyTask& task);

// Reads the filter through its policy's reader. Only in builds with RocksDB.
void VerifyRocksDB(const VerifyTask& task);

// Asks the table's range filter, if it has one (rocksdb_ranges.h), for ranges
// that hold its keys. Only in builds with RocksDB.
void VerifyRangeFilter(const internal::SstSource& source,
                       const internal::SstFile& file,
                       const std::function<bool(double share)>& go_on,
                       TableReport* report);

// A filter, read as the database reads it.
class TableFilter {
 public:
  virtual ~TableFilter() = default;
  virtual bool MayMatch(std::string_view key) = 0;
  // Looks up to Lookups::kBatch keys up at once. Returns false if the filter
  // has no such function.
  virtual bool MayMatch(const std::string_view*, size_t, bool*) {
    return false;
  }
  // Returns the expected rate with this many keys; nothing if it is not known.
  virtual std::optional<double> ExpectedRate(uint64_t keys) const = 0;
};

// Looks up keys in filters, and others that are not in the table, made from
// neighbours in it, the same ones in every run. Counts the results. The calls
// must match
//      (Begin (Key | Prefix)*)* End
class Lookups {
 public:
  static constexpr size_t kBatch = 32;  // as in RocksDB's MultiGet

  explicit Lookups(TableReport* report) : report_(report) {}

  // The filter and its offset in the file. It must live until End or the next
  // Begin.
  void Begin(TableFilter* filter, uint64_t offset);
  void End();
  // A key or prefix of the table; repeated ones are looked up once. `absent`:
  // with one between it and the one before.
  void Key(std::string_view key);
  void Prefix(std::string_view prefix, bool absent);

 private:
  enum class Kind : uint8_t { kKey, kPrefix, kAbsent };
  void Add(std::string_view key, Kind kind);
  void RunBatch();
  bool Between(std::string_view a, std::string_view b);
  bool BetweenPrefixes(std::string_view a, std::string_view b);
  uint64_t Random();

  TableReport* const report_;
  TableFilter* filter_ = nullptr;
  uint64_t offset_ = 0;
  uint64_t keys_in_filter_ = 0;  // and prefixes
  uint64_t absent_in_filter_ = 0;
  std::optional<std::string> last_key_;  // since Begin
  std::optional<std::string> last_prefix_;
  std::string absent_;
  uint64_t random_ = 0;
  // The sum of absent keys times their filters' rates; nothing once a rate is
  // not known.
  std::optional<double> expected_ = 0;
  size_t size_ = 0;
  std::array<std::string, kBatch> keys_;
  std::array<Kind, kBatch> kinds_ = {};
};

}  // namespace deltabloom::tools
