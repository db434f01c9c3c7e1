// Real databases on disk: written under LevelDB's policy and read under ours,
// and the reverse; every read of a table file is counted.
#include <gtest/gtest.h>
#include <leveldb/cache.h>
#include <leveldb/db.h>
#include <leveldb/env.h>
#include <leveldb/filter_policy.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "deltabloom/leveldb.h"
#include "tests/folder.h"

namespace deltabloom {
namespace {

using PolicyPointer = std::unique_ptr<const leveldb::FilterPolicy>;

class CountingFile : public leveldb::RandomAccessFile {
 public:
  CountingFile(leveldb::RandomAccessFile* file, std::atomic<uint64_t>* reads)
      : file_(file), reads_(reads) {}

  leveldb::Status Read(uint64_t offset, size_t n, leveldb::Slice* result,
                       char* scratch) const override {
    reads_->fetch_add(1);
    return file_->Read(offset, n, result, scratch);
  }

 private:
  const std::unique_ptr<leveldb::RandomAccessFile> file_;
  std::atomic<uint64_t>* const reads_;
};

// Counts the reads of tables, the only files read at random.
class CountingEnv : public leveldb::EnvWrapper {
 public:
  CountingEnv() : EnvWrapper(leveldb::Env::Default()) {}

  leveldb::Status NewRandomAccessFile(
      const std::string& name, leveldb::RandomAccessFile** file) override {
    const leveldb::Status status = target()->NewRandomAccessFile(name, file);
    if (status.ok()) *file = new CountingFile(*file, &reads);
    return status;
  }

  std::atomic<uint64_t> reads{0};
};

constexpr int kKeys = 10000;

// Every second number is a key; the others are absent, inside the range.
std::string Key(int i) {
  char key[16];
  std::snprintf(key, sizeof(key), "key%08d", i);
  return key;
}

std::string Value(int i) {
  return std::string(static_cast<size_t>(50 + i % 100),
                     static_cast<char>('a' + i % 26));
}

class Database : public testing::Test {
 protected:
  void Open(const PolicyPointer& policy) {
    db_.reset();
    leveldb::Options options;
    options.env = &env_;
    options.create_if_missing = true;
    options.filter_policy = policy.get();
    options.block_cache = cache_.get();
    options.write_buffer_size = 200 << 10;  // several tables
    leveldb::DB* db = nullptr;
    const leveldb::Status status =
        leveldb::DB::Open(options, folder_.path(), &db);
    ASSERT_TRUE(status.ok()) << status.ToString();
    db_.reset(db);
  }

  void Fill(const PolicyPointer& policy) {
    Open(policy);
    for (int i = 0; i < kKeys; ++i) {
      ASSERT_TRUE(db_->Put({}, Key(2 * i), Value(i)).ok());
    }
    db_->CompactRange(nullptr, nullptr);
  }

  // Reads of tables while every key is looked up, all of which must be there,
  // or every absent key.
  uint64_t Reads(bool absent) {
    std::string value;
    const uint64_t before = env_.reads;
    for (int i = 0; i < kKeys; ++i) {
      const leveldb::Status status =
          db_->Get({}, Key(2 * i + (absent ? 1 : 0)), &value);
      EXPECT_TRUE(absent ? status.IsNotFound() : status.ok()) << i;
      EXPECT_TRUE(absent || value == Value(i)) << i;
    }
    return env_.reads - before;
  }

  // Returns the reads under `policy`, with every table file already open.
  uint64_t ReadsUnder(const PolicyPointer& policy, bool absent = true) {
    Open(policy);
    Reads(false);
    return Reads(absent);
  }

  // Without a filter, each absent key is read, except for those between two
  // tables. With a filter about 1 % of them are: below 5 % the filter is in
  // use.
  void ExpectUnfiltered(const PolicyPointer& policy) {
    EXPECT_GE(ReadsUnder(policy), kKeys * 99u / 100);
  }
  void ExpectFiltered(const PolicyPointer& policy) {
    EXPECT_LT(ReadsUnder(policy), kKeys * 5u / 100);
  }

  const PolicyPointer leveldbs_{leveldb::NewBloomFilterPolicy(10)};
  const PolicyPointer ours_ = NewLevelDBBloomFilterPolicy(10);
  const test::TempDir folder_;
  CountingEnv env_;
  // Holds no block: every block is read each time.
  const std::unique_ptr<leveldb::Cache> cache_{leveldb::NewLRUCache(0)};
  std::unique_ptr<leveldb::DB> db_;
};

TEST_F(Database, EachReadsWhatTheOtherWrote) {
  const PolicyPointer twenty = NewLevelDBBloomFilterPolicy(20);
  for (const PolicyPointer* writer : {&leveldbs_, &ours_}) {
    Fill(*writer);
    ExpectUnfiltered(nullptr);
    ExpectFiltered(ours_);
    const uint64_t reads = ReadsUnder(ours_);
    EXPECT_EQ(ReadsUnder(leveldbs_), reads);
    EXPECT_EQ(ReadsUnder(twenty), reads);
    EXPECT_LE(ReadsUnder(ours_, false), ReadsUnder(nullptr, false));
    db_.reset();
    std::filesystem::remove_all(folder_.path());
  }
}

// Another hash, another name: filters of the one are invisible to the other,
// and no key is lost.
TEST_F(Database, OwnHashHasItsOwnFilters) {
  const PolicyPointer own = NewLevelDBFilterPolicy({});
  Fill(leveldbs_);
  ExpectUnfiltered(own);
  // Compaction rewrites them under our name.
  Fill(own);
  ExpectFiltered(own);
  ExpectUnfiltered(leveldbs_);
}

}  // namespace
}  // namespace deltabloom
