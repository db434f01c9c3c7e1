// Real databases on disk: written under LevelDB's policy and read under ours,
// and the reverse; every read of a table file is counted.
#include <gtest/gtest.h>
#include <leveldb/cache.h>
#include <leveldb/db.h>
#include <leveldb/env.h>
#include <leveldb/filter_policy.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "deltabloom/leveldb.h"

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

// Reads of all absent keys: without a filter one each, except for those between
// two tables; with one about 1 %, and 5 % says that it is used.
constexpr uint64_t kReadsWithout = kKeys * 99 / 100;
constexpr uint64_t kReadsWith = kKeys * 5 / 100;

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
  Database() {
    path_ = std::filesystem::temp_directory_path() /
            ("deltabloom_leveldb_" + std::to_string(::getpid()));
    std::filesystem::remove_all(path_);
  }
  ~Database() override {
    db_.reset();
    std::filesystem::remove_all(path_);
  }

  void Open(const leveldb::FilterPolicy* policy) {
    db_.reset();
    leveldb::Options options;
    options.env = &env_;
    options.create_if_missing = true;
    options.filter_policy = policy;
    options.block_cache = cache_.get();
    options.write_buffer_size = 200 << 10;  // several tables
    leveldb::DB* db = nullptr;
    const leveldb::Status status =
        leveldb::DB::Open(options, path_.string(), &db);
    ASSERT_TRUE(status.ok()) << status.ToString();
    db_.reset(db);
  }

  void Fill() {
    for (int i = 0; i < kKeys; ++i) {
      ASSERT_TRUE(db_->Put({}, Key(2 * i), Value(i)).ok());
    }
    db_->CompactRange(nullptr, nullptr);
  }

  // Reads of tables while every key is looked up; all must be there.
  uint64_t ReadsOfPresent() {
    std::string value;
    const uint64_t before = env_.reads;
    for (int i = 0; i < kKeys; ++i) {
      EXPECT_TRUE(db_->Get({}, Key(2 * i), &value).ok()) << i;
      EXPECT_EQ(value, Value(i));
    }
    return env_.reads - before;
  }

  uint64_t ReadsOfAbsent() {
    std::string value;
    const uint64_t before = env_.reads;
    for (int i = 0; i < kKeys; ++i) {
      EXPECT_TRUE(db_->Get({}, Key(2 * i + 1), &value).IsNotFound()) << i;
    }
    return env_.reads - before;
  }

  // Opens under `policy` with every table file already open.
  void Reopen(const leveldb::FilterPolicy* policy) {
    Open(policy);
    ReadsOfPresent();
  }

  std::filesystem::path path_;
  CountingEnv env_;
  // Holds no block: every block is read each time.
  std::unique_ptr<leveldb::Cache> cache_{leveldb::NewLRUCache(0)};
  std::unique_ptr<leveldb::DB> db_;
};

// Reads of absent keys when the database that `writer` filled is read under
// LevelDB's policy, under ours, and without any.
struct Reads {
  uint64_t under_leveldbs;
  uint64_t under_ours;
  uint64_t without;
};

class BothWays : public Database {
 protected:
  const PolicyPointer leveldbs_{leveldb::NewBloomFilterPolicy(10)};
  const PolicyPointer ours_ = NewLevelDBBloomFilterPolicy(10);

  Reads ReadsOfDatabaseFilledBy(const leveldb::FilterPolicy* writer) {
    Open(writer);
    Fill();
    Reads reads{};
    Reopen(leveldbs_.get());
    reads.under_leveldbs = ReadsOfAbsent();
    Reopen(ours_.get());
    reads.under_ours = ReadsOfAbsent();
    Reopen(nullptr);
    reads.without = ReadsOfAbsent();
    std::printf("%d absent keys: %llu reads without, %llu with a filter\n",
                kKeys, static_cast<unsigned long long>(reads.without),
                static_cast<unsigned long long>(reads.under_ours));
    return reads;
  }

  void ExpectSaved(const Reads& reads) {
    EXPECT_GE(reads.without, kReadsWithout);
    EXPECT_EQ(reads.under_ours, reads.under_leveldbs);
    EXPECT_LT(reads.under_ours, kReadsWith);
  }
};

TEST_F(BothWays, OursReadsWhatLevelDBWrote) {
  ExpectSaved(ReadsOfDatabaseFilledBy(leveldbs_.get()));
}

TEST_F(BothWays, LevelDBReadsWhatOursWrote) {
  ExpectSaved(ReadsOfDatabaseFilledBy(ours_.get()));
}

TEST_F(BothWays, PresentKeysReadNoMoreThanWithout) {
  Open(ours_.get());
  Fill();
  Reopen(ours_.get());
  const uint64_t with = ReadsOfPresent();
  Reopen(nullptr);
  EXPECT_LE(with, ReadsOfPresent());
}

TEST_F(BothWays, OtherBitsPerKeyReadTheSameFilters) {
  const PolicyPointer twenty = NewLevelDBBloomFilterPolicy(20);
  Open(leveldbs_.get());
  Fill();
  Reopen(leveldbs_.get());
  const uint64_t expected = ReadsOfAbsent();
  Reopen(twenty.get());
  EXPECT_EQ(ReadsOfAbsent(), expected);
}

// Another hash, another name: filters of the one are invisible to the other,
// and no key is lost.
TEST_F(BothWays, OwnHashHasItsOwnFilters) {
  const PolicyPointer own = NewLevelDBFilterPolicy({});
  Open(leveldbs_.get());
  Fill();
  Reopen(own.get());
  EXPECT_GE(ReadsOfAbsent(), kReadsWithout);

  // Compaction rewrites them under our name.
  Fill();
  Reopen(own.get());
  EXPECT_LT(ReadsOfAbsent(), kReadsWith);
  Reopen(leveldbs_.get());
  EXPECT_GE(ReadsOfAbsent(), kReadsWithout);
}

}  // namespace
}  // namespace deltabloom
