// deltabloom verify on databases of LevelDB: that it denies the very keys that
// the database loses.
#include <gtest/gtest.h>
#include <leveldb/db.h>
#include <leveldb/filter_policy.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "deltabloom/leveldb.h"
#include "tests/sst/real_tables.h"
#include "tests/tools/tool_test.h"

namespace deltabloom {
namespace {

using nlohmann::json;
using test::ExpectHas;
using test::Result;

constexpr uint64_t kKeys = 5000;

class VerifyLevelDB : public test::ToolTest {
 protected:
  VerifyLevelDB() : ToolTest("verify --show 100000") {}

  std::unique_ptr<leveldb::DB> Open(const leveldb::FilterPolicy* policy,
                                    leveldb::CompressionType compression) {
    leveldb::Options options;
    options.create_if_missing = true;
    options.filter_policy = policy;
    options.compression = compression;
    options.block_size = 1024;
    leveldb::DB* db = nullptr;
    const leveldb::Status status = leveldb::DB::Open(options, Path(), &db);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return std::unique_ptr<leveldb::DB>(db);
  }

  std::string Path() const { return File("db"); }

  // The database with one table, of values, deletions and some versions.
  std::string Load(const leveldb::FilterPolicy* policy,
                   leveldb::CompressionType compression) {
    std::filesystem::remove_all(Path());
    const auto db = Open(policy, compression);
    for (uint64_t i = 0; i < kKeys; ++i) {
      const std::string key = test::TableKey(2 * i);
      if (i % 50 == 0) {
        EXPECT_TRUE(db->Put({}, key, "before").ok());
        snapshots_.push_back(db->GetSnapshot());
      }
      EXPECT_TRUE((IsDeleted(i) ? db->Delete({}, key)
                                : db->Put({}, key, std::string(60, 'v')))
                      .ok());
    }
    db->CompactRange(nullptr, nullptr);  // writes what is in memory first
    for (const auto* snapshot : snapshots_) db->ReleaseSnapshot(snapshot);
    snapshots_.clear();
    std::vector<std::string> tables;
    for (const auto& entry : std::filesystem::directory_iterator(Path())) {
      if (entry.path().extension() == ".ldb") tables.push_back(entry.path());
    }
    EXPECT_EQ(tables.size(), 1u);
    return tables.at(0);
  }

  static bool IsDeleted(uint64_t i) { return i % 7 == 3; }

  // Keys that the database does not find any more.
  std::set<std::string> LostKeys(const leveldb::FilterPolicy* policy) {
    const auto db = Open(policy, leveldb::kNoCompression);
    std::set<std::string> lost;
    std::string value;
    for (uint64_t i = 0; i < kKeys; ++i) {
      if (IsDeleted(i)) continue;
      const std::string key = test::TableKey(2 * i);
      const leveldb::Status status = db->Get({}, key, &value);
      EXPECT_TRUE(status.ok() || status.IsNotFound()) << status.ToString();
      if (status.IsNotFound()) lost.insert(key);
    }
    return lost;
  }

  std::vector<const leveldb::Snapshot*> snapshots_;
};

std::set<std::string> Missed(const json& file) {
  std::set<std::string> keys;
  for (const json& missed : file.at("missed")) keys.insert(missed.at("key"));
  return keys;
}

std::map<std::string, std::unique_ptr<const leveldb::FilterPolicy>> Policies() {
  std::map<std::string, std::unique_ptr<const leveldb::FilterPolicy>> policies;
  policies["LevelDB's"].reset(leveldb::NewBloomFilterPolicy(10));
  policies["drop-in"] = NewLevelDBBloomFilterPolicy(10);
  FilterOptions options;
  for (const Layout layout :
       {Layout::kClassic, Layout::kLocal, Layout::kCompact}) {
    options.layout = layout;
    policies[LayoutName(layout)] = NewLevelDBFilterPolicy(options);
  }
  return policies;
}

TEST_F(VerifyLevelDB, FindsAFlippedBitUnderEveryPolicy) {
  for (const auto& [name, policy] : Policies()) {
    for (const auto compression :
         {leveldb::kNoCompression, leveldb::kSnappyCompression}) {
      SCOPED_TRACE(name);
      const std::string table = Load(policy.get(), compression);
      json file = RunJson(Path(), 0).at("files").at(0);
      EXPECT_EQ(err_, "");
      EXPECT_EQ(file.at("file"), table);
      EXPECT_EQ(file.at("engine"), "LevelDB");
      EXPECT_GE(file.at("keys_asked"), kKeys * 6 / 7);
      EXPECT_EQ(file.at("false_negatives"), 0);
      EXPECT_GT(file.at("absent_asked"), kKeys / 2);
      EXPECT_LT(file.at("rate"), 0.05);
      EXPECT_GT(file.at("expected_rate"), 0.0005);
      EXPECT_LT(file.at("expected_rate"), 0.05);

      const internal::BlockHandle block = test::FilterBlocks(table).at(0);
      test::ClearABit(table, block, block.size / 2);
      file = RunJson(Path(), 1).at("files").at(0);
      const std::set<std::string> missed = Missed(file);
      EXPECT_FALSE(missed.empty());
      EXPECT_GE(file.at("missed").at(0).at("offset"), block.offset);
      EXPECT_LT(file.at("missed").at(0).at("offset"),
                block.offset + block.size);
      for (const std::string& key : LostKeys(policy.get())) {
        EXPECT_EQ(missed.count(key), 1u) << key;
      }
    }
  }
}

// Damage to the offsets of the filter block: LevelDB takes a filter of no bytes
// for one without keys, wherever it claims to be.
TEST_F(VerifyLevelDB, ReadsTheFilterBlockAsLevelDBDoes) {
  const auto policy = NewLevelDBBloomFilterPolicy(10);
  const std::string table = Load(policy.get(), leveldb::kNoCompression);
  const internal::BlockHandle block = test::FilterBlocks(table).at(0);
  test::ChangeBlock(table, block, [](char* bytes, size_t n) {
    // The filters of the first windows become empty, one of them beyond the
    // end of the block.
    const uint32_t array = internal::LoadFixed32(bytes + n - 5);
    for (const uint32_t window : {1u, 2u, 3u}) {
      internal::StoreFixed32(bytes + array + 4 * window,
                             window < 3 ? 0 : 0x7fffffff);
      internal::StoreFixed32(bytes + array + 4 * window + 4,
                             window < 3 ? 0 : 0x7fffffff);
    }
  });
  const std::set<std::string> lost = LostKeys(policy.get());
  EXPECT_GT(lost.size(), 10u);
  const std::set<std::string> missed =
      Missed(RunJson(Path(), 1).at("files").at(0));
  for (const std::string& key : lost) {
    EXPECT_EQ(missed.count(key), 1u) << key;
  }
}

// A table that no database wrote: keys have no sequence numbers.
TEST_F(VerifyLevelDB, TablesOfTableBuilder) {
  const std::unique_ptr<const leveldb::FilterPolicy> policy(
      leveldb::NewBloomFilterPolicy(10));
  test::LevelTable writer;
  writer.policy = policy.get();
  writer.Write(File("table.ldb"));
  const json file = RunJson(File("table.ldb"), 0).at("files").at(0);
  EXPECT_EQ(file.at("keys_asked"), writer.keys);
  EXPECT_EQ(file.at("false_negatives"), 0);
}

class OwnPolicy : public leveldb::FilterPolicy {
 public:
  const char* Name() const override { return "own\n\x1b[31m"; }
  void CreateFilter(const leveldb::Slice*, int,
                    std::string* dst) const override {
    *dst += "filter";
  }
  bool KeyMayMatch(const leveldb::Slice&,
                   const leveldb::Slice&) const override {
    return true;
  }
};

TEST_F(VerifyLevelDB, WhatItCannotCheckHasAName) {
  const OwnPolicy policy;
  const std::string table = Load(&policy, leveldb::kNoCompression);
  json document = RunJson(Path(), 2);
  ExpectHas(err_, table +
                      ": not checked: filter: no policy known here has the "
                      "name own\\x0a\\x1b[31m\n");
  EXPECT_EQ(document.at("summary").at("not_checked").at(0), table);

  test::LevelTable().Write(File("plain.ldb"));
  document = RunJson(File("plain.ldb"), 0);
  EXPECT_EQ(document.at("summary").at("without_filter").at(0),
            File("plain.ldb"));
}

TEST_F(VerifyLevelDB, DamagedBlocksAreNotChecked) {
  const auto policy = NewLevelDBBloomFilterPolicy(10);
  const std::string table = Load(policy.get(), leveldb::kNoCompression);
  FlipBit(table, std::filesystem::file_size(table) / 2);
  RunJson(Path(), 2);
  ExpectHas(err_, table + ": offset ");
  ExpectHas(err_, "whose checksum (CRC32c) holds");
}

}  // namespace
}  // namespace deltabloom
