// Filters for a comparator that treats different bytes as equal. Keys end in a
// version of 8 bytes, which the comparator ignores, so a lookup finds a name
// whatever its version.
//
//   c++ -std=c++17 main.cc $(pkg-config --cflags --libs deltabloom-rocksdb)
#include <deltabloom/key_transform.h>
#include <deltabloom/rocksdb.h>
#include <rocksdb/comparator.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/statistics.h>
#include <rocksdb/table.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>

namespace {

constexpr size_t kVersionSize = 8;
constexpr int kKeys = 10000;  // the even numbers
const char kPath[] = "example.rocksdb";

// Returns the part of a key that the comparator compares. RocksDB also queries
// filters for other bytes, so any bytes are legal.
std::string_view Name(std::string_view key) {
  return key.substr(0, key.size() - std::min(key.size(), kVersionSize));
}

class ByName : public rocksdb::Comparator {
 public:
  const char* Name() const override { return "example.ByName"; }
  int Compare(const rocksdb::Slice& a, const rocksdb::Slice& b) const override {
    return ::Name(a.ToStringView()).compare(::Name(b.ToStringView()));
  }
  void FindShortestSeparator(std::string*,
                             const rocksdb::Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}
};

std::string Key(int i, int version) {
  std::string digits = std::to_string(version);
  return "name" + std::to_string(1000000 + i) +
         std::string(kVersionSize - digits.size(), '0') + digits;
}

// Writes every key as version 1. Then looks up every key, and as many absent
// ones, as version 2.
void Visit(const char* what,
           const std::shared_ptr<const rocksdb::FilterPolicy>& policy) {
  const ByName comparator;
  rocksdb::BlockBasedTableOptions table_options;
  table_options.filter_policy = policy;
  rocksdb::Options options;
  options.comparator = &comparator;
  options.create_if_missing = true;
  options.statistics = rocksdb::CreateDBStatistics();
  options.table_factory.reset(
      rocksdb::NewBlockBasedTableFactory(table_options));
  rocksdb::DestroyDB(kPath, options).PermitUncheckedError();
  rocksdb::DB* opened = nullptr;
  rocksdb::Status status = rocksdb::DB::Open(options, kPath, &opened);
  const std::unique_ptr<rocksdb::DB> db(opened);
  for (int i = 0; i < kKeys && status.ok(); ++i) {
    status = db->Put({}, Key(2 * i, 1), "some value");
  }
  if (status.ok()) status = db->Flush({});
  if (!status.ok()) {
    std::cerr << what << ": " << status.ToString() << "\n";
    return;
  }
  int found = 0;
  std::string value;
  for (int i = 0; i < kKeys; ++i) {
    found += db->Get({}, Key(2 * i, 2), &value).ok() ? 1 : 0;
  }
  options.statistics->Reset().PermitUncheckedError();
  for (int i = 0; i < kKeys; ++i) {
    found += db->Get({}, Key(2 * i + 1, 2), &value).ok() ? 1 : 0;
  }
  const uint64_t answered =
      options.statistics->getTickerCount(rocksdb::BLOOM_FILTER_USEFUL);
  std::cout << what << ": " << found << " of " << kKeys << " keys found, "
            << answered << " of " << kKeys
            << " absent ones answered by filters\n";
}

}  // namespace

int main() {
  deltabloom::KeyTransform transform;
  transform.name = "example.drop_version";
  transform.function = [](std::string_view key, deltabloom::KeyScratch*) {
    return Name(key);
  };
  std::string error;
  deltabloom::RocksDBFilterOptions filters;
  filters.key_transform = transform.name;
  std::shared_ptr<const rocksdb::FilterPolicy> ours;
  if (deltabloom::RegisterKeyTransform(transform, &error)) {
    ours = deltabloom::NewRocksDBFilterPolicy(filters, &error);
  }
  if (ours == nullptr) {
    std::cerr << error << "\n";
    return 1;
  }
  Visit("RocksDB's Bloom filter", std::shared_ptr<const rocksdb::FilterPolicy>(
                                      rocksdb::NewBloomFilterPolicy(10)));
  Visit("Deltabloom with a key transform", ours);
  return 0;
}
