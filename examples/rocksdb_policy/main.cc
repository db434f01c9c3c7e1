// Deltabloom as the filter policy of an unmodified RocksDB: set in the program,
// then by name as an OPTIONS file would have it.
//
//   c++ -std=c++17 main.cc $(pkg-config --cflags --libs deltabloom-rocksdb)
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/statistics.h>
#include <rocksdb/table.h>

#include <cstdio>
#include <memory>
#include <string>

#include "deltabloom/rocksdb.h"

namespace {

using PolicyPointer = std::shared_ptr<const rocksdb::FilterPolicy>;

constexpr int kKeys = 10000;  // the even numbers
const char kPath[] = "example.rocksdb";

std::string Key(int i) { return "key" + std::to_string(1000000 + i); }

// Opens the database under `policy`, fills it if it is empty, and looks up
// every key and as many absent ones.
bool Visit(const char* what, const PolicyPointer& policy) {
  rocksdb::BlockBasedTableOptions table_options;
  table_options.filter_policy = policy;
  rocksdb::Options options;
  options.create_if_missing = true;
  options.statistics = rocksdb::CreateDBStatistics();
  options.table_factory.reset(
      rocksdb::NewBlockBasedTableFactory(table_options));
  rocksdb::DB* opened = nullptr;
  rocksdb::Status status = rocksdb::DB::Open(options, kPath, &opened);
  const std::unique_ptr<rocksdb::DB> db(opened);
  if (status.ok()) {
    std::string value;
    if (db->Get({}, Key(0), &value).IsNotFound()) {
      for (int i = 0; i < kKeys && status.ok(); ++i) {
        status = db->Put({}, Key(2 * i), "some value");
      }
      if (status.ok()) status = db->Flush({});
    }
  }
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return false;
  }

  int found = 0;
  std::string value;
  for (int i = 0; i < kKeys; ++i) {
    found += db->Get({}, Key(2 * i), &value).ok() ? 1 : 0;
  }
  options.statistics->Reset().PermitUncheckedError();
  for (int i = 0; i < kKeys - 1; ++i) {
    found += db->Get({}, Key(2 * i + 1), &value).ok() ? 1 : 0;
  }
  const auto answered =
      options.statistics->getTickerCount(rocksdb::BLOOM_FILTER_USEFUL);
  std::printf("%s: %d keys found, %llu of %d absent keys answered by filters\n",
              what, found, static_cast<unsigned long long>(answered),
              kKeys - 1);
  // A policy that was not found is null and fails silently: look at what the
  // filters did.
  return found == kKeys && answered > kKeys * 9 / 10;
}

}  // namespace

int main() {
  std::string error;
  const PolicyPointer ours = deltabloom::NewRocksDBFilterPolicy({}, &error);
  if (ours == nullptr || !deltabloom::RegisterRocksDB(&error)) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 1;
  }
  PolicyPointer by_name;
  const rocksdb::Status status = rocksdb::FilterPolicy::CreateFromString(
      rocksdb::ConfigOptions(), "deltabloom:10", &by_name);
  if (!status.ok() || by_name == nullptr) {
    std::fprintf(stderr, "deltabloom:10: %s\n", status.ToString().c_str());
    return 1;
  }
  const PolicyPointer theirs(rocksdb::NewBloomFilterPolicy(10));

  rocksdb::DestroyDB(kPath, rocksdb::Options()).PermitUncheckedError();
  const bool good = Visit("written by RocksDB's Bloom filter", theirs) &&
                    Visit("read by Deltabloom", ours);
  rocksdb::DestroyDB(kPath, rocksdb::Options()).PermitUncheckedError();
  return good && Visit("written by Deltabloom", ours) &&
                 Visit("read by Deltabloom, set by name", by_name)
             ? 0
             : 1;
}
