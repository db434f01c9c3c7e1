// Switches a LevelDB database to Deltabloom and back. Its filters stay in use,
// because both policies write the same bytes under the same name.
//
//   c++ -std=c++17 main.cc $(pkg-config --cflags --libs deltabloom-leveldb)
#include <leveldb/cache.h>
#include <leveldb/db.h>
#include <leveldb/env.h>
#include <leveldb/filter_policy.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "deltabloom/leveldb.h"

namespace {

constexpr int kKeys = 10000;  // the even numbers
const char kPath[] = "example.leveldb";

std::string Key(int i) { return "key" + std::to_string(1000000 + i); }

// Counts what LevelDB reads from its tables.
class CountingFile : public leveldb::RandomAccessFile {
 public:
  CountingFile(leveldb::RandomAccessFile* file, int* reads)
      : file_(file), reads_(reads) {}
  leveldb::Status Read(uint64_t offset, size_t n, leveldb::Slice* result,
                       char* scratch) const override {
    ++*reads_;
    return file_->Read(offset, n, result, scratch);
  }

 private:
  std::unique_ptr<leveldb::RandomAccessFile> file_;
  int* reads_;
};

class CountingEnv : public leveldb::EnvWrapper {
 public:
  CountingEnv() : EnvWrapper(leveldb::Env::Default()) {}
  leveldb::Status NewRandomAccessFile(
      const std::string& name, leveldb::RandomAccessFile** file) override {
    const leveldb::Status status = target()->NewRandomAccessFile(name, file);
    if (status.ok()) *file = new CountingFile(*file, &reads);
    return status;
  }
  int reads = 0;
};

// Opens the database under `policy`, fills it if it is empty, and looks up
// every key and as many absent ones.
bool Visit(const char* what, const leveldb::FilterPolicy* policy) {
  CountingEnv env;
  const std::unique_ptr<leveldb::Cache> cache(leveldb::NewLRUCache(0));
  leveldb::Options options;
  options.create_if_missing = true;
  options.env = &env;
  options.block_cache = cache.get();  // keeps nothing: every read counts
  options.filter_policy = policy;
  leveldb::DB* opened = nullptr;
  const leveldb::Status status = leveldb::DB::Open(options, kPath, &opened);
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return false;
  }
  const std::unique_ptr<leveldb::DB> db(opened);

  std::string value;
  if (db->Get({}, Key(0), &value).IsNotFound()) {
    for (int i = 0; i < kKeys; ++i) db->Put({}, Key(2 * i), "some value");
    db->CompactRange(nullptr, nullptr);
  }
  int found = 0;
  for (int i = 0; i < kKeys; ++i) {
    found += db->Get({}, Key(2 * i), &value).ok() ? 1 : 0;
  }
  env.reads = 0;
  for (int i = 0; i < kKeys - 1; ++i) {
    found += db->Get({}, Key(2 * i + 1), &value).ok() ? 1 : 0;
  }
  std::printf("%s: %d keys found, %d reads for %d absent keys\n", what, found,
              env.reads, kKeys - 1);
  return found == kKeys;
}

}  // namespace

int main() {
  const std::unique_ptr<const leveldb::FilterPolicy> theirs(
      leveldb::NewBloomFilterPolicy(10));
  const auto ours = deltabloom::NewLevelDBBloomFilterPolicy(10);

  leveldb::DestroyDB(kPath, leveldb::Options());
  const bool good = Visit("written by LevelDB", theirs.get()) &&
                    Visit("read by Deltabloom", ours.get()) &&
                    Visit("read without filters", nullptr) &&
                    Visit("read by LevelDB", theirs.get());
  return good ? 0 : 1;
}
