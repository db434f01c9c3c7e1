// The counts of a run. All of them add up over runs.
#ifndef DELTABLOOM_DB_BENCH_EXT_TORTURE_TOTALS_H_
#define DELTABLOOM_DB_BENCH_EXT_TORTURE_TOTALS_H_

#include <atomic>
#include <cstdint>
#include <string>

namespace deltabloom::torture {

// Name in the code, name in JSON, name in the summary.
#define DELTABLOOM_TORTURE_COUNTS(X)                                        \
  X(cycles, "cycles")                                                       \
  X(kills, "processes killed by SIGKILL")                                   \
  X(kills_in_file_system, "of them in the midst of a file operation")       \
  X(aborts, "processes that RocksDB ended after a failed write")            \
  X(misorders, "databases that RocksDB stopped for its order of level 0")   \
  X(abandoned, "databases that it refused for that when opened again")      \
  X(closes, "databases closed instead")                                     \
  X(power_losses, "power losses")                                           \
  X(files_cut, "files that lost unsynced bytes or their name")              \
  X(writes_acknowledged, "writes acknowledged")                             \
  X(writes_in_flight, "writes in flight at a kill")                         \
  X(transactions, "transactions committed or rolled back")                  \
  X(transactions_recovered, "prepared transactions recovered")              \
  X(files_ingested, "files ingested")                                       \
  X(range_deletes, "range deletes")                                         \
  X(families_dropped, "column families dropped")                            \
  X(checkpoints, "checkpoints checked")                                     \
  X(backups, "backups restored and checked")                                \
  X(set_options, "changes by SetOptions")                                   \
  X(keys_checked, "keys checked against the model")                         \
  X(lookups, "lookups of these and of absent keys")                         \
  X(entries_iterated, "entries iterated and compared")                      \
  X(bit_flips, "bit flips in filter and index blocks")                      \
  X(bit_flips_reported, "of them reported as corruption")                   \
  X(read_errors, "reads of filter and index blocks that failed")            \
  X(write_errors, "file writes that failed")                                \
  X(lookups_under_damage, "lookups under a bit flip or failed read")        \
  X(errors_under_damage, "of them answered by an error")                    \
  X(filters_consulted, "filters asked for a key or prefix")                 \
  X(filters_useful, "of them said: not here")                               \
  X(filters_of_deltabloom, "tables with a filter of Deltabloom, at checks") \
  X(filters_of_rocksdb, "tables with one of RocksDB, at checks")            \
  X(failures, "failures")

// In memory shared by processes. The order of the members is that of a plain
// array.
class Totals {
 public:
  using Count = std::atomic<uint64_t>;
#define DELTABLOOM_TORTURE_MEMBER(name, text) Count name{0};
  DELTABLOOM_TORTURE_COUNTS(DELTABLOOM_TORTURE_MEMBER)
#undef DELTABLOOM_TORTURE_MEMBER

  // One line per count.
  std::string Format() const;
  std::string FormatJson() const;
  // Adds the counts of what FormatJson gave; throws std::runtime_error if it is
  // something else.
  void AddJson(const std::string& json);
};

}  // namespace deltabloom::torture

#endif  // DELTABLOOM_DB_BENCH_EXT_TORTURE_TOTALS_H_
