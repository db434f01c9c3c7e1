// All entries of a table of RocksDB, read through RocksDB.
#ifndef DELTABLOOM_TOOLS_DELTABLOOM_ROCKSDB_ENTRIES_H_
#define DELTABLOOM_TOOLS_DELTABLOOM_ROCKSDB_ENTRIES_H_

#include <rocksdb/sst_file_reader.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace deltabloom::tools {

// In the order of the table. Neither the comparator nor the merge operator of
// its database is needed.
class RocksDBEntries {
 public:
  RocksDBEntries();
  ~RocksDBEntries();

  // Returns what RocksDB says against it, or nothing. `comparator`: the name
  // that the table has.
  std::string Open(const std::string& path, const std::string& comparator);

  // Calls fn with the key of each entry, of puts, merges and deletions of all
  // kinds, until it returns false: the user's key with its timestamp, if it has
  // one, without sequence number. With RocksDB before 9.2, entries that lie
  // behind a merge of the same key are left out. Returns what went wrong. fn
  // may throw.
  using KeyFn = std::function<bool(std::string_view key)>;
  std::string ForEach(const KeyFn& fn);

  // The number of calls that a table with nothing missing makes.
  bool IsComplete(uint64_t calls) const;

  // Entries, those of range deletions aside, as the table's properties tell.
  uint64_t size() const;

 private:
  class Order;
  class Watcher;

  std::unique_ptr<Order> order_;
  std::shared_ptr<Watcher> watcher_;
  std::unique_ptr<rocksdb::SstFileReader> reader_;
  bool leaves_out_ = false;
};

}  // namespace deltabloom::tools

#endif  // DELTABLOOM_TOOLS_DELTABLOOM_ROCKSDB_ENTRIES_H_
