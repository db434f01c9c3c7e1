// A program with RocksDB linked into it, whose filters are those of a text.
// Fills a database, and prints the false positives of absent keys; then reopens
// it from its OPTIONS file, and prints them again. It fails if a key is lost.
//
// usage: PROGRAM PATH 'OPTIONS'
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/options.h"
#include "rocksdb/statistics.h"
#include "rocksdb/utilities/options_util.h"

namespace {

constexpr int kKeys = 300000;

std::string Key(int i) { return "user" + std::to_string(100000000 + i); }

void Check(const rocksdb::Status& status) {
  if (status.ok()) return;
  std::printf("%s\n", status.ToString().c_str());
  std::exit(1);
}

void LookUp(rocksdb::DB* db, const rocksdb::Statistics& statistics) {
  std::string value;
  for (int i = 0; i < kKeys; ++i) Check(db->Get({}, Key(2 * i), &value));
  const uint64_t before =
      statistics.getTickerCount(rocksdb::BLOOM_FILTER_USEFUL);
  for (int i = 0; i < kKeys; ++i) {
    if (!db->Get({}, Key(2 * i + 1), &value).IsNotFound()) std::exit(1);
  }
  // The last key is beyond all tables.
  const uint64_t useful =
      statistics.getTickerCount(rocksdb::BLOOM_FILTER_USEFUL) - before;
  std::printf("%" PRIu64 " false positives\n", kKeys - 1 - useful);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  rocksdb::Options options;
  Check(rocksdb::GetOptionsFromString({}, options, argv[2], &options));
  options.create_if_missing = true;
  options.statistics = rocksdb::CreateDBStatistics();
  rocksdb::DB* opened = nullptr;
  Check(rocksdb::DB::Open(options, argv[1], &opened));
  std::unique_ptr<rocksdb::DB> db(opened);
  for (int i = 0; i < kKeys; ++i) Check(db->Put({}, Key(2 * i), "value"));
  Check(db->Flush({}));
  LookUp(db.get(), *options.statistics);
  db.reset();

  rocksdb::DBOptions loaded;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  Check(rocksdb::LoadLatestOptions({}, argv[1], &loaded, &families));
  loaded.statistics = options.statistics;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  Check(rocksdb::DB::Open(loaded, argv[1], families, &handles, &opened));
  db.reset(opened);
  LookUp(db.get(), *options.statistics);
  for (rocksdb::ColumnFamilyHandle* handle : handles) {
    Check(db->DestroyColumnFamilyHandle(handle));
  }
}
