// Tests deltabloom verify from the outside: command line, directories, limits,
// what cannot be read. The tables are LevelDB's, which every build can check.
// The keys that it reports must be those that such a database loses.
#include <gtest/gtest.h>
#include <leveldb/db.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "deltabloom/filter.h"
#include "deltabloom/leveldb.h"
#include "tools/sst/sst.h"
#include "tests/folder.h"
#include "tests/sst/real_tables.h"
#include "tests/tools/tool_test.h"
#include "util/coding.h"

namespace deltabloom {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::ExpectHas;
using test::ExpectHasAll;
using test::Missed;
using test::Result;

class Verify : public test::ToolTest {
 protected:
  Verify() : ToolTest("verify"), policy_(leveldb::NewBloomFilterPolicy(10)) {
    fs::create_directory(Path());
  }

  std::string Path() const { return File("db"); }

  std::string Table(const std::string& name) const {
    test::LevelTable table;
    table.policy = policy_.get();
    table.Write(Path() + "/" + name);
    return Path() + "/" + name;
  }

  json Summary(const std::string& arguments, int status) {
    return RunJson(arguments, status).at("summary");
  }

  const std::unique_ptr<const leveldb::FilterPolicy> policy_;
};

void Damage(const std::string& table) {
  const internal::BlockHandle block = test::FilterBlocks(table).at(0);
  test::ClearABit(table, block, block.size / 2);
}

// These tables are no database's: their keys have no sequence numbers.
TEST_F(Verify, Text) {
  const std::string sound = Table("1.ldb");
  const std::string bad = Table("2.ldb");
  Damage(bad);
  test::LevelTable().Write(Path() + "/3.ldb");
  Result result = Run(sound);
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.err, "");
  ExpectHasAll(result.out, {sound + ": LevelDB table, per-block filter "
                                    "leveldb.BuiltinBloomFilter2\n"
                                    "  asked: 2000 keys, no false negative\n"
                                    "  absent: ",
                            " %, expected "});

  result = Run(Path());
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.err, "");
  ExpectHasAll(
      result.out,
      {"\n  asked: 2000 keys, ", "\n  false negative: filter at offset ",
       ", key: key00",
       "\n3 tables: 1 without a false negative, 1 with false negatives, 0 with "
       "a damaged filter, 1 without a filter, 0 not checked, 0 not covered, 0 "
       "gone meanwhile\n  with false negatives: " +
           bad + "\n  without a filter: " + Path() + "/3.ldb\n"});
  result = Run("--show 0 " + Path());
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.out.find("false negative: filter at"), std::string::npos);
  ExpectHas(result.out, "more false negatives\n");
}

TEST_F(Verify, ByteLimit) {
  uint64_t size = 0;
  for (const char* name : {"1.ldb", "2.ldb", "3.ldb"}) {
    size = fs::file_size(Table(name));
  }
  const json summary =
      Summary("--byte-limit " + std::to_string(2 * size) + " " + Path(), 0);
  EXPECT_EQ(summary.at("sound"), 2);
  EXPECT_EQ(summary.at("not_covered"), json({Path() + "/3.ldb"}));
  ExpectHas(Run("--byte-limit 1k " + Path()).out,
            "3 not covered, 0 gone meanwhile\n  not covered: ");
  EXPECT_EQ(Summary("--byte-limit 1G " + Path(), 0).at("sound"), 3);
}

// However long it takes: each table is in one list, and a limit is no error.
TEST_F(Verify, TimeLimit) {
  constexpr uint64_t kTables = 30;
  for (uint64_t i = 0; i < kTables; ++i) {
    Table(std::to_string(i) + ".ldb");
  }
  for (const std::string limit : {"1ms", "10ms", "1h"}) {
    const json summary = Summary("--time-limit " + limit + " " + Path(), 0);
    const uint64_t sound = summary.at("sound");
    EXPECT_EQ(sound + summary.at("not_covered").size(), kTables);
    if (limit == "1h") {
      EXPECT_EQ(sound, kTables);
    }
  }
}

TEST_F(Verify, WhatCannotBeReadIsNamedOthersGoOn) {
  const std::string good = Table("good.ldb");
  const std::string fifo = Path() + "/fifo.ldb";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const std::string text = Path() + "/text.sst";
  std::ofstream(text) << std::string(100, 'n');
  // It is not being written.
  fs::last_write_time(text,
                      fs::last_write_time(text) - std::chrono::minutes(1));
  fs::create_symlink("nowhere", Path() + "/link.sst");
  Result result = Run(Path() + " " + File("missing"));
  EXPECT_EQ(result.status, 2);
  ExpectHasAll(result.err, {fifo + ": expected a file, found a FIFO\n",
                            "/text.sst: offset 47: footer: expected the magic ",
                            "/link.sst: cannot be opened: No such file",
                            "missing: cannot be opened: No such file"});
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 4);
  ExpectHasAll(result.out, {good + ": LevelDB table", "4 not checked"});
  EXPECT_EQ(Summary(Path(), 2).at("not_checked").size(), 3u);

  // A false negative is worse.
  Damage(good);
  EXPECT_EQ(Run(Path()).status, 1);

  fs::create_directory(File("empty"));
  result = Run(File("empty"));
  EXPECT_EQ(result.status, 2);
  ExpectHas(result.err, ": expected table files (*.sst, *.ldb), found none\n");
}

// A table that a database is writing has no end yet.
TEST_F(Verify, TablesThatAreBeingWritten) {
  Table("1.ldb");
  const std::string growing = Path() + "/2.ldb";
  std::ofstream(growing) << "the first of its data blocks";
  std::atomic<bool> done{false};
  std::thread writer([&] {
    while (!done) {
      std::ofstream(growing, std::ios::app) << "another data block";
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  const json summary = Summary(Path(), 0);
  done = true;
  writer.join();
  EXPECT_EQ(summary.at("sound"), 1);
  EXPECT_EQ(summary.at("not_covered"), json({growing}));
  // It is not being written any more.
  EXPECT_EQ(Run(Path()).status, 2);
}

// Tables vanish and appear while their directory is walked.
TEST_F(Verify, ADatabaseAtWork) {
  leveldb::Options options;
  options.create_if_missing = true;
  options.filter_policy = policy_.get();
  options.write_buffer_size = 64 << 10;
  options.max_file_size = 1 << 20;
  leveldb::DB* raw = nullptr;
  ASSERT_TRUE(leveldb::DB::Open(options, Path(), &raw).ok());
  const std::unique_ptr<leveldb::DB> db(raw);
  uint64_t written = 0;
  const auto write = [&] {
    const uint64_t i = written++;
    const std::string key = test::TableKey(i * 7919 % 1000000);
    ASSERT_TRUE(db->Put({}, key, std::string(100, 'v')).ok());
  };
  while (written < 20000) write();
  std::atomic<bool> done{false};
  std::thread writer([&] {
    while (!done) write();
  });
  uint64_t sound = 0;
  for (int i = 0; i < 5; ++i) {
    sound += Summary(Path(), 0).at("sound").get<uint64_t>();
  }
  done = true;
  writer.join();
  EXPECT_GT(sound, 0u);
}

// Neither a byte nor a time stamp changes, and nothing new appears.
TEST_F(Verify, WritesNothing) {
  const std::string table = Table("1.ldb");
  Table("2.ldb");
  const auto state = [this] {
    std::map<std::string, std::pair<fs::file_time_type, std::string>> files;
    for (const auto& entry : fs::directory_iterator(Path())) {
      files[entry.path()] = {entry.last_write_time(),
                             test::ReadFile(entry.path())};
    }
    files[Path()] = {fs::last_write_time(Path()), {}};
    return files;
  };
  fs::permissions(table, fs::perms::owner_read);
  fs::permissions(Path(), fs::perms::owner_read | fs::perms::owner_exec);
  const auto before = state();
  const Result result = Run(Path());
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(state(), before);
  fs::permissions(Path(), fs::perms::owner_all);
}

constexpr uint64_t kKeys = 5000;

// --- Filters of LevelDB ------------------------------------------------------

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
    fs::remove_all(Path());
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
    for (const auto& entry : fs::directory_iterator(Path())) {
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

TEST_F(VerifyLevelDB, FindsAFlippedBitUnderEveryPolicy) {
  std::map<std::string, std::unique_ptr<const leveldb::FilterPolicy>> policies;
  policies["LevelDB's"].reset(leveldb::NewBloomFilterPolicy(10));
  policies["drop-in"] = NewLevelDBBloomFilterPolicy(10);
  FilterOptions options;
  for (const Layout layout :
       {Layout::kClassic, Layout::kLocal, Layout::kCompact}) {
    options.layout = layout;
    policies[LayoutName(layout)] = NewLevelDBFilterPolicy(options);
  }
  for (const auto& [name, policy] : policies) {
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
      const std::set<std::string> lost = LostKeys(policy.get());
      EXPECT_TRUE(std::includes(missed.begin(), missed.end(), lost.begin(),
                                lost.end()));
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
  EXPECT_TRUE(
      std::includes(missed.begin(), missed.end(), lost.begin(), lost.end()));
}

TEST_F(VerifyLevelDB, WhatItCannotCheckHasAName) {
  const test::NamedPolicy policy("own\n\x1b[31m");
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

TEST_F(VerifyLevelDB, DamagedBlocks) {
  const auto policy = NewLevelDBBloomFilterPolicy(10);
  const std::string table = Load(policy.get(), leveldb::kNoCompression);
  const std::string sound = test::ReadFile(table);
  const uint64_t filter = test::FilterBlocks(table).at(0).offset;
  for (const bool in_filter : {false, true}) {
    Write(table, sound);
    FlipBit(table, in_filter ? filter + 100 : filter / 2);
    const json document = RunJson(Path(), in_filter ? 1 : 2);
    ExpectHas(err_, table + ": offset ");
    ExpectHas(err_, "whose checksum (CRC32c) holds");
    EXPECT_EQ(document.at("files").at(0).at("damaged"), in_filter);
  }
}

}  // namespace
}  // namespace deltabloom
