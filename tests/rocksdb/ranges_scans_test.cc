// The iterators of RocksDBRanges: what scans find, whatever tables they skip,
// in every way that RocksDB makes iterators. ranges_test.cc has the rest.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>

#include "deltabloom/key_transform.h"
#include "deltabloom/rocksdb_ranges.h"
#include "engines/rocksdb/base/rocksdb_version.h"
#include "rocksdb/merge_operator.h"
#include "rocksdb/utilities/optimistic_transaction_db.h"
#include "rocksdb/utilities/stackable_db.h"
#include "rocksdb/utilities/transaction_db.h"
#include "rocksdb/utilities/write_batch_with_index.h"
#include "tests/rocksdb/equal_keys.h"
#include "tests/rocksdb/range_scans.h"
#include "tests/rocksdb/ranges_db.h"
#include "tests/rocksdb/test_db.h"

namespace deltabloom::testing {
namespace {

using std::nullopt;

// Two tables of users with an even number, in turn: scans of absent users are
// rejected by both, scans of one by the other.
Strings EvenKeys(int begin, int end, int step) {
  Strings keys;
  for (int i = begin; i < end; i += step) keys.push_back(Key(2 * i));
  return keys;
}

class RangesScanTest : public ::testing::Test {
 protected:
  void LoadTwoTables() {
    db_.Table(EvenKeys(0, 500, 2));
    db_.Table(EvenKeys(1, 500, 2));
    db_.counted.Since();
  }

  RangesDb db_;
};

// Expects that a scan finds those of the keys, which are all that its view of
// the database has, that lie between the bounds; in both directions, and that
// seeks stay there. RocksDB's own iterators of transactions and batches do not,
// in 7.8.3.
void ExpectWithinBounds(RocksDBRanges* ranges,
                        const RocksDBRanges::MakeIterator& make,
                        const Strings& all, const std::string& lower,
                        const std::string& upper) {
  Strings expected;
  for (const std::string& key : all) {
    if (key >= lower && key < upper) expected.push_back(key);
  }
  const auto scan =
      ranges->NewIterator(make, {}, lower, std::string_view(upper));
  EXPECT_EQ(AllKeys(scan.get()), expected) << lower << " to " << upper;
  for (const std::string& key : all) {
    const auto at = std::lower_bound(expected.begin(), expected.end(), key);
    scan->Seek(key);
    ASSERT_EQ(scan->Valid(), at != expected.end()) << key;
    ASSERT_TRUE(!scan->Valid() || scan->key() == *at) << key;
    const auto after = std::upper_bound(expected.begin(), expected.end(), key);
    scan->SeekForPrev(key);
    ASSERT_EQ(scan->Valid(), after != expected.begin()) << key;
    ASSERT_TRUE(!scan->Valid() || scan->key() == *(after - 1)) << key;
  }
}

// --- Bounds -----------------------------------------------------------------

TEST_F(RangesScanTest, FindsKeysFromLowerToBeforeUpper) {
  LoadTwoTables();
  EXPECT_EQ(db_.KeysOf(Key(10), Key(14)), (Strings{Key(10), Key(12)}));
  EXPECT_EQ(db_.KeysOf(Key(10), Key(15)), (Strings{Key(10), Key(12), Key(14)}));
  EXPECT_EQ(db_.KeysOf(Key(11), Key(12)), Strings{});
  EXPECT_EQ(db_.KeysOf(Key(12), Key(12) + '\0'), Strings{Key(12)});
  EXPECT_EQ(db_.KeysOf(Key(997), nullopt), Strings{Key(998)});
  EXPECT_EQ(db_.KeysOf(Key(999), nullopt), Strings{});
  EXPECT_EQ(db_.KeysOf("", Key(1)), Strings{Key(0)});
  EXPECT_EQ(db_.KeysOf("", nullopt).size(), 500u);
}

TEST_F(RangesScanTest, SkipsTables) {
  LoadTwoTables();
  EXPECT_EQ(db_.KeysOf(Key(11), Key(12)), Strings{});
  RocksDBRangeStatistics counted = db_.counted.Since();
  EXPECT_EQ(counted.tables, 2u);
  EXPECT_EQ(counted.tables_rejected, 2u);
  EXPECT_EQ(db_.KeysOf(Key(12), Key(13)), Strings{Key(12)});
  counted = db_.counted.Since();
  EXPECT_EQ(counted.tables, 2u);
  EXPECT_EQ(counted.tables_rejected, 1u);
}

TEST_F(RangesScanTest, SeeksStayWithinTheBounds) {
  LoadTwoTables();
  const auto scan = db_.Scan(Key(10), Key(20));
  scan->Seek("");
  EXPECT_EQ(StateOf(scan.get()), Slice(Key(10)).ToString(true) + " = value");
  scan->Seek(Key(15));
  EXPECT_EQ(scan->key(), Key(16));
  scan->Prev();
  EXPECT_EQ(scan->key(), Key(14));
  scan->Next();
  EXPECT_EQ(scan->key(), Key(16));
  scan->Seek(Key(19));
  EXPECT_EQ(StateOf(scan.get()), "invalid, OK");
  scan->SeekForPrev(Key(100));
  EXPECT_EQ(scan->key(), Key(18));
  scan->SeekForPrev(Key(13));
  EXPECT_EQ(scan->key(), Key(12));
  scan->SeekForPrev(Key(9));
  EXPECT_EQ(StateOf(scan.get()), "invalid, OK");
  scan->SeekToFirst();
  scan->Prev();
  EXPECT_EQ(StateOf(scan.get()), "invalid, OK");
}

TEST_F(RangesScanTest, TheCallersBoundsNarrow) {
  LoadTwoTables();
  const auto keys_between = [&](const std::string& lower,
                                const std::string& upper) {
    const Slice lower_slice = lower;
    const Slice upper_slice = upper;
    ReadOptions read;
    read.iterate_lower_bound = &lower_slice;
    read.iterate_upper_bound = &upper_slice;
    return db_.KeysOf(Key(10), Key(16), read);
  };
  const Strings all = {Key(10), Key(12), Key(14)};
  EXPECT_EQ(keys_between(Key(0), Key(90)), all);
  EXPECT_EQ(keys_between(Key(11), Key(90)), (Strings{Key(12), Key(14)}));
  EXPECT_EQ(keys_between(Key(0), Key(13)), (Strings{Key(10), Key(12)}));
  EXPECT_EQ(keys_between(Key(12), Key(13)), Strings{Key(12)});
  // A range without an end ends at the caller's bound.
  const std::string own = Key(13);
  const Slice own_slice = own;
  ReadOptions read;
  read.iterate_upper_bound = &own_slice;
  EXPECT_EQ(db_.KeysOf(Key(10), nullopt, read), (Strings{Key(10), Key(12)}));
}

TEST_F(RangesScanTest, BoundsAreCopied) {
  LoadTwoTables();
  std::unique_ptr<Iterator> scan;
  {
    std::string lower = Key(10);
    std::string upper = Key(12);
    std::string own = Key(11);
    const Slice own_slice = own;
    ReadOptions read;
    read.iterate_lower_bound = &own_slice;
    scan = db_.Scan(lower, upper, read);
    lower.assign(lower.size(), 'z');
    upper.assign(upper.size(), 'z');
    own.assign(own.size(), 'a');
  }
  EXPECT_EQ(AllKeys(scan.get()), Strings{});
}

TEST_F(RangesScanTest, EmptyAndInvertedRangesHaveNoKeys) {
  LoadTwoTables();
  for (const auto& [lower, upper] :
       {std::pair(Key(10), Key(10)), std::pair(Key(20), Key(10)),
        std::pair(std::string(), std::string())}) {
    const auto scan = db_.Scan(lower, upper);
    EXPECT_EQ(AllKeys(scan.get()), Strings{});
    scan->Seek(Key(10));
    EXPECT_EQ(StateOf(scan.get()), "invalid, OK");
    scan->SeekForPrev(Key(20));
    EXPECT_EQ(StateOf(scan.get()), "invalid, OK");
    EXPECT_OK(scan->Refresh());
    EXPECT_EQ(AllKeys(scan.get()), Strings{});
  }
  // The upper bound of the caller's options empties the range.
  const std::string own = Key(5);
  const Slice own_slice = own;
  ReadOptions read;
  read.iterate_upper_bound = &own_slice;
  EXPECT_EQ(db_.KeysOf(Key(10), nullopt, read), Strings{});
}

TEST(RangesPrefixTest, EndAtTheNextPrefix) {
  RangesDb db;
  const std::string last(3, '\xff');
  const Strings keys = {"",  "a",    "a\xff",    "a\xff\xff", "b",       "ba",
                        "c", "\xff", "\xff\xff", last,        last + "x"};
  db.Table(keys);
  const auto of_prefix = [&](std::string_view prefix) {
    return AllKeys(
        db.ranges->NewPrefixIterator(db, {}, db->DefaultColumnFamily(), prefix)
            .get());
  };
  EXPECT_EQ(of_prefix("a"), (Strings{"a", "a\xff", "a\xff\xff"}));
  EXPECT_EQ(of_prefix("a\xff"), (Strings{"a\xff", "a\xff\xff"}));
  EXPECT_EQ(of_prefix("b"), (Strings{"b", "ba"}));
  EXPECT_EQ(of_prefix("\xff"), (Strings{"\xff", "\xff\xff", last, last + "x"}));
  EXPECT_EQ(of_prefix(last), (Strings{last, last + "x"}));
  EXPECT_EQ(of_prefix(last + '\xff'), Strings{});
  EXPECT_EQ(of_prefix("d"), Strings{});
  EXPECT_EQ(of_prefix(""), keys);
}

// --- Orders -----------------------------------------------------------------

// A family in reverse order, as MyRocks has them.
class RangesReverseTest : public ::testing::Test {
 protected:
  RangesReverseTest()
      : db_(WithPrefixes(), [](Options* options, BlockBasedTableOptions*) {
          options->comparator = rocksdb::ReverseBytewiseComparator();
        }) {
    for (const Strings& keys :
         {Strings{"a.x", "a/", "a/1", "a/2", "a0", "b", "c/1"},
          Strings{"", "a/3", "\xff", "\xff\xff", "d", "a.\xff\xff"},
          Strings{"a", "a0", "a1", "z"}}) {
      db_.Table(keys);
      all_.insert(keys.begin(), keys.end());
    }
    db_.counted.Since();
  }

  static RocksDBRangeOptions WithPrefixes() {
    RocksDBRangeOptions options;
    options.prefixes = "1,2,'/'";
    return options;
  }

  std::unique_ptr<Iterator> OfPrefix(std::string_view prefix) const {
    return db_.ranges->NewPrefixIterator(db_.get(), {},
                                         db_->DefaultColumnFamily(), prefix);
  }
  // The keys for which `fits` holds, in the order of the family.
  template <typename Fits>
  Strings KeysThat(const Fits& fits) const {
    Strings keys;
    for (auto key = all_.rbegin(); key != all_.rend(); ++key) {
      if (fits(*key)) keys.push_back(*key);
    }
    return keys;
  }

  RangesDb db_;
  std::set<std::string> all_;
};

TEST_F(RangesReverseTest, ScansOfAPrefix) {
  for (const std::string prefix :
       {"a/", "a", "a0", "b", "c/", "e", "", "\xff", "\xff\xff", "\xff\xff\xff",
        "a.", "a.x", "a/1", "A"}) {
    SCOPED_TRACE(prefix);
    EXPECT_EQ(AllKeys(OfPrefix(prefix).get()),
              KeysThat([&](const std::string& key) {
                return key.compare(0, prefix.size(), prefix) == 0;
              }));
  }
  EXPECT_EQ(AllKeys(OfPrefix("a/").get()),
            (Strings{"a/3", "a/2", "a/1", "a/"}));
  db_.counted.Since();
  EXPECT_EQ(AllKeys(OfPrefix("q/").get()), Strings{});
  EXPECT_EQ(db_.counted.Since().tables_rejected, 3u);
  EXPECT_EQ(AllKeys(OfPrefix("c/").get()), Strings{"c/1"});
  EXPECT_GE(db_.counted.Since().tables_rejected, 2u);
}

TEST_F(RangesReverseTest, SeeksStayWithinThePrefix) {
  const auto at = OfPrefix("a/");
  const auto key_at = [&] {
    return at->Valid() ? at->key().ToString() : "none";
  };
  for (const auto& [target, first, last] : {std::tuple("z", "a/3", "none"),
                                            {"a0", "a/3", "none"},
                                            {"a/25", "a/2", "a/3"},
                                            {"a/2", "a/2", "a/2"},
                                            {"a/", "a/", "a/"},
                                            {"a.x", "none", "a/"},
                                            {"", "none", "a/"}}) {
    SCOPED_TRACE(target);
    at->Seek(target);
    EXPECT_EQ(key_at(), first);
    at->SeekForPrev(target);
    EXPECT_EQ(key_at(), last);
  }
  at->SeekToLast();
  at->Next();
  EXPECT_FALSE(at->Valid());
  at->SeekToFirst();
  at->Prev();
  EXPECT_FALSE(at->Valid());
}

TEST_F(RangesReverseTest, GeneralBounds) {
  const Strings bounds = {"",   "a", "a.",  "a/",   "a/1",      "a/2",
                          "a0", "b", "c/1", "\xff", "\xff\xff", "zz"};
  for (const std::string& lower : bounds) {
    for (const std::string& upper : bounds) {
      SCOPED_TRACE(lower + " down to " + upper);
      EXPECT_EQ(db_.KeysOf(lower, std::string_view(upper)),
                KeysThat([&](const std::string& key) {
                  return key <= lower && key > upper;
                }));
    }
    EXPECT_EQ(db_.KeysOf(lower, nullopt),
              KeysThat([&](const std::string& key) { return key <= lower; }));
  }
  // "a0" is the lower bound, and in the range.
  EXPECT_EQ(db_.KeysOf("a0", "a/"), (Strings{"a0", "a/3", "a/2", "a/1"}));
}

TEST_F(RangesReverseTest, BackwardScansDoNotWalkTheLevel) {
  db_.Compact();
  EXPECT_EQ(AllKeys(OfPrefix("a/").get()),
            (Strings{"a/3", "a/2", "a/1", "a/"}));
  EXPECT_EQ(AllKeys(OfPrefix("0/").get()), Strings{});
}

// A bytewise comparator of another name.
class Renamed : public rocksdb::Comparator {
 public:
  explicit Renamed(const Comparator* comparator) : comparator_(*comparator) {}
  const char* Name() const override { return "test.renamed"; }
  int Compare(const Slice& a, const Slice& b) const override {
    return comparator_.Compare(a, b);
  }
  void FindShortestSeparator(std::string*, const Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}

 private:
  const Comparator& comparator_;
};

TEST(RangesOrderTest, ComparatorsOfAnotherName) {
  for (const bool reverse : {false, true}) {
    const Renamed comparator(reverse ? rocksdb::ReverseBytewiseComparator()
                                     : rocksdb::BytewiseComparator());
    RocksDBRangeOptions options;
    options.prefixes = "'/'";
    options.key_order = reverse ? "reverse_bytewise" : "bytewise";
    RangesDb db(options, [&](Options* to, BlockBasedTableOptions*) {
      to->comparator = &comparator;
    });
    db.Table({"a/1", "a/2", "c/1"});
    db.counted.Since();
    const auto of_prefix = [&](std::string_view prefix) {
      return AllKeys(db.ranges
                         ->NewPrefixIterator(db.get(), {},
                                             db->DefaultColumnFamily(), prefix)
                         .get());
    };
    EXPECT_EQ(of_prefix("b/"), Strings{});
    EXPECT_EQ(db.counted.Since().tables_rejected, 1u);
    EXPECT_EQ(of_prefix("a/"),
              reverse ? (Strings{"a/2", "a/1"}) : (Strings{"a/1", "a/2"}));
  }
}

TEST(RangesOrderTest, PrefixesOfAnyOtherOrderAreAnError) {
  const TestComparator comparator(kIgnoreCase);
  RocksDBRangeOptions options;
  options.key_transform = kIgnoreCase.transform;
  RangesDb db(options, [&](Options* to, BlockBasedTableOptions*) {
    to->comparator = &comparator;
  });
  db.Table({"a"});
  const auto at = db.ranges->NewPrefixIterator(db.get(), {},
                                               db->DefaultColumnFamily(), "a");
  at->SeekToFirst();
  EXPECT_FALSE(at->Valid());
  EXPECT_TRUE(at->status().IsInvalidArgument()) << at->status().ToString();
  EXPECT_CONTAINS(at->status().ToString(), comparator.Name());
}

// --- Life and threads -------------------------------------------------------

TEST_F(RangesScanTest, IteratorsOutliveTheObject) {
  LoadTwoTables();
  RangesPtr other = NewRanges();
  auto scan = other->NewIterator(db_, {}, db_->DefaultColumnFamily(), Key(10),
                                 std::string_view(Key(14)));
  other.reset();
  EXPECT_EQ(AllKeys(scan.get()), (Strings{Key(10), Key(12)}));
  EXPECT_OK(scan->Refresh());
  EXPECT_EQ(AllKeys(scan.get()), (Strings{Key(10), Key(12)}));
}

TEST_F(RangesScanTest, FactoriesOutliveTheObject) {
  Options options;
  {
    const RangesPtr other = NewRanges(OfKeys());
    options = OptionsWith(other.get());
  }
  TestDb db(options);
  db.Put("key");
  db.Flush();
  EXPECT_EQ(PropertiesIn(db.Tables()).size(), 1u);
}

TEST_F(RangesScanTest, AnotherThreadUsesAndDestroysTheIterator) {
  LoadTwoTables();
  auto scan = db_.Scan(Key(10), Key(14));
  scan->SeekToFirst();
  std::thread([&] {
    EXPECT_EQ(scan->key(), Key(10));
    EXPECT_EQ(AllKeys(scan.get()), (Strings{Key(10), Key(12)}));
    scan.reset();
  }).join();
  EXPECT_EQ(db_.counted.Since().scans, 1u);
}

TEST_F(RangesScanTest, PropertiesAreThoseOfRocksDBsIterator) {
  LoadTwoTables();
  const auto scan = db_.Scan(Key(10), Key(14));
  scan->SeekToFirst();
  const std::unique_ptr<Iterator> plain(db_->NewIterator({}));
  const char* const name = "rocksdb.iterator.super-version-number";
  std::string of_scan, of_plain;
  EXPECT_OK(scan->GetProperty(name, &of_scan));
  EXPECT_OK(plain->GetProperty(name, &of_plain));
  EXPECT_EQ(of_scan, of_plain);
  // Also where no key can be.
  const auto empty = db_.Scan(Key(10), Key(10));
  of_scan.clear();
  EXPECT_OK(empty->GetProperty(name, &of_scan));
  EXPECT_EQ(of_scan, of_plain);
  const char* const pinned = "rocksdb.iterator.is-key-pinned";
  EXPECT_OK(empty->GetProperty(pinned, &of_scan));
  EXPECT_OK(plain->GetProperty(pinned, &of_plain));
  EXPECT_EQ(of_scan, of_plain);
  EXPECT_EQ(empty->GetProperty("none", &of_scan).ToString(),
            plain->GetProperty("none", &of_plain).ToString());
  EXPECT_OK(empty->Refresh());
}

// --- Views of the database --------------------------------------------------

TEST_F(RangesScanTest, RefreshSeesWhatWasWrittenSince) {
  LoadTwoTables();
  const auto scan = db_.Scan(Key(11), Key(12));
  EXPECT_EQ(AllKeys(scan.get()), Strings{});
  db_.Put(Key(11));
  EXPECT_EQ(AllKeys(scan.get()), Strings{});
  EXPECT_OK(scan->Refresh());
  EXPECT_EQ(AllKeys(scan.get()), Strings{Key(11)});
  // From another table.
  db_.Flush();
  EXPECT_OK(scan->Refresh());
  EXPECT_EQ(AllKeys(scan.get()), Strings{Key(11)});
  EXPECT_OK(db_->Delete({}, Key(11)));
  db_.Flush();
  db_.Rewrite();
  EXPECT_OK(scan->Refresh());
  scan->SeekToLast();
  EXPECT_EQ(StateOf(scan.get()), "invalid, OK");
  EXPECT_EQ(AllKeys(scan.get()), Strings{});
}

#if DELTABLOOM_ROCKSDB_HEADERS >= DELTABLOOM_ROCKSDB_VERSION(8, 7, 0)
TEST_F(RangesScanTest, RefreshToASnapshot) {
  LoadTwoTables();
  const rocksdb::Snapshot* const snapshot = db_->GetSnapshot();
  db_.Table({Key(11)});
  const auto scan = db_.Scan(Key(11), Key(12));
  EXPECT_EQ(AllKeys(scan.get()), Strings{Key(11)});
  EXPECT_OK(scan->Refresh(snapshot));
  EXPECT_EQ(AllKeys(scan.get()), Strings{});
  db_->ReleaseSnapshot(snapshot);
}
#endif

TEST_F(RangesScanTest, Snapshots) {
  LoadTwoTables();
  const rocksdb::Snapshot* const snapshot = db_->GetSnapshot();
  db_.Table({Key(11)});
  EXPECT_OK(db_->Delete({}, Key(10)));
  db_.Flush();
  ReadOptions read;
  read.snapshot = snapshot;
  EXPECT_EQ(db_.KeysOf(Key(10), Key(12), read), Strings{Key(10)});
  EXPECT_EQ(db_.KeysOf(Key(10), Key(12)), Strings{Key(11)});
  db_->ReleaseSnapshot(snapshot);
}

TEST_F(RangesScanTest, Tailing) {
  LoadTwoTables();
  ReadOptions read;
  read.tailing = true;
  auto scan = db_.Scan(Key(11), Key(13) + '\x01', read);
  scan->SeekToFirst();
  EXPECT_EQ(KeysForward(scan.get()), Strings{Key(12)});
  db_.Table({Key(11), Key(13)});
  scan->SeekToFirst();
  EXPECT_EQ(KeysForward(scan.get()), (Strings{Key(11), Key(12), Key(13)}));
  scan->Seek(Key(13));
  EXPECT_EQ(KeysForward(scan.get()), Strings{Key(13)});
  // SeekToLast is not supported, as without range filters.
  scan->SeekToLast();
  EXPECT_TRUE(scan->status().IsNotSupported()) << scan->status().ToString();
  // Nor where a look from the front would find nothing.
  scan = db_.Scan(Key(15), Key(16), read);
  scan->SeekToLast();
  EXPECT_TRUE(scan->status().IsNotSupported()) << scan->status().ToString();
  scan.reset();
  EXPECT_GE(db_.counted.Since().tables_rejected, 1u);
}

// A table is in no cache yet: nothing is known of the range.
TEST_F(RangesScanTest, BlockCacheTierMayBeIncomplete) {
  LoadTwoTables();
  db_.Reopen();
  ReadOptions read;
  read.read_tier = rocksdb::kBlockCacheTier;
  const auto scan = db_.Scan(Key(10), Key(12), read);
  scan->SeekToLast();
  EXPECT_TRUE(scan->Valid() || scan->status().IsIncomplete())
      << StateOf(scan.get());
  EXPECT_EQ(db_.KeysOf(Key(10), Key(12)), Strings{Key(10)});
  EXPECT_EQ(db_.KeysOf(Key(10), Key(12), read), Strings{Key(10)});
}

// A look from the front that meets only blocks that are not in the cache may
// find nothing, without an error, where a look from the end finds a key.
TEST_F(RangesScanTest, BlockCacheTierIsNotLookedAtFromTheFront) {
  const auto statistics = rocksdb::CreateDBStatistics();
  RangesDb db(OfKeys(), [&](Options* options, BlockBasedTableOptions*) {
    options->statistics = statistics;
  });
  db.Load(0, 100);
  ReadOptions read;
  read.read_tier = rocksdb::kBlockCacheTier;
  const auto scan = db.Scan(Key(10), Key(20), read);
  const uint64_t before = statistics->getTickerCount(rocksdb::NUMBER_DB_SEEK);
  scan->SeekToLast();
  EXPECT_EQ(statistics->getTickerCount(rocksdb::NUMBER_DB_SEEK) - before, 1u);
  // Nor is a scan that finds nothing known to be empty.
  const auto nothing = db.Scan(Key(11), Key(12), read);
  nothing->SeekToFirst();
  EXPECT_EQ(db.counted.Since().empty_scans, 0u);
}

TEST_F(RangesScanTest, ReadOnlyAndSecondaryInstances) {
  LoadTwoTables();
  db_.Close();
  std::unique_ptr<rocksdb::DB> read_only;
  ASSERT_OK(rocksdb::DB::OpenForReadOnly(db_.options(), db_.path(),
                                         OpensInto(&read_only)));
  const auto keys_of = [&](rocksdb::DB* db, const std::string& lower,
                           const std::string& upper) {
    return AllKeys(db_.ranges
                       ->NewIterator(db, {}, db->DefaultColumnFamily(), lower,
                                     std::string_view(upper))
                       .get());
  };
  EXPECT_EQ(keys_of(read_only.get(), Key(11), Key(15)),
            (Strings{Key(12), Key(14)}));
  EXPECT_EQ(keys_of(read_only.get(), Key(11), Key(12)), Strings{});
  EXPECT_EQ(db_.counted.Since().tables_rejected, 2u);
  read_only.reset();
  db_.Reopen();
  Options options = db_.options();
  options.max_open_files = -1;
  std::unique_ptr<rocksdb::DB> secondary;
  ASSERT_OK(rocksdb::DB::OpenAsSecondary(
      options, db_.path(), db_.Path("secondary"), OpensInto(&secondary)));
  EXPECT_EQ(keys_of(secondary.get(), Key(11), Key(12)), Strings{});
  EXPECT_EQ(db_.counted.Since().tables_rejected, 2u);
  db_.Table({Key(11)});
  ASSERT_OK(secondary->TryCatchUpWithPrimary());
  EXPECT_EQ(keys_of(secondary.get(), Key(11), Key(13)),
            (Strings{Key(11), Key(12)}));
}

TEST_F(RangesScanTest, FamiliesHaveAnObjectEach) {
  LoadTwoTables();
  const RangesPtr other = NewRanges(OfKeys());
  ColumnFamilyHandle* const family =
      db_.NewFamily(OptionsWith(other.get()), "other");
  db_.Put(Key(11), "value", family);
  EXPECT_OK(db_->Flush({}, family));
  // One ReadOptions for all.
  const ReadOptions read;
  EXPECT_EQ(db_.KeysOf(Key(11), Key(12), read), Strings{});
  EXPECT_EQ(AllKeys(other
                        ->NewIterator(db_, read, family, Key(11),
                                      std::string_view(Key(12)))
                        .get()),
            Strings{Key(11)});
  EXPECT_EQ(AllKeys(other
                        ->NewIterator(db_, read, family, Key(12),
                                      std::string_view(Key(13)))
                        .get()),
            Strings{});
  EXPECT_EQ(db_.counted.Since().tables_rejected, 2u);
  EXPECT_EQ(other->Statistics().tables, 2u);
  EXPECT_EQ(other->Statistics().tables_rejected, 1u);
  EXPECT_EQ(other->Statistics().filters_built, 1u);
  EXPECT_EQ(read.iterate_lower_bound, nullptr);
  EXPECT_FALSE(read.table_filter);
  db_.CloseFamily(family);
}

// --- What tables hold -------------------------------------------------------

// Each table beside it has a key on either side of the range.
TEST_F(RangesScanTest, DeletesHideWhatOtherTablesHold) {
  for (const std::string& key : {Key(10), Key(11), Key(12), Key(13)}) {
    db_.Table({Key(0), key, Key(90)}, "old");
  }
  EXPECT_OK(db_->Delete({}, Key(10)));
  db_.Table({Key(0), Key(90)});
  EXPECT_OK(db_->SingleDelete({}, Key(11)));
  db_.Table({Key(0), Key(90)});
  EXPECT_OK(db_->DeleteRange({}, db_->DefaultColumnFamily(), Key(12), Key(13)));
  db_.Table({Key(0), Key(90)});
  for (const int key : {10, 11, 12}) {
    EXPECT_EQ(db_.KeysOf(Key(key), Key(key) + '\0'), Strings{}) << key;
  }
  EXPECT_EQ(db_.KeysOf(Key(10), Key(14)), Strings{Key(13)});
  EXPECT_GT(db_.counted.Since().tables_rejected, 10u);
}

// A range tombstone applies although its table is skipped, also one that
// begins and ends beyond the bounds.
TEST_F(RangesScanTest, RangeTombstonesOfSkippedTablesApply) {
  db_.Table(EvenKeys(0, 50, 1));
  EXPECT_OK(db_->DeleteRange({}, db_->DefaultColumnFamily(), Key(10), Key(80)));
  db_.Table({Key(1), Key(91)});
  db_.counted.Since();
  EXPECT_EQ(db_.KeysOf(Key(20), Key(30)), Strings{});
  EXPECT_EQ(db_.counted.Since().tables_rejected, 1u);
  EXPECT_EQ(db_.KeysOf(Key(70), Key(84)), (Strings{Key(80), Key(82)}));
  ReadOptions read;
  read.ignore_range_deletions = true;
  EXPECT_EQ(db_.KeysOf(Key(20), Key(24), read), (Strings{Key(20), Key(22)}));
}

// Range tombstones are not entries that a filter must know.
TEST_F(RangesScanTest, TablesOfRangeTombstonesAlone) {
  db_.Table(EvenKeys(0, 50, 1));
  EXPECT_OK(db_->DeleteRange({}, db_->DefaultColumnFamily(), Key(10), Key(20)));
  db_.Flush();
  EXPECT_EQ(PropertiesIn(db_.Tables()).size(), 1u);
  EXPECT_EQ(db_.KeysOf(Key(8), Key(24)), (Strings{Key(8), Key(20), Key(22)}));
}

class Append : public rocksdb::AssociativeMergeOperator {
 public:
  const char* Name() const override { return "append"; }
  bool Merge(const Slice&, const Slice* before, const Slice& operand,
             std::string* after, rocksdb::Logger*) const override {
    *after = (before == nullptr ? "" : before->ToString() + ",") +
             operand.ToString();
    return true;
  }
};

TEST(RangesMergeTest, OperandsInSeveralTables) {
  RangesDb db(OfKeys(), [](Options* options, BlockBasedTableOptions*) {
    options->merge_operator = std::make_shared<Append>();
  });
  db.Table({Key(10), Key(20)}, "a");
  for (const char* const operand : {"b", "c"}) {
    EXPECT_OK(db->Merge({}, Key(10), operand));
    EXPECT_OK(db->Merge({}, Key(30), operand));
    db.Flush();
  }
  const auto scan = db.Scan(Key(10), Key(11));
  scan->SeekToFirst();
  ASSERT_TRUE(scan->Valid());
  EXPECT_EQ(scan->value(), "a,b,c");
  scan->SeekToLast();
  ASSERT_TRUE(scan->Valid());
  EXPECT_EQ(scan->value(), "a,b,c");
  EXPECT_EQ(db.KeysOf(Key(21), Key(31)), Strings{Key(30)});
}

TEST(RangesBlobTest, ValuesInBlobFiles) {
  RangesDb db(OfKeys(), [](Options* options, BlockBasedTableOptions*) {
    options->enable_blob_files = true;
    options->min_blob_size = 10;
  });
  const std::string value(1000, 'v');
  db.Table(EvenKeys(0, 100, 1), value);
  EXPECT_EQ(PropertiesIn(db.Tables()).size(), 1u);
  const auto scan = db.Scan(Key(10), Key(12));
  scan->SeekToFirst();
  ASSERT_TRUE(scan->Valid());
  EXPECT_EQ(scan->value(), value);
  EXPECT_EQ(db.KeysOf(Key(11), Key(12)), Strings{});
  EXPECT_GE(db.counted.Since().tables_rejected, 1u);
}

#if DELTABLOOM_ROCKSDB_HEADERS >= DELTABLOOM_ROCKSDB_VERSION(7, 7, 0)
TEST_F(RangesScanTest, WideColumns) {
  const rocksdb::WideColumns columns = {{"name", "value"}, {"size", "5"}};
  EXPECT_OK(db_->PutEntity({}, db_->DefaultColumnFamily(), Key(10), columns));
  EXPECT_OK(db_->PutEntity({}, db_->DefaultColumnFamily(), Key(20), columns));
  db_.Flush();
  const auto scan = db_.Scan(Key(10), Key(12));
  scan->SeekToFirst();
  ASSERT_TRUE(scan->Valid());
  EXPECT_EQ(scan->columns(), columns);
  EXPECT_EQ(db_.KeysOf(Key(12), Key(14)), Strings{});
  EXPECT_EQ(db_.counted.Since().tables_rejected, 1u);
}
#endif

TEST_F(RangesScanTest, IngestedFiles) {
  LoadTwoTables();
  const std::string path = db_.Path("ingested.sst");
  WriteSst(db_.options(), path, {Key(11), Key(21), Key(1001)});
  ASSERT_OK(db_->IngestExternalFile({path}, {}));
  EXPECT_EQ(PropertiesIn(db_.Tables()).size(), 3u);
  EXPECT_EQ(db_.KeysOf(Key(11), Key(12)), Strings{Key(11)});
  EXPECT_EQ(db_.KeysOf(Key(1001), nullopt), Strings{Key(1001)});
  db_.counted.Since();
  EXPECT_EQ(db_.KeysOf(Key(13), Key(14)), Strings{});
  EXPECT_EQ(db_.counted.Since().tables, 3u);
  EXPECT_EQ(db_.KeysOf(Key(1003), nullopt), Strings{});
  EXPECT_EQ(db_.counted.Since().tables_rejected, 3u);
}

// --- Ways to read -----------------------------------------------------------

TEST(RangesTableTest, PartitionedFiltersAndIndexes) {
  RangesDb db(OfKeys(), [](Options* options, BlockBasedTableOptions* table) {
    table->filter_policy = Deltabloom();
    table->partition_filters = true;
    table->index_type = BlockBasedTableOptions::kTwoLevelIndexSearch;
    table->metadata_block_size = 256;
    table->block_size = 256;
    options->prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(4));
  });
  db.Table(EvenKeys(0, 1000, 2));
  db.Table(EvenKeys(1, 1000, 2));
  ReadOptions read;
  read.total_order_seek = true;
  EXPECT_EQ(db.KeysOf(Key(11), Key(16), read), (Strings{Key(12), Key(14)}));
  EXPECT_EQ(db.KeysOf(Key(11), Key(12), read), Strings{});
  EXPECT_GE(db.counted.Since().tables_rejected, 1u);
}

// An extractor of the user's own, whose filters RocksDB asks as well.
TEST(RangesTableTest, PrefixModes) {
  RangesDb db(OfKeys(), [](Options* options, BlockBasedTableOptions* table) {
    table->filter_policy = Deltabloom();
    options->prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(9));
    options->memtable_prefix_bloom_size_ratio = 0.1;
  });
  // Groups of a thousand.
  db.Table(EvenKeys(0, 3000, 5));
  db.Table(EvenKeys(1, 3000, 5));
  for (const std::string& key : EvenKeys(2, 3000, 5)) db.Put(key);
  ReadOptions reads[4];
  reads[0].total_order_seek = true;
  reads[1].auto_prefix_mode = true;
  reads[2].prefix_same_as_start = true;
  for (const ReadOptions& read : reads) {
    const auto number = &read - reads;
    // Within a group.
    EXPECT_EQ(db.KeysOf(Key(1000), Key(1005), read),
              (Strings{Key(1000), Key(1002), Key(1004)}))
        << number;
    EXPECT_EQ(db.KeysOf(Key(1005), Key(1010), read), Strings{}) << number;
    EXPECT_EQ(db.KeysOf(Key(9000), Key(9999), read), Strings{}) << number;
  }
  for (int i = 0; i < 2; ++i) {
    // Across groups.
    EXPECT_EQ(db.KeysOf(Key(1990), Key(2003), reads[i]),
              (Strings{Key(1990), Key(1992), Key(1994), Key(2000), Key(2002)}));
  }
  EXPECT_GE(db.counted.Since().tables_rejected, 8u);
}

TEST_F(RangesScanTest, TheCallersTableFilterIsAsked) {
  LoadTwoTables();
  int asked = 0;
  bool answer = true;
  ReadOptions read;
  const std::function<bool(const rocksdb::TableProperties&)> filter =
      [&](const rocksdb::TableProperties& table) {
        EXPECT_EQ(table.num_entries, 250u);
        ++asked;
        return answer;
      };
#if DELTABLOOM_ROCKSDB_HEADERS >= DELTABLOOM_ROCKSDB_VERSION(11, 9, 0)
  read.table_filter = &filter;
#else
  read.table_filter = filter;
#endif
  EXPECT_EQ(db_.KeysOf(Key(10), Key(14), read), (Strings{Key(10), Key(12)}));
  EXPECT_EQ(asked, 2);
  answer = false;
  EXPECT_EQ(db_.KeysOf(Key(10), Key(14), read), Strings{});
  EXPECT_EQ(asked, 4);
  // It alone counts.
  EXPECT_EQ(db_.counted.Since().tables, 2u);
}

#if DELTABLOOM_ROCKSDB_HEADERS >= DELTABLOOM_ROCKSDB_VERSION(11, 8, 0)
TEST_F(RangesScanTest, PrepareChangesNothing) {
  LoadTwoTables();
  const auto scan = db_.Scan(Key(10), Key(20));
  rocksdb::MultiScanArgs part(rocksdb::BytewiseComparator());
  part.insert(Key(12), Key(14));
  scan->Prepare(part);
  scan->Seek(Key(12));
  EXPECT_EQ(KeysForward(scan.get()),
            (Strings{Key(12), Key(14), Key(16), Key(18)}));
}
#endif

// --- Transactions and batches: the second form ------------------------------

TEST_F(RangesScanTest, OptimisticTransactions) {
  LoadTwoTables();
  db_.Close();
  rocksdb::OptimisticTransactionDB* opened = nullptr;
  ASSERT_OK(rocksdb::OptimisticTransactionDB::Open(db_.options(), db_.path(),
                                                   &opened));
  const std::unique_ptr<rocksdb::OptimisticTransactionDB> db(opened);
  const std::unique_ptr<rocksdb::Transaction> transaction(
      db->BeginTransaction({}));
  EXPECT_OK(transaction->Put(Key(11), "new"));
  EXPECT_OK(transaction->Delete(Key(12)));
  const RocksDBRanges::MakeIterator make = [&](const ReadOptions& read) {
    return transaction->GetIterator(read);
  };
  const auto scan =
      db_.ranges->NewIterator(make, {}, Key(10), std::string_view(Key(15)));
  scan->Seek(Key(10));
  EXPECT_EQ(KeysForward(scan.get()), (Strings{Key(10), Key(11), Key(14)}));
  Strings all = EvenKeys(0, 30, 1);
  all.insert(all.begin() + 6, Key(11));
  all.erase(all.begin() + 7);
  for (int i = 0; i < 30; ++i) {
    ExpectWithinBounds(db_.ranges.get(), make, all, Key(i), Key(i + 1));
  }
  EXPECT_GE(db_.counted.Since().tables_rejected, 10u);
}

TEST_F(RangesScanTest, PessimisticTransactions) {
  LoadTwoTables();
  db_.Close();
  rocksdb::TransactionDB* opened = nullptr;
  ASSERT_OK(
      rocksdb::TransactionDB::Open(db_.options(), {}, db_.path(), &opened));
  const std::unique_ptr<rocksdb::TransactionDB> db(opened);
  const std::unique_ptr<rocksdb::Transaction> transaction(
      db->BeginTransaction({}));
  EXPECT_OK(transaction->Put(Key(11), "new"));
  const RocksDBRanges::MakeIterator make = [&](const ReadOptions& read) {
    return transaction->GetIterator(read);
  };
  Strings all = EvenKeys(0, 30, 1);
  all.insert(all.begin() + 6, Key(11));
  for (int i = 0; i < 30; ++i) {
    ExpectWithinBounds(db_.ranges.get(), make, all, Key(i), Key(i + 1));
  }
  // Outside of a transaction.
  EXPECT_EQ(AllKeys(db_.ranges
                        ->NewIterator(db.get(), {}, db->DefaultColumnFamily(),
                                      Key(11), std::string_view(Key(13)))
                        .get()),
            Strings{Key(12)});
}

TEST_F(RangesScanTest, WriteBatchWithIndex) {
  LoadTwoTables();
  rocksdb::WriteBatchWithIndex batch(rocksdb::BytewiseComparator(), 0, true);
  EXPECT_OK(batch.Put(Key(11), "new"));
  EXPECT_OK(batch.Delete(Key(14)));
  const RocksDBRanges::MakeIterator make = [&](const ReadOptions& read) {
    return batch.NewIteratorWithBase(db_->DefaultColumnFamily(),
                                     db_->NewIterator(read), &read);
  };
  Strings all = EvenKeys(0, 30, 1);
  all.erase(all.begin() + 7);
  all.insert(all.begin() + 6, Key(11));
  for (int i = 0; i < 30; ++i) {
    ExpectWithinBounds(db_.ranges.get(), make, all, Key(i), Key(i + 3));
  }
  // A scan as the base.
  const std::unique_ptr<Iterator> at(batch.NewIteratorWithBase(
      db_->DefaultColumnFamily(), db_.Scan(Key(9), Key(16)).release()));
  at->SeekToFirst();
  EXPECT_EQ(KeysForward(at.get()), (Strings{Key(10), Key(11), Key(12)}));
  at->SeekToLast();
  EXPECT_EQ(KeysBackward(at.get()), (Strings{Key(12), Key(11), Key(10)}));
}

// The program would show a user keys of another one, deleted ones among them.
TEST_F(RangesScanTest, UncommittedKeysOutsideTheBoundsStayOutside) {
  db_.Table({"y", "z"});
  rocksdb::WriteBatchWithIndex batch(rocksdb::BytewiseComparator(), 0, true);
  for (const char* const key : {"b", "m", "y"}) {
    EXPECT_OK(batch.Put(key, "new"));
  }
  EXPECT_OK(batch.Delete("z"));
  const RocksDBRanges::MakeIterator make = [&](const ReadOptions& read) {
    return batch.NewIteratorWithBase(db_->DefaultColumnFamily(),
                                     db_->NewIterator(read), &read);
  };
  ExpectWithinBounds(db_.ranges.get(), make, {"b", "m", "y"}, "m", "n");
  ExpectWithinBounds(db_.ranges.get(), make, {"b", "m", "y"}, "c", "d");
  ExpectWithinBounds(db_.ranges.get(), make, {"b", "m", "y"}, "m", "y");
  ExpectWithinBounds(db_.ranges.get(), make, {"b", "m", "y"}, "a", "zz");
  EXPECT_EQ(AllKeys(db_.ranges->NewIterator(make, {}, "n", nullopt).get()),
            Strings{"y"});
  EXPECT_EQ(AllKeys(db_.ranges->NewPrefixIterator(make, {}, "m").get()),
            Strings{"m"});
}

TEST_F(RangesScanTest, AFunctionMayMakeNone) {
  const RocksDBRanges::MakeIterator none = [](const ReadOptions&) -> Iterator* {
    return nullptr;
  };
  EXPECT_EQ(db_.ranges->NewIterator(none, {}, "a", "b"), nullptr);
}

TEST_F(RangesScanTest, ErrorsOfOptionsAreReported) {
  LoadTwoTables();
  ReadOptions read;
  read.read_tier = rocksdb::kPersistedTier;
  auto scan = db_.Scan(Key(10), Key(12), read);
  scan->SeekToLast();
  EXPECT_TRUE(scan->status().IsNotSupported()) << StateOf(scan.get());
  // InvalidArgument, but not for the table filter.
  const std::string time = Timestamp(1);
  const Slice time_slice = time;
  ReadOptions with_time;
  with_time.timestamp = &time_slice;
  scan = db_.Scan(Key(10), Key(12), with_time);
  scan->SeekToFirst();
  EXPECT_TRUE(scan->status().IsInvalidArgument()) << StateOf(scan.get());
  scan.reset();
  EXPECT_EQ(db_.counted.Since().refused, 0u);
}

// --- Where RocksDB refuses table filters ------------------------------------

// Refuses table filters, as RocksDB does with
// min_tombstones_for_range_conversion.
Iterator* RefuseFilters(rocksdb::DB* db, const ReadOptions& read,
                        ColumnFamilyHandle* family) {
  if (read.table_filter) {
    return rocksdb::NewErrorIterator(
        Status::InvalidArgument("table_filter is not supported"));
  }
  return db->NewIterator(read, family);
}

class RefusingDb : public rocksdb::StackableDB {
 public:
  using StackableDB::NewIterator;
  using StackableDB::StackableDB;
  Iterator* NewIterator(const ReadOptions& read,
                        ColumnFamilyHandle* family) override {
    return RefuseFilters(db_, read, family);
  }
};

constexpr char kRefusedLine[] =
    "[deltabloom] [default] range filters are not used: RocksDB allows no "
    "table filter";

class RangesRefusedTest : public RangesScanTest {
 protected:
  RangesRefusedTest() {
    LoadTwoTables();
    refusing_ = std::make_unique<RefusingDb>(
        std::shared_ptr<rocksdb::DB>(db_.get(), [](rocksdb::DB*) {}));
  }
  ~RangesRefusedTest() override { refusing_.reset(); }

  Strings KeysOfFirstForm() {
    return AllKeys(db_.ranges
                       ->NewIterator(refusing_.get(), {},
                                     db_->DefaultColumnFamily(), Key(10),
                                     std::string_view(Key(13)))
                       .get());
  }
  Strings KeysOfSecondForm() {
    return AllKeys(db_.ranges
                       ->NewIterator(
                           [&](const ReadOptions& read) {
                             return RefuseFilters(db_, read,
                                                  db_->DefaultColumnFamily());
                           },
                           {}, Key(10), std::string_view(Key(13)))
                       .get());
  }

  std::unique_ptr<RefusingDb> refusing_;
};

TEST_F(RangesRefusedTest, ReadsWithoutAndSaysSoOnce) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(KeysOfFirstForm(), (Strings{Key(10), Key(12)}));
  }
  const RocksDBRangeStatistics counted = db_.counted.Since();
  EXPECT_EQ(counted.refused, 3u);
  EXPECT_EQ(counted.scans, 3u);
  EXPECT_EQ(counted.tables, 0u);
  EXPECT_EQ(CountIn(db_.Log(), kRefusedLine), 1);
}

TEST_F(RangesRefusedTest, TheSecondFormHasNoLog) {
  EXPECT_EQ(KeysOfSecondForm(), (Strings{Key(10), Key(12)}));
  EXPECT_EQ(db_.counted.Since().refused, 1u);
  EXPECT_EQ(CountIn(db_.Log(), kRefusedLine), 0);
  // So the first form still has its line to write.
  EXPECT_EQ(KeysOfFirstForm(), (Strings{Key(10), Key(12)}));
  EXPECT_EQ(CountIn(db_.Log(), kRefusedLine), 1);
}

// It would be a second seek for nothing. It would also tell that the scan is
// empty.
TEST_F(RangesRefusedTest, NeverLooksFromTheFront) {
  const auto scan =
      db_.ranges->NewIterator(refusing_.get(), {}, db_->DefaultColumnFamily(),
                              Key(11), std::string_view(Key(12)));
  scan->SeekToLast();
  EXPECT_FALSE(scan->Valid());
  EXPECT_EQ(db_.counted.Since().empty_scans, 0u);
}

// --- Comparators ------------------------------------------------------------

// Bytewise, with u64 timestamps; keys of which some begin with others.
class RangesTimestampTest : public ::testing::Test {
 protected:
  RangesTimestampTest()
      : db_(WithPrefixes(), [](Options* options, BlockBasedTableOptions*) {
          options->comparator = TimestampComparator();
        }) {}

  static RocksDBRangeOptions WithPrefixes() {
    RocksDBRangeOptions options;
    options.prefixes = "1,12";
    return options;
  }

  void PutAt(const std::string& key, uint64_t time) {
    EXPECT_OK(db_->Put({}, key, Timestamp(time), "at " + std::to_string(time)));
  }
  // Returns the entries that a scan finds at a time, newest first; if `from` is
  // set, all versions from that time on.
  Strings At(uint64_t time, const std::string& lower,
             const std::optional<std::string>& upper,
             std::optional<uint64_t> from = nullopt) {
    const std::string at = Timestamp(time);
    const std::string start = Timestamp(from.value_or(0));
    const Slice at_slice = at;
    const Slice start_slice = start;
    ReadOptions read;
    read.timestamp = &at_slice;
    if (from.has_value()) read.iter_start_ts = &start_slice;
    const auto scan = db_.ranges->NewIterator(
        db_, read, db_->DefaultColumnFamily(), lower, ViewOf(upper));
    Strings values;
    for (scan->SeekToFirst(); scan->Valid(); scan->Next()) {
      // With iter_start_ts, key() is an internal key.
      values.push_back((from.has_value() ? "" : scan->key().ToString() + " ") +
                       scan->value().ToString());
      EXPECT_EQ(scan->timestamp().size(), 8u);
    }
    EXPECT_OK(scan->status());
    if (from.has_value()) return values;
    Strings backward;
    for (scan->SeekToLast(); scan->Valid(); scan->Prev()) {
      backward.push_back(scan->key().ToString() + " " +
                         scan->value().ToString());
    }
    std::reverse(backward.begin(), backward.end());
    EXPECT_EQ(backward, values);
    return values;
  }

  RangesDb db_;
};

TEST_F(RangesTimestampTest, BoundsHaveNone) {
  Strings keys = {"a", "ab", "abc", "abcdefgh", "b"};
  for (const std::string& key : Keys(0, 100)) keys.push_back(key);
  for (const std::string& key : keys) {
    PutAt(key, 10);
    PutAt(key, 20);
  }
  db_.Flush();
  ASSERT_EQ(PropertiesIn(db_.Tables()).size(), 1u);
  EXPECT_EQ(At(15, "a", "ab"), Strings{"a at 10"});
  EXPECT_EQ(At(25, "ab", "abd"),
            (Strings{"ab at 20", "abc at 20", "abcdefgh at 20"}));
  EXPECT_EQ(At(5, "a", nullopt), Strings{});
  EXPECT_EQ(At(20, "abcdefgh", "abcdefgi"), Strings{"abcdefgh at 20"});
  // The stored key of "a" is followed by its timestamp, which may begin with a
  // zero byte.
  EXPECT_EQ(At(20, std::string("a\0", 2), "ab"), Strings{});
  EXPECT_EQ(At(20, "a\x01", "ab"), Strings{});
  EXPECT_EQ(At(20, "abd", "b"), Strings{});
  EXPECT_EQ(At(20, Key(11), Key(12)), Strings{});
  EXPECT_EQ(At(20, Key(12), Key(13)), Strings{Key(12) + " at 20"});
  EXPECT_EQ(At(20, "v", nullopt), Strings{});
  EXPECT_GE(db_.counted.Since().tables_rejected, 2u);
}

// A key is compared with the bounds without what iter_start_ts adds to it.
TEST_F(RangesTimestampTest, BoundsOfVersionsThatTheInnerIteratorDoesNotKeep) {
  PutAt("a", 10);
  PutAt("a", 20);
  PutAt("b", 10);
  db_.Flush();
  const std::string at = Timestamp(20);
  const std::string start = Timestamp(0);
  const Slice at_slice = at;
  const Slice start_slice = start;
  ReadOptions read;
  read.timestamp = &at_slice;
  read.iter_start_ts = &start_slice;
  const auto scan = db_.ranges->NewIterator(
      [&](ReadOptions with) {
        with.iterate_upper_bound = nullptr;
        return db_->NewIterator(with, db_->DefaultColumnFamily());
      },
      read, "a", std::string_view("a\0", 2));
  Strings values;
  for (scan->SeekToFirst(); scan->Valid(); scan->Next()) {
    values.push_back(scan->value().ToString());
  }
  EXPECT_OK(scan->status());
  EXPECT_EQ(values, (Strings{"at 20", "at 10"}));
}

TEST_F(RangesTimestampTest, OlderVersionsAndDeletesInOtherTables) {
  PutAt("a", 1);
  PutAt("k", 1);
  PutAt("z", 1);
  db_.Flush();
  PutAt("a", 2);
  EXPECT_OK(db_->Delete({}, "k", Timestamp(2)));
  PutAt("z", 2);
  db_.Flush();
  PutAt("a", 3);
  PutAt("z", 3);
  db_.Flush();
  db_.counted.Since();
  EXPECT_EQ(At(1, "k", "l"), Strings{"k at 1"});
  EXPECT_EQ(At(2, "k", "l"), Strings{});
  EXPECT_EQ(At(3, "k", "l"), Strings{});
  // The third table has no "k".
  EXPECT_EQ(db_.counted.Since().tables_rejected, 3u);
  EXPECT_EQ(At(3, "z", nullopt), Strings{"z at 3"});
  EXPECT_EQ(At(3, "z", nullopt, 1), (Strings{"at 3", "at 2", "at 1"}));
  EXPECT_EQ(At(3, "b", "c", 1), Strings{});
}

// Keys that are equal are found under every spelling.
TEST(RangesTransformTest, EqualKeys) {
  const TestComparator comparator(kIgnoreCase);
  RocksDBRangeOptions options;
  options.key_transform = kIgnoreCase.transform;
  options.prefixes = "1,5,12";
  RangesDb db(options, [&](Options* to, BlockBasedTableOptions*) {
    to->comparator = &comparator;
  });
  Strings many = {"alpha", "BETA", "gamma", "Delta", "omega"};
  for (const std::string& key : Keys(0, 100)) many.push_back(Upper(key));
  db.Table(many);
  db.Table({"Alpha2", "beta2", "GAMMA2", "omega2"});
  db.counted.Since();
  EXPECT_EQ(db.KeysOf("beta", "betb"), (Strings{"BETA", "beta2"}));
  EXPECT_EQ(db.KeysOf("BETA", "BETA\1"), Strings{"BETA"});
  EXPECT_EQ(db.KeysOf("ALPHA", "betA"), (Strings{"alpha", "Alpha2"}));
  EXPECT_EQ(db.KeysOf("DELTA", "delta2"), Strings{"Delta"});
  EXPECT_EQ(db.KeysOf("delta1", "GAMMA"), Strings{});
  EXPECT_EQ(db.KeysOf("OMEGA2", "P"), Strings{"omega2"});
  EXPECT_EQ(db.KeysOf("user00000011", "USER00000012"), Strings{});
  EXPECT_EQ(db.KeysOf("User00000012", "uSER00000013"), Strings{Upper(Key(12))});
  EXPECT_EQ(db.KeysOf("V", nullopt), Strings{});
  // Empty under this comparator.
  EXPECT_EQ(db.KeysOf("beta", "BETA"), Strings{});
  EXPECT_GE(db.counted.Since().tables_rejected, 4u);
  // The caller's bounds are compared in its order as well.
  const Slice own = "BETA1";
  ReadOptions read;
  read.iterate_lower_bound = &own;
  EXPECT_EQ(db.KeysOf("alpha", "c", read), Strings{"beta2"});
}

TEST(RangesTransformTest, TrailingSpaces) {
  const TestComparator comparator(kPadSpace);
  RocksDBRangeOptions options;
  options.key_transform = kPadSpace.transform;
  options.prefixes = "1";
  RangesDb db(options, [&](Options* to, BlockBasedTableOptions*) {
    to->comparator = &comparator;
  });
  db.Table({"a ", "b", "c  "});
  EXPECT_EQ(db.KeysOf("a", "b   "), Strings{"a "});
  EXPECT_EQ(db.KeysOf("c   ", nullopt), Strings{"c  "});
  EXPECT_EQ(db.KeysOf("c!", nullopt), Strings{});
  EXPECT_EQ(db.KeysOf("d", nullopt), Strings{});
  EXPECT_EQ(db.counted.Since().tables_rejected, 1u);
}

// A transform that throws, whatever it throws, costs what filters save, and no
// key.
TEST(RangesTransformTest, Throws) {
  static bool throws = false;
  KeyTransform transform;
  transform.name = "test.throws";
  transform.function = [](std::string_view key, KeyScratch*) {
    if (throws) throw 7;
    return key;
  };
  std::string error;
  ASSERT_TRUE(RegisterKeyTransform(transform, &error)) << error;
  RocksDBRangeOptions options = OfKeys();
  options.key_transform = "test.throws";
  RangesDb db(options);
  db.Table({Key(10), Key(20)});
  EXPECT_EQ(db.KeysOf(Key(11), Key(12)), Strings{});
  EXPECT_EQ(db.counted.Since().tables_rejected, 1u);
  throws = true;
  EXPECT_EQ(db.KeysOf(Key(10), Key(12)), Strings{Key(10)});
  EXPECT_EQ(db.KeysOf(Key(11), Key(12)), Strings{});
  db.Table({Key(11), Key(21)});
  EXPECT_EQ(db.counted.Since().tables_built_without, 1u);
  throws = false;
  EXPECT_EQ(db.KeysOf(Key(11), Key(12)), Strings{Key(11)});
}

}  // namespace
}  // namespace deltabloom::testing
