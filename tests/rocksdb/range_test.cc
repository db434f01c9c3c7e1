// Ranges in real databases: seeks and tables of special kinds, column families,
// and what ranges conflict with. range_differential_test.cc has random writes,
// deletes, compactions, timestamps, extractors and moves of iterators.

#include "engines/rocksdb/policy/policy.h"
#include "engines/rocksdb/range/ranges.h"
#include "rocksdb/cache.h"
#include "tests/rocksdb/delegating_policy.h"
#include "tests/rocksdb/equal_keys.h"
#include "tests/rocksdb/range_db.h"

namespace deltabloom::testing {
namespace {

const RocksDBFilterOptions kWithRanges = [] {
  RocksDBFilterOptions filters;
  filters.bits_per_key = 24;
  filters.range = true;
  return filters;
}();

TEST_P(RangeTest, SkipsTablesOfEmptyRangesAlsoAfterReopen) {
  db_.Open(MakeRangeOptions());
  LoadNumbers(db_, nullptr, 1, 2);
  LoadNumbers(db_, nullptr, 2, 2);
  ExpectAnswers();
  db_.Reopen();
  ExpectAnswers();
  db_.Compact();
  ExpectAnswers();
}

TEST_P(RangeTest, OtherSeeksLookUpNoRange) {
  OpenAndLoad(MakeRangeOptions());
  ReadOptions without;  // no bound
  without.auto_prefix_mode = true;
  ReadOptions plain;  // not auto_prefix_mode
  const std::string upper = Nth(5, 1000);
  const Slice bound = upper;
  plain.iterate_upper_bound = &bound;
  ReadOptions total = plain;
  total.total_order_seek = true;
  for (const ReadOptions& read : {without, plain, total}) {
    const auto at = db_.NewIterator(read);
    at->Seek(Nth(4, 1));
    EXPECT_EQ(KeyAt(at.get()), Nth(5));
    at->Prev();
    EXPECT_EQ(KeyAt(at.get()), Nth(4));
    at->SeekForPrev(Nth(4, -1));
    EXPECT_EQ(KeyAt(at.get()), Nth(3));
  }
  EXPECT_EQ(CountedBy(db_.options()).range_lookups, 0u);
}

// Filters of RocksDB's own look up the prefix and know no ranges; a seek that
// meets them leaves nothing for the next filter.
TEST_P(RangeTest, WithFiltersOfRocksDB) {
  db_.Open(MakeRangeOptions(
      [](auto*, auto* table) { table->filter_policy = RocksDBBloom(); }));
  LoadNumbers(db_, nullptr, 1, 2);
  db_.Open(MakeRangeOptions());
  LoadNumbers(db_, nullptr, 2, 2);
  ExpectAnswers();
}

TEST_P(RangeTest, WithoutWholeKeysThereAreNone) {
  OpenAndLoad(MakeRangeOptions(
      [](auto*, auto* table) { table->whole_key_filtering = false; }));
  ExpectNoLookups();
}

TEST_P(RangeTest, TailingIterators) {
  db_.Open(MakeRangeOptions());
  LoadNumbers(db_, nullptr, 1, 2);
  ReadOptions read;
  read.auto_prefix_mode = true;
  read.tailing = true;
  const std::string upper = Nth(900, 1);
  const Slice bound = upper;
  read.iterate_upper_bound = &bound;
  const auto at = db_.NewIterator(read);
  for (uint64_t i = 801; i < 899; i += 2) {
    at->Seek(Nth(i, 1));
    EXPECT_EQ(KeyAt(at.get()), Nth(i + 2));
    db_.Put(Nth(i + 1));
    if (i % 3 == 0) db_.Flush();
    at->Seek(Nth(i, 1));
    EXPECT_EQ(KeyAt(at.get()), Nth(i + 1));
  }
  at->Seek(Nth(899, 1));
  EXPECT_FALSE(at->Valid());
}

// Calls a hook when a filter is read.
struct HookedPolicy final : DelegatingPolicy<DelegatingBuilder> {
  using DelegatingPolicy::DelegatingPolicy;
  rocksdb::FilterBitsReader* GetFilterBitsReader(
      const Slice& filter) const override {
    hook();
    return DelegatingPolicy::GetFilterBitsReader(filter);
  }
  std::function<void()> hook = [] {};
};

// A read of another database in the same thread, as a file system, a secondary
// cache or fibers can make one. The Get calls the extractor once, for the Bloom
// filter of a memtable: after the call for the seek's prefix that looks like an
// upper bound.
TEST_P(RangeTest, AGetWhileAFilterIsRead) {
  std::shared_ptr<HookedPolicy> policy;
  Options options = MakeRangeOptions([&policy](auto*, auto* table) {
    policy = std::make_shared<HookedPolicy>(table->filter_policy);
    table->cache_index_and_filter_blocks = true;
    table->block_cache = rocksdb::NewLRUCache(0);
  });
  options.memtable_prefix_bloom_size_ratio = 0.1;
  TestDb inner(options);  // trusts the extractor
  inner.Put("key");
  auto table = *options.table_factory->GetOptions<BlockBasedTableOptions>();
  table.filter_policy = policy;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  OpenAndLoad(options);
  std::string key;
  int gets = 0;
  policy->hook = [&] {
    std::string value;
    inner->Get({}, key, &value);
    ++gets;
  };
  const auto at = db_.NewIterator();
  for (uint64_t i = 1; i < kKeys; ++i) {
    key = Nth(i, 1000);
    at->Seek(Nth(i, 1));
    ASSERT_EQ(KeyAt(at.get()), Nth(i + 1));
  }
  EXPECT_GT(gets, 0);
  policy->hook = [] {};
}

TEST_P(RangeTest, AnExtractorOfTheUsersOwnHasNone) {
  Options options = MakeRangeOptions();
  options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(5));
  OpenAndLoad(options);
  ExpectNoLookups();
  EXPECT_CONTAINS(db_.Log(),
                  "range=on, and a filter has no range part: the column family "
                  "lacks prefix_extractor=deltabloom.Range");
}

// RocksDB validates no options there: CheckRocksDBFilters does.
TEST_P(RangeTest, ColumnFamiliesMadeLater) {
  db_.Open(MakeRangeOptions());
  const auto scan_new = [this](const ColumnFamilyOptions& options) {
    ColumnFamilyHandle* const family = db_.NewFamily(options, "new");
    LoadNumbers(db_, family);
    const RocksDBFilterRow counted =
        testing::ScanAll(db_, Options(rocksdb::DBOptions(), options), family);
    EXPECT_OK(db_->DropColumnFamily(family));
    db_.CloseFamily(family);
    return counted;
  };
  // Its comparator is not known.
  EXPECT_EQ(scan_new(MakeRangeOptions()).range_lookups, 0u);

  const ColumnFamilyOptions checked = MakeRangeOptions();
  ASSERT_TRUE(CheckRocksDBFilters(checked));
  testing::ExpectAnswers(scan_new(checked), GetParam());

  ColumnFamilyOptions added;
  AddRocksDBFiltersOrThrow(kWithRanges, nullptr, &added);
  testing::ExpectAnswers(scan_new(added));
}

TEST_P(RangeTest, ReadOnlyInstances) {
  OpenAndLoad(MakeRangeOptions());
  db_.Close();
  const Options options = MakeRangeOptions();
  std::unique_ptr<rocksdb::DB> db;
  ASSERT_OK(rocksdb::DB::OpenForReadOnly(options, db_.path(), OpensInto(&db)));
  EXPECT_EQ(testing::ScanAll(db.get(), options).range_lookups, 0u);
  ASSERT_TRUE(CheckRocksDBFilters(options));
  testing::ExpectAnswers(testing::ScanAll(db.get(), options), GetParam());
}

TEST_P(RangeTest, OffAndSetOptions) {
  OpenAndLoad(MakeRangeOptions());
  db_.Open(RangeOptions("deltabloom:24:auto", GetParam()));
  ExpectNoLookups();
  ASSERT_OK(db_.SetField("range", "on"));
  EXPECT_FALSE(db_.SetField("false_positive_rate", "0.01").ok());
  EXPECT_FALSE(db_.SetField("range", "yes").ok());
  EXPECT_EQ(db_.Option("range"), "on");
  LoadNumbers(db_);
  testing::ExpectAnswers(testing::ScanAll(db_, db_->GetOptions()), GetParam());
  ASSERT_OK(db_.SetField("range", "off"));
  EXPECT_EQ(db_.Option("range"), "off");
}

INSTANTIATE_TEST_SUITE_P(FullAndPartitioned, RangeTest, ::testing::Bool());

// Column families that ranges cannot be used with.

// An order other than that of the bytes.
const TestComparator kByLength("by_length", [](std::string_view key) {
  return NumberKey(key.size()) + std::string(key);
});

TEST(RangeConflictTest, OtherOrdersAreRefused) {
  for (const Comparator* comparator :
       {static_cast<const Comparator*>(&kByLength),
        rocksdb::ReverseBytewiseComparator()}) {
    const std::string text =
        "range=on needs keys in the order of their bytes, and comparator " +
        std::string(comparator->Name()) + " has another";
    Options options = RangeOptions(kPolicy);
    options.comparator = comparator;
    const Status status = TestDb().TryOpen(options);
    EXPECT_TRUE(status.IsInvalidArgument());
    EXPECT_CONTAINS(status.ToString(), text);
    EXPECT_CONTAINS(status.ToString(),
                    "this prefix_extractor answers no ranges from now on");
    std::string error;
    EXPECT_FALSE(CheckRocksDBFilters(options, &error));
    EXPECT_CONTAINS(error, text);

    Options unchanged;
    unchanged.comparator = comparator;
    EXPECT_FALSE(
        AddRocksDBFilters(kWithRanges, &unchanged, &unchanged, &error));
    EXPECT_CONTAINS(error, text);
    EXPECT_LACKS(error, "from now on");
    EXPECT_EQ(unchanged.prefix_extractor, nullptr);
    EXPECT_TRUE(unchanged.listeners.empty());
  }
}

// A new column family with the options of the database, extractor included, but
// another comparator.
ColumnFamilyHandle* NewFamily(TestDb* db, const Comparator* comparator,
                              const std::vector<std::string>& keys) {
  ColumnFamilyOptions options = db->options();
  options.comparator = comparator;
  ColumnFamilyHandle* const family = db->NewFamily(options, "other");
  for (const std::string& key : keys) db->Put(key, "value", family);
  EXPECT_OK((*db)->Flush({}, family));
  return family;
}

// Even unchecked nothing is lost: keys do not ascend bytewise.
TEST(RangeConflictTest, OtherOrdersInColumnFamiliesMadeLaterLoseNothing) {
  TestDb db(RangeOptions(kPolicy));
  ColumnFamilyHandle* const family =
      NewFamily(&db, &kByLength, {"b", "z", "aa", "az", "bbb"});
  EXPECT_EQ(First(db, "c", "zz", family), "z");
  EXPECT_EQ(First(db, "ba", "zzz", family), "bbb");
  db.CloseFamily(family);
}

// Calls `body` in the process of a death test, which keeps what it changes.
template <typename Body>
[[noreturn]] void ExitAfter(Body body) {
  body();
  std::exit(::testing::Test::HasFailure() ? 1 : 0);
}

void ExpectThatTheListenerStopsRanges() {
  // Under this comparator these keys ascend as their bytes do, and bounds mean
  // something else: only the listener notices.
  static const TestComparator ignore_case(kIgnoreCase);
  Options options = RangeOptions(kPolicy);
  options.listeners.push_back(NewRocksDBFilterListener());
  TestDb db(options);
  LoadNumbers(db);
  ExpectAnswers(ScanAll(db, options));
  ColumnFamilyHandle* const family =
      NewFamily(&db, &ignore_case, {"bird", "cat", "dog", "eel", "fox"});
  EXPECT_EQ(First(db, "CZ", "DZ", family), "dog");
  EXPECT_EQ(ScanAll(db, options).range_lookups, 0u);
  LoadNumbers(db);
  EXPECT_CONTAINS(db.Log(), "no filter of this process answers ranges");
  db.CloseFamily(family);
}

TEST(RangeConflictDeathTest, TheListenerStopsRangesUnderAnotherOrder) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(ExitAfter(ExpectThatTheListenerStopsRanges),
              ::testing::ExitedWithCode(0), "");
}

TEST(RangeConflictTest, HashIndexIsRefused) {
  std::string error;
  EXPECT_FALSE(CheckRocksDBFilters(
      RangeOptions(kPolicy, false,
                   [](auto*, auto* table) {
                     table->index_type = BlockBasedTableOptions::kHashSearch;
                   }),
      &error));
  EXPECT_CONTAINS(error, "index_type kHashSearch");
}

TEST(RangeConflictTest, AnExtractorThatIsSetStays) {
  Options options;
  options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(4));
  std::string error;
  EXPECT_FALSE(AddRocksDBFilters(kWithRanges, &options, &options, &error));
  EXPECT_CONTAINS(error, "prefix_extractor rocksdb.FixedPrefix");
  options.prefix_extractor = NewRocksDBRangeExtractor(&error);
  EXPECT_TRUE(AddRocksDBFilters(kWithRanges, &options, &options, &error))
      << error;
}

// On a RocksDB that does not, range parts stay off, and this fails.
TEST(RangeCheckTest, ThisRocksDBPassesBoundsAsExpected) {
  EXPECT_EQ(internal::RangeProblem(), "");
}

// As on a RocksDB whose seeks do not pass their bounds.
TEST(RangeCheckDeathTest, ARocksDBThatPassesNoBounds) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(ExitAfter([] {
                internal::StopRanges();
                EXPECT_CONTAINS(
                    internal::RangeProblem(),
                    "full filters: its seeks do not pass their bounds to a");
              }),
              ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace deltabloom::testing
