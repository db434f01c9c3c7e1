// Range parts that are chosen by the ranges that were looked up.
//
// DELTABLOOM_LEARNING_KEYS is the number of keys in the last level (default
// 10,000). If it is set, the data blocks read per empty scan are printed.
#include "engines/rocksdb/range/learning.h"
#include "rocksdb/metadata.h"
#include "tests/range/schemas.h"
#include "tests/rocksdb/range_db.h"

namespace deltabloom::testing {
namespace {

using internal::RangeSample;

const char* const wish = std::getenv("DELTABLOOM_LEARNING_KEYS");
const uint64_t keys_of_last_level =
    wish == nullptr ? 10'000 : std::strtoull(wish, nullptr, 10);
// Even ones have keys.
const uint64_t groups = keys_of_last_level / 2;

// The group of a key, which RocksDB's own prefix filters have to know.
class GroupExtractor final : public rocksdb::SliceTransform {
 public:
  explicit GroupExtractor(const std::string& schema) : schema_(schema) {}
  const char* Name() const override { return "group"; }
  bool InDomain(const Slice&) const override { return true; }
  Slice Transform(const Slice& key) const override {
    return {key.data(), SizeOfGroup(key.ToStringView())};
  }

 private:
  size_t SizeOfGroup(std::string_view key) const {
    if (schema_ == "SecondaryIndex") return 12;
    if (schema_ == "UserOrderIntegers") return 8;
    if (schema_ == "FieldsOfAKey") return 7 + static_cast<size_t>(key[6]);
    size_t at = 0;
    for (int i = schema_ == "Paths" ? 5 : 2; i > 0; --i) {
      at = key.find(schema_ == "Paths" ? '/' : ':', at) + 1;
    }
    return at;
  }

  const std::string schema_;
};

// A database of three levels, and scans of groups without keys.
class LearningTest : public ::testing::TestWithParam<test::Schema> {
 protected:
  void OpenAndLoad(const Options& options) {
    db_.Open(options);
    uint64_t keys = keys_of_last_level;
    for (int level = 6; level > 3; keys /= 4) {
      for (uint64_t i = 0; i < keys; ++i) {
        const uint64_t group = 2 * random_.Below(groups / 2);
        db_.Put(GetParam().group(group) + GetParam().rest(&random_));
      }
      db_.Flush();
      WriteAgain(0, level--);
    }
  }

  static void OneTableALevel(Options* options, BlockBasedTableOptions* table) {
    options->write_buffer_size = 256 << 20;
    table->metadata_block_size = 8192;
  }

  // Writes each table of a level again.
  void WriteAgain(int level, int to_level) {
    rocksdb::ColumnFamilyMetaData tree;
    db_->GetColumnFamilyMetaData(&tree);
    for (const auto& file : tree.levels[static_cast<size_t>(level)].files) {
      ASSERT_OK(db_->CompactFiles({}, {file.name}, to_level));
    }
  }
  void WriteAllAgain() {
    for (const int level : {4, 5, 6}) WriteAgain(level, level);
  }

  // Data blocks read per scan of a group without keys.
  double ReadsOfEmptyScans(bool same_prefix = false) {
    constexpr uint64_t kScans = 2000;
    const uint64_t before = Reads();
    for (uint64_t i = 0; i < kScans; ++i) {
      const std::string lower =
          GetParam().group(2 * random_.Below(groups / 2) + 1);
      const std::string upper = test::NextPrefix(lower);
      const Slice bound = upper;
      ReadOptions read;
      read.auto_prefix_mode = !same_prefix;
      read.prefix_same_as_start = same_prefix;
      read.iterate_upper_bound = &bound;
      const auto at = db_.NewIterator(read);
      at->Seek(lower);
      EXPECT_EQ(KeyAt(at.get()), "none");
    }
    return static_cast<double>(Reads() - before) / kScans;
  }

  // Of a database with RocksDB's filters of 18 bits per key, and its prefixes.
  double ReadsWithRocksDB(bool prefixes) {
    Options options = MakeOptions({RocksDBBloom(18), false, OneTableALevel});
    if (prefixes) {
      options.prefix_extractor =
          std::make_shared<GroupExtractor>(GetParam().name);
    }
    OpenAndLoad(options);
    const double reads = ReadsOfEmptyScans(prefixes);
    Destroy();
    return reads;
  }

  void Destroy() {
    db_.Close();
    EXPECT_OK(rocksdb::DestroyDB(db_.path(), db_.options()));
  }

  test::Random random_{test::SeedOr(1)};
  TestDb db_;

 private:
  uint64_t Reads() const {
    return db_.Ticker(rocksdb::BLOCK_CACHE_DATA_HIT) +
           db_.Ticker(rocksdb::BLOCK_CACHE_DATA_MISS);
  }
};

INSTANTIATE_TEST_SUITE_P(Schemas, LearningTest,
                         ::testing::ValuesIn(test::kPrefixScans),
                         [](const auto& that) {
                           return std::string(that.param.name);
                         });

TEST_P(LearningTest, EmptyScansReadFewBlocksOnceTablesAreRewritten) {
  for (const bool partitioned : {false, true}) {
    if (partitioned && !AsksPartitions()) continue;
    OpenAndLoad(
        RangeOptions("id=deltabloom:18;range=on", partitioned, OneTableALevel));
    const double before = ReadsOfEmptyScans();
    WriteAllAgain();
    const double after = ReadsOfEmptyScans();
    EXPECT_LT(before, 0.6) << "of 3; tables must not get the cuts of others";
    EXPECT_LT(after, partitioned ? 0.3 : 0.2) << "before: " << before;
    Destroy();
    if (wish == nullptr) continue;
    std::printf(
        "%s%s: %.4f before, %.4f after; without ranges %.4f, RocksDB's "
        "prefix Bloom %.4f\n",
        GetParam().name, partitioned ? ", partitioned" : "", before, after,
        ReadsWithRocksDB(false), ReadsWithRocksDB(true));
  }
}

// The sample outlives the policy that SetOptions replaces (from RocksDB 9.8
// on), and another policy can take its place.
TEST_P(LearningTest, TheSampleIsSharedByPoliciesAndWithReopenedDatabases) {
  Options options =
      RangeOptions("id=deltabloom:18;range=on", false, OneTableALevel);
  OpenAndLoad(options);
  const double before = ReadsOfEmptyScans();
  ASSERT_OK(db_.SetField("bits_per_key", "17"));
  WriteAgain(4, 4);
  auto table = *options.table_factory->GetOptions<BlockBasedTableOptions>();
  table.filter_policy = PolicyFromString("id=deltabloom:18;range=on");
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  db_.Open(options);
  WriteAgain(5, 5);
  WriteAgain(6, 6);
  EXPECT_LT(ReadsOfEmptyScans(), 0.2) << "before: " << before;
}

// A process that starts knows what the tables it opens hold.
TEST_P(LearningTest, WhatWasLearnedIsReadBackFromTables) {
  const auto options = [](const std::string& policy) {
    return RangeOptions("id=deltabloom:18;range=on" + policy, false,
                        OneTableALevel);
  };
  OpenAndLoad(options(""));
  ReadsOfEmptyScans();
  WriteAllAgain();
  db_.Open(options(""));  // with a sample of its own
  WriteAllAgain();
  EXPECT_LT(ReadsOfEmptyScans(), 0.2);
  // By hand instead; a cut in the middle of the first byte tells nothing.
  db_.Open(options(";range_prefixes=4b"));
  WriteAllAgain();
  EXPECT_GT(ReadsOfEmptyScans(), 2.5);
}

// The lower bounds in a sample, sorted.
std::vector<std::string> Lowers(const RangeSample& sample) {
  std::vector<std::string> lowers;
  for (const auto& question : sample.Get()) lowers.push_back(question.first);
  std::sort(lowers.begin(), lowers.end());
  return lowers;
}

TEST(RangeSampleTest, AScanCountsOnceAndItsBoundsAreCut) {
  RangeSample sample;
  EXPECT_TRUE(sample.Get().empty());
  for (int filter = 0; filter < 5; ++filter) sample.Note("a", "b", false);
  sample.Note("c", "d", false);
  sample.Note("c", "d", true);
  sample.Note("c", "d", false);
  const std::string text(500, 'x');
  sample.Note("long" + text, "q" + text, true);
  sample.Note(text + "a", text + "b", true);  // equal once they are cut
  EXPECT_EQ(Lowers(sample),
            (std::vector<std::string>{"a", "c", "long" + text.substr(0, 124)}));
  EXPECT_EQ(sample.Get().back().second.size(), 128u);
}

TEST(RangeSampleTest, IsBoundedAndScansThatFindKeysDisplaceNoEmptyOnes) {
  RangeSample sample;
  RangeSample other;  // of another column family, for which it scans in between
  for (uint64_t i = 0; i < 100; ++i) {
    sample.Note(Nth(i), Nth(i, 1), false);
    other.Note(Nth(i), Nth(i, 1), false);
  }
  const auto empty = Lowers(sample);
  EXPECT_EQ(empty.size(), 100u);
  for (uint64_t i = 1000; i < 100'000; ++i) {
    sample.Note(Nth(i), Nth(i, 1), false);
    sample.Note(Nth(i), Nth(i, 1), true);
  }
  std::vector<std::string> lowers = Lowers(sample);
  EXPECT_LE(lowers.size(), 2 * RangeSample::kHalf);
  EXPECT_GE(lowers.size(), 100u + RangeSample::kHalf / 2);
  EXPECT_TRUE(
      std::includes(lowers.begin(), lowers.end(), empty.begin(), empty.end()));
  // The sample follows a change: 20,000 scans later the old ones are gone.
  for (uint64_t i = 0; i < 20'000; ++i) {
    sample.Note("new" + Nth(i), "nex", i % 2 == 0);
  }
  for (const std::string& lower : Lowers(sample)) {
    EXPECT_EQ(lower.substr(0, 3), "new");
  }
}

// All keys of a tenant: far more prefixes than a cut of its keys can take.
TEST(RangesBetweenTables, ReadNoDataBlocks) {
  for (const bool partitioned : {false, true}) {
    if (partitioned && !AsksPartitions()) continue;
    TestDb db;
    db.Open(RangeOptions("id=deltabloom:18;range=on", partitioned));
    test::Random random{test::SeedOr(1)};
    const auto tenant = [](int i) { return "tenant" + std::to_string(i); };
    for (const int i : {2, 4, 6}) {
      for (unsigned k = 0; k < 2000; ++k) {
        db.Put(tenant(i) + random.Key(8 + k % 3));
      }
      db.Flush();
    }
    for (const int i : {1, 3, 5, 7}) {
      EXPECT_EQ(First(db, tenant(i), tenant(i + 1)), "none");
    }
    EXPECT_EQ(db.Ticker(rocksdb::BLOCK_CACHE_DATA_HIT) +
                  db.Ticker(rocksdb::BLOCK_CACHE_DATA_MISS),
              0u);
    EXPECT_NE(First(db, tenant(4), tenant(5)), "none");
  }
}

}  // namespace
}  // namespace deltabloom::testing
