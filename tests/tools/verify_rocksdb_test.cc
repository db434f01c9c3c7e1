// deltabloom verify on databases of RocksDB: what it counts, and that it denies
// the very keys that the database loses.
#include "tests/tools/verify_rocksdb.h"

#include <rocksdb/merge_operator.h>

namespace deltabloom {
namespace {

using nlohmann::json;
using test::ExpectHas;
using test::ExpectRate;
using test::Filtering;
using test::kKeys;
using test::Missed;
using testing::DbConfig;
using testing::Key;

class VerifyRocksDB : public test::VerifyRocksDB {
 protected:
  void ExpectFinds(const std::string& policy, bool partitioned,
                   Filtering filtering);
};

// Sound first; then with a bit that is flipped.
void VerifyRocksDB::ExpectFinds(const std::string& policy, bool partitioned,
                                Filtering filtering) {
  const DbConfig config = Config(policy, partitioned, filtering);
  const std::string path = NewPath();
  const std::string table = Load(testing::MakeOptions(config), path);
  const bool keys = filtering != Filtering::kPrefixes;
  const bool prefixes = filtering != Filtering::kWholeKeys;

  json file = RunJson(path, 0).at("files").at(0);
  EXPECT_EQ(err_, "");
  EXPECT_EQ(file.at("file"), table);
  EXPECT_EQ(file.at("entries"), kKeys);
  EXPECT_EQ(file.at("keys_asked"), keys ? kKeys : 0);
  // A prefix is asked once in each partition that keys or seeks lead to.
  const int asked = file.at("prefixes_asked");
  if (prefixes) {
    EXPECT_GE(asked, kKeys / 5);
  } else {
    EXPECT_EQ(asked, 0);
  }
  EXPECT_EQ(file.at("false_negatives"), 0);
  // Prefixes here follow each other with nothing between.
  if (keys) ExpectRate(file);

  const auto blocks = test::FilterBlocks(table);
  EXPECT_EQ(blocks.size() > 1, partitioned);
  const internal::BlockHandle block = blocks.at(blocks.size() / 2);
  test::ClearABit(table, block, block.size / 3);
  // With a block cache of its own: the old one has the partition as it was.
  const std::set<std::string> lost =
      LostKeys(testing::MakeOptions(config), path);
  EXPECT_FALSE(lost.empty());
  std::vector<std::string> cpus = {"as it is"};
  if (filtering == Filtering::kWholeKeys) cpus = {"portable", "avx2", "avx512"};
  for (const std::string& cpu : cpus) {
    file = RunJson("--show 100000 " + path, 1, "DELTABLOOM_CPU='" + cpu + "'")
               .at("files")
               .at(0);
    EXPECT_GT(file.at("false_negatives"), 0);
    EXPECT_EQ(file.at("false_negatives"), file.at("missed").size());
    for (const json& missed : file.at("missed")) {
      EXPECT_EQ(missed.at("offset"), block.offset);
      EXPECT_TRUE(missed.at("alone"));
      EXPECT_TRUE(missed.at("in_batch"));
      EXPECT_FALSE(missed.at("in_range"));
    }
    if (keys) {
      EXPECT_EQ(Missed(file, "key"), lost);
      continue;
    }
    std::set<std::string> lost_prefixes;
    for (const std::string& key : lost) lost_prefixes.insert(key.substr(0, 11));
    // More are missed where the prefix of a partition's first key is denied by
    // the partition in front, which only iterators ask for it.
    for (const std::string& prefix : lost_prefixes) {
      EXPECT_EQ(Missed(file, "prefix").count(prefix), 1u) << prefix;
    }
    EXPECT_LE(Missed(file, "prefix").size(), lost_prefixes.size() + 1);
  }
}

TEST_F(VerifyRocksDB, FindsAFlippedBitInEveryKindOfFilter) {
  std::vector<std::string> policies = {"bloomfilter:10", "ribbonfilter:10"};
  for (const std::string& layout : testing::LayoutNames()) {
    policies.push_back("deltabloom:10:" + layout);
  }
  policies.push_back("id=deltabloom;layout=local;compatibility=own");
  policies.push_back("id=deltabloom;layout=local;seeded=true");
  policies.push_back(
      "id=deltabloom;layout=compact;key_transform=ascii_lowercase");
  for (const std::string& policy : policies) {
    for (const bool partitioned : {false, true}) {
      for (const Filtering filtering :
           {Filtering::kWholeKeys, Filtering::kPrefixes, Filtering::kBoth}) {
        // What is asked depends on the filtering, not on the layout.
        if (filtering != Filtering::kWholeKeys && policy != "bloomfilter:10" &&
            policy != "deltabloom:10:local" &&
            policy.find("key_transform") == std::string::npos) {
          continue;
        }
        SCOPED_TRACE(policy + (partitioned ? " partitioned " : " full ") +
                     std::to_string(static_cast<int>(filtering)));
        ExpectFinds(policy, partitioned, filtering);
      }
    }
  }
}

class Append : public rocksdb::AssociativeMergeOperator {
 public:
  const char* Name() const override { return "append"; }
  bool Merge(const rocksdb::Slice&, const rocksdb::Slice*,
             const rocksdb::Slice& value, std::string* result,
             rocksdb::Logger*) const override {
    *result = value.ToString();
    return true;
  }
};

// Deletions at both ends and in between, versions, merges, values in blob files
// and a range deletion: all keys are in the filter, and all are asked.
TEST_F(VerifyRocksDB, AsksForEntriesOfEveryKind) {
  for (const bool partitioned : {false, true}) {
    rocksdb::Options options = testing::MakeOptions(
        Config("deltabloom:10:local", partitioned, Filtering::kWholeKeys));
    options.merge_operator = std::make_shared<Append>();
    options.enable_blob_files = true;
    options.min_blob_size = 100;
    const std::string path = NewPath();
    std::string table;
    uint64_t entries = 0;
    {
      const auto db = testing::Open(options, path);
      std::vector<const rocksdb::Snapshot*> snapshots;
      for (int i = 0; i < kKeys; ++i) {
        const std::string key = Key(i);
        rocksdb::Status status;
        switch (i % 6) {
          case 0:
            status = db->Delete({}, key);
            break;
          case 1:
            status = db->Put({}, key, std::string(200, 'b'));
            break;
          case 2:
            status = db->SingleDelete({}, key);
            break;
          case 3:
            status = db->Put({}, key, "first");
            if (i % 100 == 3) {
              snapshots.push_back(db->GetSnapshot());
              status = db->Put({}, key, "second");
              ++entries;
            }
            break;
          case 4:
            status = db->Merge({}, key, "merged");
            break;
          default:
            status = db->Delete({}, key);
        }
        ASSERT_ROCKSDB_OK(status);
        ++entries;
      }
      ASSERT_ROCKSDB_OK(
          db->DeleteRange({}, db->DefaultColumnFamily(), "a", "b"));
      ASSERT_ROCKSDB_OK(db->Flush({}));
      table = OnlyTable(db.get(), path);
      for (const auto* snapshot : snapshots) db->ReleaseSnapshot(snapshot);
    }
    json file = RunJson(path, 0).at("files").at(0);
    EXPECT_EQ(file.at("entries"), entries);
    EXPECT_EQ(file.at("keys_asked"), kKeys);
    // With no bit set every one is denied.
    for (const auto& block : test::FilterBlocks(table)) {
      test::ChangeBlock(table, block, [](char* bytes, size_t n) {
        std::fill(bytes, bytes + n - 16, '\0');
      });
    }
    file = RunJson(path, 1).at("files").at(0);
    EXPECT_EQ(file.at("false_negatives"), kKeys);
    EXPECT_EQ(file.at("false_positives"), 0);
    EXPECT_EQ(file.at("missed").size(), 10u);
    EXPECT_EQ(file.at("missed").at(0).at("key"), Key(0));
  }
}

// A merge that lies on another version of its key.
TEST_F(VerifyRocksDB, MergesOnOtherVersions) {
  rocksdb::Options options = testing::MakeOptions(
      Config("deltabloom:10:compact", false, Filtering::kWholeKeys));
  options.merge_operator = std::make_shared<Append>();
  const std::string path = NewPath();
  {
    const auto db = testing::Open(options, path);
    std::vector<const rocksdb::Snapshot*> snapshots;
    for (int i = 0; i < kKeys; ++i) {
      ASSERT_ROCKSDB_OK(db->Put({}, Key(i), "value"));
    }
    snapshots.push_back(db->GetSnapshot());
    for (int i = 0; i < kKeys; i += 3) {
      ASSERT_ROCKSDB_OK(db->Merge({}, Key(i), "one"));
      if (i % 300 == 0) snapshots.push_back(db->GetSnapshot());
      ASSERT_ROCKSDB_OK(db->Merge({}, Key(i), "two"));
    }
    ASSERT_ROCKSDB_OK(db->Flush({}));
    for (const auto* snapshot : snapshots) db->ReleaseSnapshot(snapshot);
  }
  const json file = RunJson(path, 0).at("files").at(0);
  EXPECT_EQ(file.at("keys_asked"), kKeys);
}

// Prefixes with room between them.
TEST_F(VerifyRocksDB, AbsentPrefixes) {
  rocksdb::Options options = testing::MakeOptions(
      Config("deltabloom:10:local", false, Filtering::kPrefixes));
  options.prefix_extractor.reset(rocksdb::NewCappedPrefixTransform(12));
  const std::string path = NewPath();
  Load(options, path);
  const json file = RunJson(path, 0).at("files").at(0);
  EXPECT_EQ(file.at("prefixes_asked"), kKeys);
  EXPECT_GT(file.at("absent_asked"), kKeys / 2);
  ExpectRate(file);
}

TEST_F(VerifyRocksDB, DamagedTablesAreNotChecked) {
  const rocksdb::Options options = testing::MakeOptions(
      Config("deltabloom:10:local", false, Filtering::kWholeKeys));
  const std::string path = NewPath();
  const std::string table = Load(options, path);
  const std::string sound = test::ReadFile(table);
  const uint64_t filter = test::FilterBlocks(table).at(0).offset;
  // In the middle of data, and in the filter; with the checksum as it was.
  for (const uint64_t at : {filter / 2, filter + 100}) {
    std::string bytes = sound;
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    std::ofstream(table, std::ios::binary) << bytes;
    const json document = RunJson(path, 2);
    ExpectHas(err_, table + ": ");
    EXPECT_TRUE(document.at("files").at(0).contains("error"));
    EXPECT_EQ(document.at("summary").at("not_checked").at(0), table);
  }
}

}  // namespace
}  // namespace deltabloom
