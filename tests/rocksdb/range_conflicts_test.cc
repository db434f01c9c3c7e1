// Column families that ranges do not go with.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/rocksdb/range_db.h"

namespace deltabloom::testing {
namespace {

// A comparator of another order, with whose bounds in the order of bytes.
class ByLength : public rocksdb::Comparator {
 public:
  const char* Name() const override { return "ByLength"; }
  int Compare(const rocksdb::Slice& a, const rocksdb::Slice& b) const override {
    if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
    return a.compare(b);
  }
  void FindShortestSeparator(std::string*,
                             const rocksdb::Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}
};

TEST(RangeConflictTest, OtherOrdersAreRefused) {
  static const ByLength by_length;
  const TempDir dir;
  std::string error;
  for (const rocksdb::Comparator* comparator :
       {static_cast<const rocksdb::Comparator*>(&by_length),
        rocksdb::ReverseBytewiseComparator()}) {
    const std::string text = std::string(
                                 "range=on needs keys in the order of "
                                 "their bytes, and comparator ") +
                             comparator->Name() + " has another";
    rocksdb::Options options = RangeOptions(kPolicy);
    options.comparator = comparator;
    std::unique_ptr<rocksdb::DB> db;
    rocksdb::Status status;
    {
      OpensInto into(&db);
      status = rocksdb::DB::Open(options, dir.Path("db"), into);
    }
    EXPECT_TRUE(status.IsInvalidArgument());
    EXPECT_NE(status.ToString().find(text), std::string::npos)
        << status.ToString();
    EXPECT_NE(status.ToString().find(
                  "this prefix_extractor answers no ranges from now on"),
              std::string::npos)
        << status.ToString();
    EXPECT_FALSE(CheckRocksDBFilters(options, &error));
    EXPECT_NE(error.find(text), std::string::npos) << error;

    RocksDBFilterOptions filters;
    filters.range = true;
    rocksdb::Options unchanged;
    unchanged.comparator = comparator;
    EXPECT_FALSE(AddRocksDBFilters(filters, &unchanged, &unchanged, &error));
    EXPECT_NE(error.find(text), std::string::npos) << error;
    EXPECT_EQ(error.find("from now on"), std::string::npos) << error;
    EXPECT_EQ(unchanged.prefix_extractor, nullptr);
    EXPECT_TRUE(unchanged.listeners.empty());
  }
}

// Even unchecked nothing is lost: keys do not ascend bytewise.
TEST(RangeConflictTest, OtherOrdersInColumnFamiliesMadeLaterLoseNothing) {
  static const ByLength by_length;
  const TempDir dir;
  rocksdb::Options options = RangeOptions(kPolicy);
  const auto db = Open(options, dir.Path("db"));
  rocksdb::ColumnFamilyOptions other = options;  // with its extractor
  other.comparator = &by_length;
  rocksdb::ColumnFamilyHandle* family = nullptr;
  ASSERT_ROCKSDB_OK(db->CreateColumnFamily(other, "other", &family));
  for (const char* key : {"b", "z", "aa", "az", "bbb"}) {
    ASSERT_ROCKSDB_OK(db->Put({}, family, key, "value"));
  }
  ASSERT_ROCKSDB_OK(db->Flush({}, family));
  EXPECT_EQ(Scan(db.get(), "zz", family).First("c"), "z");
  EXPECT_EQ(Scan(db.get(), "zzz", family).First("ba"), "bbb");
  ASSERT_ROCKSDB_OK(db->DestroyColumnFamilyHandle(family));
}

// A comparator under which these keys ascend as their bytes do, and bounds mean
// something else: only the listener notices.
class CapitalsAreSmall : public ByLength {
 public:
  const char* Name() const override { return "CapitalsAreSmall"; }
  int Compare(const rocksdb::Slice& a, const rocksdb::Slice& b) const override {
    return rocksdb::Slice(Small(a)).compare(Small(b));
  }

 private:
  static std::string Small(const rocksdb::Slice& key) {
    std::string small = key.ToString();
    for (char& letter : small) {
      if (letter >= 'A' && letter <= 'Z') {
        letter = static_cast<char>(letter - 'A' + 'a');
      }
    }
    return small;
  }
};

// Last of all: it stops ranges in the whole process.
TEST(ZRangeConflictTest, TheListenerStopsRangesUnderAnotherOrder) {
  static const CapitalsAreSmall capitals_are_small;
  const TempDir dir;
  rocksdb::Options options = RangeOptions(kPolicy);
  options.listeners.push_back(NewRocksDBFilterListener());
  const auto db = Open(options, dir.Path("db"));
  LoadNumbers(db.get());
  ExpectAnswers(ScanAll(db.get(), options));
  rocksdb::ColumnFamilyOptions other = options;  // with its extractor
  other.comparator = &capitals_are_small;
  rocksdb::ColumnFamilyHandle* family = nullptr;
  ASSERT_ROCKSDB_OK(db->CreateColumnFamily(other, "other", &family));
  for (const char* key : {"bird", "cat", "dog", "eel", "fox"}) {
    ASSERT_ROCKSDB_OK(db->Put({}, family, key, "value"));
  }
  ASSERT_ROCKSDB_OK(db->Flush({}, family));
  EXPECT_EQ(Scan(db.get(), "DZ", family).First("CZ"), "dog");
  EXPECT_EQ(ScanAll(db.get(), options).range_lookups, 0u);
  LoadNumbers(db.get());
  EXPECT_NE(ReadFile(dir.Path("db/LOG"))
                .find("no filter of this process answers ranges"),
            std::string::npos);
  ASSERT_ROCKSDB_OK(db->DestroyColumnFamilyHandle(family));
}

TEST(RangeConflictTest, HashIndexIsRefused) {
  DbConfig config;
  config.policy = PolicyFromString(kPolicy);
  config.change = [](rocksdb::Options*,
                     rocksdb::BlockBasedTableOptions* table) {
    table->index_type = rocksdb::BlockBasedTableOptions::kHashSearch;
  };
  rocksdb::Options options = MakeOptions(config);
  options.prefix_extractor = NewRocksDBRangeExtractor();
  std::string error;
  EXPECT_FALSE(CheckRocksDBFilters(options, &error));
  EXPECT_NE(error.find("index_type kHashSearch"), std::string::npos) << error;
}

TEST(RangeConflictTest, AnExtractorThatIsSetStays) {
  RocksDBFilterOptions filters;
  filters.range = true;
  rocksdb::Options options;
  options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(4));
  std::string error;
  EXPECT_FALSE(AddRocksDBFilters(filters, &options, &options, &error));
  EXPECT_NE(error.find("prefix_extractor rocksdb.FixedPrefix"),
            std::string::npos)
      << error;
  options.prefix_extractor = NewRocksDBRangeExtractor(&error);
  EXPECT_TRUE(AddRocksDBFilters(filters, &options, &options, &error)) << error;
}

}  // namespace
}  // namespace deltabloom::testing
