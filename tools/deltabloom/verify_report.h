// What deltabloom verify finds out about one table, and how it is told while it
// goes on.
#ifndef DELTABLOOM_TOOLS_DELTABLOOM_VERIFY_REPORT_H_
#define DELTABLOOM_TOOLS_DELTABLOOM_VERIFY_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace deltabloom::tools {

// A key of the table that its filter denies.
struct MissedKey {
  uint64_t offset = 0;  // of the filter that was asked, in the file
  std::string key;  // as it was asked: without timestamp and sequence number
  bool prefix = false;  // the prefix of a key, and not a key
  // The ways of asking that deny it: those of Get and MultiGet, with kernels of
  // their own, and that of a scan, by the range part.
  bool alone = false;
  bool batched = false;
  bool in_range = false;
};

struct TableReport {
  std::string engine;         // LevelDB or RocksDB; empty: could not be told
  std::string column_family;  // of RocksDB, where the table tells
  std::string filter;         // "full filter NAME"; empty: there is none
  uint64_t entries = 0;       // read, deletions among them
  uint64_t keys = 0;          // asked
  uint64_t prefixes = 0;      // asked
  uint64_t false_negatives = 0;
  uint64_t absent = 0;  // keys (or prefixes) asked that the table has not
  uint64_t false_positives = 0;
  // Of the absent ones, by theory; where a filter's theory is known.
  std::optional<double> expected_rate;
  // The limit of time came first.
  bool cut_short = false;
  // What could not be asked, and why; lines.
  std::vector<std::string> not_checked;
};

// While a table is read.
class VerifyListener {
 public:
  virtual ~VerifyListener() = default;
  virtual void Missed(const MissedKey& key) = 0;
  // Every few keys: which share of the table is done. False: stop.
  virtual bool GoOn(double share) = 0;
};

// Reads the table and asks its filters. Returns why the table could not be
// checked to its end, in one line; the report tells what was done before.
std::string VerifyTable(const std::string& path, VerifyListener* listener,
                        TableReport* report);

}  // namespace deltabloom::tools

#endif  // DELTABLOOM_TOOLS_DELTABLOOM_VERIFY_REPORT_H_
