// deltabloom verify on databases of RocksDB with timestamps, comparators and
// prefix extractors that are not the usual ones.
#include <rocksdb/comparator.h>

#include <algorithm>

#include "deltabloom/key_transform.h"
#include "table/framing.h"
#include "tests/tools/verify_rocksdb.h"

namespace deltabloom {
namespace {

using nlohmann::json;
using test::ExpectHas;
using test::ExpectRate;
using test::Filtering;
using test::kKeys;
using test::Missed;
using testing::Key;

using VerifyOwn = test::VerifyRocksDB;

// Keys with timestamps of 8 bytes, the later one first.
class Timed : public rocksdb::Comparator {
 public:
  explicit Timed(std::string name) : Comparator(8), name_(std::move(name)) {}
  const char* Name() const override { return name_.c_str(); }
  int Compare(const rocksdb::Slice& a, const rocksdb::Slice& b) const override {
    const int by_key = CompareWithoutTimestamp(a, true, b, true);
    if (by_key != 0) return by_key;
    return CompareTimestamp(Timestamp(b), Timestamp(a));
  }
  using Comparator::CompareWithoutTimestamp;
  int CompareWithoutTimestamp(const rocksdb::Slice& a, bool a_has_ts,
                              const rocksdb::Slice& b,
                              bool b_has_ts) const override {
    return rocksdb::Slice(a.data(), a.size() - (a_has_ts ? 8 : 0))
        .compare({b.data(), b.size() - (b_has_ts ? 8 : 0)});
  }
  int CompareTimestamp(const rocksdb::Slice& a,
                       const rocksdb::Slice& b) const override {
    return a.compare(b);
  }
  void FindShortestSeparator(std::string*,
                             const rocksdb::Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}

 private:
  static rocksdb::Slice Timestamp(const rocksdb::Slice& key) {
    return {key.data() + key.size() - 8, 8};
  }
  const std::string name_;
};

TEST_F(VerifyOwn, TimestampsAndColumnFamilies) {
  const rocksdb::Comparator* known = nullptr;
  rocksdb::Comparator::CreateFromString(
      rocksdb::ConfigOptions(), "leveldb.BytewiseComparator.u64ts", &known);
  const Timed own("deltabloom.test.timed");
  for (const rocksdb::Comparator* comparator :
       {static_cast<const rocksdb::Comparator*>(&own), known}) {
    for (const bool partitioned : {false, true}) {
      if (comparator == nullptr) continue;  // an older RocksDB
      // Which partition has a key is up to the comparator.
      if (comparator == &own && partitioned) continue;
      const rocksdb::Options plain = testing::MakeOptions(
          Config("deltabloom:10:local", partitioned, Filtering::kBoth));
      const std::string path = NewPath();
      {
        const auto db = testing::Open(plain, path);
        rocksdb::Options options = plain;
        options.comparator = comparator;
        rocksdb::ColumnFamilyHandle* family = nullptr;
        ASSERT_ROCKSDB_OK(
            db->CreateColumnFamily(options, "with timestamps", &family));
        for (const char* time : {"00000001", "00000002", "00000003"}) {
          for (int i = 0; i < kKeys; ++i) {
            ASSERT_ROCKSDB_OK(db->Put({}, family, Key(i), time, "value"));
          }
        }
        ASSERT_ROCKSDB_OK(db->Flush({}, family));
        ASSERT_ROCKSDB_OK(db->DestroyColumnFamilyHandle(family));
      }
      const json file = RunJson(path, 0).at("files").at(0);
      EXPECT_EQ(file.at("column_family"), "with timestamps");
      EXPECT_EQ(file.at("entries"), 3 * kKeys);
      EXPECT_EQ(file.at("keys_asked"), kKeys);
      ExpectRate(file);
    }
  }
}

TEST_F(VerifyOwn, Reverse) {
  for (const bool partitioned : {false, true}) {
    rocksdb::Options options = testing::MakeOptions(
        Config("deltabloom:10:classic", partitioned, Filtering::kWholeKeys));
    options.comparator = rocksdb::ReverseBytewiseComparator();
    const std::string path = NewPath();
    Load(options, path);
    const json file = RunJson(path, 0).at("files").at(0);
    EXPECT_EQ(file.at("keys_asked"), kKeys);
    EXPECT_GT(file.at("absent_asked"), kKeys / 2);
  }
}

// By the last digit first.
class LastDigit : public rocksdb::Comparator {
 public:
  const char* Name() const override { return "\x1b[31mlast digit"; }
  int Compare(const rocksdb::Slice& a, const rocksdb::Slice& b) const override {
    const auto last = [](const rocksdb::Slice& key) {
      return key.empty() ? ' ' : key[key.size() - 1];
    };
    return last(a) != last(b) ? last(a) - last(b) : a.compare(b);
  }
  void FindShortestSeparator(std::string*,
                             const rocksdb::Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}
};

TEST_F(VerifyOwn, ComparatorOfOnesOwn) {
  const LastDigit order;
  rocksdb::Options options = testing::MakeOptions(
      Config("deltabloom:10:local", false, Filtering::kWholeKeys));
  options.comparator = &order;
  std::string path = NewPath();
  const std::string table = Load(options, path);
  json file = RunJson(path, 0).at("files").at(0);
  EXPECT_EQ(file.at("keys_asked"), kKeys);
  ExpectRate(file);
  const internal::BlockHandle block = test::FilterBlocks(table).at(0);
  test::ClearABit(table, block, block.size / 2);
  file = RunJson("--show 100000 " + path, 1).at("files").at(0);
  EXPECT_EQ(Missed(file, "key"), LostKeys(options, path));

  // Which of several partitions has a key cannot be told.
  options = testing::MakeOptions(
      Config("deltabloom:10:local", true, Filtering::kWholeKeys));
  options.comparator = &order;
  path = NewPath();
  Load(options, path);
  const json document = RunJson(path, 2);
  EXPECT_EQ(document.at("files").at(0).at("keys_asked"), 0);
  EXPECT_EQ(document.at("summary").at("not_checked").size(), 1u);
  ExpectHas(err_, ": not checked: filter: ");
  ExpectHas(err_, "\\x1b[31mlast digit");
  EXPECT_EQ(err_.find('\x1b'), std::string::npos);
}

// Sound ones first; then a bit of each range part is flipped, and nothing else.
TEST_F(VerifyOwn, RangeParts) {
  for (const bool partitioned : {false, true}) {
    rocksdb::Options options = testing::MakeOptions(
        Config("id=deltabloom:18;range=on", partitioned, Filtering::kWholeKeys));
    ASSERT_ROCKSDB_OK(rocksdb::SliceTransform::CreateFromString(
        rocksdb::ConfigOptions(), "deltabloom.Range",
        &options.prefix_extractor));
    const std::string path = NewPath();
    const std::string table = Load(options, path);
    json file = RunJson(path, 0).at("files").at(0);
    EXPECT_EQ(err_, "");
    EXPECT_EQ(file.at("keys_asked"), kKeys);
    EXPECT_EQ(file.at("false_negatives"), 0);
    ExpectRate(file);

    const auto blocks = test::FilterBlocks(table);
    EXPECT_EQ(blocks.size() > 1, partitioned);
    for (const internal::BlockHandle& block : blocks) {
      test::ChangeBlock(table, block, [](char* bytes, size_t n) {
        const std::string_view part = internal::RangePartOf({bytes, n});
        ASSERT_GT(part.size(), 16u);
        bytes[part.data() - bytes + static_cast<ptrdiff_t>(part.size() / 2)] ^=
            0x55;
      });
    }
    file = RunJson("--show 100000 " + path, 1).at("files").at(0);
    EXPECT_GT(file.at("false_negatives"), 0);
    for (const json& missed : file.at("missed")) {
      EXPECT_FALSE(missed.at("alone"));
      EXPECT_FALSE(missed.at("in_batch"));
      EXPECT_TRUE(missed.at("in_range"));
    }
    ExpectHas(Run(path).out, ", key, only by the range part: user");
  }
}

class FirstHalf : public rocksdb::SliceTransform {
 public:
  const char* Name() const override { return "first half"; }
  rocksdb::Slice Transform(const rocksdb::Slice& key) const override {
    return {key.data(), key.size() / 2};
  }
  bool InDomain(const rocksdb::Slice&) const override { return true; }
};

TEST_F(VerifyOwn, PrefixesOfOnesOwn) {
  rocksdb::Options options = testing::MakeOptions(
      Config("deltabloom:10:local", false, Filtering::kBoth));
  options.prefix_extractor = std::make_shared<FirstHalf>();
  const std::string path = NewPath();
  Load(options, path);
  const json file = RunJson(path, 2).at("files").at(0);
  EXPECT_EQ(file.at("keys_asked"), kKeys);
  EXPECT_EQ(file.at("prefixes_asked"), 0);
  EXPECT_EQ(file.at("false_negatives"), 0);
  ExpectHas(err_, "prefixes: no prefix extractor known here has the name ");
}

// Which keys a filter holds is up to the function.
TEST_F(VerifyOwn, KeyTransformOfOnesOwn) {
  KeyTransform transform;
  transform.name = "verify_test";
  transform.function = [](std::string_view key, KeyScratch*) {
    return key.substr(0, key.size() - 1);
  };
  ASSERT_TRUE(RegisterKeyTransform(transform));
  for (const bool partitioned : {false, true}) {
    const std::string path = NewPath();
    Load(testing::MakeOptions(Config("id=deltabloom;key_transform=verify_test",
                                     partitioned, Filtering::kWholeKeys)),
         path);
    const json file = RunJson(path, 2).at("files").at(0);
    EXPECT_EQ(file.at("keys_asked"), 0);
    ExpectHas(err_, ": not checked: filter: no key transform known here has ");
    EXPECT_EQ(std::count(err_.begin(), err_.end(), '\n'), 1);
  }
}

}  // namespace
}  // namespace deltabloom
