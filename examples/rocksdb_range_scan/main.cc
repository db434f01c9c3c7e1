// Scans that mostly find nothing: events by their time, looked up in windows of
// a millisecond. With a range part the filters answer for most windows.
//
//   c++ -std=c++17 main.cc $(pkg-config --cflags --libs deltabloom-rocksdb)
#include <deltabloom/rocksdb.h>
#include <deltabloom/rocksdb_statistics.h>
#include <rocksdb/db.h>
#include <rocksdb/iterator.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>

#include <cstdint>
#include <iostream>
#include <memory>
#include <string>

namespace {

constexpr uint64_t kEvents = 20000;
constexpr uint64_t kBetween = 600'000;  // microseconds, on average
constexpr uint64_t kWindow = 1'000;
const char kPath[] = "example.rocksdb";

// Big-endian, so that the order of bytes is that of time.
std::string Key(uint64_t time) {
  std::string key(8, '\0');
  for (size_t i = key.size(); i-- > 0; time >>= 8) {
    key[i] = static_cast<char>(time);
  }
  return key;
}

uint64_t TimeOf(uint64_t event) {
  return event * kBetween + event * event * 7919 % kBetween;
}

uint64_t EventsBetween(rocksdb::DB* db, uint64_t begin, uint64_t end) {
  const std::string bound = Key(end);
  const rocksdb::Slice upper = bound;
  rocksdb::ReadOptions options;
  options.auto_prefix_mode = true;  // asks the filters
  options.iterate_upper_bound = &upper;
  const std::unique_ptr<rocksdb::Iterator> at(db->NewIterator(options));
  uint64_t events = 0;
  for (at->Seek(Key(begin)); at->Valid(); at->Next()) ++events;
  if (!at->status().ok()) std::cerr << at->status().ToString() << "\n";
  return events;
}

}  // namespace

int main() {
  deltabloom::RocksDBFilterOptions filters;
  filters.bits_per_key = 18;
  filters.range = true;
  rocksdb::Options options;
  options.create_if_missing = true;
  std::string error;
  // Filter policy and prefix extractor; checks the comparator.
  if (!deltabloom::AddRocksDBFilters(filters, &options, &options, &error)) {
    std::cerr << error << "\n";
    return 1;
  }
  rocksdb::DestroyDB(kPath, options).PermitUncheckedError();
  rocksdb::DB* opened = nullptr;
  rocksdb::Status status = rocksdb::DB::Open(options, kPath, &opened);
  const std::unique_ptr<rocksdb::DB> db(opened);
  for (uint64_t i = 0; i < kEvents && status.ok(); ++i) {
    status = db->Put({}, Key(TimeOf(i)), "what happened");
  }
  if (status.ok()) status = db->Flush({});
  if (!status.ok()) {
    std::cerr << status.ToString() << "\n";
    return 1;
  }
  uint64_t found = 0;
  uint64_t empty = 0;
  for (uint64_t i = 0; i < kEvents; ++i) {
    found += EventsBetween(db.get(), TimeOf(i), TimeOf(i) + kWindow);
    const uint64_t later = TimeOf(i) + kBetween / 3;
    if (EventsBetween(db.get(), later, later + kWindow) == 0) ++empty;
  }
  const auto total = deltabloom::GetRocksDBFilterStatistics().Total();
  std::cout << found << " events found in their windows\n"
            << "filters answered for " << total.range_negatives << " of "
            << empty << " empty windows\n";
}
