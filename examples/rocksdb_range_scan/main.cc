// Scans for the orders of a user, where most users have none. With range
// filters, a scan that finds nothing reads no data block.
//
//   c++ -std=c++17 main.cc $(pkg-config --cflags --libs deltabloom-rocksdb)
#include <deltabloom/rocksdb_ranges.h>
#include <rocksdb/db.h>
#include <rocksdb/iterator.h>
#include <rocksdb/options.h>
#include <rocksdb/statistics.h>
#include <rocksdb/table.h>

#include <cstdint>
#include <iomanip>
#include <iostream>
#include <memory>
#include <string>

namespace {

constexpr int kUsers = 10000;  // every fourth user has orders
constexpr int kTables = 4;     // each has one order of each such user
const char kPath[] = "example.rocksdb";

std::string OrdersOf(int user) {
  return "user:" + std::to_string(100000 + user) + ":order:";
}

// Prints an error and returns false, or returns true.
bool IsOk(const rocksdb::Status& status) {
  if (!status.ok()) std::cerr << status.ToString() << "\n";
  return status.ok();
}

bool WriteOrders(rocksdb::DB* db) {
  for (int table = 0; table < kTables; ++table) {
    for (int user = 0; user < kUsers; user += 4) {
      // The number of an order says nothing about its user.
      const int order = (user * 7919 + table) % 1000000;
      const std::string key = OrdersOf(user) + std::to_string(order);
      if (!IsOk(db->Put({}, key, "what was ordered"))) return false;
    }
    if (!IsOk(db->Flush({}))) return false;
  }
  return true;
}

// Scans the orders of every user, and prints how many blocks it read.
template <typename NewScan>
void ScanAll(const char* what, rocksdb::Statistics* statistics,
             const NewScan& new_scan) {
  IsOk(statistics->Reset());
  int orders = 0;
  int empty_scans = 0;
  uint64_t blocks = 0;  // read by empty scans, from the cache or the disk
  for (int user = 0; user < kUsers; ++user) {
    const auto read = [statistics] {
      return statistics->getTickerCount(rocksdb::BLOCK_CACHE_DATA_HIT) +
             statistics->getTickerCount(rocksdb::BLOCK_CACHE_DATA_MISS);
    };
    const uint64_t before = read();
    const auto scan = new_scan(OrdersOf(user));
    int found = 0;
    for (scan->SeekToFirst(); scan->Valid(); scan->Next()) ++found;
    IsOk(scan->status());
    orders += found;
    if (found > 0) continue;
    ++empty_scans;
    blocks += read() - before;
  }
  std::cout << what << ": " << orders << " orders found, "
            << static_cast<double>(blocks) / empty_scans
            << " data blocks per empty scan\n";
}

}  // namespace

int main() {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.disable_auto_compactions = true;  // so that there are four tables
  options.statistics = rocksdb::CreateDBStatistics();
  // The keys of a scan share all up to a colon, so tables store these prefixes.
  deltabloom::RocksDBRangeOptions range_options;
  range_options.prefixes = "':'";
  std::string error;
  const auto ranges = deltabloom::RocksDBRanges::New(range_options, &error);
  if (ranges == nullptr || !ranges->AddTo(&options, &error)) {
    std::cerr << error << "\n";
    return 1;
  }
  IsOk(rocksdb::DestroyDB(kPath, options));
  rocksdb::DB* opened = nullptr;
  const rocksdb::Status status = rocksdb::DB::Open(options, kPath, &opened);
  const std::unique_ptr<rocksdb::DB> db(opened);
  if (!IsOk(status) || !WriteOrders(db.get())) return 1;

  std::cout << std::fixed << std::setprecision(2);
  rocksdb::Statistics* const statistics = options.statistics.get();
  // First RocksDB's own iterator, whose bounds must live as long as it does.
  std::string lower, upper;
  rocksdb::Slice lower_bound, upper_bound;
  ScanAll("iterators of RocksDB", statistics, [&](const std::string& prefix) {
    lower = upper = prefix;
    ++upper.back();  // the first string after all that begin with the prefix
    lower_bound = lower;
    upper_bound = upper;
    rocksdb::ReadOptions read;
    read.iterate_lower_bound = &lower_bound;
    read.iterate_upper_bound = &upper_bound;
    return std::unique_ptr<rocksdb::Iterator>(db->NewIterator(read));
  });
  // Then an iterator with range filters, which owns copies of its bounds.
  const auto scan = [&](const std::string& prefix) {
    return ranges->NewPrefixIterator(db.get(), {}, db->DefaultColumnFamily(),
                                     prefix);
  };
  ScanAll("range filters", statistics, scan);
  const deltabloom::RocksDBRangeStatistics counts = ranges->Statistics();
  std::cout << counts.tables_rejected << " of " << counts.tables
            << " tables skipped in " << counts.scans << " scans\n";
}
