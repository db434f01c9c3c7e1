// deltabloom doctor on databases that RocksDB makes here: the levels and column
// families that it reads from the MANIFEST are those that RocksDB knows.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "deltabloom/rocksdb.h"
#include "tests/folder.h"
#include "tests/random.h"
#include "tests/rocksdb/test_db.h"
#include "tests/tools/tool_test.h"

namespace deltabloom {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using rocksdb::ColumnFamilyHandle;
using testing::Key;

// (column family, level, whether there are filters): number of tables.
using Counts = std::map<std::tuple<std::string, int, bool>, uint64_t>;

class DoctorRocksDB : public test::ToolTest {
 protected:
  DoctorRocksDB() : ToolTest("doctor") {}

  void SetUp() override {
    options_.create_if_missing = true;
    options_.disable_auto_compactions = true;
    options_.target_file_size_base = 4096;
    options_.max_manifest_file_size = 50000;  // so that new ones are begun
    SetPolicy(testing::Deltabloom());
    db_ = testing::Open(options_, path_);
  }

  void TearDown() override {
    for (const auto& [name, family] : families_) {
      ASSERT_OK(db_->DestroyColumnFamilyHandle(family));
    }
  }

  void SetPolicy(const testing::PolicyPtr& policy) {
    rocksdb::BlockBasedTableOptions table;
    table.filter_policy = policy;
    options_.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  }

  ColumnFamilyHandle* Add(const std::string& name) {
    EXPECT_OK(db_->CreateColumnFamily(options_, name, &families_[name]));
    return families_[name];
  }

  void Load(ColumnFamilyHandle* family, int from, int to) {
    for (int i = from; i < to; ++i) {
      ASSERT_OK(db_->Put({}, family, Key(i) + suffix_, "v"));
    }
    ASSERT_OK(db_->Flush({}, family));
  }

  // Counts the tables that RocksDB knows. `without` is a column family without
  // a policy.
  Counts Known(const std::string& without) {
    std::vector<rocksdb::LiveFileMetaData> files;
    db_->GetLiveFilesMetaData(&files);
    Counts counts;
    for (const auto& file : files) {
      ++counts[{file.column_family_name, file.level,
                file.column_family_name != without}];
    }
    return counts;
  }

  Counts Seen(int status) {
    const json document = RunJson("--db " + path_, status);
    Counts counts;
    for (const json& row : document.at("database").at("tables")) {
      counts[{row.at("column_family"), row.at("level"),
              !row.at("filter").is_null()}] += row.at("tables").get<uint64_t>();
    }
    EXPECT_EQ(document.at("database").at("elsewhere"), 0u);
    return counts;
  }

  // The damage is after the first block of the MANIFEST, which is read by
  // itself.
  void ExpectDamageFound() {
    const std::string copy = File("copy");
    const std::string manifest = copy + "/" + ManifestName();
    fs::copy(path_, copy, fs::copy_options::recursive);
    const std::string bytes = test::ReadFile(manifest);
    FlipBit(manifest, 32900);
    ExpectUnreadable(copy, "whose checksum does not hold");
    std::string zeros = bytes;
    Write(manifest, zeros.replace(32768, 100, 100, '\0'));
    ExpectUnreadable(copy, "expected zeros, found other bytes");
    Write(manifest, bytes.substr(0, 32768 + 10));
    ExpectUnreadable(copy, "is cut off within a record");
    fs::remove_all(copy);
  }

  void ExpectUnreadable(const std::string& database, const std::string& words) {
    const test::Result result = Run(database);
    EXPECT_NE(result.status, 0);
    test::ExpectHas(result.out, "unknown: " + database + "/MANIFEST-");
    test::ExpectHas(result.out, words);
    command_ = "refilter";
    const test::Result refilter = Run("--dry-run " + database);
    EXPECT_EQ(refilter.status, 1);
    test::ExpectHas(refilter.err, words);
    EXPECT_EQ(refilter.out, "");
    command_ = "doctor";
  }

  std::string ManifestName() const {
    std::string name = test::ReadFile(path_ + "/CURRENT");
    name.pop_back();
    return name;
  }

  std::string suffix_ = std::string(50, 's');  // of every key
  const std::string path_ = File("db");
  rocksdb::Options options_;
  std::map<std::string, ColumnFamilyHandle*> families_;
  std::unique_ptr<rocksdb::DB> db_;
};

TEST_F(DoctorRocksDB, IngestedTables) {
  const std::string path = File("external.sst");
  rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options_);
  ASSERT_OK(writer.Open(path));
  ASSERT_OK(writer.Put(Key(1), "v"));
  ASSERT_OK(writer.Finish());
  ASSERT_OK(db_->IngestExternalFile(Add("other"), {path}, {}));
  EXPECT_EQ(Seen(0), Known(""));
  EXPECT_EQ(std::get<0>(Seen(0).begin()->first), "other");
}

// Two column families divide a cache that is too small; a third has its own.
TEST_F(DoctorRocksDB, FiltersThatTheBlockCacheDoesNotHold) {
  const auto own = rocksdb::NewLRUCache(100 << 20);
  const auto shared = rocksdb::NewLRUCache(40000);
  rocksdb::BlockBasedTableOptions table;
  RocksDBFilterOptions uniform;
  uniform.upper_bits_per_key = uniform.bits_per_key;
  table.filter_policy = NewRocksDBFilterPolicyOrThrow(uniform);
  table.cache_index_and_filter_blocks = true;
  table.block_cache = own;
  options_.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  Add("own");
  table.block_cache = shared;
  options_.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  for (const char* name : {"a", "b"}) Add(name);
  // Each filter has some 50,000 bytes: 100,000 in a cache of 40,000.
  suffix_.clear();
  for (const auto& [name, family] : families_) Load(family, 0, 40000);

  const json document = RunJson("--db " + path_, 0);
  std::map<std::string, json> caches;
  for (const json& row : document.at("database").at("column_families")) {
    caches[row.at("name")] = row.at("block_cache");
  }
  EXPECT_TRUE(caches.at("default").is_null());
  EXPECT_EQ(caches.at("own").at("capacity"), 100 << 20);
  EXPECT_EQ(caches.at("own").at("filters_loaded"), 0);
  std::set<std::string> found;
  for (const json& finding : document.at("findings")) {
    EXPECT_EQ(finding.at("code"), "filter_loads_exceed_reads");
    const std::string what = finding.at("what");
    test::ExpectHas(what, "40.0 kB (by the LOG, which column families share)");
    found.insert(what.substr(0, what.find(':')));
  }
  EXPECT_EQ(found,
            (std::set<std::string>{"column family a", "column family b"}));
  for (const char* name : {"a", "b"}) {
    const json& cache = caches.at(name);
    EXPECT_EQ(cache.at("capacity"), 40000);
    EXPECT_NEAR(cache.at("filter_bytes"), 50000, 1000);
    EXPECT_NEAR(cache.at("filters_loaded"), 0.6, 0.01);
    EXPECT_NEAR(cache.at("filter_bytes_loaded"), 30000, 1000);
    EXPECT_GT(cache.at("data_block_bytes_saved"), 1000);
    EXPECT_LT(cache.at("data_block_bytes_saved"), 4096);
  }
}

// Changes are random, until the MANIFEST had more than a block and was begun
// anew; one column family without filters is then dropped.
TEST_F(DoctorRocksDB, LevelsAndColumnFamiliesAfterManyChanges) {
  test::FreshRandom random;
  EXPECT_TRUE(Seen(0).empty());
  std::vector<ColumnFamilyHandle*> families = {db_->DefaultColumnFamily()};
  for (int i = 0; i < 3; ++i) families.push_back(Add("f" + std::to_string(i)));
  SetPolicy(nullptr);
  families.push_back(Add("bare"));
  Load(families.back(), 0, 500);
  suffix_.assign(1000, 's');  // the MANIFEST has two keys of each table
  const std::string first = ManifestName();
  uintmax_t largest = 0;
  for (int i = 0; ManifestName() == first; ++i) {
    ASSERT_LT(i, 1000);
    ColumnFamilyHandle* const family = families[random.Below(families.size())];
    const int from = static_cast<int>(random.Below(30));
    Load(family, from, from + 20);
    if (random.Below(2) == 0) {
      ASSERT_OK(db_->CompactRange({}, family, nullptr, nullptr));
    }
    const uintmax_t size = fs::file_size(path_ + "/" + ManifestName());
    if (size > 33000 && largest <= 33000) ExpectDamageFound();
    largest = std::max(largest, size);
    if (i % 8 == 0) {
      EXPECT_EQ(Seen(1), Known("bare")) << i;
    }
  }
  EXPECT_GT(largest, 33000u);
  EXPECT_EQ(Seen(1), Known("bare"));
  EXPECT_GT(Known("bare").size(), 3u);
  ASSERT_OK(db_->DropColumnFamily(families.back()));
  EXPECT_EQ(Seen(0), Known(""));
}

}  // namespace
}  // namespace deltabloom
